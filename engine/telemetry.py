"""What goes on: machine, workers, rates, and who did what when. For panels; it costs next to nothing to look."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import psutil

from engine.play.runs import Run
from engine.play.workers import Worker

KEPT = 20_000  # events


class Event(NamedTuple):
    """One entry of the trace: for a timeline, a row for each worker."""

    at: float  # time.monotonic()
    worker: int  # slot; -1 for the run itself, below that for live matches
    what: str  # start, ready, play, alone, results, suspects, died, dismissed, broken off, run, stop
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
class WorkerStatus:
    """One line of the workers' panel."""

    slot: int  # below 0 for one that plays a live match
    pid: int | None
    state: str  # starting, restarting, playing, idle or retiring
    playing: str  # who against whom, and how many more
    cpu: float  # per cent of one core
    memory: int  # bytes
    done: int  # matches
    restarts: int


@dataclass(frozen=True)
class Status:
    """Everything that a panel shows, at one moment."""

    machine: Machine
    workers: tuple[WorkerStatus, ...]
    total: int | None  # matches of this run, where that is known
    done: int
    failures: int  # of agents, among them
    playing: int  # matches that workers have
    waiting: int  # matches that they do not have yet
    suspects: int  # of those, the ones that must be played apart
    quarantined: tuple[str, ...]  # agents
    rate: float  # matches a second, over the last few seconds
    seconds_left: float | None


class Monitor:
    """Looks at the workers and the machine; call `sample` about twice a second."""

    def __init__(self, window: float = 5.0) -> None:
        self._window = window
        self._processes: dict[int, psutil.Process] = {}  # by pid: they remember when they were last looked at
        self._marks: deque[tuple[float, int]] = deque()  # when, and how many were done
        self._run: Run | None = None
        psutil.cpu_percent(None, percpu=True)

    def sample(self, workers: Sequence[Worker], run: Run | None) -> Status:
        seen = [self._worker(worker) for worker in sorted(workers, key=lambda one: one.slot)]
        alive = {one.pid for one in seen}
        self._processes = {pid: process for pid, process in self._processes.items() if pid in alive}
        memory = psutil.virtual_memory()
        machine = Machine(tuple(psutil.cpu_percent(None, percpu=True)), memory.total - memory.available, memory.total)
        if run is None:
            return Status(machine, tuple(seen), None, 0, 0, 0, 0, 0, (), 0.0, None)
        rate = self._rate(run)
        total = run.total
        return Status(
            machine,
            tuple(seen),
            total,
            run.done,
            run.failures,
            playing=sum(len(worker.held) for worker in workers if worker.slot >= 0),
            waiting=run.waiting,
            suspects=sum(len(one.jobs) for one in run.isolated),
            quarantined=tuple(sorted(run.conduct.quarantined)),
            rate=rate,
            seconds_left=(total - run.done) / rate if total is not None and rate else None,
        )

    def _rate(self, run: Run) -> float:
        now = time.monotonic()
        if run is not self._run:
            self._run = run
            self._marks.clear()
        self._marks.append((now, run.done))
        while len(self._marks) > 2 and now - self._marks[0][0] > self._window:
            self._marks.popleft()
        since, done = self._marks[0]
        return (run.done - done) / (now - since) if now > since else 0.0

    def _worker(self, worker: Worker) -> WorkerStatus:
        cpu, memory, pid = 0.0, 0, worker.pid
        if pid is not None:
            try:
                process = self._processes.get(pid) or self._processes.setdefault(pid, psutil.Process(pid))
                with process.oneshot():
                    cpu, memory = process.cpu_percent(None), process.memory_info().rss
            except psutil.Error:  # it has just gone
                self._processes.pop(pid, None)
        return WorkerStatus(
            worker.slot, pid, _state(worker), _playing(worker), cpu, memory, worker.done, worker.restarts
        )


def _state(worker: Worker) -> str:
    if not worker.ready:
        return "restarting" if worker.restarts else "starting"
    if worker.retiring or worker.leaving:
        return "retiring"
    return "playing" if worker.held else "idle"


def _playing(worker: Worker) -> str:
    first = next(iter(list(worker.held.values())), None)
    if first is None:
        return ""
    players = " - ".join(player.id for player in first.spec.players)
    more = len(worker.held) - 1
    return f"{players} and {more} more" if more else players
