"""Highlights of a league: upsets, close matches, the latest results, and the summary of a run.

Fast for a hundred thousand matches: tallies select the pairs, and only then single matches are read, without their
actions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.league import failure_report, played_matches, standings
from engine.league.records import RunState, Tournament
from engine.league.storage.league import League
from engine.league.storage.match_rows import unpack_players
from engine.league.storage.schema import PLACES
from engine.play.match import FAILURES, EndingKind, GameSpec
from engine.registry import usual_game
from league_app.core.formatting import duration, plural

UPSET = 0.36  # a win with a smaller predicted chance is an upset; 100 Elo lower
CANDIDATES = 4000  # matches of the best agents that are compared
LONG = 60.0  # seconds of playback; longer matches are not rated as more exciting
REPORTED = {*FAILURES, EndingKind.ILLEGAL_ACTION, EndingKind.VOID}  # as failures in a summary
FAIR = (EndingKind.FINISHED.value, EndingKind.STEP_LIMIT.value, EndingKind.RESIGNED.value)


@dataclass(frozen=True)
class Upset:
    """A win against an opponent with a much higher rating."""

    winner: str  # ids of agents
    loser: str
    winner_name: str
    loser_name: str
    winner_rating: float
    loser_rating: float
    chance: float  # of the winner, by the ratings
    match: str  # reference of the latest such match
    times: int  # how often it happened

    @property
    def text(self) -> str:
        return f"Upset: {self.winner_name} beat {self.loser_name}"


@dataclass(frozen=True)
class Result:
    """A match without actions and statistics."""

    match: str  # its reference
    at: float  # seconds since 1970
    players: tuple[str, ...]  # ids by seat
    names: tuple[str, ...]
    scores: tuple[float, ...]
    ranks: tuple[int, ...]
    ending: str
    failed: bool
    steps: int

    @property
    def winner(self) -> int | None:
        """The seat that won alone."""
        best = [seat for seat, rank in enumerate(self.ranks) if rank == 1]
        return best[0] if len(best) == 1 else None


@dataclass(frozen=True)
class RankedAgent:
    """A row of a short table."""

    agent: str
    name: str
    rating: float
    error: float
    points: float
    played: int


@dataclass(frozen=True)
class Summary:
    """The summary of a run, or of a tournament so far."""

    tournament: int
    name: str
    game: GameSpec
    state: RunState
    played: int  # of the whole tournament
    total: int
    matches: int  # of this run
    seconds: float  # of this run
    watched: int  # matches of this run that were shown
    batch_seconds: float  # for the other matches
    top: tuple[RankedAgent, ...]
    upsets: tuple[Upset, ...]
    failures: int
    failing: tuple[str, ...]  # names, or NO_AGENT for void matches
    overload: str
    identical: int
    note: str

    @property
    def rate(self) -> float:
        """Matches per second, without the watched ones."""
        batch = self.matches - self.watched
        return batch / self.batch_seconds if batch and self.batch_seconds > 0 else 0.0

    @property
    def sentence(self) -> str:
        batch = self.matches - self.watched
        if self.watched and batch:
            return f"{self.watched:,} watched, {batch:,} in {duration(self.batch_seconds)}"
        return f"{plural(self.matches, 'match')}{' watched' if self.watched else ''} in {duration(self.seconds)}"


# Upsets


def upsets(
    league: League,
    tournament: int | None,
    game: GameSpec,
    limit: int = 3,
    table: standings.Standings | None = None,
) -> list[Upset]:
    """The most surprising first, each pair once; of one tournament or of the whole pool.

    `table` is that of the pool, if the caller has it: ratings are most accurate from all matches.
    """
    pool = league.pool(game)
    if pool is None or limit < 1:
        return []
    table = table or standings.standings(league, game)
    ratings, ids = {row.agent: row for row in table.rows if row.total.played}, league.ids()
    found: list[tuple[float, int, int, int]] = []  # chance, winner and loser by number, times
    sql = "SELECT first, second, wins, losses FROM tallies WHERE pool = ? AND tournament = ?"
    for first, second, wins, losses in league.file.read(sql, pool, tournament or 0):
        for winner, loser, times in ((first, second, wins), (second, first, losses)):
            a, b = ratings.get(ids[winner]), ratings.get(ids[loser])
            if times and a is not None and b is not None and (chance := table.chance(a, b)) < UPSET:
                found.append((chance, winner, loser, times))
    chosen: list[Upset] = []
    for chance, winner, loser, times in sorted(found):
        reference = _latest_win(league, pool, tournament, winner, loser)
        if reference is not None:
            up, down = ratings[ids[winner]], ratings[ids[loser]]
            names = up.agent, down.agent, up.name, down.name
            chosen.append(Upset(*names, up.rating, down.rating, chance, reference, times))
        if len(chosen) == limit:
            break
    return chosen


def _latest_win(league: League, pool: int, tournament: int | None, winner: int, loser: int) -> str | None:
    """The latest replayable match that `winner` won against `loser`, without a failure of either."""
    low, high = played_matches.span(tournament) if tournament else (0, 2**63 - 1)
    sql = f"""SELECT m.number, m.players, m.ranks FROM seats a JOIN seats b ON b.match = a.match AND b.agent = ?
        JOIN matches m ON m.number = a.match JOIN tournaments t ON t.number = m.number >> 32
        WHERE a.agent = ? AND a.match BETWEEN ? AND ? AND t.pool = ? AND m.steps > 0
        AND (m.blamed = 0 OR m.ending = 'resigned') AND m.ending IN ({",".join("?" * len(FAIR))})
        AND EXISTS (SELECT 1 FROM actions WHERE match = m.number)
        ORDER BY a.match DESC"""
    for number, players, ranks in league.file.stream(sql, loser, winner, low, high, pool, *FAIR):
        seats = unpack_players(players)
        if ranks[seats.index(winner)] < ranks[seats.index(loser)]:
            return _reference(number)
    return None


# The best match


def best_match(league: League, game: GameSpec) -> str | None:
    """The most exciting replayable match between highly rated agents: close, long, and played to the end."""
    pool = league.pool(game)
    if pool is None:
        return None
    table, pace = standings.standings(league, game), _pace(game)
    rows = [row for row in table.rows if row.total.played]
    if not rows:
        return None
    best = {row.agent: row.rating for row in rows[: max(3, table.seats, len(rows) // 3)]}
    numbers = league.numbers()
    sql = """SELECT m.number, m.players, m.ranks, m.numbers, m.steps FROM seats s JOIN matches m ON m.number = s.match
        JOIN tournaments t ON t.number = m.number >> 32 WHERE s.agent = ? AND t.pool = ? AND m.ending = 'finished'
        AND m.blamed = 0 AND m.steps > 0 AND EXISTS (SELECT 1 FROM actions WHERE match = m.number)
        ORDER BY s.match DESC LIMIT ?"""
    known = {numbers[agent]: rating for agent, rating in best.items()}
    found: dict[int, float] = {}
    for agent in known:
        for number, players, ranks, figures, steps in league.file.read(sql, agent, pool, CANDIDATES // len(known)):
            seats = unpack_players(players)
            if number not in found and len(set(seats)) > 1 and all(seat in known for seat in seats):
                scores = struct.unpack_from(f"<{len(seats)}d", figures)
                strength = min(known[seat] for seat in seats) - min(known.values())
                found[number] = _excitement(scores, ranks, steps, pace) + strength / 1000.0
    return _reference(max(found, key=lambda number: (found[number], number))) if found else None


def _excitement(scores: Sequence[float], ranks: Iterable[int], steps: int, pace: float) -> float:
    """Higher for close and for long matches, up to a minute; lower for draws."""
    order = sorted(scores, reverse=True)
    largest = max(abs(score) for score in order)
    close = 1.0 - min((order[0] - order[1]) / (largest + 1e-9), 1.0) if largest else 0.0
    long = min(steps / max(pace, 1e-9) / LONG, 1.0)
    return close + long - (0.5 if sorted(ranks).count(1) > 1 else 0.0)


def _pace(game: GameSpec) -> float:
    default = usual_game(game.name)  # never constructed with options from a file just to be shown
    return default.info.pace if default is not None else 1.0


# Latest results


def recent(league: League, game: GameSpec, limit: int = 10) -> list[Result]:
    """The latest results, newest first: of the latest tournament, then of the one before."""
    names, ids, found = league.names(), league.ids(), list[Result]()
    sql = "SELECT number FROM tournaments WHERE pool = ? AND played > 0 ORDER BY number DESC LIMIT ?"
    for (tournament,) in league.file.read(sql, league.pool(game), limit):
        columns = "number, at, players, ranks, numbers, ending, blamed, steps"
        page = f"SELECT {columns} FROM matches WHERE number BETWEEN ? AND ? ORDER BY number DESC LIMIT ?"
        for number, at, players, ranks, figures, ending, blamed, steps in league.file.read(
            page, *played_matches.span(tournament), limit - len(found)
        ):
            seated = tuple(ids[number] for number in unpack_players(players))
            scores = struct.unpack_from(f"<{len(seated)}d", figures)
            failed = bool(blamed) and ending != EndingKind.RESIGNED.value
            labels = tuple(names[agent] for agent in seated)
            found.append(Result(_reference(number), at, seated, labels, scores, tuple(ranks), ending, failed, steps))
        if len(found) >= limit:
            break
    return found


# Summary


class RunFacts(NamedTuple):
    """What is known of a run besides what the league records. Durations are measured: times in the file are those of a
    clock that may jump."""

    before: int  # matches that were played before it
    seconds: float
    shown: int  # matches
    shown_seconds: float


def summary(league: League, tournament: int, run: RunFacts | None = None) -> Summary:
    """The summary of a run or, by the times in the file, of the whole tournament."""
    settled = league.tournament(tournament)
    game = settled.settings.game
    table = standings.standings(league, game, tournament)
    failures = [
        (failure.agent, failure.times)
        for failure in failure_report.failures(league, tournament)
        if EndingKind(failure.ending) in REPORTED
    ]
    run = run or _recorded_facts(league, settled)
    top = [
        RankedAgent(row.agent, row.name, row.rating, row.error, row.total.points, row.total.played)
        for row in table.rows[:3]
        if row.total.played
    ]
    return Summary(
        tournament,
        settled.name,
        game,
        settled.state,
        settled.played,
        max(settled.total or 0, settled.played),
        settled.played - run.before,
        run.seconds,
        run.shown,
        max(run.seconds - run.shown_seconds, 0.0),
        tuple(top),
        tuple(upsets(league, tournament, game)),
        sum(times for _, times in failures),
        tuple(dict.fromkeys(agent for agent, _ in failures)),
        failure_report.overload(league, settled) or "",
        played_matches.identical_games(league, tournament),
        settled.note,
    )


def _recorded_facts(league: League, tournament: Tournament) -> RunFacts:
    """From the start of the tournament to its last match. Live matches have worker numbers below -1."""
    where = "FROM matches WHERE number BETWEEN ? AND ?"
    places = played_matches.span(tournament.number)
    [(last, shown)] = league.file.read(f"SELECT max(at), coalesce(sum(worker < -1), 0) {where}", *places)
    seconds = max((last or 0.0) - tournament.created, 0.0)
    if not shown:
        return RunFacts(0, seconds, 0, 0.0)
    batches, before = 0.0, None
    for at, live in league.file.stream(f"SELECT at, worker < -1 {where} ORDER BY at", *places):
        batches += 0.0 if live or before is None else at - before
        before = at
    return RunFacts(0, seconds, shown, max(seconds - batches, 0.0))


def _reference(number: int) -> str:
    return f"{number // PLACES}.{number % PLACES}"
