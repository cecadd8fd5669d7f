"""The demo league: scripted bots of one game, round robin in side-swapped pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.game import Game
from engine.league.formats.round_robin import round_robin
from engine.league.plan import swapped_pairs
from engine.play.match import AgentSpec, MatchResult, MatchSpec


@dataclass
class Tally:
    """Games won, drawn and lost."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def add(self, rank: int, best_other: int) -> None:
        self.wins += rank < best_other
        self.draws += rank == best_other
        self.losses += rank > best_other

    @property
    def played(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Share of what could be won, a draw counting half."""
        return (self.wins + self.draws / 2) / max(self.played, 1)


@dataclass
class Row:
    """One agent's line in the table."""

    agent: str
    total: Tally = field(default_factory=Tally)
    against: dict[str, Tally] = field(default_factory=dict)  # by opponent
    scored: float = 0.0  # the game's own points
    conceded: float = 0.0
    elo: float = 0.0  # of the whole table together, the mean of all at 0
    error: float = 0.0  # half of its 95 % interval


def plan(game: Game, agents: Sequence[AgentSpec], pairs: int, seed: int) -> Iterator[MatchSpec]:
    """Every pairing of the round robin, `pairs` times with sides swapped."""
    by_id = {agent.id: agent for agent in agents}
    rounds = round_robin([agent.id for agent in agents], [])
    pairings = ((by_id[a], by_id[b]) for one in rounds for a, b in one)
    return swapped_pairs(game.spec, pairings, pairs, seed)


def table(agents: Sequence[AgentSpec], results: Iterable[MatchResult]) -> tuple[list[Row], bool]:
    """The standings, best first; equal ones by points, then by name. Who has not played comes last.

    And whether somebody's Elo is finite only because of a virtual draw: see `engine.league.ratings`.
    """
    rows = {agent.id: Row(agent.id) for agent in agents}
    for result in results:
        if not result.ending.kind.rated:
            continue
        for seat, other in ((0, 1), (1, 0)):
            row = rows[result.players[seat]]
            row.total.add(result.ranks[seat], result.ranks[other])
            row.against.setdefault(result.players[other], Tally()).add(result.ranks[seat], result.ranks[other])
            row.scored += result.scores[seat]
            row.conceded += result.scores[other]
    prior = _rate(rows)
    order = sorted(rows.values(), key=lambda row: (-row.elo, row.conceded - row.scored, row.agent))
    return sorted(order, key=lambda row: not row.total.played), prior


def _rate(rows: dict[str, Row]) -> bool:
    """Everybody's Elo from everybody's games; whether it took a virtual draw."""
    from engine.league.ratings import rate  # scipy takes a moment, and is not needed before there is a table

    names = list(rows)
    points, games = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for i, name in enumerate(names):
        for other, tally in rows[name].against.items():
            if other != name:
                points[i, names.index(other)] = tally.wins + tally.draws / 2
                games[i, names.index(other)] = tally.played
    rated = rate(names, points, games)
    for name, elo, error in zip(names, rated.elo.tolist(), rated.error.tolist(), strict=True):
        rows[name].elo, rows[name].error = elo, error
    return rated.prior
