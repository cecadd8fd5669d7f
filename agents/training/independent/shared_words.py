"""Words in shared memory by which one process tells others what it has written, and the order of such writes."""

from __future__ import annotations

import threading
from typing import Any

WORD = 8  # bytes
LINE = 64  # bytes of a cache line: what different processes write is at least so far apart

_fence = threading.Lock()


def fence() -> None:
    """Other processors see all writes before this call before those after it; likewise for reads.

    x86 keeps the order of writes and of reads by itself, ARM does not. Python has no fence, but releasing a lock
    completes what was written before, and acquiring one waits with what follows.
    """
    with _fence:
        pass
    with _fence:
        pass


def padded(size: int, to: int = LINE) -> int:
    """The size, rounded up to a multiple; of bytes: to whole cache lines."""
    return -(-size // to) * to


class SharedWords:
    """Numbers of 64 bits at the beginning of a memory. A processor reads and writes each of them whole."""

    def __init__(self, memory: Any, count: int) -> None:
        self._words = memoryview(memory).cast("B")[: count * WORD].cast("Q")

    def __getitem__(self, index: int) -> int:
        return self._words[index]

    def __setitem__(self, index: int, value: int) -> None:
        self._words[index] = value
