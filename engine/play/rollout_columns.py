"""The columns of a segment: what trainers receive, and the memory that a rollout fills.

An observation of Shogi takes 15 KB, and one of two seats acts: so observations and legal actions have a row only where
a learning agent acted. All other columns are small, and are [streams, steps, seats].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.game import Bools, GameInfo, Ints, Observations
from engine.play.match import MatchResult

TERMINATED, TRUNCATED, NO_CONTEST = 1, 2, 3  # values of `Trajectories.ends`; 0 while a match runs


class Trajectories(NamedTuple):
    """One segment of every stream.

    `obs` and `legal` have one row for each True in `acted`, in the order of `np.nonzero(acted)`: stream by stream, step
    by step, seat by seat. So row i belongs to `actions[acted][i]`. Actions, log-probabilities and values are 0 where no
    learning agent acted. `rewards` are score differences, for every seat at every step. `bootstrap` is the value of a
    learning seat's observation after a step that truncated its match, or that ended the segment in mid-match, and 0
    elsewhere: advantages need no further call of the network. Where seats act `together`, one that has left has 0.
    """

    obs: Observations  # [rows, ...]
    legal: Bools | None  # [rows, actions]; None where every action is always legal
    actions: Ints  # [streams, steps, seats], as all that follow
    log_probs: NDArray[np.float32]
    values: NDArray[np.float32]
    rewards: NDArray[np.float32]
    acted: Bools  # whether a learning agent acted
    ends: NDArray[np.int8]  # [streams, steps]: 0 running, 1 terminated, 2 truncated by rules or limit, 3 no contest
    bootstrap: NDArray[np.float32]
    results: tuple[MatchResult, ...]  # of matches that ended, without actions, stream by stream

    def part(self, streams: slice) -> Trajectories:
        """The columns of some streams, without results."""
        counts = np.count_nonzero(self.acted, axis=(1, 2))
        first, last, _ = streams.indices(len(counts))
        rows = slice(int(counts[:first].sum()), int(counts[:last].sum()))
        dense: Any = {name: getattr(self, name)[streams] for name in self._fields[2:-1]}
        legal = None if self.legal is None else self.legal[rows]
        return self._replace(obs=self.obs[rows], legal=legal, results=(), **dense)


def joined(segments: Sequence[Trajectories]) -> Trajectories:
    """The trajectories of several rollouts, stream by stream in this order."""
    first = segments[0]
    if len(segments) == 1:
        return first
    columns: Any = {
        name: None if getattr(first, name) is None else np.concatenate([getattr(one, name) for one in segments])
        for name in first._fields[:-1]
    }
    return first._replace(**columns, results=tuple(result for one in segments for result in one.results))


def usual_rows(info: GameInfo, steps: int) -> int:
    """Most rows of a stream, unless several seats act in some steps of a game with turns."""
    return steps * info.seats if info.simultaneous or info.together else steps


class Columns:
    """The segment that is being played. `obs` and `legal` are [streams, room, ...], filled up to `rows[stream]`."""

    def __init__(self, info: GameInfo, streams: int, steps: int) -> None:
        shape = (streams, steps, info.seats)
        self._most = steps * info.seats
        self.room = usual_rows(info, steps)
        self.obs: Observations = np.zeros((streams, self.room, *info.observation), np.float32)
        self.legal: Bools = np.zeros((streams, self.room if info.masked else 0, info.actions), np.bool_)
        self.rows: Ints = np.zeros(streams, np.int64)
        self.actions: Ints = np.zeros(shape, np.int64)
        self.log_probs, self.values, self.rewards, self.bootstrap = (np.zeros(shape, np.float32) for _ in range(4))
        self.acted: Bools = np.zeros(shape, np.bool_)
        self.ends: NDArray[np.int8] = np.zeros(shape[:2], np.int8)

    def widen(self) -> None:
        """Make room for every seat at every step: several seats act in some steps."""
        self.room, obs, legal = self._most, self.obs, self.legal
        self.obs = np.zeros((len(obs), self.room, *obs.shape[2:]), np.float32)
        self.obs[:, : obs.shape[1]] = obs
        if legal.shape[1]:
            self.legal = np.zeros((len(legal), self.room, legal.shape[2]), np.bool_)
            self.legal[:, : legal.shape[1]] = legal

    def finished(self, results: Sequence[MatchResult]) -> Trajectories:
        return Trajectories(
            self._packed(self.obs),
            self._packed(self.legal) if self.legal.shape[1] else None,
            self.actions,
            self.log_probs,
            self.values,
            self.rewards,
            self.acted,
            self.ends,
            self.bootstrap,
            tuple(results),
        )

    def _packed(self, column: NDArray[Any]) -> NDArray[Any]:
        """The filled rows of all streams, one after the other."""
        if (self.rows == self.room).all():
            return column.reshape(-1, *column.shape[2:])
        return np.concatenate([column[stream, :count] for stream, count in enumerate(self.rows.tolist())])
