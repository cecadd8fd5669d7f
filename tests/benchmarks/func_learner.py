"""DQN and IQN of several agents as `torch.func` stacks them: one loss of one agent, differentiated and vectorised.

The benchmark compares it with the stacks whose gradient is written out. The loss is that of `PlainLearner`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import grad_and_value, vmap
from torch.nn import functional

from agents.training.independent.kernels import draw_fractions
from agents.training.independent.learner_settings import IQN, LearnerSettings
from tests.agents.training.independent.loss_reference import Rows
from tests.agents.training.independent.plain_learner import MIDPOINTS

Weights = Mapping[str, Tensor]  # of one agent inside `vmap`; outside the agents are the first dimension
ORDERS = torch.arange(1, 65)


class FuncLearner:
    """Several agents with the same settings, in one update."""

    def __init__(self, settings: LearnerSettings, weights: Sequence[Mapping[str, NDArray[np.float32]]]) -> None:
        """`weights`: of each agent."""
        self.settings, self._agents = settings, len(weights)
        stacked = {name: np.stack([agent[name] for agent in weights]) for name in weights[0]}
        self.online = {name: torch.from_numpy(numbers) for name, numbers in stacked.items()}
        self._target = {name: tensor.clone() for name, tensor in self.online.items()}
        self._optimiser = torch.optim.Adam(self.online.values(), settings.learning_rate, eps=1e-5)
        self._gradient = vmap(grad_and_value(self._loss))

    def update(self, rows: Sequence[Rows], seeds: Sequence[int]) -> list[float]:
        """One step of Adam for each agent; returns the losses. `seeds` draw the quantile fractions of each agent."""
        columns = [
            torch.from_numpy(np.stack(column)) for column in zip(*(vars(own).values() for own in rows), strict=True)
        ]
        fractions = torch.from_numpy(self._fractions(seeds))
        gradients, losses = self._gradient(self.online, self._target, fractions, *columns)
        flat = torch.cat([gradient.flatten(1) for gradient in gradients.values()], 1)
        factors = (self.settings.gradient_norm / (flat.norm(dim=1) + 1e-6)).clamp(max=1.0)
        for name, gradient in gradients.items():
            self.online[name].grad = gradient * factors.view(-1, *[1] * (gradient.ndim - 1))
        self._optimiser.step()
        for name, target in self._target.items():
            target.lerp_(self.online[name], self.settings.tau)
        numbers: list[float] = losses.tolist()
        return numbers

    def _fractions(self, seeds: Sequence[int]) -> NDArray[np.float32]:
        """As the stacks draw them."""
        fractions = np.zeros((self._agents, 2, self.settings.quantiles))
        unused = np.zeros((self._agents, self.settings.quantiles, 1), np.float32)
        draw_fractions(np.array(seeds, np.uint64), fractions, 0, unused, unused)
        return fractions.astype(np.float32)

    def _loss(
        self,
        online: Weights,
        target: Weights,
        fractions: Tensor,
        obs: Tensor,
        actions: Tensor,
        rewards: Tensor,
        discounts: Tensor,
        next_obs: Tensor,
    ) -> Tensor:
        """Of one agent."""
        settings, fixed = self.settings, {name: tensor.detach() for name, tensor in online.items()}
        best = self._q(fixed if settings.double else target, next_obs).argmax(1)
        if settings.method != IQN:
            later = self._q(target, next_obs).gather(1, best[:, None])[:, 0]
            q = self._q(online, obs).gather(1, actions[:, None])[:, 0]
            return functional.huber_loss(q, rewards + discounts * later)
        z, next_z = _quantiles(online, obs, fractions[0]), _quantiles(target, next_obs, fractions[1])
        index = [column[:, None, None].expand(-1, settings.quantiles, 1) for column in (actions, best)]
        z, next_z = z.gather(2, index[0])[:, :, 0], next_z.gather(2, index[1])[:, :, 0]
        errors = (rewards[:, None] + discounts[:, None] * next_z)[:, None, :] - z[:, :, None]
        huber = torch.where(errors.abs() <= 1.0, 0.5 * errors**2, errors.abs() - 0.5)
        asymmetry = (fractions[0][None, :, None] - (errors.detach() < 0.0).float()).abs()
        return (asymmetry * huber).mean(2).sum(1).mean()

    def _q(self, weights: Weights, obs: Tensor) -> Tensor:
        """[rows, actions]"""
        if self.settings.method == IQN:
            return _quantiles(weights, obs, MIDPOINTS).mean(1)
        outputs = functional.linear(_features(weights, obs), weights["heads.weight"], weights["heads.bias"])
        if not self.settings.dueling:
            return outputs
        advantages, value = outputs[:, :-1], outputs[:, -1:]
        return value + advantages - advantages.mean(1, keepdim=True)


def _features(weights: Weights, x: Tensor) -> Tensor:
    k = 0
    while f"layers.{k}.weight" in weights:
        x = torch.tanh(functional.linear(x, weights[f"layers.{k}.weight"], weights[f"layers.{k}.bias"]))
        k += 1
    return x


def _quantiles(weights: Weights, obs: Tensor, fractions: Tensor) -> Tensor:
    """[rows, fractions, actions]"""
    cosines = torch.cos(math.pi * fractions[:, None] * ORDERS)
    phi = torch.relu(functional.linear(cosines, weights["fractions.weight"], weights["fractions.bias"]))
    products = _features(weights, obs)[:, None] * phi
    return functional.linear(products, weights["heads.weight"], weights["heads.bias"])
