"""What is known of the players of a match, found by the identity of their tuple, or of the agents in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from engine.play.match import AgentSpec

MOST = 4096  # tuples that are kept

Players = tuple[AgentSpec, ...]
Value = TypeVar("Value")
UNKNOWN: Any = object()


class ByPlayers(Generic[Value]):
    """A cache of a function of `MatchSpec.players`. A schedule repeats the same few tuples, and even one look at each
    player of each match costs more than this. Trainers make a new tuple of the same few agents for each match."""

    def __init__(self, make: Callable[[Players], Value]) -> None:
        self._make = make
        self._by_tuple: dict[int, Value] = {}
        self._by_agents: dict[tuple[int, ...], Value] = {}
        # The tuples of both, and so their agents, so that each id() stays unique. Apart from the values: a pair of both
        # for each match would be one more object to the garbage collector, which then takes as long as all the rest.
        self._tuples: list[Players] = []
        self._agents: list[Players] = []

    def __getitem__(self, players: Players) -> Value:
        known = self._by_tuple.get(id(players), UNKNOWN)
        return self._find(players) if known is UNKNOWN else cast(Value, known)

    def _find(self, players: Players) -> Value:
        """The value for a new tuple."""
        agents = tuple(map(id, players))
        known = self._by_agents.get(agents, UNKNOWN)
        if known is UNKNOWN:
            known = self._make(players)
            if len(self._agents) >= MOST:
                self._by_agents.clear()
                self._agents.clear()
            self._by_agents[agents] = known
            self._agents.append(players)
        if len(self._tuples) >= MOST:
            self._by_tuple.clear()
            self._tuples.clear()
        self._by_tuple[id(players)] = known
        self._tuples.append(players)
        return cast(Value, known)

    def clear(self) -> None:
        for kept in (self._by_tuple, self._by_agents, self._tuples, self._agents):
            kept.clear()
