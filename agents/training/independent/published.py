"""Versioned numbers in shared memory, such as the weights of an agent: readers get one version whole or not at all.

There are two slots. The writer fills the one that does not hold the newest version, so a writer that is killed at any
moment leaves the version before intact. A reader copies the newest slot, and looks afterwards whether the writer has
begun to fill that one again; a checksum detects what this order cannot.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.training.independent.shared_words import LINE, SharedWords, fence, padded
from engine.errors import BadValue

BEGUN, DONE = range(2)  # words: publications that have begun, and that are complete
VERSIONS, CHECKSUMS = 2, 4  # words of the first slot; the ones of the second slot follow
WORDS = 6
SLOTS = 2
TRIES = 1000  # a writer that publishes so often during one copy leaves nothing whole to read

Numbers = NDArray[np.float32]


class PublishedState:
    """Numbers that one process publishes and any others read."""

    def __init__(self, memory: Any, size: int) -> None:
        """`memory`: of `bytes_needed` bytes, filled with zeros when it was new; it continues with what is in it."""
        self.memory, self.size = memory, size
        self._words = SharedWords(memory, WORDS)
        data = np.frombuffer(memory, np.uint8)
        starts = [LINE + k * padded(4 * size) for k in range(SLOTS)]
        self._slots = [data[start : start + 4 * size].view(np.float32) for start in starts]

    @staticmethod
    def bytes_needed(size: int) -> int:
        """`size`: how many numbers."""
        return LINE + SLOTS * padded(4 * size)

    def publish(self, numbers: Numbers, version: int) -> None:
        """Only one process may call this at a time."""
        if numbers.shape != (self.size,):
            raise BadValue("numbers", f"an array of shape {numbers.shape}", f"{self.size:,} numbers")
        number = self._words[DONE] + 1
        slot = number % SLOTS
        self._words[BEGUN] = number
        fence()
        self._slots[slot][:] = numbers
        self._words[VERSIONS + slot], self._words[CHECKSUMS + slot] = version, zlib.crc32(self._slots[slot].data)
        fence()
        self._words[DONE] = number

    @property
    def count(self) -> int:
        """How often something was published. Reading it is cheap, so a reader can poll it."""
        return self._words[DONE]

    @property
    def version(self) -> int:
        """The newest version; 0 before the first."""
        while True:
            number = self._words[DONE]
            fence()
            version = self._words[VERSIONS + number % SLOTS]
            fence()
            if self._intact(number):
                return version if number else 0

    def read(self) -> tuple[int, Numbers] | None:
        """The newest version and a copy of its numbers; None if there is none, or none that is whole."""
        for _ in range(TRIES):
            number = self._words[DONE]
            if not number:
                return None
            fence()
            slot = number % SLOTS
            version, checksum = self._words[VERSIONS + slot], self._words[CHECKSUMS + slot]
            numbers = self._slots[slot].copy()
            fence()
            if self._intact(number) and zlib.crc32(numbers.data) == checksum:
                return version, numbers
        return None

    def _intact(self, number: int) -> bool:
        """Whether the slot of this publication was not written again until now."""
        return self._words[BEGUN] < number + SLOTS
