"""Observations of Treasure Hunt: a square window of cells around a seat, as planes of zeros and ones."""

from __future__ import annotations

import numpy as np
from numba import uint32, uint64

from engine.bits import where_between, write_bits
from engine.kernels import inline, row

EMPTY, WALL, GEM, SEAT = range(4)  # values of a cell; seat n is SEAT + n
PLANES = 3  # planes of an observation: gems, walls, other seats
PADDING = 7  # cells that may be read beyond the last one, see `_write_plane`
DEFAULT_SIDE = 5  # of the window with the default radius


@inline
def copy_window(cells, corner, stride, side, out):  # type: ignore[no-untyped-def]
    """Copy the window whose upper left corner is `corner`."""
    j = uint32(0)
    for dy in range(side):
        at = corner + uint32(dy) * stride
        for dx in range(side):
            out[j] = cells[at + uint32(dx)]
            j += uint32(1)


@inline
def _write_plane(cells, corner, stride, side, low, high, out, plane):  # type: ignore[no-untyped-def]
    """Write 1 to a plane where the window holds a value from `low` to `high`, except in the middle, the seat itself.

    Eight cells are handled at a time, and up to seven cells beyond a row of the window are read. The square of an odd
    number is one more than a multiple of eight, so the last cell is written separately.
    """
    at = uint64(plane) * uint64(side * side)
    bits = uint64(0)
    count = 0
    for y in range(side):
        for x in range(0, side, 8):
            width = min(8, side - x)
            found = where_between(cells, uint64(corner) + uint64(y) * uint64(stride) + uint64(x), low, high)
            relevant = (1 << width) - 1
            if y == side // 2 and x == 0:
                relevant &= ~(1 << side // 2)
            bits |= (found & uint64(relevant)) << uint64(count)
            count += width
            if count >= 8:
                write_bits(out, at, bits)
                at += uint64(8)
                bits >>= uint64(8)
                count -= 8
    out[plane, side - 1, side - 1] = np.float32(bits)


@inline
def _write_planes(cells, corner, stride, side, out, first):  # type: ignore[no-untyped-def]
    """Write gems, walls and other seats to one plane each."""
    _write_plane(cells, corner, stride, side, GEM, GEM, out, first)
    _write_plane(cells, corner, stride, side, WALL, WALL, out, first + 1)
    _write_plane(cells, corner, stride, side, SEAT, 255, out, first + 2)


@row
def write_planes(cells, corner, stride, side, out, first):  # type: ignore[no-untyped-def]
    """Like `_write_planes`; with the default radius, constant loop lengths take less than half the time."""
    if side == DEFAULT_SIDE:
        _write_planes(cells, corner, stride, DEFAULT_SIDE, out, first)
    else:
        _write_planes(cells, corner, stride, np.int64(side), out, first)
