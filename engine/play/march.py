"""Marching: lanes on which every player is compiled are played for many steps in one call of a driver.

There is one driver for each combination of kinds at a board. One that has never been compiled on this machine is
compiled in a background thread; until it is ready, its lanes are played by ticks, with the same results.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple, cast

import numpy as np

from engine.errors import DriverRefused
from engine.game import BoardRows, CompiledBoards, CompiledPilot, GameInfo, Indices, Ints
from engine.kernels import compiled_once, is_cached, signature_of
from engine.play.pilots import Crew, Seating
from engine.play.driver import Player, driver
from engine.play.lane_kernels import TICKED, WAYS, find_running
from engine.play.heartbeat import Call, Marks
from engine.play.lane_log import Records

log = logging.getLogger("ringside")
PATIENCE = 0.3  # seconds of play by ticks before a driver is compiled: short runs end sooner


class Marching(Enum):
    """When lanes may be marched."""

    NEVER = "never"
    IF_CACHED = "if cached"  # drivers are loaded from the cache and never compiled
    WHEN_READY = "when ready"  # drivers are compiled in the background
    AT_ONCE = "at once"  # the first call of a driver waits until it is compiled; DriverRefused if it cannot be


class Marched(NamedTuple):
    """What one call did."""

    ended: list[int]  # lanes
    odd: list[int]  # lanes on which an answer is not a legal action; the answers are in the group's array


class State(Enum):
    """How far a driver is."""

    NEW = "new"
    COMPILING = "compiling"
    READY = "ready"
    REFUSED = "refused"  # numba cannot compile it


class Driver:
    """One driver of this process and whether it can be called."""

    def __init__(self, function: Any) -> None:
        self.call = function
        self.state = State.NEW
        self.error: str | None = None  # why numba refused it
        self._asked: float | None = None  # when it was first needed

    @property
    def ready(self) -> bool:
        return self.state is State.READY

    def prepare(self, arguments: Sequence[Any], marching: Marching) -> None:
        """Load it from the cache, compile it now, or have it compiled in the background once enough has been played."""
        if self.state is not State.NEW:
            return
        now, signature = time.perf_counter(), signature_of(self.call, arguments)
        first = self._asked is None
        self._asked = now if self._asked is None else self._asked
        if marching is Marching.AT_ONCE:
            self.compile(signature)
            if self.error is not None:
                raise DriverRefused(self.error)
        elif first and is_cached(self.call, signature):
            self.compile(signature)
        elif marching is Marching.WHEN_READY and now - self._asked > PATIENCE:
            self.state = State.COMPILING
            COMPILER.submit(self, signature)

    def compile(self, signature: tuple[Any, ...]) -> None:
        """Compile it, or load it from the cache."""
        try:
            self.call.compile(signature)
            self.state = State.READY
        except Exception as error:  # row functions that numba refuses: their lanes are played by ticks
            self.state, self.error = State.REFUSED, str(error)
            log.exception("a march driver could not be compiled; its matches are played step by step")


class Compiler:
    """Compiles drivers in one background thread, which ends when there is nothing left to compile.

    It is no daemon: a thread that is stopped in the middle of LLVM may crash the process. A program that ends waits
    for the driver that is being compiled, and drops the others.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[Driver, tuple[Any, ...]]] = deque()
        self._lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def submit(self, driver: Driver, signature: tuple[Any, ...]) -> None:
        with self._lock:
            self._waiting.append((driver, signature))
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="ringside-compiler")
                self.thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or not threading.main_thread().is_alive():
                    self.thread = None
                    return
                driver, signature = self._waiting.popleft()
            with compiled_once(driver.call):
                driver.compile(signature)


COMPILER = Compiler()


@functools.cache
def _driver(info: GameInfo, rows: BoardRows, players: tuple[Player, ...]) -> Driver:
    return Driver(driver(info, rows, players))


class Combination:
    """The kinds at one board, and the driver that plays such boards."""

    def __init__(self, way: int, info: GameInfo, boards: CompiledBoards, crews: Sequence[Crew], lanes: int) -> None:
        self.way = way  # how lanes of this combination are marked in `LANE.running`
        self.indices = np.array([crew.index for crew in crews], np.int32)
        self.pilots = [cast(CompiledPilot, crew.pilot) for crew in crews]
        self.driver = _driver(info, boards.rows, tuple(Player(one.act_row, one.observes) for one in self.pilots))
        self.live: Indices | None = None  # its running lanes; None: to be found again
        self.room: Indices = np.zeros(lanes, np.uint32)
        self.next = 0  # lane to begin the next call with


