"""Shared memory in which a worker writes its current call and its matches. It can be read after the worker has died."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.play.lane_kernels import LANE
from engine.play.match import MatchSpec

Words = NDArray[np.uint64]
Numbers = NDArray[np.uint32]

HEAD = 256  # bytes: the 64-bit words below, then the record of one lane
WORDS = 16
LANE_AT = 128
# Index of each word of the header; plain integers, because they are used in every call.
SEQUENCE = 0  # incremented with every call and row: if it does not change, the process hangs
CALL = 1
SEAT = 2  # valid if each seat is called separately
ROW = 3  # the current row plus one; 0 for all rows
REGION = 4
TIME_LIMIT = 5  # milliseconds for this call; 0 for the default
COMPILING = 6  # number of kernels being compiled, which takes long and is not the fault of an agent
COUNTS = 8  # from here on, the number of matches in each region
REGIONS = 8  # lists of matches, about one for each pilot, so that they are not written in every call


class PilotCall(IntEnum):
    """The method of an agent's code that is being called."""

    NONE = 0
    LOAD = 1
    BEGIN = 2
    ACT = 3
    END = 4
    CLOSE = 5
    IMPORT = 6  # of its kind

    @property
    def text(self) -> str:
        """What hangs if this call does not return."""
        special = {PilotCall.NONE: "its rules", PilotCall.IMPORT: "the import of its kind"}
        return special.get(self, f"its call of {self.name.lower()}()")


CALLS = frozenset(PilotCall)


class HeartbeatSnapshot(NamedTuple):
    """The call that a process is in, or was in when it died."""

    sequence: int
    call: PilotCall
    seat: int
    matches: frozenset[int] | None  # by number; None if there were too many to list
    rows: int
    time_limit: float  # seconds; 0 for the default
    compiling: bool


def size_of(rows: int, log_words: int) -> int:
    """Bytes of the heartbeat of one process."""
    return HEAD + 8 * log_words + 4 * REGIONS * rows


class Heartbeat:
    """The shared memory of a heartbeat: the worker writes, the dispatcher calls `read`."""

    def __init__(self, memory: memoryview, rows: int, log_words: int) -> None:
        self._words = memory[: 8 * WORDS].cast("Q")  # a memoryview writes single words faster than numpy
        self.turn = self._words[ROW : ROW + 1]  # the current row of a call: `Views.asking` writes it
        self._rows = rows
        self.words: Words = np.frombuffer(memory, np.uint64, WORDS)  # the same memory, for kernels
        lists = np.frombuffer(memory, np.uint32, REGIONS * rows, HEAD + 8 * log_words)
        self._lists: Numbers = lists.reshape(REGIONS, rows)
        self._owners: list[object] = [None] * REGIONS
        self.lane = np.frombuffer(memory, LANE, 1, LANE_AT)  # the state of a match that is played alone
        self.log: Words = np.frombuffer(memory, "<u8", log_words, HEAD).reshape(1, log_words)  # and its actions

    def begin_call(
        self, call: PilotCall, numbers: Numbers, lanes: Numbers, seat: int = 0, owner: object = None
    ) -> None:
        """A call begins for the matches on these lanes. A call that is repeated often has an `owner`."""
        region = _region(owner)
        n = min(lanes.size, self._rows)
        np.take(numbers, lanes[:n], out=self._lists[region, :n], mode="clip")
        self._owners[region] = owner
        self._words[COUNTS + region] = lanes.size
        self._begin(call, region, seat)

    def repeat_call(self, call: PilotCall, owner: object) -> bool:
        """The same call for the same matches as before; returns False if the list has been overwritten."""
        region = _region(owner)
        if self._owners[region] is not owner:
            return False
        self._begin(call, region, 0)
        return True

    def _begin(self, call: PilotCall, region: int, seat: int) -> None:
        words = self._words
        words[ROW] = 0
        words[REGION] = region
        words[SEAT] = seat
        words[SEQUENCE] += 1
        words[CALL] = call

    def end_call(self) -> None:
        self._words[CALL] = 0

    @property
    def current_row(self) -> int | None:
        """The row that this call processes; None if it processes all rows together."""
        return int(self._words[ROW]) - 1 if self._words[ROW] else None

    @contextmanager
    def checking(self, call: PilotCall, spec: MatchSpec, seat: int) -> Iterator[None]:
        """The agent of this seat is being checked, which runs code of its kind: that may crash or hang."""
        self.begin_call(call, np.array([match_number(spec)], np.uint32), np.zeros(1, np.uint32), seat)
        try:
            yield
        finally:
            self.end_call()

    def set_seat(self, seat: int) -> None:
        self._words[SEAT] = seat

    def set_time_limit(self, seconds: float) -> None:
        """Set the time limit of the next calls; 0 for the default."""
        self._words[TIME_LIMIT] = round(seconds * 1000)

    def beat(self) -> None:
        """Show that the process is alive between two calls."""
        self._words[SEQUENCE] += 1

    def count_compiling(self, change: int) -> None:
        self._words[COMPILING] += change

    def clear(self) -> None:
        """Reset for a new process."""
        self._words[:] = memoryview(bytes(8 * WORDS)).cast("Q")
        self.lane[:] = np.zeros(1, LANE)

    @property
    def pulse(self) -> int:
        """Changes as long as the process makes progress."""
        return int(self._words[SEQUENCE]) << 32 | int(self._words[ROW])

    def read(self) -> HeartbeatSnapshot:
        words = self._words.tolist()
        row, region = words[ROW], words[REGION] % REGIONS
        count = words[COUNTS + region]
        matches: frozenset[int] | None = None
        if count <= self._rows:
            listed = self._lists[region, row - 1 : row] if 0 < row <= count else self._lists[region, :count]
            matches = frozenset(listed.tolist())
        rows = 1 if row else count
        call = PilotCall(words[CALL]) if words[CALL] in CALLS else PilotCall.NONE
        return HeartbeatSnapshot(
            words[SEQUENCE], call, words[SEAT], matches, rows, words[TIME_LIMIT] / 1000, bool(words[COMPILING])
        )


def _region(owner: object) -> int:
    """The region of an owner; region 0 is for calls without one."""
    return 0 if owner is None else 1 + id(owner) // 64 % (REGIONS - 1)


def match_number(spec: MatchSpec) -> int:
    """The number of a match in a heartbeat: in a worker its id; elsewhere 0, as the heartbeat is not read."""
    return int(spec.id) % 2**32 if spec.id.isdecimal() else 0


def private_heartbeat(rows: int) -> Heartbeat:
    """A heartbeat that is not shared."""
    return Heartbeat(memoryview(bytearray(size_of(rows, 0))), rows, 0)
