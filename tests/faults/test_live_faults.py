"""A live match that fails ends with a reason, and the run beside it continues."""

from __future__ import annotations

import os
import signal
import time

import psutil
import pytest

from engine.play.executors import SequentialMatchExecutor
from engine.play.match import EndingKind, MatchSpec, run_digest
from engine.registry import new_game
from tests.faults.league import GAME, WELL, executor, patience, sick, well_matches, within


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("segfault", EndingKind.CRASH),
        ("exit3", EndingKind.CRASH),
        ("sleep", EndingKind.TIMEOUT),
        ("load", EndingKind.CANNOT_START),
        ("hog", EndingKind.MEMORY),
    ],
)
def test_a_player_that_fails_ends_only_the_live_match(fault: str, kind: EndingKind) -> None:
    well = well_matches(100)
    with SequentialMatchExecutor(16) as here:
        expected = run_digest(here.execute_matches(well))
    spec = MatchSpec("live", GAME.spec, (WELL[0], sick(fault)), 1)
    with within(60), executor(2, watchdog=patience(kind)) as one, one.watch(spec) as live:
        assert run_digest(one.execute_matches(well)) == expected
        result = live.wait(300)
    assert result is not None
    assert (result.ending.kind, result.ending.seats, result.ranks) == (kind, (1,), (1, 2))


@pytest.mark.parametrize("beside", [False, True])
def test_a_killed_live_worker_ends_its_match_but_not_the_run(beside: bool) -> None:
    spec = MatchSpec("live", GAME.spec, (WELL[0], WELL[1]), 1)
    well = well_matches(300)
    with within(60), executor(1) as one, one.watch(spec, pace=1) as live:
        stream = one.run(well) if beside else iter(())
        first = [next(stream)] if beside else []
        until = time.monotonic() + 120
        while not [worker for worker in one.status().workers if worker.id < 0 and worker.state == "playing"]:
            assert time.monotonic() < until
        os.kill(next(worker.pid for worker in one.status().workers if worker.id < 0), signal.SIGKILL)
        result = live.wait(300)
        results = [*first, *stream]
    assert result is not None
    assert result.ending.kind in (EndingKind.VOID, EndingKind.CRASH)
    assert sorted(one.id for one in results) == sorted(spec.id for spec in well if beside)


@pytest.mark.parametrize("beside", [False, True])
def test_an_error_in_the_rules_ends_only_the_live_match(beside: bool) -> None:
    broken = new_game("broken-rules", fault="raise")
    well = well_matches(100)
    with within(60), executor(2) as one, one.watch(MatchSpec("live", broken.spec, (WELL[0], WELL[1]), 1)) as live:
        if beside:
            assert len(one.execute_matches(well)) == 100
        result = live.wait(300)
    assert result is not None
    assert (result.ending.kind, result.ending.seats) == (EndingKind.VOID, ())
    assert "the game 'broken-rules' failed: RuntimeError: I give up" in result.ending.reason


def test_child_processes_of_a_player_end_with_it() -> None:
    spec = MatchSpec("m", GAME.spec, (sick("children"), WELL[1]), 1)
    with within(60), executor(1) as one:
        result = one.execute_match(spec)
    assert result.ending.kind is EndingKind.CRASH
    mine = [child for child in psutil.process_iter(["cmdline"]) if "ringside-fault-child" in str(child.info["cmdline"])]
    assert not psutil.wait_procs(mine, timeout=120)[1]
