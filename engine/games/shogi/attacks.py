"""Attacks: checks and pins on a king, the targets of a piece, and mate by a dropped pawn."""

from __future__ import annotations

from numba import uint64

from engine.bits import int64, lowest_bit, popcount
from engine.games.shogi.tables import (
    BIT,
    KING,
    KINGS,
    NEAR,
    OCCUPIED,
    OPPOSITE,
    PAWN,
    RAY,
    REACH,
    ROOM,
    SHIFT,
    SIDE,
    SLIDER,
    SLIDERS,
    SLIDES,
    STEP,
    TO,
    TOUCH,
    WHITE,
)
from engine.kernels import bare, inline


@bare
def slides(cells, side, kind, square):  # type: ignore[no-untyped-def]
    """The squares that a sliding piece reaches, up to and including the first piece in the way."""
    low, high = uint64(0), uint64(0)
    for k in range(SLIDES[side, kind, 0]):
        way = SLIDES[side, kind, k + 1]
        target, shift = square, SHIFT[way]
        for _ in range(ROOM[way, square]):
            target += shift
            low |= BIT[target, 0]
            high |= BIT[target, 1]
            if cells[target] != 0:
                break
    return low, high


@bare
def threats(cells, sets, side):  # type: ignore[no-untyped-def]
    """Threats to this side's king: attacked squares around it, number of checkers, square of one, pinned pieces."""
    them, king = 1 - side, int64(cells[KINGS + side])
    danger0, danger1, pins0, pins1 = uint64(0), uint64(0), uint64(0), uint64(0)
    checks, checker = 0, 0
    k0, k1 = BIT[king, 0], BIT[king, 1]
    around0, around1 = STEP[0, KING, king, 0] | k0, STEP[0, KING, king, 1] | k1
    for w in range(2):
        word = sets[OCCUPIED + 2 * them + w] & NEAR[them, king, w]
        while word != uint64(0):
            square = int64(lowest_bit(word)) + 64 * w
            word &= word - uint64(1)
            kind = cells[square] & 15
            a0, a1 = STEP[them, kind, square, 0], STEP[them, kind, square, 1]
            danger0 |= a0
            danger1 |= a1
            if (a0 & k0) | (a1 & k1) != uint64(0):
                checks += 1
                checker = square
    occupied0, occupied1 = sets[OCCUPIED] | sets[OCCUPIED + 2], sets[OCCUPIED + 1] | sets[OCCUPIED + 3]
    own0, own1 = sets[OCCUPIED + 2 * side], sets[OCCUPIED + 2 * side + 1]
    held = cells[king]
    cells[king] = 0  # sliding attacks pass through the square that the king leaves
    for w in range(2):
        word = sets[SLIDERS + 2 * them + w]
        while word != uint64(0):
            square = int64(lowest_bit(word)) + 64 * w
            word &= word - uint64(1)
            kind = cells[square] & 15
            a0, a1 = REACH[them, kind, square, 0], REACH[them, kind, square, 1]
            if (a0 & around0) | (a1 & around1) == uint64(0):
                continue
            s0, s1 = slides(cells, them, kind, square)
            danger0 |= s0
            danger1 |= s1
            if (a0 & k0) | (a1 & k1) != uint64(0):
                way = int64(TO[square, king])
                back = OPPOSITE[way]
                b0 = RAY[way, square, 0] & RAY[back, king, 0] & occupied0
                b1 = RAY[way, square, 1] & RAY[back, king, 1] & occupied1
                between = popcount(b0) + popcount(b1)
                if between == uint64(0):
                    checks += 1
                    checker = square
                elif between == uint64(1):
                    pins0 |= b0 & own0
                    pins1 |= b1 & own1
    cells[king] = held
    return danger0, danger1, checks, checker, pins0, pins1


