"""Matches of Shogi in lanes: beginning, moving on, ending, and what an agent sees.

The rules are functions of one lane (`engine.game.BoardRows`); the kernels for many lanes are loops over them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from engine.game import Bools, Floats
from engine.games.shogi.bits import int64, ones
from engine.games.shogi.moves import can_move, list_moves
from engine.games.shogi.play import FROM, PROMOTING, copy_position, make, unpack
from engine.games.shogi.tables import (BISHOP, BIT, CELLS, DRAGON, DROPS, HANDS, HORSE, KEY, KINGS, MOST, OCCUPIED, ROOK, SETS, SIDE, ZONE)
from engine.kernels import bare, kernel, row
from engine.seeding import draw, purpose

OPENING, OPENING_MOVE = purpose("shogi.opening"), purpose("shogi.opening_move")
RUNNING, FINISHED, LIMIT, NO_CONTEST = range(4)  # what `over` says
# Why it is over: nothing yet, no legal move, fourfold repetition, perpetual check, entering king, move limit.
PLAYING, MATE, REPETITION, PERPETUAL, DECLARED, TOO_LONG = range(6)
STATS = ("captures", "drops", "promotions", "checks")
LANE = np.dtype(
    [
        ("before", "u4"),  # moves that led to where the match began
        ("plies", "u4"),  # moves since then
        ("count", "u4"),  # legal moves now
        ("runs", "u4", 2),  # how many moves in a row each side has given check with
        ("stats", "u4", (2, 4)),
        ("over", "i1"),
        ("reason", "u1"),
        ("repeats", "u1"),  # how often this position was there before
        ("checked", "u1"),  # whether the side to move is in check
    ],
    align=True,
)
RULES = np.dtype([("limit", "u4"), ("random_plies", "u4"), ("declaration", "u1")], align=True)
MOST_HELD = np.array((1, *MOST), np.float32)
PLANES = 46
MOST_BEFORE = 512  # moves that a start may be given with


class Arrays(NamedTuple):
    """What the row functions work on; all but the rules are by lane."""

    lanes: NDArray[Any]
    scores: Floats
    acting: Bools
    keys: NDArray[np.uint64]  # [lanes, moves made]: of the positions so far
    cells: NDArray[np.uint8]  # cells and sets: see `tables`
    sets: NDArray[np.uint64]
    moves: NDArray[np.int32]  # the legal ones
    played: NDArray[np.int32]
    rules: NDArray[Any]


@bare
def declares(cells, sets, side):  # type: ignore[no-untyped-def]
    """Whether this side, which must be to move and not in check, could declare a win by the 27-point rule.

    Its king is in the promotion zone with ten or more of its pieces beside; those and its hand are worth 28 points for
    Black, 27 for White: five for each rook and bishop, one for each other piece.
    """
    king = int64(cells[KINGS + side])
    if (ZONE[side, 0] & BIT[king, 0]) | (ZONE[side, 1] & BIT[king, 1]) == uint64(0):
        return False
    there = ones(ZONE[side, 0] & sets[OCCUPIED + 2 * side]) + ones(ZONE[side, 1] & sets[OCCUPIED + 2 * side + 1])
    if there < uint64(11):
        return False
    points = int64(there) - 1
    for k in range(27):
        code = int64(cells[k + 54 * side])
        kind = code & 15
        if code >> 4 == side and kind in (BISHOP, ROOK, HORSE, DRAGON):
            points += 4
    for kind in range(1, DROPS + 1):
        points += int64(cells[HANDS + 8 * side + kind]) * (5 if kind in (BISHOP, ROOK) else 1)
    return points >= 28 - side


@bare
def _repeated(keys, now):  # type: ignore[no-untyped-def]
    """How often the position after so many moves was there before, and when first. Keys of 64 bits stand for them."""
    key, found, first = keys[now], 0, now
    last = uint64(max(now - 3, 0))  # it takes four moves to come back
    for k in range(uint64(now & 1), last, uint64(2)):  # with the same side to move
        found += int64(keys[k] == key)  # without a branch: several at a time
    if found > 0:
        first = now & 1
        while keys[first] != key:
            first += 2
    return found, first


@bare
def _settle(arrays, lane):  # type: ignore[no-untyped-def]
    """What the position that has just come about means: who acts, or how it ended."""
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
    found, first = _repeated(arrays.keys[lane], now)
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
    elif rules.declaration != 0 and checks == 0 and declares(cells, sets, side):
        state.over, state.reason, winner = FINISHED, DECLARED, side
    elif plies >= rules.limit:
        state.over, state.reason = LIMIT, TOO_LONG
    acting[0] = state.over == 0 and side == 0
    acting[1] = state.over == 0 and side == 1
    if state.over != 0:
        for seat in range(2):
            arrays.scores[lane, seat] = 0.5 if winner < 0 else (1.0 if winner == seat else 0.0)


@kernel
def begin(arrays, openings, lanes, seeds, given):  # type: ignore[no-untyped-def]
    """Matches on these lanes: from an opening that follows from the seed, or, where `given`, from the positions that
    are there now and the `before` moves that are written down as played.

    These go by the rules like any others, so that repetition and perpetual check count from the first of them. Only
    limit and statistics begin after the last; if one ends the match, `before` says which.
    """
    plies = int64(arrays.rules[0].random_plies)
    spare = np.empty((2, CELLS), np.uint8), np.empty((2, SETS), np.uint64)
    for i in range(lanes.size):
        lane = lanes[i]
        state, cells, sets = arrays.lanes[lane], arrays.cells[lane], arrays.sets[lane]
        if not given[i]:
            _open(arrays, openings, lane, seeds[i])
            if plies > 0:
                state.before += uint32(_scatter(arrays, lane, seeds[i], plies, spare))
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
            _settle(arrays, lane)
            if now == before or state.over != 0:
                break
            make(cells, sets, int64(arrays.played[lane, now]))
            state.before += uint32(1)


@bare
def _open(arrays, openings, lane, seed):  # type: ignore[no-untyped-def]
    """Put the first position of an opening on a lane, and write down its moves."""
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
def _scatter(arrays, lane, seed, plies, spare):  # type: ignore[no-untyped-def]
    """Write down so many random moves; one that would end the match at once is never chosen. Returns how many."""
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
            make(cells[1], sets[1], chosen)
            keys[ply + 1] = sets[1, KEY]
            if can_move(cells[1], sets[1]) and _repeated(keys, ply + 1)[0] < 3:
                found = True
                break
        if not found:
            return ply
        arrays.played[lane, ply] = chosen
        copy_position(cells[1], sets[1], cells[0], sets[0])
    return plies


@row
def apply_row(arrays, lane, actions):  # type: ignore[no-untyped-def]
    """One move of one lane; `actions` is by seat."""
    state, cells, sets = arrays.lanes[lane], arrays.cells[lane], arrays.sets[lane]
    side = int64(cells[SIDE])
    move = unpack(cells, actions[side])
    taken = make(cells, sets, move)
    state.stats[side, 0] += uint32(taken != 0)
    state.stats[side, 1] += uint32(move >> FROM & 127 == 81)
    state.stats[side, 2] += uint32(move >> PROMOTING & 1)
    now = int64(state.before) + int64(state.plies)
    arrays.played[lane, now] = move
    state.plies += uint32(1)
    arrays.keys[lane, now + 1] = sets[KEY]
    _settle(arrays, lane)


@row
def over_row(arrays, lane):  # type: ignore[no-untyped-def]
    return arrays.lanes[lane].over


@row
def acting_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return arrays.acting[lane, seat]


@row
def legal_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    """The list of a lane's legal moves, as flags."""
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
    """Planes of 9 x 9, turned so that each seat plays up the board.

    0-13 own pieces by type, 14-27 the opponent's, 28-34 own hand (share of all such pieces), 35-41 the opponent's,
    42-44 whether this position was there once, twice, three times before, 45 whether the seat is White.
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
                out[27 + 7 * other + kind] = np.float32(held) / MOST_HELD[kind]
    for k in range(arrays.lanes[lane].repeats):
        out[42 + k] = 1.0
    if seat == 1:
        out[45] = 1.0


@bare
def advance(arrays, lanes, actions):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        apply_row(arrays, lanes[i], actions[lanes[i]])


@bare
def mask(arrays, lanes, seats, out):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        legal_row(arrays, lanes[i], seats[i], out[i])


@bare
def observe(arrays, lanes, seats, out):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        observe_row(arrays, lanes[i], seats[i], out[i])
