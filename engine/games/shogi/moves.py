"""Generation of legal moves.

Illegal moves are never generated: attacks on and around the king and pins are computed first, and each piece's targets
are restricted by them.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from engine.bits import int64, lowest_bit, popcount
from engine.games.shogi.attacks import between, pawn_mates, targets, threats
from engine.games.shogi.play import FROM, PROMOTING, TARGET, make_move
from engine.games.shogi.tables import (
    BIT,
    BOARD,
    CELLS,
    FILES,
    HANDS,
    KING,
    KINGS,
    OCCUPIED,
    PAWN,
    PAWNS,
    PROMOTES,
    SETS,
    SIDE,
    STEP,
    STUCK,
    TO,
    ZONE,
)
from engine.kernels import bare, inline, kernel

MAX_MOVES = 600  # a position has at most 593


@inline
def pawn_drops(cells, sets, side, t0, t1):  # type: ignore[no-untyped-def]
    """The subset of these free squares on which a pawn may be dropped."""
    files = int64(sets[PAWNS] >> uint64(9 * side)) & 511
    t0 &= ~(FILES[files, 0] | STUCK[side, PAWN, 0])
    t1 &= ~(FILES[files, 1] | STUCK[side, PAWN, 1])
    head = int64(cells[KINGS + 1 - side]) + 9 - 18 * side
    within = 0 <= head < 81 and (t0 & BIT[head, 0]) | (t1 & BIT[head, 1]) != uint64(0)
    if within and pawn_mates(cells, sets, side, head):
        t0 &= ~BIT[head, 0]
        t1 &= ~BIT[head, 1]
    return t0, t1


@bare
def count_moves(cells, sets):  # type: ignore[no-untyped-def]
    """The number of legal moves.

    It repeats part of `list_moves`, because counting bits is much faster than writing moves.
    """
    side = int64(cells[SIDE])
    king = int64(cells[KINGS + side])
    danger0, danger1, checks, checker, pins0, pins1 = threats(cells, sets, side)
    free0, free1 = ~sets[OCCUPIED + 2 * side], ~sets[OCCUPIED + 2 * side + 1]
    count = popcount(STEP[0, KING, king, 0] & free0 & ~danger0) + popcount(STEP[0, KING, king, 1] & free1 & ~danger1)
    if checks > 1:
        return int64(count)
    e0 = BOARD[0] & ~(sets[OCCUPIED] | sets[OCCUPIED + 2])
    e1 = BOARD[1] & ~(sets[OCCUPIED + 1] | sets[OCCUPIED + 3])
    if checks == 1:
        e0, e1 = between(king, checker)
        free0, free1 = e0 | BIT[checker, 0], e1 | BIT[checker, 1]
    z0, z1 = ZONE[side, 0], ZONE[side, 1]
    for w in range(2):
        word, pins, zone = sets[OCCUPIED + 2 * side + w], pins0 if w == 0 else pins1, ZONE[side, w]
        while word != uint64(0):
            square = int64(lowest_bit(word)) + 64 * w
            bit = word & (~word + uint64(1))
            word ^= bit
            kind = cells[square] & 15
            if kind == KING:
                continue
            t0, t1 = targets(cells, side, kind, square, pins & bit != uint64(0), king)
            t0 &= free0
            t1 &= free1
            count += popcount(t0) + popcount(t1)
            if PROMOTES[kind]:
                if zone & bit != uint64(0):
                    count += popcount(t0) + popcount(t1)
                else:
                    count += popcount(t0 & z0) + popcount(t1 & z1)
                count -= popcount(t0 & STUCK[side, kind, 0]) + popcount(t1 & STUCK[side, kind, 1])
    if e0 | e1 != uint64(0):
        for kind in range(1, 8):
            if cells[HANDS + 8 * side + kind] != 0:
                t0, t1 = e0 & ~STUCK[side, kind, 0], e1 & ~STUCK[side, kind, 1]
                if kind == PAWN:
                    t0, t1 = pawn_drops(cells, sets, side, t0, t1)
                count += popcount(t0) + popcount(t1)
    return int64(count)


@bare
def can_move(cells, sets):  # type: ignore[no-untyped-def]
    """Whether a legal move exists: like `list_moves`, but stops at the first one."""
    side = int64(cells[SIDE])
    king = int64(cells[KINGS + side])
    danger0, danger1, checks, checker, pins0, pins1 = threats(cells, sets, side)
    goal0, goal1 = ~sets[OCCUPIED + 2 * side], ~sets[OCCUPIED + 2 * side + 1]
    if (STEP[0, KING, king, 0] & goal0 & ~danger0) | (STEP[0, KING, king, 1] & goal1 & ~danger1) != uint64(0):
        return True
    if checks > 1:
        return False
    e0 = BOARD[0] & ~(sets[OCCUPIED] | sets[OCCUPIED + 2])
    e1 = BOARD[1] & ~(sets[OCCUPIED + 1] | sets[OCCUPIED + 3])
    if checks == 1:
        e0, e1 = between(king, checker)
        goal0, goal1 = e0 | BIT[checker, 0], e1 | BIT[checker, 1]
    for w in range(2):
        word, pins = sets[OCCUPIED + 2 * side + w], pins0 if w == 0 else pins1
        while word != uint64(0):
            square = int64(lowest_bit(word)) + 64 * w
            bit = word & (~word + uint64(1))
            word ^= bit
            if square != king:
                t0, t1 = targets(cells, side, int64(cells[square] & 15), square, pins & bit != uint64(0), king)
                if (t0 & goal0) | (t1 & goal1) != uint64(0):  # where promotion is forced, it is also legal
                    return True
    if e0 | e1 != uint64(0):
        for kind in range(1, 8):
            if cells[HANDS + 8 * side + kind] != 0:
                t0, t1 = e0 & ~STUCK[side, kind, 0], e1 & ~STUCK[side, kind, 1]
                if kind == PAWN:
                    t0, t1 = pawn_drops(cells, sets, side, t0, t1)
                if t0 | t1 != uint64(0):
                    return True
    return False


@inline
def write_moves(side, square, t0, t1, promote0, promote1, forced0, forced1, out, count):  # type: ignore[no-untyped-def]
    """Write the moves of one piece to these targets: it may promote on `promote`, and must promote on `forced`."""
    flip = 80 * side
    sign = 1 - 2 * side
    own = flip + sign * square
    for w in range(2):
        word, promote, forced = (t0, promote0, forced0) if w == 0 else (t1, promote1, forced1)
        while word != uint64(0):
            bit = word & (~word + uint64(1))
            target = int64(lowest_bit(word)) + 64 * w
            word ^= bit
            seen = flip + sign * target
            action = int64(TO[uint64(own), uint64(seen)]) * 81 + seen
            packed = action | square << FROM | target << TARGET
            if promote & bit != uint64(0):
                out[uint64(count)] = (packed + 810) | 1 << PROMOTING
                count += 1
            if forced & bit == uint64(0):
                out[uint64(count)] = packed
                count += 1
    return count


@bare
def write_drops(side, kind, t0, t1, out, count):  # type: ignore[no-untyped-def]
    flip = 80 * side
    sign = 1 - 2 * side
    base = (19 + kind) * 81 | 81 << FROM
    for w in range(2):
        word = t0 if w == 0 else t1
        while word != uint64(0):
            target = int64(lowest_bit(word)) + 64 * w
            word &= word - uint64(1)
            out[uint64(count)] = (base + flip + sign * target) | target << TARGET
            count += 1
    return count


@bare
def list_moves(cells, sets, out, captures):  # type: ignore[no-untyped-def]
    """Write the legal moves; returns their number, and the number of pieces that give check. If `captures`, writes only
    captures unless the side to move is in check.

    `captures` is 0 or 1, never a literal: numba would compile the function promote for a literal type.
    """
    side = int64(cells[SIDE])
    king = int64(cells[KINGS + side])
    danger0, danger1, checks, checker, pins0, pins1 = threats(cells, sets, side)
    free0, free1 = ~sets[OCCUPIED + 2 * side], ~sets[OCCUPIED + 2 * side + 1]
    no = uint64(0)
    e0 = BOARD[0] & ~(sets[OCCUPIED] | sets[OCCUPIED + 2])
    e1 = BOARD[1] & ~(sets[OCCUPIED + 1] | sets[OCCUPIED + 3])
    goal0, goal1 = free0, free1
    if checks == 1:
        e0, e1 = between(king, checker)
        goal0, goal1 = e0 | BIT[checker, 0], e1 | BIT[checker, 1]
    elif checks > 1:
        e0, e1, goal0, goal1 = no, no, no, no
    if captures != 0 and checks == 0:
        e0, e1 = no, no
        free0, free1 = sets[OCCUPIED + 2 - 2 * side], sets[OCCUPIED + 3 - 2 * side]
        goal0 &= free0
        goal1 &= free1
    count = 0
    for w in range(2):
        word, pins, zone = sets[OCCUPIED + 2 * side + w], pins0 if w == 0 else pins1, ZONE[side, w]
        while word != no:
            square = int64(lowest_bit(word)) + 64 * w
            bit = word & (~word + uint64(1))
            word ^= bit
            kind = int64(cells[square] & 15)
            if kind == KING:
                t0 = STEP[0, KING, square, 0] & free0 & ~danger0
                t1 = STEP[0, KING, square, 1] & free1 & ~danger1
            else:
                t0, t1 = targets(cells, side, kind, square, pins & bit != uint64(0), king)
                t0 &= goal0
                t1 &= goal1
            if t0 | t1 == no:
                continue
            promote0, promote1 = no, no
            if PROMOTES[kind]:
                z0, z1 = ZONE[side, 0], ZONE[side, 1]
                inside = zone & bit != no
                promote0, promote1 = (t0, t1) if inside else (t0 & z0, t1 & z1)
            forced0, forced1 = STUCK[side, kind, 0], STUCK[side, kind, 1]
            count = write_moves(side, square, t0, t1, promote0, promote1, forced0, forced1, out, count)
    if e0 | e1 != no:
        for kind in range(1, 8):
            if cells[HANDS + 8 * side + kind] != 0:
                t0, t1 = e0 & ~STUCK[side, kind, 0], e1 & ~STUCK[side, kind, 1]
                if kind == PAWN:
                    t0, t1 = pawn_drops(cells, sets, side, t0, t1)
                count = write_drops(side, kind, t0, t1, out, count)
    return count, checks


@kernel
def perft(cells, sets, depth):  # type: ignore[no-untyped-def]
    """The number of move sequences of this length; the last moves are counted, not made."""
    if depth <= 1:
        return count_moves(cells, sets) if depth == 1 else int64(1)
    all_cells, all_sets = np.empty((depth, CELLS), np.uint8), np.empty((depth, SETS), np.uint64)
    moves, counts, at = np.empty((depth, MAX_MOVES), np.int32), np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    all_cells[0], all_sets[0] = cells, sets
    counts[0] = list_moves(cells, sets, moves[0], int64(0))[0]
    level, total = 0, 0
    while level >= 0:
        if at[level] == counts[level]:
            level -= 1
            continue
        move = int64(moves[level, at[level]])
        at[level] += 1
        next_cells, next_sets = all_cells[level + 1], all_sets[level + 1]
        next_cells[:], next_sets[:] = all_cells[level], all_sets[level]
        make_move(next_cells, next_sets, move)
        if level + 2 == depth:
            total += count_moves(next_cells, next_sets)
        else:
            level += 1
            counts[level] = list_moves(next_cells, next_sets, moves[level], int64(0))[0]
            at[level] = 0
    return total
