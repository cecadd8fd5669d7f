"""A small compiled alpha-beta search for Shogi, and its evaluation of positions.

Plain negamax (Knuth and Moore 1975) with captures searched to their end, killer moves and a history of good quiet
moves to order moves. All its memory belongs to one call, so its result depends on the position alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from engine.bits import int64, lowest_bit
from engine.games.shogi.attacks import in_check
from engine.games.shogi.moves import MAX_MOVES, list_moves
from engine.games.shogi.play import FROM, PROMOTING, TARGET, copy_position, make_move
from engine.games.shogi.tables import ACTIONS, CELLS, HANDS, KING, KINGS, OCCUPIED, PROMOTED, SETS, SIDE, TYPES
from engine.kernels import bare, row

MATE, ENDLESS = 30_000, 32_000
DEEPEST, TAIL = 8, 8  # moves that may be searched, and captures after them
FRAMES = DEEPEST + TAIL + 1
ALPHA, BETA, BEST, DEPTH, STAND, COUNT, AT, MOVE, WORTH, FIELDS = range(10)  # fields of a frame
MARGIN = 200  # futility pruning: a quiet last move is skipped if even this gain would not raise alpha

# Pawn, lance, knight, silver, bishop, rook, gold, king, then promoted; in hundredths of a pawn.
VALUE = np.array([0, 100, 300, 340, 500, 850, 1000, 560, 0, 480, 480, 500, 540, 1150, 1350], np.int64)
HELD = np.array([0, 115, 320, 380, 560, 950, 1150, 620], np.int64)
SWAP = np.array([0, *(VALUE[kind] + HELD[kind & 7] if kind != KING else 0 for kind in range(1, TYPES))], np.int64)
_GUARD = np.array([0, 2, 1, 1, 14, 2, 0, 18, 0, 12, 10, 10, 12, 10, 6])  # bonus near its own king
_STORM = np.array([0, 5, 4, 6, 14, 8, 10, 16, 0, 26, 20, 20, 22, 22, 24])  # bonus near the opponent's king
NEAR_OWN, NEAR_OTHER = np.zeros((TYPES, 9), np.int64), np.zeros((TYPES, 9), np.int64)
for _distance in range(1, 5):
    NEAR_OWN[:, _distance] = _GUARD * max(3 - _distance, 0)
    NEAR_OTHER[:, _distance] = _STORM * (5 - _distance) // 2
NEAR_OWN += VALUE[:, None]
DISTANCE = np.array(
    [[max(abs(a // 9 - b // 9), abs(a % 9 - b % 9)) for b in range(81)] for a in range(81)], np.uint8
)  # in steps of a king
HOME = np.zeros(81, np.int64)  # value of a square for Black's king: at home, and off the middle
for _square in range(81):
    HOME[_square] = -22 * max(7 - _square // 9, 0) + 16 * min(abs(_square % 9 - 4), 3) + 8 * (_square // 9 == 8)


@row
def _piece_value(kind, square, own, other):  # type: ignore[no-untyped-def]
    """Value of a piece for its side, whose king is on `own`; the opponent's king is on `other`."""
    return NEAR_OWN[kind, DISTANCE[square, own]] + NEAR_OTHER[kind, DISTANCE[square, other]]


@bare
def evaluate(cells, sets):  # type: ignore[no-untyped-def]
    """Value of the position for the side to move: material, pieces near the kings, and squares of the kings."""
    total = int64(0)
    for side in range(2):
        own, other = int64(cells[KINGS + side]), int64(cells[KINGS + 1 - side])
        value = HOME[80 - own] if side else HOME[own]
        for w in range(2):
            word = sets[OCCUPIED + 2 * side + w]
            while word != uint64(0):
                square = int64(lowest_bit(word)) + 64 * w
                word &= word - uint64(1)
                value += _piece_value(int64(cells[square]) & 15, square, own, other)
        for kind in range(1, 8):
            value += HELD[kind] * int64(cells[HANDS + 8 * side + kind])
        total += value if side == int64(cells[SIDE]) else -value
    return total


