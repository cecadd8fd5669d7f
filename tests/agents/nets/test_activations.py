"""The activations of layers in compiled code: close to their definitions, and the same bits at every place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agents.nets import arithmetic
from agents.nets.architecture import ACTIVATIONS, STACK, Architecture
from agents.nets.mlp import Mlp
from agents.nets.network import Network, dump
from agents.nets.pilot import NET, mlp_of
from engine.errors import BadValue, RingsideError
from engine.game import Game
from engine.play.match import AgentSpec
from engine.registry import new_game
from tests.plugins.networks import drawn

PONG, HUNT = new_game("pong", points=1, step_limit=200), new_game("treasure-hunt", turns=20)
EXACT: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "leaky_relu": lambda x: np.where(x > 0, x, x * np.float64(np.float32(0.01))),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "silu": lambda x: np.where(x < -700, 0.0, x / (1.0 + np.exp(-np.maximum(x, -700.0)))),
    "tanh": np.tanh,
}
ROWS = {name: getattr(arithmetic, f"{name}_row") for name in ACTIVATIONS}


def computed(name: str, values: Any) -> np.ndarray:
    result = np.array(values, np.float32)
    ROWS[name](result, len(result))
    return result


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_close_to_its_definition(name: str) -> None:
    near_zero = np.concatenate([np.geomspace(1e-30, 1e-3, 1000), -np.geomspace(1e-30, 1e-3, 1000)])
    large = [-3e38, -1e30, -1000.0, -88.0, -87.01, -87.0, -86.99, 1000.0, 1e30, 3e38]
    x = np.concatenate([np.linspace(-100, 30, 130_001), near_zero, large]).astype(np.float32)
    found, exact = computed(name, x).astype(np.float64), EXACT[name](x.astype(np.float64))
    counted = np.abs(exact) > 1e-30
    np.testing.assert_allclose(found[counted], exact[counted], rtol=5e-7)
    assert np.abs(found - exact)[~counted].max() < 1e-29


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_zero_stays_zero_and_nan_stays_nan(name: str) -> None:
    found = computed(name, [0.0, -0.0, np.nan, -np.nan, 0.0])
    assert np.isnan(found).tolist() == [False, False, True, True, False]
    assert (found[[0, 1, 4]] == 0.0).all()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_value_has_the_same_bits_at_every_place(name: str) -> None:
    """The compiler makes loops for 16, 8 or 4 values at a time, and for those that are left."""
    x = np.random.default_rng(1).standard_normal(99).astype(np.float32) * 4
    alone = np.concatenate([computed(name, [value]) for value in x])
    for first in range(17):
        assert computed(name, x[first:]).tobytes() == alone[first:].tobytes()


def evaluated(network: Network, obs: Any) -> np.ndarray:
    """[rows, actions + 1] outputs of a network without convolutions, in float64 by numpy."""
    x, mlp = obs.reshape(len(obs), -1).astype(np.float64), mlp_of(network)
    activations = (*network.architecture.activations, None)
    for weights, bias, name in zip(mlp.weights, mlp.biases, activations, strict=True):
        x = x @ weights.astype(np.float64) + bias
        x = EXACT[name](x) if name else x
    return np.asarray(x)


Layers = list[tuple[tuple[int, ...], tuple[str, ...]]]  # hidden and activations
STACKS: Layers = [((width,) * 2, (name,) * 2) for name in ACTIVATIONS for width in (7, 64)]
STACKS += [((33, 16, 5, 8, 9), ACTIVATIONS), ((9,), ("silu",)), ((), ()), ((20, 20, 20), ("elu", "tanh", "relu"))]


@pytest.mark.parametrize(("hidden", "activations"), STACKS)
@pytest.mark.parametrize("game", [PONG, HUNT], ids=["vector", "image"])
def test_a_stack_in_compiled_code_has_the_numbers_of_numpy(
    game: Game, hidden: tuple[int, ...], activations: tuple[str, ...]
) -> None:
    network = drawn(Architecture(STACK, hidden, activations=activations), game, seed=len(hidden))
    pilot: Any = NET.pilot(game, 1)
    pilot.load(AgentSpec("a", "net", dump(network)))
    obs = np.random.default_rng(3).standard_normal((30, *game.info.observation)).astype(np.float32)
    exact, out = evaluated(network, obs), np.zeros(2, np.float32)
    legal = np.ones(game.info.actions, np.uint8)
    logits = exact[:, :-1] - exact[:, :-1].max(axis=1, keepdims=True)
    log_chances = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    for k in range(30):
        action = pilot.policy_row(pilot.arrays, np.uint32(0), np.uint32(0), np.uint32(k), obs[k], legal, (), out)
        assert out[0] == pytest.approx(log_chances[k, action], abs=1e-5)
        assert out[1] == pytest.approx(exact[k, -1], abs=1e-5)
    together = pilot.evaluate(np.zeros(30, np.uint32), obs)
    assert [pilot.value_row(pilot.arrays, np.uint32(0), row) for row in obs] == together.tolist()


def test_stacks_with_other_activations_play_side_by_side_and_replace_each_other() -> None:
    obs = np.random.default_rng(3).standard_normal((5, 8)).astype(np.float32)
    networks = [drawn(Architecture(STACK, (16,), activations=(name,)), PONG, seed=1) for name in ACTIVATIONS]
    networks.append(drawn(Architecture("mlp", (16,)), PONG, seed=1))
    specs = [AgentSpec(f"{k}", "net", dump(network)) for k, network in enumerate(networks)]
    pilot: Any = NET.pilot(PONG, 1)
    numbers = [pilot.load(spec) for spec in specs]
    values = [pilot.evaluate(np.full(5, number, np.uint32), obs).tolist() for number in numbers]
    assert values[-1] == values[ACTIVATIONS.index("tanh")]
    assert len({tuple(row) for row in values}) == len(ACTIVATIONS)
    for spec, expected in zip(specs, values, strict=True):
        pilot.replace(0, spec)
        assert pilot.evaluate(np.zeros(5, np.uint32), obs).tolist() == expected


def test_wrong_activations_are_refused() -> None:
    mlp = mlp_of(drawn(Architecture("mlp", (16,)), PONG))
    for activations, error, text in (
        (("relu", "relu"), BadValue, "must be 1, one for each layer but the last"),
        (("sign",), RingsideError, "unknown activation 'sign'"),
    ):
        with pytest.raises(error, match=text):
            Mlp(mlp.weights, mlp.biases, 1.0, activations).check(8, 3)
