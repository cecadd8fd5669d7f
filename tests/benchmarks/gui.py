"""The window: start-up time, cost while idle, responsiveness under load, and the cost of pages and live matches."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any

from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.result_columns import PlayedEntry
from engine.league.storage.tournaments import TournamentStore
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.registry import KINDS, new_game
from league_app.core.validation import make_settings
from tests.benchmarks import gui_idle
from tests.benchmarks.measure import Figure, ratio

GAME = new_game("pong")
CORES = os.cpu_count() or 1
WATCHED = "watching:1280x720"
SIGHTS = {
    "standings": "standings",
    "crosstable": "crosstable",
    "history": "history",
    "sorted": "history sorted by steps",
    "words": "history filtered by words",
    "agent": "history of one agent",
    "upsets": "history, upsets only",
}


def figures(quick: bool) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        small, large = home / "small.league", home / "large.league"
        since = time.perf_counter()
        count = fill(large, *((20, 2000) if quick else (200, 100_000)))
        note = f"{large.stat().st_size / 1e6:,.0f} MB, filled in {time.perf_counter() - since:.0f} s"
        fill(small, 6, 60)
        yield from opening(home, small, quick)
        if quick:  # all measurements in one window
            found = child(home, "inside", large, 0.4, 1, "sights", "lateness", WATCHED, "idle")
            reports, sizes, at_rest = [found["sights"]], {}, [found["idle"]]
        else:
            at_rest = [child(home, "inside", small, 5, 3, "idle")["idle"] for _ in range(3)]
            found = child(home, "inside", small, 5, 4, "lateness", WATCHED)
            sizes = {
                "1920x1080": child(home, "inside", small, 5, 2, "watching:1920x1080"),
                "1280x720 at pixel ratio 2": child(home, "inside", small, 5, 2, WATCHED, QT_SCALE_FACTOR="2"),
            }
            reports = [child(home, "inside", large, 5, 1, "sights")["sights"] for _ in range(3)]
        yield from gui_idle.figures(at_rest)
        yield from lateness(found["lateness"])
        yield from watching(found[WATCHED], sizes)
        yield Figure("matches in a large league", count, "matches", None, "", note)
        yield from sights(reports)


# Children


def surroundings(home: Path, **more: str) -> dict[str, str]:
    """Environment of a child: separate settings; without a display, Qt renders offscreen."""
    known = {**os.environ, "RINGSIDE_HOME": str(home / "home"), **more}
    if not any(known.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        known["QT_QPA_PLATFORM"] = "offscreen"
    return known


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "tests.benchmarks.gui_child", *map(str, arguments)]


def child(home: Path, *arguments: object, first: Callable[[], object] = lambda: None, **more: str) -> Any:
    """Runs a child and returns its findings; `first` is called at the first line that it prints."""
    env = surroundings(home, **more)
    with subprocess.Popen(command(*arguments), stdout=PIPE, stderr=PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        first()
        rest, errors = process.communicate()
    if process.returncode or not first_line:
        raise AssertionError(f"{arguments[0]} ended with {process.returncode}: {errors}")
    return json.loads((first_line + rest).splitlines()[-1])


# Start-up


def opening(home: Path, league: Path, quick: bool) -> Iterator[Figure]:
    """Time from the start of the process until the first page is painted, with warm caches."""
    reports: list[dict[str, Any]] = []

    def until_painted(*arguments: object) -> float:
        taken: list[float] = []
        since = time.perf_counter()
        report = child(home, *arguments, first=lambda: taken.append(time.perf_counter() - since))
        if report.get("loaded") or report.get("torch"):
            raise AssertionError(f"loaded to open a window: {', '.join(report['loaded']) or 'torch'}")
        reports.append({**report, "taken": taken[0]})
        return taken[0]

    ours_too = ("opened", league) if quick else ("opened", league, "whole")
    if not quick:
        until_painted(*ours_too)  # warms the caches
        reports.clear()
    jobs = {"ours": lambda: until_painted(*ours_too), "bare": lambda: until_painted("bare")}
    taken = {name: list[float]() for name in jobs}
    for _ in range(1 if quick else 7):
        for name, job in jobs.items():
            taken[name].append(job())
    ours = [report for report in reports if "painted" in report]
    share = statistics.median(report["imports"] / report["taken"] for report in ours)
    yield Figure(
        "until the window is painted",
        statistics.median(taken["ours"]),
        "s",
        1 / ratio(taken, "ours", "bare"),
        "of a bare window's time",
        f"imports {share:.0%} of it; no {', '.join(('torch', 'neat', 'pyqtgraph'))}",
    )
    if quick:
        return
    stall = statistics.median(report["stall"] for report in ours)
    yield Figure(
        "until its league is shown and every page made",
        statistics.median(report["taken"] - report["painted"] + report["settled"] for report in ours),
        "s",
        None,
        "",
        f"longest pause after it was painted {stall:.0f} ms",
    )


# Under load


def lateness(found: Mapping[str, Any]) -> Iterator[Figure]:
    late = {name: sorted(itertools.chain(*found[name])) for name in ("playing", "idle")}
    pairs = zip(found["playing"], found["idle"], strict=True)
    for name, what, share in (
        ("playing", "a 16 ms timer is late, 2 workers playing", None),
        ("idle", "a 16 ms timer is late, nothing running", None),
    ):
        note = f"p99 {part(late[name], 0.99):.1f}, most {late[name][-1]:.0f} ms; {len(late[name]):,} times"
        if name == "playing":
            share = statistics.median(part(busy, 0.95) / part(other, 0.95) for busy, other in pairs)
        yield Figure(f"{what}, p95", part(late[name], 0.95), "ms", share, "when idle" if share else "", note)
    own, machine = statistics.median(found["own"]), statistics.median(found["machine"])
    note = f"standings and run panel in sight; machine {machine:.0f} % busy, {CORES} cores"
    yield Figure("meanwhile recorded and shown", statistics.median(found["rate"]), "matches/s", None, "", note)
    note = "all threads: taking in results, recording, rating, drawing"
    yield Figure("meanwhile used by the window's process", own * 100, "% of a core", None, "", note)


def part(values: Sequence[float], share: float) -> float:
    """The quantile of the values at this share."""
    known = sorted(values)
    return known[min(int(share * len(known)), len(known) - 1)]


def watching(visual: Mapping[str, Any], sizes: Mapping[str, Any]) -> Iterator[Figure]:
    others = []
    for name, report in sizes.items():
        [watching] = (value for part, value in report.items() if part.startswith("watching"))
        others.append(
            f"{name}: {statistics.median(watching['frames']):.0f} at {statistics.median(watching['cpu']):.0%}"
        )
    width, height = visual["size"]
    yield Figure(
        "live Pong match, window of 1280x720",
        statistics.median(visual["frames"]),
        "frames/s",
        statistics.median(visual["frames"]) / GAME.info.pace,
        "steps that it makes",
        f"painted; board of {width}x{height}",
    )
    shares = [run / still for run, still in zip(visual["cpu"], visual["still"], strict=True)]
    yield Figure(
        "used by the window's process meanwhile",
        statistics.median(visual["cpu"]) * 100,
        "% of a core",
        statistics.median(shares),
        "of the match paused",
        "; ".join(["all threads", *others]),
    )


# A large league


def sights(reports: Sequence[Mapping[str, tuple[float, float]]]) -> Iterator[Figure]:
    """Measures each in a new window."""
    for name, what in SIGHTS.items():
        taken = statistics.median(report[name][0] for report in reports) * 1e3
        stall = statistics.median(report[name][1] for report in reports)
        note = f"window held up for {stall:.0f} ms at most" + "; waits 150 ms for the next letter" * (name == "words")
        yield Figure(f"{what}, until painted", taken, "ms", None, "", note)


def fill(path: Path, agents: int, matches: int) -> int:
    """Every agent plays like one of the ready-made bots, and sometimes like a different one: real results of bots are
    stored under the names of the agents."""
    bots, draws = KINDS.get("pong-bot").samples(GAME), random.Random(1)
    with SequentialMatchExecutor() as executor:
        pairs = itertools.product(range(len(bots)), repeat=2)
        again = [dataclasses.replace(agent, id=f"{agent.id} too") for agent in bots]
        specs = [MatchSpec(f"{ours}:{other}", GAME.spec, (bots[ours], again[other]), 1) for ours, other in pairs]
        known = {result.id: result for result in executor.execute_matches(specs)}
    with League.new(path) as league:
        likes = {}
        for n in range(agents):
            name, like = bots[n].id if n < len(bots) else f"Agent {n}", n % len(bots)
            likes[league.add_agent(name, GAME.spec.name, dataclasses.replace(bots[like], id=name)).id] = like
        rounds = -(-matches // (agents * (agents - 1)))
        settings = make_settings(GAME.spec, "round-robin", {"rounds": rounds}, seed=1)
        book = TournamentStore(league, league.add_tournament("filled", settings, list(likes)).number)
        batch: list[PlayedEntry] = []
        for planned in itertools.islice(book.missing(), matches):
            players = tuple(player.id for player in planned.spec.players)
            like_whom = [likes[player] if draws.random() < 0.9 else draws.randrange(len(bots)) for player in players]
            result = known[":".join(map(str, like_whom))]
            batch.append(
                PlayedEntry(
                    planned.place, planned.spec, dataclasses.replace(result, id=planned.spec.id, players=players)
                )
            )
            if len(batch) == 5000:
                book.record(batch)
                batch = []
        book.record(batch)
        book.settle(RunState.STOPPED)
        return book.played
