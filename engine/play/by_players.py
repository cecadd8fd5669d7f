"""What is known of the players of a match, found by the identity of their tuple."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from engine.play.match import AgentSpec

MOST = 4096  # tuples that are kept

Value = TypeVar("Value")


class ByPlayers(Generic[Value]):
    """A cache of a function of `MatchSpec.players`. A schedule repeats the same few tuples, and even one look at each
    player of each match costs more than this."""

    def __init__(self, make: Callable[[tuple[AgentSpec, ...]], Value]) -> None:
        self._make = make
        self._known: dict[int, tuple[tuple[AgentSpec, ...], Value]] = {}  # it keeps the tuples, so id() stays unique

    def __getitem__(self, players: tuple[AgentSpec, ...]) -> Value:
        known = self._known.get(id(players))
        if known is None:
            if len(self._known) >= MOST:
                self._known.clear()
            known = self._known[id(players)] = players, self._make(players)
        return known[1]

    def clear(self) -> None:
        self._known.clear()
