"""The rules of Shogi one by one, and perft counts."""

from __future__ import annotations

import random

import pytest

from engine.games.shogi.moves import can_move, count_moves, perft
from engine.games.shogi.notation import START, read_sfen
from engine.games.shogi.position import ShogiPosition
from tests.engine.games.shogi_helpers import any_position, drops, legal, moves_from

FESTIVAL = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w GR5pnsg 1"
ATTACK = "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124"
MOST = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"


@pytest.mark.parametrize(
    ("sfen", "counts"),
    [
        (START, (30, 900, 25_470, 719_731, 19_861_490)),
        (FESTIVAL, (207, 28_684, 4_809_015)),
        (ATTACK, (178, 18_041, 2_552_846)),
        (MOST, (593, 105_677)),
    ],
)
def test_perft_counts_are_as_published(sfen: str, counts: tuple[int, ...]) -> None:
    cells, sets, _ = read_sfen(sfen)
    assert tuple(perft(cells, sets, depth) for depth in range(1, len(counts) + 1)) == counts


@pytest.mark.slow
@pytest.mark.parametrize(("sfen", "depth", "count"), [(FESTIVAL, 4, 516_925_165), (MOST, 3, 53_393_368)])
def test_deep_perft_counts_are_as_published(sfen: str, depth: int, count: int) -> None:
    cells, sets, _ = read_sfen(sfen)
    assert perft(cells, sets, depth) == count


@pytest.mark.parametrize(
    ("letter", "squares"),
    [
        ("P", "4d"),
        ("N", "3c 5c 3c+ 5c+"),
        ("S", "3d 4d 5d 3f 5f"),
        ("G", "3d 4d 5d 3e 5e 4f"),
        ("+P", "3d 4d 5d 3e 5e 4f"),
        ("+L", "3d 4d 5d 3e 5e 4f"),
        ("+N", "3d 4d 5d 3e 5e 4f"),
        ("+S", "3d 4d 5d 3e 5e 4f"),
        ("L", "4d 4c 4c+ 4b 4b+ 4a+"),
        ("B", "3d 2c 2c+ 1b 1b+ 5d 6c 6c+ 7b 7b+ 8a 8a+ 3f 2g 1h 5f 6g 7h 8i"),
        ("R", "4d 4c 4c+ 4b 4b+ 4a 4a+ 4f 4g 4h 4i 3e 2e 1e 5e 6e 7e 8e 9e"),
        ("+B", "3d 2c 1b 5d 6c 7b 8a 3f 2g 1h 5f 6g 7h 8i 4d 4f 3e 5e"),
        ("+R", "4d 4c 4b 4a 4f 4g 4h 4i 3e 2e 1e 5e 6e 7e 8e 9e 3d 5d 3f 5f"),
    ],
)
def test_each_piece_moves_in_its_own_way(letter: str, squares: str) -> None:
    assert moves_from(f"4k4/9/9/9/5{letter}3/9/9/9/K8 b - 1", "4e") == set(squares.split())


def test_a_piece_that_could_not_move_again_must_promote() -> None:
    assert moves_from("8k/4P4/9/9/9/9/9/9/K8 b - 1", "5b") == {"5a+"}
    assert moves_from("8k/4L4/9/9/9/9/9/9/K8 b - 1", "5b") == {"5a+"}
    assert moves_from("8k/9/4N4/9/9/9/9/9/K8 b - 1", "5c") == {"4a+", "6a+"}
    assert moves_from("8k/9/9/4N4/9/9/9/9/K8 b - 1", "5d") == {"4b+", "6b+"}
    assert moves_from("k8/9/9/9/9/9/4p4/4l4/8K w - 1", "5h") == {"5i+"}


def test_promotion_is_optional_when_entering_moving_within_or_leaving_the_zone() -> None:
    assert {"5c", "5c+"} <= moves_from("8k/9/9/4S4/9/9/9/9/K8 b - 1", "5d")
    assert {"6d", "6d+"} <= moves_from("8k/9/4S4/9/9/9/9/9/K8 b - 1", "5c")
    assert moves_from("8k/9/9/9/4S4/9/9/9/K8 b - 1", "5e") == {"4d", "5d", "6d", "4f", "6f"}
    assert not any(move.endswith("+") for move in moves_from("8k/4G4/9/9/9/9/9/9/K8 b - 1", "5b"))


def test_two_unpromoted_pawns_on_a_file_are_illegal() -> None:
    squares = drops("8k/9/9/9/P2+P4p/9/9/9/K8 b P 1", "P")
    assert not any(square.startswith("9") for square in squares)
    assert {"6b", "6i", "1b", "1d"} <= squares
    assert "6e" not in squares


def test_a_piece_is_not_dropped_where_it_could_never_move() -> None:
    sfen = "8k/9/9/9/9/9/9/9/K8 b PLN 1"
    assert {square[1] for square in drops(sfen, "P")} == set("bcdefghi")
    assert {square[1] for square in drops(sfen, "L")} == set("bcdefghi")
    assert {square[1] for square in drops(sfen, "N")} == set("cdefghi")
    assert {square[1] for square in drops("k8/9/9/9/9/9/9/9/8K w pln 1", "N")} == set("abcdefg")


def test_a_pawn_drop_must_not_mate() -> None:
    assert "5b" not in drops("3nkn3/3p1p3/5S3/9/9/9/9/9/4K4 b P 1", "P")
    assert "5b" in drops("3nkn3/5p3/5S3/9/9/9/9/9/4K4 b P 1", "P"), "the king can go to 6b"
    assert "5b" in drops("3gkn3/3p1p3/5S3/9/9/9/9/9/4K4 b P 1", "P"), "a gold can take it"
    assert "5b" in drops("3nkn3/3p1p3/9/9/9/9/9/9/4K4 b P 1", "P"), "the king itself can take it"
    assert "5h" not in drops("4k4/9/9/9/9/9/5s3/3P1P3/3NKN3 w p 1", "P")


