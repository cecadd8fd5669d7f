"""Clocks: a player that exceeds its time forfeits; the time of other players does not count."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.errors import BadSpec
from engine.game import PENDING, AgentKind
from engine.play import clocks
from engine.play.clocks import MatchClocks
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import Clock, EndingKind, Limits, MatchSpec
from engine.registry import KINDS, new_game
from tests.plugins.pilots import RowPilot, agent, choose

GAME = new_game("pong", points=1, step_limit=60)


def match(clock: Clock, players: tuple[str, str] = ("fast", "fast")) -> MatchSpec:
    return MatchSpec("m", GAME.spec, tuple(agent(name) for name in players), 1, None, Limits(clock=clock))


def test_base_increment_and_move_time_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    clocks = MatchClocks(Clock(base=10, increment=2, move=1), seats=2)

    def think(seat: int, seconds: float) -> str:
        clocks.start(seat)
        now[0] += seconds
        return clocks.overrun(seat, answered=True)

    assert think(0, 4) == ""
    assert clocks.start(0) == pytest.approx(10 - 4 + 2 + 1), "the move time is used after the base time"
    assert think(1, 11) == "", "each seat has its own time"
    assert clocks.start(1) == pytest.approx(0 + 2 + 1)
    now[0] += 3.5
    assert clocks.overrun(1, answered=False) == "thought for 3.5 s, 0.5 s more than were left"
    assert "thought for" in clocks.overrun(0, answered=True), "the clock of the first seat runs since `start`"


@pytest.mark.parametrize("concurrent", [False, True])
def test_a_match_within_its_clock_ends_as_without_one(concurrent: bool) -> None:
    spec = match(Clock(base=3600))
    with SequentialMatchExecutor(4) as executor:
        free = executor.execute_match(MatchSpec("m", GAME.spec, spec.players, 1))
        timed = executor.execute_match(spec)
    if concurrent:
        with ConcurrentMatchExecutor(1, plugins=["tests.plugins.everyone"]) as other:
            timed = other.execute_match(spec)
    assert timed.digest() == free.digest()
    assert (free.repeatable, timed.repeatable) == (True, False)


@pytest.mark.parametrize("pondering", [False, True])
def test_a_player_that_exceeds_its_clock_forfeits(pondering: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one long call, or in many short ones that return PENDING."""
    now, calls = [100.0], []
    monkeypatch.setattr(clocks, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def dawdle(state: dict, views: object, row: int) -> int:
        calls.append(row)
        now[0] += 0.02 if pondering else 0.2
        return PENDING if pondering and len(calls) < 10 else choose(state, views, row)

    KINDS.add("dawdler", AgentKind("dawdler", 1, lambda g, s: RowPilot(dawdle), lambda g: True, lambda g: []))
    try:
        with SequentialMatchExecutor(4) as executor:
            result = executor.execute_match(match(Clock(move=0.1), ("fast", "dawdler")))
    finally:
        KINDS.remove("dawdler")
    assert (result.ending.kind, result.ending.seats, result.ranks) == (EndingKind.TIMEOUT, (1,), (1, 2))
    assert result.ending.reason.startswith(f"thought for {'0.12' if pondering else '0.2'} s, ")
    assert len(calls) == (6 if pondering else 1)


@pytest.mark.parametrize(
    ("clock", "message"),
    [
        (60, r"limits.clock = 60: must be a Clock\(base, increment, move\)"),
        (Clock(), "limits.clock gives no time"),
        (Clock(base=-1), "limits.clock.base = -1"),
        (Clock(base=float("nan")), "limits.clock.base = nan"),
        (Clock(base=1, increment=1e9), "limits.clock.increment = 1000000000.0"),
    ],
)
def test_an_invalid_clock_is_refused(clock: Clock, message: str) -> None:
    with SequentialMatchExecutor(1) as executor, pytest.raises(BadSpec, match=message):
        executor.execute_match(match(clock))


# A plug-in for a worker: ends it if a kernel is compiled while the clock of a player runs.
WATCH = """
import os
from numba.core import event
from engine.play.clocks import MatchClocks

running = []
start, overrun = MatchClocks.start, MatchClocks.overrun
MatchClocks.start = lambda clocks, seat: running.append(seat) or start(clocks, seat)
MatchClocks.overrun = lambda clocks, seat, answered: running.clear() or overrun(clocks, seat, answered)

class Listener(event.Listener):
    def on_start(self, event):
        if running:
            os._exit(7)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
"""


@pytest.mark.slow
def test_no_clock_runs_while_kernels_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a new process with an empty cache."""
    (tmp_path / "clock_watch.py").write_text(WATCH)
    script = (
        "from engine.play.concurrent import ConcurrentMatchExecutor\n"
        "from engine.play.match import Clock, Limits, MatchSpec\n"
        "from engine.registry import KINDS, new_game\n"
        "game = new_game('treasure-hunt')\n"
        "players = tuple(KINDS.get('hunter').samples(game))\n"
        "spec = MatchSpec('m', game.spec, players, 1, None, Limits(20, Clock(3600)))\n"
        "with ConcurrentMatchExecutor(1, plugins=['clock_watch']) as executor:\n"
        "    print(executor.execute_match(spec).ending)\n"
    )
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root, timeout=600)
    assert "STEP_LIMIT" in done.stdout, done.stdout + done.stderr
