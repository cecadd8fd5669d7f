"""Matches of Shogi in lanes: beginning, moving on, ending, and what an agent sees, all lanes in one call."""

from __future__ import annotations

import numpy as np
from numba import uint32, uint64

from engine.games.shogi.bits import int64, ones
from engine.games.shogi.moves import list_moves
from engine.games.shogi.play import FROM, PROMOTING, make, unpack
from engine.games.shogi.tables import (
    BISHOP,
    BIT,
    DRAGON,
    DROPS,
    HANDS,
    HORSE,
    KEY,
    KINGS,
    MOST,
    OCCUPIED,
    ROOK,
    SIDE,
    ZONE,
)
from engine.kernels import kernel
from engine.seeding import draw, purpose

OPENING_MOVE = purpose("shogi.opening_move")
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
MOST_HELD = np.array((1, *MOST), np.float32)
PLANES = 46
MOST_BEFORE = 512  # moves that a start may be given with


@kernel
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


@kernel
def _repeated(keys, now):  # type: ignore[no-untyped-def]
    """How often the position after so many moves was there before, and when first. Keys of 64 bits stand for them."""
    key, found, first = keys[now], 0, now
    for k in range(now - 4, -1, -2):  # with the same side to move; it takes four moves to come back
        if keys[k] == key:
            found += 1
            first = k
    return found, first


@kernel
def _settle(lane, scores, acting, keys, cells, sets, moves, declaration, limit):  # type: ignore[no-untyped-def]
    """What the position that has just come about means: who acts, or how it ended."""
    side = int64(cells[SIDE])
    mover = 1 - side
    count, checks = list_moves(cells, sets, moves, int64(0))
    plies = int64(lane.plies)
    now = int64(lane.before) + plies
    lane.count = count
    lane.checked = checks > 0
    if now > 0:
        lane.runs[mover] = lane.runs[mover] + uint32(1) if checks else uint32(0)
    if plies > 0:
        lane.stats[mover, 3] += uint32(checks > 0)
    found, first = _repeated(keys, now)
    lane.repeats = min(found, 3)
    winner = -1
    if count == 0:
        lane.over, lane.reason, winner = FINISHED, MATE, mover
    elif found >= 3:
        turns = (now - first) // 2
        by_mover, by_other = lane.runs[mover] >= turns, lane.runs[side] >= turns
        if by_mover == by_other:
            lane.over, lane.reason = NO_CONTEST, REPETITION
        else:
            lane.over, lane.reason, winner = FINISHED, PERPETUAL, side if by_mover else mover
    elif declaration and checks == 0 and declares(cells, sets, side):
        lane.over, lane.reason, winner = FINISHED, DECLARED, side
    elif plies >= limit:
        lane.over, lane.reason = LIMIT, TOO_LONG
    acting[0] = lane.over == 0 and side == 0
    acting[1] = lane.over == 0 and side == 1
    if lane.over != 0:
        for seat in range(2):
            scores[seat] = 0.5 if winner < 0 else (1.0 if winner == seat else 0.0)


@kernel
def begin(boards, rows, declaration, limit):  # type: ignore[no-untyped-def]
    """Matches from the positions that are on these lanes now, and the `before` moves that are written down as played.

    These go by the rules like any others, so that repetition and perpetual check count from the first of them. Only
    limit and statistics begin after the last; if one ends the match, `before` says which.
    """
    lanes, scores, acting, keys, cells, sets, moves, played = boards
    for i in range(rows.size):
        row = rows[i]
        lane = lanes[row]
        before = int64(lane.before)
        lane.before = 0
        lane.plies = 0
        lane.over = 0
        lane.reason = 0
        for seat in range(2):
            lane.runs[seat] = 0
            scores[row, seat] = 0.0
            for k in range(4):
                lane.stats[seat, k] = 0
        while True:
            now = int64(lane.before)
            keys[row, now] = sets[row, KEY]
            _settle(lane, scores[row], acting[row], keys[row], cells[row], sets[row], moves[row], declaration, limit)
            if now == before or lane.over != 0:
                break
            make(cells[row], sets[row], int64(played[row, now]))
            lane.before += uint32(1)


@kernel
def advance(boards, rows, actions, declaration, limit):  # type: ignore[no-untyped-def]
    lanes, scores, acting, keys, cells, sets, moves, played = boards
    for i in range(rows.size):
        row = rows[i]
        lane, squares = lanes[row], cells[row]
        side = int64(squares[SIDE])
        move = unpack(squares, actions[row, side])
        taken = make(squares, sets[row], move)
        lane.stats[side, 0] += uint32(taken != 0)
        lane.stats[side, 1] += uint32(move >> FROM & 127 == 81)
        lane.stats[side, 2] += uint32(move >> PROMOTING & 1)
        now = int64(lane.before) + int64(lane.plies)
        played[row, now] = move
        lane.plies += uint32(1)
        keys[row, now + 1] = sets[row, KEY]
        _settle(lane, scores[row], acting[row], keys[row], squares, sets[row], moves[row], declaration, limit)


@kernel
def mask(lanes, moves, rows, out):  # type: ignore[no-untyped-def]
    """The list of each lane's legal moves, as a row of flags."""
    out[:] = False
    for i in range(rows.size):
        for k in range(lanes[rows[i]].count):
            out[i, moves[rows[i], k] & 0xFFF] = True


@kernel
def scatter(cells, sets, moves, keys, played, seed, plies):  # type: ignore[no-untyped-def]
    """Write down so many random moves; one that would end the match at once is never chosen. Returns how many."""
    here, sets_here, after, sets_after, spare = cells.copy(), sets.copy(), cells.copy(), sets.copy(), moves.copy()
    for ply in range(plies):
        keys[ply] = sets_here[KEY]
        count, _ = list_moves(here, sets_here, moves, int64(0))
        found = False
        for k in range(8):
            chosen = int64(moves[draw(seed, OPENING_MOVE, 0, ply, k) % uint64(count)])
            after[:] = here
            sets_after[:] = sets_here
            make(after, sets_after, chosen)
            keys[ply + 1] = sets_after[KEY]
            if list_moves(after, sets_after, spare, int64(0))[0] > 0 and _repeated(keys, ply + 1)[0] < 3:
                found = True
                break
        if not found:
            return ply
        played[ply] = chosen
        here[:] = after
        sets_here[:] = sets_after
    return plies


@kernel
def observe(lanes, cells, rows, seats, out):  # type: ignore[no-untyped-def]
    """Planes of 9 x 9, turned so that each seat plays up the board.

    0-13 own pieces by type, 14-27 the opponent's, 28-34 own hand (share of all such pieces), 35-41 the opponent's,
    42-44 whether this position was there once, twice, three times before, 45 whether the seat is White.
    """
    out[:] = 0.0
    for i in range(rows.size):
        squares, seat = cells[rows[i]], int64(seats[i])
        for square in range(81):
            code = int64(squares[square])
            if code != 0:
                seen = 80 - square if seat else square
                plane = (code & 15) - 1 + (0 if code >> 4 == seat else 14)
                out[i, plane, seen // 9, seen % 9] = 1.0
        for other in range(2):
            whose = seat if other == 0 else 1 - seat
            for kind in range(1, DROPS + 1):
                held = squares[HANDS + 8 * whose + kind]
                if held != 0:
                    out[i, 27 + 7 * other + kind] = np.float32(held) / MOST_HELD[kind]
        for k in range(lanes[rows[i]].repeats):
            out[i, 42 + k] = 1.0
        if seat == 1:
            out[i, 45] = 1.0
