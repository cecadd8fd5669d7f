"""Quick looks at a league: rows of matches, failures and agents, without payloads, actions or specs. No Qt in here.

Filtering and sorting of matches is done by SQLite, which lets go of Python's lock meanwhile: a window stays quick.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.league import standings as tables
from engine.league.storage.match_rows import pack_players, unpack_players
from engine.league.storage.schema import PLACES
from engine.league.storage.league import League
from engine.play.match import EndingKind, GameSpec
from league_app.core.validation import unconfirmed

PAGE = 500  # matches that are read at once
UPSET = 100.0  # by so much is the winner rated lower
REASON = 300  # letters of a reason that a row shows
LAST_WORDS = "; it last printed: "  # where a reason goes on with what the process wrote
NOBODY = "nobody's fault"

Row = tuple[Any, ...]
"""number, when, players, ranks and scores as bytes, steps, ending, mask of blamed seats, reason: a plain tuple of plain
things, of which the garbage collector lets go."""
COLUMNS = (
    "m.number, m.at, m.players, m.ranks, substr(m.numbers, 1, length(m.players) * 2), m.steps, m.ending, m.blamed, "
    f"substr(m.reason, 1, {REASON})"
)


class Person(NamedTuple):
    """Somebody as lists show it."""

    id: str
    name: str
    game: str
    kind: str
    colour: str  # as it was given, or empty
    archived: bool


@dataclass(frozen=True)
class Wanted:
    """Which matches, and in which order; agents by id."""

    agent: str = ""
    opponent: str = ""
    tournament: int = 0
    ending: str = ""  # the value of a kind of ending, or failed, or upset
    words: str = ""
    sort: str = ""  # when, players, ending, steps or tournament; nothing for newest first
    descending: bool = False

    @property
    def filtered(self) -> bool:
        return bool(self.agent or self.opponent or self.tournament or self.ending or self.words.strip())


@dataclass(frozen=True)
class Found:
    """A page of matches, and what is needed to read it."""

    rows: list[Row]
    total: int
    people: Mapping[int, Person]
    tournaments: Mapping[int, str]  # names by number, of the pool
    more: bool = False  # these go below those that are there


def people(league: League) -> dict[int, Person]:
    """By number, archived ones too."""
    known = {one.id: one for one in league.agents(archived=True)}
    found = {}
    for number, id in league.ids().items():
        one = known[id]
        found[number] = Person(id, one.name, one.game, one.kind, one.colour, one.archived is not None)
    return found


def tournament_names(league: League, pool: GameSpec | None) -> dict[int, str]:
    if pool is None:
        return {}
    sql = "SELECT number, name FROM tournaments WHERE pool = ? ORDER BY number"
    return dict(league.file.read(sql, league.pool(pool)))


def matches(
    league: League, pool: GameSpec | None, wanted: Wanted, after: Row | None = None, skip: int = 0, limit: int = PAGE
) -> Found:
    """The page after this row, of which `skip` are shown already."""
    everybody, names = people(league), tournament_names(league, pool)
    if not names:
        return Found([], 0, everybody, names)
    ask = _Query(league, pool, wanted, everybody, names)
    if after is not None and not wanted.sort:
        ask.where.append("m.number < ?")
        ask.values.append(after[0])
        skip = 0
    sql = f"{ask.tables(COLUMNS)} ORDER BY {ask.order} LIMIT {int(limit)} OFFSET {int(skip)}"
    rows = league.file.read(sql, *ask.values)
    total = -1
    if after is None:
        total = _total(league, pool, wanted, everybody, names)
    return Found(rows, total, everybody, names, after is not None)


def count(league: League, pool: GameSpec | None, wanted: Wanted) -> int:
    """How many matches there are like that."""
    names = tournament_names(league, pool)
    return _total(league, pool, wanted, people(league), names) if names else 0


def _total(
    league: League, pool: GameSpec | None, wanted: Wanted, everybody: Mapping[int, Person], names: Mapping[int, str]
) -> int:
    if not wanted.filtered:
        sql = f"SELECT coalesce(sum(played), 0) FROM tournaments WHERE number IN ({_listed(names)})"
        return int(league.file.read(sql)[0][0])
    ask = _Query(league, pool, wanted, everybody, names)
    return int(league.file.read(ask.tables("count(*)"), *ask.values)[0][0])


class _Query:
    """What is asked of SQLite for the matches that are wanted."""

    def __init__(
        self,
        league: League,
        pool: GameSpec | None,
        wanted: Wanted,
        everybody: Mapping[int, Person],
        names: Mapping[int, str],
    ) -> None:
        self.where: list[str] = []
        self.values: list[object] = []
        self._with: list[str] = []
        self._joins: list[str] = []
        self._people, self._names = everybody, names
        numbers = {one.id: number for number, one in everybody.items()}
        self._spans(league, wanted.tournament)
        for id in (wanted.agent, wanted.opponent):
            if id:
                self.where.append("m.number IN (SELECT match FROM seats WHERE agent = ? AND match BETWEEN ? AND ?)")
                self.values += [numbers.get(id, -1), *self._limits]
        self._ended(league, pool, wanted.ending)
        for word in wanted.words.casefold().split():
            self._holds(word)
        self._sort(wanted)

    def _spans(self, league: League, tournament: int) -> None:
        if tournament:
            self._limits = tables.span(tournament if tournament in self._names else 0)
        else:
            self._limits = tables.span(min(self._names))[0], tables.span(max(self._names))[1]
        self.where.append("m.number BETWEEN ? AND ?")
        self.values += self._limits
        others = league.file.read(f"SELECT 1 FROM tournaments WHERE number NOT IN ({_listed(self._names)}) LIMIT 1")
        if others and not tournament:
            self.where.append(f"m.number >> 32 IN ({_listed(self._names)})")

    def _ended(self, league: League, pool: GameSpec | None, ending: str) -> None:
        if ending == "failed":
            self.where.append("m.blamed != 0")
        elif ending == "upset" and pool is not None:
            table = tables.standings(league, pool)
            known = {row.agent: row.rating for row in table.rows if row.total.played}
            rated = [(number, known[one.id]) for number, one in self._people.items() if one.id in known]
            self._look_up("rated", rated)
            for winner, loser, ranks in (("a", "b", "x'0102'"), ("b", "a", "x'0201'")):
                upset = f"(m.ranks = {ranks} AND rated_{winner}.value <= rated_{loser}.value - {UPSET})"
                self.where.append(upset)
            self.where[-2:] = [f"({' OR '.join(self.where[-2:])})"]
        elif ending:
            self.where.append("m.ending = ?")
            self.values.append(ending)

    def _look_up(self, name: str, values: Sequence[tuple[int, float]]) -> None:
        """A value for the players of the first two seats, whom a row has as packed numbers."""
        listed = ", ".join(f"(x'{pack_players([number]).hex()}', {value!r})" for number, value in values)
        self._with.append(f"{name}(agent, value) AS (VALUES {listed or '(NULL, 0)'})")
        for seat, at in (("a", 1), ("b", 5)):
            joined = f"LEFT JOIN {name} AS {name}_{seat} ON {name}_{seat}.agent = substr(m.players, {at}, 4)"
            self._joins.append(joined)

    def _holds(self, word: str) -> None:
        """Somewhere in what a row shows: names, reference, ending, tournament, day and hour."""
        named = [number for number, one in self._people.items() if word in one.name.casefold()]
        called = [number for number, name in self._names.items() if word in name.casefold()]
        ended = [f"'{kind.value}'" for kind in EndingKind if word in words_of(kind.value)]
        ways = [
            f"m.number IN (SELECT match FROM seats WHERE agent IN ({_listed(named)}))" if named else "",
            f"m.number >> 32 IN ({_listed(called)})" if called else "",
            f"m.ending IN ({', '.join(ended)})" if ended else "",
        ]
        if set(word) <= set("0123456789."):
            ways.append("((m.number >> 32) || '.' || (m.number & 4294967295)) LIKE ?")
            self.values.append(f"%{word}%")
        if set(word) <= set("0123456789-:") and set(word) & set("-:"):
            ways.append("strftime('%Y-%m-%d %H:%M', m.at, 'unixepoch', 'localtime') LIKE ?")
            self.values.append(f"%{word}%")
        self.where.append(f"({' OR '.join(way for way in ways if way) or '0'})")

    def _sort(self, wanted: Wanted) -> None:
        way = "DESC" if wanted.descending else "ASC"
        plain = {"when": "m.at", "ending": "m.ending", "steps": "m.steps", "match": "m.number"}
        if wanted.sort == "players":
            ranked = sorted(self._people.items(), key=lambda one: one[1].name.casefold())
            self._look_up("named", [(number, place) for place, (number, _) in enumerate(ranked)])
            self.order = f"named_a.value {way}, named_b.value {way}, m.number DESC"
        elif wanted.sort == "tournament":
            ranked_names = sorted(self._names.items(), key=lambda one: (one[1].casefold(), one[0]))
            listed = ", ".join(f"({number}, {place})" for place, (number, _) in enumerate(ranked_names))
            self._with.append(f"called(tournament, value) AS (VALUES {listed})")
            self._joins.append("LEFT JOIN called ON called.tournament = m.number >> 32")
            self.order = f"called.value {way}, m.number DESC"
        elif wanted.sort:
            self.order = f"{plain[wanted.sort]} {way}, m.number DESC"
        else:
            self.order = "m.number DESC"

    def tables(self, columns: str) -> str:
        given = f"WITH {', '.join(self._with)} " if self._with else ""
        return f"{given}SELECT {columns} FROM matches AS m {' '.join(self._joins)} WHERE {' AND '.join(self.where)}"


def _listed(numbers: Any) -> str:
    return ", ".join(str(int(number)) for number in numbers)


# What a row says


def reference(number: int) -> str:
    return f"{number // PLACES}.{number % PLACES}"


def scores_of(row: Row) -> tuple[float, ...]:
    return struct.unpack(f"<{len(row[4]) // 8}d", row[4])


def called(number: int, name: str) -> str:
    """A tournament: its number first, as what is cut off is the end."""
    return f"{number}. {name}"


def words_of(ending: str) -> str:
    return ending.replace("_", " ")


def when(at: float) -> str:
    """Short: the hour matters for this year's, the year for others."""
    there = time.localtime(at)
    return time.strftime("%d %b %H:%M" if there.tm_year == time.localtime().tm_year else "%d %b %Y", there).lstrip("0")


