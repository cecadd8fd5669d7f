"""Small networks in compiled code: the numbers are right, sampling follows them, and rows do not affect each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from agents.nets.arithmetic import exp_below, log_above, tanh_row
from agents.nets.mlp import MlpPilot
from engine.checks import check_kind
from engine.errors import BadValue
from engine.game import BROKEN, Game, Indices, Observations, Views
from engine.play.match import AgentSpec
from engine.registry import KINDS, new_game
from tests.plugins.nets import KIND, agent, exact, read

PONG = new_game("pong", points=1, step_limit=200)
ALL = np.ones(3, np.uint8)


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    KINDS.add(KIND.name, KIND)
    yield
    KINDS.remove(KIND.name)


def loaded(game: Game, spec: AgentSpec, slots: int = 8) -> MlpPilot:
    pilot = MlpPilot(game, slots, read)
    assert pilot.load(spec) == 0
    pilot.begin(np.arange(slots, dtype=np.uint32), np.zeros(slots, np.uint32), np.arange(slots, dtype=np.uint64) * 977)
    return pilot


def observed(game: Game, rows: int, seed: int = 0) -> Observations:
    return np.random.default_rng(seed).standard_normal((rows, *game.info.observation)).astype(np.float32)


def test_tanh_exp_and_log_are_close() -> None:
    x = np.concatenate([np.linspace(-12, 12, 40_001), [1e-30, 0.0, -0.0, 3e38, -3e38]]).astype(np.float32)
    result = x.copy()
    tanh_row(result, len(result))
    assert np.abs(result - np.tanh(x.astype(np.float64))).max() < 5e-7
    assert np.abs(result).max() <= 1.0
    near = np.abs(x) < 1.0
    np.testing.assert_allclose(result[near], np.tanh(x[near].astype(np.float64)), rtol=5e-7)
    for value in np.linspace(0.0, 79.9, 997).tolist():
        assert exp_below(-value) == pytest.approx(math.exp(-value), rel=1e-11)
        assert log_above(1.0 + value**2) == pytest.approx(math.log(1.0 + value**2), rel=1e-11, abs=1e-12)
    assert exp_below(-1e9) < 1e-30


def test_nan_stays_nan() -> None:
    values = np.array([np.nan, 1.0], np.float32)
    tanh_row(values, 2)
    assert np.isnan(values[0])


@pytest.mark.parametrize("hidden", [[], [1], [5], [64, 64], [9, 17, 33], [256]])
@pytest.mark.parametrize("name", ["pong", "treasure-hunt"])
def test_log_probabilities_and_values_are_those_of_numpy(name: str, hidden: list[int]) -> None:
    game = new_game(name)
    spec = agent("net", game, hidden, seed=len(hidden), temperature=0.7)
    pilot, obs, out = loaded(game, spec), observed(game, 40), np.zeros(2, np.float32)
    legal = np.random.default_rng(1).random((40, game.info.actions)) < 0.6
    legal[np.arange(40), np.arange(40) % game.info.actions] = True
    chances, values = exact(read(spec.payload), obs, legal)
    for k in range(40):
        may = legal[k].view(np.uint8)
        action = pilot.policy_row(pilot.arrays, np.uint32(0), np.uint32(0), np.uint32(k), obs[k], may, (), out)
        assert legal[k, action]
        assert out[0] == pytest.approx(chances[k, action], abs=5e-6)
        assert out[1] == pytest.approx(values[k], abs=5e-6)
        assert pilot.value_row(pilot.arrays, np.uint32(0), obs[k]) == out[1]


def test_actions_are_sampled_as_often_as_the_network_says() -> None:
    spec = agent("net", PONG, [16], seed=4)
    pilot, obs, rows = loaded(PONG, spec), observed(PONG, 1), 20_000
    chances = np.exp(exact(read(spec.payload), obs, ALL[None] != 0)[0][0])
    plies = np.arange(rows, dtype=np.uint32)
    actions = [pilot.act_row(pilot.arrays, np.uint32(0), np.uint32(0), ply, obs[0], ALL, ()) for ply in plies]
    counts = np.bincount(actions, minlength=3)
    spread = np.sqrt(rows * chances * (1 - chances))
    assert (np.abs(counts - rows * chances) < 4 * spread).all()


def test_at_temperature_zero_the_likeliest_action_is_played() -> None:
    spec = agent("net", PONG, [16], seed=4, temperature=0.0)
    pilot, obs, out = loaded(PONG, spec), observed(PONG, 50), np.zeros(2, np.float32)
    may = np.array([True, False, True])
    chances, _ = exact(read(spec.payload), obs, np.tile(may, (50, 1)))
    for k in range(50):
        legal = may.view(np.uint8)
        action = pilot.policy_row(pilot.arrays, np.uint32(0), np.uint32(0), np.uint32(k), obs[k], legal, (), out)
        assert action == chances[k].argmax()
        assert out[0] == pytest.approx(chances[k, action], abs=5e-6)


class Seen(Views):
    """Rows with these observations."""

    def __init__(self, rows: Indices, obs: Observations) -> None:
        super().__init__(PONG.boards(1), rows, obs, None)
        self._obs = obs


def rows_of(agents: list[int]) -> Indices:
    return np.array([[k, k // 2, k % 2, agents[k], 10 + k] for k in range(len(agents))], np.uint32).T.copy()


def test_a_row_does_not_depend_on_other_rows() -> None:
    pilot = loaded(PONG, agent("net", PONG, [32, 8], seed=4))
    assert pilot.load(agent("other", PONG, [5], seed=5)) == 1
    obs, rows = observed(PONG, 8), rows_of([0, 1, 1, 0, 0, 1, 0, 1])
    together = pilot.act(Seen(rows, obs)).tolist()
    alone = [int(pilot.act(Seen(rows[:, k : k + 1].copy(), obs[k : k + 1]))[0]) for k in range(8)]
    assert together == alone
    single = [pilot.act_row(pilot.arrays, *rows[[0, 3, 4], k], obs[k], ALL, ()) for k in range(8)]
    assert together == single


def test_the_kind_passes_the_checks_of_every_kind() -> None:
    check_kind(KIND, PONG, matches=3, agents=[agent("a", PONG, [8], 1), agent("b", PONG, [9, 9], 2)])
    hunt = new_game("treasure-hunt", turns=20)
    check_kind(KIND, hunt, matches=2, agents=[agent("a", hunt, [8], 1)])


def test_a_network_with_nan_is_broken() -> None:
    pilot = loaded(PONG, agent("net", PONG, [8], seed=4, nan=True))
    obs = observed(PONG, 1)
    assert pilot.act_row(pilot.arrays, np.uint32(0), np.uint32(0), np.uint32(0), obs[0], ALL, ()) == BROKEN
    with pytest.raises(FloatingPointError, match="an output of its network is NaN or too large"):
        pilot.act(Seen(rows_of([0]), obs))


def test_replaced_weights_are_those_of_the_new_agent() -> None:
    new = agent("net", PONG, [8, 8], seed=5, temperature=0.5)
    pilot, other, obs = loaded(PONG, agent("net", PONG, [8, 8], seed=4)), loaded(PONG, new), observed(PONG, 8)
    rows = rows_of([0] * 8)
    before = pilot.act(Seen(rows, obs)).tolist()
    pilot.replace(0, new)
    after = pilot.act(Seen(rows, obs)).tolist()
    assert after == other.act(Seen(rows, obs)).tolist() != before
    with pytest.raises(BadValue, match=r"layers = .*: must be \[\(8, 8\), \(8, 8\), \(8, 8\)\], as in the network"):
        pilot.replace(0, agent("net", PONG, [8, 16], seed=5))


def test_a_network_of_another_game_is_refused() -> None:
    hunt, mlp = new_game("treasure-hunt"), read(agent("net", PONG, [8], seed=1).payload)
    with pytest.raises(BadValue, match=r"weights\[0\].shape = \(8, 8\): must be \(75, 8\)"):
        loaded(hunt, agent("net", PONG, [8], seed=1))
    cut = (*mlp.weights[:-1], mlp.weights[-1][:, :3]), (*mlp.biases[:-1], mlp.biases[-1][:3])
    narrow = replace(mlp, weights=cut[0], biases=cut[1])
    with pytest.raises(BadValue, match="outputs = 3: must be 4: a logit for each action, and the value"):
        narrow.check(8, 3)
