"""The memory that a worker shares with the trainer: slots for batches of experience, and what the worker is doing.

The memory has no name: it is gone when both processes have ended, also if they were killed. A slot belongs to one of
them at a time, and messages pass it on, so neither side reads what the other still writes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import IntEnum
from math import prod
from typing import Any

import numpy as np

from engine.errors import BadValue
from engine.game import GameInfo
from engine.play.rollout_messages import ARRAYS, TYPES, pack_trajectories, unpack_trajectories
from engine.processes import launcher
from engine.processes.channel import Message, ProtocolError

HEAD = 64  # bytes before the slots: the words below
WORDS = HEAD // 8
ACTIVITY, BATCH, SINCE, COMPILING, RESETS = range(5)
RESULTS_ROOM = 1 << 16  # bytes of a slot for results of matches; what has no room in a slot is in the message
LARGEST = 16 << 30  # bytes of the slots of one worker


class Activity(IntEnum):
    """What a worker is doing."""

    STARTING = 0
    PLAYING = 1
    WAITING = 2  # for a free slot
    PAUSED = 3
    LOADING = 4  # weights or agents
    FAILED = 5  # its game or an agent failed


DESCRIBED = {
    Activity.STARTING: "starting",
    Activity.PLAYING: "playing batch {batch}",
    Activity.WAITING: "waiting until a batch is collected",
    Activity.PAUSED: "paused",
    Activity.LOADING: "loading agents",
    Activity.FAILED: "waiting after a failure",
}


def segment_bytes(info: GameInfo, streams: int, steps: int) -> int:
    """Bytes of the arrays of one segment, if one seat acts at a time where seats do not act together."""
    acting = info.seats if info.simultaneous or info.together else 1
    rows = {"obs": acting * prod(info.observation), "legal": acting * info.actions if info.masked else 0, "ends": 1}
    return sum(
        streams * steps * rows.get(name, info.seats) * np.dtype(TYPES.get(name, np.float32)).itemsize for name in ARRAYS
    )


def slot_bytes(info: GameInfo, streams: int, steps: int) -> int:
    return -(-(segment_bytes(info, streams, steps) + RESULTS_ROOM) // 64) * 64


class Slots:
    """The slots of one worker; both processes have such an object on the same memory."""

    def __init__(self, memory: Any, count: int) -> None:
        """`memory`: made by `new_memory`."""
        self.memory, self.count = memory, count
        view = memoryview(memory).cast("B")
        self._words = view[:HEAD].cast("Q")
        self._size = (len(view) - HEAD) // count
        self._views = [view[HEAD + k * self._size : HEAD + (k + 1) * self._size] for k in range(count)]

    @staticmethod
    def new_memory(info: GameInfo, streams: int, steps: int, count: int) -> Any:
        return launcher.shared_memory(HEAD + slot_bytes(info, streams, steps) * count)

    @staticmethod
    def check_size(info: GameInfo, streams: int, steps: int, count: int, settings: Mapping[str, int]) -> None:
        """Raise BadValue if the slots need too much memory. It names `settings`, from which their size follows."""
        size = slot_bytes(info, streams, steps) * count
        if size > LARGEST:
            (name, value), *others = settings.items()
            what = f"{count} batch{'es' if count > 1 else ''} of {streams * steps:,} experiences"
            lower = " or ".join(["it", *(other for other, _ in others)])
            raise BadValue(name, value, f"smaller: {what} need {size / 2**30:.0f} GB in one process. Lower {lower}")

    # What the worker is doing

    def set_activity(self, activity: Activity, batch: int) -> None:
        words = self._words
        words[BATCH], words[SINCE], words[ACTIVITY] = batch, time.monotonic_ns(), activity

    def count_compiling(self, change: int) -> None:
        """Called by `CompilerListener`: compiling takes long, and does not mean that the worker hangs."""
        self._words[COMPILING] += change

    def count_reset(self) -> None:
        self._words[RESETS] += 1

    @property
    def resets(self) -> int:
        """How often it has set up its players again."""
        return int(self._words[RESETS])

    @property
    def activity(self) -> Activity:
        value = self._words[ACTIVITY]
        return Activity(value) if value <= max(Activity) else Activity.STARTING

    @property
    def compiling(self) -> bool:
        return bool(self._words[COMPILING])

    @property
    def batch(self) -> int:
        """The number of the batch that it has begun last."""
        return int(self._words[BATCH])

    def describe(self) -> str:
        """What the worker is doing, or was doing when it ended, and for how long."""
        seconds = max(time.monotonic_ns() - self._words[SINCE], 0) / 1e9 if self._words[SINCE] else 0.0
        what = DESCRIBED[self.activity].format(batch=self._words[BATCH])
        return f"{what}{' (compiling)' if self.compiling else ''} for {seconds:.1f} s"

    # Batches

    def write(self, slot: int, segment: Any) -> Message:
        """Write a segment; returns what the other side needs to read it. The body is what had no room in the slot."""
        fields, body = pack_trajectories(segment)
        size = min(len(body), self._size)
        self._views[slot][:size] = memoryview(body)[:size]
        return [slot, size, *fields], body[size:]

    def read(self, fields: Any, body: bytes, info: GameInfo) -> Any:
        """A copy of the segment; raises ProtocolError if it does not fit the game."""
        match fields:
            case [int(slot), int(size), *rest] if 0 <= slot < self.count and 0 <= size <= self._size:
                data: Any = bytearray(self._views[slot][:size])
                data += body
                return unpack_trajectories(rest, data, info)
            case _:
                raise ProtocolError("sent an invalid batch")
