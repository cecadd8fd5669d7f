"""The floating-point mode of a thread: how it rounds, and whether it flushes denormal numbers to zero.

Foreign code can change it, on purpose or by loading a library that was compiled with -ffast-math, and from then on
everything that runs in the thread computes other numbers. It is known on x86-64 only, as the register MXCSR; elsewhere
`read_mode` always returns the same, and nothing is noticed. Reading it takes 60 ns.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from typing import Any, cast

from llvmlite import ir
from numba import types, uint32
from numba.extending import intrinsic

from engine.kernels import Compiled, bare

KNOWN = platform.machine().lower() in ("x86_64", "amd64")
NORMAL = 0x1F80  # round to nearest, keep denormal numbers, raise no signals
SETTINGS = 0xFFC0  # without the flags that say what has happened
PARTS = {
    0x6000: "how numbers are rounded",
    0x8040: "how denormal numbers are treated",
    0x1F80: "which errors are signalled",
}
DEFAULT_ENVIRONMENT = ctypes.c_void_p(-1)  # FE_DFL_ENV of the C libraries of Linux on x86
WORD = ir.IntType(32)


def _call_on_word(builder: Any, name: str, word: Any) -> None:
    """Call an LLVM intrinsic with the address of a word."""
    address = ir.IntType(8).as_pointer()
    function = builder.module.declare_intrinsic(name, (), ir.FunctionType(ir.VoidType(), [address]))
    builder.call(function, [builder.bitcast(word, address)])


def _get_mxcsr(typing: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = builder.alloca(WORD)
        _call_on_word(builder, "llvm.x86.sse.stmxcsr", word)
        return builder.load(word)

    return types.uint32(), emit


def _set_mxcsr(typing: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = builder.alloca(WORD)
        builder.store(arguments[0], word)
        _call_on_word(builder, "llvm.x86.sse.ldmxcsr", word)
        return arguments[0]

    return types.uint32(types.uint32), emit


_mxcsr = cast(Compiled, intrinsic(_get_mxcsr))
_load_mxcsr = cast(Compiled, intrinsic(_set_mxcsr))


@bare
def _read():  # type: ignore[no-untyped-def]
    return _mxcsr() & uint32(SETTINGS)


@bare
def _write(mode):  # type: ignore[no-untyped-def]
    return _load_mxcsr(uint32(mode))


def _unknown() -> int:
    return NORMAL


read_mode: Compiled = _read if KNOWN else _unknown


def write_mode(mode: int) -> None:
    """Set the mode of this thread."""
    if KNOWN and mode == NORMAL and sys.platform == "linux":
        ctypes.CDLL(None).fesetenv(DEFAULT_ENVIRONMENT)  # long double has a register of its own
    if KNOWN:
        _write(mode)


def changes(before: int, after: int) -> str:
    """What differs between two modes, in words."""
    return " and ".join([what for bits, what in PARTS.items() if (before ^ after) & bits])
