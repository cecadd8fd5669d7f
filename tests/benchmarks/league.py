"""The league: the cost of recording, and the speed of a file with a million matches."""

from __future__ import annotations

import dataclasses
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from engine.league import failure_report, played_matches, standings
from engine.league.ratings import rate
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.result_columns import PlayedEntries, PlayedEntry
from engine.league.storage.tournaments import TournamentStore
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchResult, run_digest
from engine.registry import KINDS, new_game
from league_app.core.validation import make_settings
from tests.benchmarks.measure import Figure, in_turns, ratio

GAME = new_game("pong")


def figures(quick: bool) -> Iterator[Figure]:
    yield from recording(quick)
    yield from a_million(quick)
    yield from rating(quick)


def new_league(folder: str, name: str) -> League:
    league = League.new(Path(folder) / f"{name}.league")
    for agent in KINDS.get("pong-bot").samples(GAME):
        league.add_agent(agent.id, GAME.spec.name, agent)
    return league


def new_book(league: League, rounds: int, seed: int) -> TournamentStore:
    settings = make_settings(GAME.spec, "round-robin", {"rounds": rounds}, seed=seed)
    return TournamentStore(
        league, league.add_tournament("bench", settings, [agent.id for agent in league.agents()]).number
    )


def recording(quick: bool) -> Iterator[Figure]:
    """The same tournament of scripted bots, alternately with and without recording its results."""
    from engine.league.tournament_runner import TournamentRun

    rounds, turns = (10, 2) if quick else (200, 7)
    stages = {workers: ConcurrentMatchExecutor(workers) for workers in ((1,) if quick else (1, 2))}
    digests: set[str] = set()
    spent: dict[ConcurrentMatchExecutor, list[float]] = {
        stage: [] for stage in stages.values()
    }  # processor time in seconds
    with tempfile.TemporaryDirectory() as folder:
        leagues = iter(range(10_000))

        def played(executor: ConcurrentMatchExecutor) -> None:
            with new_league(folder, f"played{next(leagues)}") as league:
                specs = [planned.spec for planned in new_book(league, rounds, 1).missing()]
                digests.add(run_digest(executor.run(specs)))

        def recorded(stage: ConcurrentMatchExecutor) -> None:
            with new_league(folder, f"recorded{next(leagues)}") as league:
                book = new_book(league, rounds, 1)
                since = time.process_time()
                TournamentRun(league, book.tournament.number, stage).run()
                spent[stage].append(time.process_time() - since)
                digests.add(played_matches.digest(league, book.tournament.number)[0])

        for workers, stage in stages.items():
            recorded(stage)
            jobs: dict[str, Callable[[], object]] = {
                "thrown away": lambda stage=stage: played(stage),
                "recorded": lambda stage=stage: recorded(stage),
            }
            taken = in_turns(jobs, turns)
            matches = rounds * 30
            yield Figure(
                f"{matches:,} matches, {workers} worker{'s' if workers > 1 else ''}: recorded",
                matches / statistics.median(taken["recorded"]),
                "matches/s",
                1 / ratio(taken, "recorded", "thrown away"),
                "of the time without recording",
                "all digests equal" if len(digests) == 1 else "DIGESTS DIFFER",
            )
            yield Figure(
                "the same, processor time of the parent",
                statistics.median(spent[stage][1:]) / matches * 1e6,
                "us/match",
                note="planning, dealing and recording",
            )
        for stage in stages.values():
            stage.close()
        yield from by_itself(folder, quick)


def by_itself(folder: str, quick: bool) -> Iterator[Figure]:
    """Recording alone, on one core, compared with playing alone."""
    with new_league(folder, "by-itself") as league:
        book = new_book(league, 10 if quick else 100, 1)
        planned = {planned.spec.id: planned for planned in book.missing()}
        with SequentialMatchExecutor() as executor:
            specs = [match.spec for match in planned.values()]
            executor.execute_matches(specs)
            since = time.process_time()
            results = executor.execute_matches(specs)
            playing = time.process_time() - since
        entries = [PlayedEntry(planned[result.id].place, planned[result.id].spec, result) for result in results]
        batches = [PlayedEntries.of(entries[first : first + 500]) for first in range(0, len(entries), 500)]
        since = time.process_time()
        for batch in batches:
            book.record_batches(batch)
        taken = time.process_time() - since
        note = f"{sum(len(result.actions) for result in results) / len(results):,.0f} bytes of actions a match"
        yield Figure(
            "recording alone, processor time",
            taken / len(entries) * 1e6,
            "us/match",
            taken / playing,
            "of playing",
            note,
        )


