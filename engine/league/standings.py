"""What the matches of a league amount to: standings, ratings over time, pages of history, what is worth knowing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.errors import BadLeague, BadValue
from engine.game import Floats
from engine.league.ratings import START, UNKNOWN, Ratings, ahead, rate, running_elo, superior, tier
from engine.league.records import PlayedMatch, Snapshot, Tournament
from engine.league.storage.match_rows import COLUMNS, unpack_match, unpack_players
from engine.league.storage.schema import PLACES
from engine.league.multiplayer_ratings import pool_skills
from engine.league.statistics import Z, expected
from engine.league.storage.league import League
from engine.play.match import AgentSpec, EndingKind, GameSpec, joint_digest
from engine.registry import usual_game

FARTHEST = 4000.0  # Elo apart that is told from farther
NAMED = 3  # agents that a note tells one by one


@dataclass
class Tally:
    """Games of one agent, against another or altogether."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    scored: float = 0.0  # the game's own points
    conceded: float = 0.0
    pairs: tuple[int, ...] = (0, 0, 0, 0, 0)  # LL, LD, DD or WL, WD, WW: encounters with sides swapped

    @property
    def played(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def score(self) -> float:
        """Share of what could be won."""
        return self.points / max(self.played, 1)

    def add(self, other: Tally) -> None:
        self.wins, self.draws, self.losses = (
            self.wins + other.wins,
            self.draws + other.draws,
            self.losses + other.losses,
        )
        self.scored, self.conceded = self.scored + other.scored, self.conceded + other.conceded
        self.pairs = tuple(a + b for a, b in zip(self.pairs, other.pairs, strict=True))


@dataclass
class Row:
    """One agent's line."""

    agent: str  # its id
    name: str
    total: Tally = field(default_factory=Tally)
    against: dict[str, Tally] = field(default_factory=dict)  # by opponent's id
    rating: float = START
    error: float = 0.0  # half of the 95 % interval
    forfeits: dict[str, int] = field(default_factory=dict)  # by kind of ending


@dataclass(frozen=True)
class Standings:
    """A table, best first, and how to read it."""

    game: GameSpec
    rows: tuple[Row, ...]
    model: str  # in words
    notes: tuple[str, ...]  # what to keep in mind
    superiority: Floats  # [i, j]: likelihood that row i is stronger than row j, of those who have played
    matches: int
    seats: int = 2  # beyond two, ratings are skills: they have no zero, and are not Elo

    def chance(self, first: Row, second: Row) -> float:
        """That the first comes out before the second, by their ratings."""
        if self.seats > 2:
            return ahead((first.rating, first.error / Z), (second.rating, second.error / Z))
        return expected(min(max(first.rating - second.rating, -FARTHEST), FARTHEST))


def standings(
    league: League, game: GameSpec, tournament: int = 0, anchor: str | None = None, level: float = START
) -> Standings:
    """Of a pool, or of one of its tournaments alone; the mean of the table, or the anchor, is put at `level`."""
    pool = league.pool(game)
    rows = _rows(league, pool, game, tournament)
    for row in rows.values():
        for tally in row.against.values():
            row.total.add(tally)
    if anchor is not None:
        anchor = league.agent(anchor, game.name).id
        if anchor not in rows or not rows[anchor].total.played:
            raise BadValue("anchor", anchor, "somebody who has played in this table")
    seats = _seats(league, game, pool)
    if anchor is not None and seats > 2:
        raise BadValue("anchor", anchor, "for games of two seats: skills of more have no zero")
    [(matches,)] = league.file.read(
        "SELECT coalesce(sum(played), 0) FROM tournaments WHERE pool = ? AND (? = 0 OR number = ?)",
        pool,
        tournament,
        tournament,
    )
    if seats > 2:
        return _by_skill(league, game, pool, tournament, rows, matches, seats)
    return _by_elo(game, rows, anchor, level, matches)


def _seats(league: League, game: GameSpec, pool: int | None) -> int:
    """As the matches tell: tables outlive the rules, and what a file asks for is not made to be looked at.

    Before there are any, an option of that name tells, or else the game with its usual options.
    """
    sql = "SELECT length(players) / 4 FROM matches WHERE number BETWEEN ? AND ? LIMIT 1"
    for (number,) in league.file.read("SELECT number FROM tournaments WHERE pool = ? AND played > 0", pool):
        if found := league.file.read(sql, *span(number)):
            return int(found[0][0])
    given = dict(game.options).get("seats")
    if type(given) is int:
        return given
    usual = usual_game(game.name)
    return usual.info.seats if usual is not None else 2


def _rows(league: League, pool: int | None, game: GameSpec, tournament: int) -> dict[str, Row]:
    names, ids = league.names(), league.ids()
    if tournament:
        entered: Sequence[str] = league.tournament(tournament).everybody
    else:
        entered = [agent.id for agent in league.agents(game.name)]
    rows = {id: Row(id, names[id]) for id in entered}
    sql = "SELECT * FROM tallies WHERE pool = ? AND tournament = ?"
    for _, _, first, second, wins, draws, losses, scored, conceded, *pairs in league.file.read(sql, pool, tournament):
        a, b = ids[first], ids[second]
        for own, other in ((a, b), (b, a)):
            row = rows.setdefault(own, Row(own, names[own]))
            tally = Tally(wins, draws, losses, scored, conceded, tuple(pairs))
            row.against[other] = tally if own == a else reverse(tally)
    sql = "SELECT f.agent, f.ending, sum(f.count) FROM forfeits f JOIN tournaments t ON t.number = f.tournament"
    sql += " WHERE t.pool = ? AND (? = 0 OR t.number = ?) GROUP BY f.agent, f.ending"
    for agent, ending, count in league.file.read(sql, pool, tournament, tournament):
        if ids[agent] in rows:
            rows[ids[agent]].forfeits[ending] = count
    return rows


def reverse(tally: Tally) -> Tally:
    """The same games, seen by the other one."""
    return Tally(tally.losses, tally.draws, tally.wins, tally.conceded, tally.scored, tally.pairs[::-1])


def _by_elo(game: GameSpec, rows: dict[str, Row], anchor: str | None, level: float, matches: int) -> Standings:
    playing = [row for row in rows.values() if row.total.played]
    notes: list[str] = []
    superiority: Floats = np.zeros((0, 0))
    order = {row.agent: place for place, row in enumerate(playing)}
    if playing:
        rated = rate([row.agent for row in playing], *_matrices(playing), anchor, level)
        for row, rating, error in zip(playing, rated.elo.tolist(), rated.error.tolist(), strict=True):
            row.rating, row.error = rating, error
        notes = _notes(rated, {row.agent: row.name for row in playing})
        superiority = rated.superiority
    best = _ordered(rows)
    chosen = [order[row.agent] for row in best if row.agent in order]
    fixed = f"{rows[anchor].name} at {level:g}" if anchor else f"the mean of the table at {level:g}"
    model = f"Elo by Bradley-Terry (maximum likelihood of all games together), {fixed}, +- 95 % interval"
    return Standings(game, best, model, tuple(notes), superiority[np.ix_(chosen, chosen)], matches)


def _matrices(playing: Sequence[Row]) -> tuple[Floats, Floats]:
    places = {row.agent: place for place, row in enumerate(playing)}
    points, games = np.zeros((len(playing),) * 2), np.zeros((len(playing),) * 2)
    for row in playing:
        for other, tally in row.against.items():
            points[places[row.agent], places[other]] = tally.points
            games[places[row.agent], places[other]] = tally.played
    return points, games


def _notes(rated: Ratings, names: Mapping[str, str]) -> list[str]:
    if rated.groups > 1:
        return [
            f"{rated.groups} groups have never met: their ratings compare only through a virtual draw with the mean"
        ]
    if not rated.prior:
        return []
    who = min(rated.losers, rated.winners, key=len)
    told = "some have only lost to, or only won against, all of the others"
    if len(who) <= NAMED:
        *first, last = (names[one] for one in who)
        several = f"{', '.join(first)} and {last} have" if first else f"{last} has"
        told = f"{several} {'lost' if who == rated.losers else 'won'} every game against the others"
    return [f"{told}: a virtual draw with the mean bounds the ratings"]


def _by_skill(
    league: League, game: GameSpec, pool: int | None, tournament: int, rows: dict[str, Row], matches: int, seats: int
) -> Standings:
    ids = league.ids()
    for row in rows.values():  # a match that waits for an earlier one counts in the tallies already
        row.rating, row.error = UNKNOWN[0], Z * UNKNOWN[1]
    if tournament or pool is None:
        sql = "SELECT agent, mean, deviation FROM skills WHERE pool = ? AND tournament = ?"
        found = {agent: (mean, deviation) for agent, mean, deviation in league.file.read(sql, pool, tournament)}
    else:
        found = pool_skills(league, pool)
    for agent, (mean, deviation) in found.items():
        if ids[agent] in rows:
            rows[ids[agent]].rating, rows[ids[agent]].error = mean, Z * deviation
    model = "Plackett-Luce (openskill), in the order of the plan: mean +- 1.96 deviations; w-d-l counts every two seats"
    best = _ordered(rows)
    played = [row for row in best if row.total.played]
    means, errors = (np.array([getattr(row, name) for row in played]) for name in ("rating", "error"))
    return Standings(game, best, model, (), superior(means, errors / Z), matches, seats)


def _ordered(rows: dict[str, Row]) -> tuple[Row, ...]:
    """Best first; equal ones by points, then by name; who has not played comes last."""

    def key(row: Row) -> tuple[bool, float, float, str]:
        return (not row.total.played, -row.rating, row.total.conceded - row.total.scored, row.name)

    return tuple(sorted(rows.values(), key=key))


# Ratings over time


def snapshot(league: League, tournament: Tournament) -> None:
    """Keep the ratings of a pool as they are now."""
    table = standings(league, tournament.settings.game)
    pool, now = league.pool(tournament.settings.game), time.time()
    rows = [
        (pool, tournament.number, now, league.number(row.agent), row.rating, row.error)
        for row in table.rows
        if row.total.played
    ]
    with league.file.transaction() as db:
        db.executemany("INSERT OR REPLACE INTO ratings VALUES (?,?,?,?,?,?)", rows)


def rating_history(league: League, game: GameSpec) -> list[Snapshot]:
    """Oldest first: one for each time a tournament of the pool came to an end."""
    ids, found = league.ids(), dict[tuple[int, int, float], list[tuple[str, float, float]]]()
    sql = "SELECT pool, tournament, at, agent, rating, error FROM ratings WHERE pool = ? ORDER BY at, agent"
    for pool, number, at, agent, rating, error in league.file.read(sql, league.pool(game)):
        found.setdefault((pool, number, at), []).append((ids[agent], rating, error))
    return [Snapshot(*key, tuple(ratings)) for key, ratings in found.items()]


def elo_lines(league: League, tournament: int) -> dict[str, list[float]]:
    """Running Elo of everybody, game by game in the order of the plan: for the live chart of a game of two seats."""
    ids = league.ids()

    def games() -> Iterator[tuple[str, str, float]]:
        for players, ranks in _ranked(league, tournament):
            if len(ranks) == 2:
                score = 0.5 if ranks[0] == ranks[1] else float(ranks[0] < ranks[1])
                yield ids[players[0]], ids[players[1]], score

    return running_elo(games())


def running(league: League, tournament: int) -> dict[str, tuple[float, str]]:
    """By name: where running Elo has come to, and its tier."""
    names = league.names()
    return {names[id]: (line[-1], tier(line[-1])) for id, line in elo_lines(league, tournament).items()}


def _ranked(league: League, tournament: int) -> Iterator[tuple[tuple[int, ...], bytes]]:
    unrated = [kind.value for kind in EndingKind if not kind.rated]
    marks = ",".join("?" * len(unrated))
    sql = f"SELECT players, ranks FROM matches WHERE number BETWEEN ? AND ? AND ending NOT IN ({marks})"
    for players, ranks in league.file.stream(sql, *span(tournament), *unrated):
        yield unpack_players(players), ranks


# Matches


def span(tournament: int) -> tuple[int, int]:
    return tournament * PLACES, (tournament + 1) * PLACES - 1


def match(league: League, reference: str) -> PlayedMatch:
    """By what a person calls it: tournament.place."""
    tournament, dot, place = reference.partition(".")
    if not (dot and tournament.isdecimal() and place.isdecimal() and len(tournament) <= 9 and len(place) <= 9):
        raise BadValue("match", reference, "two numbers such as 3.17: the tournament, and the place in its plan")
    number = int(tournament) * PLACES + int(place)
    found = _matches(league, f"SELECT {COLUMNS} FROM matches WHERE number = ?", number)
    if not found:
        one = league.tournament(tournament)
        needed = f"one that was played: tournament {one.number} has {one.played:,} of {one.total or one.played:,}"
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
    """A page, newest first, of an agent by id; `before` is the last number of the page before (see `number_of`)."""
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
    """All of them, in the order of the plan."""
    low, high = span(tournament) if tournament is not None else (0, 2**63 - 1)
    sql = f"SELECT {COLUMNS} FROM matches WHERE number BETWEEN ? AND ? ORDER BY number"
    return _unpacked(league, league.file.stream(sql, low, high))


def _unpacked(league: League, rows: Any) -> Iterator[PlayedMatch]:
    specs = _Specs(league)
    settings = {one.number: one.settings for one in league.tournaments()}
    for row in rows:
        if row[0] // PLACES not in settings:
            raise BadLeague(f"{league.path} is damaged: match {row[0]} belongs to no tournament")
        actions = league.file.read("SELECT data FROM actions WHERE match = ?", row[0])
        data = actions[0][0] if actions else b""
        yield unpack_match(row, data, settings[row[0] // PLACES], specs, league.path)


class _Specs(dict[int, AgentSpec]):
    """By number, each read when it is first needed: payloads may be large."""

    def __init__(self, league: League) -> None:
        super().__init__()
        self._league, self._ids = league, league.ids()

    def __missing__(self, number: int) -> AgentSpec:
        self[number] = self._league.spec(self._ids[number])
        return self[number]


def strays(league: League) -> int:
    """Matches and tallies that no tournament or pool accounts for."""
    sql = "SELECT count(*) FROM matches WHERE number >> 32 NOT IN (SELECT number FROM tournaments)"
    lost = int(league.file.read(sql)[0][0])
    sums = "sum(wins), sum(draws), sum(losses)"
    sql = f"SELECT pool, first, second, {sums} FROM tallies WHERE tournament {{}} 0 GROUP BY pool, first, second"
    return lost + len(set(league.file.read(sql.format("="))) ^ set(league.file.read(sql.format("!="))))


# What is worth knowing about a tournament


def digest(league: League, tournament: int) -> tuple[str, int]:
    """The fingerprint of all that was played, and how many matches of it would not come out the same again."""
    sql = "SELECT id, digest, repeatable FROM matches WHERE number BETWEEN ? AND ?"
    rows = league.file.read(sql, *span(tournament))
    return joint_digest((id.hex(), one) for id, one, _ in rows), sum(not repeatable for *_, repeatable in rows)


def identical_games(league: League, tournament: int) -> int:
    """Games that went exactly as an earlier one of the same players on the same seats: they say nothing new."""
    sql = "SELECT count(*) - count(DISTINCT game) FROM matches WHERE number BETWEEN ? AND ? AND game != 0"
    return int(league.file.read(sql, *span(tournament))[0][0])


@dataclass(frozen=True)
class Failure:
    """How somebody forfeited in a tournament, with the latest reason and what its process wrote last."""

    agent: str  # its name, or "nobody's fault"
    ending: str
    reason: str
    times: int
    match: str  # to be reproduced


def failures(league: League, tournament: int) -> list[Failure]:
    """By agent and kind of ending, quarantine after its causes; resigning is no failure."""
    names, ids, order = league.names(), league.ids(), [kind.value for kind in EndingKind]
    sql = "SELECT f.agent, f.ending, m.reason, f.count, f.latest FROM forfeits f"
    sql += " JOIN matches m ON m.number = ? + f.latest WHERE f.tournament = ? AND f.ending != ?"
    base = tournament * PLACES
    rows = league.file.read(sql, base, tournament, EndingKind.RESIGNED.value)
    found = [
        Failure(names[ids[agent]], ending, reason, count, f"{tournament}.{place}")
        for agent, ending, reason, count, place in rows
    ]
    sql = "SELECT count(*), max(number), reason FROM matches WHERE number BETWEEN ? AND ? AND ending = 'void'"
    [(count, number, reason)] = league.file.read(sql, *span(tournament))  # a literal, or its index is not used
    if count:
        found.append(Failure("nobody's fault", "void", reason, count, f"{tournament}.{number - base}"))
    return sorted(found, key=lambda one: (one.agent, order.index(one.ending)))


def overload(league: League, tournament: Tournament) -> str | None:
    """Time losses that point at the machine rather than at a player."""
    sql = "SELECT agent, count FROM forfeits WHERE tournament = ? AND ending = ?"
    late = league.file.read(sql, tournament.number, EndingKind.TIMEOUT.value)
    losses = sum(count for _, count in late)
    if losses < 3 or len(late) < 2 or len(late) * 2 < len(tournament.everybody):
        return None
    return (
        f"{losses:,} losses on time by {len(late)} different agents: the machine may be overloaded. "
        "Use fewer workers, close other programs, or give more time"
    )
