"""Helpers of the Shogi tests: moves by name, and boards on which given moves are played."""

from __future__ import annotations

import random

import numpy as np

from engine.errors import BadValue
from engine.game import Ints
from engine.games.shogi.game import Shogi, ShogiBoards, ShogiOptions
from engine.games.shogi.notation import HAND_ORDER, read_sfen, write_usi
from engine.games.shogi.position import ShogiPosition

ONE = np.array([0], np.uint32)
SHUFFLE = "5i5h 5a5b 5h5i 5b5a "
CHECKS = "4i5i 5a4a 5i4i 4a5a "  # a rook that gives check on each move, and a king that moves away
COUNTS = {"P": 18, "L": 4, "N": 4, "S": 4, "B": 2, "R": 2, "G": 4}


def legal(sfen: str) -> set[str]:
    """The legal moves in USI notation."""
    return {write_usi(move) for move in ShogiPosition.from_usi(sfen).legal_moves.tolist()}


def drops(sfen: str, letter: str) -> set[str]:
    """Where this piece may be dropped."""
    return {move[2:] for move in legal(sfen) if move.startswith(f"{letter}*")}


def moves_from(sfen: str, square: str) -> set[str]:
    return {move[2:] for move in legal(sfen) if move.startswith(square)}


def dealt(start: str | None, seed: int = 1, **options: object) -> ShogiBoards:
    boards = Shogi(ShogiOptions(**options)).boards(1)  # type: ignore[arg-type]
    boards.deal(ONE, np.array([seed], np.uint64), [start])
    return boards


def play(boards: ShogiBoards, moves: str) -> None:
    """Play these legal moves, given in USI notation, on lane 0."""
    for move in moves.split():
        assert not boards.over()[0], f"over before {move}"
        position = boards.position(0, 0)
        known = {write_usi(legal): legal & 0xFFF for legal in position.legal_moves.tolist()}
        actions: Ints = np.full((1, 2), -1, np.int64)
        actions[0, position.seat] = known[move]
        boards.apply(ONE, actions)


def ended(boards: ShogiBoards) -> tuple[int, int, list[float]]:
    """How the match on lane 0 ended, why, and the scores."""
    state = boards.lanes[0]
    return int(state["over"]), int(state["reason"]), boards.scores()[0].tolist()


def any_position(rng: random.Random) -> str:
    """A random legal placement of pieces: pins, checks and full hands are more common than in games."""
    while True:
        squares = rng.sample(range(81), rng.randint(4, 38))
        board = dict(zip(squares, "Kk", strict=False))
        stock = [letter for letter, count in COUNTS.items() for _ in range(count)]
        rng.shuffle(stock)
        for square, letter in zip(squares[2:], stock, strict=False):
            piece = letter if rng.random() < 0.5 else letter.lower()
            rank = square // 9 if piece.isupper() else 8 - square // 9
            stuck = rank < {"P": 1, "L": 1, "N": 2}.get(letter, 0)
            second = letter == "P" and piece in (board.get(place) for place in range(square % 9, 81, 9))
            plus = "+" if letter != "G" and (stuck or second or rng.random() < 0.3) else ""
            board[square] = plus + piece
        hands = [letter if rng.random() < 0.5 else letter.lower() for letter in stock[len(squares) - 2 :]]
        rows = ["".join(board.get(9 * row + column, "1") for column in range(9)) for row in range(9)]
        held = "".join(
            f"{hands.count(letter) if hands.count(letter) > 1 else ''}{letter}"
            for letter in HAND_ORDER + HAND_ORDER.lower()
            if letter in hands
        )
        sfen = f"{'/'.join(rows)} {rng.choice('bw')} {held or '-'} 1"
        try:
            read_sfen(sfen)
        except BadValue:  # a king that could be taken
            continue
        return sfen