def a_million(quick: bool) -> Iterator[Figure]:
    """Fills a file with real results, repeated, then measures everything that users do with it."""
    rounds = 200 if quick else 33_334
    with tempfile.TemporaryDirectory() as folder:
        with new_league(folder, "many") as league:
            path = league.path
            since = time.perf_counter()
            count = fill(new_book(league, rounds, 1))
            filling = time.perf_counter() - since
        size = path.stat().st_size / 1e6
        yield Figure("matches in the file", count, "matches", None, "", f"{size:,.0f} MB, filled in {filling:.0f} s")
        looks: dict[str, Callable[[League], object]] = {
            "standings": lambda league: standings.standings(league, GAME.spec),
            "standings of the tournament": lambda league: standings.standings(league, GAME.spec, 1),
            "a page of history": lambda league: played_matches.history(league, limit=50),
            "a page of one agent's history": lambda league: played_matches.history(league, agent="Lazy", limit=50),
            "failures of the tournament": lambda league: failure_report.failures(league, 1),
            "one match": lambda league: played_matches.match(league, f"1.{count // 2}"),
        }
        times: dict[str, list[float]] = {"opening": [], **{name: [] for name in looks}}
        for _ in range(3 if quick else 9):
            since = time.perf_counter()
            with League(path) as league:
                times["opening"].append(time.perf_counter() - since)
                for name, look in looks.items():
                    since = time.perf_counter()
                    look(league)
                    times[name].append(time.perf_counter() - since)
        for name, taken in times.items():
            yield Figure(f"{name}, at {count:,} matches", statistics.median(taken) * 1e3, "ms")
        yield from rest(path, count)


def rest(path: Path, count: int) -> Iterator[Figure]:
    """Rare operations that may read the whole file."""
    with League(path) as league:
        since = time.perf_counter()
        TournamentStore(league, 1)
        yield Figure(f"what is missing of {count:,} matches", (time.perf_counter() - since) * 1e3, "ms")
        since = time.perf_counter()
        played_matches.digest(league, 1)
        yield Figure(f"digest of {count:,} matches", (time.perf_counter() - since) * 1e3, "ms")
        since = time.perf_counter()
        league.file.check()
        yield Figure("checking the whole file", (time.perf_counter() - since) * 1e3, "ms")
    command = [sys.executable, "-m", "league_app", "standings", str(path)]
    since = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    yield Figure("`ringside standings`, from start to end", (time.perf_counter() - since) * 1e3, "ms")


def fill(book: TournamentStore) -> int:
    """Records the results of the first round repeatedly, under the names of the other agents."""
    first = [planned for planned, _ in zip(book.missing(), range(30), strict=False)]
    with SequentialMatchExecutor() as executor:
        played = executor.execute_matches([planned.spec for planned in first])
    known: dict[tuple[str, ...], MatchResult] = {result.players: result for result in played}
    batch: list[PlayedEntry] = []
    for planned in book.missing():
        players = tuple(player.id for player in planned.spec.players)
        result = known.get(players) or known[players[::-1]]
        batch.append(
            PlayedEntry(planned.place, planned.spec, dataclasses.replace(result, id=planned.spec.id, players=players))
        )
        if len(batch) == 5000:
            book.record(batch)
            batch = []
    book.record(batch)
    book.settle(RunState.FINISHED)
    return book.played


def rating(quick: bool) -> Iterator[Figure]:
    agents, games = (50, 10_000) if quick else (200, 100_000)
    draws = np.random.default_rng(1)
    strength = draws.normal(0, 1, agents)
    points, counts = np.zeros((agents, agents)), np.zeros((agents, agents))
    for a, b in draws.integers(0, agents, (games, 2)):
        if a != b:
            won = draws.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
            points[a, b] += won
            points[b, a] += not won
            counts[a, b] += 1
            counts[b, a] += 1
    names = [str(agent) for agent in range(agents)]
    times = in_turns({"rate": lambda: rate(names, points, counts)}, 3)["rate"]
    yield Figure(f"rating {agents} agents from {games:,} matches", statistics.median(times) * 1e3, "ms")
