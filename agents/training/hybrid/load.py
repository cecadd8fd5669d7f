"""How many models may be trained at a time beside the other programs of the machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import psutil

from engine.processes.process_tree import descendants

INTERVAL = 2.0  # seconds between two measurements
IN_A_ROW = 3  # measurements that must agree before the number changes
SLACK = 0.5  # of what a model uses that others may use too
MARGIN = 0.25  # the same that they must leave beyond that before there is another model

Load = Callable[[], float]  # the number of cores that other programs use
Clock = Callable[[], float]


class LoadControl:
    """Follows the load of the machine slowly: the number changes by one, once several measurements in a row agree."""

    def __init__(
        self, most: int, threads: int, load: Load, clock: Clock = time.monotonic, cores: int | None = None
    ) -> None:
        """`most` models; `threads`: cores that one model uses; `cores`: of the machine."""
        self.models = self._most = most
        self.load = 0.0  # when it was measured last
        self._threads, self._measure, self._clock = threads, load, clock
        self._cores = cores or psutil.cpu_count() or 1
        self._direction = self._agreed = 0
        self._measured = clock()

    def set_most(self, most: int) -> None:
        if self.models == self._most or self.models > most:
            self.models = most
        self._most = most

    def sample(self) -> int:
        """The number of models; measures the load if the last time is long enough ago."""
        now = self._clock()
        if now - self._measured < INTERVAL:
            return self.models
        self._measured, self.load = now, self._measure()
        direction = self._wanted()
        self._agreed = self._agreed + 1 if direction == self._direction else 1
        self._direction = direction
        if direction and self._agreed >= IN_A_ROW:
            self.models += direction
            self._direction = self._agreed = 0
        return self.models

    def _wanted(self) -> int:
        """-1, 0 or 1: the direction in which the number should change. There is a gap between the loads for more and
        for fewer models, so that a steady load does not change the number again and again."""
        free = (self._cores - self.load) / self._threads  # models
        if self.models > 1 and free < self.models - SLACK:
            return -1
        return 1 if self.models < self._most and free >= self.models + 1 - SLACK + MARGIN else 0


class OtherPrograms:
    """Measures how many cores programs other than this one and its descendants use."""

    def __init__(
        self,
        own: Callable[[], float] | None = None,
        machine: Callable[[], tuple[float, float]] | None = None,
        cores: int | None = None,
    ) -> None:
        """For tests: what `own_seconds` and `machine_seconds` return, and the number of cores."""
        self._own_seconds, self._machine_seconds = own or own_seconds, machine or machine_seconds
        self._cores = cores or psutil.cpu_count() or 1
        self._own, self._busy, self._all = self._own_seconds(), *self._machine_seconds()

    def __call__(self) -> float:
        """Since the last call."""
        own, (busy, together) = self._own_seconds(), self._machine_seconds()
        passed = (together - self._all) / self._cores  # of the clock
        used = (busy - self._busy) - max(own - self._own, 0.0)
        self._own, self._busy, self._all = own, busy, together
        return min(max(used / passed, 0.0), float(self._cores)) if passed > 0 else 0.0


def own_seconds() -> float:
    """Processor time of this process and its descendants; those that have ended are missing."""
    found = 0.0
    for process in [psutil.Process(), *descendants(psutil.Process().pid)]:
        try:
            times = process.cpu_times()
            found += times.user + times.system
        except psutil.Error:
            continue
    return found


def machine_seconds() -> tuple[float, float]:
    """Processor time of all programs, and with the time in which the processors were idle."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    together = math.fsum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return together - idle, together
