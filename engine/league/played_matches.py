"""Reads recorded matches: one by its reference, pages of the history, whole tournaments and their digests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from engine.errors import BadLeague, BadValue
from engine.league.records import PlayedMatch
from engine.league.storage.league import League
from engine.league.storage.match_rows import COLUMNS, unpack_match
from engine.league.storage.schema import PLACES
from engine.play.match import AgentSpec, joint_digest


def span(tournament: int) -> tuple[int, int]:
    """The first and the last number that a match of this tournament may have."""
    return tournament * PLACES, (tournament + 1) * PLACES - 1


def match(league: League, reference: str) -> PlayedMatch:
    """By its reference, such as 3.17: the tournament and the place in its schedule."""
    tournament, dot, place = reference.partition(".")
    if not (dot and tournament.isdecimal() and place.isdecimal() and len(tournament) <= 9 and len(place) <= 9):
        raise BadValue("match", reference, "two numbers such as 3.17: the tournament, and the place in its schedule")
    number = int(tournament) * PLACES + int(place)
    found = _matches(league, f"SELECT {COLUMNS} FROM matches WHERE number = ?", number)
    if not found:
        known = league.tournament(tournament)
        needed = (
            f"one that was played: tournament {known.number} has {known.played:,} of {known.total or known.played:,}"
        )
        raise BadValue("match", reference, needed)
    return found[0]


def history(
    league: League,
    *,
    tournament: int | None = None,
    agent: str | None = None,
    failed: bool = False,
    before: int | None = None,
    limit: int = 50,
) -> list[PlayedMatch]:
    """A page, newest first; `agent` is an id, `before` the number of the last match of the previous page (see
    `number_of`)."""
    low, high = span(tournament) if tournament is not None else (0, 2**63 - 1)
    high = high if before is None else min(high, before - 1)
    where, values = "number BETWEEN ? AND ?", [low, high]
    if failed:
        where += " AND blamed != 0"
    if agent is not None:
        where += " AND number IN (SELECT match FROM seats WHERE agent = ? AND match BETWEEN ? AND ? ORDER BY match DESC"
        where += f" LIMIT {2**31 if failed else limit})"
        values += [league.number(agent), low, high]
    sql = f"SELECT {COLUMNS} FROM matches WHERE {where} ORDER BY number DESC LIMIT ?"
    return _matches(league, sql, *values, limit)


def number_of(match: PlayedMatch) -> int:
    return match.tournament * PLACES + match.place


def _matches(league: League, sql: str, *values: object) -> list[PlayedMatch]:
    return list(_unpacked(league, league.file.read(sql, *values)))


def every_match(league: League, tournament: int | None = None) -> Iterator[PlayedMatch]:
    """All matches, in schedule order."""
    low, high = span(tournament) if tournament is not None else (0, 2**63 - 1)
    sql = f"SELECT {COLUMNS} FROM matches WHERE number BETWEEN ? AND ? ORDER BY number"
    with closing(league.file.stream(sql, low, high)) as rows:
        yield from _unpacked(league, rows)


def _unpacked(league: League, rows: Any) -> Iterator[PlayedMatch]:
    specs = _Specs(league)
    settings = {tournament.number: tournament.settings for tournament in league.tournaments()}
    for row in rows:
        if row[0] // PLACES not in settings:
            raise BadLeague(f"{league.path} is damaged: match {row[0]} belongs to no tournament")
        actions = league.file.read("SELECT data FROM actions WHERE match = ?", row[0])
        data = actions[0][0] if actions else b""
        yield unpack_match(row, data, settings[row[0] // PLACES], specs, league.path)


class _Specs(dict[int, AgentSpec]):
    """By number; each is loaded when first needed, because payloads may be large."""

    def __init__(self, league: League) -> None:
        super().__init__()
        self._league, self._ids = league, league.ids()

    def __missing__(self, number: int) -> AgentSpec:
        self[number] = self._league.spec(self._ids[number])
        return self[number]


def strays(league: League) -> int:
    """Number of matches without a tournament, and of pool tallies that differ from the sum of their tournaments."""
    sql = "SELECT count(*) FROM matches WHERE number >> 32 NOT IN (SELECT number FROM tournaments)"
    orphans = int(league.file.read(sql)[0][0])
    sums = "sum(wins), sum(draws), sum(losses)"
    sql = f"SELECT pool, first, second, {sums} FROM tallies WHERE tournament {{}} 0 GROUP BY pool, first, second"
    return orphans + len(set(league.file.read(sql.format("="))) ^ set(league.file.read(sql.format("!="))))


def digest(league: League, tournament: int) -> tuple[str, int]:
    """The joint digest of a tournament's matches, and how many of them are not repeatable."""
    sql = "SELECT id, digest, repeatable FROM matches WHERE number BETWEEN ? AND ?"
    rows = league.file.read(sql, *span(tournament))
    return joint_digest((id.hex(), own) for id, own, _ in rows), sum(not repeatable for *_, repeatable in rows)


def identical_games(league: League, tournament: int) -> int:
    """Number of games identical to an earlier one of the same players on the same seats: they add no information."""
    sql = "SELECT count(*) - count(DISTINCT game) FROM matches WHERE number BETWEEN ? AND ? AND game != 0"
    return int(league.file.read(sql, *span(tournament))[0][0])
