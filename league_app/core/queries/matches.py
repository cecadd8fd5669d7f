"""Rows of matches and failures for tables, without payloads, actions or specs.

SQLite filters and sorts the matches; it releases Python's lock meanwhile, so a window stays responsive.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.clock import local_text, now
from engine.league import played_matches, standings
from engine.league.failure_report import NO_AGENT
from engine.league.storage.league import League
from engine.league.storage.match_rows import pack_players
from engine.league.storage.schema import PLACES
from engine.play.failures import split_output
from engine.play.match import EndingKind, GameSpec

PAGE = 500  # matches that are read at once
UPSET = 100.0  # Elo that the winner of an upset is rated lower, at least
REASON = 300  # characters of a reason in a row

Row = tuple[Any, ...]
"""number, when, players, ranks and scores as bytes, steps, ending, mask of blamed seats, reason: a plain tuple of
atomic values, which the garbage collector need not track."""
COLUMNS = (
    "m.number, m.at, m.players, m.ranks, substr(m.numbers, 1, length(m.players) * 2), m.steps, m.ending, m.blamed, "
    f"substr(m.reason, 1, {REASON})"
)


class AgentLabel(NamedTuple):
    """An agent as lists show it."""

    id: str
    name: str
    game: str
    kind: str
    colour: str  # as set by the user, or empty
    archived: bool


@dataclass(frozen=True)
class MatchFilter:
    """Which matches, and in which order; agents by id."""

    agent: str = ""
    opponent: str = ""
    tournament: int = 0
    ending: str = ""  # the value of an EndingKind, "failed" or "upset"
    words: str = ""
    sort: str = ""  # when, players, ending, steps, match or tournament; empty for newest first
    descending: bool = False

    @property
    def filtered(self) -> bool:
        return bool(self.agent or self.opponent or self.tournament or self.ending or self.words.strip())


@dataclass(frozen=True)
class MatchRows:
    """A page of matches, and the names to show it with."""

    rows: list[Row]
    total: int
    agents: Mapping[int, AgentLabel]
    tournaments: Mapping[int, str]  # names by number, of the pool
    more: bool = False  # to be appended to the rows shown


def agent_labels(league: League) -> dict[int, AgentLabel]:
    """By number, archived agents included."""
    known = {agent.id: agent for agent in league.agents(archived=True)}
    found = {}
    for number, id in league.ids().items():
        agent = known[id]
        found[number] = AgentLabel(id, agent.name, agent.game, agent.kind, agent.colour, agent.archived is not None)
    return found


def tournament_names(league: League, pool: GameSpec | None) -> dict[int, str]:
    if pool is None:
        return {}
    number, sql = league.pool(pool), "SELECT number, name FROM tournaments WHERE pool = ? ORDER BY number"
    return dict(league.kept(("tournament names", number), lambda: league.file.read(sql, number)))


def matches(
    league: League,
    pool: GameSpec | None,
    filter: MatchFilter,
    after: Row | None = None,
    skip: int = 0,
    limit: int = PAGE,
) -> MatchRows:
    """The page after the row `after`; `skip` rows are shown already."""
    labels, names = agent_labels(league), tournament_names(league, pool)
    if not names:
        return MatchRows([], 0, labels, names)
    query = _Query(league, pool, filter, labels, names)
    if after is not None and not filter.sort:
        query.where.append("m.number < ?")
        query.values.append(after[0])
        skip = 0
    sql = f"{query.tables(COLUMNS)} ORDER BY {query.order} LIMIT {int(limit)} OFFSET {int(skip)}"
    rows = league.file.read(sql, *query.values)
    total = -1
    if after is None:
        total = _total(league, pool, filter, labels, names)
    return MatchRows(rows, total, labels, names, after is not None)


def count(league: League, pool: GameSpec | None, filter: MatchFilter) -> int:
    """The number of matches that pass the filter."""
    names = tournament_names(league, pool)
    return _total(league, pool, filter, agent_labels(league), names) if names else 0


def _total(
    league: League,
    pool: GameSpec | None,
    filter: MatchFilter,
    labels: Mapping[int, AgentLabel],
    names: Mapping[int, str],
) -> int:
    if not filter.filtered:
        sql = f"SELECT coalesce(sum(played), 0) FROM tournaments WHERE number IN ({number_list(names)})"
        return int(league.file.read(sql)[0][0])
    query = _Query(league, pool, filter, labels, names)
    return int(league.file.read(query.tables("count(*)"), *query.values)[0][0])


class _Query:
    """Builds the SQL statement for a MatchFilter."""

    def __init__(
        self,
        league: League,
        pool: GameSpec | None,
        filter: MatchFilter,
        labels: Mapping[int, AgentLabel],
        names: Mapping[int, str],
    ) -> None:
        self.where: list[str] = []
        self.values: list[object] = []
        self._with: list[str] = []
        self._joins: list[str] = []
        self._agents, self._names = labels, names
        numbers = {label.id: number for number, label in labels.items()}
        self._spans(league, filter.tournament)
        for id in (filter.agent, filter.opponent):
            if id:
                self.where.append("m.number IN (SELECT match FROM seats WHERE agent = ? AND match BETWEEN ? AND ?)")
                self.values += [numbers.get(id, -1), *self._limits]
        self._filter_ending(league, pool, filter.ending)
        for word in filter.words.casefold().split():
            self._contains(word)
        self._sort(filter)

    def _spans(self, league: League, tournament: int) -> None:
        if tournament:
            self._limits = played_matches.span(tournament if tournament in self._names else 0)
        else:
            self._limits = played_matches.span(min(self._names))[0], played_matches.span(max(self._names))[1]
        self.where.append("m.number BETWEEN ? AND ?")
        self.values += self._limits
        others = league.file.read(f"SELECT 1 FROM tournaments WHERE number NOT IN ({number_list(self._names)}) LIMIT 1")
        if others and not tournament:
            self.where.append(f"m.number >> 32 IN ({number_list(self._names)})")

    def _filter_ending(self, league: League, pool: GameSpec | None, ending: str) -> None:
        if ending == "failed":
            self.where.append("m.blamed != 0")
        elif ending == "upset" and pool is not None:
            table = standings.standings(league, pool)
            known = {row.agent: row.rating for row in table.rows if row.total.played}
            rated = [(number, known[agent.id]) for number, agent in self._agents.items() if agent.id in known]
            self._join_values("rated", rated)
            for winner, loser, ranks in (("a", "b", "x'0102'"), ("b", "a", "x'0201'")):
                upset = f"(m.ranks = {ranks} AND rated_{winner}.value <= rated_{loser}.value - {UPSET})"
                self.where.append(upset)
            self.where[-2:] = [f"({' OR '.join(self.where[-2:])})"]
        elif ending:
            self.where.append("m.ending = ?")
            self.values.append(ending)

    def _join_values(self, name: str, values: Sequence[tuple[int, float]]) -> None:
        """Joins a value for each player of the first two seats, which a row holds as packed numbers."""
        listed = ", ".join(f"(x'{pack_players([number]).hex()}', {value!r})" for number, value in values)
        self._with.append(f"{name}(agent, value) AS (VALUES {listed or '(NULL, 0)'})")
        for seat, at in (("a", 1), ("b", 5)):
            joined = f"LEFT JOIN {name} AS {name}_{seat} ON {name}_{seat}.agent = substr(m.players, {at}, 4)"
            self._joins.append(joined)

    def _contains(self, word: str) -> None:
        """Selects rows that show the word: in names, reference, ending, tournament, date or time."""
        named = [number for number, agent in self._agents.items() if word in agent.name.casefold()]
        called = [number for number, name in self._names.items() if word in name.casefold()]
        ended = [f"'{kind.value}'" for kind in EndingKind if word in ending_text(kind.value)]
        ways = [
            f"m.number IN (SELECT match FROM seats WHERE agent IN ({number_list(named)}))" if named else "",
            f"m.number >> 32 IN ({number_list(called)})" if called else "",
            f"m.ending IN ({', '.join(ended)})" if ended else "",
        ]
        if set(word) <= set("0123456789."):
            ways.append("((m.number >> 32) || '.' || (m.number & 4294967295)) LIKE ?")
            self.values.append(f"%{word}%")
        if set(word) <= set("0123456789-:") and set(word) & set("-:"):
            ways.append("strftime('%Y-%m-%d %H:%M', m.at, 'unixepoch', 'localtime') LIKE ?")
            self.values.append(f"%{word}%")
        self.where.append(f"({' OR '.join(way for way in ways if way) or '0'})")

    def _sort(self, filter: MatchFilter) -> None:
        way = "DESC" if filter.descending else "ASC"
        plain = {"when": "m.at", "ending": "m.ending", "steps": "m.steps", "match": "m.number"}
        if filter.sort == "players":
            ranked = sorted(self._agents.items(), key=lambda item: item[1].name.casefold())
            self._join_values("named", [(number, place) for place, (number, _) in enumerate(ranked)])
            self.order = f"named_a.value {way}, named_b.value {way}, m.number DESC"
        elif filter.sort == "tournament":
            ranked_names = sorted(self._names.items(), key=lambda item: (item[1].casefold(), item[0]))
            listed = ", ".join(f"({number}, {place})" for place, (number, _) in enumerate(ranked_names))
            self._with.append(f"called(tournament, value) AS (VALUES {listed})")
            self._joins.append("LEFT JOIN called ON called.tournament = m.number >> 32")
            self.order = f"called.value {way}, m.number DESC"
        elif filter.sort:
            self.order = f"{plain[filter.sort]} {way}, m.number DESC"
        else:
            self.order = "m.number DESC"

    def tables(self, columns: str) -> str:
        given = f"WITH {', '.join(self._with)} " if self._with else ""
        return f"{given}SELECT {columns} FROM matches AS m {' '.join(self._joins)} WHERE {' AND '.join(self.where)}"


def number_list(numbers: Any) -> str:
    return ", ".join(str(int(number)) for number in numbers)


# Text of a row


def reference(number: int) -> str:
    return f"{number // PLACES}.{number % PLACES}"


def scores_of(row: Row) -> tuple[float, ...]:
    return struct.unpack(f"<{len(row[4]) // 8}d", row[4])


def tournament_label(number: int, name: str) -> str:
    """A tournament: its number first, because long names are cut off at the end."""
    return f"{number}. {name}"


def ending_text(ending: str) -> str:
    return ending.replace("_", " ")


def short_time(at: float) -> str:
    """Day and time for this year, the date for earlier years."""
    this_year = local_text(at, "%Y") == local_text(now(), "%Y")
    return local_text(at, "%d %b %H:%M" if this_year else "%d %b %Y").lstrip("0")


# Failures


@dataclass(frozen=True)
class FailureRow:
    """How an agent failed in the matches of a pool, all its tournaments together."""

    agent: str  # its id; empty if no agent is to blame
    name: str
    kind: str
    colour: str
    ending: str
    reason: str  # of the latest
    output: str  # the last that its process printed
    times: int
    number: int  # the latest match


def failures(league: League, pool: GameSpec | None, agent: str = "") -> list[FailureRow]:
    """By agent and kind of ending, the latest first; resigning is not a failure."""
    names, labels = tournament_names(league, pool), agent_labels(league)
    sql = "SELECT f.agent, f.ending, m.reason, f.count, m.number FROM forfeits AS f JOIN matches AS m"
    sql += f" ON m.number = f.tournament * {PLACES} + f.latest WHERE f.tournament IN ({number_list(names)})"
    rows = league.file.read(f"{sql} AND f.ending != ? ORDER BY m.number", EndingKind.RESIGNED.value)
    found: dict[tuple[str, str], FailureRow] = {}
    for number, ending, reason, count, match in rows:
        label = labels[number]
        before = found.get((label.id, ending))
        times = count + (before.times if before else 0)
        found[label.id, ending] = FailureRow(
            label.id, label.name, label.kind, label.colour, ending, *split_output(reason), times, match
        )
    if not agent:
        sql = "SELECT count(*), max(number), reason FROM matches WHERE ending = 'void' AND number BETWEEN ? AND ?"
        for tournament in names:
            [(count, match, reason)] = league.file.read(sql, *played_matches.span(tournament))
            if count:
                times = count + (found["", "void"].times if ("", "void") in found else 0)
                found["", "void"] = FailureRow("", NO_AGENT, "", "", "void", *split_output(reason), times, match)
    chosen = [row for row in found.values() if agent in ("", row.agent)]
    return sorted(chosen, key=lambda row: -row.number)


def failure_kinds(league: League, pool: GameSpec) -> int:
    """Count the pairs of agent and ending among the failures of a pool."""
    sql = "SELECT DISTINCT f.agent, f.ending FROM forfeits AS f JOIN tournaments AS t ON t.number = f.tournament"
    found = league.file.read(f"{sql} WHERE t.pool = ? AND f.ending != ?", league.pool(pool), EndingKind.RESIGNED.value)
    return len(found)
