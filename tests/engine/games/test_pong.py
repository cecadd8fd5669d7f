"""Pong: symmetry, no tunnelling, speed bounds, serves, statistics, scenes, and rallies that end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadValue
from engine.games.pong.game import (
    BOUNCE,
    DOWN,
    GOAL_X,
    RADIUS,
    SPEED_UP,
    STATS,
    STAY,
    UP,
    WALL_Y,
    Pong,
    PongBoards,
    PongOptions,
)
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import EndingKind, MatchResult, MatchSpec
from engine.registry import KINDS, new_game
from engine.scene import Circle, Rect

ONE = np.array([0], np.uint32)
SEEDS = st.integers(0, 2**64 - 1)
OPTIONS = st.builds(
    lambda height, pace, serve, more: PongOptions(
        points=99, paddle_height=height, paddle_speed=pace, serve_speed=serve, top_speed=min(serve + more, 60.0)
    ),
    st.floats(20, 300),
    st.floats(0.5, 60),
    st.floats(1, 60),
    st.floats(0, 40),
)
ACTIONS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 60)), min_size=1, max_size=60)


def dealt(options: PongOptions, seed: int, start: str | None = None, lanes: int = 1) -> PongBoards:
    boards = Pong(options).boards(lanes)
    boards.deal(np.arange(lanes, dtype=np.uint32), np.full(lanes, seed, np.uint64), [start] * lanes)
    return boards


def spread(plan: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Pairs of actions, each held for some steps, so that paddles reach the walls."""
    return [(left, right) for left, right, steps in plan for _ in range(steps)]


def step(boards: PongBoards, left: int, right: int) -> None:
    boards.apply(ONE, np.array([[left, right]], np.int64))


def perfect(boards: PongBoards, seat: int) -> int:
    """Follows the ball."""
    off = boards.records[0]["paddle"][seat] - boards.records[0]["y"]
    return UP if off > 2 else DOWN if off < -2 else STAY


@given(OPTIONS, SEEDS, ACTIONS)
@settings(max_examples=60)
def test_mirrored_seats_give_a_mirrored_match_to_the_bit(options: PongOptions, seed: int, plan: list) -> None:
    straight, mirrored = dealt(options, seed, "left"), dealt(options, seed, "right")
    for left, right in spread(plan):
        step(straight, left, right)
        step(mirrored, right, left)
        a, b = straight.records[0], mirrored.records[0]
        assert (a["x"], a["y"], a["vx"], a["vy"]) == (-b["x"], b["y"], -b["vx"], b["vy"])
        assert a["paddle"].tolist() == b["paddle"].tolist()[::-1]
        assert a["score"].tolist() == b["score"].tolist()[::-1]
    assert straight.stats(ONE)[0].tolist() == mirrored.stats(ONE)[0].tolist()[::-1]
    seen = np.zeros((2, 8), np.float32)
    straight.observe(np.array([0], np.uint32), np.array([0], np.uint32), seen[:1])
    mirrored.observe(np.array([0], np.uint32), np.array([1], np.uint32), seen[1:])
    assert seen[0].tobytes() == seen[1].tobytes()


@given(OPTIONS, SEEDS, ACTIONS)
@settings(max_examples=60)
def test_the_ball_passes_through_neither_paddle_nor_wall(options: PongOptions, seed: int, plan: list) -> None:
    boards = dealt(options, seed)
    half = options.paddle_height / 2
    for left, right in spread(plan):
        before = boards.records[0].copy()
        if before["over"]:
            break
        step(boards, left, right)
        after = boards.records[0]
        assert abs(after["x"]) <= GOAL_X
        assert abs(after["y"]) <= WALL_Y
        reach = before["x"] + before["vx"]
        if abs(reach) <= GOAL_X:
            assert after["score"].tolist() == before["score"].tolist(), "a point far from any goal"
            continue
        seat = int(reach > 0)
        when = (math.copysign(GOAL_X, reach) - before["x"]) / before["vx"]
        height = before["y"] + before["vy"] * when
        height = -2 * WALL_Y - height if height < -WALL_Y else 2 * WALL_Y - height if height > WALL_Y else height
        met = abs(height - after["paddle"][seat]) <= half + RADIUS
        assert after["hits"][seat] == before["hits"][seat] + met
        assert after["score"][1 - seat] == before["score"][1 - seat] + (not met)
        if met:
            assert (after["vx"] < 0) == (reach > 0), "hit, but not reflected"


