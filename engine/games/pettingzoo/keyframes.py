"""Copies of a match at some steps, so that a viewer can step back in it quickly."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gymnasium.utils import EzPickle
from pettingzoo import AECEnv, ParallelEnv

from engine.games.pettingzoo.environments import EnvTable

SPACING = 16  # steps between keyframes
MAX_KEYFRAMES = 64


class KeyframeCache:
    """Tables at some steps of one match, of which copies are played on. Empty if the environment cannot be copied.

    Without them, stepping back in a match of five hundred steps would replay all of it for each step.
    """

    def __init__(self, deal: Callable[[], EnvTable], copies: Callable[[], bool]) -> None:
        self._deal, self._copies = deal, copies
        self._tables: dict[int, EnvTable] = {}

    def table(self, moves: Sequence[Mapping[int, int]], own: EnvTable | None = None) -> EnvTable:
        """A table after these moves: continues from `own` or from the nearest keyframe, whichever is closer."""
        near = max((ply for ply in self._tables if ply <= len(moves)), default=0)
        fresh = own is None or own.steps < near
        table = own if own is not None and not fresh else copy_table(self._tables[near]) if near else self._deal()
        for actions in moves[table.steps :]:
            table.step(actions)
            if fresh and table.steps % SPACING == 0:  # `own` may have rendered, and hold objects that cannot be copied
                self.add(table)
        return table

    def add(self, table: EnvTable) -> None:
        if table.steps == 0 or table.steps in self._tables or not self._copies():
            return
        try:
            self._tables[table.steps] = copy_table(table)
        except Exception:  # code of the environment: this table holds an object that the probe's did not
            self._copies = bool  # returns False: no further copies
        if len(self._tables) > MAX_KEYFRAMES:
            for ply in sorted(self._tables)[1::2]:  # keeps every second one and the newest
                del self._tables[ply]

    def until(self, ply: int) -> KeyframeCache:
        """The cache of a match that took other moves after this ply."""
        other = KeyframeCache(self._deal, self._copies)
        other._tables = {at: table for at, table in self._tables.items() if at <= ply}
        return other


def copy_table(table: EnvTable) -> EnvTable:
    """An independent copy. Plain deepcopy would create most environments anew, because they use EzPickle."""
    shells = {id(env): (env, object.__new__(type(env))) for env in _ez_pickled(table)}
    memo: dict[int, Any] = {number: shell for number, (_, shell) in shells.items()}
    for env, shell in shells.values():
        vars(shell).update({name: copy.deepcopy(value, memo) for name, value in vars(env).items()})
    return copy.deepcopy(table, memo)


def _ez_pickled(table: EnvTable) -> Iterator[Any]:
    """The nested environments that deepcopy would create anew from their constructor arguments."""
    known: set[int] = set()
    waiting: list[Any] = [table.env]
    while waiting:
        env = waiting.pop()
        if id(env) not in known:
            known.add(id(env))
            waiting += [inner for inner in vars(env).values() if isinstance(inner, (EzPickle, AECEnv, ParallelEnv))]
            if isinstance(env, EzPickle) and not hasattr(env, "__deepcopy__"):
                yield env
