"""Plays the actions of matches again, many matches at once, and shows every turn on the way.

Actions may come from a file: each is checked before the rules see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import Boards, Bools, Game, Indices, Ints, check_match
from engine.play.guarded_boards import GuardedBoards
from engine.play.match import AgentSpec, MatchSpec

LANES = 128
ROOM = 32 << 20  # actions of all lanes
NO_MATCH = -1
NO_LIMIT = 2**62


class Moves(NamedTuple):
    """The actions of one match: step by step, and by seat among those that act."""

    name: str
    seed: int
    start: str | None
    actions: NDArray[Any]  # unsigned; with `steps`, there may be padding at the end
    steps: int | None  # how many are played; None: all that these actions make, of the last one perhaps only a part


class Turns(NamedTuple):
    """The seats that act now, one in each row, by lane and seat."""

    matches: Ints  # by row: index of the match
    places: Ints  # by row: index of its action among those of the match
    lanes: Indices
    seats: Indices
    plies: Ints
    actions: Ints
    legal: Bools | None  # [rows, actions]; None if all actions are always legal
    dealt: Indices  # lanes on which a match begins


class Replay:
    """The boards on which the matches are played again."""

    def __init__(self, game: Game, matches: Sequence[Moves], lanes: int = LANES) -> None:
        """Raises BadValue if a match cannot be dealt. `lanes`: matches at once, if memory allows as many."""
        self._game, self._info, self._matches = game, game.info, matches
        players = (AgentSpec("", ""),) * game.info.seats  # the rules need none
        for match in matches:
            check_match(MatchSpec(match.name, game.spec, players, match.seed, match.start), game)
        longest = max((len(match.actions) for match in matches), default=1)
        most = min(len(matches), lanes, game.info.lanes or lanes, ROOM // max(longest, 1))
        self.lanes = max(most, 1)
        self.boards = cast(Boards, GuardedBoards(game, self.lanes))
        kinds = [match.actions.dtype for match in matches]
        kind = max(kinds, key=lambda kind: kind.itemsize, default=np.dtype(np.uint8))
        self._stream = np.zeros((self.lanes, max(longest, 1)), kind)
        self.match: Ints = np.full(self.lanes, NO_MATCH, np.int64)  # by lane: index of its match
        self._at, self._ply, self._count, self._steps = (np.zeros(self.lanes, np.int64) for _ in range(4))
        self._played: Ints = np.zeros((self.lanes, game.info.seats), np.int64)
        self._next = 0

    @property
    def done(self) -> int:
        """Number of matches that have ended."""
        return self._next - int(np.count_nonzero(self.match != NO_MATCH))

    def turns(self) -> Iterator[Turns]:
        """The turns of all matches, some at a time: while they are handled, `boards` shows their positions. Raises
        BadValue if a match cannot have these actions."""
        while True:
            dealt = self._deal()
            live = np.flatnonzero(self.match != NO_MATCH)
            if not live.size:
                return
            acting = self.boards.acting()[live]
            order: Ints = np.cumsum(acting, axis=1, dtype=np.int64)
            needed = order[:, -1]
            left = self._count[live] - self._at[live]
            complete = (needed <= left) & (needed > 0)
            self._check_complete(live, complete, needed)
            rows, seats = np.nonzero(acting & (order <= left[:, None]))
            lanes = live[rows]
            places = self._at[lanes] + order[rows, seats] - 1
            actions = self._stream[lanes, places].astype(np.int64)
            legal = self._legal(lanes, seats, actions)
            yield Turns(
                self.match[lanes],
                places,
                lanes.astype(np.uint32),
                seats.astype(np.uint32),
                self._ply[lanes],
                actions,
                legal,
                dealt,
            )
            self._played[lanes, seats] = actions
            self._apply(live[complete], needed[complete])
            self.match[live[~complete]] = NO_MATCH

    def _deal(self) -> Indices:
        """Deal the next matches on free lanes."""
        free = np.flatnonzero(self.match == NO_MATCH)[: len(self._matches) - self._next]
        if free.size:
            some = self._matches[self._next : self._next + free.size]
            for lane, match in zip(free.tolist(), some, strict=True):
                self._stream[lane, : len(match.actions)] = match.actions
                self._count[lane] = len(match.actions)
                self._steps[lane] = NO_LIMIT if match.steps is None else match.steps
            self.match[free] = np.arange(self._next, self._next + free.size)
            self._at[free] = self._ply[free] = 0
            self._next += free.size
            seeds = np.array([match.seed for match in some], np.uint64)
            self.boards.deal(free.astype(np.uint32), seeds, [match.start for match in some])
            ended = free[(self._steps[free] == 0) | (self._count[free] == 0)]
            self.match[ended] = NO_MATCH
        dealt: Indices = free[self.match[free] != NO_MATCH].astype(np.uint32)
        return dealt

    def _check_complete(self, live: Ints, complete: Bools, needed: Ints) -> None:
        for lane in live[(needed == 0)].tolist():
            raise self._wrong(lane, f"over after {self._ply[lane]:,} steps", "a match with as many steps as recorded")
        for lane in live[~complete & (self._steps[live] != NO_LIMIT)].tolist():
            raise self._wrong(lane, f"{self._ply[lane]:,} steps", f"actions for {self._steps[lane]:,} steps")

    def _legal(self, lanes: Ints, seats: Ints, actions: Ints) -> Bools | None:
        """The legal actions; raises BadValue if an action is not one of them."""
        wrong, legal = actions >= self._info.actions, None
        if self._info.masked:
            legal = np.ones((len(lanes), self._info.actions), np.bool_)
            self.boards.legal(lanes.astype(np.uint32), seats.astype(np.uint32), legal)
            wrong |= ~legal[np.arange(len(lanes)), np.minimum(actions, self._info.actions - 1)]
        for row in np.flatnonzero(wrong).tolist():
            lane = int(lanes[row])
            raise self._wrong(lane, f"action {actions[row]} in step {self._ply[lane]:,}", "legal actions")
        return legal

    def _apply(self, moved: Ints, needed: Ints) -> None:
        """Play a step on these lanes; a lane whose steps or actions are all played is free again."""
        self.boards.apply(moved.astype(np.uint32), self._played)
        self._at[moved] += needed
        self._ply[moved] += 1
        ended = (self._ply[moved] == self._steps[moved]) | (
            (self._at[moved] == self._count[moved]) & (self._steps[moved] == NO_LIMIT)
        )
        self.match[moved[ended]] = NO_MATCH

    def _wrong(self, lane: int, found: str, needed: str) -> BadValue:
        return BadValue(f"match {self._matches[self.match[lane]].name}", found, needed)
