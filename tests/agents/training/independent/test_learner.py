"""Groups of learners: stacks compared with single agents, states, divergence, and the networks that play."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from agents.nets.network import dump, load
from agents.nets.pilot import NET, agent, mlp_of
from agents.training.independent.learner import LearnerGroup
from agents.training.independent.learner_settings import DQN, IQN, LearnerSettings, check_game
from agents.training.independent.networks import draw_weights, shapes_of
from engine.errors import BadValue, UnknownName
from engine.game import Views
from engine.play.match import AgentSpec
from engine.registry import new_game
from tests.agents.training.independent.loss_reference import Rows, action_values, draw_rows
from tests.agents.training.independent.plain_learner import PlainLearner, fraction_seed

OBSERVATION, ACTIONS = (3, 5, 5), 4
METHODS = {
    "iqn double": LearnerSettings(method=IQN, double=True),
    "iqn": LearnerSettings(method=IQN, double=False),
    "dqn": LearnerSettings(method=DQN, double=False),
    "dqn double": LearnerSettings(method=DQN, double=True),
    "dqn double dueling": LearnerSettings(method=DQN, double=True, dueling=True),
}
SMALL = {name: replace(settings, hidden=(16, 16), batch=32) for name, settings in METHODS.items()}
ODD = {  # sizes that are no multiples of anything
    "iqn": LearnerSettings(method=IQN, hidden=(13, 7), quantiles=5, batch=96),
    "iqn of one": LearnerSettings(method=IQN, hidden=(5, 1), quantiles=1, batch=32),
    "dqn dueling": LearnerSettings(method=DQN, hidden=(1, 9, 50), dueling=True, batch=32),
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Several threads take longer for small matrices."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def group_of(settings: LearnerSettings, agents: list[int], seed: int = 3) -> LearnerGroup:
    return LearnerGroup(settings, OBSERVATION, ACTIONS, agents, seed)


def rows_of(settings: LearnerSettings, agent: int, update: int) -> Rows:
    return draw_rows(agent, update, settings.batch, 75, ACTIONS)


def train(group: LearnerGroup, updates: int) -> list[list[float]]:
    """Each agent learns from its own transitions."""
    return [
        group.update(
            [rows_of(group.settings, agent, made) for agent, made in zip(group.agents, group.updates, strict=True)]
        )
        for _ in range(updates)
    ]


def state_of(group: LearnerGroup, k: int = 0) -> NDArray[np.float32]:
    numbers = np.full(group.state_size, np.nan, np.float32)
    group.write_state(k, numbers)
    return numbers


def check_stack(settings: LearnerSettings, count: int, updates: int) -> None:
    """A stack has the losses and the state of single agents to the bit."""
    agents = list(range(count))
    stack, singles = group_of(settings, agents), [group_of(settings, [agent]) for agent in agents]
    expected = [train(single, updates) for single in singles]
    assert train(stack, updates) == [[losses[k][0] for losses in expected] for k in range(updates)]
    for k, single in enumerate(singles):
        assert state_of(stack, k).tobytes() == state_of(single).tobytes()
        assert single.updates == [updates]


@pytest.mark.parametrize("count", [1, 2, 5, 10])
@pytest.mark.parametrize("name", METHODS)
def test_a_stack_has_the_bits_of_single_agents(name: str, count: int) -> None:
    check_stack(METHODS[name], count, 12)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("count", [2, 3, 10])
def test_a_stack_with_layers_of_odd_sizes_has_the_bits_of_single_agents(name: str, count: int) -> None:
    check_stack(ODD[name], count, 10)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 5, 10])
@pytest.mark.parametrize("name", METHODS)
def test_a_stack_has_the_bits_of_single_agents_for_hundreds_of_updates(name: str, count: int) -> None:
    check_stack(METHODS[name], count, 400)


@pytest.mark.parametrize("name", SMALL)
def test_a_learner_follows_one_of_plain_torch(name: str) -> None:
    """Loss, gradient, clipping, Adam and targets of fifty updates; rounding errors grow slowly."""
    settings = replace(SMALL[name], gradient_norm=0.5, tau=0.05)
    group = group_of(settings, [6, 7])
    weights = draw_weights(shapes_of(settings, OBSERVATION, ACTIONS), 3, 7)
    plain = PlainLearner(settings, 75, ACTIONS, weights)
    for update in range(50):
        batches = [rows_of(settings, agent, update) for agent in group.agents]
        expected = plain.update(batches[1], fraction_seed(3, 7, update))
        assert group.update(batches)[1] == pytest.approx(expected, rel=1e-3)
    trained = dict(plain.online.named_parameters())
    for key, part in group._online.parts.items():
        assert part[1].numpy() == pytest.approx(trained[key].detach().numpy(), abs=2e-4), key
        assert np.abs(part[1].numpy() - weights[key]).max() > 2e-3, key


def test_initial_weights_depend_on_seed_and_number_of_an_agent_alone() -> None:
    settings = SMALL["iqn double"]
    stack = group_of(settings, [4, 7])
    assert state_of(stack, 1).tobytes() == state_of(group_of(settings, [7])).tobytes()
    assert state_of(stack, 0).tobytes() != state_of(stack, 1).tobytes()
    assert state_of(group_of(settings, [7], seed=4)).tobytes() != state_of(stack, 1).tobytes()


@pytest.mark.parametrize("name", SMALL)
def test_the_loss_of_a_learnable_task_falls(name: str) -> None:
    """The reward is the number of the action times an input: without a next observation, Q is that reward."""
    settings = replace(SMALL[name], learning_rate=3e-3)
    group = LearnerGroup(settings, (6,), 3, [0], 1)
    losses = []
    for update in range(300):
        rows = draw_rows(0, update, settings.batch, 6, 3)
        rewards = (rows.actions * rows.obs[:, 0]).astype(np.float32)
        losses += group.update([replace(rows, rewards=rewards, discounts=np.zeros_like(rewards))])
    assert np.mean(losses[-20:]) < 0.2 * np.mean(losses[:20])


def test_a_state_that_is_written_and_read_continues_with_the_same_bits() -> None:
    for settings in SMALL.values():
        whole, first = group_of(settings, [0, 1]), group_of(settings, [0, 1])
        train(whole, 10)
        train(first, 6)
        second = group_of(settings, [1, 0], seed=3)  # at other places of the stack
        second.read_state(1, state_of(first, 0))
        second.read_state(0, state_of(first, 1))
        assert second.updates == [6, 6]
        train(second, 4)
        assert state_of(second, 1).tobytes() == state_of(whole, 0).tobytes()
        assert state_of(second, 0).tobytes() == state_of(whole, 1).tobytes()


def test_a_state_keeps_large_counts_and_whether_an_agent_diverged() -> None:
    group, other = (group_of(SMALL["dqn"], [0]) for _ in range(2))
    group.updates[0], group.diverged[0] = 123_456_789_012, True
    other.read_state(0, state_of(group))
    assert other.updates == [123_456_789_012]
    assert other.diverged == [True]


def test_a_state_of_another_size_is_refused() -> None:
    group = group_of(SMALL["dqn"], [0])
    with pytest.raises(BadValue, match="state"):
        group.read_state(0, np.zeros(group.state_size - 1, np.float32))


@pytest.mark.parametrize("column", ["obs", "next_obs", "rewards", "discounts"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["iqn double", "dqn double dueling"])
def test_an_agent_that_diverges_keeps_its_state_and_the_others_go_on(name: str, column: str, value: float) -> None:
    settings = SMALL[name]
    stack, healthy = group_of(settings, [0, 1, 2]), [group_of(settings, [agent]) for agent in (0, 2)]
    train(stack, 3)
    before = state_of(stack, 1)
    batches = [rows_of(settings, agent, 3) for agent in stack.agents]
    bad = getattr(batches[1], column).copy()
    bad[5] = value
    losses = stack.update([batches[0], replace(batches[1], **{column: bad}), batches[2]])
    assert stack.diverged == [False, True, False]
    assert stack.updates == [4, 3, 4]
    assert [bool(np.isnan(loss)) for loss in losses] == [False, True, False]
    train(stack, 3)
    assert stack.updates == [7, 3, 7]
    assert state_of(stack, 1)[:-1].tobytes() == before[:-1].tobytes()  # all but the mark
    for place, single in zip((0, 2), healthy, strict=True):
        train(single, 7)
        assert state_of(stack, place).tobytes() == state_of(single).tobytes()


def test_an_agent_without_a_minibatch_stays_as_it_is() -> None:
    settings = SMALL["iqn double"]
    stack, single = group_of(settings, [0, 1]), group_of(settings, [1])
    train(stack, 2)
    before = state_of(stack, 0)
    for update in (2, 3):
        losses = stack.update([None, rows_of(settings, 1, update)])
    assert np.isnan(losses[0])
    assert stack.update([None, None]) == pytest.approx([np.nan, np.nan], nan_ok=True)
    assert state_of(stack, 0).tobytes() == before.tobytes()
    train(single, 4)
    assert state_of(stack, 1).tobytes() == state_of(single).tobytes()
    train(stack, 1)  # counts differ, and so do Adam's corrections
    train(single, 1)
    assert stack.updates == [3, 5]
    assert state_of(stack, 1).tobytes() == state_of(single).tobytes()


def test_a_long_gradient_is_shortened() -> None:
    """Adam's first mean is a tenth of the gradient, whose norm is at most `gradient_norm`."""
    group = group_of(replace(SMALL["dqn"], gradient_norm=1e-3), [0])
    train(group, 1)
    mean = np.split(state_of(group)[:-3], 4)[2].astype(float)
    assert np.sqrt((mean**2).sum()) == pytest.approx(1e-4, rel=0.01)


