"""A match before a watcher: where it stands, how it moves, and that nothing that comes is lost."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from engine.play.executors import SequentialMatchExecutor
from engine.play.lane_kernels import bits_for, unpack
from engine.play.live import LiveMatch
from engine.play.match import MatchResult, MatchSpec
from engine.play.replay import verified
from engine.registry import KINDS, new_game
from league_app.gui.match.player import FASTEST, SPEEDS, Show

FRAME = 1 / 60
PONG = new_game("pong", points=3)


@pytest.fixture(scope="module")
def played() -> tuple[MatchSpec, MatchResult, list[int]]:
    bots = {one.id: one for one in KINDS.get("pong-bot").samples(PONG)}
    spec = MatchSpec("m", PONG.spec, (bots["Tracker"], bots["Shaky"]), 4)
    with SequentialMatchExecutor(1) as executor:
        result = executor.execute_match(spec)
    actions = unpack(result.actions, bits_for(PONG.info.actions)).tolist()
    assert result.steps > 600
    return spec, result, actions[: result.steps * 2]


class Stub(LiveMatch):
    """Played by the test: nobody is told to pause, and nothing need be closed."""

    def __init__(self, spec: MatchSpec) -> None:
        super().__init__(spec, 60.0, lambda live, words: None, lambda live: None)


def growing(played: tuple[MatchSpec, MatchResult, list[int]], steps: int = 0) -> tuple[Show, Stub, list[int]]:
    """A live match of which so many steps have come, and the actions that have not."""
    spec, _, actions = played
    live = Stub(spec)
    live.add(actions[: 2 * steps])
    return Show(spec, "live", live=live), live, actions[2 * steps :]


def replaying(played: tuple[MatchSpec, MatchResult, list[int]]) -> Show:
    spec, result, _ = played
    return Show(spec, playback=verified(spec, result), result=result)


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_replay_runs_at_the_pace_of_its_game_times_the_speed(
    played: tuple[MatchSpec, MatchResult, list[int]], speed: float
) -> None:
    show = replaying(played)
    show.speed = speed
    for _ in range(30):
        show.advance(FRAME)
    assert show.step == pytest.approx(min(30 * speed, show.steps), abs=1)


def test_a_replay_ends_and_begins_again_when_it_is_played(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    show = replaying(played)
    assert (show.badge, show.step, show.moving) == ("REPLAY", 0, True)
    show.advance(1e6)
    assert (show.step, show.at_end, show.moving, show.paused) == (played[1].steps, True, False, True)
    assert show.playback.stats() == played[1].stats
    show.play()
    show.advance(FRAME)
    assert (show.step, show.moving) == (1, True)


def test_steps_and_jumps_stay_within_the_match(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    show = replaying(played)
    show.by(-1)
    assert (show.step, show.paused) == (0, True)
    show.by(5)
    show.by(-2)
    assert show.step == 3
    show.advance(10.0)
    assert show.step == 3, "who goes step by step has stopped the clock"
    show.seek(10**9)
    assert show.step == show.steps
    show.seek(-4)
    assert show.step == 0


def test_points_are_marked_alike_live_and_replayed(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    show, live, _ = growing(played, played[1].steps)
    live.end(played[1])
    while not show.complete:
        show.advance(FRAME)
    assert len(show.marks) == sum(played[1].scores) == len(replaying(played).marks)
    assert show.marks == replaying(played).marks


def test_a_live_match_is_followed_closely_and_evenly(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    show, live, rest = growing(played)
    seen = []
    for frame in range(120):
        if frame % 3 == 0:  # it comes in lumps
            live.add(rest[frame * 2 : frame * 2 + 6])
        show.advance(FRAME)
        seen.append(show.step)
    assert show.badge == "LIVE"
    assert show.following
    assert show.steps - show.step <= 6
    assert max(after - before for before, after in pairwise(seen[12:])) <= 2, "never in lumps"


def test_what_has_fallen_behind_is_caught_up_with_smoothly(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    show, live, rest = growing(played, 180)
    seen = []
    for frame in range(240):
        live.add(rest[frame * 2 : frame * 2 + 2])
        show.advance(FRAME)
        seen.append(show.step)
    assert seen[0] <= FASTEST, "it begins at the start"
    assert max(after - before for before, after in pairwise(seen)) <= FASTEST + 1
    assert show.steps - show.step < 12


def test_whoever_was_away_for_long_sees_the_newest_step(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    show, live, rest = growing(played, 100)
    show.advance(FRAME)
    live.add(rest[:4])
    show.speed = SPEEDS[0]  # a hundred steps are too many seconds now
    for _ in range(10):
        show.advance(5.0)
    assert show.step == show.steps == 102


def test_scrubbing_back_is_free_and_new_actions_are_still_taken(
    played: tuple[MatchSpec, MatchResult, list[int]],
) -> None:
    show, live, rest = growing(played, 200)
    show.follow()
    show.advance(FRAME)
    show.by(-100)
    at = show.step
    live.add(rest[:200])
    for _ in range(20):
        show.advance(FRAME)
    assert (show.step, show.steps, show.following) == (at, 300, False)
    show.play()
    show.advance(0.5)
    assert show.step == pytest.approx(at + 30, abs=1), "it plays on from there"
    for _ in range(20):
        show.advance(0.5)
    assert (show.step, show.following) == (300, True), "until it has caught up"
    show.by(-5)
    show.follow()
    assert (show.step, show.following) == (300, True)


def test_the_result_is_known_only_with_all_that_led_to_it(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    show, live, rest = growing(played, 10)
    live.add(rest)
    live.end(played[1])
    assert show.result is None
    assert not show.complete
    show.skip()
    for _ in range(1000):
        show.advance(FRAME)
        if show.complete:
            break
    assert show.result == played[1]
    assert show.at_end
    assert (show.playback.scores(), show.playback.stats()) == (played[1].scores, played[1].stats)
    show.by(-1)
    assert show.badge == "REPLAY"


def test_a_match_that_stands_still_says_so(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    show, live, _ = growing(played, 10)
    show.follow()
    show.advance(FRAME)
    live.pause()
    assert (show.badge, show.paused, show.silent) == ("PAUSED", True, 0.0)
    live.resume()
    assert (show.badge, show.paused) == ("LIVE", False)
    assert Show(played[0], "exhibition", live=Stub(played[0])).badge == "EXHIBITION"


@pytest.mark.parametrize("nonsense", [[7], [0, 1, -5], [None], ["up"], [10**30, 0]])
def test_nonsense_is_told_and_nothing_more_is_shown(
    played: tuple[MatchSpec, MatchResult, list[int]], nonsense: list[int]
) -> None:
    show, live, _ = growing(played, 20)
    show.advance(FRAME)
    show.follow()
    live.add(nonsense)
    live.add([0, 0])
    show.advance(FRAME)
    assert "makes no sense" in show.trouble
    assert not show.moving
    at = show.step
    live.add([0, 0, 0, 0])
    assert show.advance(1.0) is False
    assert show.step == at
    show.by(-3)
    assert show.step == at - 3, "what was played can still be looked at"


def test_who_takes_over_gets_what_the_seat_did_until_then(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    show = replaying(played)
    show.seek(50)
    assert show.actions_of(1) == played[2][1:100:2]
    assert show.choices(0) == [], "it is over"
    fresh, _, _ = growing(played)
    assert fresh.choices(0) == [0, 1, 2]


def test_a_result_of_another_kind_changes_nothing_of_what_was_seen(
    played: tuple[MatchSpec, MatchResult, list[int]],
) -> None:
    show, live, _ = growing(played, 30)
    live.end(replace(played[1], steps=30))
    for _ in range(100):
        show.advance(FRAME)
    assert (show.at_end, show.step) == (True, 30)
