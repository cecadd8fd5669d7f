"""Reads and writes positions in SFEN and moves in USI notation."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.games.shogi.attacks import threats
from engine.games.shogi.moves import MAX_MOVES, list_moves
from engine.games.shogi.play import FROM, PROMOTING, TARGET, rebuild_sets
from engine.games.shogi.tables import (
    BIT,
    CELLS,
    HANDS,
    KING,
    PAWN,
    PIECE_COUNTS,
    PROMOTED,
    ROOK,
    SETS,
    SIDE,
    STUCK,
    WHITE,
)

Cells = NDArray[np.uint8]
Sets = NDArray[np.uint64]

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
LETTERS = " PLNSBRGK"
HAND_ORDER = "RBGSNLP"  # as SFEN writes hands
_USI = re.compile(r"([1-9])([a-i])([1-9])([a-i])(\+?)")
_USI_DROP = re.compile(r"([PLNSBRG])\*([1-9])([a-i])")


def read_sfen(text: str, field: str = "sfen") -> tuple[Cells, Sets, int]:
    """Cells, sets and the number of the next move; BadValue says what is wrong with the text or the position."""
    parts = text.split()
    if len(parts) not in (3, 4) or parts[1] not in ("b", "w"):
        raise BadValue(field, text, f"'<board> <b or w> <hands> <move number>' as in {START!r}")
    cells: Cells = np.zeros(CELLS, np.uint8)
    _read_board(parts[0], cells, text, field)
    _read_hands(parts[2], cells, text, field)
    cells[SIDE] = parts[1] == "w"
    number = parts[3] if len(parts) == 4 else "1"
    if not re.fullmatch(r"[1-9][0-9]{0,5}", number):
        raise BadValue(field, text, "a position whose last part, the move number, is a whole number of at least 1")
    _check_pieces(cells, text, field)
    sets: Sets = np.zeros(SETS, np.uint64)
    rebuild_sets(cells, sets)
    if threats(cells, sets, 1 - int(cells[SIDE]))[2]:
        raise BadValue(field, text, "a position in which the side that just moved is not in check")
    return cells, sets, int(number)


def _read_board(board: str, cells: Cells, text: str, field: str) -> None:
    rows = board.split("/")
    if len(rows) != 9:
        raise BadValue(field, text, f"a board of 9 rows with / between them, not {len(rows)}")
    for number, row in enumerate(rows):
        if not re.fullmatch(r"(?:[1-9]|\+?[plnsbrPLNSBR]|[gkGK])*", row):
            raise BadValue(field, text, f"a board of digits and pieces such as P, +p or k; row {number + 1} is {row!r}")
        column = 0
        for plus, letter in re.findall(r"(\+?)([0-9A-Za-z])", row):
            if letter.isdigit():
                column += int(letter)
                continue
            if column < 9:
                kind = LETTERS.index(letter.upper()) + PROMOTED * bool(plus)
                cells[9 * number + column] = kind + WHITE * letter.islower()
            column += 1
        if column != 9:
            raise BadValue(field, text, f"a board of 9 squares in each row; row {number + 1} has {column}")


def _read_hands(hands: str, cells: Cells, text: str, field: str) -> None:
    if hands == "-":
        return
    if not re.fullmatch(r"(?:(?:[1-9]|1[0-8])?[plnsbrgPLNSBRG])+", hands):
        raise BadValue(field, text, "hands such as 'RB4p', or '-' for none")
    for count, letter in re.findall(r"([0-9]*)([A-Za-z])", hands):
        place = HANDS + 8 * letter.islower() + LETTERS.index(letter.upper())
        cells[place] = min(int(cells[place]) + int(count or 1), 99)


def _check_pieces(cells: Cells, text: str, field: str) -> None:
    kinds, sides = cells[:81] & 15, cells[:81] // WHITE
    for side in range(2):
        if np.count_nonzero((kinds == KING) & (sides == side)) != 1:
            raise BadValue(field, text, "a position in which each side has one king")
    for kind in range(PAWN, KING):
        board = np.count_nonzero((kinds == kind) | ((kinds == kind + PROMOTED) & (kind <= ROOK)))
        count = int(board + cells[HANDS + kind] + cells[HANDS + 8 + kind])
        if count > PIECE_COUNTS[kind - 1]:
            raise BadValue(
                field, text, f"a position with at most {PIECE_COUNTS[kind - 1]} of {LETTERS[kind]}, not {count}"
            )
    for square in np.flatnonzero(kinds).tolist():
        kind, side = int(kinds[square]), int(sides[square])
        if (STUCK[side, kind] & BIT[square]).any():
            raise BadValue(field, text, f"a position without a piece that can never move, as on {square_name(square)}")
        if kind == PAWN:
            file = cells[square % 9 : 81 : 9]
            if np.count_nonzero(file == cells[square]) > 1:
                raise BadValue(field, text, f"a position without two pawns of one side on file {9 - square % 9}")


def write_sfen(cells: Cells, number: int) -> str:
    rows = []
    for row in range(9):
        written = "".join(_piece(int(code)) or "1" for code in cells[9 * row : 9 * row + 9])
        rows.append(re.sub(r"1+", lambda run: str(len(run[0])), written))
    hands = ""
    for side in range(2):
        for letter in HAND_ORDER:
            count = int(cells[HANDS + 8 * side + LETTERS.index(letter)])
            if count:
                hands += (str(count) if count > 1 else "") + (letter.lower() if side else letter)
    return f"{'/'.join(rows)} {'w' if cells[SIDE] else 'b'} {hands or '-'} {number}"


def _piece(code: int) -> str:
    kind, white = code & 15, code >= WHITE
    if not kind:
        return ""
    letter = LETTERS[kind - PROMOTED * (kind > KING)]
    return "+" * (kind > KING) + (letter.lower() if white else letter)


def square_name(square: int) -> str:
    """The USI name of a square: 9a is the first, 1i the last."""
    return f"{9 - square % 9}{'abcdefghi'[square // 9]}"


def write_usi(move: int) -> str:
    """A packed move in USI notation."""
    source, target = move >> FROM & 127, move >> TARGET & 127
    if source == 81:
        return f"{LETTERS[(move & 0xFFF) // 81 - 19]}*{square_name(target)}"
    return square_name(source) + square_name(target) + "+" * (move >> PROMOTING & 1)


def is_usi(text: str) -> bool:
    """Whether the text has the form of a move, legal or not."""
    return bool(_USI.fullmatch(text) or _USI_DROP.fullmatch(text))


def read_usi(cells: Cells, sets: Sets, text: str, field: str = "move") -> int:
    """The legal move that this USI text names in this position."""
    if not is_usi(text):
        raise BadValue(field, text, "a move in USI notation, such as 7g7f, 8h2b+ or P*5e")
    moves: NDArray[np.int32] = np.empty(MAX_MOVES, np.int32)
    count, _ = list_moves(cells, sets, moves, 0)
    for move in moves[:count].tolist():
        if write_usi(move) == text:
            return int(move)
    raise BadValue(field, text, f"a legal move in {write_sfen(cells, 1).rsplit(' ', 1)[0]}")
