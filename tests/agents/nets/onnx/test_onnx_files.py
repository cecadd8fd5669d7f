"""ONNX files from others: what cannot be played is refused with a sentence, before onnxruntime sees it."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.nets.onnx import model as reading
from agents.nets.onnx.export import to_onnx
from agents.nets.onnx.model import read_model, with_metadata
from agents.nets.onnx.pilot import ONNX
from engine.errors import BadValue, RingsideError
from engine.play.match import AgentSpec
from engine.protobuf import field, varint
from engine.registry import describe_agent, new_game
from tests.agents.nets.onnx.files import graph, linear, model, node, port, subgraph, tensor
from tests.plugins.networks import CONV, SMALL, drawn

PONG = new_game("pong")
GOOD = model(linear())
WEIGHTS = np.ones((8, 3), np.float32)


def nested(depth: int) -> bytes:
    """Graphs inside each other."""
    content = graph([node("Identity", ["x"], ["y"])], [], [port("y", [1])])
    for _ in range(depth):
        content = graph([node("If", ["c"], ["y"], subgraph("then_branch", content))], [], [port("y", [1])])
    return content


def with_tensor(extra: bytes, values: np.ndarray = WEIGHTS) -> bytes:
    return model(linear(tensors=[tensor("other", values, extra)]))


HIDDEN_DOMAIN = node("Evil", ["y"], ["z"], domain="evil") + varint(7 << 3) + varint(1)  # a second domain, as an integer
HUGE = field(1, 10**12) + field(2, 1) + field(8, "huge") + field(9, bytes(16))

HOSTILE = {
    "empty": (b"", "without one graph': must be a network in ONNX"),
    "text": (b"hello", "must be a network in ONNX"),
    "truncated": (GOOD[: len(GOOD) // 2], "must be a network in ONNX, complete and undamaged"),
    "two graphs": (GOOD + field(7, linear()), "without one graph"),
    "weights elsewhere": (
        with_tensor(field(13, field(1, "location") + field(2, "/etc/passwd"))),
        "'weights in another file': must be weights inside the file: export it in one file",
    ),
    "weights elsewhere, by the location alone": (with_tensor(field(14, 1)), "weights in another file"),
    "weights elsewhere in an attribute": (
        model(linear(ends=[node("Constant", [], ["c"], field(1, "value") + field(5, field(2, 1) + field(13, b"")))])),
        "weights in another file",
    ),
    "a custom operator": (
        model(linear(ends=[node("Evil", ["y"], ["z"], domain="evil.corp")])),
        "operator = 'evil.corp::Evil': must be a standard ONNX operator: custom operators are refused",
    ),
    "a custom operator in a subgraph": (
        model(linear(ends=[node("If", ["c"], ["z"], subgraph("then_branch", graph([HIDDEN_DOMAIN[:-2]], [], [])))])),
        "custom operators are refused",
    ),
    "a custom operator that is hidden": (model(linear(ends=[HIDDEN_DOMAIN])), "damaged at byte"),
    "functions": (GOOD + field(25, field(1, "f")), "'a network with functions of its own'"),
    "training": (GOOD + field(20, b""), "instructions for training"),
    "an old opset": (model(linear(), opset=6), "opset = 6: must be from 7 to 26"),
    "a future opset": (model(linear(), opset=99), "opset = 99: must be from 7 to 26: export it again"),
    "deep graphs": (model(nested(50)), "'more than 4 graphs inside each other': must be a network in ONNX"),
    "10^12 elements": (
        model(linear(tensors=[HUGE])),
        "tensor huge = '(1000000000000,), but it has 4 numbers': must be as large as its shape says: 1,000,000,000,000",
    ),
    "a product that overflows": (
        model(linear(tensors=[field(1, 2**62) * 4 + field(2, 1) + field(8, "huge")])),
        "but it has 0 numbers",
    ),
    "negative sizes": (model(linear(tensors=[field(1, -1) + field(2, 1)])), "8 sizes of 0 or more"),
    "many dimensions": (model(linear(tensors=[field(1, 1) * 100 + field(2, 1)])), "8 sizes of 0 or more"),
    "packed dimensions": (model(linear(tensors=[field(1, b"\1" * 100)])), "more than 8 integers"),
    "half a number": (model(linear(tensors=[field(1, 1) + field(2, 1) + field(9, b"abc")])), "but it has -1 numbers"),
    "text tensors": (model(linear(tensors=[field(2, 8) + field(6, "text")])), "'string': must be one of float32"),
    "sparse weights": (model(linear() + field(15, b"")), "dense weights"),
    "random numbers": (
        model(linear(ends=[node("RandomUniformLike", ["y"], ["z"])])),
        "'RandomUniformLike, which draws random numbers': must be a function of its inputs",
    ),
    "dropout": (model(linear(ends=[node("Dropout", ["y", "", "train"], ["z"])])), "Dropout, which draws random"),
    "a temperature in words": (with_metadata(GOOD, reading.TEMPERATURE, "warm"), "ringside.temperature = 'warm'"),
    "a temperature that is no number": (with_metadata(GOOD, reading.TEMPERATURE, "nan"), "temperature = nan"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_no_network_on_its_own_is_refused(case: str) -> None:
    payload, sentence = HOSTILE[case]
    with pytest.raises(BadValue) as error:
        ONNX.pilot(PONG, 1).load(AgentSpec("a", "onnx", payload))
    assert sentence in str(error.value)
    assert describe_agent(AgentSpec("a", "onnx", payload)) == ()


def test_limits_are_those_of_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGEST", 100)
    with pytest.raises(BadValue, match="must be a network in ONNX of at most 100 bytes"):
        read_model.__wrapped__(GOOD)
    monkeypatch.setattr(reading, "LARGEST", 10**6)
    monkeypatch.setattr(reading, "MOST_NODES", 5)
    inner = graph([node("Relu", ["y"], ["z"])] * 3, [], [])
    read_model.__wrapped__(model(linear(ends=[node("Relu", ["y"], ["z"])] * 3)))
    with pytest.raises(BadValue, match="nodes = 'more than 5'"):
        read_model.__wrapped__(model(linear(ends=[node("If", ["c"], ["z"], subgraph("then_branch", inner))])))
    monkeypatch.setattr(reading, "MOST_PORTS", 2)
    with pytest.raises(BadValue, match="inputs = 4: must be at most 2"):
        read_model.__wrapped__(model(linear(more_inputs=[port("z", [1])] * 3)))


@given(st.data())
def test_damaged_files_are_read_or_refused(data: st.DataObject) -> None:
    payload = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    with suppress(RingsideError):
        assert len(read_model(bytes(payload)).inputs) <= 1


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(payload: bytes) -> None:
    with pytest.raises(RingsideError):
        read_model(payload)


def test_weights_that_are_inputs_too_are_no_inputs() -> None:
    """As in files of IR version 3."""
    found = read_model(model(linear(more_inputs=[port("w", [8, 3])])))
    assert [port.name for port in found.inputs] == ["x"]
    assert found.weights == 24


def test_numbers_of_tensors_may_be_stored_in_every_way() -> None:
    ways = [
        field(1, 2) + field(2, 1) + field(4, np.ones(2, np.float32).tobytes()),
        field(1, 2) + field(2, 11) + field(10, np.ones(2).tobytes()),
        field(1, 2) + field(2, 7) + field(7, varint(300) + varint(-1)),
        field(1, 2) + field(2, 6) + field(5, 1) + field(5, 1),
        field(2, 9) + field(5, 1),
    ]
    assert read_model(model(linear(tensors=ways))).weights == 24 + 9


def test_metadata_are_replaced_and_all_other_bytes_stay() -> None:
    once = with_metadata(GOOD, "a", "1")
    assert once.startswith(GOOD)
    other = with_metadata(once, "b", "2")
    assert with_metadata(with_metadata(other, "a", "3"), "a", "1") == with_metadata(
        with_metadata(GOOD, "b", "2"), "a", "1"
    )
    assert with_metadata(once, "a", "1") == once


def test_a_network_of_another_game_is_refused() -> None:
    with pytest.raises(BadValue, match=r"network.game = 'treasure-hunt': must be pong, the game of the match"):
        ONNX.pilot(PONG, 1).load(AgentSpec("a", "onnx", to_onnx(drawn(CONV, new_game("treasure-hunt")))))


def test_names_in_a_file_are_shown_without_control_characters() -> None:
    payload = model(linear(output=port("\x1b[31m" + "y" * 100, ["batch", 3])))
    facts = dict(describe_agent(AgentSpec("a", "onnx", payload)))
    assert facts["Outputs"] == "?[31m" + "y" * 52 + "...: float32 [free, 3]"
    assert facts["Inputs"] == "x: float32 [free, 8]"
    assert (facts["Operators"], facts["Weights"], facts["Opset"]) == ("Flatten, MatMul", "24", "17")


def test_shapes_of_very_many_sizes_are_shown_in_part() -> None:
    payload = model(linear(shape=["n", *[1] * 50_000]))
    facts = dict(describe_agent(AgentSpec("a", "onnx", payload)))
    assert facts["Inputs"] == "x: float32 [free, 1, 1, 1, 1, 1, 1, 1, ...]"
    with pytest.raises(BadValue) as error:
        ONNX.pilot(PONG, 1).load(AgentSpec("a", "onnx", payload))
    assert len(str(error.value)) < 500


def test_our_own_files_say_who_wrote_them() -> None:
    facts = dict(describe_agent(AgentSpec("a", "onnx", to_onnx(drawn(SMALL, PONG, temperature=0.5)))))
    assert (facts["Written by"], facts["Temperature"]) == ("Ringside", "0.5")
