"""The ways to update all agents: one after the other, stacked, in threads or in processes; `auto` measures them.

All ways give the same losses and weights to the bit: draws depend on agent and update alone, and an agent's numbers do
not depend on the stack it is in. So the way can change at any time, and nothing but time depends on it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from agents.training.independent.buffer import ReplayBuffer
from agents.training.independent.learner import LearnerGroup
from agents.training.independent.learner_processes import LearnerProcesses, LearnersFailed, TrainingInterrupted
from agents.training.independent.learner_settings import LearnerSettings
from agents.training.independent.learner_specs import GroupSpec, batch_seed, divide
from agents.training.independent.parallel import PROCESSES, SEQUENTIAL, STACKED, THREADS
from engine.closing import Closing

Buffers = Mapping[int, ReplayBuffer]  # by agent
Losses = dict[int, list[float]]  # by agent; fewer if it diverged
Clock = Callable[[], float]
Stop = Callable[[], bool]

ROUNDS = 5  # in each, every way makes the same number of updates; the fastest round of a way counts
ROUND = 0.1  # seconds of updates in a round of the first way: a training usually makes many, whose start costs once
FEWEST, MOST = 2, 64  # updates in a round
LONGEST = 5.0  # seconds of measuring after which no further round begins


def never() -> bool:
    """A `stop` that lets everything go on."""
    return False


class Updater(Protocol):
    """Updates agents."""

    groups: list[LearnerGroup]  # the agents; their states are the latest after each `train`
    workers: int  # that learn at the same time

    def train(self, updates: int, stop: Stop) -> Losses:
        """So many updates of each agent. One that waits for other processes asks `stop`, and raises TrainingInterrupted
        if it returns True; the groups are as before then."""

    def close(self) -> None: ...


class Training(Closing):
    """Updates agents in the way that `mode` names, the fastest of the given ones. `reason` says why it was chosen."""

    def __init__(
        self,
        groups: Sequence[LearnerGroup],
        buffers: Buffers,
        modes: Sequence[str],
        workers: int,
        clock: Clock = time.perf_counter,
        stop: Stop = never,
    ) -> None:
        """`groups` have the agents and their states; they are replaced by `self.groups`. If there are several `modes`,
        they are measured, so the buffers must have enough turns for a minibatch then. This raises TrainingInterrupted
        if `stop` returns True meanwhile."""
        self.mode, self.reason = modes[0], ""
        self.choice = choose(groups, buffers, modes, workers, clock, stop) if len(modes) > 1 else None
        if self.choice is not None:
            self.mode, self.reason = self.choice.mode, self.choice.reason
        self._updater = new_updater(self.mode, groups, buffers, workers)

    @property
    def groups(self) -> list[LearnerGroup]:
        """The agents in the groups in which they are updated, with their latest states."""
        return self._updater.groups

    @property
    def workers(self) -> int:
        """How many processes or threads learn at the same time."""
        return self._updater.workers

    @property
    def processes(self) -> LearnerProcesses | None:
        """The learner processes, if there are any."""
        return self._updater.processes if isinstance(self._updater, ProcessUpdater) else None

    def train(self, updates: int, stop: Stop = never) -> Losses:
        """So many updates of each agent; returns the losses of each. It raises TrainingInterrupted if `stop` returns
        True while it waits for processes; the agents are as before then."""
        return self._updater.train(updates, stop)

    def close(self) -> None:
        self._updater.close()


def new_updater(mode: str, groups: Sequence[LearnerGroup], buffers: Buffers, workers: int) -> Updater:
    """A way to update the agents of these groups. It works on copies of the groups."""
    stacks = stacks_of(groups)
    if mode == STACKED:
        return SequentialUpdater(copied(groups, [stack.agents for stack in stacks]), buffers)
    if mode == THREADS:
        parts = [[group.agents for group in part] for part in divide(stacks, workers)]
        return ThreadUpdater([copied(groups, part) for part in parts], buffers)
    if mode == PROCESSES:
        return ProcessUpdater(copied(groups, [stack.agents for stack in stacks]), buffers, workers)
    assert mode == SEQUENTIAL, mode
    return SequentialUpdater(copied(groups, [(agent,) for group in groups for agent in group.agents]), buffers)


def stacks_of(groups: Sequence[LearnerGroup]) -> list[GroupSpec]:
    """The agents in as few groups as possible: those with equal settings together."""
    stacks: dict[LearnerSettings, list[int]] = {}
    for group in groups:
        stacks.setdefault(group.settings, []).extend(group.agents)
    return [GroupSpec(settings, tuple(agents)) for settings, agents in stacks.items()]


def copied(groups: Sequence[LearnerGroup], parts: Sequence[Sequence[int]]) -> list[LearnerGroup]:
    """The agents with their states in new groups, one for each part."""
    copies = []
    for agents in parts:
        first, _ = _place(groups, agents[0])
        copy = LearnerGroup(first.settings, first.observation, first.actions, agents, first.seed)
        for k, agent in enumerate(agents):
            group, place = _place(groups, agent)
            numbers = np.empty(group.state_size, np.float32)
            group.write_state(place, numbers)
            copy.read_state(k, numbers)
        copies.append(copy)
    return copies


class SequentialUpdater(Closing):
    """One group after the other. Groups of one agent are the sequential reference; one group of all is the stack."""

    workers = 1

    def __init__(self, groups: list[LearnerGroup], buffers: Buffers) -> None:
        self.groups, self._buffers = groups, buffers

    def train(self, updates: int, stop: Stop = never) -> Losses:
        with _one_thread():
            return train_groups(self.groups, self._buffers, updates)

    def close(self) -> None:
        pass


class ThreadUpdater(Closing):
    """Threads of this process, each with a stack of some agents. torch and the kernels release the interpreter lock."""

    def __init__(self, parts: list[list[LearnerGroup]], buffers: Buffers) -> None:
        self._parts, self._buffers, self.workers = parts, buffers, len(parts)
        self.groups = [group for part in parts for group in part]
        self._pool = ThreadPoolExecutor(len(parts), "learner", torch.set_num_threads, (1,))

    def train(self, updates: int, stop: Stop = never) -> Losses:
        jobs = [self._pool.submit(train_groups, part, self._buffers, updates) for part in self._parts]
        return {agent: losses for job in jobs for agent, losses in job.result().items()}

    def close(self) -> None:
        self._pool.shutdown()


class ProcessUpdater(Closing):
    """Learner processes, each with a stack of some agents, in step with this one."""

    def __init__(self, groups: list[LearnerGroup], buffers: Buffers, workers: int) -> None:
        self.groups = groups
        self.processes = LearnerProcesses(groups, buffers, workers)
        self.workers = len(self.processes.records)
        self.processes.start()

    def train(self, updates: int, stop: Stop = never) -> Losses:
        return self.processes.train(updates, stop)

    def close(self) -> None:
        self.processes.close()


def train_groups(groups: Sequence[LearnerGroup], buffers: Buffers, updates: int) -> Losses:
    """So many updates of each agent, one group after the other."""
    losses: Losses = {agent: [] for group in groups for agent in group.agents}
    for group in groups:
        settings = group.settings
        how = {"steps": settings.n_steps, "frames": settings.frames}
        for _ in range(updates):
            batches = [
                None if diverged else buffers[agent].sample(
                    settings.batch, batch_seed(group.seed, agent, made), discount=settings.discount, **how
                )
                for agent, made, diverged in zip(group.agents, group.updates, group.diverged, strict=True)
            ]  # fmt: skip
            for agent, loss, diverged in zip(group.agents, group.update(batches), group.diverged, strict=True):
                if not diverged:
                    losses[agent].append(loss)
    return losses


@dataclass(frozen=True)
class Choice:
    """The way that was the fastest."""

    mode: str
    reason: str  # a sentence with what was measured
    seconds: Mapping[str, float]  # by way: of an update of all agents


def choose(
    groups: Sequence[LearnerGroup],
    buffers: Buffers,
    modes: Sequence[str],
    workers: int,
    clock: Clock,
    stop: Stop = never,
) -> Choice:
    """Measures the ways in turns, because other programs may use the machine, on copies of the agents, so that nothing
    depends on it. Processes are not measured if the buffers are not in shared memory, or if they fail. This raises
    TrainingInterrupted if `stop` returns True meanwhile."""
    best: dict[str, float] = {}
    impossible = ""
    with ExitStack() as stack:
        updaters: dict[str, Updater] = {}
        for mode in modes:
            if mode == PROCESSES and not all(map(_shared, buffers.values())):
                impossible = f"; {mode} is not possible, because the buffers are not in shared memory"
                continue
            updaters[mode] = new_updater(mode, groups, buffers, workers)
            stack.callback(updaters[mode].close)

        def measure(mode: str, updates: int) -> float:
            nonlocal impossible
            try:
                return timed(updaters[mode], updates, clock, stop)
            except LearnersFailed as error:  # the other ways need no processes
                impossible = f"; {mode} is not possible: {error}"
                del updaters[mode]
                return math.inf

        for mode in list(updaters):
            measure(mode, 1)  # starts its workers and loads compiled code
        seconds = measure(next(iter(updaters)), 1)
        updates = int(min(max(ROUND / max(seconds, 1e-9), FEWEST), MOST))
        end = clock() + LONGEST
        for k in range(ROUNDS):
            if k and clock() > end:
                break
            for mode in list(updaters):
                best[mode] = min(best.get(mode, math.inf), measure(mode, updates))
        best = {mode: best[mode] for mode in updaters}
    ranked = sorted(best, key=lambda mode: best[mode])
    times = ", ".join(f"{mode} {1e3 * best[mode]:.2f} ms" for mode in ranked)
    count = sum(len(group.agents) for group in groups)
    agents = "one agent" if count == 1 else f"{count} agents"
    reason = f"the fastest way to update {agents}: {times} for one update of all{impossible}"
    return Choice(ranked[0], reason, best)


def timed(updater: Updater, updates: int, clock: Clock, stop: Stop) -> float:
    """Seconds of one update of all agents."""
    if stop():
        raise TrainingInterrupted
    began = clock()
    updater.train(updates, stop)
    return (clock() - began) / updates


def _shared(buffer: ReplayBuffer) -> bool:
    """Whether processes can share a buffer."""
    return not isinstance(buffer.memory, bytearray)


def _place(groups: Sequence[LearnerGroup], agent: int) -> tuple[LearnerGroup, int]:
    """The group of an agent, and its place in it."""
    return next((group, group.agents.index(agent)) for group in groups if agent in group.agents)


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread of torch. With two, a stack of ten agents had the same bits; of 150 updates on a busy machine the
    fastest took as long (4.0 instead of 4.1 ms), and the median four times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
