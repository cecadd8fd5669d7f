"""What kernels do with 64-bit words and numba does not offer, or not in a form that a type checker understands."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic

from engine.kernels import Compiled


def _lowest(typing: Any, word: Any) -> Any:
    """The place of the lowest bit that is set; the word must not be 0."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), emit


def _ones(typing: Any, word: Any) -> Any:
    """How many bits are set."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


lowest = cast(Compiled, intrinsic(_lowest))
ones = cast(Compiled, intrinsic(_ones))
int64 = cast(Compiled, np.int64)
