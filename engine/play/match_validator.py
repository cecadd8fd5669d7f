"""Checks that matches can be played before they are sent anywhere."""

from __future__ import annotations

from collections.abc import Iterable

from engine.errors import BadSpec
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.play.pilots import PilotPool
from engine.registry import game_of


class MatchValidator:
    """Checks that matches can be played; within a run, an id stands for one agent."""

    def __init__(self, humans: bool = False) -> None:
        """`humans`: whether the match is live, so that humans can play."""
        self._humans = humans
        self._games: dict[GameSpec, PilotPool] = {}
        self._agents: dict[str, AgentSpec] = {}
        self._last: tuple[GameSpec, PilotPool] | None = None  # comparing identities is faster than hashing

    def check(self, specs: Iterable[MatchSpec]) -> None:
        """Raise an error that says why, if one of them cannot be played."""
        for spec in specs:
            if self._last is None or self._last[0] is not spec.game or not self._last[1].covers(spec):
                self._check(spec)

    def _check(self, spec: MatchSpec) -> None:
        pilots = self._games.get(spec.game)
        if pilots is None:
            pilots = self._games[spec.game] = PilotPool(game_of(spec.game), 0, self._humans)
        self._last = spec.game, pilots
        pilots.check(spec)
        for player in spec.players:
            known = self._agents.setdefault(player.id, player)
            if known is not player and known != player:
                raise BadSpec(f"match {spec.id!r}: two different agents have the id {player.id!r}")