@bare
def in_check(cells, sets):  # type: ignore[no-untyped-def]
    """Whether the king of the side to move is attacked; the same as `threats` finds, without pins and other squares."""
    side = int64(cells[SIDE])
    them, king = 1 - side, int64(cells[KINGS + side])
    for w in range(2):
        word = sets[OCCUPIED + 2 * them + w] & TOUCH[side, king, w]
        while word != uint64(0):
            square = int64(lowest_bit(word)) + 64 * w
            word &= word - uint64(1)
            kind = cells[square] & 15
            if (STEP[them, kind, square, 0] & BIT[king, 0]) | (STEP[them, kind, square, 1] & BIT[king, 1]) != uint64(0):
                return True
    occupied0, occupied1 = sets[OCCUPIED] | sets[OCCUPIED + 2], sets[OCCUPIED + 1] | sets[OCCUPIED + 3]
    for w in range(2):
        word = sets[SLIDERS + 2 * them + w]
        while word != uint64(0):
            square = int64(lowest_bit(word)) + 64 * w
            word &= word - uint64(1)
            kind = cells[square] & 15
            if (REACH[them, kind, square, 0] & BIT[king, 0]) | (REACH[them, kind, square, 1] & BIT[king, 1]) != uint64(
                0
            ):
                b0, b1 = between(king, square)
                if (b0 & occupied0) | (b1 & occupied1) == uint64(0):
                    return True
    return False


@inline
def between(king, checker):  # type: ignore[no-untyped-def]
    """The squares between the king and a checker; none if it is adjacent or a knight."""
    way = TO[king, checker]
    if way >= 8:
        return uint64(0), uint64(0)
    back = OPPOSITE[way]
    return RAY[way, king, 0] & RAY[back, checker, 0], RAY[way, king, 1] & RAY[back, checker, 1]


@inline
def targets(cells, side, kind, square, pinned, king):  # type: ignore[no-untyped-def]
    """Where a piece can move, given its pin; squares occupied by its own side are still included."""
    t0, t1 = STEP[side, kind, square, 0], STEP[side, kind, square, 1]
    if SLIDER[kind]:
        s0, s1 = slides(cells, side, kind, square)
        t0 |= s0
        t1 |= s1
    if pinned:
        way = int64(TO[king, square])
        back = OPPOSITE[way]
        t0 &= RAY[way, king, 0] | RAY[back, king, 0]
        t1 &= RAY[way, king, 1] | RAY[back, king, 1]
    return t0, t1


@bare
def pawn_mates(cells, sets, side, target):  # type: ignore[no-untyped-def]
    """Whether a pawn dropped here, in front of the other king, would mate, which is illegal."""
    them = 1 - side
    cells[target] = PAWN + WHITE * side
    sets[OCCUPIED + 2 * side] ^= BIT[target, 0]
    sets[OCCUPIED + 2 * side + 1] ^= BIT[target, 1]
    danger0, danger1, _, _, pins0, pins1 = threats(cells, sets, them)
    own0, own1 = sets[OCCUPIED + 2 * them], sets[OCCUPIED + 2 * them + 1]
    king = int64(cells[KINGS + them])
    free0 = STEP[0, KING, king, 0] & ~own0 & ~danger0
    free1 = STEP[0, KING, king, 1] & ~own1 & ~danger1
    mated = free0 | free1 == uint64(0)
    for w in range(2):
        word, pins = sets[OCCUPIED + 2 * them + w] if mated else uint64(0), pins0 if w == 0 else pins1
        while word != uint64(0):
            square = int64(lowest_bit(word)) + 64 * w
            bit = word & (~word + uint64(1))
            word ^= bit
            if square == king:
                continue
            t0, t1 = targets(cells, them, cells[square] & 15, square, pins & bit != uint64(0), king)
            if (t0 & BIT[target, 0]) | (t1 & BIT[target, 1]) != uint64(0):
                mated = False
                break
    cells[target] = 0
    sets[OCCUPIED + 2 * side] ^= BIT[target, 0]
    sets[OCCUPIED + 2 * side + 1] ^= BIT[target, 1]
    return mated
