"""The scripted treasure hunters: different in strength, knowing where they are, and the same everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from agents.scripted.treasure_hunt import KIND, SAMPLES, Bot, HunterPilot, agent, parse_bot
from engine.errors import RingsideError
from engine.game import Views
from engine.registry import new_game
from tests.agents.scripted.plain_hunters import PlainHunter
from tests.agents.scripted.strength import share


@pytest.mark.parametrize(
    ("better", "worse"), [("Squirrel", "Magpie"), ("Magpie", "Badger"), ("Badger", "Drifter"), ("Squirrel", "Badger")]
)
def test_each_hunter_beats_the_next_one(better: str, worse: str) -> None:
    mean, error = share(KIND, "treasure-hunt", better, worse, pairs=200, seats=2)
    assert mean - 3 * error > 0.5, f"{better} scores {mean:.3f} +- {error:.3f} against {worse}"


def test_each_style_has_a_sample_with_its_name_as_id() -> None:
    assert [agent.id for agent in KIND.samples(new_game("treasure-hunt"))] == list(SAMPLES)
    assert {bot.style for bot in SAMPLES.values()} == {"random", "greedy", "memory", "territorial"}


def walk(bots: list[Bot], turns: int, **options: object) -> tuple[HunterPilot, list[tuple[int, int]]]:
    """The pilot after so many turns on one board, and how far each seat truly is from where it began."""
    game = new_game("treasure-hunt", seats=len(bots), turns=turns + 1, **options)
    boards, pilot, n = game.boards(1), HunterPilot(game, len(bots)), len(bots)
    lane, seats = np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32)
    boards.deal(lane[:1], np.array([4], np.uint64), [None])
    agents = np.array([pilot.load(agent(str(k), bot)) for k, bot in enumerate(bots)], np.uint32)
    pilot.begin(seats, agents, np.arange(n, dtype=np.uint64))
    began = boards._positions[0, :, 0].astype(int)
    out = np.zeros((n, *game.info.observation), np.float32)
    for turn in range(turns):
        rows = np.stack([seats, lane, seats, agents, np.full(n, turn, np.uint32)])
        boards.apply(lane[:1], pilot.act(Views(boards, rows, out, None))[None])
    rows = np.stack([seats, lane, seats, agents, np.full(n, turns, np.uint32)])
    pilot.act(Views(boards, rows, out, None))
    stride = int(boards.arrays.rules[0]["stride"])
    now = boards._positions[0, :, 0].astype(int)
    return pilot, [(b % stride - a % stride, b // stride - a // stride) for a, b in zip(began, now, strict=True)]


def test_a_hunter_with_memory_counts_its_steps_in_a_crowd() -> None:
    """On a crowded board, where players block each other."""
    pilot, true = walk([Bot("memory")] * 6, turns=60, width=8, height=8)
    positions = [(int(state["x"]), int(state["y"])) for state in pilot._memories]
    near = [abs(x - a) + abs(y - b) <= 1 for (x, y), (a, b) in zip(positions, true, strict=True)]
    assert sum(near) >= 5, (positions, true)


def test_a_lone_hunter_never_loses_count() -> None:
    pilot, true = walk([Bot("memory"), Bot("territorial", reach=1)], turns=150, width=30, height=30)
    state = pilot._memories[0]
    assert (int(state["x"]), int(state["y"])) == true[0]


def test_a_territorial_hunter_stays_near_its_start() -> None:
    _, places = walk([Bot("territorial", reach=2), Bot("greedy")], turns=120, width=30, height=30)
    assert max(map(abs, places[0])) <= 3


def test_a_hunter_with_memory_returns_for_gems_out_of_view() -> None:
    """Two gems to the left, one above: it takes the nearest first, then those out of view."""
    game = new_game("treasure-hunt", seats=2, width=20, height=20, gem_chance=0.0, pillars=0.0, radius=2)
    boards, pilot = game.boards(1), HunterPilot(game, 2)
    lane, both = np.zeros(2, np.uint32), np.arange(2, dtype=np.uint32)
    boards.deal(lane[:1], np.array([1], np.uint64), [None])
    boards._cells[0, boards.arrays.inner] = 0
    for seat, (x, y) in enumerate([(10, 10), (0, 0)]):
        boards._positions[0, seat] = boards.arrays.inner[y * 20 + x]
        boards._cells[0, boards.arrays.inner[y * 20 + x]] = 3 + seat
    for x, y in [(8, 12), (11, 9), (12, 8), (13, 7)]:  # the others lead it away from the first
        boards._cells[0, boards.arrays.inner[y * 20 + x]] = 2
    agents = np.array([pilot.load(agent("a", Bot("memory"))), pilot.load(agent("b", Bot("random")))], np.uint32)
    pilot.begin(both, agents, np.array([1, 2], np.uint64))
    out = np.zeros((2, 3, 5, 5), np.float32)
    for turn in range(22):
        rows = np.stack([both, lane, both, agents, np.full(2, turn, np.uint32)])
        boards.apply(lane[:1], pilot.act(Views(boards, rows, out, None))[None])
    assert boards.stats(lane[:1])[0, 0, 0] == 4


@pytest.mark.parametrize("radius", range(1, 7))
@pytest.mark.parametrize("style", ["random", "greedy", "memory", "territorial"])
def test_compiled_hunters_equal_plain_python(style: str, radius: int) -> None:
    """In windows of every size, on a board that is full of gems, walls and others."""
    bots = [Bot(style, hold=hold, memory=memory, reach=hold) for hold, memory in ((1, 9), (2, 3), (4, 50), (3, 1))]
    game = new_game("treasure-hunt", seats=4, width=9, height=7, radius=radius, gem_chance=0.05, pillars=0.15)
    boards, pilot = game.boards(1), HunterPilot(game, 4)
    lane, seats = np.zeros(4, np.uint32), np.arange(4, dtype=np.uint32)
    boards.deal(lane[:1], np.array([radius], np.uint64), [None])
    agents = np.array([pilot.load(agent(str(k), bot)) for k, bot in enumerate(bots)], np.uint32)
    pilot.begin(seats, agents, seats.astype(np.uint64) + 5)
    plain = [PlainHunter(bot, seat + 5) for seat, bot in enumerate(bots)]
    out = np.zeros((4, *game.info.observation), np.float32)
    for turn in range(100):
        rows = np.stack([seats, lane, seats, agents, np.full(4, turn, np.uint32)])
        actions = pilot.act(Views(boards, rows, out, None)).copy()
        assert actions.tolist() == [hunter.act(turn, out[seat]) for seat, hunter in enumerate(plain)], turn
        boards.apply(lane[:1], actions[None])


def test_a_payload_holds_the_hunters_parameters() -> None:
    bot = Bot("territorial", reach=5)
    assert parse_bot(agent("x", bot).payload) == bot
    assert parse_bot(b"") == Bot()


@pytest.mark.parametrize(
    ("payload", "words"),
    [(b"{", "JSON"), (b'{"style": "lazy"}', "style = 'lazy'"), (b'{"hold": 0}', "hold = 0"), (b'{"hld": 1}', "'hold'")],
)
def test_an_invalid_payload_names_the_parameter(payload: bytes, words: str) -> None:
    with pytest.raises(RingsideError, match=words):
        parse_bot(payload)
