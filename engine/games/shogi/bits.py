"""What kernels do with 64-bit words and numba does not offer, or not in a form that a type checker understands."""

from __future__ import annotations

from typing import cast

import numpy as np

from engine.bits import lowest, ones
from engine.kernels import Compiled

__all__ = ["int64", "lowest", "ones"]

int64 = cast(Compiled, np.int64)