class March:
    """The march of one group: its combinations and the arrays that every call gets."""

    def __init__(
        self,
        info: GameInfo,
        boards: object,
        records: Records,
        slots: np.ndarray[Any, Any],
        answers: Ints,
        marks: Marks,
        marching: Marching,
    ) -> None:
        self._info, self._records, self._slots, self._answers, self._marks = info, records, slots, answers, marks
        self._marching = marching
        self._boards = cast(CompiledBoards, boards)
        self.possible = marching is not Marching.NEVER and hasattr(boards, "rows")
        self._combinations: dict[frozenset[int | None], Combination] = {}  # by indices of crews
        self.ticked = 1 << TICKED  # a set of bits: the ways that are played by ticks for now
        self._ended: Indices = np.zeros(len(records.lanes), np.uint32)
        self._odd: Indices = np.zeros(len(records.lanes), np.uint32)
        self._clock = np.zeros(2, np.int64)
        self._obs = np.zeros((info.seats, *info.observation), np.float32)
        self._legal = np.ones((info.seats, info.actions), np.uint8)
        self._full = np.uint32(records.log.shape[1] * 64 - 32 * info.seats)

    def way_of(self, seating: Seating) -> int:
        """How a board with these players is to be played."""
        if not self.possible:
            return TICKED
        key = frozenset([one and one[0].index for one in seating])
        known = self._combinations.get(key)
        return self._new_combination(key, seating) if known is None else known.way

    def _new_combination(self, key: frozenset[int | None], seating: Seating) -> int:
        seated = {one[0] for one in seating if one is not None and one[0].compiled}
        taken = {one.way for one in self._combinations.values()}
        way = next((way for way in range(TICKED + 1, WAYS) if way not in taken), TICKED)
        if len(seated) < len(key) or way == TICKED:
            return TICKED
        in_order = sorted(seated, key=lambda crew: crew.kind.name)
        self._combinations[key] = Combination(way, self._info, self._boards, in_order, len(self._records.lanes))
        self.ticked |= 1 << way  # until its driver is ready
        return way

    def forget(self, crew: Crew) -> None:
        """It has been dismissed, and no lane that it played is running."""
        for key in [key for key in self._combinations if crew.index in key]:
            self.ticked &= ~(1 << self._combinations.pop(key).way)

    def lanes_changed(self) -> None:
        """Some have begun or ended: find those that run again."""
        for one in self._combinations.values():
            one.live = None

    def ready(self) -> list[Combination]:
        """The combinations that have running lanes and a driver; the lanes of others are ticked meanwhile."""
        found = []
        for one in self._combinations.values():
            live = self._live(one)
            if live.size and not one.driver.ready:
                one.driver.prepare(self._arguments(one, live, 0.0), self._marching)
            if live.size and one.driver.ready:
                self.ticked &= ~(1 << one.way)
                found.append(one)
        return found

    def _live(self, one: Combination) -> Indices:
        if one.live is None:
            one.live = find_running(self._records.lanes, 1 << one.way, one.room)
        return one.live

    def _arguments(self, one: Combination, live: Indices, seconds: float) -> tuple[Any, ...]:
        records, first = self._records, int(live.searchsorted(one.next))
        return (
            first if first < live.size else 0, int(seconds * 1e9), self._clock, live, records.lanes, self._slots,
            one.indices, self._answers, self._obs, self._legal, records.log, records.bits, self._full,
            self._marks.words, self._ended, self._odd, self._boards.arrays, *[pilot.arrays for pilot in one.pilots],
        )  # fmt: skip

    def play(self, one: Combination, numbers: Indices, seconds: float) -> Marched:
        """Play its lanes for about so long. What row functions raise is raised here, with the lane in the marks."""
        live = self._live(one)
        if not live.size:
            return Marched([], [])
        self._records.make_room()
        self._marks.enter(Call.ACT, numbers, live, owner=one)
        try:
            at, ends, odds, longest = one.driver.call(*self._arguments(one, live, seconds))
        finally:
            self._marks.leave()
        one.next = int(live[at])
        self._records.grown(longest)
        if ends:
            one.live = None
        return Marched(self._ended[:ends].tolist(), self._odd[:odds].tolist())
