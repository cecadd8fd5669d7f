"""Implicit quantile networks (Dabney et al. 2018) for a stack of agents, with the gradient written out.

Z(s, a; tau), the quantile tau of the return, is W_a . (psi(s) * phi(tau)) + b_a, with psi the hidden layers of the
network and phi(tau) = relu(linear(cos(pi i tau), i = 1 to 64)). In the paper a layer follows the product. Without it
the mean over quantiles is linear in psi, so that the network plays as one of ordinary layers (`Embedding.fold`).

The fractions tau are drawn once for an update of an agent, not for each transition: the quantiles of a minibatch are
then one product of matrices.
"""

from __future__ import annotations

import numpy as np
import torch

from agents.training.independent.kernels import (
    action_products,
    back_through_products,
    back_through_relu,
    best_actions,
    draw_fractions,
    fold_quantiles,
    iqn_slopes,
    relu_layer,
)
from agents.training.independent.learner_settings import LearnerSettings
from agents.training.independent.minibatch import StackedMinibatch
from agents.training.independent.networks import COSINES, LINE, HiddenLayers, StackParameters, product
from agents.training.independent.published import Numbers
from agents.training.independent.shared_words import padded
from engine.game import Floats, Seeds

WEIGHT, BIAS = "heads.weight", "heads.bias"
MIDPOINTS = 32  # quantiles whose mean is the value of an action; K in the paper


class Embedding:
    """phi of the midpoints and of drawn fractions, which begin at row `MIDPOINTS`."""

    def __init__(self, agents: int, count: int, size: int) -> None:
        rows = MIDPOINTS + padded(count, LINE)  # so that the rows of each agent begin at a cache line
        self._cosines, self._phi = torch.zeros(agents, rows, COSINES), torch.zeros(agents, rows, size)
        midpoints = (np.arange(MIDPOINTS)[:, None] + 0.5) / MIDPOINTS
        self._cosines[:, :MIDPOINTS] = torch.from_numpy(np.cos(np.pi * midpoints * np.arange(1, COSINES + 1)))
        drawn = slice(MIDPOINTS, MIDPOINTS + count)
        self.cosines, self.phi = self._cosines[:, drawn], self._phi[:, drawn]
        self.cosine_array, self.array = self._cosines.numpy(), self._phi.numpy()

    def forward(self, weights: StackParameters) -> None:
        product(self._cosines, weights.transposed["fractions.weight"], self._phi)
        relu_layer(self.array, weights.array, weights.at["fractions.bias"])

    def fold(self, weights: StackParameters, out: Numbers) -> None:
        """The weights of a layer whose outputs are the means of Z over the midpoints: W times the mean of phi."""
        fold_quantiles(self.array, MIDPOINTS, weights.array, weights.at[WEIGHT], out)


class IqnLoss:
    """The loss is the quantile Huber loss of the errors r + discount Z'(s', a'; tau_j) - Z(s, a; tau_i): the mean over
    j, the sum over i, the mean over transitions. Z' is the target network; a' is the action with the largest mean of Z'
    or, with double Q-learning, of Z."""

    def __init__(self, settings: LearnerSettings, actions: int, agents: int) -> None:
        rows, count, size = settings.batch, settings.quantiles, settings.hidden[-1]
        self._settings, self._rows, self._choices = settings, rows, actions
        self._online = HiddenLayers(agents, 2 * rows, settings.hidden, learning=rows)
        self._target = HiddenLayers(agents, rows, settings.hidden)
        self._embedding, self._next_embedding = Embedding(agents, count, size), Embedding(agents, count, size)
        self._fractions = np.zeros((agents, 2, count))
        self._folded, self._q = torch.zeros(agents, actions, size), torch.zeros(agents, rows, actions)
        self._best = np.zeros((agents, rows), np.int64)
        self._products, self._next_products = torch.zeros(2, agents, rows, size)
        self._z, self._next_z, self._slope = torch.zeros(3, agents, count, rows)
        self._padded_slope = torch.zeros(agents, padded(count, LINE), size)
        self._phi_slope = self._padded_slope[:, :count]
        self._scratch = np.zeros(rows, np.float32)

    def run(
        self,
        online: StackParameters,
        target: StackParameters,
        batch: StackedMinibatch,
        seeds: Seeds,
        gradient: StackParameters,
        losses: Floats,
    ) -> None:
        """Sets the losses and their gradients, which are zeros before; `seeds` draw the fractions of each agent."""
        now, later = self._embedding, self._next_embedding
        draw_fractions(seeds, self._fractions, MIDPOINTS, now.cosine_array, later.cosine_array)
        now.forward(online)
        later.forward(target)
        self._online.forward(online, batch.both)
        self._target.forward(target, batch.next_obs)
        if self._settings.double:
            self._choose(online, now, self._online.features[:, self._rows :])
        else:
            self._choose(target, later, self._target.features)

        weight, bias = online.at[WEIGHT], online.at[BIAS]
        x, next_x = self._online.feature_array, self._target.feature_array
        action_products(x, batch.actions, online.array, weight, self._products.numpy())
        action_products(next_x, self._best, target.array, weight, self._next_products.numpy())
        product(now.phi, self._products.transpose(1, 2), self._z)
        product(later.phi, self._next_products.transpose(1, 2), self._next_z)
        iqn_slopes(
            self._z.numpy(), self._next_z.numpy(), self._best, batch.actions, batch.rewards, batch.discounts,
            self._fractions, online.array, target.array, bias, self._slope.numpy(), gradient.array, self._scratch,
            losses,
        )  # fmt: skip

        product(self._slope, self._products, self._phi_slope)
        back_through_relu(
            self._padded_slope.numpy(), self._settings.quantiles, now.array, MIDPOINTS, gradient.array,
            gradient.at["fractions.bias"],
        )  # fmt: skip
        product(self._phi_slope.transpose(1, 2), now.cosines, gradient.parts["fractions.weight"])
        product(self._slope.transpose(1, 2), now.phi, self._online.slope)
        back_through_products(self._online.slope_array, x, batch.actions, online.array, gradient.array, weight)
        self._online.backward(online, batch.obs, gradient)

    def _choose(self, weights: StackParameters, embedding: Embedding, features: torch.Tensor) -> None:
        """Sets the best next actions."""
        embedding.fold(weights, self._folded.numpy())
        product(features, self._folded.transpose(1, 2), self._q)
        best_actions(self._q.numpy(), 0, self._choices, weights.array, weights.at[BIAS], self._best)

    def folded(self, online: StackParameters) -> Numbers:
        """The weights of the heads of the networks that play: [agents, actions, features]."""
        self._embedding.forward(online)
        self._embedding.fold(online, self._folded.numpy())
        return self._folded.numpy()
