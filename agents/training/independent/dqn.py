"""Deep Q-learning (Mnih et al. 2015) for a stack of agents, with its gradient written out.

Options: double Q-learning (van Hasselt et al. 2016) and dueling heads (Wang et al. 2016).
"""

from __future__ import annotations

import numpy as np
import torch

from agents.training.independent.kernels import best_actions, dqn_slopes
from agents.training.independent.learner_settings import LearnerSettings
from agents.training.independent.minibatch import StackedMinibatch
from agents.training.independent.networks import HiddenLayers, StackParameters, product
from engine.game import Floats, Seeds

WEIGHT, BIAS = "heads.weight", "heads.bias"


class DqnLoss:
    """The loss is the mean of Huber(Q(s, a) - (r + discount Q'(s', a'))), where Q' is the target network and a' the
    best action by Q' or, with double Q-learning, by Q. With dueling heads Q = V + A - mean A."""

    def __init__(self, settings: LearnerSettings, actions: int, agents: int) -> None:
        rows, outputs = settings.batch, actions + settings.dueling
        self._settings, self._rows = settings, rows
        self._online = HiddenLayers(agents, 2 * rows, settings.hidden, learning=rows)
        self._target = HiddenLayers(agents, rows, settings.hidden)
        self._features = self._online.features[:, :rows]
        self._q, self._next_q = torch.zeros(agents, 2 * rows, outputs), torch.zeros(agents, rows, outputs)
        self._slope = torch.zeros(agents, rows, outputs)
        self._best = np.zeros((agents, rows), np.int64)
        self._choices = actions

    def run(
        self,
        online: StackParameters,
        target: StackParameters,
        batch: StackedMinibatch,
        seeds: Seeds,
        gradient: StackParameters,
        losses: Floats,
    ) -> None:
        """Sets the losses and their gradients, which are zeros before. DQN draws nothing."""
        x = self._online.forward(online, batch.both)
        q = product(x, online.transposed[WEIGHT], self._q).numpy()
        next_x = self._target.forward(target, batch.next_obs)
        next_q = product(next_x, target.transposed[WEIGHT], self._next_q).numpy()
        at = online.at[BIAS]
        if self._settings.double:
            best_actions(q, self._rows, self._choices, online.array, at, self._best)
        else:
            best_actions(next_q, 0, self._choices, target.array, at, self._best)
        dqn_slopes(
            q, next_q, self._best, batch.actions, batch.rewards, batch.discounts, online.array, target.array, at,
            self._settings.dueling, self._slope.numpy(), gradient.array, losses,
        )  # fmt: skip
        product(self._slope.transpose(1, 2), self._features, gradient.parts[WEIGHT])
        product(self._slope, online.parts[WEIGHT], self._online.slope)
        self._online.backward(online, batch.obs, gradient)
