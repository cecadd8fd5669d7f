"""Networks as data: architectures, their tensors, files, and torch modules of the same shapes."""

from __future__ import annotations

import json
import math
import struct
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save

from agents.nets.architecture import Architecture
from agents.nets.modules import PolicyValueNet
from agents.nets.network import Network, dump, load
from engine.errors import BadValue, RingsideError
from engine.registry import new_game
from tests.plugins.networks import CONV_STACK, PLANE_STACK, STACK

MLP = Architecture("mlp", (16, 8))
CONV = Architecture("conv", (32,), (8, 16))
RESNET = Architecture("resnet", (16,), (8,), 2)
CASES = [(MLP, "pong"), (CONV, "treasure-hunt"), (RESNET, "shogi"), (RESNET, "treasure-hunt")]
CASES += [(STACK, "pong"), (STACK, "shogi"), (CONV_STACK, "treasure-hunt"), (CONV_STACK, "shogi")]
CASES += [(PLANE_STACK, "shogi"), (PLANE_STACK, "treasure-hunt")]
CASES += [(Architecture("stack", ()), "pong"), (replace(CONV_STACK, hidden=(), activations=("elu",) * 3), "shogi")]


ONE_CONV: dict[str, Any] = {
    "type": "stack", "hidden": (), "channels": (8,), "kernels": (3,), "strides": (1,), "activations": ("relu",),
}  # fmt: skip


def network(architecture: Architecture, name: str, seed: int = 1) -> Network:
    info = new_game(name).info
    module = PolicyValueNet(architecture, info.observation, info.actions)
    module.draw_tensors(torch.Generator().manual_seed(seed))
    return Network(name, info.observation, info.actions, architecture, module.tensors())


@pytest.mark.parametrize(("architecture", "name"), CASES)
def test_a_module_has_the_tensors_that_its_architecture_lists(architecture: Architecture, name: str) -> None:
    info = new_game(name).info
    module = PolicyValueNet(architecture, info.observation, info.actions)
    shapes = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    assert shapes == architecture.shapes(info.observation, info.actions)
    logits, values = module(torch.zeros(3, *info.observation))
    assert logits.shape == (3, info.actions)
    assert values.shape == (3,)


@pytest.mark.parametrize(("architecture", "name"), CASES)
def test_a_network_is_read_as_it_was_written(architecture: Architecture, name: str) -> None:
    written = network(architecture, name).with_temperature(0.5)
    read = load(dump(written))
    assert (read.game, read.architecture, read.temperature) == (name, architecture, 0.5)
    assert all(np.array_equal(read.tensors[name], written.tensors[name]) for name in written.tensors)
    read.check_game(new_game(name))


def test_weights_are_drawn_without_the_global_generator() -> None:
    before = torch.random.get_rng_state()
    first, second = network(MLP, "pong"), network(MLP, "pong")
    assert torch.equal(before, torch.random.get_rng_state())
    assert dump(first) == dump(second)
    assert dump(first) != dump(network(MLP, "pong", seed=2))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"type": "lstm"}, "lstm"),
        ({"hidden": ()}, "hidden = (): must be 1 to 8 numbers"),
        ({"hidden": (64, 0)}, "from 1 to 4096"),
        ({"hidden": (True,)}, "whole numbers"),
        ({"channels": (8,)}, "channels = (8,): must be empty"),
        ({"type": "conv"}, "channels = (): must be 1 to 8 numbers"),
        ({"type": "resnet", "channels": (8, 8), "blocks": 1}, "must be 1 to 1 numbers"),
        ({"type": "resnet", "channels": (8,)}, "blocks = 0: must be from 1 to 40"),
        ({"blocks": 1}, "blocks = 1: must be from 0 to 0"),
        ({"activations": ("relu", "relu")}, "activations = ('relu', 'relu'): must be empty"),
        ({"type": "conv", "channels": (8,), "kernels": (5,)}, "kernels = (5,): must be empty"),
        ({"type": "stack"}, "activations = (): must be 2, one for each layer"),
        ({"type": "stack", "activations": ("relu",)}, "activations = ('relu',): must be 2, one for each layer"),
        ({"type": "stack", "activations": ("relu", "sign")}, "activations = 'sign': must be one of relu, leaky_relu"),
        ({"type": "stack", "activations": ["relu", "relu"]}, "must be 2, one for each layer"),
        ({"type": "stack", "activations": ("relu", 1)}, "activations = 1: must be one of relu"),
        ({"type": "stack", "hidden": (8,) * 9, "activations": ("relu",) * 9}, "must be 0 to 8 numbers"),
        ({**ONE_CONV, "kernels": ()}, "kernels = (): must be 1, one for each layer"),
        ({**ONE_CONV, "kernels": (2,)}, "kernels = 2: must be one of 1, 3, 5, 7"),
        ({**ONE_CONV, "kernels": (True,)}, "kernels = True: must be one of 1, 3, 5, 7"),
        ({**ONE_CONV, "strides": (3,)}, "strides = 3: must be one of 1, 2"),
        ({**ONE_CONV, "strides": (1, 2)}, "strides = (1, 2): must be 1, one for each layer"),
        ({**ONE_CONV, "channels": (513,)}, "whole numbers from 1 to 512"),
        ({**ONE_CONV, "blocks": 1}, "blocks = 1: must be from 0 to 0 in a network of type stack"),
    ],
)
def test_a_bad_architecture_is_refused_with_the_value(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(RingsideError) as caught:
        Architecture(**fields)
    assert text in str(caught.value)


def test_an_architecture_that_does_not_fit_the_game_is_refused() -> None:
    with pytest.raises(BadValue, match=r"observation = \(8,\): must be planes"):
        CONV.shapes((8,), 3)
    with pytest.raises(BadValue, match="at most 50,000,000"):
        Architecture("mlp", (4096, 4096, 4096, 4096)).shapes((4096,), 4096)
    with pytest.raises(BadValue, match=r"observation = \(8,\): must be planes, rows and columns for a .* stack"):
        CONV_STACK.shapes((8,), 3)
    with pytest.raises(BadValue, match=r"weights = 4000000000[0-9]+: must be at most 50,000,000"):
        Architecture("stack", (4,), activations=("relu",)).shapes((10**6, 10**6), 3)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("side", [1, 3, 5, 7])
@pytest.mark.parametrize("image", [(1, 1), (2, 7), (9, 4)])
def test_only_a_stride_makes_an_image_smaller(image: tuple[int, int], side: int, stride: int) -> None:
    stack = Architecture("stack", (), (2,), kernels=(side,), strides=(stride,), activations=("relu",))
    module = PolicyValueNet(stack, (3, *image), 4)
    rows, columns = (math.ceil(size / stride) for size in image)
    assert module.convs[0](torch.zeros(1, 3, *image)).shape == (1, 2, rows, columns)
    assert module(torch.zeros(1, 3, *image))[0].shape == (1, 4)
    assert stack.shapes((3, *image), 4)["value.weight"] == (1, 2 * rows * columns)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "elu", "silu", "tanh"])
