"""Networks of ONNX files play: inputs and outputs are matched by shape, and faults at run time belong to the agent."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.nets.onnx import pilot as playing
from agents.nets.onnx.export import to_onnx
from agents.nets.onnx.model import TEMPERATURE, read_model, with_metadata
from agents.nets.onnx.pilot import ONNX, OnnxPilot
from agents.nets.onnx.signature import match_game
from agents.nets.pilot import agent
from engine.checks import check_kind
from engine.errors import BadValue
from engine.game import Game, Views
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, MatchResult, MatchSpec, run_digest
from engine.registry import KINDS, new_game
from engine.seeding import derive
from tests.agents.nets.onnx.files import graph, integer, linear, model, node, port, tensor
from tests.plugins.networks import CONV, CONV_STACK, PLANE_STACK, RESNET, SMALL, STACK, drawn

pytest.importorskip("onnxruntime")

PONG, HUNT, SHOGI = (
    new_game("pong", points=1, step_limit=200),
    new_game("treasure-hunt", turns=20),
    new_game("shogi", move_limit=20),
)
GREATEST = node("ArgMax", ["y"], ["action"], integer("axis", 1), integer("keepdims", 0))
ACTION = port("action", ["batch"], "int64")


def spec(payload: bytes, name: str = "a") -> AgentSpec:
    return AgentSpec(name, "onnx", payload)


def decide(payload: bytes, game: Game = PONG, rows: int = 64, ply: int = 0, seed: int = 0) -> list[int]:
    """The actions of an agent in random positions, with random legal actions if the game has illegal ones."""
    pilot, rng = KINDS.get("onnx").pilot(game, rows), np.random.default_rng(seed)
    return act(pilot, spec(payload), game, rows, rng, ply)


def act(pilot: object, player: AgentSpec, game: Game, rows: int, rng: np.random.Generator, ply: int = 0) -> list[int]:
    obs = rng.standard_normal((rows, *game.info.observation)).astype(np.float32)
    legal = rng.random((rows, game.info.actions)) < 0.4 if game.info.masked else None
    if legal is not None:
        legal[:, 0] |= ~legal.any(1)
    at = np.arange(rows, dtype=np.uint32)
    number = pilot.load(player)  # type: ignore[attr-defined]
    pilot.begin(at, np.full(rows, number, np.uint32), at.astype(np.uint64) + 7)  # type: ignore[attr-defined]

    class Boards:
        def observe(self, lanes: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
            out[:] = obs

    table = np.stack([at, at, at * 0, np.full(rows, number, np.uint32), np.full(rows, ply, np.uint32)])
    views = Views(Boards(), table, np.empty_like(obs), legal)  # type: ignore[arg-type]
    return pilot.act(views).tolist()  # type: ignore[attr-defined,no-any-return]


def play(first: AgentSpec, other: AgentSpec | None = None, game: Game = PONG, n: int = 0) -> MatchResult:
    with SequentialMatchExecutor(1) as executor:
        players = tuple(first if k % 2 == 0 else other or first for k in range(game.info.seats))
        return executor.execute_match(MatchSpec(f"m{n}", game.spec, players, derive("onnx", n)))


# Inputs and outputs


@pytest.mark.parametrize(
    ("output", "ends"),
    [
        (port("y", ["batch", 3]), []),
        (port("y", [1, 3]), []),
        (port("y", None), []),
        (port("p", ["batch", 3]), [node("Softmax", ["y"], ["p"], integer("axis", 1))]),
        (ACTION, [GREATEST]),
        (
            port("action", [], "int64"),
            [GREATEST.replace(b"action", b"chosen"), node("Squeeze", ["chosen"], ["action"])],
        ),
        (
            port("action", ["n", 1], "int32"),
            [
                node("ArgMax", ["y"], ["long"], integer("axis", 1)),
                node("Cast", ["long"], ["action"], integer("to", 6)),
            ],
        ),
    ],
    ids=["logits", "a batch of one", "an unknown shape", "probabilities", "an action", "a number", "int32"],
)
def test_policies_of_every_form_choose_the_same_actions(output: bytes, ends: list[bytes]) -> None:
    expected = decide(model(linear()))
    assert set(expected) == {0, 1, 2}
    assert decide(model(linear(output=output, ends=ends))) == expected


def test_probabilities_are_sampled_as_logits_are() -> None:
    softmax = linear(output=port("p", ["batch", 3]), ends=[node("Softmax", ["y"], ["p"], integer("axis", 1))])
    plain, likely = (with_metadata(model(content), TEMPERATURE, "2.0") for content in (linear(), softmax))
    drawn_actions = decide(plain, rows=300)
    assert decide(likely, rows=300) == drawn_actions != decide(model(linear()), rows=300)
    assert decide(plain, rows=300, ply=1) != drawn_actions


def test_images_are_given_as_they_are_or_as_rows() -> None:
    image = linear(75, 4, ("n", 3, 5, 5), output=port("y", ["n", 4]))
    flat = linear(75, 4, ("n", 75), output=port("y", ["n", 4]))
    found = [match_game(read_model(model(content)), HUNT).shape for content in (image, flat)]
    assert found == [(1, 3, 5, 5), (1, 75)]
    assert decide(model(image), HUNT) == decide(model(flat), HUNT)


@pytest.mark.parametrize("dtype", ["bool", "float32", "int64"])
@pytest.mark.parametrize("first", [False, True])
def test_a_mask_is_an_input_like_any_other(dtype: str, first: bool) -> None:
    """The network plays the legal action with the greatest number, by its own mask."""
    observation, actions = SHOGI.info.observation, SHOGI.info.actions
    mask, x = port("action_mask", ["n", actions], dtype), port("x", ["n", *observation])
    nodes = [
        node("Flatten", ["x"], ["flat"], integer("axis", 1)),
        node("MatMul", ["flat", "w"], ["y"]),
        node("Cast", ["action_mask"], ["allowed"], integer("to", 9)),
        node("Where", ["allowed", "y", "low"], ["z"]),
        node("ArgMax", ["z"], ["action"], integer("axis", 1), integer("keepdims", 0)),
    ]
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((int(np.prod(observation)), actions)).astype(np.float32)
    tensors = [tensor("w", weights), tensor("low", np.full((1, 1), -1e9, np.float32))]
    masked = model(graph(nodes, [mask, x] if first else [x, mask], [port("action", ["n"], "int64")], tensors))
    plain = model(graph(nodes[:2], [x], [port("y", ["n", actions])], tensors[:1]))
    assert decide(masked, SHOGI, rows=8) == decide(plain, SHOGI, rows=8)
    assert play(spec(masked), game=SHOGI).ending.kind not in (EndingKind.ILLEGAL_ACTION, EndingKind.EXCEPTION)


def test_a_mask_in_a_game_without_illegal_actions_allows_all() -> None:
    x, mask = port("x", ["n", 8]), port("mask", ["n", 3], "float32")
    weights = [tensor("w", np.random.default_rng(1).standard_normal((8, 3)).astype(np.float32))]
    nodes = [node("MatMul", ["x", "w"], ["z"]), node("Mul", ["z", "mask"], ["y"])]
    assert decide(model(graph(nodes, [x, mask], [port("y", ["n", 3])], weights))) == decide(model(linear()))


def test_names_decide_only_where_shapes_do_not() -> None:
    """As for an observation with as many numbers as there are actions, and for two policies."""

    class Square:
        spec, info = PONG.spec, PONG.info.__class__("", 2, 8, (8,))

    x, other = port("mask", ["n", 8]), port("obs", ["n", 8])
    nodes = [node("Add", ["mask", "obs"], ["v"]), node("Identity", ["v"], ["policy_out"])]
    both = [port("v", ["n", 8]), port("policy_out", ["n", 8])]
    found = match_game(read_model(model(graph(nodes, [x, other], both))), Square())  # type: ignore[arg-type]
    assert (found.observation, found.mask, found.output) == ("obs", "mask", "policy_out")


WRONG = {
    "another size": (
        linear(6, 3, ("batch", 6)),
        "inputs = 'x: float32 [free, 6]': must be one float32 observation [1, 8] of pong, the first size 1 or free, "
        "and at most a mask [1, 3] of legal actions",
    ),
    "a fixed batch": (linear(shape=(4, 8)), "inputs = 'x: float32 [4, 8]': must be one float32 observation [1, 8]"),
    "another type": (
        graph([], [port("x", ["n", 8], "float64")], [port("y", ["n", 3])]),
        "inputs = 'x: float64 [free, 8]': must be one float32 observation",
    ),
    "no input": (graph([], [], [port("y", [1, 3])]), "inputs = 'none'"),
    "a memory": (linear(more_inputs=[port("h", [1, 64])]), "x: float32 [free, 8]; h: float32 [1, 64]"),
    "three inputs": (linear(more_inputs=[port("m", [1, 3]), port("h", [1, 64])]), "and at most a mask"),
    "other actions": (
        linear(8, 5, output=port("y", ["batch", 5])),
        "outputs = 'y: float32 [free, 5]': must be float32 [1, 3], a logit or probability for each action of pong, or "
        "int64 [1], an action; the first size may be free",
    ),
    "an output of another type": (linear(output=port("y", ["n", 3], "float64")), "outputs = 'y: float64 [free, 3]'"),
    "text": (linear(output=port("y", ["n"], "string")), "outputs = 'y: string [free]'"),
    "no output": (graph([], [port("x", ["n", 8])], []), "outputs = 'none'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_the_game_is_refused_with_both_shapes(case: str) -> None:
    content, sentence = WRONG[case]
    with pytest.raises(BadValue) as error:
        ONNX.pilot(PONG, 1).load(spec(model(content)))
    assert sentence in str(error.value)


def test_a_network_that_gives_actions_has_no_temperature() -> None:
    payload = model(linear(output=ACTION, ends=[GREATEST]))
    with pytest.raises(BadValue, match=r"temperature = 0.5: must be 0: this network gives one action"):
        ONNX.pilot(PONG, 1).load(spec(with_metadata(payload, TEMPERATURE, "0.5")))


# Play


@pytest.mark.parametrize(
    ("game", "architecture"),
    [
        (PONG, SMALL),
        (HUNT, CONV),
        (SHOGI, RESNET),
        (PONG, STACK),
        (HUNT, CONV_STACK),
        (SHOGI, CONV_STACK),
        (SHOGI, PLANE_STACK),
    ],
    ids=["mlp", "conv", "resnet", "stack", "small-images", "images", "planes"],
)
def test_an_exported_network_draws_the_actions_of_the_original(game: Game, architecture: object) -> None:
    """Their numbers differ in the last bits, which changes no action here."""
    network = drawn(architecture, game, seed=5, temperature=0.7)  # type: ignore[arg-type]
    original = agent("a", network)
    for played in (original, agent("a", network.with_temperature(0.0))):
        payload = KINDS.get(played.kind).formats["onnx"](played)
        pilots = KINDS.get(played.kind).pilot(game, 40), OnnxPilot(game, 40)
        found = [
            act(pilot, player, game, 40, np.random.default_rng(2), ply=3)
            for pilot, player in zip(pilots, (played, spec(payload)), strict=True)
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize(("game", "architecture"), [(PONG, SMALL), (HUNT, CONV), (SHOGI, RESNET), (HUNT, CONV_STACK)])
def test_it_passes_the_checks_of_every_kind(game: Game, architecture: object) -> None:
    """Among them: the same results for any number of lanes."""
    agents = [
        spec(to_onnx(drawn(architecture, game, k, at)), f"{k}")  # type: ignore[arg-type]
        for k, at in ((1, 1.0), (2, 0.0))
    ]
    check_kind(ONNX, game, matches=3, agents=agents)


def test_a_network_that_computes_across_its_batch_still_answers_for_each_position_alone() -> None:
    """Its numbers are compared with the mean of the batch: then an answer would depend on other matches."""
    mean = node("ReduceMean", ["y"], ["m"], integer("keepdims", 1))
    content = linear(output=port("z", ["batch", 3]), ends=[mean, node("Sub", ["y", "m"], ["z"])])
    first, other = spec(model(content), "a"), spec(model(linear(seed=2)), "b")
    specs = [MatchSpec(f"m{n}", PONG.spec, (first, other), derive("batch", n)) for n in range(8)]
    digests = set()
    for lanes in (1, 3, 8):
        with SequentialMatchExecutor(lanes) as executor:
            digests.add(run_digest(executor.execute_matches(specs)))
    assert len(digests) == 1


FAULTS = {
    "nan": (
        linear(output=port("z", ["n", 3]), ends=[node("Sqrt", ["c"], ["s"]), node("Mul", ["y", "s"], ["z"])],
               tensors=[tensor("c", np.full(1, -1, np.float32))]),
        "an output of its network is NaN or too large",
    ),
    "infinite": (
        linear(output=port("z", ["n", 3]), ends=[node("Div", ["y", "c"], ["z"])],
               tensors=[tensor("c", np.zeros(1, np.float32))]),
        "an output of its network is NaN or too large",
    ),
    "negative probabilities": (
        linear(output=port("probs", ["n", 3]), ends=[node("Abs", ["y"], ["a"]), node("Neg", ["a"], ["probs"])]),
        "an output of its network is NaN or too large",
    ),
    "an action that does not exist": (
        linear(output=ACTION, ends=[GREATEST.replace(b"action", b"chosen"), node("Sub", ["chosen", "c"], ["action"])],
               tensors=[tensor("c", np.full(1, 3, np.int64))]),
        "which is not from 0 to 2",
    ),
    "another shape than it says": (
        linear(output=port("z", None), ends=[node("Concat", ["y", "y"], ["z"], integer("axis", 1))]),
        "its network gave float32 [1, 6], not float32 [1, 3]",
    ),
    "an operator that does not exist": (linear(output=port("z", ["n", 3]), ends=[node("Nope", ["y"], ["z"])]), "Nope"),
    "types that do not fit": (
        linear(output=port("z", ["n", 3]), ends=[node("Add", ["y", "c"], ["z"])],
               tensors=[tensor("c", np.zeros(1, np.int64))]),
        "Add",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_at_run_time_is_one_of_the_agent(case: str) -> None:
    content, sentence = FAULTS[case]
    good = AgentSpec("good", "dice")
    result = play(spec(model(content), "bad"), good)
    assert result.ending.kind in (EndingKind.EXCEPTION, EndingKind.CANNOT_START)
    assert sentence in result.ending.reason
    assert result.ranks == (2, 1)


def test_the_own_format_of_onnxruntime_is_not_loaded(tmp_path: Path) -> None:
    """A file can be valid in both formats: what was checked is its ONNX part, so only that may be played."""
    import onnxruntime

    from agents.nets.onnx.session import Session

    options, target = onnxruntime.SessionOptions(), tmp_path / "model.ort"
    options.optimized_model_filepath, options.log_severity_level = str(target), 4
    options.add_session_config_entry("session.save_model_format", "ORT")
    payload = model(linear())
    onnxruntime.InferenceSession(payload, options, providers=["CPUExecutionProvider"])
    signature = match_game(read_model(payload), PONG)
    Session(payload, signature, PONG.info.actions)
    with pytest.raises(Exception, match="protobuf parsing failed"):
        Session(target.read_bytes(), signature, PONG.info.actions)


# The library


def test_a_missing_library_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    monkeypatch.setattr(playing.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BadValue, match=r'onnxruntime = None: must be installed .* -m pip install "ringside\[onnx\]"'):
        ONNX.pilot(PONG, 1).load(spec(model(linear())))


def test_a_version_that_sends_usage_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.29.1")
    with pytest.raises(
        BadValue, match=r"onnxruntime = '1.29.1': must be below 1.29, because newer versions send usage"
    ):
        ONNX.pilot(PONG, 1).load(spec(model(linear())))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.28.0")
    assert ONNX.pilot(PONG, 1).load(spec(model(linear()))) == 0
