"""A live match that fails ends with a reason, and the run beside it continues."""

from __future__ import annotations

import os
import signal
import time

import psutil
import pytest

from agents.human import person
from engine.game import RESIGN
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.live import LiveMatch
from engine.play.match import AgentSpec, EndingKind, MatchSpec, run_digest
from engine.play.replay import Playback, verified
from engine.registry import new_game
from tests.faults.league import GAME, WELL, make_executor, patience, sick, well_matches, within
from tests.live_worker import commands_handled


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
    with within(60), make_executor(2, watchdog=patience(kind)) as executor, executor.watch(spec) as live:
        assert run_digest(executor.execute_matches(well)) == expected
        result = live.wait(300)
    assert result is not None
    assert (result.ending.kind, result.ending.seats, result.ranks) == (kind, (1,), (1, 2))


def live_worker(executor: ConcurrentMatchExecutor, restarts: int = 0) -> int:
    """Wait for the process of the live match that was started again so many times; returns its id."""
    while True:
        for worker in executor.status().workers:
            if (worker.id < 0 and worker.state == "playing") and worker.restarts == restarts and worker.pid:
                return worker.pid
        time.sleep(0.01)


def until_shown(live: LiveMatch, actions: int) -> None:
    while len(live.actions_since(0)) < actions:
        time.sleep(0.01)


@pytest.mark.parametrize("beside", [False, True])
def test_a_match_whose_live_worker_is_killed_twice_is_played_again(beside: bool) -> None:
    """It continues where it was, still paused, and its record is the same; the run beside it continues too."""
    spec, well = MatchSpec("live", GAME.spec, (WELL[0], WELL[1]), 1), well_matches(300)
    with SequentialMatchExecutor(1) as here:
        expected = here.execute_match(spec)
    playback = Playback(spec)
    with within(60), make_executor(1) as executor, executor.watch(spec, pace=0.001) as live:
        until_shown(live, 2)
        live.pause()
        stream = executor.run(well) if beside else iter(())
        first = [next(stream)] if beside else []
        for kills in range(2):
            live.step(3)
            until_shown(live, 2 + 6 * (kills + 1))
            os.kill(live_worker(executor, kills), signal.SIGKILL)
            live_worker(executor, kills + 1)
        live.step(1)
        until_shown(live, 16)
        assert (len(live.actions_since(0)), live.paused) == (16, True)
        live.finish()
        for actions in live:
            playback.feed(actions)
        result = live.wait(300)
        results = [*first, *stream]
    assert result is not None
    assert result.digest() == expected.digest()
    assert (playback.steps, live.restarts) == (expected.steps, 0), "no view had to begin again"
    assert sorted(result.id for result in results) == sorted(spec.id for spec in well if beside)


def test_a_match_whose_live_worker_is_killed_three_times_is_not_played_again() -> None:
    spec = MatchSpec("live", GAME.spec, (WELL[0], WELL[1]), 1)
    with within(60), make_executor(1) as executor, executor.watch(spec, pace=1) as live:
        for kills in range(3):
            os.kill(live_worker(executor, kills), signal.SIGKILL)
        result = live.wait(300)
        starts = [event for event in executor.events()[1] if event.what == "start"]
    assert result is not None
    assert result.ending.kind in (EndingKind.VOID, EndingKind.CRASH), "a crash if a player was being called"
    assert "was killed by SIGKILL" in result.ending.reason
    assert len(starts) == 3


def test_a_match_of_a_person_begins_again_and_waits_when_its_worker_is_killed() -> None:
    """Their moves are lost. At full speed they would lose points before they see anything."""
    spec = MatchSpec("live", new_game("tictactoe").spec, (person(), AgentSpec("Anyhow", "tictactoe-bot", b"anyhow")), 1)
    here = ConcurrentMatchExecutor(1, plugins=["tests.plugins.everyone"])
    with within(60), here as executor, executor.watch(spec, pace=1000) as live:
        live.act(0, 4)
        until_shown(live, 2)
        assert live.actions_since(0)[0] == 4
        os.kill(live_worker(executor), signal.SIGKILL)
        live_worker(executor, 1)
        assert (live.restarts, live.paused, live.actions_since(0)) == (1, True, [])
        live.act(0, 0)
        handled = commands_handled(executor, live)
        while not handled():
            time.sleep(0.01)
        assert live.actions_since(0) == [], "it waits for the person"
        live.resume()
        live.act(0, 8)
        until_shown(live, 2)
        live.act(0, RESIGN)
        result = live.wait(300)
    assert result is not None
    assert (result.ending.kind, result.ending.seats) == (EndingKind.RESIGNED, (0,))
    assert live.actions_since(0)[0] in (0, 8), "nothing of the lost match is in its record"
    verified(spec, result)


def test_a_match_that_takes_another_course_is_shown_again_from_its_start() -> None:
    """Its players draw random numbers of their own in each process."""
    spec = MatchSpec("live", new_game("pong", points=50).spec, (sick("unrepeatable"), WELL[0]), 1)
    with within(60), make_executor(1) as executor, executor.watch(spec, pace=200) as live:
        until_shown(live, 200)
        before = live.actions_since(0)
        os.kill(live_worker(executor), signal.SIGKILL)
        while live.restarts == 0:
            time.sleep(0.01)
        live.finish()
        result = live.wait(300)
    assert result is not None
    playback = Playback(spec)
    playback.feed(live.actions_since(0, live.restarts))
    playback.seek(playback.steps)
    assert (playback.steps, playback.scores()) == (result.steps, result.scores), "what is shown is what is recorded"
    assert live.actions_since(0)[: len(before)] != before
    assert live.actions_since(0, restarts=0) == [], "a view that does not know it gets nothing"


@pytest.mark.parametrize("beside", [False, True])
def test_an_error_in_the_rules_ends_only_the_live_match(beside: bool) -> None:
    broken = new_game("broken-rules", fault="raise")
    well = well_matches(100)
    with (
        within(60),
        make_executor(2) as executor,
        executor.watch(MatchSpec("live", broken.spec, (WELL[0], WELL[1]), 1)) as live,
    ):
        if beside:
            assert len(executor.execute_matches(well)) == 100
        result = live.wait(300)
    assert result is not None
    assert (result.ending.kind, result.ending.seats) == (EndingKind.VOID, ())
    assert "the game 'broken-rules' failed: RuntimeError: I give up" in result.ending.reason


def test_child_processes_of_a_player_end_with_it() -> None:
    spec = MatchSpec("m", GAME.spec, (sick("children"), WELL[1]), 1)
    with within(60), make_executor(1) as executor:
        result = executor.execute_match(spec)
    assert result.ending.kind is EndingKind.CRASH
    mine = [child for child in psutil.process_iter(["cmdline"]) if "ringside-fault-child" in str(child.info["cmdline"])]
    assert not psutil.wait_procs(mine, timeout=120)[1]
