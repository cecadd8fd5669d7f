"""A live match is a growing replay: played in a worker, told as it happens, at the watcher's pace."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from agents.human import person
from engine.errors import BadValue, RingsideError
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import Clock, EndingKind, Limits, MatchSpec
from engine.play.replay import Playback
from engine.registry import KINDS, new_game
from tests.plugins.pilots import agent

PONG = new_game("pong", points=2)
LONG = new_game("pong", step_limit=2_000_000_000, paddle_height=300.0, top_speed=7.0)


@pytest.fixture(scope="module")
def executor() -> Iterator[ConcurrentMatchExecutor]:
    with ConcurrentMatchExecutor(1, plugins=["tests.plugins.everyone"]) as one:
        yield one


def spec_of(game_name: str, a: str, b: str, seed: int = 3) -> MatchSpec:
    game = {"pong": PONG, "long": LONG}.get(game_name) or new_game(game_name)
    bots = {one.id: one for one in KINDS.get("pong-bot").samples(PONG)}
    return MatchSpec("live", game.spec, (bots.get(a) or agent(a), bots.get(b) or agent(b)), seed)


@pytest.mark.parametrize(
    ("game", "a", "b"),
    [
        ("pong", "Tracker", "Lazy"),
        ("pong", "slow", "remembering"),
        ("tictactoe", "fast", "slow"),
        ("mixed", "fast", "slow"),
    ],
)
def test_what_is_told_leads_to_the_record_that_others_get(
    game: str, a: str, b: str, executor: ConcurrentMatchExecutor
) -> None:
    spec = spec_of(game, a, b)
    playback = Playback(spec)
    with executor.watch(spec) as live:
        for actions in live:
            playback.feed(actions)
        result = live.wait(10)
    with SequentialMatchExecutor(1) as one:
        expected = one.execute_match(spec)
    assert result is not None
    assert result.digest() == expected.digest()
    playback.seek(playback.steps)
    assert (playback.steps, playback.scores(), playback.stats()) == (expected.steps, expected.scores, expected.stats)


def test_it_keeps_the_pace_it_is_given_and_stops_when_it_is_paused(executor: ConcurrentMatchExecutor) -> None:
    spec = spec_of("long", "Predictor", "Predictor")
    playback = Playback(spec)
    with executor.watch(spec, pace=100) as live:
        time.sleep(1.0)
        live.pause()
        time.sleep(0.3)
        playback.feed(live.take())
        told = playback.steps
        assert 5 <= told <= 140, "about as many as its pace allows, fewer on a busy machine"
        time.sleep(0.3)
        assert live.take() == [], "nothing happens while it is paused"
        live.resume()
        for actions in live:
            playback.feed(actions)
            if playback.steps > told + 10:
                break
        live.pace(10_000)
        before, since = playback.steps, time.monotonic()
        while playback.steps < before + 500 and time.monotonic() - since < 20:
            playback.feed(live.take())
        assert playback.steps >= before + 500
    assert live.result is not None
    assert live.result.ending.kind is EndingKind.CANCELLED, "nobody watched it to the end"


def test_a_paused_match_plays_single_steps_and_stands_still_again(executor: ConcurrentMatchExecutor) -> None:
    spec = spec_of("long", "Predictor", "Predictor")
    playback = Playback(spec)
    with executor.watch(spec, pace=50) as live:
        while playback.steps < 3:
            playback.feed(live.take())
        live.step(5)  # it is not paused: nothing is owed later
        live.pause()
        time.sleep(0.4)
        playback.feed(live.take())
        for count in (1, 1, 7):
            told = playback.steps
            live.step(count)
            time.sleep(0.4)
            playback.feed(live.take())
            assert (playback.steps, live.paused) == (told + count, True)
        live.resume()
        told = playback.steps
        for actions in live:
            playback.feed(actions)
            if playback.steps > told + 10:
                break
    with pytest.raises(BadValue, match="count = 0"):
        live.step(0)


def test_between_single_steps_no_clock_runs(executor: ConcurrentMatchExecutor) -> None:
    game = new_game("tictactoe")
    spec = MatchSpec("mine", game.spec, (person(), agent("fast")), 3, None, Limits(clock=Clock(move=2.0)))
    playback = Playback(spec)
    with executor.watch(spec, pace=10) as live:
        live.pause()
        for cell in (0, 8):
            live.step()  # somebody is asked, and thinks
            time.sleep(0.3)
            live.pause()
            time.sleep(2.2)
            live.act(0, cell)
            live.step()
            time.sleep(0.3)
            playback.feed(live.take())
            assert (live.result, playback.steps % 2) == (None, 1), "the person has moved, and the other not yet"
            live.step()
            time.sleep(0.3)
            playback.feed(live.take())


def test_the_rest_can_be_played_at_full_speed(executor: ConcurrentMatchExecutor) -> None:
    spec = spec_of("pong", "Tracker", "Shaky")
    with executor.watch(spec, pace=1) as live:
        live.pause()
        live.finish()
        result = live.wait(30)
    with SequentialMatchExecutor(1) as one:
        assert result is not None
        assert result.digest() == one.execute_match(spec).digest()


def test_a_live_match_runs_beside_a_batch_and_disturbs_nobody(executor: ConcurrentMatchExecutor) -> None:
    spec = spec_of("pong", "Tracker", "Shaky")
    bots = list(KINDS.get("pong-bot").samples(PONG))
    specs = [MatchSpec(f"m{n}", PONG.spec, (bots[n % 6], bots[(n + 1) % 6]), n) for n in range(300)]
    with executor.watch(spec, pace=500) as live:
        assert len(executor.execute_matches(specs)) == 300
        slots = [worker.slot for worker in executor.status().workers]
        assert 0 in slots
        assert min(slots) < 0, "the live match has a worker of its own"
        live.finish()
        assert live.wait(30) is not None


def test_a_player_that_breaks_forfeits_the_live_match(executor: ConcurrentMatchExecutor) -> None:
    with executor.watch(spec_of("pong", "fast", "raising")) as live:
        result = live.wait(30)
    assert result is not None
    assert (result.ending.kind, result.ending.seats, result.steps) == (EndingKind.EXCEPTION, (1,), 2)


def test_closing_the_executor_ends_what_is_watched() -> None:
    with ConcurrentMatchExecutor(1) as one:
        live = one.watch(spec_of("long", "Predictor", "Predictor"), pace=10)
    result = live.wait(5)
    assert result is not None
    assert result.ending.kind is EndingKind.CANCELLED
    with pytest.raises(RingsideError, match="closed"):
        one.watch(spec_of("pong", "Tracker", "Lazy"))


def test_a_pace_that_is_none_is_refused(executor: ConcurrentMatchExecutor) -> None:
    with pytest.raises(BadValue, match="pace = -1"):
        executor.watch(spec_of("pong", "Tracker", "Lazy"), pace=-1)
