"""Our networks as ONNX files: ONNX's own checker accepts them, and they compute the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.nets.architecture import SIDES, Architecture
from agents.nets.modules import PolicyValueNet
from agents.nets.network import Network
from agents.nets.onnx.export import to_onnx
from agents.nets.onnx.model import read_model
from engine.game import Game
from engine.registry import new_game
from tests.plugins.networks import CONV, CONV_STACK, PLANE_STACK, RESNET, SMALL, STACK, drawn

PONG, HUNT, SHOGI = new_game("pong"), new_game("treasure-hunt"), new_game("shogi")
CASES = [
    (SMALL, PONG),
    (Architecture("mlp", (16,) * 8), HUNT),
    (CONV, HUNT),
    (Architecture("conv", (), (4,)), HUNT),
    (RESNET, HUNT),
    (RESNET, SHOGI),
    (Architecture("resnet", (), (4,), 1), SHOGI),
    (STACK, PONG),
    (STACK, SHOGI),
    (CONV_STACK, HUNT),
    (CONV_STACK, SHOGI),
    (PLANE_STACK, SHOGI),
    (Architecture("stack", ()), PONG),
    *(
        (Architecture("stack", (), (6,), kernels=(side,), strides=(stride,), activations=(activation,)), HUNT)
        for side, stride, activation in zip(SIDES, (2, 1, 2, 1), ("relu", "leaky_relu", "silu", "tanh"), strict=True)
    ),
]


def test_every_head_of_a_resnet_is_among_the_cases() -> None:
    shapes = [a.shapes(g.info.observation, g.info.actions)["policy.weight"] for a, g in CASES if a.type == "resnet"]
    assert {len(shape) for shape in shapes} == {2, 4}


@pytest.mark.parametrize(("architecture", "game"), CASES)
def test_the_checker_of_onnx_accepts_an_exported_network(architecture: Architecture, game: Game) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(to_onnx(drawn(architecture, game)))
    onnx.checker.check_model(model, full_check=True)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]
    assert {entry.key: entry.value for entry in model.metadata_props} == {
        "ringside.game": game.spec.name,
        "ringside.temperature": "1.0",
    }


@pytest.mark.parametrize(("architecture", "game"), CASES)
def test_an_exported_network_computes_what_the_module_does(architecture: Architecture, game: Game) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    network = drawn(architecture, game, seed=3)
    obs = np.random.default_rng(1).standard_normal((300, *game.info.observation)).astype(np.float32)
    module = PolicyValueNet(architecture, game.info.observation, game.info.actions)
    module.set_tensors(network.tensors)
    with torch.inference_mode():
        logits, values = (found.numpy() for found in module(torch.from_numpy(obs)))
    session = onnxruntime.InferenceSession(to_onnx(network), providers=["CPUExecutionProvider"])
    found = session.run(["logits", "value"], {"observation": obs})  # the batch is free
    np.testing.assert_allclose(found[0], logits, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1][:, 0], values, rtol=1e-4, atol=1e-5)
    assert (found[0].argmax(1) == logits.argmax(1)).all()


def test_an_exported_file_keeps_weights_game_and_temperature() -> None:
    network: Network = drawn(CONV, HUNT, temperature=0.25)
    model = read_model(to_onnx(network))
    assert (model.weights, model.game, model.temperature) == (network.weights, "treasure-hunt", 0.25)
    assert list(map(str, model.inputs)) == ["observation: float32 [free, 3, 5, 5]"]
    assert list(map(str, model.outputs)) == ["logits: float32 [free, 4]", "value: float32 [free, 1]"]
