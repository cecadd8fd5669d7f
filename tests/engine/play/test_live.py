"""A live match: played in a worker at a chosen pace; its actions arrive as they are played."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from engine.errors import BadValue, RingsideError
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import EndingKind, MatchSpec
from engine.play.replay import Playback
from engine.registry import KINDS, new_game
from tests.faults.league import within
from tests.plugins.pilots import agent

PONG = new_game("pong", points=2)
LONG = new_game("pong", step_limit=2_000_000_000, paddle_height=300.0, top_speed=7.0)


@pytest.fixture(scope="module")
def executor() -> Iterator[ConcurrentMatchExecutor]:
    with ConcurrentMatchExecutor(1, plugins=["tests.plugins.everyone"]) as executor:
        yield executor


def spec_of(game_name: str, a: str, b: str, seed: int = 3) -> MatchSpec:
    game = {"pong": PONG, "long": LONG}.get(game_name) or new_game(game_name)
    bots = {agent.id: agent for agent in KINDS.get("pong-bot").samples(PONG)}
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
def test_the_actions_of_a_live_match_lead_to_the_same_result(
    game: str, a: str, b: str, executor: ConcurrentMatchExecutor
) -> None:
    spec = spec_of(game, a, b)
    playback = Playback(spec)
    with executor.watch(spec) as live:
        for actions in live:
            playback.feed(actions)
        result = live.wait(300)
    with SequentialMatchExecutor(1) as reference:
        expected = reference.execute_match(spec)
    assert result is not None
    assert result.digest() == expected.digest()
    playback.seek(playback.steps)
    assert (playback.steps, playback.scores(), playback.stats()) == (expected.steps, expected.scores, expected.stats)


def test_a_paused_match_plays_single_steps_until_it_is_resumed(executor: ConcurrentMatchExecutor) -> None:
    """At a pace of one step in 1,000 seconds, each number of steps is known exactly."""
    spec = spec_of("long", "Predictor", "Predictor")
    playback = Playback(spec)

    def reach(step: int) -> None:
        while playback.steps < step:
            playback.feed(live.actions_since(playback.received))
            time.sleep(0.002)
        assert playback.steps == step

    with within(60), executor.watch(spec, pace=0.001) as live:
        reach(1)
        live.pause()
        edge = 1
        for count in (1, 1, 7):
            live.step(count)
            edge += count
            reach(edge)
            assert live.paused
        live.resume()
        live.pace(10_000)
        while playback.steps < edge + 500:
            playback.feed(live.actions_since(playback.received))
    assert live.result is not None
    assert live.result.ending.kind is EndingKind.CANCELLED, "closed before its end"
    with pytest.raises(BadValue, match="count = 0"):
        live.step(0)


def test_the_rest_can_be_played_at_full_speed(executor: ConcurrentMatchExecutor) -> None:
    spec = spec_of("pong", "Tracker", "Shaky")
    with executor.watch(spec, pace=1) as live:
        live.pause()
        live.finish()
        result = live.wait(300)
    with SequentialMatchExecutor(1) as reference:
        assert result is not None
        assert result.digest() == reference.execute_match(spec).digest()


def test_a_live_match_runs_beside_a_run_without_affecting_it(executor: ConcurrentMatchExecutor) -> None:
    spec = spec_of("pong", "Tracker", "Shaky")
    bots = list(KINDS.get("pong-bot").samples(PONG))
    specs = [MatchSpec(f"m{n}", PONG.spec, (bots[n % 6], bots[(n + 1) % 6]), n) for n in range(300)]
    with executor.watch(spec, pace=500) as live:
        assert len(executor.execute_matches(specs)) == 300
        slots = [worker.id for worker in executor.status().workers]
        assert 0 in slots
        assert min(slots) < 0, "the live match has a worker of its own"
        live.finish()
        assert live.wait(300) is not None


def test_a_player_that_fails_forfeits_the_live_match(executor: ConcurrentMatchExecutor) -> None:
    with executor.watch(spec_of("pong", "fast", "raising")) as live:
        result = live.wait(300)
    assert result is not None
    assert (result.ending.kind, result.ending.seats, result.steps) == (EndingKind.EXCEPTION, (1,), 2)


def test_closing_the_executor_ends_live_matches() -> None:
    with ConcurrentMatchExecutor(1) as executor:
        live = executor.watch(spec_of("long", "Predictor", "Predictor"), pace=10)
    result = live.wait(300)
    assert result is not None
    assert result.ending.kind is EndingKind.CANCELLED
    with pytest.raises(RingsideError, match="closed"):
        executor.watch(spec_of("pong", "Tracker", "Lazy"))


def test_an_invalid_pace_is_refused(executor: ConcurrentMatchExecutor) -> None:
    with pytest.raises(BadValue, match="pace = -1"):
        executor.watch(spec_of("pong", "Tracker", "Lazy"), pace=-1)
