"""What a seat of Treasure Hunt sees: a square window of cells around it, as planes of zeros and ones."""

from __future__ import annotations

import numpy as np
from numba import uint32, uint64

from engine.bits import where_between, write_bits
from engine.kernels import inline, row

EMPTY, WALL, GEM, SEAT = range(4)  # what a cell holds; SEAT and above: the seat of that number
KINDS = 3  # planes of an observation: gems, walls, other seats
SPARE = 7  # cells after the last one that may be read, see `_write_plane`
USUAL_SIDE = 5  # of the window, for the default radius


@inline
def copy_window(cells, corner, stride, side, out):  # type: ignore[no-untyped-def]
    """The window from this corner on, cell by cell."""
    j = uint32(0)
    for dy in range(side):
        at = corner + uint32(dy) * stride
        for dx in range(side):
            out[j] = cells[at + uint32(dx)]
            j += uint32(1)


@inline
def _write_plane(cells, corner, stride, side, low, high, out, plane):  # type: ignore[no-untyped-def]
    """Write where a window holds something from `low` to `high` into a plane, without the seat itself in the middle.

    It works on eight cells at a time and reads up to seven beyond a row of the window. The square of an odd number is
    one more than a multiple of eight, so the last cell is left over.
    """
    at = uint64(plane) * uint64(side * side)
    bits = uint64(0)
    count = 0
    for y in range(side):
        for x in range(0, side, 8):
            width = min(8, side - x)
            found = where_between(cells, uint64(corner) + uint64(y) * uint64(stride) + uint64(x), low, high)
            wanted = (1 << width) - 1
            if y == side // 2 and x == 0:
                wanted &= ~(1 << side // 2)
            bits |= (found & uint64(wanted)) << uint64(count)
            count += width
            if count >= 8:
                write_bits(out, at, bits)
                at += uint64(8)
                bits >>= uint64(8)
                count -= 8
    out[plane, side - 1, side - 1] = np.float32(bits)


@inline
def _write_planes(cells, corner, stride, side, out, first):  # type: ignore[no-untyped-def]
    """Gems, walls and others into a plane each."""
    _write_plane(cells, corner, stride, side, GEM, GEM, out, first)
    _write_plane(cells, corner, stride, side, WALL, WALL, out, first + 1)
    _write_plane(cells, corner, stride, side, SEAT, 255, out, first + 2)


@row
def write_planes(cells, corner, stride, side, out, first):  # type: ignore[no-untyped-def]
    """`_write_planes`, with loops of a constant length for the usual radius: they take less than half the time."""
    if side == USUAL_SIDE:
        _write_planes(cells, corner, stride, USUAL_SIDE, out, first)
    else:
        _write_planes(cells, corner, stride, np.int64(side), out, first)
