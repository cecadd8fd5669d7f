"""The losses of DQN and IQN in plain numpy: one agent, one transition at a time, in float64, as in the papers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.training.independent.learner_settings import DQN, LearnerSettings
from engine.seeding import chance

Weights = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Rows:
    """A minibatch of one agent."""

    obs: NDArray[np.float32]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    discounts: NDArray[np.float32]
    next_obs: NDArray[np.float32]


def draw_rows(agent: int, update: int, rows: int = 256, inputs: int = 75, actions: int = 4) -> Rows:
    """Transitions with sparse observations; a tenth of them end the match."""
    generator = np.random.default_rng((agent, update))
    obs, next_obs = (generator.random((2, rows, inputs)) < 0.2).astype(np.float32)
    rewards = generator.normal(size=rows).astype(np.float32)
    discounts = ((generator.random(rows) < 0.9) * 0.9).astype(np.float32)
    return Rows(obs, generator.integers(0, actions, rows), rewards, discounts, next_obs)


def reference_loss(settings: LearnerSettings, online: Weights, target: Weights, rows: Rows, seed: int) -> float:
    loss = _dqn_row if settings.method == DQN else _iqn_row
    found = [loss(settings, online, target, rows, i, seed) for i in range(len(rows.actions))]
    return sum(found) / len(found)


def _dqn_row(settings: LearnerSettings, online: Weights, target: Weights, rows: Rows, i: int, seed: int) -> float:
    later = action_values(settings, target, rows.next_obs[i])
    best = int(np.argmax(action_values(settings, online, rows.next_obs[i]) if settings.double else later))
    goal = float(rows.rewards[i]) + float(rows.discounts[i]) * later[best]
    return _huber(goal - action_values(settings, online, rows.obs[i])[rows.actions[i]])


def _iqn_row(settings: LearnerSettings, online: Weights, target: Weights, rows: Rows, i: int, seed: int) -> float:
    picking = online if settings.double else target
    best = int(np.argmax(action_values(settings, picking, rows.next_obs[i])))
    taus, next_taus = ([chance(seed, 0, part, 0, k) for k in range(settings.quantiles)] for part in (0, 1))
    predictions = _quantiles(online, rows.obs[i], rows.actions[i], taus)
    later = _quantiles(target, rows.next_obs[i], best, next_taus)
    goals = float(rows.rewards[i]) + float(rows.discounts[i]) * later
    total = 0.0
    for tau, prediction in zip(taus, predictions, strict=True):
        for goal in goals:
            error = float(goal - prediction)
            total += abs(tau - (error < 0)) * _huber(error) / len(goals)
    return total


def action_values(settings: LearnerSettings, weights: Weights, obs: NDArray[Any]) -> NDArray[np.float64]:
    """Q of one observation."""
    if settings.method == DQN:
        outputs = weights["heads.weight"] @ _features(weights, obs) + weights["heads.bias"]
        if settings.dueling:
            return outputs[-1] + outputs[:-1] - outputs[:-1].mean()
        return outputs
    midpoints = [(k + 0.5) / 32 for k in range(32)]
    return np.array([_quantiles(weights, obs, a, midpoints).mean() for a in range(len(weights["heads.bias"]))])


def _quantiles(weights: Weights, obs: NDArray[Any], action: int, taus: Sequence[float]) -> NDArray[np.float64]:
    """Z of one action at some fractions."""
    x, found = _features(weights, obs), []
    for tau in taus:
        phi = np.maximum(weights["fractions.weight"] @ _cosines(tau) + weights["fractions.bias"], 0.0)
        found.append(weights["heads.weight"][action] @ (x * phi) + weights["heads.bias"][action])
    return np.array(found)


@lru_cache(256)
def _cosines(tau: float) -> NDArray[np.float64]:
    return np.array([math.cos(math.pi * i * tau) for i in range(1, 65)])


def _features(weights: Weights, obs: NDArray[Any]) -> NDArray[np.float64]:
    x, k = obs.astype(np.float64), 0
    while f"layers.{k}.weight" in weights:
        x, k = np.tanh(weights[f"layers.{k}.weight"] @ x + weights[f"layers.{k}.bias"]), k + 1
    return x


def _huber(error: float) -> float:
    return 0.5 * error * error if abs(error) <= 1.0 else abs(error) - 0.5
