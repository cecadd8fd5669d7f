"""A clock of the machine that is wrong by millennia, or jumps while something runs."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.training.events import Player, Spans
from agents.training.hybrid.trainer import Console
from agents.training.selfplay.timing import LEARNING, Timing
from engine import clock
from engine.league.records import RunState
from engine.league.storage.sessions import SessionStore
from engine.registry import new_game
from league_app.cli.main import main
from league_app.core.queries import highlights, matches
from league_app.core.queries.dashboard import load_dashboard
from league_app.core.queries.highlights import RunFacts
from league_app.core.state import LeagueState

YEAR = 31_557_600.0
CLOCKS = {
    "1970": 0.0,
    "before 1970": -5 * YEAR,
    "year 1": -1969 * YEAR,
    "year 9999": 8029 * YEAR,
    "year 12000": 10_030 * YEAR,
    "year 200000": 198_000 * YEAR,
}
GAME = new_game("pong", points=1, step_limit=200).spec


def jumping() -> Iterator[float]:
    """Each time years away from the last, backwards and forwards."""
    yield from itertools.cycle([1.7e9, 1.2e9, 2.5e9, -1e9, 1e12, 1.7e9, 0.0])


@pytest.fixture(params=[*CLOCKS, "jumps"])
def wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    times = jumping() if request.param == "jumps" else itertools.repeat(CLOCKS[request.param])
    monkeypatch.setattr(time, "time", lambda: next(times))


def use(path: Path) -> LeagueState:
    """A league in which everything that has a time was added."""
    state = LeagueState.new(path)
    state.use_concurrent = False
    state.add_samples("pong", ["Lazy", "Still", "Tracker"])
    state.archive("Tracker")
    job = state.start_tournament(game=GAME, agents=["Lazy", "Still"], options={"rounds": 2})
    job.wait()
    assert 0 <= job.seconds < 600
    facts = RunFacts(job.before, job.seconds, job.run.shown, job.run.shown_seconds)
    assert highlights.summary(state.league, 1, facts).seconds == job.seconds
    assert highlights.summary(state.league, 1).seconds >= 0
    own = SessionStore(state.league)
    own.add("First", "neat", GAME, ())
    own.record(1, 1, [("fitness/best", 1.0)])
    own.add_checkpoint(1, 1, b"state", [Player("pong-bot", 1, b'{"style": "still"}', "")])
    own.update(1, RunState.FINISHED)
    return state


def test_a_league_is_used_with_any_clock(wrong_clock: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "x.league")
    with use(tmp_path / "x.league") as state:
        pool = state.game_of("pong")
        load_dashboard(state, pool)
        played = matches.matches(state.league, pool, matches.MatchFilter(sort="when")).rows
        assert all(matches.short_time(row[1]) for row in played)
        matches.matches(state.league, pool, matches.MatchFilter(words="20-12:"))
    commands = (
        *(["agents", "show", path, "Tracker"], ["agents", "export", path, "Lazy", str(tmp_path / "lazy.agent")]),
        *(["agents", "import", path, str(tmp_path / "lazy.agent"), "--name", "Twin"], ["tournament", "show", path]),
        *(["history", path, "--json"], ["standings", path], ["export", "csv", path], ["train", "show", path]),
        *(["train", "list", path], ["doctor", path]),
    )
    for command in commands:
        with contextlib.suppress(SystemExit):
            main(list(command))
        assert capsys.readouterr().err == "", command


def test_times_are_recorded_within_limits(wrong_clock: None) -> None:
    for _ in range(10):
        assert 0 <= clock.now() <= clock.LATEST


@pytest.mark.parametrize("at", [-1e300, -1e18, -1e11, -1.0, 0.0, 1e11, 1e15, 1e300, float("inf"), float("nan")])
def test_any_time_can_be_shown(at: float) -> None:
    assert clock.local_text(at, "%Y-%m-%d %H:%M:%S")
    assert matches.short_time(at)


def test_a_jump_of_the_clock_changes_no_duration(monkeypatch: pytest.MonkeyPatch) -> None:
    times, ticks = iter([1e9, 0.0]), iter([9.0, 10.0, 12.5])
    monkeypatch.setattr(time, "time", lambda: next(times))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    console = Console(None)  # type: ignore[arg-type]
    console.begin_span()
    console.end_span("breed")
    [span] = console._spans
    assert (span.start, span.seconds) == (1e9, 2.5)


def test_a_jump_of_the_clock_changes_no_share_of_an_update() -> None:
    ticks, times = itertools.count(10.0), jumping()
    timing = Timing(lambda: next(ticks), lambda: next(times))
    with timing.part(LEARNING):
        pass
    spans = next(timing.events(LEARNING, "learning", 1, lambda part: ()))
    assert isinstance(spans, Spans)
    assert [span.seconds for span in spans.spans] == [1.0]
    assert all(0.0 <= value <= 1.0 for value in timing.metrics(0).values())


def test_no_module_measures_durations_with_the_wall_clock() -> None:
    """`engine.clock` alone reads it, and the cache of kernels, whose files have times of the file system."""
    root = Path(clock.__file__).parents[1]
    sources = [path for folder in ("engine", "agents", "league_app") for path in (root / folder).rglob("*.py")]
    reading = re.compile(r"\btime\.(time|localtime|gmtime|strftime|ctime)\b|\bdatetime\b")
    found = {path.relative_to(root).as_posix() for path in sources if reading.search(path.read_text(encoding="utf-8"))}
    assert found == {"engine/clock.py", "engine/kernels.py"}
