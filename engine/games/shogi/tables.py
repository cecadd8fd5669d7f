"""Numbers of squares, pieces, directions and actions of Shogi, and precomputed tables.

Squares are numbered from 0 (9a, top left as Black sees it) along the rows to 80 (1i). A set of squares is two 64-bit
words: squares 0 to 63 and 64 to 80. A piece is its type, plus `WHITE` for the second player's. An action is
`kind * 81 + target`, seen from the side to move: kinds 0 to 9 are the directions below, 10 to 19 the same with
promotion, 20 to 26 drops of pawn, lance, knight, silver, bishop, rook and gold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.seeding import GOLDEN, purpose

EMPTY, PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK, GOLD, KING = range(9)
PROMOTED = 8  # added to a type that can be promoted
HORSE, DRAGON = BISHOP + PROMOTED, ROOK + PROMOTED
TYPES = 15  # type 0 is no piece
WHITE = 16
DROPS = 7  # hands hold types 1 to 7
PIECE_COUNTS = (18, 4, 4, 4, 2, 2, 4, 2)  # pieces of each type in the game, pawns first
# Usual values of pieces by type (Tanigawa), in pawns: from no piece to king, then the promoted ones.
PIECE_VALUES = np.array([0, 1, 3, 4, 5, 8, 10, 6, 0, 7, 6, 6, 6, 10, 12, 0], np.float64)
KINDS, ACTIONS = 27, 27 * 81
DIRECTIONS = ((-1, 0), (-1, -1), (-1, 1), (0, -1), (0, 1), (1, 0), (1, -1), (1, 1), (-2, -1), (-2, 1))
OPPOSITE = np.array([5, 7, 6, 4, 3, 0, 2, 1], np.int64)
FORWARD = 0
SHIFT = np.array([9 * row + column for row, column in DIRECTIONS], np.int64)
NONE = 255  # no direction leads from one square to the other

_GOLD = (0, 1, 2, 3, 4, 5)
_ALL = tuple(range(8))
STEPS_OF: dict[int, tuple[int, ...]] = {
    PAWN: (0,), KNIGHT: (8, 9), SILVER: (0, 1, 2, 6, 7), GOLD: _GOLD, KING: _ALL,
    PAWN + PROMOTED: _GOLD, LANCE + PROMOTED: _GOLD, KNIGHT + PROMOTED: _GOLD, SILVER + PROMOTED: _GOLD,
    HORSE: (0, 3, 4, 5), DRAGON: (1, 2, 6, 7),
}  # fmt: skip
SLIDES_OF: dict[int, tuple[int, ...]] = {
    LANCE: (0,), BISHOP: (1, 2, 6, 7), ROOK: (0, 3, 4, 5), HORSE: (1, 2, 6, 7), DRAGON: (0, 3, 4, 5)
}  # fmt: skip
Words = NDArray[np.uint64]


def _ray(square: int, direction: int) -> list[int]:
    """The squares in this direction, nearest first."""
    row, column = divmod(square, 9)
    down, right = DIRECTIONS[direction]
    found = []
    while 0 <= (row := row + down) < 9 and 0 <= (column := column + right) < 9:
        found.append(9 * row + column)
    return found


def words(squares: list[int]) -> tuple[int, int]:
    whole = sum(1 << square for square in set(squares))
    return whole & (2**64 - 1), whole >> 64


def _table(*shape: int) -> Words:
    return np.zeros((*shape, 2), np.uint64)


def _turned(side: int, direction: int) -> int:
    """A direction relative to this side, converted to Black's view. Not for knight jumps."""
    return int(OPPOSITE[direction]) if side else direction


def _step(side: int, square: int, direction: int) -> list[int]:
    """The target of one step, as a list of at most one square."""
    if not side:
        return _ray(square, direction)[:1]
    return [80 - target for target in _ray(80 - square, direction)[:1]]


RAY = _table(8, 81)  # squares in a direction
ROOM = np.zeros((8, 81), np.int64)  # number of squares in a direction
TO = np.full((81, 81), NONE, np.uint8)  # the direction from one square to another, for Black
for _square in range(81):
    for _direction in range(10):
        _path = _ray(_square, _direction)[: None if _direction < 8 else 1]
        TO[_square, _path] = _direction
        if _direction < 8:
            RAY[_direction, _square] = words(_path)
            ROOM[_direction, _square] = len(_path)

STEP, REACH = _table(2, TYPES, 81), _table(2, TYPES, 81)  # single steps; slides on an empty board
SLIDES = np.zeros((2, TYPES, 5), np.int64)  # number of directions, then the directions
for _side in range(2):
    for _square in range(81):
        for _type, _ways in STEPS_OF.items():
            STEP[_side, _type, _square] = words([target for way in _ways for target in _step(_side, _square, way)])
        for _type, _ways in SLIDES_OF.items():
            _turns = [_turned(_side, way) for way in _ways]
            REACH[_side, _type, _square] = words([target for way in _turns for target in _ray(_square, way)])
            SLIDES[_side, _type, : len(_ways) + 1] = [len(_ways), *_turns]
SLIDER = np.array([kind in SLIDES_OF for kind in range(TYPES)] + [False], np.bool_)
PROMOTES = np.array([PAWN <= kind <= ROOK for kind in range(TYPES)] + [False], np.bool_)

BIT = _table(81)
for _square in range(81):
    BIT[_square] = words([_square])
TOUCH = _table(2, 81)  # squares from which a single step of the opponent reaches that side's king here
for _king in range(81):
    for _side in range(2):
        TOUCH[_side, _king] = np.bitwise_or.reduce(STEP[_side, :, _king])
NEAR = _table(2, 81)  # squares from which single steps of that side reach a king here or a square next to it
for _king in range(81):
    _around = STEP[0, KING, _king] | BIT[_king]
    for _side in range(2):
        _touching = ((STEP[_side] & _around).any(axis=2)).any(axis=0)
        NEAR[_side, _king] = words(np.flatnonzero(_touching).tolist())

BOARD = np.array(words(list(range(81))), np.uint64)
ZONE = np.array([words(list(range(27))), words(list(range(54, 81)))], np.uint64)  # promotion zone of that side
STUCK = _table(2, TYPES)  # squares on which that side's piece of this type could never move again
for _side, _rows in enumerate((list(range(81)), list(range(80, -1, -1)))):
    STUCK[_side, PAWN] = STUCK[_side, LANCE] = words(_rows[:9])
    STUCK[_side, KNIGHT] = words(_rows[:18])
FILES = _table(512)  # squares of a set of columns, indexed by a bit per column
for _columns in range(512):
    FILES[_columns] = words([square for square in range(81) if _columns >> square % 9 & 1])

# Zobrist keys for repetition: consecutive outputs of SplitMix64, so they are the same on every machine.
PIECE_KEYS, HAND_KEYS = 0, 81 * 32  # offsets into KEYS
TURN_KEY = HAND_KEYS + 2 * 8 * 19


def _keys(count: int) -> Words:
    with np.errstate(over="ignore"):
        z = (np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN)) + np.uint64(purpose("shogi.key"))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys: Words = z ^ (z >> np.uint64(31))
    return keys


KEYS = _keys(TURN_KEY + 1)

# A position is two rows: `cells` (bytes) and `sets` (words).
HANDS, SIDE, KINGS = 81, 97, 98  # in `cells`: hands are 8 bytes for each side, indexed by type (0 is not used)
CELLS = 104
OCCUPIED, SLIDERS, PAWNS, KEY = 0, 4, 8, 9  # in `sets`: two words a side; pawns' files, 9 bits a side; the key
SETS = 10
