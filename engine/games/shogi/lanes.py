"""Kernels of Shogi matches in lanes: deal, apply, endings and observations.

The rules are functions of one lane (`engine.game.BoardRows`); kernels for many lanes loop over them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from engine.bits import int64, popcount
from engine.game import Bools, Floats
from engine.games.shogi.moves import can_move, list_moves
from engine.games.shogi.play import FROM, PROMOTING, copy_position, make_move, unpack
from engine.games.shogi.tables import (
    BISHOP,
    BIT,
    CELLS,
    DRAGON,
    DROPS,
    HANDS,
    HORSE,
    KEY,
    KINGS,
    OCCUPIED,
    PIECE_COUNTS,
    PIECE_VALUES,
    ROOK,
    SETS,
    SIDE,
    ZONE,
)
from engine.kernels import bare, kernel, row
from engine.seeding import draw, purpose

OPENING, OPENING_MOVE = purpose("shogi.opening"), purpose("shogi.opening_move")
RUNNING, FINISHED, LIMIT, NO_CONTEST = range(4)  # values of `over`
# Values of `reason`: running, no legal move, fourfold repetition, perpetual check, entering king, move limit.
PLAYING, MATE, REPETITION, PERPETUAL, DECLARED, TOO_LONG = range(6)
STATS = ("captures", "drops", "promotions", "checks")
MEASURES = ("material",)
LANE = np.dtype(
    [
        ("before", "u4"),  # moves before the start of the match
        ("plies", "u4"),  # moves of the match
        ("count", "u4"),  # number of legal moves
        ("runs", "u4", 2),  # consecutive checking moves of each side
        ("stats", "u4", (2, 4)),
        ("over", "i1"),
        ("reason", "u1"),
        ("repeats", "u1"),  # earlier occurrences of this position
        ("checked", "u1"),  # whether the side to move is in check
    ],
    align=True,
)
RULES = np.dtype([("limit", "u4"), ("random_plies", "u4"), ("declaration", "u1")], align=True)
MAX_HELD = np.array((1, *PIECE_COUNTS), np.float32)
PLANES = 46
MAX_START_MOVES = 512  # most moves in the text of a start


class Arrays(NamedTuple):
    """The data of the row functions; all but `rules` are indexed by lane."""

    lanes: NDArray[Any]
    scores: Floats
    acting: Bools
    keys: NDArray[np.uint64]  # [lanes, moves]: hash keys of the positions so far
    cells: NDArray[np.uint8]  # cells and sets: see `tables`
    sets: NDArray[np.uint64]
    moves: NDArray[np.int32]  # the legal moves
    played: NDArray[np.int32]
    rules: NDArray[Any]


@bare
def can_declare(cells, sets, side):  # type: ignore[no-untyped-def]
    """Whether this side, which must be to move and not in check, can declare a win by the 27-point rule.

    Its king and at least ten other pieces are in the promotion zone, and these pieces and its hand are worth 28 points
    for Black or 27 for White: five for each rook and bishop, one for each other piece.
    """
    king = int64(cells[KINGS + side])
    if (ZONE[side, 0] & BIT[king, 0]) | (ZONE[side, 1] & BIT[king, 1]) == uint64(0):
        return False
    inside = popcount(ZONE[side, 0] & sets[OCCUPIED + 2 * side]) + popcount(
        ZONE[side, 1] & sets[OCCUPIED + 2 * side + 1]
    )
    if inside < uint64(11):
        return False
    points = int64(inside) - 1
    for k in range(27):
        code = int64(cells[k + 54 * side])
        kind = code & 15
        if code >> 4 == side and kind in (BISHOP, ROOK, HORSE, DRAGON):
            points += 4
    for kind in range(1, DROPS + 1):
        points += int64(cells[HANDS + 8 * side + kind]) * (5 if kind in (BISHOP, ROOK) else 1)
    return points >= 28 - side


@bare
def _count_repetitions(keys, now):  # type: ignore[no-untyped-def]
    """The number of earlier occurrences of the position after `now` moves, and the first. Compares 64-bit hash keys."""
    key, found, first = keys[now], 0, now
    last = uint64(max(now - 3, 0))  # a position can recur after four moves at the earliest
    for k in range(uint64(now & 1), last, uint64(2)):  # with the same side to move
        found += int64(keys[k] == key)  # without a branch, so that LLVM vectorises it
    if found > 0:
        first = now & 1
        while keys[first] != key:
            first += 2
    return found, first


@bare
def _update_status(arrays, lane):  # type: ignore[no-untyped-def]
    """Update a lane after a move: legal moves, checks, repetition, who acts, or how the match ended."""
    state, rules, acting = arrays.lanes[lane], arrays.rules[0], arrays.acting[lane]
    cells, sets = arrays.cells[lane], arrays.sets[lane]
    side = int64(cells[SIDE])
    mover = 1 - side
    count, checks = list_moves(cells, sets, arrays.moves[lane], int64(0))
    plies = int64(state.plies)
    now = int64(state.before) + plies
    state.count = count
    state.checked = checks > 0
    if now > 0:
        state.runs[mover] = state.runs[mover] + uint32(1) if checks else uint32(0)
    if plies > 0:
        state.stats[mover, 3] += uint32(checks > 0)
    found, first = _count_repetitions(arrays.keys[lane], now)
    state.repeats = min(found, 3)
    winner = -1
    if count == 0:
        state.over, state.reason, winner = FINISHED, MATE, mover
    elif found >= 3:
        turns = (now - first) // 2
        by_mover, by_other = state.runs[mover] >= turns, state.runs[side] >= turns
        if by_mover == by_other:
            state.over, state.reason = NO_CONTEST, REPETITION
        else:
            state.over, state.reason, winner = FINISHED, PERPETUAL, side if by_mover else mover
    elif rules.declaration != 0 and checks == 0 and can_declare(cells, sets, side):
        state.over, state.reason, winner = FINISHED, DECLARED, side
    elif plies >= rules.limit:
        state.over, state.reason = LIMIT, TOO_LONG
    acting[0] = state.over == 0 and side == 0
    acting[1] = state.over == 0 and side == 1
    if state.over != 0:
        for seat in range(2):
            arrays.scores[lane, seat] = 0.5 if winner < 0 else (1.0 if winner == seat else 0.0)


@kernel
def deal(arrays, openings, lanes, seeds, given):  # type: ignore[no-untyped-def]
    """Begin matches on these lanes: from an opening drawn from the seed, or, if `given`, from the position and the
    `before` moves that are already stored on the lane.

    These moves are played by the rules, so repetition and perpetual check count from the first of them. The move limit
    and statistics count only later moves. If one of them ends the match, `before` is its number.
    """
    plies = int64(arrays.rules[0].random_plies)
    spare = np.empty((2, CELLS), np.uint8), np.empty((2, SETS), np.uint64)
    for i in range(lanes.size):
        lane = lanes[i]
        state, cells, sets = arrays.lanes[lane], arrays.cells[lane], arrays.sets[lane]
        if not given[i]:
            _load_opening(arrays, openings, lane, seeds[i])
            if plies > 0:
                state.before += uint32(_write_random_moves(arrays, lane, seeds[i], plies, spare))
        before = int64(state.before)
        state.before = 0
        state.plies = 0
        state.over = 0
        state.reason = 0
        for seat in range(2):
            state.runs[seat] = 0
            arrays.scores[lane, seat] = 0.0
            for k in range(4):
                state.stats[seat, k] = 0
        while True:
            now = int64(state.before)
            arrays.keys[lane, now] = sets[KEY]
            _update_status(arrays, lane)
            if now == before or state.over != 0:
                break
            make_move(cells, sets, int64(arrays.played[lane, now]))
            state.before += uint32(1)


@bare
def _load_opening(arrays, openings, lane, seed):  # type: ignore[no-untyped-def]
    """Draw an opening and write its position and moves to a lane."""
    cells, sets, counts, moves = openings
    n = uint64(counts.size)
    bits = draw(seed, OPENING, 0, 0, 0)
    high, low = bits >> uint64(32), bits & uint64(0xFFFFFFFF)
    chosen = (high * n + (low * n >> uint64(32))) >> uint64(32)  # as `seeding.pick`: bits * n >> 64
    copy_position(cells, sets, arrays.cells[lane], arrays.sets[lane])
    for k in range(counts[chosen]):
        arrays.played[lane, k] = moves[chosen, k]
    arrays.lanes[lane].before = counts[chosen]


@bare
def _write_random_moves(arrays, lane, seed, plies, spare):  # type: ignore[no-untyped-def]
    """Write up to `plies` random moves, none of which ends the match; returns their number."""
    cells, sets = spare
    keys, moves = arrays.keys[lane], arrays.moves[lane]
    copy_position(arrays.cells[lane], arrays.sets[lane], cells[0], sets[0])
    for ply in range(plies):
        keys[ply] = sets[0, KEY]
        count, _ = list_moves(cells[0], sets[0], moves, int64(0))
        found = False
        for k in range(8):
            chosen = int64(moves[draw(seed, OPENING_MOVE, 0, ply, k) % uint64(count)])
            copy_position(cells[0], sets[0], cells[1], sets[1])
            make_move(cells[1], sets[1], chosen)
            keys[ply + 1] = sets[1, KEY]
            if can_move(cells[1], sets[1]) and _count_repetitions(keys, ply + 1)[0] < 3:
                found = True
                break
        if not found:
            return ply
        arrays.played[lane, ply] = chosen
        copy_position(cells[1], sets[1], cells[0], sets[0])
    return plies


@row
def apply_row(arrays, lane, actions):  # type: ignore[no-untyped-def]
    """Play one move on one lane; `actions` is indexed by seat."""
    state, cells, sets = arrays.lanes[lane], arrays.cells[lane], arrays.sets[lane]
    side = int64(cells[SIDE])
    move = unpack(cells, actions[side])
    taken = make_move(cells, sets, move)
    state.stats[side, 0] += uint32(taken != 0)
    state.stats[side, 1] += uint32(move >> FROM & 127 == 81)
    state.stats[side, 2] += uint32(move >> PROMOTING & 1)
    now = int64(state.before) + int64(state.plies)
    arrays.played[lane, now] = move
    state.plies += uint32(1)
    arrays.keys[lane, now + 1] = sets[KEY]
    _update_status(arrays, lane)


@row
def over_row(arrays, lane):  # type: ignore[no-untyped-def]
    return arrays.lanes[lane].over


@row
def score_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return arrays.scores[lane, seat]


@row
def material_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    """The value of a seat's pieces, on the board and in hand."""
    squares, seat, total = arrays.cells[lane], int64(seat), 0.0
    for square in range(81):
        code = int64(squares[square])
        if code >> 4 == seat:
            total += PIECE_VALUES[code & 15]
    for kind in range(1, DROPS + 1):
        total += PIECE_VALUES[kind] * squares[HANDS + 8 * seat + kind]
    return total


