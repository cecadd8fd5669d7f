"""Treasure Hunt: its rules one by one and against a second implementation, observations, drawing and errors."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.scripted.treasure_hunt import Bot, agent
from engine.checks import check_game
from engine.errors import BadValue
from engine.games.treasure_hunt.game import (
    DOWN,
    EMPTY,
    GEM,
    LEFT,
    RIGHT,
    SEAT,
    STATS,
    UP,
    WALL,
    TreasureHunt,
    TreasureHuntBoards,
    TreasureHuntOptions,
)
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import EndingKind, MatchSpec
from engine.registry import new_game
from engine.scene import Circle, Polygon, Rect, Text
from tests.benchmarks import plain_hunt

ONE = np.array([0], np.uint32)
OPTIONS = st.builds(
    TreasureHuntOptions,
    seats=st.integers(2, 10),
    width=st.integers(4, 12),
    height=st.integers(4, 12),
    gem_chance=st.sampled_from([0.0, 0.02, 0.3, 1.0]),
    pillars=st.sampled_from([0.0, 0.06, 0.2]),
    radius=st.integers(1, 6),
    frames=st.integers(1, 4),
)


def dealt(options: TreasureHuntOptions, seed: int = 1, lanes: int = 1) -> TreasureHuntBoards:
    boards = TreasureHunt(options).boards(lanes)
    boards.deal(np.arange(lanes, dtype=np.uint32), np.arange(seed, seed + lanes, dtype=np.uint64), [None] * lanes)
    return boards


def arranged(picture: str, **more: object) -> TreasureHuntBoards:
    """A board as drawn: . empty, # wall, * gem, digits seats; gems never appear by themselves."""
    rows = picture.split()
    seats = sum(letter.isdigit() for row in rows for letter in row)
    own = {"seats": seats, "width": len(rows[0]), "height": len(rows), "gem_chance": 0.0, "pillars": 0.0, **more}
    boards = dealt(TreasureHuntOptions(**own))  # type: ignore[arg-type]
    for at, letter in zip(boards.arrays.inner, "".join(rows), strict=True):
        boards._cells[0, at] = SEAT + int(letter) - 1 if letter.isdigit() else {".": EMPTY, "#": WALL, "*": GEM}[letter]
        if letter.isdigit():
            boards._positions[0, int(letter) - 1] = at
    return boards


def drawn(boards: TreasureHuntBoards, width: int) -> list[str]:
    letters = "".join(
        ".#*"[what] if what < SEAT else str(what - SEAT + 1) for what in boards._cells[0][boards.arrays.inner]
    )
    return [letters[at : at + width] for at in range(0, len(letters), width)]


def go(boards: TreasureHuntBoards, *actions: int) -> None:
    boards.apply(ONE, np.array([actions], np.int64))


def seen(boards: TreasureHuntBoards, seat: int, planes: int = 3, side: int = 5) -> np.ndarray:
    out = np.full((1, planes, side, side), np.nan, np.float32)
    boards.observe(ONE, np.array([seat], np.uint32), out)
    return out[0]


