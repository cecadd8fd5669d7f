"""Compares what arrays of numpy are (shape, strides, type and flags, not elements), and counts references to objects.

`obs.shape == shape and obs.dtype == dtype and obs.flags.writeable` takes 120 ns in Python, as long as a simple bot
takes to act. A kernel that reads these fields in memory takes 2.6 ns an array, and 0.3 us for the call. Their places
are those of `PyArrayObject_fields` in numpy's header `ndarraytypes.h`. Compiled extensions have these places built in,
so they stay the same in all versions that such extensions can be used with.
"""

from __future__ import annotations

from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.kernels import Compiled, row

START = object.__basicsize__  # of the fields of an array, after those that every object has
DIMENSIONS, SHAPE, STRIDES, DTYPE, FLAGS = START + 8, START + 16, START + 24, START + 40, START + 48
INT = 0xFFFFFFFF  # DIMENSIONS and FLAGS have 32 bits, the others are addresses


def _word_at(typing: Any, address: Any) -> Any:
    """The 64 bits at an address, which must be valid."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=8)

    return types.int64(types.int64), emit


word_at = cast(Compiled, intrinsic(_word_at))


@row
def references(address):  # type: ignore[no-untyped-def]
    """The number of references to the object at an address: `sys.getrefcount`, less that of its argument."""
    return word_at(address) & INT


@row
def same_header(model, array):  # type: ignore[no-untyped-def]
    """Whether two arrays have the same shape, strides, type and flags.

    Both are addresses: the `id` of an array. The caller holds references to them.
    """
    dimensions = word_at(model + DIMENSIONS) & INT
    if word_at(array + DIMENSIONS) & INT != dimensions or (word_at(array + FLAGS) ^ word_at(model + FLAGS)) & INT:
        return False
    if word_at(array + DTYPE) != word_at(model + DTYPE):
        return False
    shape, strides, own_shape, own_strides = (
        word_at(model + SHAPE), word_at(model + STRIDES), word_at(array + SHAPE), word_at(array + STRIDES)
    )  # fmt: skip
    for k in range(0, 8 * dimensions, 8):
        if word_at(own_shape + k) != word_at(shape + k) or word_at(own_strides + k) != word_at(strides + k):
            return False
    return True
