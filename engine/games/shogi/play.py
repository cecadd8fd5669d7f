"""Packs, unpacks and makes moves.

A move is packed into one number: action, source square (81 for a drop), target square, and whether it promotes.
"""

from __future__ import annotations

from numba import uint64

from engine.bits import int64
from engine.games.shogi.tables import (
    BIT,
    CELLS,
    HAND_KEYS,
    HANDS,
    KEY,
    KEYS,
    KING,
    KINGS,
    OCCUPIED,
    OPPOSITE,
    PAWN,
    PAWNS,
    PROMOTED,
    ROOM,
    SETS,
    SHIFT,
    SIDE,
    SLIDER,
    SLIDERS,
    TURN_KEY,
    WHITE,
)
from engine.kernels import bare, inline

FROM, TARGET, PROMOTING = 12, 19, 26  # bit offsets of the parts of a packed move


@inline
def action_of(move):  # type: ignore[no-untyped-def]
    return move & 0xFFF


@inline
def from_of(move):  # type: ignore[no-untyped-def]
    return move >> FROM & 127


@inline
def target_of(move):  # type: ignore[no-untyped-def]
    return move >> TARGET & 127


@inline
def _toggle(sets, side, kind, square):  # type: ignore[no-untyped-def]
    """Add a piece to the sets, or remove it."""
    b0, b1 = BIT[square, 0], BIT[square, 1]
    sets[OCCUPIED + 2 * side] ^= b0
    sets[OCCUPIED + 2 * side + 1] ^= b1
    if SLIDER[kind]:
        sets[SLIDERS + 2 * side] ^= b0
        sets[SLIDERS + 2 * side + 1] ^= b1
    if kind == PAWN:
        sets[PAWNS] ^= uint64(1) << uint64(square % 9 + 9 * side)
    sets[KEY] ^= KEYS[square * 32 + kind + WHITE * side]


@inline
def _change_hand(cells, sets, side, kind, change):  # type: ignore[no-untyped-def]
    place = HANDS + 8 * side + kind
    key = HAND_KEYS + 19 * (8 * side + kind)
    held = int64(cells[place])
    sets[KEY] ^= KEYS[key + held] ^ KEYS[key + held + change]
    cells[place] = held + change


@inline
def copy_position(cells, sets, to_cells, to_sets):  # type: ignore[no-untyped-def]
    """Copy with loops of constant length: slice assignment would check for overlap and may allocate."""
    for k in range(CELLS):
        to_cells[k] = cells[k]
    for k in range(SETS):
        to_sets[k] = sets[k]


@bare
def make_move(cells, sets, move):  # type: ignore[no-untyped-def]
    """Make a legal move; returns the type of the captured piece (promoted or not), 0 for none."""
    side = int64(cells[SIDE])
    source, target = int64(from_of(move)), int64(target_of(move))
    taken = int64(cells[target] & 15)
    if source == 81:
        kind = int64(action_of(move)) // 81 - 19
        _change_hand(cells, sets, side, kind, -1)
    else:
        kind = int64(cells[source] & 15)
        _toggle(sets, side, kind, source)
        cells[source] = 0
        if taken != 0:
            _toggle(sets, 1 - side, taken, target)
            _change_hand(cells, sets, side, taken & 7, 1)
        kind += PROMOTED * (move >> PROMOTING & 1)
        if kind == KING:
            cells[KINGS + side] = target
    cells[target] = kind + WHITE * side
    _toggle(sets, side, kind, target)
    cells[SIDE] = 1 - side
    sets[KEY] ^= KEYS[TURN_KEY]
    return taken


@bare
def unpack(cells, action):  # type: ignore[no-untyped-def]
    """The packed move of a legal action: the moving piece is the first one met on the way back from the target."""
    side = int64(cells[SIDE])
    kind, seen = action // 81, action % 81
    target = 80 - seen if side else seen
    if kind >= 20:
        return action | 81 << FROM | target << TARGET
    promoting = kind >= 10
    way = kind - 10 if promoting else kind
    shift = SHIFT[way] if side else -SHIFT[way]
    source = target + shift
    if way < 8:
        back = way if side else OPPOSITE[way]
        for _ in range(ROOM[back, target] - 1):
            if cells[source] != 0:
                break
            source += shift
    return action | source << FROM | target << TARGET | int64(promoting) << PROMOTING


@bare
def rebuild_sets(cells, sets):  # type: ignore[no-untyped-def]
    """Compute the sets and the hash key from squares, hands and side to move."""
    sets[:] = 0
    for square in range(81):
        if cells[square] != 0:
            side, kind = int64(cells[square] >> 4), int64(cells[square] & 15)
            _toggle(sets, side, kind, square)
            if kind == KING:
                cells[KINGS + side] = square
    for side in range(2):
        for kind in range(1, 8):
            sets[KEY] ^= KEYS[HAND_KEYS + 19 * (8 * side + kind) + cells[HANDS + 8 * side + kind]]
    if cells[SIDE]:
        sets[KEY] ^= KEYS[TURN_KEY]