@given(OPTIONS, st.integers(0, 2**64 - 1), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_kernels_and_plain_python_play_the_same_turns(options: TreasureHuntOptions, seed: int, luck: int) -> None:
    boards, plain = TreasureHunt(options).boards(1), plain_hunt.Hunt(options, seed)
    boards.deal(ONE, np.array([seed], np.uint64), [None])
    side = 2 * options.radius + 1
    for turn in range(12):
        for seat in range(options.seats):
            mine = seen(boards, seat, 3 * options.frames, side).reshape(3 * options.frames, -1)
            assert mine.tolist() == plain.observe(seat), f"seat {seat}, turn {turn}"
        actions = np.random.default_rng(luck + turn).integers(0, 4, options.seats).tolist()
        go(boards, *actions)
        plain.advance(actions)
        assert boards.scores()[0].tolist() == [plain.treasure(seat) for seat in range(options.seats)]
        assert boards.stats(ONE)[0].tolist() == [list(plain.stats(seat)) for seat in range(options.seats)]


def test_whole_matches_of_random_players_are_those_of_plain_python() -> None:
    options = TreasureHuntOptions(seats=5, turns=60)
    game, anyone = TreasureHunt(options), agent("Anyone", Bot("random", hold=1))
    specs = [MatchSpec(str(seed), game.spec, (anyone,) * 5, seed) for seed in range(4)]
    with SequentialMatchExecutor(3) as executor:
        results = executor.execute_matches(specs)
    for spec, result in zip(specs, results, strict=True):
        found = (result.scores, result.steps, result.stats, result.actions)
        assert found == plain_hunt.play(options, spec.seed)
        assert result.ending.kind is EndingKind.FINISHED


def test_a_collected_gem_scores_ten_and_disappears() -> None:
    boards = arranged("1*..  ....  ....  ...2")
    go(boards, RIGHT, UP)
    assert boards.scores()[0].tolist() == [10, 0]
    assert drawn(boards, 4) == [".1..", "....", "...2", "...."]
    assert dict(zip(STATS, boards.stats(ONE)[0, 0], strict=True)) == {
        "gems": 1, "bumps": 0, "distance": 1, "contested": 0,
    }  # fmt: skip


def test_a_wall_costs_one_at_the_edge_and_within() -> None:
    boards = arranged("1#..  ....  ....  ...2")
    go(boards, RIGHT, DOWN)
    go(boards, UP, RIGHT)
    assert boards.scores()[0].tolist() == [-2, -2]
    assert drawn(boards, 4)[0][0] == "1"
    assert boards.stats(ONE)[0, :, :3].tolist() == [[0, 2, 0], [0, 2, 0]]


def test_seats_never_share_a_cell_and_blocking_costs_nothing() -> None:
    boards = arranged("12..  ....  ....  ....")
    go(boards, RIGHT, LEFT)
    assert drawn(boards, 4)[0] == "12.."
    assert boards.scores()[0].tolist() == [0, 0]
    assert boards.stats(ONE)[0, :, 2].tolist() == [0, 0]


def test_two_seats_at_one_gem_are_first_equally_often() -> None:
    won = Counter()
    for seed in range(400):
        boards = arranged("1*2.  ....  ....  ....")
        boards._lanes["seed"] = seed
        go(boards, RIGHT, LEFT)
        won[tuple(boards.scores()[0].tolist())] += 1
        assert boards.stats(ONE)[0, :, 3].sum() == 1, "contested: another seat stood beside it"
    assert set(won) == {(10, 0), (0, 10)}
    assert 150 < won[10, 0] < 250


def test_three_seats_at_one_gem_are_first_equally_often() -> None:
    first = Counter()
    for seed in range(900):
        boards = arranged(".1...  2*3..  .....  .....")
        boards._lanes["seed"] = seed
        go(boards, DOWN, RIGHT, LEFT)
        first[int(np.argmax(boards.scores()[0]))] += 1
    assert all(230 < first[seat] < 370 for seat in range(3)), first


@pytest.mark.parametrize("seats", [2, 5, 10])
def test_the_move_order_is_uniform(seats: int) -> None:
    """Uses the plain version, which other tests compare with the kernels."""
    hunt, count = plain_hunt.Hunt(TreasureHuntOptions(seats=seats), 3), np.zeros((seats, seats))
    turns = 400 * seats
    for hunt.turn in range(turns):
        for place, seat in enumerate(hunt.order()):
            count[place, seat] += 1
    expected = turns / seats
    freedom = (seats - 1) ** 2
    assert ((count - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom) + 5


def test_gems_appear_on_each_cell_with_the_same_probability() -> None:
    options = TreasureHuntOptions(seats=2, width=20, height=20, pillars=0.0, gem_chance=0.05)
    boards = dealt(options, lanes=200)
    count = (boards._cells == GEM).sum(axis=1)
    assert abs(count.mean() - 0.05 * 398) < 4 * count.std() / np.sqrt(200)
    where = (boards._cells == GEM)[:, boards.arrays.inner].mean(axis=0)
    assert where.max() < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 200), "no cell is favoured"


def test_gems_appear_with_the_same_probability_in_later_turns() -> None:
    options = TreasureHuntOptions(seats=2, width=20, height=20, pillars=0.0, gem_chance=0.05)
    boards = dealt(options, lanes=200)
    every = np.arange(200, dtype=np.uint32)
    came: list[np.ndarray] = []
    for _ in range(6):
        boards._cells[boards._cells == GEM] = EMPTY  # so that gems can appear on every cell again
        boards.apply(every, np.full((200, 2), UP))
        came.append((boards._cells == GEM)[:, boards.arrays.inner])
        count = came[-1].sum(axis=1)
        assert abs(count.mean() - 0.05 * 398) < 4 * count.std() / np.sqrt(200)
    where = np.mean(came, axis=(0, 1))
    assert where.max() < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 1200), "no cell is favoured"
    for earlier, later in itertools.pairwise(came):
        both = (earlier & later).mean()
        assert abs(both - 0.05**2) < 5 * np.sqrt(0.05**2 / earlier.size), "turns are independent"


def test_a_gem_stays_until_it_is_collected() -> None:
    boards = arranged("1...  ....  .*..  ...2")
    for _ in range(5):
        go(boards, UP, DOWN)
    assert drawn(boards, 4)[2] == ".*.."


