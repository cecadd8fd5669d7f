"""Rows of agents for tables, and the statistics of an agent's matches."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.league import standings
from engine.league.storage.league import League
from engine.league.storage.match_rows import unpack_players
from engine.play.match import EndingKind, GameSpec
from league_app.core.queries.matches import number_list, tournament_names
from league_app.core.validation import unconfirmed

UNCONFIRMED = "Not confirmed on this machine: it does not run until you confirm its command"


@dataclass(frozen=True)
class AgentRow:
    """An agent of a game with its rating, as the agents dock shows it."""

    id: str
    name: str
    game: str
    kind: str
    colour: str
    archived: bool
    rating: float | None = None
    error: float = 0.0
    warning: str = ""  # why its rating is unreliable, or why it does not play


def match_count(met: int, seats: int) -> int:
    """Matches of an agent, from the meetings that standings count: one with each opponent in each match."""
    return round(met / max(seats - 1, 1))


def forfeit_warning(played: int, forfeits: Iterable[tuple[str, int]]) -> str:
    """A warning if an agent has forfeited more than half of its matches; resigning does not count. `played` does not
    include matches skipped by quarantine."""
    counts = dict(forfeits)
    broken = sum(counts.values()) - counts.get(EndingKind.RESIGNED.value, 0)
    every = played + counts.get(EndingKind.QUARANTINED.value, 0)
    if broken * 2 <= every:
        return ""
    return f"Forfeited {broken:,} of {every:,} matches: its rating is based on few games"


def agent_rows(league: League, pool: GameSpec | None) -> list[AgentRow]:
    """The agents of the pool's game, best first, archived ones at the end; without a pool, all agents."""
    every = league.agents(pool.name if pool else None, archived=True)
    rated: dict[str, tuple[float | None, float, str]] = {}
    if pool is not None:
        table = standings.standings(league, pool)
        for row in table.rows:
            played = row.total.played
            warning = forfeit_warning(match_count(played, table.seats), row.forfeits.items())
            rated[row.agent] = row.rating if played else None, row.error, warning
    for agent in unconfirmed(league, every):
        rating, error, _ = rated.get(agent.id, (None, 0.0, ""))
        rated[agent.id] = rating, error, UNCONFIRMED
    found = [
        AgentRow(
            agent.id,
            agent.name,
            agent.game,
            agent.kind,
            agent.colour,
            agent.archived is not None,
            *rated.get(agent.id, (None,)),
        )
        for agent in every
    ]
    return sorted(found, key=lambda row: (row.archived, row.rating is None, -(row.rating or 0.0), row.name.casefold()))


@dataclass(frozen=True)
class Mean:
    """The mean of one statistic of a game, for an agent and for its opponents."""

    name: str
    own: float
    others: float


@dataclass(frozen=True)
class Statistics:
    matches: int = 0
    means: tuple[Mean, ...] = field(default=())


def statistics(league: League, pool: GameSpec, agent: str, names: Sequence[str], last: int = 200) -> Statistics:
    """Means over the last matches that have begun."""
    number, played = league.number(agent), tournament_names(league, pool)
    if not played or not names:
        return Statistics()
    sql = "SELECT players, numbers FROM matches WHERE number IN (SELECT match FROM seats WHERE agent = ?"
    sql += f" AND match >> 32 IN ({number_list(played)}) ORDER BY match DESC LIMIT {int(last)})"
    own, others, count = [0.0] * len(names), [0.0] * len(names), 0
    seats = rivals = 0
    for players, numbers in league.file.read(sql, number):
        seated = unpack_players(players)
        figures = struct.unpack(f"<{len(numbers) // 8}d", numbers)
        n, each = len(seated), len(figures) // len(seated) - 1
        if each != len(names):
            continue  # not played, or recorded with other statistics
        count += 1
        for seat, player in enumerate(seated):
            sums = own if player == number else others
            seats, rivals = seats + (player == number), rivals + (player != number)
            for place in range(each):
                sums[place] += figures[n + seat * each + place]
    if not count:
        return Statistics()
    shared = zip(names, own, others, strict=True)
    return Statistics(count, tuple(Mean(name, a / seats, b / max(rivals, 1)) for name, a, b in shared))