def test_a_dropped_pawn_that_only_a_pinned_piece_could_capture_mates() -> None:
    assert "5b" not in drops("R2gkn3/3p1p3/5S3/9/9/9/9/9/4K4 b P 1", "P"), "the rook pins the gold"
    assert "5b" in drops("R1pgkn3/3p1p3/5S3/9/9/9/9/9/4K4 b P 1", "P"), "now it does not"


def test_a_pawn_that_is_moved_may_mate() -> None:
    assert "5c5b" in legal("3nkn3/3p1p3/4P4/4L4/9/9/9/9/4K4 b - 1")


def test_a_dropped_pawn_may_check_and_other_pieces_may_be_dropped_for_mate() -> None:
    assert "5b" in drops("4k4/9/5S3/9/9/9/9/9/4K4 b P 1", "P")
    assert "5b" in drops("3nkn3/3p1p3/5S3/9/9/9/9/9/4K4 b GP 1", "G")


def test_a_pinned_piece_moves_along_its_pin_only() -> None:
    assert moves_from("4r3k/9/9/4S4/9/9/9/9/4K4 b - 1", "5d") == {"5c", "5c+"}
    assert moves_from("4r3k/9/9/4R4/9/9/9/9/4K4 b - 1", "5d") == {
        "5c", "5c+", "5b", "5b+", "5a", "5a+", "5e", "5f", "5g", "5h"
    }  # fmt: skip
    assert moves_from("8k/9/9/9/b8/1N7/2K6/9/9 b - 1", "8f") == set()
    assert moves_from("8k/9/9/9/b8/1B7/2K6/9/9 b - 1", "8f") == {"9e"}
    assert moves_from("4l3k/9/9/4G4/9/9/9/9/4K4 b - 1", "5d") == {"5c", "5e"}


def test_two_pieces_in_line_with_the_king_are_not_pinned() -> None:
    assert len(moves_from("4r3k/9/9/4S4/4P4/9/9/9/4K4 b - 1", "5d")) > 1


def test_a_check_is_met_by_capture_escape_or_interposition() -> None:
    sfen = "4r3k/9/9/9/9/9/8N/3P1P3/3GKG3 b P 1"
    assert legal(sfen) == {"P*5b", "P*5c", "P*5d", "P*5e", "P*5f", "P*5g", "P*5h", "6i5h", "4i5h"}
    assert legal("4r3k/9/9/9/B8/9/9/3P1P3/3GKG3 b - 1") == {"9e5a", "9e5a+", "6i5h", "4i5h"}
    assert legal("4r3k/9/9/9/9/9/9/3P5/3GKG3 b - 1") == {"6i5h", "4i5h", "5i4h"}


def test_a_knight_check_cannot_be_blocked() -> None:
    assert legal("8k/9/9/9/9/9/3n5/3G1G3/3GKG3 b RB 1") == {"5i5h", "6h6g"}


def test_only_the_king_moves_out_of_a_double_check() -> None:
    assert legal("4r3k/9/9/9/9/9/3n5/6B2/4K4 b RBG 1") == {"5i4h", "5i4i", "5i6h", "5i6i"}


def test_a_king_does_not_step_back_along_the_line_of_a_check() -> None:
    assert moves_from("4r3k/9/9/9/9/9/9/4K4/9 b - 1", "5h") == {"4g", "4h", "4i", "6g", "6h", "6i"}
    assert moves_from("k8/9/9/3b5/9/9/6K2/9/9 b - 1", "3g") == {"2f", "3f", "2g", "4g", "3h", "4h"}
    assert moves_from("k7l/9/9/9/9/9/9/8K/9 b - 1", "1h") == {"2g", "2h", "2i"}


def test_a_king_does_not_capture_a_guarded_piece() -> None:
    assert "5h" not in moves_from("8k/9/9/9/9/9/4p4/4g4/4K4 b - 1", "5i")
    assert "5h" in moves_from("8k/9/9/9/9/9/9/4g4/4K4 b - 1", "5i")


def test_a_discovered_check() -> None:
    assert "5e4d" in legal("4k4/9/9/9/4S4/9/9/9/K3R4 b - 1")
    after = "4k4/9/9/5S3/9/9/9/9/K3R4 w - 1"
    assert all(move.startswith("5a") for move in legal(after))
    assert "5a5b" not in legal(after)


def test_a_captured_piece_enters_the_hand_unpromoted() -> None:
    position = ShogiPosition.from_usi("8k/9/9/4+s4/4R4/9/9/9/K8 b - 1 moves 5e5d")
    assert position.sfen == "8k/9/9/4R4/9/9/9/9/K8 w S 2"


def test_a_mated_side_has_no_legal_action() -> None:
    assert legal("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1") == set()


def test_a_side_can_move_if_it_has_a_legal_move() -> None:
    rng = random.Random(11)
    mate, stalemate = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1", "k8/2G6/1G7/9/9/9/9/9/8K w - 1"
    positions = [mate, stalemate, FESTIVAL, ATTACK, MOST, *(any_position(rng) for _ in range(2000))]
    found = set()
    for sfen in positions:
        cells, sets, _ = read_sfen(sfen)
        assert can_move(cells, sets) == (count_moves(cells, sets) > 0), sfen
        found.add(bool(can_move(cells, sets)))
    assert found == {True, False}
    assert not legal(mate)
    assert not legal(stalemate)