# Failures


@dataclass(frozen=True)
class Failed:
    """How somebody failed in the matches of a pool, all its tournaments together."""

    agent: str  # its id, or nothing for nobody's fault
    name: str
    kind: str
    colour: str
    ending: str
    reason: str  # of the latest
    times: int
    number: int  # the latest match

    @property
    def told(self) -> tuple[str, str]:
        """Why, and what its process wrote last."""
        reason, _, wrote = self.reason.partition(LAST_WORDS)
        return reason, wrote


def failures(league: League, pool: GameSpec | None, agent: str = "") -> list[Failed]:
    """By agent and kind of ending, the latest first; resigning is no failure."""
    names, everybody = tournament_names(league, pool), people(league)
    sql = "SELECT f.agent, f.ending, m.reason, f.count, m.number FROM forfeits AS f JOIN matches AS m"
    sql += f" ON m.number = f.tournament * {PLACES} + f.latest WHERE f.tournament IN ({_listed(names)})"
    rows = league.file.read(f"{sql} AND f.ending != ? ORDER BY m.number", EndingKind.RESIGNED.value)
    found: dict[tuple[str, str], Failed] = {}
    for number, ending, reason, count, match in rows:
        one = everybody[number]
        before = found.get((one.id, ending))
        times = count + (before.times if before else 0)
        found[one.id, ending] = Failed(one.id, one.name, one.kind, one.colour, ending, reason, times, match)
    if not agent:
        sql = "SELECT count(*), max(number), reason FROM matches WHERE ending = 'void' AND number BETWEEN ? AND ?"
        for tournament in names:
            [(count, match, reason)] = league.file.read(sql, *tables.span(tournament))
            if count:
                times = count + (found["", "void"].times if ("", "void") in found else 0)
                found["", "void"] = Failed("", NOBODY, "", "", "void", reason, times, match)
    chosen = [one for one in found.values() if agent in ("", one.agent)]
    return sorted(chosen, key=lambda one: -one.number)


