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
from engine.play.driver import Player, driver
from engine.play.heartbeat import Heartbeat, PilotCall
from engine.play.lane_kernels import TICKED, WAYS, find_running
from engine.play.lane_log import LaneLog
from engine.play.pilots import LoadedPilot, Seating

log = logging.getLogger("ringside")
COMPILE_AFTER = 0.3  # seconds of play by ticks before a driver is compiled: short runs end before that


class Marching(Enum):
    """When lanes may be marched."""

    NEVER = "never"
    IF_CACHED = "if cached"  # drivers are loaded from the cache and never compiled
    WHEN_READY = "when ready"  # drivers are compiled in the background
    AT_ONCE = "at once"  # the first call of a driver waits until it is compiled; DriverRefused if it cannot be


class MarchResult(NamedTuple):
    """What one call of a driver did."""

    ended: list[int]  # lanes
    illegal: list[int]  # lanes with an answer that is not a legal action; the answers are in the group's array


class DriverState(Enum):
    """The state of a driver."""

    NEW = "new"
    COMPILING = "compiling"
    READY = "ready"
    REFUSED = "refused"  # numba cannot compile it


class Driver:
    """A driver and whether it is compiled."""

    def __init__(self, function: Any) -> None:
        self.call = function
        self.state = DriverState.NEW
        self.error: str | None = None  # why numba refused it
        self._first_needed: float | None = None  # when it was first needed

    @property
    def ready(self) -> bool:
        return self.state is DriverState.READY

    def prepare(self, arguments: Sequence[Any], marching: Marching) -> None:
        """Load it from the cache, compile it now, or compile it in the background after COMPILE_AFTER seconds."""
        if self.state is not DriverState.NEW:
            return
        now, signature = time.perf_counter(), signature_of(self.call, arguments)
        first = self._first_needed is None
        self._first_needed = now if self._first_needed is None else self._first_needed
        if marching is Marching.AT_ONCE:
            self.compile(signature)
            if self.error is not None:
                raise DriverRefused(self.error)
        elif first and is_cached(self.call, signature):
            self.compile(signature)
        elif marching is Marching.WHEN_READY and now - self._first_needed > COMPILE_AFTER:
            self.state = DriverState.COMPILING
            COMPILER.submit(self, signature)

    def compile(self, signature: tuple[Any, ...]) -> None:
        """Compile it, or load it from the cache."""
        try:
            self.call.compile(signature)
            self.state = DriverState.READY
        except Exception as error:  # numba cannot compile a row function: the lanes are played by ticks
            self.state, self.error = DriverState.REFUSED, str(error)
            log.exception("a march driver could not be compiled; its matches are played step by step")