@pytest.mark.parametrize(("width", "height"), [(4, 4), (4, 12), (5, 4), (7, 6), (9, 7), (12, 4), (12, 12)])
@pytest.mark.parametrize("pillars", [0.06, 0.2])
def test_pillars_never_touch_and_cut_off_no_cell(width: int, height: int, pillars: float) -> None:
    boards = dealt(TreasureHuntOptions(2, width, height, pillars=pillars, gem_chance=0.0), lanes=200)
    walls = boards._cells[:, boards.arrays.inner].reshape(200, height, width) == WALL
    assert walls.any((1, 2)).all()
    assert walls[:, 0].any()
    assert walls[:, :, 0].any()
    assert walls[:, 0, 0].any()  # in corners, too
    for y, x in ((0, 1), (1, 0), (1, 1)):
        assert not (walls[:, y:, x:] & walls[:, : height - y, : width - x]).any()
    assert not (walls[:, 1:, :-1] & walls[:, :-1, 1:]).any()
    reached = np.zeros_like(walls)
    for grid, free in zip(reached, ~walls, strict=True):
        grid[tuple(np.argwhere(free)[0])] = True
    for _ in range(width * height):  # one more step per iteration
        reached[:, 1:] |= reached[:, :-1]
        reached[:, :-1] |= reached[:, 1:]
        reached[:, :, 1:] |= reached[:, :, :-1]
        reached[:, :, :-1] |= reached[:, :, 1:]
        reached &= ~walls
    assert (reached == ~walls).all()


def test_a_seat_observes_gems_walls_and_other_seats_but_not_itself() -> None:
    boards = arranged("#..*  .12.  ....  ....")
    gems, walls, others = seen(boards, 0)
    assert gems.tolist()[1][4] == 1
    assert gems.sum() == 1
    assert others.tolist()[2][3] == 1
    assert others.sum() == 1
    assert walls[:, 0].tolist() == [1] * 5, "outside the grid there are walls"
    assert walls.sum() == 5 + 4 + 1


def test_older_frames_follow_the_newest_and_are_empty_at_first() -> None:
    boards = arranged("1*..  ....  ....  ...2", frames=3, radius=1)
    first = seen(boards, 0, 9, 3)
    assert not first[3:].any()
    go(boards, RIGHT, UP)
    second = seen(boards, 0, 9, 3)
    assert second[3:6].tolist() == first[:3].tolist()
    assert not second[6:].any()
    go(boards, DOWN, UP)
    third = seen(boards, 0, 9, 3)
    assert third[3:].tolist() == second[:6].tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"seats": 10, "width": 4, "height": 4, "pillars": 0.2, "turns": 20, "frames": 3},
        {"seats": 2, "width": 64, "height": 5, "gem_chance": 1.0, "turns": 5, "radius": 6},
    ],
)
def test_extreme_options_pass_the_checks(options: dict[str, object]) -> None:
    check_game(new_game("treasure-hunt", **options), matches=2)


@pytest.mark.parametrize(
    ("name", "value"),
    [("seats", 1), ("seats", 11), ("width", 65), ("height", 3), ("gem_chance", 1.5), ("radius", 0), ("frames", 0),
     ("turns", 0), ("pillars", 0.5), ("gem_chance", float("nan"))],
)  # fmt: skip
def test_an_option_out_of_range_is_named(name: str, value: object) -> None:
    with pytest.raises(BadValue, match=f"{name} = {value}"):
        new_game("treasure-hunt", **{name: value})


def test_a_given_start_is_refused() -> None:
    with pytest.raises(BadValue, match="start = 'left'"):
        new_game("treasure-hunt").check_start("left")


def test_the_picture_shows_tiles_gems_and_a_numbered_shape_for_every_seat() -> None:
    boards = arranged("1*..  #.2.  ....  ....")
    scene = boards.scene(0)
    assert sum(isinstance(item, Rect) for item in scene.items) == 16 + 1, (
        "a tile for each cell, and the top of a pillar"
    )
    assert sum(isinstance(item, Polygon) and item.colour == "FFD24D" for item in scene.items) == 1
    assert [item.text for item in scene.items if isinstance(item, Text)] == ["1", "2"]
    shapes = [
        item for item in scene.items if isinstance(item, Circle | Polygon) and item.colour in ("4A9BFF", "FF7A33")
    ]
    assert [type(item) for item in shapes] == [Circle, Polygon]
    assert scene.caption == "Treasure Hunt, turn 0 of 200: 0, 0; 1 gem left"


def test_a_large_board_is_drawn_with_few_items() -> None:
    scene = dealt(TreasureHuntOptions(seats=2, width=64, height=64, gem_chance=0.0, pillars=0.0)).scene(0)
    assert len(scene.items) < 150


def test_ten_seats_look_different_without_their_colours() -> None:
    scene = dealt(TreasureHuntOptions(seats=10, gem_chance=0.0, pillars=0.0)).scene(0)
    looks: list[tuple[int, ...]] = [()]  # corners of the shapes of each seat; a hollow one is drawn as two
    for item in scene.items:
        if isinstance(item, Text):
            assert item.text == str(len(looks))
            looks.append(())
        elif not isinstance(item, Rect):
            looks[-1] += (len(getattr(item, "points", ())),)
    assert len(set(looks[:10])) == 10
