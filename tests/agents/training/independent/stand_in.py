"""A small group of learners without torch, and learner processes for tests."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.training.independent.buffer import ReplayBuffer, Transitions
from agents.training.independent.learner_processes import LearnerProcesses
from agents.training.independent.learner_records import LearnerLimits
from agents.training.independent.learner_specs import batch_seed
from engine.processes import launcher
from engine.seeding import derive

ROWS, LANES, WIDTH = 64, 4, 6
SIZE = 50  # numbers of a network
WRAP = 1 << 20


@dataclass(frozen=True)
class StandInSettings:
    """What a learner process reads of `LearnerSettings`, and how the stand-in misbehaves."""

    batch: int = 8
    n_steps: int = 2
    discount: float = 0.5
    frames: int = 1
    seconds: float = 0.0  # of an update, at least
    publishing: float = 0.0  # seconds of writing a state, and again of writing the network that plays
    fails_at: int = -1  # the number of an update that raises an error


class StandInGroup:
    """Mixes what it samples into its weights, so that they depend on every minibatch. It raises an error if a row of a
    minibatch is torn, and diverges by rewards that are not finite."""

    def __init__(
        self, settings: StandInSettings, observation: Sequence[int], actions: int, agents: Sequence[int], seed: int
    ) -> None:
        self.settings, self.observation, self.actions = settings, tuple(observation), actions
        self.agents, self.seed = tuple(agents), seed
        self.updates = [0] * len(agents)
        self.diverged = [False] * len(agents)
        self.weights = np.array([derive(seed, agent) % 1000 + np.arange(SIZE) for agent in agents], np.float32)
        self.state_size, self.playing_size = SIZE + 2, SIZE

    def update(self, batches: Sequence[Transitions | None]) -> list[float]:
        losses = []
        for k, batch in enumerate(batches):
            losses.append(math.nan)
            if batch is None or self.diverged[k]:
                continue
            if (batch.obs != batch.obs[:, :1]).any() or (batch.next_obs != batch.next_obs[:, :1]).any():
                raise AssertionError("a row of the minibatch is torn")
            if self.updates[k] == self.settings.fails_at:
                raise RuntimeError("the update failed")
            losses[k] = float(batch.rewards.mean())
            if not math.isfinite(losses[k]):
                self.diverged[k] = True
                continue
            self.weights[k] = self.weights[k] * np.float32(0.9) + batch.obs[:, 0].sum() + batch.actions.sum()
            self.updates[k] += 1
        time.sleep(self.settings.seconds)
        return losses

    def write_state(self, k: int, out: Any) -> None:
        time.sleep(self.settings.publishing)
        out[:SIZE], out[SIZE:] = self.weights[k], (self.updates[k], self.diverged[k])

    def read_state(self, k: int, given: Any) -> None:
        self.weights[k], self.updates[k], self.diverged[k] = given[:SIZE], int(given[SIZE]), bool(given[SIZE + 1])

    def write_playing(self, k: int, out: Any) -> None:
        time.sleep(self.settings.publishing)
        out[:] = self.weights[k]


class EndlessStart:
    """A group whose process never gets ready."""

    def __init__(self, *_: Any) -> None:
        while True:
            time.sleep(60.0)


def new_group(agents: Sequence[int], seed: int = 5, **settings: Any) -> Any:
    return StandInGroup(StandInSettings(**settings), (WIDTH,), 4, agents, seed)


def new_buffers(agents: Sequence[int], turns: int = 0) -> dict[int, ReplayBuffer]:
    size = ReplayBuffer.bytes_needed(ROWS, LANES, (WIDTH,))
    buffers = {agent: ReplayBuffer(ROWS, LANES, (WIDTH,), launcher.shared_memory(size)) for agent in agents}
    add_rows(buffers, turns)
    return buffers


def add_rows(buffers: dict[int, ReplayBuffer], count: int, reward: float = 1.0) -> None:
    """All numbers of a row are equal."""
    for agent, buffer in buffers.items():
        for _ in range(count):
            number = buffer.added % WRAP
            obs = np.full((LANES, WIDTH), number, np.float32)
            buffer.add(obs, (number + agent) % 4, reward, number % 10 == 9)


STAND_IN: dict[str, Any] = {"group": f"{__name__}:StandInGroup", "libraries": ()}


def new_processes(groups: Sequence[Any], buffers: dict[int, ReplayBuffer], workers: int, **options: Any) -> Any:
    options.setdefault("limits", LearnerLimits(timeout=120.0))
    return LearnerProcesses(groups, buffers, workers, **STAND_IN, **options)


def train_here(group: Any, buffers: dict[int, ReplayBuffer], updates: int) -> dict[int, list[float]]:
    """The updates that a process would make, made in this one."""
    losses: dict[int, list[float]] = {agent: [] for agent in group.agents}
    for _ in range(updates):
        batches = [sample(group, k, buffers[agent]) for k, agent in enumerate(group.agents)]
        for agent, loss in zip(group.agents, group.update(batches), strict=True):
            losses[agent].append(loss)
    return losses


def sample(group: Any, k: int, buffer: ReplayBuffer) -> Transitions:
    settings, seed = group.settings, batch_seed(group.seed, group.agents[k], group.updates[k])
    return buffer.sample(settings.batch, seed, steps=settings.n_steps, discount=settings.discount)
