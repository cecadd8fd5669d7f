"""DQN and IQN as they are usually written: torch modules, automatic differentiation, torch's Adam, one agent.

Tests compare learners with it, and the benchmark measures what writing out the gradient and stacking agents gain.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from agents.training.independent.learner_settings import IQN, LearnerSettings
from engine.seeding import chance, derive
from tests.agents.training.independent.loss_reference import Rows

MIDPOINTS = (torch.arange(32) + 0.5) / 32


class Net(nn.Module):
    def __init__(self, settings: LearnerSettings, inputs: int, actions: int) -> None:
        super().__init__()
        self.settings, self.actions = settings, actions
        sizes = itertools.pairwise((inputs, *settings.hidden))
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in sizes)
        self.heads = nn.Linear(settings.hidden[-1], actions + settings.dueling)
        if settings.method == IQN:
            self.fractions = nn.Linear(64, settings.hidden[-1])

    def features(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x

    def quantiles(self, obs: Tensor, taus: Tensor) -> Tensor:
        """Z as [rows, fractions, actions]."""
        cosines = torch.cos(math.pi * taus[:, None] * torch.arange(1, 65))
        phi = torch.relu(self.fractions(cosines))
        z: Tensor = self.heads(self.features(obs)[:, None] * phi)
        return z

    def forward(self, obs: Tensor) -> Tensor:
        """Q as [rows, actions]."""
        if self.settings.method == IQN:
            return self.quantiles(obs, MIDPOINTS).mean(1)
        outputs: Tensor = self.heads(self.features(obs))
        if not self.settings.dueling:
            return outputs
        advantages, value = outputs[:, :-1], outputs[:, -1:]
        return value + advantages - advantages.mean(1, keepdim=True)


class PlainLearner:
    """One agent."""

    def __init__(
        self, settings: LearnerSettings, inputs: int, actions: int, weights: Mapping[str, NDArray[np.float32]]
    ) -> None:
        self.settings = settings
        with torch.random.fork_rng():  # layers draw weights, which are replaced
            self.online, self.target = Net(settings, inputs, actions), Net(settings, inputs, actions)
        for net in (self.online, self.target):
            net.load_state_dict({name: torch.from_numpy(numbers.copy()) for name, numbers in weights.items()})
        self._optimiser = torch.optim.Adam(self.online.parameters(), settings.learning_rate, eps=1e-5)

    def update(self, rows: Rows, seed: int) -> float:
        obs, actions, rewards, discounts, next_obs = map(torch.from_numpy, vars(rows).values())
        with torch.no_grad():
            best = (self.online if self.settings.double else self.target)(next_obs).argmax(1)
        loss = (self._iqn if self.settings.method == IQN else self._dqn)(
            obs, actions, rewards[:, None], discounts[:, None], next_obs, best, seed
        )
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.online.parameters(), self.settings.gradient_norm)
        self._optimiser.step()
        with torch.no_grad():
            for own, other in zip(self.target.parameters(), self.online.parameters(), strict=True):
                own.lerp_(other, self.settings.tau)
        return float(loss.detach())

    def _dqn(
        self, obs: Tensor, actions: Tensor, rewards: Tensor, discounts: Tensor, next_obs: Tensor, best: Tensor, _: int
    ) -> Tensor:
        with torch.no_grad():
            goals = rewards + discounts * self.target(next_obs).gather(1, best[:, None])
        return functional.huber_loss(self.online(obs).gather(1, actions[:, None]), goals)

    def _iqn(
        self,
        obs: Tensor,
        actions: Tensor,
        rewards: Tensor,
        discounts: Tensor,
        next_obs: Tensor,
        best: Tensor,
        seed: int,
    ) -> Tensor:
        taus, next_taus = (
            torch.tensor([chance(seed, 0, part, 0, k) for k in range(self.settings.quantiles)]) for part in (0, 1)
        )
        count = len(taus)
        with torch.no_grad():
            later = self.target.quantiles(next_obs, next_taus)
            goals = rewards + discounts * later.gather(2, best[:, None, None].expand(-1, count, 1)).squeeze(2)
        z = self.online.quantiles(obs, taus).gather(2, actions[:, None, None].expand(-1, count, 1)).squeeze(2)
        errors = goals[:, None, :] - z[:, :, None]
        huber = torch.where(errors.abs() <= 1.0, 0.5 * errors**2, errors.abs() - 0.5)
        asymmetry = (taus[None, :, None] - (errors.detach() < 0.0).float()).abs()
        return (asymmetry * huber).mean(2).sum(1).mean()


def fraction_seed(seed: int, agent: int, update: int) -> int:
    """With which a learner draws the quantile fractions of an update."""
    return derive(seed, agent, "fractions", update)
