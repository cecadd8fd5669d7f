"""Tables of a match that are kept for those who step back in it."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gymnasium.utils import EzPickle

from engine.games.pettingzoo.tables import Table

SPACING = 16  # steps between tables that are left on the way
MOST = 64
_copying = threading.Lock()


class Shelf:
    """Tables at some steps of one match; nobody plays at them, only at copies. Where they can't be copied it is empty.

    Stepping back in a match of five hundred steps would play all of it again for each step otherwise.
    """

    def __init__(self, deal: Callable[[], Table], copies: Callable[[], bool]) -> None:
        self._deal, self._copies = deal, copies
        self._kept: dict[int, Table] = {}

    def table(self, moves: Sequence[Mapping[int, int]], own: Table | None = None) -> Table:
        """One at which these have been played: one's own, if it is there or nearest to it, else a new one."""
        near = max((ply for ply in self._kept if ply <= len(moves)), default=0)
        fresh = own is None or own.played < near
        table = own if own is not None and not fresh else twin(self._kept[near]) if near else self._deal()
        for actions in moves[table.played :]:
            table.step(actions)
            if fresh and table.played % SPACING == 0:  # one's own may have drawn, and hold what can't be copied
                self.keep(table)
        return table

    def keep(self, table: Table) -> None:
        if table.played == 0 or table.played in self._kept or not self._copies():
            return
        try:
            self._kept[table.played] = twin(table)
        except Exception:  # its own code: this one holds something that the one that was tried did not hold
            self._copies = bool  # never again
        if len(self._kept) > MOST:
            for ply in sorted(self._kept)[1::2]:  # the newest stays
                del self._kept[ply]

    def until(self, ply: int) -> Shelf:
        """For a match that has gone another way since then."""
        other = Shelf(self._deal, self._copies)
        other._kept = {at: table for at, table in self._kept.items() if at <= ply}
        return other


def twin(table: Table) -> Table:
    """A copy that goes on by itself; most environments, left to themselves, would be made anew instead."""
    with _copying:
        EzPickle.__deepcopy__ = _copied_whole
        try:
            return copy.deepcopy(table)
        finally:
            del EzPickle.__deepcopy__


def _copied_whole(env: Any, memo: dict[int, Any]) -> Any:
    made = memo[id(env)] = object.__new__(type(env))
    vars(made).update({name: copy.deepcopy(value, memo) for name, value in vars(env).items()})
    return made