# Agents


UNCONFIRMED = "Not confirmed on this machine: it does not run before you have seen its command"


@dataclass(frozen=True)
class Listed:
    """An agent of a game with its rating, as the dock shows it."""

    id: str
    name: str
    game: str
    kind: str
    colour: str
    archived: bool
    rating: float | None = None
    error: float = 0.0
    warning: str = ""  # why its rating says little, or why it does not play


def games(met: int, seats: int) -> int:
    """Matches of somebody, of whom tables count how often it met another: that is each of the others in each match."""
    return round(met / max(seats - 1, 1))


def unsteady(played: int, forfeits: Iterable[tuple[str, int]]) -> str:
    """A warning in words for somebody who has broken off more than half of its matches; resigning is playing. Matches
    that were not played, as it is in quarantine, are not among its games."""
    counts = dict(forfeits)
    broken = sum(counts.values()) - counts.get(EndingKind.RESIGNED.value, 0)
    every = played + counts.get(EndingKind.QUARANTINED.value, 0)
    if broken * 2 <= every:
        return ""
    return f"Forfeited {broken:,} of {every:,} matches: its rating rests on few games"


def listed(league: League, pool: GameSpec | None) -> list[Listed]:
    """Everybody of the pool's game, best first, archived ones at the end; without a pool everybody there is."""
    every = league.agents(pool.name if pool else None, archived=True)
    rated: dict[str, tuple[float | None, float, str]] = {}
    if pool is not None:
        table = tables.standings(league, pool)
        for row in table.rows:
            played = row.total.played
            warning = unsteady(games(played, table.seats), row.forfeits.items())
            rated[row.agent] = row.rating if played else None, row.error, warning
    for one in unconfirmed(league, every):
        rating, error, _ = rated.get(one.id, (None, 0.0, ""))
        rated[one.id] = rating, error, UNCONFIRMED
    found = [
        Listed(one.id, one.name, one.game, one.kind, one.colour, one.archived is not None, *rated.get(one.id, (None,)))
        for one in every
    ]
    return sorted(found, key=lambda one: (one.archived, one.rating is None, -(one.rating or 0.0), one.name.casefold()))