class Compiler:
    """Compiles drivers in one background thread, which ends when there is nothing left to compile.

    The thread is no daemon: stopping it inside LLVM may crash the process. A program that exits waits for the driver
    that is being compiled, and drops the others.
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
    """The kinds that play at one board, and the driver for such boards."""

    def __init__(
        self, way: int, info: GameInfo, boards: CompiledBoards, pilots: Sequence[LoadedPilot], lanes: int
    ) -> None:
        self.way = way  # value of `LANE.running` for lanes of this combination
        self.indices = np.array([loaded.index for loaded in pilots], np.int32)
        self.foreign = any(loaded.foreign for loaded in pilots)
        self.pilots = [cast(CompiledPilot, loaded.pilot) for loaded in pilots]
        self.driver = _driver(info, boards.rows, tuple(Player(pilot.act_row, pilot.observes) for pilot in self.pilots))
        self.live: Indices | None = None  # its running lanes; None: to be found again
        self.buffer: Indices = np.zeros(lanes, np.uint32)
        self.next = 0  # first lane of the next call


class March:
    """The combinations of a group, and the arrays that every call of a driver gets."""

    def __init__(
        self,
        info: GameInfo,
        boards: object,
        lane_log: LaneLog,
        slots: np.ndarray[Any, Any],
        answers: Ints,
        heartbeat: Heartbeat,
        marching: Marching,
    ) -> None:
        self._info, self._lane_log, self._slots, self._answers, self._heartbeat = (
            info,
            lane_log,
            slots,
            answers,
            heartbeat,
        )
        self._marching = marching
        self._boards = cast(CompiledBoards, boards)
        self.possible = marching is not Marching.NEVER and hasattr(boards, "rows")
        self._combinations: dict[frozenset[int | None], Combination] = {}  # by pilot indices
        self.ticked = 1 << TICKED  # bit mask of the ways that are played by ticks now
        self._ended: Indices = np.zeros(len(lane_log.lanes), np.uint32)
        self._illegal: Indices = np.zeros(len(lane_log.lanes), np.uint32)
        self._clock = np.zeros(2, np.int64)
        self._obs = np.zeros((info.seats, *info.observation), np.float32)
        self._legal = np.ones((info.seats, info.actions), np.uint8)
        self._log_limit = np.uint32(lane_log.log.shape[1] * 64 - 32 * info.seats)

    def way_of(self, seating: Seating) -> int:
        """The way in which a board with these players is played."""
        if not self.possible:
            return TICKED
        key = frozenset([entry and entry[0].index for entry in seating])
        known = self._combinations.get(key)
        return self._new_combination(key, seating) if known is None else known.way

    def _new_combination(self, key: frozenset[int | None], seating: Seating) -> int:
        seated = {entry[0] for entry in seating if entry is not None and entry[0].compiled}
        taken = {combination.way for combination in self._combinations.values()}
        way = next((way for way in range(TICKED + 1, WAYS) if way not in taken), TICKED)
        if len(seated) < len(key) or way == TICKED:
            return TICKED
        in_order = sorted(seated, key=lambda loaded: loaded.kind.name)
        self._combinations[key] = Combination(way, self._info, self._boards, in_order, len(self._lane_log.lanes))
        self.ticked |= 1 << way  # until its driver is ready
        return way

    def remove(self, loaded: LoadedPilot) -> None:
        """Remove a closed pilot; none of its lanes is running."""
        for key in [key for key in self._combinations if loaded.index in key]:
            self.ticked &= ~(1 << self._combinations.pop(key).way)

    def lanes_changed(self) -> None:
        """Lanes have started or ended: find the running ones again."""
        for combination in self._combinations.values():
            combination.live = None

    def ready(self) -> list[Combination]:
        """The combinations that have running lanes and a compiled driver; the others are played by ticks."""
        found = []
        for combination in self._combinations.values():
            live = self.live(combination)
            if live.size and not combination.driver.ready:
                combination.driver.prepare(self._arguments(combination, live, 0.0), self._marching)
            if live.size and combination.driver.ready:
                self.ticked &= ~(1 << combination.way)
                found.append(combination)
        return found

    def live(self, combination: Combination) -> Indices:
        """Its running lanes."""
        if combination.live is None:
            combination.live = find_running(self._lane_log.lanes, 1 << combination.way, combination.buffer)
        return combination.live

    def _arguments(self, combination: Combination, live: Indices, seconds: float) -> tuple[Any, ...]:
        lane_log, first = self._lane_log, int(live.searchsorted(combination.next))
        return (
            first if first < live.size else 0, int(seconds * 1e9), self._clock, live, lane_log.lanes, self._slots,
            combination.indices, self._answers, self._obs, self._legal, lane_log.log, lane_log.bits, self._log_limit,
            self._heartbeat.words, self._ended, self._illegal, self._boards.arrays,
            *[pilot.arrays for pilot in combination.pilots],
        )  # fmt: skip

    def play(self, combination: Combination, numbers: Indices, seconds: float) -> MarchResult:
        """Play the lanes of a combination for about so long. An error of a row function is raised here; the heartbeat
        has its row."""
        live = self.live(combination)
        if not live.size:
            return MarchResult([], [])
        self._lane_log.make_room()
        self._heartbeat.begin_call(PilotCall.ACT, numbers, live, owner=combination)
        try:
            at, ends, odds, longest = combination.driver.call(*self._arguments(combination, live, seconds))
        finally:
            self._heartbeat.end_call()
        combination.next = int(live[at])
        self._lane_log.note_length(longest)
        if ends:
            combination.live = None
        return MarchResult(self._ended[:ends].tolist(), self._illegal[:odds].tolist())
