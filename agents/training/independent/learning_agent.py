"""One agent in a learner process: samples its buffer, and publishes its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agents.training.independent.buffer import NothingToSample, ReplayBuffer, Transitions
from agents.training.independent.learner_specs import AgentMemory, LearnerSpec, batch_seed
from agents.training.independent.published import Numbers, PublishedState
from engine.errors import RingsideError

if TYPE_CHECKING:
    from agents.training.independent.learner import LearnerGroup


class LearningAgent:
    """One agent in a learner process."""

    def __init__(self, group: LearnerGroup, k: int, spec: LearnerSpec, memory: AgentMemory) -> None:
        """`k`: its place in the group."""
        self._group, self._k, self._spec, self.number = group, k, spec, group.agents[k]
        self._skipped = spec.skipped.get(self.number, 0)
        self.buffer = ReplayBuffer(spec.rows, spec.lanes, spec.observation, memory.buffer)
        self._state = PublishedState(memory.state, group.state_size)
        self._playing = PublishedState(memory.playing, group.playing_size)
        saved = self._state.read()
        if saved is None:
            raise RingsideError(f"agent {self.number} has no state to start from")
        group.read_state(k, saved[1])
        self._numbers: Numbers = np.empty(max(group.state_size, group.playing_size), np.float32)
        self._ready = self._published_divergence = False
        self.misses = 0  # minibatches in a row for which too few turns were found, although there should be enough
        self.target = 0  # updates to reach in step with the trainer
        self.losses: list[float] = []  # of these
        self.reported: list[float] = []  # losses since the last report

    @property
    def updates(self) -> int:
        return self._group.updates[self._k]

    @property
    def diverged(self) -> bool:
        return self._group.diverged[self._k]

    @property
    def stopped(self) -> bool:
        """Whether it diverged and its published state says so: a process that is started again does not train it."""
        return self.diverged and self._published_divergence

    @property
    def ready(self) -> bool:
        """Whether its buffer has enough turns for a minibatch; it is counted again if too few were found."""
        settings = self._group.settings
        if not self._ready:
            self._ready = self.buffer.ready(settings.batch, steps=settings.n_steps, frames=settings.frames)
        return self._ready

    @property
    def has_updates_left(self) -> bool:
        """Whether updates in step are left to make."""
        return self.updates < self.target and not self.diverged

    def may_learn(self, free: bool) -> bool:
        if self.diverged:
            return False
        if self.has_updates_left:
            return True
        most = self._spec.bounds.most(self.buffer.added * self._spec.lanes)
        return free and self.updates + self._skipped < most and self.ready

    def sample(self) -> Transitions:
        settings, seed = self._group.settings, batch_seed(self._spec.seed, self.number, self.updates)
        try:
            batch = self.buffer.sample(
                settings.batch, seed, steps=settings.n_steps, discount=settings.discount, frames=settings.frames
            )
        except NothingToSample:
            self._ready, self.misses = False, self.misses + 1
            raise
        self.misses = 0
        return batch

    def publish(self) -> None:
        """First the state, from which a new process would continue: it is never older than the network that plays."""
        for write, published in ((self._group.write_state, self._state), (self._group.write_playing, self._playing)):
            numbers = self._numbers[: published.size]
            write(self._k, numbers)
            published.publish(numbers, self.updates)
        self._published_divergence = self.diverged

    @property
    def unpublished(self) -> int:
        """Updates since the last publication; that it diverged counts as one."""
        return self.updates - self._playing.version + (self.diverged and not self._published_divergence)

    @property
    def should_publish(self) -> bool:
        return self.unpublished >= (1 if self.diverged else self._spec.publish_every)
