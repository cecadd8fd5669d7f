"""Status of machine, workers and runs, and a trace of events, for the panels of the GUI. Sampling is cheap."""

from __future__ import annotations

import platform
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import psutil

MAX_EVENTS = 20_000  # events
THIS_NODE = platform.node() or "localhost"  # the name of this machine


class Event(NamedTuple):
    """One event of a worker or of the run, for a timeline with a row per worker."""

    at: float  # time.monotonic()
    worker: int  # its id; -1 for the run itself, less for live matches
    what: str  # start, ready, play, alone, results, suspects, died, dismissed, broken off; run, stop, stop now, failed
    detail: str
    node: str = THIS_NODE


class Trace:
    """The most recent events, oldest first."""

    def __init__(self, capacity: int = MAX_EVENTS) -> None:
        self._events: deque[Event] = deque(maxlen=capacity)
        self.count = 0  # events added so far, including dropped ones

    def add(self, worker: int, what: str, detail: str = "") -> None:
        self.count += 1
        self._events.append(Event(time.monotonic(), worker, what, detail))

    def since(self, count: int) -> list[Event]:
        """The events after the first `count`, as far as they are still stored."""
        new = min(self.count - count, len(self._events))
        return [self._events[place] for place in range(len(self._events) - new, len(self._events))] if new > 0 else []


@dataclass(frozen=True)
class Machine:
    """A computer as a whole: this one, or another one on which matches are played."""

    cpu: tuple[float, ...]  # percent, by core
    memory: int  # bytes in use
    memory_total: int
    name: str = THIS_NODE
    rate: float = 0.0  # matches per second
    waiting: int = 0  # matches that it holds and has not started


@dataclass(frozen=True)
class WorkerView:
    """A worker as its executor sees it. Node and id together identify it."""

    id: int  # unique on its node; negative for a live match
    pid: int | None  # of a process of this machine
    state: str  # starting, restarting, playing, idle or retiring
    playing: str  # text: the players, and the number of further matches
    done: int  # matches
    restarts: int
    node: str = THIS_NODE


@dataclass(frozen=True)
class WorkerStatus(WorkerView):
    """A worker with its CPU and memory use: one row of the workers panel."""

    cpu: float = 0.0  # percent of one core
    memory: int = 0  # bytes


@dataclass(frozen=True)
class RunView:
    """Progress of a run."""

    total: int | None = None  # matches, if known
    done: int = 0
    failures: int = 0  # matches among `done` in which an agent failed
    playing: int = 0  # matches assigned to workers
    waiting: int = 0  # matches not assigned yet
    suspects: int = 0  # among `waiting`: matches that must be played alone, to find the agent at fault
    quarantined: tuple[str, ...] = ()  # ids of agents


@dataclass(frozen=True)
class Status:
    """Everything that a panel shows at one moment."""

    machine: Machine
    workers: tuple[WorkerStatus, ...]
    run: RunView
    rate: float  # matches per second, over the last few seconds
    seconds_left: float | None
    nodes: tuple[Machine, ...] = ()  # the machines that play, unless it is this one alone


class Monitor:
    """Measures the workers and the load of this machine. Call `sample` about twice a second, from one thread."""

    def __init__(self, window: float = 5.0) -> None:
        self._window = window
        self._processes: dict[int, psutil.Process] = {}  # by pid; each measures CPU use since its last call
        self._past: deque[tuple[float, int]] = deque()  # (time, matches done)
        psutil.cpu_percent(None, percpu=True)

    def sample(self, workers: Sequence[WorkerView], run: RunView) -> Status:
        """Measures the workers that have not been measured elsewhere."""
        measured = tuple(map(self._measure, sorted(workers, key=lambda worker: (worker.node, worker.id))))
        alive = {worker.pid for worker in measured}
        self._processes = {pid: process for pid, process in self._processes.items() if pid in alive}
        memory = psutil.virtual_memory()
        machine = Machine(tuple(psutil.cpu_percent(None, percpu=True)), memory.total - memory.available, memory.total)
        rate = self._rate(run.done)
        left = (run.total - run.done) / rate if run.total is not None and rate else None
        return Status(machine, measured, run, rate, left)

    def _rate(self, done: int) -> float:
        now = time.monotonic()
        if self._past and done < self._past[-1][1]:  # a new run has started
            self._past.clear()
        self._past.append((now, done))
        while len(self._past) > 2 and now - self._past[0][0] > self._window:
            self._past.popleft()
        since, before = self._past[0]
        return (done - before) / (now - since) if now > since else 0.0

    def _measure(self, worker: WorkerView) -> WorkerStatus:
        if isinstance(worker, WorkerStatus):  # measured on its own node
            return worker
        cpu, memory, pid = 0.0, 0, worker.pid
        if pid is not None:
            try:
                process = self._processes.get(pid) or self._processes.setdefault(pid, psutil.Process(pid))
                with process.oneshot():
                    cpu, memory = process.cpu_percent(None), process.memory_info().rss
            except psutil.Error:  # it has just ended
                self._processes.pop(pid, None)
        return WorkerStatus(**vars(worker), cpu=cpu, memory=memory)
