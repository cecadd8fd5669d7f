"""Playback of recorded and live matches."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from agents.human import person
from engine.play.executors import SequentialMatchExecutor
from engine.play.lane_kernels import bits_for, unpack
from engine.play.live import LiveMatch
from engine.play.match import MatchResult, MatchSpec
from engine.play.replay import verified
from engine.registry import KINDS, new_game
from league_app.gui.match.player import FASTEST, SPEEDS, MatchPlayer

FRAME = 1 / 60
PONG = new_game("pong", points=3)


@pytest.fixture(scope="module")
def played() -> tuple[MatchSpec, MatchResult, list[int]]:
    bots = {agent.id: agent for agent in KINDS.get("pong-bot").samples(PONG)}
    spec = MatchSpec("m", PONG.spec, (bots["Tracker"], bots["Shaky"]), 4)
    with SequentialMatchExecutor(1) as executor:
        result = executor.execute_match(spec)
    actions = unpack(result.actions, bits_for(PONG.info.actions)).tolist()
    assert result.steps > 600
    return spec, result, actions[: result.steps * 2]


class Stub(LiveMatch):
    """A live match that is played by the test."""

    def __init__(self, spec: MatchSpec) -> None:
        super().__init__(spec, 60.0, lambda live, words: None, lambda live: None)


def growing(played: tuple[MatchSpec, MatchResult, list[int]], steps: int = 0) -> tuple[MatchPlayer, Stub, list[int]]:
    """A live match with this many steps, and the actions that are still to come."""
    spec, _, actions = played
    live = Stub(spec)
    live.add(actions[: 2 * steps])
    return MatchPlayer(spec, "live", live=live), live, actions[2 * steps :]


def test_a_match_of_a_human_player_that_is_lost_waits_to_begin_again(
    played: tuple[MatchSpec, MatchResult, list[int]],
) -> None:
    spec, _, actions = played
    spec = replace(spec, players=(spec.players[0], person()))
    live = Stub(spec)
    live.add(actions[:200])
    player = MatchPlayer(spec, "live", live=live)
    player.advance(10.0)
    assert (player.steps > 0, player.begins_again) == (True, False)
    live.begin_again()
    player.advance(FRAME)
    assert (player.steps, player.step, player.paused, player.begins_again) == (0, 0, True, True)
    live.resume()
    live.add(actions[:20])
    player.advance(FRAME)
    assert (player.steps > 0, player.paused, player.begins_again) == (True, False, False)


def replaying(played: tuple[MatchSpec, MatchResult, list[int]]) -> MatchPlayer:
    spec, result, _ = played
    return MatchPlayer(spec, playback=verified(spec, result), result=result)


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_replay_runs_at_the_pace_of_its_game_times_the_speed(
    played: tuple[MatchSpec, MatchResult, list[int]], speed: float
) -> None:
    player = replaying(played)
    player.speed = speed
    for _ in range(30):
        player.advance(FRAME)
    assert player.step == pytest.approx(min(30 * speed, player.steps), abs=1)


def test_a_replay_ends_and_begins_again_when_it_is_played(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    player = replaying(played)
    assert (player.badge, player.step, player.moving) == ("REPLAY", 0, True)
    player.advance(1e6)
    assert (player.step, player.at_end, player.moving, player.paused) == (played[1].steps, True, False, True)
    assert player.playback.stats() == played[1].stats
    player.play()
    player.advance(FRAME)
    assert (player.step, player.moving) == (1, True)


def test_steps_and_jumps_stay_within_the_match(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    player = replaying(played)
    player.step_by(-1)
    assert (player.step, player.paused) == (0, True)
    player.step_by(5)
    player.step_by(-2)
    assert player.step == 3
    player.advance(10.0)
    assert player.step == 3, "stepping stops playback"
    player.seek(10**9)
    assert player.step == player.steps
    player.seek(-4)
    assert player.step == 0


def test_a_match_that_is_played_again_alike_is_shown_without_a_break(
    played: tuple[MatchSpec, MatchResult, list[int]],
) -> None:
    player, live, _ = growing(played, 60)
    player.advance(FRAME)
    player.follow()
    live.play_again()
    live.add(played[2][:70])
    player.advance(FRAME)
    assert (player.step, player.steps) == (60, 60), "nothing new was played yet"
    live.add(played[2][70:])
    live.end(played[1])
    while not player.complete:
        player.advance(FRAME)
    assert (player.steps, live.restarts, player.error) == (played[1].steps, 0, "")


def test_a_match_that_takes_another_course_is_shown_from_its_start(
    played: tuple[MatchSpec, MatchResult, list[int]],
) -> None:
    _, result, actions = played
    player, live, _ = growing(played)
    live.add([(action + 1) % 3 for action in actions[:40]])
    player.advance(FRAME)
    player.follow()
    assert player.steps == 20
    live.play_again()
    live.add(actions[:2])
    assert (live.restarts, live.actions_since(0)) == (1, actions[:2])
    live.add(actions[2:])
    live.end(result)
    while not player.complete:
        player.advance(FRAME)
    player.follow()
    assert (player.steps, player.playback.scores(), player.error) == (result.steps, result.scores, "")


def test_scores_are_marked_alike_live_and_replayed(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    player, live, _ = growing(played, played[1].steps)
    live.end(played[1])
    while not player.complete:
        player.advance(FRAME)
    assert len(player.marks) == sum(played[1].scores) == len(replaying(played).marks)
    assert player.marks == replaying(played).marks


def test_a_live_match_is_followed_closely_and_evenly(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    player, live, rest = growing(played)
    seen = []
    for frame in range(120):
        if frame % 3 == 0:  # steps arrive three at a time
            live.add(rest[frame * 2 : frame * 2 + 6])
        player.advance(FRAME)
        seen.append(player.step)
    assert player.badge == "LIVE"
    assert player.following
    assert player.steps - player.step <= 6
    assert max(after - before for before, after in pairwise(seen[12:])) <= 2, "steps are shown evenly"


def test_playback_catches_up_smoothly(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    player, live, rest = growing(played, 180)
    seen = []
    for frame in range(240):
        live.add(rest[frame * 2 : frame * 2 + 2])
        player.advance(FRAME)
        seen.append(player.step)
    assert seen[0] <= FASTEST, "playback begins at the start"
    assert max(after - before for before, after in pairwise(seen)) <= FASTEST + 1
    assert player.steps - player.step < 12


def test_playback_far_behind_jumps_to_the_newest_step(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    player, live, rest = growing(played, 100)
    player.advance(FRAME)
    live.add(rest[:4])
    player.speed = SPEEDS[0]  # a hundred steps take longer than TOO_FAR now
    for _ in range(10):
        player.advance(5.0)
    assert player.step == player.steps == 102


def test_new_actions_are_received_while_scrubbing_back(
    played: tuple[MatchSpec, MatchResult, list[int]],
) -> None:
    player, live, rest = growing(played, 200)
    player.follow()
    player.advance(FRAME)
    player.step_by(-100)
    at = player.step
    live.add(rest[:200])
    for _ in range(20):
        player.advance(FRAME)
    assert (player.step, player.steps, player.following) == (at, 300, False)
    player.play()
    player.advance(0.5)
    assert player.step == pytest.approx(at + 30, abs=1), "it plays on from there"
    for _ in range(20):
        player.advance(0.5)
    assert (player.step, player.following) == (300, True), "until it has caught up"
    player.step_by(-5)
    player.follow()
    assert (player.step, player.following) == (300, True)


def test_the_result_is_known_only_after_all_actions(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    player, live, rest = growing(played, 10)
    live.add(rest)
    live.end(played[1])
    assert player.result is None
    assert not player.complete
    player.skip()
    for _ in range(1000):
        player.advance(FRAME)
        if player.complete:
            break
    assert player.result == played[1]
    assert player.at_end
    assert (player.playback.scores(), player.playback.stats()) == (played[1].scores, played[1].stats)
    player.step_by(-1)
    assert player.badge == "REPLAY"


def test_a_paused_match_has_a_badge(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    player, live, _ = growing(played, 10)
    player.follow()
    player.advance(FRAME)
    live.pause()
    assert (player.badge, player.paused, player.idle_seconds) == ("PAUSED", True, 0.0)
    live.resume()
    assert (player.badge, player.paused) == ("LIVE", False)
    assert MatchPlayer(played[0], "exhibition", live=Stub(played[0])).badge == "EXHIBITION"


@pytest.mark.parametrize("nonsense", [[7], [0, 1, -5], [None], ["up"], [10**30, 0]])
def test_invalid_actions_are_reported_and_stop_playback(
    played: tuple[MatchSpec, MatchResult, list[int]], nonsense: list[int]
) -> None:
    player, live, _ = growing(played, 20)
    player.advance(FRAME)
    player.follow()
    live.add(nonsense)
    live.add([0, 0])
    player.advance(FRAME)
    assert "not valid" in player.error
    assert not player.moving
    at = player.step
    live.add([0, 0, 0, 0])
    assert player.advance(1.0) is False
    assert player.step == at
    player.step_by(-3)
    assert player.step == at - 3, "earlier steps can still be shown"


def test_taking_over_gets_the_actions_of_the_seat_so_far(played: tuple[MatchSpec, MatchResult, list[int]]) -> None:
    player = replaying(played)
    player.seek(50)
    assert player.actions_of(1) == played[2][1:100:2]
    assert player.legal_actions(0) == [], "it is over"
    fresh, _, _ = growing(played)
    assert fresh.legal_actions(0) == [0, 1, 2]


def test_a_different_result_does_not_change_the_shown_steps(
    played: tuple[MatchSpec, MatchResult, list[int]],
) -> None:
    player, live, _ = growing(played, 30)
    live.end(replace(played[1], steps=30))
    for _ in range(100):
        player.advance(FRAME)
    assert (player.at_end, player.step) == (True, 30)