@row
def _change_of(cells, move):  # type: ignore[no-untyped-def]
    """How much a move of any piece but a king changes the value of the position for the side that makes it."""
    side = int64(cells[SIDE])
    own, other = int64(cells[KINGS + side]), int64(cells[KINGS + 1 - side])
    source, target = move >> FROM & 127, move >> TARGET & 127
    if source == 81:
        kind = (move & 0xFFF) // 81 - 19
        return _piece_value(kind, target, own, other) - HELD[kind]
    kind, taken = int64(cells[source]) & 15, int64(cells[target]) & 15
    change = -_piece_value(kind, source, own, other)
    if taken != 0:
        change += _piece_value(taken, target, other, own) + HELD[taken & 7]
    return change + _piece_value(kind + PROMOTED * (move >> PROMOTING & 1), target, own, other)


@row
def make_next(frames, ply, move):  # type: ignore[no-untyped-def]
    """Makes a move in the next frame, and computes the value of its position: unless a king moves, from that of this
    frame."""
    cells, sets, states = frames[0], frames[1], frames[6]
    copy_position(cells[ply], sets[ply], cells[ply + 1], sets[ply + 1])
    make_move(cells[ply + 1], sets[ply + 1], move)
    source = move >> FROM & 127
    if source < 81 and int64(cells[ply, source]) & 15 == KING:  # all distances change
        states[ply + 1, WORTH] = evaluate(cells[ply + 1], sets[ply + 1])
    else:
        states[ply + 1, WORTH] = -(states[ply, WORTH] + _change_of(cells[ply], move))


@row
def gain_of(cells, move):  # type: ignore[no-untyped-def]
    """Immediate gain of a move: the captured piece, on the board and in hand, and its promotion."""
    gain = SWAP[int64(cells[move >> TARGET & 127]) & 15]
    if move >> PROMOTING & 1:
        kind = int64(cells[move >> FROM & 127]) & 15
        gain += VALUE[kind + PROMOTED] - VALUE[kind]
    return gain


@row
def _score_moves(cells, moves, ranks, count, first, second, history):  # type: ignore[no-untyped-def]
    """Scores for move ordering: gains, cheap attackers first; then killer moves; then the history heuristic."""
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
def _pick_move(moves, ranks, k, count):  # type: ignore[no-untyped-def]
    """Moves the best remaining move to place k: a full sort would be wasted, since few moves are searched."""
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
def _start_frame(frames, ply):  # type: ignore[no-untyped-def]
    """Starts a frame: evaluates its position and lists its moves. True if its value is already known."""
    cells, sets, moves, ranks, killers, history, states, nodes = frames
    state = states[ply]
    nodes[0] += 1
    if state[DEPTH] == 0 and ply <= DEEPEST and in_check(cells[ply], sets[ply]):
        state[DEPTH] = 1  # check extension: it may be mate
    depth = state[DEPTH]
    stand = state[WORTH] if depth <= 1 else int64(ENDLESS)
    state[BEST], state[AT] = -ENDLESS, 0
    if depth <= 0:  # quiescence: captures are optional
        state[BEST] = stand
        state[ALPHA] = max(state[ALPHA], stand)
        if stand >= state[BETA] or ply >= FRAMES:
            return True
    hopeless = depth == 1 and stand + MARGIN <= state[ALPHA]  # unless it captures something
    count, checks = list_moves(cells[ply], sets[ply], moves[ply], int64(depth <= 0 or hopeless))
    state[COUNT] = count
    state[STAND] = ENDLESS if depth == 1 and checks else stand
    if hopeless and checks == 0:
        state[BEST] = stand + MARGIN
    if count == 0:
        if checks or (depth > 0 and not hopeless):
            state[BEST] = ply - MATE
        return True
    _score_moves(cells[ply], moves[ply], ranks[ply], count, killers[ply, 0], killers[ply, 1], history)
    return False


