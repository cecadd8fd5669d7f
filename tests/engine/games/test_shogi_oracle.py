"""Shogi compared with an independent library, cshogi, which only the tests use."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from engine.errors import BadValue
from engine.games.shogi.attacks import threats
from engine.games.shogi.game import Shogi, ShogiOptions
from engine.games.shogi.lanes import FINISHED, NO_CONTEST, can_declare
from engine.games.shogi.moves import MAX_MOVES, can_move, count_moves, list_moves
from engine.games.shogi.notation import START, Cells, Sets, read_sfen, write_sfen, write_usi
from engine.games.shogi.play import make_move, rebuild_sets, unpack
from engine.games.shogi.position import ShogiPosition
from engine.games.shogi.tables import ACTIONS, SIDE
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, Ending, EndingKind, MatchSpec
from engine.play.replay import HEAD, verified
from engine.registry import new_game
from tests.engine.games.shogi_helpers import any_position, dealt, play

if os.environ.get("RINGSIDE_TESTS") == "all":  # no test may be skipped
    import cshogi.CSA
else:
    cshogi = pytest.importorskip("cshogi")
    pytest.importorskip("cshogi.CSA")

PLAIN = (EndingKind.FINISHED, EndingKind.STEP_LIMIT, EndingKind.NO_CONTEST)  # endings without a forfeit

# Positions in which a rule decides: pawn drops for mate and almost, pins on it, forced promotions, double checks.
SPECIAL = (
    "3nkn3/3p1p3/5S3/9/9/9/9/9/4K4 b P 1",
    "3nkn3/5p3/5S3/9/9/9/9/9/4K4 b P 1",
    "R2gkn3/3p1p3/5S3/9/9/9/9/9/4K4 b P 1",
    "R1pgkn3/3p1p3/5S3/9/9/9/9/9/4K4 b P 1",
    "4k4/9/9/9/9/9/5s3/3P1P3/3NKN3 w p 1",
    "7nk/7p1/6S2/9/9/9/9/9/K8 b P 1",
    "6snk/7p1/6N2/9/9/9/9/9/K8 b P 1",
    "4r3k/9/9/9/9/9/3n5/6B2/4K4 b RBG 1",
    "8k/2P1L4/1N1P5/4NL3/9/9/9/9/K8 b PLN 1",
    "4r3k/9/9/4S4/9/9/b8/1N7/2K6 b GP 1",
    "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1",
)


def compare(cells: Cells, sets: Sets, board: object) -> int:
    """Compare legal moves with cshogi; check that unpacking inverts packing, and that counts agree."""
    out = np.empty(MAX_MOVES, np.int32)
    count, checks = list_moves(cells, sets, out, 0)
    moves = out[:count].tolist()
    ours = sorted(map(write_usi, moves))
    theirs = sorted(cshogi.move_to_usi(move) for move in board.legal_moves)  # type: ignore[attr-defined]
    sfen = write_sfen(cells, 1)
    assert ours == theirs, sfen
    assert count_moves(cells, sets) == count, sfen
    assert can_move(cells, sets) == (count > 0), sfen
    assert (checks > 0) == board.is_check(), sfen  # type: ignore[attr-defined]
    actions = [move & 0xFFF for move in moves]
    assert len(set(actions)) == count, f"two moves are one action: {sfen}"
    assert all(0 <= action < ACTIONS for action in actions), sfen
    assert [unpack(cells, action) for action in actions] == moves, sfen
    return int(count)


def random_play(seed: int, positions: int) -> Iterator[tuple[Cells, Sets, object]]:
    rng, board = random.Random(seed), cshogi.Board()
    while positions > 0:
        board.reset()
        cells, sets, _ = read_sfen(START)
        for _ in range(400):
            yield cells, sets, board
            positions -= 1
            moves = list(board.legal_moves)
            if not moves or positions <= 0:
                break
            chosen = rng.choice(moves)
            board.push(chosen)
            out = np.empty(MAX_MOVES, np.int32)
            count, _ = list_moves(cells, sets, out, 0)
            name = cshogi.move_to_usi(chosen)
            make_move(cells, sets, next(move for move in out[:count].tolist() if write_usi(move) == name))


def check_random_play(seed: int, positions: int) -> None:
    for cells, sets, board in random_play(seed, positions):
        compare(cells, sets, board)
        assert write_sfen(cells, board.move_number) == board.sfen()  # type: ignore[attr-defined]
        again = np.zeros_like(sets)
        rebuild_sets(cells.copy(), again)
        assert (again == sets).all(), "sets or key differ from those computed from scratch"


def check_any_positions(seed: int, positions: int) -> None:
    rng = random.Random(seed)
    for _ in range(positions):
        sfen = any_position(rng)
        cells, sets, _ = read_sfen(sfen)
        compare(cells, sets, cshogi.Board(sfen))


def test_moves_agree_with_cshogi_in_random_play() -> None:
    check_random_play(1, 3000)


def test_moves_agree_with_cshogi_in_random_positions() -> None:
    check_any_positions(2, 1200)


@pytest.mark.parametrize("sfen", SPECIAL)
def test_moves_agree_with_cshogi_in_special_positions(sfen: str) -> None:
    cells, sets, _ = read_sfen(sfen)
    compare(cells, sets, cshogi.Board(sfen))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_moves_agree_with_cshogi_in_very_many_positions(seed: int) -> None:
    check_random_play(100 + seed, 10_000)
    check_any_positions(200 + seed, 10_000)


def test_entering_king_agrees_with_cshogi() -> None:
    rng, found = random.Random(3), 0
    for _ in range(2000):
        sfen = entered(rng)
        cells, sets, _ = read_sfen(sfen)
        side = int(cells[SIDE])
        ours = not threats(cells, sets, side)[2] and bool(can_declare(cells, sets, side))
        assert ours == cshogi.Board(sfen).is_nyugyoku(), sfen
        found += ours
    assert 100 < found < 1900, "both outcomes must occur"


def entered(rng: random.Random) -> str:
    """A king in or near the promotion zone, with about as many pieces as the rule requires."""
    black = rng.random() < 0.5
    while True:
        king = rng.randrange(36)
        others = rng.sample([square for square in range(30) if square != king], rng.randint(9, 13))
        stock = list("RRBBGGGGSSSSNNNNLLLL" + "P" * 9)
        rng.shuffle(stock)
        board = {king: "K", 80: "k"}
        for square in others:
            letter = stock.pop()
            board[square] = ("+" if letter in "PLN" else "") + letter
        hand = "".join(stock[: rng.randint(0, 14)])
        rows = ["".join(board.get(9 * row + column, "1") for column in range(9)) for row in range(9)]
        held = "".join(f"{hand.count(piece) if hand.count(piece) > 1 else ''}{piece}" for piece in sorted(set(hand)))
        text = "/".join(rows)
        if not black:
            text = "/".join(turned(row) for row in reversed(rows)).swapcase()
            held = held.lower()
        sfen = f"{text} {'b' if black else 'w'} {held or '-'} 1"
        try:
            read_sfen(sfen)
        except BadValue:  # a king that could be taken
            continue
        return sfen


def turned(row: str) -> str:
    """A row of an SFEN, reversed."""
    return "".join(reversed(re.findall(r"\+?.", row)))


def repeating(rng: random.Random) -> tuple[str, list[str], tuple[int, int | None]]:
    """A start, moves until a position occurs for the fourth time, the value of `over` then, and the seat that lost.

    Positions and checks come from cshogi; the result is computed here from the whole sequence.
    """
    start = rng.choice(("4k4/9/9/9/9/9/9/9/K4R3 b - 1", "4k4/9/9/9/9/9/9/4R4/K8 w - 1", "3r4k/9/9/9/9/9/9/9/4K4 w - 1"))
    while True:
        board, moves, checks = cshogi.Board(start), [], []
        seen = [board.sfen().rsplit(" ", 1)[0]]
        while len(moves) < 200 and seen.count(seen[-1]) < 4 and len(board.legal_moves):
            ahead = []
            for move in board.legal_moves:
                board.push(move)
                known = seen.count(board.sfen().rsplit(" ", 1)[0])
                ahead.append((known + board.is_check() + 2 * rng.random(), move))  # prefers repetition
                board.pop()
            board.push(max(ahead)[1])
            moves.append(cshogi.move_to_usi(max(ahead)[1]))
            checks.append(board.is_check())
            seen.append(board.sfen().rsplit(" ", 1)[0])
        if seen.count(seen[-1]) == 4:
            break
    since = seen.index(seen[-1])
    last, other = all(checks[since:][::-1][::2]), all(checks[since:][::-1][1::2])
    if last == other:
        return start, moves, (NO_CONTEST, None)
    return start, moves, (FINISHED, board.turn if other else 1 - board.turn)


def test_repetition_does_not_depend_on_where_the_match_begins() -> None:
    rng, kinds = random.Random(5), set()
    for _ in range(60):
        start, moves, (over, loser) = repeating(rng)
        known = rng.randrange(len(moves))
        boards = dealt(f"{start} moves {' '.join(moves[:known])}")
        play(boards, " ".join(moves[known:]))
        scores = [0.5, 0.5] if loser is None else [float(seat != loser) for seat in range(2)]
        assert (int(boards.over()[0]), boards.scores()[0].tolist()) == (over, scores), f"{start} moves {moves}"
        with pytest.raises(BadValue, match=f"after move {len(moves)}"):
            Shogi(ShogiOptions()).check_start(f"{start} moves {' '.join(moves)}")
        kinds.add((over, loser))
    assert kinds == {(NO_CONTEST, None), (FINISHED, 0), (FINISHED, 1)}


def parsed(text: str, start: str, moves: Sequence[int]) -> int | None:
    """The winner of a CSA file according to cshogi, if any; also compares start and moves."""
    parser = cshogi.CSA.Parser()
    parser.parse_csa_str(text)
    assert (parser.version, parser.names) == ("V3.0", ["先手", "White, the second"])
    assert (read_sfen(parser.sfen)[0] == read_sfen(start)[0]).all(), "SFEN with hands in another order is the same"
    assert [cshogi.move_to_usi(move) for move in parser.moves] == [write_usi(move) for move in moves]
    return (None, 0, 1)[parser.win]


def test_cshogi_reads_exported_matches() -> None:
    rng, words, names = random.Random(7), set(), ("先手", "White, the second")
    games = [new_game("shogi", opening=opening, move_limit=150) for opening in ("set", "random", "none")]
    starts = (
        None,
        "startpos moves 7g7f 3c3d 8h2b+",
        "4k4/9/4P4/9/9/9/9/9/4K4 b 2GR2Pbs 1",
        "k8/9/9/9/4R4/9/9/9/K8 w 4p 7",
    )
    players = (AgentSpec("a", "dice"), AgentSpec("b", "dice"))
    specs = [MatchSpec(str(n), games[n % 3].spec, players, n, starts[n // 3 % 4]) for n in range(48)]
    with SequentialMatchExecutor() as executor:
        results = executor.execute_matches(specs)
    for spec, result in zip(specs, results, strict=True):
        playback = verified(spec, result)
        position = playback.boards.position(HEAD, 0)
        assert isinstance(position, ShogiPosition)
        text = playback.written("csa", names, result.ending)
        words.add(text.splitlines()[-1])
        winner = parsed(text, position.start, position.packed)
        assert winner is None or result.ranks[winner] == 1 < result.ranks[1 - winner]
        loser = position.seat if rng.random() < 0.5 else 1 - position.seat
        for kind in EndingKind:
            if kind not in PLAIN:
                text = playback.written("csa", names, Ending(kind, (loser,), "because\n%TORYO"))
                expected = 1 - loser if kind.rated else None
                assert parsed(text, position.start, position.packed) == expected, kind
    assert {"%TSUMI", "%MAX_MOVES"} <= words


def test_an_exported_perpetual_check_has_the_winner_of_the_match() -> None:
    rng, winners = random.Random(9), set()
    for _ in range(40):
        start, moves, (over, loser) = repeating(rng)
        boards = dealt(f"{start} moves {' '.join(moves[:2])}")
        play(boards, " ".join(moves[2:]))
        ending = Ending(EndingKind.NO_CONTEST if over == NO_CONTEST else EndingKind.FINISHED)
        position = boards.position(0, 0)
        text = boards.written(0, "csa", ("先手", "White, the second"), ending)
        winner = parsed(text, position.start, position.packed)
        assert winner == (None if loser is None else 1 - loser)
        winners.add((winner, position.seat))
    assert len(winners) >= 5, "each side, with either side to move, and none"
