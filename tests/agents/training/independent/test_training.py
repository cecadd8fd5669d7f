"""The ways to update all agents have the same results, and `auto` chooses one by measuring."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from agents.training.independent import training
from agents.training.independent.buffer import ReplayBuffer
from agents.training.independent.learner import LearnerGroup
from agents.training.independent.learner_processes import LearnersFailed, TrainingInterrupted
from agents.training.independent.learner_settings import DQN, LearnerSettings
from agents.training.independent.parallel import PROCESSES, SEQUENTIAL, STACKED, THREADS
from agents.training.independent.training import Losses, Stop, Training, choose, copied, never
from engine.processes.launcher import shared_memory

OBSERVATION, ACTIONS, LANES = (2, 3), 3, 4
FAST = LearnerSettings(hidden=(16,), batch=32, quantiles=4)
OTHER = LearnerSettings(method=DQN, dueling=True, hidden=(8, 8), batch=64, n_steps=1)
IN_PROCESS = (SEQUENTIAL, STACKED, THREADS)


def buffer_of(agent: int, *, shared: bool = False, bad: bool = False) -> ReplayBuffer:
    """Matches of ten turns; `bad`: a reward is not finite."""
    generator, size = np.random.default_rng(agent), (50, LANES, OBSERVATION)
    memory = shared_memory(ReplayBuffer.bytes_needed(*size)) if shared else None
    buffer = ReplayBuffer(*size, memory)
    for turn in range(50):
        obs = generator.random((LANES, *OBSERVATION)).astype(np.float32)
        rewards = np.full(LANES, np.nan) if bad else generator.random(LANES)
        ends = np.full(LANES, turn % 10 == 9, np.int8)
        buffer.add(obs, generator.integers(0, ACTIONS, LANES), rewards.astype(np.float32), ends)
    return buffer


def groups_of(count: int = 5, seed: int = 2) -> list[LearnerGroup]:
    """Each agent in a group of its own; every third one has other settings."""
    kinds = [OTHER if agent % 3 == 2 else FAST for agent in range(count)]
    return [LearnerGroup(kind, OBSERVATION, ACTIONS, [agent], seed) for agent, kind in enumerate(kinds)]


def states_of(groups: Sequence[LearnerGroup]) -> dict[int, bytes]:
    found = {}
    for group in groups:
        for k, agent in enumerate(group.agents):
            numbers = np.empty(group.state_size, np.float32)
            group.write_state(k, numbers)
            found[agent] = numbers.tobytes()
    return found


def trained(mode: str, buffers: dict[int, ReplayBuffer], workers: int = 2) -> tuple[Losses, dict[int, bytes]]:
    """The results of six updates in two trainings."""
    with Training(groups_of(len(buffers)), buffers, [mode], workers) as found:
        first, second = found.train(4), found.train(2)
        assert found.mode == mode
        assert found.reason == ""
        return {agent: first[agent] + second[agent] for agent in first}, states_of(found.groups)


@pytest.mark.parametrize("workers", [1, 2, 3, 9])
def test_losses_and_weights_are_the_same_in_threads_stacks_and_one_by_one(workers: int) -> None:
    buffers = {agent: buffer_of(agent) for agent in range(5)}
    expected = trained(SEQUENTIAL, buffers)
    assert [len(losses) for losses in expected[0].values()] == [6] * 5
    assert expected[1] != states_of(groups_of())
    for mode in (STACKED, THREADS):
        assert trained(mode, buffers, workers) == expected


def test_losses_and_weights_are_the_same_in_processes() -> None:
    buffers = {agent: buffer_of(agent, shared=True) for agent in range(4)}
    assert trained(PROCESSES, buffers) == trained(SEQUENTIAL, buffers)


def test_agents_of_one_method_and_architecture_are_stacked() -> None:
    buffers = {agent: buffer_of(agent) for agent in range(5)}
    with Training(groups_of(), buffers, [STACKED], 2) as found:
        assert [group.agents for group in found.groups] == [(0, 1, 3, 4), (2,)]
    with Training(groups_of(), buffers, [THREADS], 2) as found:
        assert found.workers == 2
        assert sorted(agent for group in found.groups for agent in group.agents) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("mode", IN_PROCESS)
def test_an_agent_that_diverges_stops_in_every_way(mode: str) -> None:
    buffers = {agent: buffer_of(agent, bad=agent == 1) for agent in range(3)}
    healthy = {agent: buffer_of(agent) for agent in range(3)}
    losses, states = trained(mode, buffers)
    expected, healthy_states = trained(SEQUENTIAL, healthy)
    assert losses == expected | {1: []}
    assert states[0] == healthy_states[0]
    assert states[2] == healthy_states[2]
    before = states_of(groups_of(3))[1]
    assert states[1][:-4] == before[:-4]  # all but the mark that it diverged


def test_the_way_may_change_between_trainings() -> None:
    buffers = {agent: buffer_of(agent) for agent in range(5)}
    groups: Sequence[LearnerGroup] = groups_of()
    for mode, updates in zip(itertools.cycle(IN_PROCESS), (1, 2, 2, 1)):
        with Training(groups, buffers, [mode], 2) as found:
            found.train(updates)
            groups = found.groups
    assert states_of(groups) == trained(SEQUENTIAL, buffers)[1]


def test_copies_share_nothing_with_their_origin() -> None:
    groups = groups_of(2)
    before = states_of(groups)
    copies = copied(groups, [[1, 0]])
    assert states_of(copies) == before
    training.train_groups(copies, {agent: buffer_of(agent) for agent in range(2)}, 1)
    assert states_of(copies) != before
    assert states_of(groups) == before


class FakeUpdater:
    """A way to update in which an update takes so long by the clock."""

    workers = 1

    def __init__(self, mode: str, groups: Sequence[LearnerGroup], seconds: float, clock: FakeClock) -> None:
        self.mode, self.groups, self._seconds, self._clock = mode, list(groups), seconds, clock
        self.closed = False

    def train(self, updates: int, stop: Stop = never) -> Losses:
        self._clock.calls.append((self.mode, updates))
        self._clock.now += self._seconds * updates
        return {}

    def close(self) -> None:
        self.closed = True


class FakeClock:
    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[tuple[str, int]] = []

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClock]:
    """Ways that take a known time."""
    found, updaters = FakeClock(), []
    seconds = {SEQUENTIAL: 0.009, STACKED: 0.004, THREADS: 0.005, PROCESSES: 0.003}

    def new_updater(mode: str, groups: Sequence[LearnerGroup], buffers: object, workers: int) -> FakeUpdater:
        updaters.append(FakeUpdater(mode, groups, seconds[mode], found))
        return updaters[-1]

    monkeypatch.setattr(training, "new_updater", new_updater)
    yield found
    assert all(updater.closed for updater in updaters)


def test_auto_chooses_the_fastest_way_and_says_why(clock: FakeClock) -> None:
    buffers = {agent: buffer_of(agent) for agent in range(5)}
    choice = choose(groups_of(), buffers, IN_PROCESS, 2, clock)
    assert choice.mode == STACKED
    assert choice.reason == (
        "the fastest way to update 5 agents: stacked 4.00 ms, threads 5.00 ms, sequential 9.00 ms for one update of all"
    )
    assert choice.seconds == pytest.approx({SEQUENTIAL: 0.009, STACKED: 0.004, THREADS: 0.005})
    turns = [mode for mode, updates in clock.calls if updates == 11]  # a tenth of a second of the first way
    assert turns == list(IN_PROCESS) * training.ROUNDS  # in turns, because the machine may be busy for a while


def test_auto_chooses_processes_only_if_they_can_share_the_buffers(clock: FakeClock) -> None:
    modes = (SEQUENTIAL, PROCESSES)
    own = {agent: buffer_of(agent) for agent in range(2)}
    shared = {agent: buffer_of(agent, shared=True) for agent in range(2)}
    choice = choose(groups_of(2), own, modes, 2, clock)
    assert choice.mode == SEQUENTIAL
    assert choice.reason.endswith("processes is not possible, because the buffers are not in shared memory")
    assert choose(groups_of(2), shared, modes, 2, clock).mode == PROCESSES


@pytest.mark.parametrize("trainings", [0, 1, 3])
def test_auto_does_without_processes_that_fail(
    trainings: int, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At their start, or while they are measured."""

    def train(updater: FakeUpdater, updates: int, stop: Stop = never) -> Losses:
        if updater.mode == PROCESSES and [mode for mode, _ in clock.calls].count(PROCESSES) == trainings:
            raise LearnersFailed("no learner process is left")
        return real(updater, updates)

    real = FakeUpdater.train
    monkeypatch.setattr(FakeUpdater, "train", train)
    buffers = {agent: buffer_of(agent, shared=True) for agent in range(2)}
    choice = choose(groups_of(2), buffers, (SEQUENTIAL, STACKED, PROCESSES), 2, clock)
    assert choice.mode == STACKED
    assert choice.seconds.keys() == {SEQUENTIAL, STACKED}
    assert choice.reason.endswith("processes is not possible: no learner process is left")


