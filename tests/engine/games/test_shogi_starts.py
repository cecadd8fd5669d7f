"""Starts of Shogi matches: openings, random moves, given positions, and the effect of moves before a match."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from agents.scripted.shogi import KIND
from engine.errors import BadValue
from engine.games.shogi import lanes
from engine.games.shogi.game import Shogi, ShogiOptions
from engine.games.shogi.notation import START
from engine.games.shogi.openings import LINES, STARTS
from engine.games.shogi.position import ShogiPosition
from engine.league.records import Lineup, TournamentSettings
from engine.league.schedule import Schedule
from engine.seeding import pick
from tests.engine.games.shogi_helpers import CHECKS, ONE, SHUFFLE, dealt, ended, play

ROOK = "4k4/9/9/9/9/9/9/9/K4R3 b - 1"  # where CHECKS can be played
STANDARD = f"sfen {START}"


@pytest.mark.parametrize("opening", ["set", "random"])
def test_both_matches_of_a_pair_have_the_same_start(opening: str) -> None:
    game = Shogi(ShogiOptions(opening=opening))
    agents = {agent.id: agent for agent in KIND.samples(game)[:3]}
    plan = Schedule(TournamentSettings(game.spec, options=(("rounds", 8),), seed=3), [Lineup(1, 0, tuple(agents))])
    plan.extend(lambda *_: ())
    specs = [planned.spec for planned in plan.matches(agents)]
    boards = game.boards(len(specs))
    seeds = np.array([spec.seed for spec in specs], np.uint64)
    boards.deal(np.arange(len(specs), dtype=np.uint32), seeds, [spec.start for spec in specs])
    begun = [boards.position(lane, 0).usi() for lane in range(len(specs))]
    assert len(specs) == 2 * 3 * 8
    for first in range(0, len(specs), 2):
        assert specs[first].players == specs[first + 1].players[::-1], "not a pair"
        assert begun[first] == begun[first + 1]
    assert len(set(begun)) > 12, "the pairs are 24"


def test_a_match_may_begin_with_random_moves_or_none() -> None:
    begun = [dealt(None, seed, opening="random", random_plies=6).position(0, 0) for seed in range(20)]
    assert len({position.sfen for position in begun}) == 20
    assert {position.number for position in begun} == {7}
    assert {(position.start, len(position.moves)) for position in begun} == {(START, 6)}
    assert all(position.legal().size for position in begun)
    assert dealt(None, 5, opening="none").position(0, 0).usi() == STANDARD


def test_the_opening_is_picked_by_the_seed() -> None:
    for seed in (*range(40), 2**63 + 1, 2**64 - 1):
        chosen = STARTS[pick(len(STARTS), seed, lanes.OPENING)]
        assert dealt(None, seed).position(0, 0).usi() == ShogiPosition.from_usi(chosen).usi()


def test_openings_are_legal_and_different() -> None:
    assert len(STARTS) == len(LINES) == len({ShogiPosition.from_usi(start).sfen for start in STARTS})
    assert ShogiPosition.from_usi(STARTS[0]).sfen == START
    for start in STARTS:
        Shogi(ShogiOptions()).check_start(start)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("", "<board> <b or w> <hands> <move number>"),
        ("startpos moves 7g7e", "move 1: move = '7g7e': must be a legal move"),
        ("startpos moves 7g7f 7g7f", "move 2"),
        ("startpos moves hello", "USI notation"),
        ("9/9/9/9/9/9/9/9/9 b - 1", "each side has one king"),
        ("4k4/9/9/9/9/9/9/9/K7K b - 1", "each side has one king"),
        ("4k4/9/9/9/9/9/9/4K4 b - 1", "9 rows"),
        ("4k4/9/9/9/9/9/9/9/4K5 b - 1", "row 9 has 10"),
        ("4k4/9/9/9/9/x8/9/9/4K4 b - 1", "row 6 is 'x8'"),
        ("4k4/9/9/9/9/9/9/9/4K4 x - 1", "b or w"),
        ("4k4/9/9/9/9/9/9/9/4K4 b Q 1", "hands such as"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 3R 1", "at most 2 of R, not 3"),
        ("4k4/9/9/9/9/9/9/9/4K4 b - 0", "move number"),
        ("4k3P/9/9/9/9/9/9/9/4K4 b - 1", "can never move, as on 1a"),
        ("4k4/9/8P/9/8P/9/9/9/4K4 b - 1", "two pawns of one side on file 1"),
        ("4k4/9/9/9/9/9/9/9/K3R4 b - 1", "not in check"),
        ("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1", "it is over by checkmate"),
        ("4k4/9/4P4/9/9/9/9/9/4K4 b G 1 moves G*5b", "by checkmate after move 1"),
        ("K3+P+P+P+P+P/4+P+P+P+P+P/9/9/9/9/9/9/8k b 2R2B 1", "it is over by entering king"),
        ("4+P+P+P+P+P/4+P+P+P+P+P/9/K8/9/9/9/9/8k b 2R2B 1 moves 9d9c 1i1h", "by entering king after move 2"),
        (f"startpos moves {SHUFFLE * 3}", "by fourfold repetition after move 12"),
        (f"startpos moves {SHUFFLE * 5}", "by fourfold repetition after move 12"),
        (f"startpos moves {SHUFFLE * 3} 7g7f", "by fourfold repetition after move 12"),
        (f"{ROOK} moves {CHECKS * 3}", "by perpetual check after move 12"),
        (f"startpos moves {SHUFFLE * 2500}", "at most 512 moves, not 10,000"),
    ],
)
def test_the_error_of_an_invalid_start_says_what_is_wrong(start: str, words: str) -> None:
    with pytest.raises(BadValue, match=r"^start = ") as caught:
        Shogi(ShogiOptions()).check_start(start)
    assert words in str(caught.value)


def test_an_entered_king_does_not_end_a_match_without_declaration() -> None:
    Shogi(ShogiOptions(declaration=False)).check_start("K3+P+P+P+P+P/4+P+P+P+P+P/9/9/9/9/9/9/8k b 2R2B 1")


@pytest.mark.parametrize("start", ["startpos", "sfen " + START, START, "startpos moves 7g7f 3c3d 8h2b+"])
def test_a_start_is_a_position_with_or_without_moves(start: str) -> None:
    Shogi(ShogiOptions()).check_start(start)
    position = dealt(start).position(0, 0)
    assert position.usi() == ShogiPosition.from_usi(start).usi()
    assert position.sfen == ShogiPosition.from_usi(start).sfen


def test_a_position_contains_its_start_and_moves_for_engines() -> None:
    boards = dealt("startpos moves 7g7f")
    play(boards, "3c3d 8h2b+ 3a2b B*5e")
    position = boards.position(0, 0)
    assert position.usi() == f"{STANDARD} moves 7g7f 3c3d 8h2b+ 3a2b B*5e"
    assert ShogiPosition.from_usi(position.usi()).sfen == position.sfen
    assert position.number == 6


def test_positions_contain_openings_and_random_moves() -> None:
    for opening, plies in (("set", None), ("random", 8)):
        for seed in range(8):
            position = dealt(None, seed, opening=opening).position(0, 0)
            assert position.start == START
            assert plies in (None, len(position.moves))
            assert ShogiPosition.from_usi(position.usi()).sfen == position.sfen


def test_repetition_counts_from_before_the_match() -> None:
    boards = dealt(f"startpos moves {SHUFFLE * 2} 5i5h 5a5b 5h5i")  # occurred three times
    play(boards, "5b5a")
    assert ended(boards) == (3, lanes.REPETITION, [0.5, 0.5])
    boards = dealt("startpos moves 5i5h 5a5b 5h5i 5b5a")
    out = np.zeros((1, 46, 9, 9), np.float32)
    boards.observe(ONE, ONE, out)
    assert out[0, 42:45, 0, 0].tolist() == [1.0, 0.0, 0.0], "the observation shows it"


@pytest.mark.parametrize("known", range(12))
def test_perpetual_check_counts_from_before_the_match(known: int) -> None:
    moves = (CHECKS * 3).split()
    boards = dealt(f"{ROOK} moves {' '.join(moves[:known])}")
    play(boards, " ".join(moves[known:]))
    assert ended(boards) == (1, lanes.PERPETUAL, [0.0, 1.0])


def test_a_quiet_move_before_the_match_makes_perpetual_check_a_repetition() -> None:
    boards = dealt(f"{ROOK} moves 4i3i 5a6a 3i4i 6a5a")
    play(boards, CHECKS * 2)
    assert ended(boards) == (3, lanes.REPETITION, [0.5, 0.5])


def test_limit_and_statistics_count_the_moves_of_the_match_only() -> None:
    boards = dealt("startpos moves 7g7f 3c3d 8h2b+ 3a2b B*5e 2b3c 5e3c+", move_limit=2)
    assert not boards.stats(ONE).any()
    play(boards, "2a3c S*5e")
    assert boards.stats(ONE)[0].tolist() == [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    assert ended(boards) == (2, lanes.TOO_LONG, [0.5, 0.5])
    assert boards.position(0, 0).number == 10


def test_a_scene_shows_the_last_move_before_the_match() -> None:
    boards = dealt("startpos moves 7g7f 3c3d")
    assert boards.scene(0).caption == "Shogi, move 3, after 3c3d, Black to move"
    play(boards, "2g2f")
    assert boards.scene(0).caption == "Shogi, move 4, after 2g2f, White to move"


def test_a_copied_lane_has_the_moves_before_its_start() -> None:
    boards = Shogi(ShogiOptions()).boards(2)
    boards.deal(ONE, np.array([1], np.uint64), [f"startpos moves {SHUFFLE * 2} 5i5h 5a5b 5h5i"])
    boards.copy(0, 1)
    assert boards.position(1, 0).usi() == boards.position(0, 0).usi()
    boards.apply(np.array([1], np.uint32), np.full((2, 2), boards.position(1, 1).action("5b5a"), np.int64))
    assert boards.over().tolist() == [0, lanes.NO_CONTEST]


def test_a_new_match_discards_the_start_of_the_last_one() -> None:
    boards = dealt(f"startpos moves {SHUFFLE * 2}")
    boards.deal(ONE, np.array([1], np.uint64), ["startpos"])
    assert boards.position(0, 0).usi() == STANDARD
    play(boards, SHUFFLE * 2)
    assert not boards.over()[0]


def wandered(moves: int) -> str:
    """A start with this many moves that ends no match: only two kings move."""
    for seed in range(100):
        rng, position = random.Random(seed), ShogiPosition.from_sfen("4k4/9/9/9/9/9/9/9/4K4 b - 1")
        seen = Counter([position.cells.tobytes()])
        for _ in range(moves):
            position = position.play(rng.choice(position.legal().tolist()))
            seen[position.cells.tobytes()] += 1
        if max(seen.values()) < 4:
            return position.usi()
    raise AssertionError("they always come back")


def test_the_longest_start_leaves_room_for_the_whole_match() -> None:
    longest = wandered(lanes.MAX_START_MOVES)
    game = Shogi(ShogiOptions(move_limit=4))
    game.check_start(longest)
    boards = dealt(longest, move_limit=4)
    for _ in range(4):
        assert not boards.over()[0]
        position = boards.position(0, 0)
        play(boards, position.name(int(position.legal()[0])))
    assert ended(boards)[0] == lanes.LIMIT
    with pytest.raises(BadValue, match="at most 512 moves, not 513"):
        game.check_start(wandered(lanes.MAX_START_MOVES + 1))