@given(OPTIONS, SEEDS, st.integers(1, 400))
@settings(max_examples=40)
def test_speed_stays_within_its_bounds_and_grows_by_each_hit(options: PongOptions, seed: int, steps: int) -> None:
    boards = dealt(options, seed)
    for _ in range(steps):
        before = boards.records[0].copy()
        step(boards, perfect(boards, 0), perfect(boards, 1))
        now = boards.records[0]
        assert math.hypot(now["vx"], now["vy"]) == pytest.approx(now["speed"], rel=1e-12)
        assert options.serve_speed <= now["speed"] <= options.top_speed
        if now["hits"].sum() > before["hits"].sum():
            assert now["speed"] == min(before["speed"] * SPEED_UP, options.top_speed)
            assert abs(now["vy"]) <= BOUNCE * now["speed"] + 1e-9
        edge = 300 - options.paddle_height / 2
        assert np.all(np.abs(now["paddle"]) <= edge)
        assert np.all(np.abs(now["paddle"] - before["paddle"]) <= options.paddle_speed + 1e-9)


def test_the_contact_point_determines_the_direction_of_the_ball() -> None:
    directions = []
    for offset in (-40.0, 0.0, 40.0):
        boards = dealt(PongOptions(), 1, "left")
        boards.records[0]["y"], boards.records[0]["vx"], boards.records[0]["vy"] = 0.0, -7.0, 0.0
        boards.records[0]["paddle"][0] = -offset
        for _ in range(60):
            step(boards, STAY, STAY)
        directions.append(float(boards.records[0]["vy"]))
    up, straight, down = directions
    assert up < 0
    assert straight == 0
    assert down > 0


def test_serves_alternate_and_their_angle_is_drawn_for_the_match() -> None:
    def serves(seed: int, start: str | None) -> list[tuple[bool, float]]:
        boards = dealt(PongOptions(points=99, paddle_height=20.0), seed, start)
        boards.records[0]["paddle"][:] = -290
        seen = []
        for _ in range(6):
            seen.append((bool(boards.records[0]["vx"] > 0), float(boards.records[0]["vy"])))
            served = int(boards.records[0]["serves"])
            while boards.records[0]["serves"] == served:
                boards.records[0]["paddle"][:] = math.copysign(290, -boards.records[0]["y"])
                step(boards, STAY, STAY)
        return seen

    first = serves(1, None)
    assert [right for right, _ in first] == [first[0][0], not first[0][0]] * 3
    assert len({angle for _, angle in first}) == 6
    assert first == serves(1, None)
    assert first != serves(2, None)
    assert serves(1, "left")[0][0] is False
    assert serves(1, "right")[0][0] is True
    sides = {bool(dealt(PongOptions(), seed).records[0]["vx"] > 0) for seed in range(20)}
    assert sides == {True, False}, "the side of the first serve is drawn too"


def play(left: str, right: str, count: int, **options: object) -> list[MatchResult]:
    game = new_game("pong", **options)
    agents = {agent.id: agent for agent in KINDS.get("pong-bot").samples(game)}
    specs = [MatchSpec(f"{n}", game.spec, (agents[left], agents[right]), n) for n in range(count)]
    with SequentialMatchExecutor() as executor:
        return executor.execute_matches(specs)


def test_two_predictors_do_not_rally_forever() -> None:
    results = play("Predictor", "Predictor", 200)
    finished = [result for result in results if result.ending.kind is EndingKind.FINISHED]
    assert len(finished) >= 190
    assert {result.ranks for result in finished} == {(1, 2), (2, 1)}


def test_two_players_that_never_miss_are_stopped_by_the_step_limit() -> None:
    results = play("Predictor", "Predictor", 3, paddle_speed=60.0, step_limit=4000)
    assert {(result.ending.kind, result.steps, result.ranks) for result in results} == {
        (EndingKind.STEP_LIMIT, 4000, (1, 1))
    }


def test_the_first_to_reach_the_points_wins() -> None:
    for result in play("Tracker", "Random", 20, points=3):
        assert max(result.scores) == 3
        assert result.ranks == ((1, 2) if result.scores[0] == 3 else (2, 1))


def test_statistics_match_the_events() -> None:
    boards = dealt(PongOptions(points=99), 4)
    hits, contacts, speeds, moved, rally, longest = [0, 0], [[], []], [[], []], [0.0, 0.0], 0, 0
    for number in range(4000):
        before = boards.records[0].copy()
        step(boards, perfect(boards, 0), perfect(boards, 1) if number % 900 < 700 else STAY)
        now = boards.records[0]
        for seat in range(2):
            moved[seat] += abs(now["paddle"][seat] - before["paddle"][seat])
            if now["hits"][seat] > before["hits"][seat]:
                hits[seat] += 1
                rally += 1
                contacts[seat].append(now["contact"][seat] - before["contact"][seat])
                speeds[seat].append(float(before["speed"]))
        longest = max(longest, rally)
        if now["score"].sum() > before["score"].sum():
            rally = 0
    stats = [dict(zip(STATS, row, strict=True)) for row in boards.stats(ONE)[0].tolist()]
    assert sum(hits) > 20
    assert boards.records[0]["score"].sum() > 0
    for seat in range(2):
        assert stats[seat]["hits"] == hits[seat]
        assert stats[seat]["misses"] == boards.records[0]["score"][1 - seat]
        assert stats[seat]["distance"] == pytest.approx(moved[seat])
        assert stats[seat]["contact_mean"] == pytest.approx(np.mean(contacts[seat]))
        assert stats[seat]["contact_spread"] == pytest.approx(np.std(contacts[seat]))
        assert stats[seat]["contact_speed"] == pytest.approx(np.mean(speeds[seat]))
        assert stats[seat]["longest_rally"] == longest


