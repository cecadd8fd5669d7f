"""What a model process is doing, in memory that it shares with the search: it can be read after its death."""

from __future__ import annotations

import time
from enum import IntEnum
from typing import Any

from engine.processes import launcher

ACTIVITY, EPOCH, PULSE = range(3)
WORDS = 8
WORD = 8  # bytes


class Activity(IntEnum):
    """What a model process is doing."""

    STARTING = 0
    IDLE = 1
    TRAINING = 2


class ModelStatus:
    """The status of one process; it and the search have such an object on the same memory. A processor reads and writes
    each number whole."""

    def __init__(self, memory: Any = None) -> None:
        self.memory = launcher.shared_memory(WORDS * WORD) if memory is None else memory
        self._words = memoryview(self.memory).cast("B").cast("Q")

    def set_activity(self, activity: Activity, epoch: int = 0) -> None:
        words = self._words
        words[EPOCH], words[ACTIVITY], words[PULSE] = epoch, activity, time.monotonic_ns()

    @property
    def activity(self) -> Activity:
        return Activity(min(self._words[ACTIVITY], max(Activity)))

    @property
    def epoch(self) -> int:
        return self._words[EPOCH]

    @property
    def pulse(self) -> int:
        """Changes several times a second while the process runs."""
        return self._words[PULSE]