def test_targets_follow_the_weights_softly() -> None:
    group = group_of(replace(SMALL["dqn"], tau=0.25), [0])
    _, targets, _, _ = np.split(state_of(group)[:-3], 4)
    train(group, 1)
    weights, after, _, _ = np.split(state_of(group)[:-3], 4)
    assert after == pytest.approx(targets + 0.25 * (weights - targets), abs=1e-7)
    assert not np.array_equal(after, targets)


class Seen:
    """Boards whose lanes show these observations."""

    def __init__(self, obs: NDArray[np.float32]) -> None:
        self._obs = obs

    def observe(self, lanes: NDArray[np.uint32], seats: NDArray[np.uint32], out: NDArray[np.float32]) -> None:
        out[:] = self._obs[lanes]


@pytest.mark.parametrize("name", METHODS)
def test_the_network_that_plays_has_the_values_of_the_learner(name: str) -> None:
    settings, game = METHODS[name], new_game("treasure-hunt")
    observation, actions = game.info.observation, game.info.actions
    group = LearnerGroup(settings, observation, actions, [0, 1], 5)
    inputs = settings.inputs(observation)
    for update in range(20):
        group.update([draw_rows(agent, update, settings.batch, inputs, actions) for agent in group.agents])
    network = load(dump(group.network(1, game.spec.name)))
    weights = {key: part[1].numpy().astype(float) for key, part in group._online.parts.items()}
    obs = np.random.default_rng(9).normal(0.0, 3.0, (200, *observation)).astype(np.float32)
    expected = np.array([action_values(settings, weights, row.ravel()) for row in obs])
    x: NDArray[Any] = obs.reshape(len(obs), -1).astype(float)
    mlp = mlp_of(network)
    for w, b in zip(mlp.weights[:-1], mlp.biases[:-1], strict=True):
        x = np.tanh(x @ w + b)
    outputs = x @ mlp.weights[-1] + mlp.biases[-1]
    q, value = outputs[:, :-1], outputs[:, -1:]
    if settings.dueling:
        q = value + q - q.mean(1, keepdims=True)
    assert q == pytest.approx(expected, abs=1e-5)
    assert value == pytest.approx(expected.mean(1, keepdims=True), abs=1e-5)
    numbers = np.zeros(group.playing_size, np.float32)
    group.write_playing(1, numbers)
    assert numbers.tobytes() == b"".join(tensor.tobytes() for tensor in network.tensors.values())
    check_actions(agent("learner", network), obs, expected)


