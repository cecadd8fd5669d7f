"""Instructions that numba lacks, for use in kernels: on bits of 64-bit words, and on eight array elements at a time.

The functions on eight elements take an array in C order and the flat index of the first element. They do not check
bounds. LLVM compiles them for any processor; plain loops over so few elements are not vectorised and take five times as
long.
"""

from __future__ import annotations

from typing import Any, cast

from llvmlite import ir
from numba import int64 as numba_int64
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from engine.kernels import Compiled

EIGHT_BYTES, EIGHT_FLOATS = ir.VectorType(ir.IntType(8), 8), ir.VectorType(ir.FloatType(), 8)
BYTE, WORD = ir.IntType(8), ir.IntType(64)


def _lowest_bit(typing: Any, word: Any) -> Any:
    """The index of the lowest set bit; the word must not be 0."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), emit


def _popcount(typing: Any, word: Any) -> Any:
    """The number of set bits."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


def _where_between(typing: Any, cells: Any, at: Any, low: Any, high: Any) -> Any:
    """A mask of the eight uint8 that are from `low` to `high`; the lowest bit is the first element."""
    _require(cells, types.uint8)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = builder.load(_address(context, builder, signature, arguments, EIGHT_BYTES), align=1)
        low, high = arguments[2], arguments[3]
        above = builder.sub(eight, _eight_times(builder, low))
        inside = builder.icmp_unsigned("<=", above, _eight_times(builder, builder.sub(high, low)))
        return builder.zext(builder.bitcast(inside, BYTE), WORD)

    return types.uint64(cells, types.uint64, types.uint8, types.uint8), emit


def _where_not_zero(typing: Any, floats: Any, at: Any) -> Any:
    """A mask of the eight float32 that are not zero; the lowest bit is the first element."""
    _require(floats, types.float32)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = builder.load(_address(context, builder, signature, arguments, EIGHT_FLOATS), align=4)
        found = builder.fcmp_unordered("!=", eight, ir.Constant(EIGHT_FLOATS, [0.0] * 8))
        return builder.zext(builder.bitcast(found, BYTE), WORD)

    return types.uint64(floats, types.uint64), emit


def _write_bits(typing: Any, floats: Any, at: Any, bits: Any) -> Any:
    """Write the eight lowest bits as float32 (1.0 or 0.0), lowest bit first."""
    _require(floats, types.float32)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        set_bits = builder.bitcast(builder.trunc(arguments[2], BYTE), ir.VectorType(ir.IntType(1), 8))
        target = _address(context, builder, signature, arguments, EIGHT_FLOATS)
        builder.store(builder.uitofp(set_bits, EIGHT_FLOATS), target, align=4)
        return context.get_dummy_value()

    return types.void(floats, types.uint64, types.uint64), emit


def _require(array: Any, element: Any) -> None:
    if not isinstance(array, types.Array) or array.dtype != element or array.layout != "C":
        raise TypingError(f"{array}: must be an array of {element} in C order")


def _address(context: Any, builder: Any, signature: Any, arguments: Any, eight: Any) -> Any:
    """The address of the element at flat index `arguments[1]` of the array `arguments[0]`."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), eight.as_pointer())


def _eight_times(builder: Any, byte: Any) -> Any:
    """A vector of this byte."""
    first = builder.insert_element(ir.Constant(EIGHT_BYTES, ir.Undefined), byte, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8)
    return builder.shuffle_vector(first, ir.Constant(EIGHT_BYTES, ir.Undefined), everywhere)


int64 = cast(Compiled, numba_int64)  # a conversion, in a form that mypy understands
lowest_bit = cast(Compiled, intrinsic(_lowest_bit))
popcount = cast(Compiled, intrinsic(_popcount))
where_between = cast(Compiled, intrinsic(_where_between))
where_not_zero = cast(Compiled, intrinsic(_where_not_zero))
write_bits = cast(Compiled, intrinsic(_write_bits))
