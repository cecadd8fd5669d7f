"""Reports how agents failed in a tournament, and whether the machine was overloaded."""

from __future__ import annotations

from dataclasses import dataclass

from engine.league.played_matches import span
from engine.league.records import Tournament
from engine.league.storage.league import League
from engine.league.storage.schema import PLACES
from engine.play.match import EndingKind

NO_AGENT = "no agent at fault"  # in the place of a name: the rules or the machine failed


@dataclass(frozen=True)
class FailureCount:
    """How an agent forfeited in a tournament, with the latest reason and the last output of its process."""

    agent: str  # its name, or NO_AGENT
    ending: str
    reason: str
    times: int
    match: str  # the latest one


def failures(league: League, tournament: int) -> list[FailureCount]:
    """By agent and kind of ending, quarantine after its causes; resigning is not a failure."""
    names, ids, order = league.names(), league.ids(), [kind.value for kind in EndingKind]
    sql = "SELECT f.agent, f.ending, m.reason, f.count, f.latest FROM forfeits f"
    sql += " JOIN matches m ON m.number = ? + f.latest WHERE f.tournament = ? AND f.ending != ?"
    base = tournament * PLACES
    rows = league.file.read(sql, base, tournament, EndingKind.RESIGNED.value)
    found = [
        FailureCount(names[ids[agent]], ending, reason, count, f"{tournament}.{place}")
        for agent, ending, reason, count, place in rows
    ]
    # 'void' is a literal because SQLite does not use the index for a parameter
    sql = "SELECT count(*), max(number), reason FROM matches WHERE number BETWEEN ? AND ? AND ending = 'void'"
    [(count, number, reason)] = league.file.read(sql, *span(tournament))
    if count:
        found.append(FailureCount(NO_AGENT, "void", reason, count, f"{tournament}.{number - base}"))
    return sorted(found, key=lambda row: (row.agent, order.index(row.ending)))


def overload(league: League, tournament: Tournament) -> str | None:
    """A warning if losses on time suggest an overloaded machine rather than slow players."""
    sql = "SELECT agent, count FROM forfeits WHERE tournament = ? AND ending = ?"
    late = league.file.read(sql, tournament.number, EndingKind.TIMEOUT.value)
    losses = sum(count for _, count in late)
    if losses < 3 or len(late) < 2 or len(late) * 2 < len(tournament.all_entrants):
        return None
    return (
        f"{losses:,} losses on time by {len(late)} different agents: the machine may be overloaded. "
        "Use fewer workers, close other programs, or give more time"
    )
