"""Generalised advantages (Schulman et al. 2016) of the trajectories of a rollout, for each seat on its own.

A seat's transition leads from one of its own turns to its next one. Rewards between the two, also those of other
seats' steps, are summed. A match that was truncated has not ended: its future is estimated by the value that the
rollout recorded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.game import Bools
from engine.kernels import bare
from engine.play.rollout_columns import TERMINATED, TRUNCATED, Trajectories

Column = NDArray[np.float32]  # [streams, steps, seats]


class Advantages(NamedTuple):
    """[streams, steps, seats]; the numbers count only where `known` is True."""

    advantages: Column
    returns: Column  # targets of the value
    known: Bools  # turns of learning agents that can be learned from


def margins(rewards: Column) -> Column:
    """The reward of each seat less the mean reward of the others, so that the rewards of all seats add up to 0."""
    seats = rewards.shape[2]
    total = rewards.sum(axis=2, keepdims=True)
    mine: Column = rewards - (total - rewards) / np.float32(max(seats - 1, 1))
    return mine


def estimate(played: Trajectories, rewards: Column, discount: float, trace: float, *, together: bool) -> Advantages:
    """The advantages of all turns. `rewards` are those to learn from, `trace` is the decay called lambda.

    If all seats that are still in the match act `together` at every step, each of them acts at the observation after
    the last step, and its value stands for the future; it is 0 for a seat that has left. In other games it may be
    another seat's turn, for which no value was learned. There the value of a seat's last turn stands for the future of
    its earlier ones, and that turn itself cannot be learned from.
    """
    shape = played.acted.shape
    advantages, returns = np.zeros((2, *shape), np.float32)
    known: Bools = np.zeros(shape, np.bool_)
    columns = played.acted, played.values, played.bootstrap, played.ends
    gamma, decay = np.float32(discount), np.float32(discount * trace)
    _estimate(np.asarray(rewards, np.float32), columns, gamma, decay, together, advantages, returns, known)
    return Advantages(advantages, returns, known)


@bare
def _estimate(rewards, columns, gamma, decay, together, advantages, returns, known):  # type: ignore[no-untyped-def]
    """Looks back from the last step of each seat; `reward`, `value` and `advantage` are what follows a step."""
    acted, values, bootstrap, ends = columns
    streams, steps, seats = acted.shape
    for stream in range(streams):
        for seat in range(seats):
            reward = value = advantage = np.float32(0.0)
            has_value = False  # whether `value` is known
            for step in range(steps - 1, -1, -1):
                end = ends[stream, step]
                if end != 0 or step == steps - 1:
                    reward = advantage = np.float32(0.0)
                    value = bootstrap[stream, step, seat]  # 0 if the match was terminated or the seat has left
                    has_value = end == TERMINATED or ((end == TRUNCATED or end == 0) and together)
                reward += rewards[stream, step, seat]
                if not acted[stream, step, seat]:
                    continue
                own, here = values[stream, step, seat], np.float32(0.0)
                if has_value:
                    here = reward + gamma * value - own + decay * advantage
                    advantages[stream, step, seat], returns[stream, step, seat] = here, here + own
                    known[stream, step, seat] = True
                reward, value, advantage, has_value = np.float32(0.0), own, here, True