@dataclass(frozen=True)
class Mean:
    """One statistic of a game, for an agent and for those it met."""

    name: str
    own: float
    others: float


@dataclass(frozen=True)
class Statistics:
    matches: int = 0
    means: tuple[Mean, ...] = field(default=())


def statistics(league: League, pool: GameSpec, agent: str, names: Sequence[str], last: int = 200) -> Statistics:
    """Means over the last matches that were played to an end or have at least begun."""
    number, played = league.number(agent), tournament_names(league, pool)
    if not played or not names:
        return Statistics()
    sql = "SELECT players, numbers FROM matches WHERE number IN (SELECT match FROM seats WHERE agent = ?"
    sql += f" AND match >> 32 IN ({_listed(played)}) ORDER BY match DESC LIMIT {int(last)})"
    own, others, count = [0.0] * len(names), [0.0] * len(names), 0
    seats = rivals = 0
    for players, numbers in league.file.read(sql, number):
        seated = unpack_players(players)
        figures = struct.unpack(f"<{len(numbers) // 8}d", numbers)
        n, each = len(seated), len(figures) // len(seated) - 1
        if each != len(names):
            continue  # it was never played, or under other rules
        count += 1
        for seat, one in enumerate(seated):
            sums = own if one == number else others
            seats, rivals = seats + (one == number), rivals + (one != number)
            for place in range(each):
                sums[place] += figures[n + seat * each + place]
    if not count:
        return Statistics()
    shared = zip(names, own, others, strict=True)
    return Statistics(count, tuple(Mean(name, a / seats, b / max(rivals, 1)) for name, a, b in shared))
