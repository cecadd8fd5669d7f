"""Checks that matches can be played before they are sent anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.errors import BadSpec
from engine.game import Game, check_match
from engine.play.match import SEED_LIMIT, AgentSpec, GameSpec, Limits, MatchSpec
from engine.play.pilots import PilotPool
from engine.registry import game_of


class MatchValidator:
    """Checks that matches can be played; within a run, an id stands for one agent."""

    def __init__(self, humans: bool = False) -> None:
        """`humans`: whether the match is live, so that humans can play."""
        self._humans = humans
        self._games: dict[GameSpec, CheckedGame] = {}
        self._agents: dict[str, AgentSpec] = {}
        self._last: CheckedGame | None = None  # comparing identities is faster than hashing

    def check(self, specs: Iterable[MatchSpec]) -> None:
        """Raise an error that says why, if one of them cannot be played."""
        checked = self._last
        for spec in specs:
            if checked is None or not checked.covers(spec):
                checked = self._last = self._check(spec)

    def _check(self, spec: MatchSpec) -> CheckedGame:
        if spec.game not in self._games:
            game = game_of(spec.game)
            self._games[spec.game] = CheckedGame(spec.game, game, PilotPool(game, 0, self._humans))
        checked = self._games[spec.game]
        check_match(spec, checked.rules)
        for player in spec.players:
            known = self._agents.setdefault(player.id, player)
            if known is not player and known != player:
                raise BadSpec(f"match {spec.id!r}: two different agents have the id {player.id!r}")
        checked.pilots.check(spec)
        checked.players.update(id(player) for player in spec.players if self._agents[player.id] is player)
        if spec.start is None and spec.limits.clock is None:
            checked.limits = spec.limits
        return checked


@dataclass
class CheckedGame:
    """What the checked matches of one game have in common."""

    game: GameSpec
    rules: Game
    pilots: PilotPool
    players: set[int] = field(default_factory=set)  # id() of agents that the validator keeps alive
    limits: Limits | None = None

    def covers(self, spec: MatchSpec) -> bool:
        """Whether a match differs from a checked one only in its id, its seed and the seats of checked players."""
        return (
            spec.game is self.game
            and spec.limits is self.limits
            and spec.start is None
            and type(spec.seed) is int
            and 0 <= spec.seed < SEED_LIMIT
            and len(spec.players) == self.rules.info.seats
            and self.players.issuperset(map(id, spec.players))
        )
