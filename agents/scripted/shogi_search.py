"""A small alpha-beta search for Shogi: what a position is worth, and how that changes some moves on, compiled.

Plain negamax (Knuth and Moore 1975) with captures searched to their end, killer moves and a history of good quiet
moves for the order. All of its memory belongs to one call, so what it answers depends on the position alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from engine.games.shogi.attacks import threats
from engine.games.shogi.bits import int64, lowest
from engine.games.shogi.moves import MOST_MOVES, list_moves
from engine.games.shogi.play import FROM, PROMOTING, TARGET, copy_position, make
from engine.games.shogi.tables import ACTIONS, CELLS, HANDS, KING, KINGS, OCCUPIED, PROMOTED, SETS, SIDE, TYPES
from engine.kernels import bare, row

MATE, ENDLESS = 30_000, 32_000
DEEPEST, TAIL = 8, 8  # moves that may be searched, and captures after them
FRAMES = DEEPEST + TAIL + 1
ALPHA, BETA, BEST, DEPTH, STAND, COUNT, AT, MOVE = range(8)  # what a frame knows
MARGIN = 200  # a quiet last move is not tried if even this much would not help

# Pawn, lance, knight, silver, bishop, rook, gold, king, then promoted; in hundredths of a pawn.
VALUE = np.array([0, 100, 300, 340, 500, 850, 1000, 560, 0, 480, 480, 500, 540, 1150, 1350], np.int64)
HELD = np.array([0, 115, 320, 380, 560, 950, 1150, 620], np.int64)
SWAP = np.array([0, *(VALUE[kind] + HELD[kind & 7] if kind != KING else 0 for kind in range(1, TYPES))], np.int64)
_GUARD = np.array([0, 2, 1, 1, 14, 2, 0, 18, 0, 12, 10, 10, 12, 10, 6])  # worth near its own king
_STORM = np.array([0, 5, 4, 6, 14, 8, 10, 16, 0, 26, 20, 20, 22, 22, 24])  # and near the other one
NEAR_OWN, NEAR_OTHER = np.zeros((TYPES, 9), np.int64), np.zeros((TYPES, 9), np.int64)
for _distance in range(1, 5):
    NEAR_OWN[:, _distance] = _GUARD * max(3 - _distance, 0)
    NEAR_OTHER[:, _distance] = _STORM * (5 - _distance) // 2
NEAR_OWN += VALUE[:, None]
DISTANCE = np.array(
    [[max(abs(a // 9 - b // 9), abs(a % 9 - b % 9)) for b in range(81)] for a in range(81)], np.uint8
)  # in king's steps
HOME = np.zeros(81, np.int64)  # what a square is worth to Black's king: at home, and off the middle
for _square in range(81):
    HOME[_square] = -22 * max(7 - _square // 9, 0) + 16 * min(abs(_square % 9 - 4), 3) + 8 * (_square // 9 == 8)


@bare
def evaluate(cells, sets):  # type: ignore[no-untyped-def]
    """Worth of the position for the side to move: material, pieces near the kings, and where the kings stand."""
    total = int64(0)
    for side in range(2):
        own, other = int64(cells[KINGS + side]), int64(cells[KINGS + 1 - side])
        worth = HOME[80 - own] if side else HOME[own]
        for w in range(2):
            word = sets[OCCUPIED + 2 * side + w]
            while word != uint64(0):
                square = int64(lowest(word)) + 64 * w
                word &= word - uint64(1)
                kind = int64(cells[square]) & 15
                worth += NEAR_OWN[kind, DISTANCE[square, own]] + NEAR_OTHER[kind, DISTANCE[square, other]]
        for kind in range(1, 8):
            worth += HELD[kind] * int64(cells[HANDS + 8 * side + kind])
        total += worth if side == int64(cells[SIDE]) else -worth
    return total


@row
def gain_of(cells, move):  # type: ignore[no-untyped-def]
    """What a move wins at once: what it takes, on the board and in hand, and its promotion."""
    gain = SWAP[int64(cells[move >> TARGET & 127]) & 15]
    if move >> PROMOTING & 1:
        kind = int64(cells[move >> FROM & 127]) & 15
        gain += VALUE[kind + PROMOTED] - VALUE[kind]
    return gain


@row
def _rank(cells, moves, ranks, count, first, second, history):  # type: ignore[no-untyped-def]
    """Numbers by which moves are ordered: gains, cheap takers first; then killers; then what was good elsewhere."""
    side = int64(cells[SIDE])
    for k in range(count):
        move = int64(moves[k])
        gain = gain_of(cells, move)
        if gain > 0:
            source = move >> FROM & 127
            ranks[k] = 1_000_000 + 16 * gain - (VALUE[int64(cells[source]) & 15] if source < 81 else 0)
        elif move in (first, second):
            ranks[k] = 900_000
        else:
            ranks[k] = history[side, move & 0xFFF]


@row
def _next(moves, ranks, k, count):  # type: ignore[no-untyped-def]
    """Bring the best of the moves that are left to place k: few are ever needed."""
    first = best = uint64(k)
    rank = ranks[first]
    for j in range(first + uint64(1), uint64(count)):
        if ranks[j] > rank:
            best, rank = j, ranks[j]
    moves[first], moves[best] = moves[best], moves[first]
    ranks[best] = ranks[first]
    ranks[first] = rank
    return int64(moves[first])


@row
def _enter(frames, ply):  # type: ignore[no-untyped-def]
    """Look at the position of a frame for the first time; whether its worth is known already."""
    cells, sets, moves, ranks, killers, history, states, nodes = frames
    state = states[ply]
    nodes[0] += 1
    if state[DEPTH] == 0 and ply <= DEEPEST and threats(cells[ply], sets[ply], int64(cells[ply, SIDE]))[2] > 0:
        state[DEPTH] = 1  # one more move for whoever is in check: it may be mate
    depth = state[DEPTH]
    stand = evaluate(cells[ply], sets[ply]) if depth <= 1 else int64(ENDLESS)
    state[BEST], state[AT] = -ENDLESS, 0
    if depth <= 0:  # nobody has to capture
        state[BEST] = stand
        state[ALPHA] = max(state[ALPHA], stand)
        if stand >= state[BETA] or ply >= FRAMES:
            return True
    hopeless = depth == 1 and stand + MARGIN <= state[ALPHA]  # unless something is captured
    count, checks = list_moves(cells[ply], sets[ply], moves[ply], int64(depth <= 0 or hopeless))
    state[COUNT] = count
    state[STAND] = ENDLESS if depth == 1 and checks else stand
    if hopeless and checks == 0:
        state[BEST] = stand + MARGIN
    if count == 0:
        if checks or (depth > 0 and not hopeless):
            state[BEST] = ply - MATE
        return True
    _rank(cells[ply], moves[ply], ranks[ply], count, killers[ply, 0], killers[ply, 1], history)
    return False


@row
def _descend(frames, ply):  # type: ignore[no-untyped-def]
    """Make the next move of a frame that could change its worth in the frame below; False when there is none."""
    cells, sets, moves, ranks, _, _, states, _ = frames
    state, found = states[ply], False
    while not found and state[AT] < state[COUNT]:
        k = state[AT]
        state[AT] += 1
        move = _next(moves[ply], ranks[ply], k, state[COUNT])
        gain = gain_of(cells[ply], move)
        if state[STAND] + gain + MARGIN <= state[ALPHA]:
            if state[DEPTH] > 0:
                state[BEST] = max(state[BEST], state[STAND] + gain + MARGIN)
            if gain == 0:  # nor will the others help: they all come after those that gain something
                state[AT] = state[COUNT]
            continue
        found = True
        state[MOVE] = move
        copy_position(cells[ply], sets[ply], cells[ply + 1], sets[ply + 1])
        make(cells[ply + 1], sets[ply + 1], move)
        below = states[ply + 1]
        below[DEPTH], below[ALPHA], below[BETA] = state[DEPTH] - 1, -state[BETA], -state[ALPHA]
    return found


@row
def _learn(frames, ply, worth):  # type: ignore[no-untyped-def]
    """The move that a frame tried last is worth this much."""
    cells, _, _, _, killers, history, states, _ = frames
    state = states[ply]
    if worth > state[BEST]:
        state[BEST] = worth
        state[ALPHA] = max(state[ALPHA], worth)
        if state[ALPHA] >= state[BETA]:
            state[AT] = state[COUNT]  # the other side has something better: no more of this
            move = state[MOVE]
            if state[DEPTH] > 0 and gain_of(cells[ply], move) == 0:
                history[int64(cells[ply, SIDE]), move & 0xFFF] += state[DEPTH] * state[DEPTH]
                if killers[ply, 0] != move:
                    killers[ply, 1] = killers[ply, 0]
                    killers[ply, 0] = move


@row
def _worth(frames, depth, alpha, beta):  # type: ignore[no-untyped-def]
    """Worth of frame 1 for its side to move, exact between alpha and beta and a bound outside.

    A loop over frames instead of a function that calls itself: numba cannot keep such a one on disk.
    """
    states = frames[6]
    states[1, DEPTH], states[1, ALPHA], states[1, BETA] = depth, alpha, beta
    ply, entering = int64(1), True
    while True:
        known = _enter(frames, ply) if entering else False
        entering = (not known) and _descend(frames, ply)
        if entering:
            ply += 1
            continue
        worth = -states[ply, BEST]
        if ply == 1:
            return -worth
        ply -= 1
        _learn(frames, ply, worth)


@bare
def search(frames, depth, extras):  # type: ignore[no-untyped-def]
    """The best move in frame 0; `extras[action]` is added to each one's worth, to choose among equals."""
    cells, sets, moves, ranks, killers, history, _, _ = frames
    killers[:] = 0
    history[:] = 0
    count, _ = list_moves(cells[0], sets[0], moves[0], int64(0))
    _rank(cells[0], moves[0], ranks[0], count, 0, 0, history)
    chosen = int64(moves[0, 0])
    for reach in range(1, depth + 1):
        alpha = int64(-ENDLESS)
        for k in range(count):
            move = _next(moves[0], ranks[0], k, count)
            extra = extras[move & 0xFFF]
            copy_position(cells[0], sets[0], cells[1], sets[1])
            make(cells[1], sets[1], move)
            worth = extra - _worth(frames, reach - 1, -ENDLESS, -(alpha - extra))
            if worth > alpha:
                alpha = worth
                chosen = move
            ranks[0, k] = worth if k == 0 or chosen == move else -ENDLESS - k  # the next round keeps this order
    return chosen


def new_frames() -> tuple[NDArray[Any], ...]:
    """Memory for one search at a time."""
    return (
        np.zeros((FRAMES + 2, CELLS), np.uint8),
        np.zeros((FRAMES + 2, SETS), np.uint64),
        np.zeros((FRAMES + 2, MOST_MOVES), np.int32),
        np.zeros((FRAMES + 2, MOST_MOVES), np.int64),
        np.zeros((FRAMES + 2, 2), np.int64),
        np.zeros((2, ACTIONS), np.int64),
        np.zeros((FRAMES + 2, 8), np.int64),
        np.zeros(1, np.int64),
    )