def test_reaction_is_the_time_from_the_opponents_hit_to_the_first_move() -> None:
    boards = dealt(PongOptions(points=99), 4, "left")
    waits: list[int] = []
    since = None
    for _ in range(3000):
        before = boards.records[0]["hits"].tolist()
        # the right paddle waits nine steps after the left one's hit
        right = STAY if since is not None and since < 9 else perfect(boards, 1)
        moving = right != STAY
        if since is not None and moving:
            waits.append(since)
            since = None
        elif since is not None:
            since += 1
        step(boards, perfect(boards, 0), right)
        if boards.records[0]["hits"][0] > before[0]:
            since = 0
        if boards.records[0]["hits"][1] > before[1] or boards.records[0]["rally"] == 0:
            since = None  # it hit the ball without moving, or the rally ended
    assert len(waits) > 5
    assert min(waits) >= 9
    assert boards.stats(ONE)[0, 1, STATS.index("reaction")] == pytest.approx(np.mean(waits))


def test_observations_are_as_documented() -> None:
    boards = dealt(PongOptions(), 1)
    board = boards.records[0]
    board["x"], board["y"], board["vx"], board["vy"] = 200.0, -150.0, -9.0, 12.0
    board["paddle"] = (30.0, -90.0)
    seen = np.zeros((2, 8), np.float32)
    boards.observe(np.array([0, 0], np.uint32), np.array([0, 1], np.uint32), seen)
    assert seen[0].tolist() == pytest.approx([0.1, 0.5, -0.5, -0.6, 0.8, 0.3, 1.0, -0.3], abs=1e-6)
    assert seen[1].tolist() == pytest.approx([-0.3, -0.5, -0.5, 0.6, 0.8, 0.1, 0.0, 0.1], abs=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"points": 0}, "points = 0: must be from 1 to 99"),
        ({"points": 100}, "points = 100"),
        ({"paddle_height": 400.0}, "paddle_height = 400.0"),
        ({"paddle_speed": 0.0}, "paddle_speed = 0.0"),
        ({"serve_speed": 20.0}, "top_speed = 15.0: must be at least serve_speed"),
        ({"step_limit": 1}, "step_limit = 1"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(BadValue, match=words.replace("(", r"\(")):
        new_game("pong", **options)


def test_options_are_validated_when_created_directly() -> None:
    with pytest.raises(BadValue, match="points = 0"):
        PongOptions(points=0)


def test_a_bad_start_is_named() -> None:
    with pytest.raises(BadValue, match="start = 'middle'"):
        new_game("pong").check_start("middle")


def test_the_scene_shows_both_paddles_and_a_ball_with_its_trail() -> None:
    boards = dealt(PongOptions(), 3)
    while boards.records[0]["hits"].sum() == 0:
        step(boards, perfect(boards, 0), perfect(boards, 1))
    step(boards, STAY, STAY)
    scene = boards.scene(0)
    paddles = [item for item in scene.items if isinstance(item, Rect)]
    balls = [item for item in scene.items if isinstance(item, Circle)]
    assert [paddle.colour for paddle in paddles] == ["4A9BFF", "FF7A33"]
    assert len(balls) == 9, "a ball and eight frames of its trail, on both sides of a hit"
    assert balls[-1].alpha == 1.0
    assert all(0 <= ball.x <= scene.aspect and 0 <= ball.y <= 1 for ball in balls)
    assert "step" in scene.caption


def test_the_trail_is_where_the_ball_was() -> None:
    boards = dealt(PongOptions(), 3)
    places = []
    for _ in range(1500):
        places.append((float(boards.records[0]["x"]), float(boards.records[0]["y"])))
        serves = int(boards.records[0]["serves"])
        step(boards, perfect(boards, 0), perfect(boards, 1))
        if boards.records[0]["serves"] != serves:
            places.clear()
        trail = [item for item in boards.scene(0).items if isinstance(item, Circle)][:-1]
        shown = [(item.x * 600 - 400, item.y * 600 - 300) for item in trail]
        assert np.allclose(shown, places[-len(shown) :] if shown else [], atol=1e-6)
