"""Matches of Shogi: endings, observations, notation and scenes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.errors import BadValue
from engine.game import RESIGN
from engine.games.shogi import lanes
from engine.games.shogi.notation import START, read_sfen, read_usi, write_sfen, write_usi
from engine.games.shogi.scene import CHECK, HIGH, KANJI, LAST, LATIN, LEFT, PIECE, RED, STYLES, TINT, TOP, WIDE
from engine.play.arena import Arena
from engine.play.match import AgentSpec, EndingKind, MatchSpec
from engine.play.replay import Playback
from engine.registry import new_game
from engine.scene import Circle, Item, Line, Polygon, Rect, Text
from tests.engine.games.shogi_helpers import CHECKS, ONE, SHUFFLE, dealt, ended, play

QUIET = "4i3i 5a6a 3i4i 6a5a "


def test_mate_ends_the_match() -> None:
    boards = dealt("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    play(boards, "G*5b")
    assert ended(boards) == (1, lanes.MATE, [1.0, 0.0])
    assert not boards.acting().any()
    assert boards.scene(0).caption.startswith("Shogi, move 2, after G*5b, Black wins by checkmate")
    assert boards.scene(0).ending == "checkmate"


def test_a_side_without_legal_moves_loses_even_without_check() -> None:
    boards = dealt("k8/9/2N6/1G7/9/9/9/9/4K4 b - 1")
    assert boards.scene(0).ending == ""
    play(boards, "8d8c")
    assert ended(boards) == (1, lanes.MATE, [1.0, 0.0])
    assert boards.scene(0).ending == "no legal move"


def test_fourfold_repetition_is_no_contest() -> None:
    boards = dealt("startpos")
    play(boards, SHUFFLE * 2 + "5i5h 5a5b 5h5i")
    assert not boards.over()[0]
    play(boards, "5b5a")
    assert ended(boards) == (3, lanes.REPETITION, [0.5, 0.5])


def test_positions_with_different_hands_are_different() -> None:
    boards = dealt("k8/9/9/9/4R4/9/9/9/K8 w 4p 1")
    squares = boards.cells[0, :81].copy()
    for _ in range(3):
        play(boards, "P*5d 5e5d 9a8a 5d5e 8a8b 9i9h 8b9a 9h9i")
        assert (boards.cells[0, :81] == squares).all()
    assert not boards.over()[0]


def test_perpetual_check_loses() -> None:
    boards = dealt("4k4/9/9/9/9/9/9/9/K4R3 b - 1")
    play(boards, CHECKS * 3)
    assert ended(boards) == (1, lanes.PERPETUAL, [0.0, 1.0])


def test_perpetual_check_loses_also_if_the_checked_sides_position_recurs() -> None:
    boards = dealt("4k4/9/9/9/9/9/9/9/K3R4 w - 1")
    play(boards, "5a4a 5i4i 4a5a 4i5i " * 3)
    assert ended(boards) == (1, lanes.PERPETUAL, [0.0, 1.0])


def test_whites_perpetual_check_loses_too() -> None:
    boards = dealt("3r4k/9/9/9/9/9/9/9/4K4 w - 1")
    play(boards, "6a5a 5i6i 5a6a 6i5i " * 3)
    assert ended(boards) == (1, lanes.PERPETUAL, [1.0, 0.0])


@pytest.mark.parametrize("order", [CHECKS * 2 + QUIET, QUIET + CHECKS * 2])
def test_one_quiet_move_makes_perpetual_check_a_repetition(order: str) -> None:
    boards = dealt("4k4/9/9/9/9/9/9/9/K4R3 b - 1")
    play(boards, order)
    assert ended(boards) == (3, lanes.REPETITION, [0.5, 0.5])


ENTERING = "4+P+P+P+P+P/4+P+P+P+P+P/9/K8/9/9/9/9/8k b {} 1"


def test_an_entered_king_with_enough_points_wins_on_its_turn() -> None:
    boards = dealt(ENTERING.format("2R2B"))  # 10 + 20 = 30 points
    play(boards, "9d9c")
    assert not boards.over()[0], "only at its own turn"
    play(boards, "1i1h")
    assert ended(boards) == (1, lanes.DECLARED, [1.0, 0.0])


@pytest.mark.parametrize(("hand", "wins"), [("2RB2P", False), ("2RB3P", True), ("2RBGSP", True), ("R2BGS", False)])
def test_black_needs_28_points(hand: str, wins: bool) -> None:
    boards = dealt(ENTERING.format(hand))
    play(boards, "9d9c 1i1h")
    assert bool(boards.over()[0]) == wins


@pytest.mark.parametrize(("hand", "wins"), [("2rbp", False), ("2rb2p", True)])
def test_white_needs_27_points(hand: str, wins: bool) -> None:
    boards = dealt(f"K8/9/9/9/9/8k/9/+p+p+p+p+p4/+p+p+p+p+p4 w {hand} 1")
    play(boards, "1f1g 9a9b")
    assert bool(boards.over()[0]) == wins


def test_an_entered_king_needs_ten_pieces_beside_it_and_must_not_be_in_check() -> None:
    boards = dealt("5+P+P+P+P/4+P+P+P+P+P/9/K8/9/9/9/9/8k b 2R2BGSN 1")  # 9 + 20 + 3 points, but nine pieces
    play(boards, "9d9c 1i1h")
    assert not boards.over()[0]
    boards = dealt("4+P+P+P+P+P/4+P+P+P+P+P/9/K8/9/9/9/9/8k b 2R2Bl 1")
    play(boards, "9d9c L*9a")
    assert not boards.over()[0]


def test_without_declaration_an_entered_king_does_not_end_the_match() -> None:
    boards = dealt(ENTERING.format("2R2B"), declaration=False)
    play(boards, "9d9c 1i1h")
    assert not boards.over()[0]


def test_the_move_limit_is_a_draw_unless_the_last_move_mates() -> None:
    boards = dealt("startpos", move_limit=4)
    play(boards, SHUFFLE)
    assert ended(boards) == (2, lanes.TOO_LONG, [0.5, 0.5])
    boards = dealt("4k4/9/4P4/9/9/9/8p/9/4K4 w G 1", move_limit=2)
    play(boards, "1g1h G*5b")
    assert ended(boards) == (1, lanes.MATE, [1.0, 0.0])


def test_a_player_may_resign() -> None:
    game = new_game("shogi")
    players = (AgentSpec("me", "human"), AgentSpec("you", "human"))
    with Arena(1, alone=True) as arena:
        arena.add(MatchSpec("m", game.spec, players, 1, "startpos"))
        arena.tick()
        arena.act(0, RESIGN)
        arena.tick()
        [result] = arena.take_results()
    assert result.ending.kind is EndingKind.RESIGNED
    assert result.ranks == (2, 1)


def test_sfen_is_unchanged_by_a_round_trip() -> None:
    for sfen in (START, "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124"):
        cells, _, number = read_sfen(sfen)
        assert write_sfen(cells, number) == sfen
    cells, sets, _ = read_sfen("8k/9/4P4/9/9/9/9/9/K8 b G 1")
    for move in ("5c5b", "5c5b+", "G*5b", "9i9h"):
        assert write_usi(read_usi(cells, sets, move)) == move


def test_both_seats_see_the_board_from_their_own_side() -> None:
    boards = dealt("startpos")
    out = np.full((2, 46, 9, 9), np.nan, np.float32)
    boards.observe(np.zeros(2, np.uint32), np.array([0, 1], np.uint32), out)
    assert (out[0, :45] == out[1, :45]).all(), "at the start both see the same"
    assert out[0, 45].max() == 0.0
    assert out[1, 45].min() == 1.0
    assert out[0, 0, 6].tolist() == [1.0] * 9, "own pawns on the third row from below"
    assert out[0, 14, 2].tolist() == [1.0] * 9
    assert out[0, 4, 7].tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0], "the own bishop at the left"
    assert out[:, 28:45].max() == 0.0


def test_observations_show_hands_and_repetition() -> None:
    boards = dealt("4k4/9/9/9/9/9/9/9/4K4 b 9PRg 1")
    out = np.full((2, 46, 9, 9), np.nan, np.float32)
    boards.observe(np.zeros(2, np.uint32), np.array([0, 1], np.uint32), out)
    assert np.unique(out[0, 28]).tolist() == [0.5]
    assert np.unique(out[0, 33]).tolist() == [0.5]
    assert np.unique(out[0, 41]).tolist() == [0.25]
    assert np.unique(out[1, 34]).tolist() == [0.25]
    assert np.unique(out[1, 35]).tolist() == [0.5]
    play(boards, SHUFFLE * 2)
    boards.observe(np.zeros(2, np.uint32), np.array([0, 1], np.uint32), out)
    assert out[0, 42:45, 0, 0].tolist() == [1.0, 1.0, 0.0]


def test_the_same_move_is_the_same_action_for_both_sides() -> None:
    boards = dealt("startpos")
    play(boards, "7g7f 3c3d 2g2f 8c8d 6i7h 4a3b")
    moves = boards.position(0, 0).moves
    assert moves[0::2] == moves[1::2]


def test_statistics_count_what_each_side_did() -> None:
    boards = dealt("startpos")
    play(boards, "7g7f 3c3d 8h2b+ 3a2b B*5e 2b3c 5e3c+")
    assert lanes.STATS == ("captures", "drops", "promotions", "checks")
    assert boards.stats(ONE)[0].tolist() == [[2.0, 1.0, 2.0, 1.0], [1.0, 0.0, 0.0, 0.0]]


def squares(items: Sequence[Item], colour: str) -> list[str]:
    """The squares, as USI names them, that a rectangle of this colour fills or outlines."""
    found = []
    for item in items:
        if isinstance(item, Rect) and item.colour == colour and item.width < 0.1:
            column, row = (item.x + item.width / 2 - LEFT) / WIDE, (item.y + item.height / 2 - TOP) / HIGH
            assert (column % 1, row % 1) == pytest.approx((0.5, 0.5)), "not on a square"
            found.append(f"{9 - int(column)}{'abcdefghi'[int(row)]}")
    return found


def test_a_scene_shows_every_piece_and_hands_with_counts() -> None:
    scene = dealt("4k4/9/9/9/9/9/9/4+R4/K8 w 12Pb 1").scene(0)
    assert Text in {type(item) for item in scene.items}
    assert any(isinstance(item, Text) and item.text == "12" for item in scene.items)
    assert any(isinstance(item, Polygon) and item.colour == RED for item in scene.items)
    assert "White to move and in check, Black holds 12P, White holds B" in scene.caption
    pieces = [item for item in scene.items if isinstance(item, Polygon) and item.colour == PIECE]
    assert len(pieces) == 3 + 2, "on the board, and one of each kind in hand"


def test_a_scene_outlines_the_last_move_and_a_king_in_check() -> None:
    boards = dealt("4k4/9/9/9/9/9/9/4+R4/K8 w 12Pb 1")
    before = boards.scene(0).items
    assert (squares(before, LAST), squares(before, TINT), squares(before, CHECK)) == ([], [], ["5a"])
    play(boards, "5a4a")
    after = boards.scene(0).items
    assert (squares(after, LAST), squares(after, TINT), squares(after, CHECK)) == (["4a"], ["5a", "4a"], [])
    play(boards, "P*4b")
    after = boards.scene(0).items
    assert (squares(after, LAST), squares(after, TINT), squares(after, CHECK)) == (["4b"], ["4b"], ["4a"])
    outlines = [item for item in after if isinstance(item, Rect) and item.colour in (LAST, CHECK)]
    assert all(item.outline > 0 for item in outlines), "a piece must not be hidden"


def test_a_replay_is_drawn_in_the_selected_style() -> None:
    playback = Playback(MatchSpec("m", new_game("shogi").spec, (AgentSpec("a", "dice"), AgentSpec("b", "dice")), 1))
    assert playback.scene() == playback.scene(KANJI) != playback.scene(LATIN)
    with pytest.raises(BadValue, match="style = 'runes': must be one of 'kanji', 'letters'"):
        playback.scene("runes")
    pong = Playback(MatchSpec("m", new_game("pong").spec, (AgentSpec("a", "dice"), AgentSpec("b", "dice")), 1))
    with pytest.raises(BadValue, match="only one style"):
        pong.scene("letters")


def test_pieces_can_be_drawn_with_letters() -> None:
    boards = dealt(None, 3)
    assert STYLES == (KANJI, LATIN) == new_game("shogi").info.styles
    letters = [item.text for item in boards.scene(0, LATIN).items if isinstance(item, Text)]
    assert letters.count("P") == 18
    assert "P" not in [item.text for item in boards.scene(0).items if isinstance(item, Text)]


def reach(item: Item) -> tuple[float, float, float, float]:
    """The bounding box of an item: left, top, right, bottom; letters are taken to be as wide as high."""
    if isinstance(item, Polygon):
        across, down, more = [x for x, _ in item.points], [y for _, y in item.points], item.outline / 2
    elif isinstance(item, Line):
        across, down, more = [item.start[0], item.end[0]], [item.start[1], item.end[1]], item.width / 2
    elif isinstance(item, Circle):
        across, down, more = [item.x], [item.y], item.radius + item.outline / 2
    elif isinstance(item, Text):
        assert item.anchor == "centre"
        half = len(item.text) * item.size / 2
        across, down, more = [item.x - half, item.x + half], [item.y - item.size / 2, item.y + item.size / 2], 0.0
    else:
        across, down, more = [item.x, item.x + item.width], [item.y, item.y + item.height], 0.0
        more = item.outline / 2 if isinstance(item, Rect) else 0.0
    return min(across) - more, min(down) - more, max(across) + more, max(down) + more


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("start", "moves"),
    [
        ("startpos", "9g9f 1c1d"),
        ("4k4/9/9/9/9/9/9/9/4K4 b RB2G2S2N2L9Prb2g2s2n2l9p 1", "P*9b G*1i"),
        ("k7R/9/9/9/9/9/9/9/8K w - 1", ""),
    ],
)
def test_all_items_are_inside_the_picture(start: str, moves: str, style: str) -> None:
    boards = dealt(start)
    play(boards, moves)
    scene = boards.scene(0, style)
    assert {type(item) for item in scene.items} == {Rect, Circle, Line, Polygon, Text}
    for item in scene.items:
        left, top, right, bottom = reach(item)
        assert left >= 0, item
        assert top >= 0, item
        assert right <= scene.aspect, item
        assert bottom <= 1, item