def test_drawn_weights_neither_amplify_nor_lose_signals(activation: str) -> None:
    """Through eight layers of each activation; the outputs of tanh shrink faster than those of a single layer."""
    module = PolicyValueNet(Architecture("stack", (256,) * 8, activations=(activation,) * 8), (256,), 3)
    module.draw_tensors(torch.Generator().manual_seed(1))
    x = torch.randn(64, 256, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        logits, values = module(x)
    assert 0.2 < float(values.std()) < 5.0
    assert float(logits.abs().max()) < 0.2


def test_a_network_of_another_game_is_refused() -> None:
    written = network(CONV, "treasure-hunt")
    with pytest.raises(BadValue, match=r"network.game = 'treasure-hunt': must be pong"):
        written.check_game(new_game("pong"))
    with pytest.raises(BadValue, match=r"network.observation = \(3, 5, 5\): must be \(3, 7, 7\)"):
        written.check_game(new_game("treasure-hunt", radius=3))


def edited(payload: bytes, edit: Any) -> bytes:
    """The payload with another header."""
    (length,) = struct.unpack_from("<Q", payload)
    header = json.loads(payload[8 : 8 + length])
    edit(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + payload[8 + length :]


def set_about(name: str, value: Any) -> Any:
    def edit(header: dict[str, Any]) -> None:
        about = json.loads(header["__metadata__"]["ringside"])
        about[name] = value
        header["__metadata__"]["ringside"] = json.dumps(about)

    return edit


def stacked(**changed: Any) -> Any:
    """Makes the architecture that of a stack, with these fields."""
    about: dict[str, Any] = {"type": "stack", "hidden": [16, 8], "activations": ["relu", "relu"]}
    if "channels" in changed:
        about |= {"kernels": [3], "strides": [1], "activations": ["relu"] * 3}
    return set_about("architecture", about | changed)


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (lambda header: header.pop("value.bias"), "'value.bias' is missing"),
        (lambda header: header.update(extra=header["value.bias"]), "'extra'"),
        (lambda header: header["value.bias"].update(shape=[10**12]), "value.bias.shape = (1000000000000,)"),
        (lambda header: header["value.bias"].update(dtype="F64"), "value.bias.dtype = 'F64': must be float32"),
        (lambda header: header["value.bias"].update(data_offsets=[0, 10**12]), "data_offsets"),
        (lambda header: header["value.bias"].update(data_offsets=[0, 4]), "where the tensor before it ends"),
        (lambda header: header["value.bias"].update(data_offsets=[False, 4]), "described by whole numbers"),
        (lambda header: header["value.bias"].update(shape=[1.0]), "described by whole numbers"),
        (lambda header: header["value.bias"].update(shape=[True]), "described by whole numbers"),
        (lambda header: header["value.bias"].update(code="import os"), "a tensor with dtype, shape and data_offsets"),
        (lambda header: header["value.bias"].pop("shape"), "a tensor with dtype, shape and data_offsets"),
        (lambda header: header.pop("__metadata__"), "a network that Ringside wrote"),
        (set_about("format", 2), "format = 2"),
        (set_about("observation", [10**12]), "observation"),
        (set_about("observation", [-8]), "observation"),
        (set_about("observation", []), "1 to 32 sizes"),
        (set_about("observation", [2**31 - 1] * 85_000), "1 to 32 sizes"),
        (set_about("actions", 10**12), "observation"),
        (set_about("temperature", -1.0), "temperature = -1.0"),
        (set_about("architecture", {"type": "mlp", "hidden": [4096] * 9}), "1 to 8 numbers"),
        (set_about("architecture", {"type": "mlp", "code": "import os"}), "'code'"),
        (stacked(activations=["relu"]), "activations = ('relu',): must be 2, one for each layer"),
        (stacked(activations=["relu", "import os"]), "activations = 'import os': must be one of relu"),
        (stacked(activations="relu"), "architecture.activations = 'relu': must be a list"),
        (stacked(activations=["relu", 1]), "architecture.activations[1] = 1: must be of type str"),
        (stacked(activations=["relu", ["relu"]]), "architecture.activations[1] = ['relu']: must be of type str"),
        (stacked(activations=["relu"] * 10**4), "must be 2, one for each layer"),
        (stacked(activations=None), "architecture.activations = None: must be a list"),
        (stacked(kernels=[3]), "kernels = (3,): must be empty"),
        (stacked(channels=[8], kernels=[2]), "kernels = 2: must be one of 1, 3, 5, 7"),
        (stacked(channels=[8], kernels=[3.0]), "architecture.kernels[0] = 3.0: must be of type int"),
        (stacked(channels=[8], kernels=[True]), "architecture.kernels[0] = True: must be of type int"),
        (stacked(channels=[8], strides=[3]), "strides = 3: must be one of 1, 2"),
        (stacked(channels=[8], strides=[10**400]), "must be one of 1, 2"),
        (stacked(channels=[8]), "observation = (8,): must be planes, rows and columns"),
        (stacked(hidden=[4096] * 8, activations=["relu"] * 8), "weights = 117522436: must be at most 50,000,000"),
        (stacked(hidden=[10**12, 8]), "whole numbers from 1 to 4096"),
    ],
)
def test_a_file_that_contradicts_its_architecture_is_refused(edit: Any, text: str) -> None:
    with pytest.raises(RingsideError) as caught:
        load(edited(dump(network(MLP, "pong")), edit))
    assert text in str(caught.value)


