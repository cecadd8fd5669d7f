"""Tables of a match that are kept for those who step back in it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gymnasium.utils import EzPickle
from pettingzoo import AECEnv, ParallelEnv

from engine.games.pettingzoo.tables import Table

SPACING = 16  # steps between tables that are left on the way
MOST = 64


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
    shells = {id(env): (env, object.__new__(type(env))) for env in _made_anew(table)}
    memo: dict[int, Any] = {number: shell for number, (_, shell) in shells.items()}
    for env, shell in shells.values():
        vars(shell).update({name: copy.deepcopy(value, memo) for name, value in vars(env).items()})
    return copy.deepcopy(table, memo)


def _made_anew(table: Table) -> Iterator[Any]:
    """Those that a copy would make with the arguments they were made with, wherever they stand within one another."""
    known: set[int] = set()
    waiting: list[Any] = [table.env]
    while waiting:
        env = waiting.pop()
        if id(env) not in known:
            known.add(id(env))
            waiting += [one for one in vars(env).values() if isinstance(one, (EzPickle, AECEnv, ParallelEnv))]
            if isinstance(env, EzPickle) and not hasattr(env, "__deepcopy__"):
                yield env
