"""Networks of type `stack` in torch: bits that depend on the row alone, and how stacks are shown."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from agents.nets.architecture import ACTIVATIONS, SIDES, STACK, STRIDES, Architecture
from agents.nets.facts import architecture_diagram, architecture_text, describe, draw
from agents.nets.inference import CHUNK, evaluating, inference_of
from agents.nets.modules import PolicyValueNet
from agents.nets.network import Network, dump
from agents.nets.pilot import NET, agent, kind_for
from agents.nets.torch_pilot import TORCH_NET
from engine.checks import check_kind
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec
from engine.registry import new_game
from tests.plugins import networks

PONG, HUNT, SHOGI = (
    new_game("pong", points=1, step_limit=200),
    new_game("treasure-hunt", turns=20),
    new_game("shogi", move_limit=20),
)
WIDTHS = (1, 3, 5, 7, 8, 11, 16, 17, 33)
IMAGES = ((3, 5, 5), (1, 1, 1), (2, 7, 4), (7, 1, 9), (5, 9, 9), (16, 6, 3), (4, 13, 2))


def random_stack(
    seed: int, image: tuple[int, ...], convs: int, dense: int, activation: str = "", planes: int = 0
) -> Network:
    """Kernels, strides, widths and activations are drawn; all layers have this activation if it is given. With
    `planes`, strides are 1 and actions are so many planes of the image."""
    rng = np.random.default_rng(seed)
    channels, hidden = rng.choice(WIDTHS, convs).tolist(), rng.choice(WIDTHS, dense).tolist()
    activations = [activation] * (convs + dense) if activation else rng.choice(ACTIVATIONS, convs + dense).tolist()
    architecture = Architecture(
        STACK, tuple(hidden), tuple(channels), kernels=tuple(rng.choice(SIDES, convs).tolist()),
        strides=(1,) * convs if planes else tuple(rng.choice(STRIDES, convs).tolist()),
        activations=tuple(activations),
    )  # fmt: skip
    actions = planes * math.prod(image[1:]) or int(rng.integers(1, 40))
    tensors = {
        name: (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        for name, shape in architecture.shapes(image, actions).items()
    }
    return Network("any", image, actions, architecture, tensors)


def check_bits(network: Network, seed: int) -> None:
    """At every place of a chunk, in chunks of any number of rows, among zeros, small and large numbers, a row has the
    same bits; they are close to those of the module."""
    rng, inference, found = np.random.default_rng(seed), inference_of(network), set()
    row = rng.standard_normal(network.observation).astype(np.float32)
    module = PolicyValueNet(network.architecture, network.observation, network.actions)
    module.set_tensors(network.tensors)
    with evaluating():
        expected, value = module(torch.from_numpy(row[None]))
        for place in range(CHUNK):
            for scale in (0.0, 1.0, 100.0):
                count = int(rng.integers(place + 1, CHUNK + 1))
                obs = (rng.standard_normal((count, *network.observation)) * scale).astype(np.float32)
                obs[place] = row
                logits, values = np.zeros((count, network.actions), np.float32), np.zeros(count, np.float32)
                inference.run(obs, logits, values, slice(0, count))
                found.add((logits[place].tobytes(), values[place].tobytes()))
    assert len(found) == 1, network.architecture
    np.testing.assert_allclose(logits[place], expected[0].numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(values[place], value[0].numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("image", IMAGES)
def test_the_bits_of_a_row_do_not_depend_on_its_place_or_on_other_rows(image: tuple[int, ...], activation: str) -> None:
    for seed in range(3):
        check_bits(random_stack(seed, image, 1 + seed, 2 - seed, activation), seed)


@pytest.mark.parametrize("image", IMAGES)
def test_the_bits_of_a_row_do_not_depend_on_its_place_if_actions_are_planes(image: tuple[int, ...]) -> None:
    for seed, planes in enumerate((1, 3, 16, 27)):
        network = random_stack(seed, image, 1 + seed % 3, 0, planes=planes)
        assert network.architecture.policy_planes(image, network.actions) == planes
        check_bits(network, seed)


SHOGI_SHAPE, SHOGI_ACTIONS = (46, 9, 9), 2187


@pytest.mark.parametrize(
    ("hidden", "strides", "image", "actions", "planes"),
    [
        ((), (1, 1), SHOGI_SHAPE, SHOGI_ACTIONS, 27),
        ((), (1, 1), (3, 2, 5), 30, 3),
        ((), (1,), (3, 1, 5), 5, 1),  # perhaps by chance
        ((), (1,), (7, 1, 1), 4, 4),  # the same function as a fully connected layer
        ((), (1, 2), SHOGI_SHAPE, SHOGI_ACTIONS, 0),
        ((8,), (1, 1), SHOGI_SHAPE, SHOGI_ACTIONS, 0),
        ((), (), SHOGI_SHAPE, SHOGI_ACTIONS, 0),
        ((), (1, 1), (3, 5, 5), 4, 0),
        ((), (1, 1), SHOGI_SHAPE, SHOGI_ACTIONS + 1, 0),
    ],
)
def test_the_policy_is_a_convolution_if_actions_are_planes_of_the_last_image(
    hidden: tuple[int, ...], strides: tuple[int, ...], image: tuple[int, ...], actions: int, planes: int
) -> None:
    channels = (6,) * len(strides)
    architecture = Architecture(
        STACK, hidden, channels, kernels=(3,) * len(channels), strides=strides,
        activations=("relu",) * (len(channels) + len(hidden)),
    )  # fmt: skip
    assert architecture.policy_planes(image, actions) == planes
    shapes = architecture.shapes(image, actions)
    if planes:
        assert shapes["policy.weight"] == (planes, 6, 1, 1)
        assert shapes["value.weight"] == (1, 6 * math.prod(image[1:]))
    else:
        assert len(shapes["policy.weight"]) == 2
    assert PolicyValueNet(architecture, image, actions).policy.weight.shape == shapes["policy.weight"]


@pytest.mark.parametrize(("image", "actions"), [(SHOGI_SHAPE, SHOGI_ACTIONS), ((3, 2, 5), 30)])
def test_an_action_is_a_plane_times_the_squares_plus_a_square(image: tuple[int, ...], actions: int) -> None:
    network = random_stack(1, image, 2, 0, "relu", actions // math.prod(image[1:]))
    parts = {name: torch.from_numpy(tensor) for name, tensor in network.tensors.items()}
    row = np.random.default_rng(2).standard_normal((1, *image)).astype(np.float32)
    x = torch.from_numpy(row)
    for k in range(2):
        weight = parts[f"convs.{k}.weight"]
        x = functional.conv2d(x, weight, parts[f"convs.{k}.bias"], padding=weight.shape[-1] // 2).relu()
    x = x[0].flatten(1)  # [channels, squares]
    expected = parts["policy.weight"].flatten(1) @ x + parts["policy.bias"][:, None]
    logits, values = np.zeros((1, actions), np.float32), np.zeros(1, np.float32)
    with evaluating():
        inference_of(network).run(row, logits, values, slice(0, 1))
    np.testing.assert_allclose(logits[0], expected.flatten().numpy(), rtol=1e-5, atol=1e-5)
    value = parts["value.weight"][0] @ x.flatten() + parts["value.bias"][0]
    np.testing.assert_allclose(values[0], value.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("side", SIDES)
def test_every_kernel_and_stride_has_repeatable_bits(side: int, stride: int) -> None:
    for seed, image in enumerate(IMAGES):
        drawn = random_stack(seed, image, 2, 1)
        changed = replace(drawn.architecture, kernels=(side, side), strides=(1, stride))
        tensors = {
            name: (np.random.default_rng(seed).standard_normal(shape) / 8).astype(np.float32)
            for name, shape in changed.shapes(image, drawn.actions).items()
        }
        check_bits(replace(drawn, architecture=changed, tensors=tensors), seed)


@pytest.mark.slow
def test_random_stacks_have_repeatable_bits() -> None:
    for seed in range(100, 1100):
        rng = np.random.default_rng(seed)
        image = tuple(int(size) for size in rng.integers(1, 14, 3))
        check_bits(random_stack(seed, image, int(rng.integers(0, 4)), int(rng.integers(0, 4))), seed)


def spec(kind: str, network: Network, name: str = "a") -> AgentSpec:
    return AgentSpec(name, kind, dump(network))


@pytest.mark.parametrize("game", [PONG, HUNT, SHOGI], ids=["pong", "treasure-hunt", "shogi"])
def test_compiled_code_and_torch_compute_the_same_stack(game: Game) -> None:
    info = game.info
    obs = np.random.default_rng(1).standard_normal((20, *info.observation)).astype(np.float32)
    network, values = networks.drawn(networks.STACK, game), []
    for kind in (NET, TORCH_NET):
        pilot: Any = kind.pilot(game, 20)
        pilot.load(spec(kind.name, network))
        values.append(pilot.evaluate(np.zeros(20, np.uint32), obs))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5, atol=1e-5)


def test_stacks_pass_the_checks_of_every_kind() -> None:
    for game in (PONG, HUNT):
        agents = [spec("net", networks.drawn(networks.STACK, game, k, k / 2), f"{k}") for k in range(3)]
        check_kind(NET, game, matches=3, agents=agents)
    for game, architecture in ((HUNT, networks.CONV_STACK), (SHOGI, networks.PLANE_STACK), (PONG, networks.STACK)):
        agents = [spec("torch-net", networks.drawn(architecture, game, k, k / 2), f"{k}") for k in range(2)]
        check_kind(TORCH_NET, game, matches=2, agents=agents)


def test_the_kind_of_a_stack_follows_from_its_layers() -> None:
    assert kind_for(networks.STACK, (8,), 3) is NET
    assert kind_for(networks.STACK, HUNT.info.observation, 4) is NET
    assert kind_for(networks.CONV_STACK, HUNT.info.observation, 4) is TORCH_NET
    wide = Architecture(STACK, (600, 600), activations=("elu", "elu"))
    assert kind_for(wide, (8,), 3) is TORCH_NET
    assert agent("a", networks.drawn(wide, PONG)).kind == "torch-net"
    with pytest.raises(BadValue, match=r"weights = 368404: must be at most 300,000; the kind torch-net"):
        NET.pilot(PONG, 1).load(spec("net", networks.drawn(wide, PONG)))
    with pytest.raises(BadValue, match="architecture = 'stack': must be mlp, or stack without convolutions; the kind"):
        NET.pilot(HUNT, 1).load(spec("net", networks.drawn(networks.CONV_STACK, HUNT)))


def test_a_stack_of_other_layers_cannot_replace_another() -> None:
    pilot: Any = TORCH_NET.pilot(HUNT, 1)
    pilot.load(spec("torch-net", networks.drawn(networks.CONV_STACK, HUNT)))
    other = replace(networks.CONV_STACK, strides=(1, 1, 2))
    with pytest.raises(BadValue, match="as in the network that it replaces"):
        pilot.replace(0, spec("torch-net", networks.drawn(other, HUNT)))


def test_a_stack_is_described_with_its_kernels_strides_and_activations() -> None:
    dense = Architecture(STACK, (64, 32), activations=("relu", "silu"))
    assert architecture_text(dense, (8,), 3) == "stack: 8, 64 relu, 32 silu, 3 + value"
    assert architecture_text(Architecture(STACK, ()), (8,), 3) == "stack: 8, 3 + value"
    planes = architecture_text(networks.PLANE_STACK, SHOGI.info.observation, SHOGI.info.actions)
    assert planes == "stack: 8 channels 3x3 silu, 5 channels 1x1 elu, 2,187 in 27 planes + value"
    text = "stack: 8 channels 3x3 silu, 16 channels 5x5/2 elu, 5 channels 1x1 tanh, 20 relu, 9 elu, 4 + value"
    facts = dict(describe(agent("a", networks.drawn(networks.CONV_STACK, HUNT))))
    assert (facts["Architecture"], facts["Weights"]) == (text, f"{networks.drawn(networks.CONV_STACK, HUNT).weights:,}")


def test_a_stack_is_drawn_as_images_then_layers() -> None:
    diagram = draw(agent("a", networks.drawn(networks.CONV_STACK, HUNT)))
    assert [(block.role, block.image, block.text) for block in diagram.blocks] == [
        ("input", True, "3"), ("hidden", True, "8"), ("hidden", True, "16"), ("hidden", True, "5"),
        ("hidden", False, "20"), ("hidden", False, "9"), ("output", False, "4"),
    ]  # fmt: skip
    planes = architecture_diagram(networks.PLANE_STACK, SHOGI.info.observation, SHOGI.info.actions)
    assert [(block.image, block.text) for block in planes.blocks] == [
        (True, "46"), (True, "8"), (True, "5"), (True, "27 planes"),
    ]  # fmt: skip
    dense = architecture_diagram(networks.STACK, HUNT.info.observation, 4)
    assert [block.text for block in dense.blocks] == ["75", "16", "12", "9", "16", "8", "4"]
    assert not any(block.image for block in dense.blocks)