@row
def stats_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    """Write statistics and measures of a seat."""
    for k in range(4):
        out[k] = arrays.lanes[lane].stats[seat, k]
    out[4] = material_row(arrays, lane, seat)


@row
def acting_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return arrays.acting[lane, seat]


@row
def legal_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    """Write the legal moves of a lane as flags."""
    moves = arrays.moves[lane]
    out[:] = 0
    for k in range(arrays.lanes[lane].count):
        out[moves[k] & 0xFFF] = 1


@row
def position_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    """Cells, sets and legal moves of a lane."""
    return arrays.cells[lane], arrays.sets[lane], arrays.moves[lane, : arrays.lanes[lane].count]


@row
def observe_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    """Write planes of 9 x 9, rotated so that each seat plays up the board.

    0-13 own pieces by type, 14-27 the opponent's, 28-34 own hand (share of all such pieces), 35-41 the opponent's,
    42-44 whether this position occurred at least once, twice, three times before, 45 whether the seat is White.
    """
    squares, seat = arrays.cells[lane], int64(seat)
    out[:] = 0.0
    for square in range(81):
        code = int64(squares[square])
        if code != 0:
            seen = 80 - square if seat else square
            plane = (code & 15) - 1 + (0 if code >> 4 == seat else 14)
            out[plane, seen // 9, seen % 9] = 1.0
    for other in range(2):
        whose = seat if other == 0 else 1 - seat
        for kind in range(1, DROPS + 1):
            held = squares[HANDS + 8 * whose + kind]
            if held != 0:
                out[27 + 7 * other + kind] = np.float32(held) / MAX_HELD[kind]
    for k in range(arrays.lanes[lane].repeats):
        out[42 + k] = 1.0
    if seat == 1:
        out[45] = 1.0


@bare
def apply(arrays, lanes, actions):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        apply_row(arrays, lanes[i], actions[lanes[i]])


@bare
def measures(arrays, lanes, out):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        for seat in range(2):
            out[i, seat, 0] = material_row(arrays, lanes[i], seat)


@bare
def legal(arrays, lanes, seats, out):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        legal_row(arrays, lanes[i], seats[i], out[i])


@bare
def observe(arrays, lanes, seats, out):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        observe_row(arrays, lanes[i], seats[i], out[i])