def test_measuring_stops_early_where_an_update_takes_long(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LONGEST", 0.05)
    buffers = {agent: buffer_of(agent) for agent in range(2)}
    assert choose(groups_of(2), buffers, (SEQUENTIAL, STACKED), 2, clock).mode == STACKED
    assert len(clock.calls) == 2 + 1 + 2  # a first update, one more of the first way, and one round of each


def test_measuring_can_be_interrupted(clock: FakeClock) -> None:
    answers = iter([False] * 5 + [True])
    with pytest.raises(TrainingInterrupted):
        choose(
            groups_of(2), {agent: buffer_of(agent) for agent in range(2)}, IN_PROCESS, 2, clock, lambda: next(answers)
        )
    assert len(clock.calls) == 3 + 1 + 1  # a first update in each way, one more of the first, and one round of it


def test_measuring_changes_no_result() -> None:
    buffers = {agent: buffer_of(agent) for agent in range(5)}
    with Training(groups_of(), buffers, IN_PROCESS, 2) as found:
        assert found.mode in IN_PROCESS
        assert found.reason.startswith(f"the fastest way to update 5 agents: {found.mode} ")
        assert states_of(found.groups) == states_of(groups_of())
        losses = found.train(6)
        assert (losses, states_of(found.groups)) == trained(SEQUENTIAL, buffers)
