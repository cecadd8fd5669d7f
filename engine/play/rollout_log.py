"""The actions of running matches of a rollout, so that they can be saved and played again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.game import GameInfo, Ints
from engine.kernels import kernel

LEAST_ROOM = 1024  # actions


@kernel
def log_actions(moved, acting, held, rows, counts):  # type: ignore[no-untyped-def]
    """Append the actions of the acting seats of these lanes; as the loop of `engine.play.rollout_driver` does."""
    for i in range(moved.size):
        lane = moved[i]
        place = counts[lane]
        for seat in range(held.shape[1]):
            if acting[lane, seat]:
                rows[lane, place] = held[lane, seat]
                place += 1
        counts[lane] = place


class ActionLog:
    """For each lane the actions of its running match: step by step, those of the seats that acted."""

    def __init__(self, info: GameInfo, lanes: int) -> None:
        self._seats = info.seats
        self.rows: NDArray[Any] = np.zeros((lanes, LEAST_ROOM), action_type(info))
        self.counts: Ints = np.zeros(lanes, np.int64)

    def make_room(self, steps: int) -> None:
        """Make room for so many more steps of every lane."""
        needed = int(self.counts.max(initial=0)) + steps * self._seats
        lanes, room = self.rows.shape
        if needed > room:
            wider = np.zeros((lanes, max(needed, 2 * room)), self.rows.dtype)
            wider[:, :room] = self.rows
            self.rows = wider

    def put(self, lane: int, actions: NDArray[Any]) -> None:
        """Set the actions of a lane; there must be room for them."""
        self.rows[lane, : len(actions)] = actions
        self.counts[lane] = len(actions)

    def of(self, lane: int) -> NDArray[Any]:
        return self.rows[lane, : self.counts[lane]].copy()


def action_type(info: GameInfo) -> np.dtype[Any]:
    """The smallest unsigned type of an action."""
    return np.dtype(np.min_scalar_type(info.actions - 1)).newbyteorder("<")
