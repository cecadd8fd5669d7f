"""What goes on: machine, workers, rates, and who did what when. For panels; it costs next to nothing to look."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import psutil

KEPT = 20_000  # events


class Event(NamedTuple):
    """One entry of the trace: for a timeline, a row for each worker."""

    at: float  # time.monotonic()
    worker: int  # slot; -1 for the run itself, below that for live matches
    what: str  # start, ready, play, alone, results, suspects, died, dismissed, broken off; run, stop, stop now, failed
    detail: str


class Trace:
    """The last events, oldest first."""

    def __init__(self, kept: int = KEPT) -> None:
        self._events: deque[Event] = deque(maxlen=kept)
        self.count = 0  # of all events ever

    def add(self, worker: int, what: str, detail: str = "") -> None:
        self.count += 1
        self._events.append(Event(time.monotonic(), worker, what, detail))

    def since(self, count: int) -> list[Event]:
        """Those after the first so many; as far as they are still there."""
        new = min(self.count - count, len(self._events))
        return [self._events[place] for place in range(len(self._events) - new, len(self._events))] if new > 0 else []


@dataclass(frozen=True)
class Machine:
    """The computer as a whole."""

    cpu: tuple[float, ...]  # per cent, by core
    memory: int  # bytes in use
    memory_total: int


@dataclass(frozen=True)
class WorkerView:
    """A worker as its dispatcher sees it."""

    slot: int  # below 0 for one that plays a live match
    pid: int | None
    state: str  # starting, restarting, playing, idle or retiring
    playing: str  # who against whom, and how many more
    done: int  # matches
    restarts: int


@dataclass(frozen=True)
class WorkerStatus(WorkerView):
    """One line of the workers' panel."""

    cpu: float  # per cent of one core
    memory: int  # bytes


@dataclass(frozen=True)
class RunView:
    """How far a run is."""

    total: int | None = None  # matches, where that is known
    done: int = 0
    failures: int = 0  # of agents, among them
    playing: int = 0  # matches that workers have
    waiting: int = 0  # matches that they do not have yet
    suspects: int = 0  # of those, the ones that must be played apart
    quarantined: tuple[str, ...] = ()  # agents


@dataclass(frozen=True)
class Status:
    """Everything that a panel shows, at one moment."""

    machine: Machine
    workers: tuple[WorkerStatus, ...]
    run: RunView
    rate: float  # matches a second, over the last few seconds
    seconds_left: float | None


class Monitor:
    """Looks at the workers' processes and the machine; call `sample` about twice a second."""

    def __init__(self, window: float = 5.0) -> None:
        self._window = window
        self._processes: dict[int, psutil.Process] = {}  # by pid: they remember when they were last looked at
        self._past: deque[tuple[float, int]] = deque()  # when, and how many were done
        psutil.cpu_percent(None, percpu=True)

    def sample(self, workers: Sequence[WorkerView], run: RunView) -> Status:
        seen = tuple(self._measured(worker) for worker in sorted(workers, key=lambda one: one.slot))
        alive = {one.pid for one in seen}
        self._processes = {pid: process for pid, process in self._processes.items() if pid in alive}
        memory = psutil.virtual_memory()
        machine = Machine(tuple(psutil.cpu_percent(None, percpu=True)), memory.total - memory.available, memory.total)
        rate = self._rate(run.done)
        left = (run.total - run.done) / rate if run.total is not None and rate else None
        return Status(machine, seen, run, rate, left)

    def _rate(self, done: int) -> float:
        now = time.monotonic()
        if self._past and done < self._past[-1][1]:  # another run
            self._past.clear()
        self._past.append((now, done))
        while len(self._past) > 2 and now - self._past[0][0] > self._window:
            self._past.popleft()
        since, before = self._past[0]
        return (done - before) / (now - since) if now > since else 0.0

    def _measured(self, worker: WorkerView) -> WorkerStatus:
        cpu, memory, pid = 0.0, 0, worker.pid
        if pid is not None:
            try:
                process = self._processes.get(pid) or self._processes.setdefault(pid, psutil.Process(pid))
                with process.oneshot():
                    cpu, memory = process.cpu_percent(None), process.memory_info().rss
            except psutil.Error:  # it has just gone
                self._processes.pop(pid, None)
        return WorkerStatus(**vars(worker), cpu=cpu, memory=memory)
