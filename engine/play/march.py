"""Marching: lanes on which every player is compiled are played for many steps in one call of a driver.

A driver that has never been compiled on this machine is compiled in a background thread; until it is ready, its lanes
are played by ticks, with the same results.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple, cast

import numpy as np

from engine.game import BoardRows, CompiledBoards, CompiledPilot, GameInfo, Indices, Ints
from engine.kernels import is_cached, signature_of
from engine.play.crews import Crew
from engine.play.driver import Player, driver
from engine.play.marks import Call, Marks
from engine.play.records import Records

log = logging.getLogger("ringside")
PATIENCE = 0.3  # seconds of play by ticks before a driver is compiled: short runs end sooner


class Marching(Enum):
    """When lanes may be marched."""

    NEVER = "never"
    WHEN_READY = "when ready"  # the driver is compiled in the background
    AT_ONCE = "at once"  # the first call waits until the driver is compiled


class Marched(NamedTuple):
    """What one call did."""

    ended: list[int]  # lanes
    odd: list[int]  # lanes on which an answer is not a legal action; the answers are in the group's array


class Driver:
    """One driver of this process and whether it can be called."""

    def __init__(self, function: Any) -> None:
        self.call = function
        self.ready = False
        self._asked: float | None = None  # when it was first needed
        self._compiling = False

    def prepare(self, arguments: Sequence[Any], marching: Marching) -> bool:
        """Whether it can be called with such arguments now; if not, have it compiled sooner or later."""
        if self.ready or self._compiling:
            return self.ready
        now = time.perf_counter()
        self._asked = now if self._asked is None else self._asked
        if marching is Marching.AT_ONCE or (self._asked == now and is_cached(self.call, arguments)):
            self._compile(signature_of(self.call, arguments))
        elif now - self._asked > PATIENCE:
            self._compiling = True
            threading.Thread(
                target=self._compile, args=(signature_of(self.call, arguments),), name="ringside-compiler"
            ).start()
        return self.ready

    def _compile(self, signature: tuple[Any, ...]) -> None:
        """Also loads it from the cache."""
        try:
            self.call.compile(signature)
            self.ready = True
        except Exception:  # row functions that numba refuses: their lanes are played by ticks
            self._compiling = True  # not tried again
            log.exception("a march driver could not be compiled; its matches are played step by step")


@functools.cache
def _driver(info: GameInfo, rows: BoardRows, players: tuple[Player, ...]) -> Driver:
    return Driver(driver(info, rows, players))


class March:
    """The march of one group: its driver and the arrays that every call gets."""

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
        self._crews: tuple[Crew, ...] = ()
        self._pilots: list[CompiledPilot] = []
        self._indices = np.zeros(0, np.int32)
        self._driver: Driver | None = None
        self._next = 0  # lane to begin the next call with
        self._ended: Indices = np.zeros(len(records.lanes), np.uint32)
        self._odd: Indices = np.zeros(len(records.lanes), np.uint32)
        self._clock = np.zeros(2, np.int64)
        self._obs = np.zeros((info.seats, *info.observation), np.float32)
        self._legal = np.ones((info.seats, info.actions), np.uint8)

    def ready(self, crews: Iterable[Crew]) -> bool:
        """Whether these pilots can be marched now."""
        if not self.possible:
            return False
        wanted = tuple(sorted((crew for crew in crews if crew.compiled), key=lambda crew: crew.kind.name))
        if not wanted:
            return False
        if wanted != self._crews or self._driver is None:
            self._crews = wanted
            self._indices = np.array([crew.index for crew in wanted], np.int32)
            self._pilots = [cast(CompiledPilot, crew.pilot) for crew in wanted]
            players = tuple(Player(pilot.act_row, pilot.observes) for pilot in self._pilots)
            self._driver = _driver(self._info, self._boards.rows, players)
        return self._driver.ready or self._driver.prepare(self._arguments(self._ended[:0], 0.0), self._marching)

    def _arguments(self, live: Indices, seconds: float) -> tuple[Any, ...]:
        records, first = self._records, int(np.searchsorted(live, self._next))
        full = np.uint32(records.log.shape[1] * 64 - 32 * self._info.seats)
        return (
            first if first < live.size else 0, int(seconds * 1e9), self._clock, live, records.lanes, self._slots,
            self._indices, self._answers, self._obs, self._legal, records.log, records.bits, full, self._marks.words,
            self._ended, self._odd, self._boards.arrays, *[pilot.arrays for pilot in self._pilots],
        )  # fmt: skip

    def play(self, live: Indices, numbers: Indices, seconds: float) -> Marched:
        """Play these lanes for about so long. What row functions raise is raised here, with the lane in the marks."""
        assert self._driver is not None
        self._records.make_room()
        self._marks.enter(Call.ACT, numbers, live, owner=self)
        try:
            at, ends, odds, longest = self._driver.call(*self._arguments(live, seconds))
        finally:
            self._marks.leave()
        self._next = int(live[at])
        self._records.grown(longest)
        return Marched(self._ended[:ends].tolist(), self._odd[:odds].tolist())
