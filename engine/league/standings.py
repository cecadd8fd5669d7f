"""The rating table of a pool or a tournament, and ratings over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.clock import now
from engine.errors import BadValue
from engine.game import Floats
from engine.league.multiplayer_ratings import pool_skills
from engine.league.played_matches import span
from engine.league.ratings import START, UNKNOWN, Ratings, ahead, rate, running_elo, superior, tier
from engine.league.records import Snapshot, Tournament
from engine.league.statistics import Z, expected
from engine.league.storage.league import League
from engine.league.storage.match_rows import unpack_players
from engine.play.match import EndingKind, GameSpec
from engine.registry import usual_game

FARTHEST = 4000.0  # larger differences in Elo are treated as this one
NAMED = 3  # the most agents that a note names


@dataclass
class Tally:
    """Game counts of one agent, against another or in total."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    scored: float = 0.0  # points as the game counts them
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
        """Points per game, from 0 to 1."""
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
    """One agent's row."""

    agent: str  # its id
    name: str
    total: Tally = field(default_factory=Tally)
    against: dict[str, Tally] = field(default_factory=dict)  # by opponent's id
    rating: float = START
    error: float = 0.0  # half of the 95 % interval
    forfeits: dict[str, int] = field(default_factory=dict)  # by kind of ending


@dataclass(frozen=True)
class Standings:
    """A rating table, best first, and how to read it."""

    game: GameSpec
    rows: tuple[Row, ...]
    model: str  # a description
    notes: tuple[str, ...]  # caveats
    superiority: Floats  # [i, j]: likelihood that row i is stronger than row j; only rows with games
    matches: int
    seats: int = 2  # beyond two, ratings are Plackett-Luce skills, not Elo

    def chance(self, first: Row, second: Row) -> float:
        """The probability that the first finishes before the second, by their ratings."""
        if self.seats > 2:
            return ahead((first.rating, first.error / Z), (second.rating, second.error / Z))
        return expected(min(max(first.rating - second.rating, -FARTHEST), FARTHEST))


def standings(
    league: League, game: GameSpec, tournament: int = 0, anchor: str | None = None, level: float = START
) -> Standings:
    """The table of a pool, or of one of its tournaments; the mean rating, or that of the anchor, is set to `level`."""
    pool = league.pool(game)
    rows = _rows(league, pool, game, tournament)
    for row in rows.values():
        for tally in row.against.values():
            row.total.add(tally)
    if anchor is not None:
        anchor = league.agent(anchor, game.name).id
        if anchor not in rows or not rows[anchor].total.played:
            raise BadValue("anchor", anchor, "an agent that has played in this table")
    seats = _seats(league, game, pool)
    if anchor is not None and seats > 2:
        raise BadValue("anchor", anchor, "omitted: with more than two seats ratings have no anchor")
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
    """The number of seats, from a recorded match: the game may no longer be installed, and is never constructed with
    options from a file just to show a table.

    Without matches it is the option `seats`, or else that of the game with its default options.
    """
    sql = "SELECT length(players) / 4 FROM matches WHERE number BETWEEN ? AND ? LIMIT 1"
    for (number,) in league.file.read("SELECT number FROM tournaments WHERE pool = ? AND played > 0", pool):
        if found := league.file.read(sql, *span(number)):
            return int(found[0][0])
    given = dict(game.options).get("seats")
    if type(given) is int:
        return given
    default = usual_game(game.name)
    return default.info.seats if default is not None else 2


def _rows(league: League, pool: int | None, game: GameSpec, tournament: int) -> dict[str, Row]:
    names, ids = league.names(), league.ids()
    if tournament:
        entered: Sequence[str] = league.tournament(tournament).all_entrants
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
    """The same games from the opponent's view."""
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
            f"{rated.groups} groups have never met: only a virtual draw with the mean makes their ratings comparable"
        ]
    if not rated.prior:
        return []
    extreme = min(rated.losers, rated.winners, key=len)
    text = "some have only lost to, or only won against, all of the others"
    if len(extreme) <= NAMED:
        *first, last = (names[agent] for agent in extreme)
        several = f"{', '.join(first)} and {last} have" if first else f"{last} has"
        text = f"{several} {'lost' if extreme == rated.losers else 'won'} every game against the others"
    return [f"{text}: a virtual draw with the mean bounds the ratings"]


