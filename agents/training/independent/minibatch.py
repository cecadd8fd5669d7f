"""The minibatches of a stack of agents in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from agents.training.independent.learner_settings import LearnerSettings
from agents.training.independent.published import Numbers
from engine.game import Ints, Observations


class Minibatch(Protocol):
    """Transitions of one agent; `buffer.Transitions`."""

    @property
    def obs(self) -> Observations: ...
    @property
    def actions(self) -> Ints: ...
    @property
    def rewards(self) -> Numbers: ...
    @property
    def discounts(self) -> Numbers: ...
    @property
    def next_obs(self) -> Observations: ...


class StackedMinibatch:
    """Memory for the minibatches of all agents."""

    def __init__(self, settings: LearnerSettings, observation: Sequence[int], agents: int) -> None:
        rows = settings.batch
        self.both = torch.zeros(agents, 2 * rows, settings.inputs(observation))  # observations, then the next ones
        self.obs, self.next_obs = self.both[:, :rows], self.both[:, rows:]
        self._both = self.both.numpy()
        self.actions = np.zeros((agents, rows), np.int64)
        self.rewards, self.discounts = np.zeros((2, agents, rows), np.float32)

    def fill(self, agent: int, batch: Minibatch) -> None:
        """Copies the minibatch of one agent."""
        rows = self.actions.shape[1]
        self._both[agent, :rows] = batch.obs.reshape(rows, -1)
        self._both[agent, rows:] = batch.next_obs.reshape(rows, -1)
        self.actions[agent], self.rewards[agent], self.discounts[agent] = batch.actions, batch.rewards, batch.discounts
