"""Where a process leaves word of what it is doing: which call, for whom. It can be read after the process has died."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.play.lane_kernels import LANE
from engine.play.match import MatchSpec

Words = NDArray[np.uint64]
Numbers = NDArray[np.uint32]

HEAD = 256  # bytes: the words below, then one lane's record
WORDS = 16
LANE_AT = 128
# What stands in which word of the header; plain constants, because they are used in every call.
SEQUENCE = 0  # grows with every call and every row: standing still is hanging
CALL = 1
SEAT = 2  # meaningful where each seat is asked by itself
ROW = 3  # which row is thought about, plus one; 0 for all of them
REGION = 4
ALLOWED = 5  # milliseconds for this call; 0 for the usual limit
COMPILING = 6  # how many kernels are being compiled: that may take long, and is nobody's fault
COUNTS = 8  # from here on, how many matches each region lists
REGIONS = 8  # lists of matches, one for each pilot that is asked in turn, so that they need not be written each time


class Call(IntEnum):
    """What an agent's code was asked to do."""

    NONE = 0
    LOAD = 1
    BEGIN = 2
    ACT = 3
    END = 4
    CLOSE = 5


class Mark(NamedTuple):
    """The call a process is in, or was in when it died."""

    sequence: int
    call: Call
    seat: int
    matches: frozenset[int] | None  # by number; None when they were too many to write down
    rows: int
    allowed: float  # seconds; 0 for the usual limit
    compiling: bool


def size_of(rows: int, log_words: int) -> int:
    """Bytes that the marks of one process take."""
    return HEAD + 8 * log_words + 4 * REGIONS * rows


class Marks:
    """The memory that both sides see. One side writes, `read` is for the other."""

    def __init__(self, memory: memoryview, rows: int, log_words: int) -> None:
        self._words = memory[: 8 * WORDS].cast("Q")  # single words: a memoryview writes them faster than numpy
        self.turn = self._words[ROW : ROW + 1]  # within the call, whose turn it is: `Views.asking` writes it
        self._rows = rows
        self.words: Words = np.frombuffer(memory, np.uint64, WORDS)  # the same words, for kernels
        lists = np.frombuffer(memory, np.uint32, REGIONS * rows, HEAD + 8 * log_words)
        self._lists: Numbers = lists.reshape(REGIONS, rows)
        self._owners: list[object] = [None] * REGIONS
        self.lane = np.frombuffer(memory, LANE, 1, LANE_AT)  # of a match that is played alone: how far it is
        self.log: Words = np.frombuffer(memory, "<u8", log_words, HEAD).reshape(1, log_words)  # and what was played

    def enter(self, call: Call, numbers: Numbers, lanes: Numbers, seat: int = 0, owner: object = None) -> None:
        """A call begins, for the matches on these lanes; one that is made again and again names its `owner`."""
        region = _region(owner)
        n = min(lanes.size, self._rows)
        np.take(numbers, lanes[:n], out=self._lists[region, :n], mode="clip")
        self._owners[region] = owner
        self._words[COUNTS + region] = lanes.size
        self._begin(call, region, seat)

    def again(self, call: Call, owner: object) -> bool:
        """The same call for the same matches as before; False when they are not written down any more."""
        region = _region(owner)
        if self._owners[region] is not owner:
            return False
        self._begin(call, region, 0)
        return True

    def _begin(self, call: Call, region: int, seat: int) -> None:
        words = self._words
        words[ROW] = 0
        words[REGION] = region
        words[SEAT] = seat
        words[SEQUENCE] += 1
        words[CALL] = call

    def leave(self) -> None:
        self._words[CALL] = 0

    @property
    def asked(self) -> int | None:
        """The row that was last asked by itself in this call; None when all were asked together."""
        return int(self._words[ROW]) - 1 if self._words[ROW] else None

    def seat(self, seat: int) -> None:
        self._words[SEAT] = seat

    def allow(self, seconds: float) -> None:
        """What the next calls may take; 0 for the usual limit."""
        self._words[ALLOWED] = round(seconds * 1000)

    def beat(self) -> None:
        """Still there, between two calls."""
        self._words[SEQUENCE] += 1

    def compiling(self, change: int) -> None:
        self._words[COMPILING] += change

    def clear(self) -> None:
        """For a new process."""
        self._words[:] = memoryview(bytes(8 * WORDS)).cast("Q")
        self.lane[:] = np.zeros(1, LANE)

    @property
    def pulse(self) -> int:
        """Changes as long as something happens."""
        return int(self._words[SEQUENCE]) << 32 | int(self._words[ROW])

    def read(self) -> Mark:
        words = self._words.tolist()
        row, region = words[ROW], words[REGION] % REGIONS
        count = words[COUNTS + region]
        matches: frozenset[int] | None = None
        if count <= self._rows:
            listed = self._lists[region, row - 1 : row] if 0 < row <= count else self._lists[region, :count]
            matches = frozenset(listed.tolist())
        rows = 1 if row else count
        call = Call(words[CALL]) if words[CALL] <= Call.CLOSE else Call.NONE
        return Mark(words[SEQUENCE], call, words[SEAT], matches, rows, words[ALLOWED] / 1000, bool(words[COMPILING]))


def _region(owner: object) -> int:
    """The first is for calls of no owner."""
    return 0 if owner is None else 1 + id(owner) // 64 % (REGIONS - 1)


def number_of(spec: MatchSpec) -> int:
    """How the marks name a match: a worker's matches are numbered; elsewhere nobody reads the marks."""
    return int(spec.id) % 2**32 if spec.id.isdecimal() else 0


def private(rows: int) -> Marks:
    """Marks that only this process sees."""
    return Marks(memoryview(bytearray(size_of(rows, 0))), rows, 0)