def _by_skill(
    league: League, game: GameSpec, pool: int | None, tournament: int, rows: dict[str, Row], matches: int, seats: int
) -> Standings:
    ids = league.ids()
    for row in rows.values():  # tallies already include matches that wait for an earlier one
        row.rating, row.error = UNKNOWN[0], Z * UNKNOWN[1]
    if tournament or pool is None:
        sql = "SELECT agent, mean, deviation FROM skills WHERE pool = ? AND tournament = ?"
        found = {agent: (mean, deviation) for agent, mean, deviation in league.file.read(sql, pool, tournament)}
    else:
        found = pool_skills(league, pool)
    for agent, (mean, deviation) in found.items():
        if ids[agent] in rows:
            rows[ids[agent]].rating, rows[ids[agent]].error = mean, Z * deviation
    model = "Plackett-Luce (openskill), in schedule order: mean +- 1.96 deviations; w-d-l counts every pair of seats"
    best = _ordered(rows)
    played = [row for row in best if row.total.played]
    means, errors = (np.array([getattr(row, name) for row in played]) for name in ("rating", "error"))
    return Standings(game, best, model, (), superior(means, errors / Z), matches, seats)


def _ordered(rows: dict[str, Row]) -> tuple[Row, ...]:
    """Best first; equal ratings by points, then by name; agents without games last."""

    def key(row: Row) -> tuple[bool, float, float, str]:
        return (not row.total.played, -row.rating, row.total.conceded - row.total.scored, row.name)

    return tuple(sorted(rows.values(), key=key))


# Ratings over time


def snapshot(league: League, tournament: Tournament) -> None:
    """Saves the current ratings of the pool."""
    table = standings(league, tournament.settings.game)
    pool, at = league.pool(tournament.settings.game), now()
    rows = [
        (pool, tournament.number, at, league.number(row.agent), row.rating, row.error)
        for row in table.rows
        if row.total.played
    ]
    with league.file.transaction() as db:
        db.executemany("INSERT OR REPLACE INTO ratings VALUES (?,?,?,?,?,?)", rows)


def rating_history(league: League, game: GameSpec) -> list[Snapshot]:
    """Oldest first: one for each time a tournament of the pool ended."""
    ids, found = league.ids(), dict[tuple[int, int, float], list[tuple[str, float, float]]]()
    sql = "SELECT pool, tournament, at, agent, rating, error FROM ratings WHERE pool = ? ORDER BY at, agent"
    for pool, number, at, agent, rating, error in league.file.read(sql, league.pool(game)):
        found.setdefault((pool, number, at), []).append((ids[agent], rating, error))
    return [Snapshot(*key, tuple(ratings)) for key, ratings in found.items()]


def elo_lines(league: League, tournament: int) -> dict[str, list[float]]:
    """Running Elo of all agents, game by game in schedule order, for the live chart of games of two seats."""
    ids = league.ids()

    def games() -> Iterator[tuple[str, str, float]]:
        for players, ranks in _ranked(league, tournament):
            if len(ranks) == 2:
                score = 0.5 if ranks[0] == ranks[1] else float(ranks[0] < ranks[1])
                yield ids[players[0]], ids[players[1]], score

    return running_elo(games())


def running(league: League, tournament: int) -> dict[str, tuple[float, str]]:
    """By name: the latest running Elo and its tier."""
    names = league.names()
    return {names[id]: (line[-1], tier(line[-1])) for id, line in elo_lines(league, tournament).items()}


def _ranked(league: League, tournament: int) -> Iterator[tuple[tuple[int, ...], bytes]]:
    unrated = [kind.value for kind in EndingKind if not kind.rated]
    marks = ",".join("?" * len(unrated))
    sql = f"SELECT players, ranks FROM matches WHERE number BETWEEN ? AND ? AND ending NOT IN ({marks})"
    for players, ranks in league.file.stream(sql, *span(tournament), *unrated):
        yield unpack_players(players), ranks