def check_actions(player: AgentSpec, obs: NDArray[np.float32], expected: NDArray[np.float64]) -> None:
    """The compiled pilot picks the best action wherever it is clearly the best."""
    pilot = NET.pilot(new_game("treasure-hunt"), len(obs))
    rows = np.zeros((5, len(obs)), np.uint32)
    rows[:2], rows[3] = np.arange(len(obs)), pilot.load(player)
    pilot.begin(rows[0], rows[3], np.zeros(len(obs), np.uint64))
    found = pilot.act(Views(Seen(obs), rows, np.empty_like(obs), None)).copy()  # type: ignore[arg-type]
    ranked = np.sort(expected, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-5
    assert clear.sum() > 0.9 * len(obs)
    assert (found[clear] == expected.argmax(1)[clear]).all()
    assert len(set(found.tolist())) > 1


def test_games_of_turns_are_refused() -> None:
    check_game(new_game("treasure-hunt"))
    check_game(new_game("pong"))
    with pytest.raises(BadValue, match="all players act at every step"):
        check_game(new_game("shogi"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch", 100), ("batch", 0), ("batch", 64.0), ("quantiles", 0), ("n_steps", 0), ("frames", 0),
        ("discount", 1.5), ("learning_rate", -1.0), ("tau", float("nan")), ("gradient_norm", -1.0), ("hidden", ()),
        ("hidden", (0,)), ("dueling", True), ("double", 1),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(field: str, value: Any) -> None:
    with pytest.raises(BadValue, match=field):
        LearnerSettings(**{field: value})


def test_an_unknown_method_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="did you mean 'iqn'"):
        LearnerSettings(method="iqnn")