def test_sizes_are_refused_before_anything_is_allocated() -> None:
    """Many times the memory of any computer, which a short file can ask for."""
    payload = dump(network(STACK, "pong"))
    tracemalloc.start()
    try:
        with pytest.raises(BadValue, match="at most 50,000,000"):
            load(edited(payload, set_about("observation", [2**31 - 1] * 32)))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


OLDER = (
    '{"actions":3,"architecture":{"blocks":0,"channels":[],"hidden":[16,8],"type":"mlp"},"format":1,"game":"pong",'
    '"observation":[8],"temperature":0.0}'
)


def test_files_of_older_versions_are_read_and_written_as_before() -> None:
    """They had no kernels, strides and activations, and refuse fields that they do not know."""
    written = network(MLP, "pong")
    older = save(dict(written.tensors), {"ringside": OLDER})
    read = load(older)
    assert read.architecture == MLP
    assert dump(read) == dump(written) == older


def test_bytes_after_the_last_tensor_are_refused() -> None:
    with pytest.raises(BadValue, match="'4 bytes after the last tensor'"):
        load(dump(network(MLP, "pong")) + bytes(4))


def test_a_header_in_another_encoding_is_refused() -> None:
    payload = dump(network(MLP, "pong"))
    (length,) = struct.unpack_from("<Q", payload)
    text = payload[8 : 8 + length].decode().encode("utf-16")
    with pytest.raises(BadValue, match="must be a network in safetensors"):
        load(struct.pack("<Q", len(text)) + text + payload[8 + length :])


def test_tensors_may_be_in_any_order() -> None:
    payload = dump(network(MLP, "pong"))

    def exchange(header: dict[str, Any]) -> None:
        weight, other = header["value.weight"], header["layers.1.bias"]
        assert weight["shape"][1:] == other["shape"]  # they have the same size
        weight["data_offsets"], other["data_offsets"] = other["data_offsets"], weight["data_offsets"]

    former, read = load(payload), load(edited(payload, exchange))
    assert (read.tensors["value.weight"][0] == former.tensors["layers.1.bias"]).all()


def test_weights_that_are_not_finite_are_refused() -> None:
    fine = network(MLP, "pong")
    payload = bytearray(dump(fine))
    payload[-4:] = np.float32(np.nan).tobytes()
    with pytest.raises(BadValue, match="'nan or inf': must be finite numbers"):
        load(bytes(payload))


@pytest.mark.parametrize("payload", [b"", b"\xff" * 8, b"\x02" + bytes(7) + b"[]", bytes(100), b"PK\x03\x04" * 10])
def test_bytes_that_are_no_network_are_refused(payload: bytes) -> None:
    with pytest.raises(BadValue):
        load(payload)