@row
def _descend(frames, ply):  # type: ignore[no-untyped-def]
    """Makes the frame's next move that could change its value, in the next frame; False if there is none."""
    cells, _, moves, ranks, _, _, states, _ = frames
    state, found = states[ply], False
    while not found and state[AT] < state[COUNT]:
        k = state[AT]
        state[AT] += 1
        move = _pick_move(moves[ply], ranks[ply], k, state[COUNT])
        gain = gain_of(cells[ply], move)
        if state[STAND] + gain + MARGIN <= state[ALPHA]:
            if state[DEPTH] > 0:
                state[BEST] = max(state[BEST], state[STAND] + gain + MARGIN)
            if gain == 0:  # the rest gain nothing either: moves are ordered by gain
                state[AT] = state[COUNT]
            continue
        found = True
        state[MOVE] = move
        make_next(frames, ply, move)
        below = states[ply + 1]
        below[DEPTH], below[ALPHA], below[BETA] = state[DEPTH] - 1, -state[BETA], -state[ALPHA]
    return found


@row
def _update(frames, ply, value):  # type: ignore[no-untyped-def]
    """Updates a frame with the value of its last move."""
    cells, _, _, _, killers, history, states, _ = frames
    state = states[ply]
    if value > state[BEST]:
        state[BEST] = value
        state[ALPHA] = max(state[ALPHA], value)
        if state[ALPHA] >= state[BETA]:
            state[AT] = state[COUNT]  # beta cutoff
            move = state[MOVE]
            if state[DEPTH] > 0 and gain_of(cells[ply], move) == 0:
                history[int64(cells[ply, SIDE]), move & 0xFFF] += state[DEPTH] * state[DEPTH]
                if killers[ply, 0] != move:
                    killers[ply, 1] = killers[ply, 0]
                    killers[ply, 0] = move


@row
def _search_frames(frames, depth, alpha, beta):  # type: ignore[no-untyped-def]
    """Value of frame 1 for its side to move, exact between alpha and beta and a bound outside.

    A loop over frames instead of recursion: numba cannot cache recursive functions on disk.
    """
    states = frames[6]
    states[1, DEPTH], states[1, ALPHA], states[1, BETA] = depth, alpha, beta
    ply, entering = int64(1), True
    while True:
        known = _start_frame(frames, ply) if entering else False
        entering = (not known) and _descend(frames, ply)
        if entering:
            ply += 1
            continue
        value = -states[ply, BEST]
        if ply == 1:
            return -value
        ply -= 1
        _update(frames, ply, value)


@bare
def search(frames, depth, extras):  # type: ignore[no-untyped-def]
    """The best move in frame 0, by iterative deepening; `extras[action]` is added to its value to break ties."""
    cells, sets, moves, ranks, killers, history, states, _ = frames
    killers[:] = 0
    history[:] = 0
    states[0, WORTH] = evaluate(cells[0], sets[0])
    count, _ = list_moves(cells[0], sets[0], moves[0], int64(0))
    _score_moves(cells[0], moves[0], ranks[0], count, 0, 0, history)
    chosen = int64(moves[0, 0])
    for reach in range(1, depth + 1):
        alpha = int64(-ENDLESS)
        for k in range(count):
            move = _pick_move(moves[0], ranks[0], k, count)
            extra = extras[move & 0xFFF]
            make_next(frames, 0, move)
            value = extra - _search_frames(frames, reach - 1, -ENDLESS, -(alpha - extra))
            if value > alpha:
                alpha = value
                chosen = move
            ranks[0, k] = value if k == 0 or chosen == move else -ENDLESS - k  # the next iteration keeps this order
    return chosen


def new_frames() -> tuple[NDArray[Any], ...]:
    """Memory for one search at a time."""
    return (
        np.zeros((FRAMES + 2, CELLS), np.uint8),
        np.zeros((FRAMES + 2, SETS), np.uint64),
        np.zeros((FRAMES + 2, MAX_MOVES), np.int32),
        np.zeros((FRAMES + 2, MAX_MOVES), np.int64),
        np.zeros((FRAMES + 2, 2), np.int64),
        np.zeros((2, ACTIONS), np.int64),
        np.zeros((FRAMES + 2, FIELDS), np.int64),
        np.zeros(1, np.int64),
    )
