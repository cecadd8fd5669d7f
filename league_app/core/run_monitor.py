"""What goes on at this moment, for the panels: the machine, what is ours of it, the tournament, who trains.

Everything is looked up at once, beside the window: asking a run how far it is may have to wait for its workers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from agents.training.events import Progress as Trained
from engine.league.records import Tournament
from engine.league.tournament_runner import Progress
from engine.telemetry import Machine, Monitor, RunView, WorkerStatus
from league_app.core.tournament_job import TournamentJob
from league_app.core.state import LeagueState
from league_app.core.training_jobs import TrainingJob

WINDOW = 5.0  # seconds over which a rate is taken
NOTHING = RunView()


@dataclass(frozen=True)
class TrainingView:
    """A training session that runs."""

    number: int
    name: str
    paused: bool
    progress: Trained | None
    trouble: str


@dataclass(frozen=True)
class RunNow:
    """The tournament that is played."""

    number: int
    name: str
    progress: Progress
    visual: bool
    rate: float  # matches a second
    seconds_left: float | None
    seconds: float  # since it began or was resumed


@dataclass(frozen=True)
class Look:
    """One moment."""

    at: float  # time.monotonic()
    machine: Machine
    cpu: float  # per cent of the whole machine
    our_cpu: float
    our_memory: int
    workers: tuple[WorkerStatus, ...]
    queue: RunView
    quarantined: tuple[str, ...]  # names
    run: RunNow | None
    training: tuple[TrainingView, ...]
    toggle: str  # what stands beside the visual toggle


class Pulse:
    """Takes it; `look` about twice a second, always in the same other thread."""

    def __init__(self) -> None:
        self._monitor = Monitor()
        self._self = psutil.Process()
        self._children: dict[int, psutil.Process] = {}
        self._past: deque[tuple[float, int]] = deque()
        self._key: tuple[object, bool] | None = None

    def look(self, state: LeagueState | None) -> Look:
        status = state.status() if state is not None else None
        job = state.job if state is not None else None
        sessions = state.training.jobs if state is not None else []
        machine = status.machine if status is not None else self._monitor.sample((), NOTHING).machine
        workers = status.workers if status is not None else ()
        cpu, memory = self._ours(workers, bool(sessions))
        queue = status.run if status is not None else NOTHING  # of the last run, once that is over
        names = state.league.names() if state is not None and queue.quarantined else {}
        cores = max(len(machine.cpu), 1)
        return Look(
            time.monotonic(),
            machine,
            sum(machine.cpu) / cores,
            min(cpu / cores, 100.0),
            memory,
            workers,
            queue,
            tuple(names.get(one, one) for one in queue.quarantined),
            self._run(job) if job is not None else None,
            tuple(map(_training, sessions)),
            state.toggle_text if state is not None else "",
        )

    def _ours(self, workers: Sequence[WorkerStatus], training: bool) -> tuple[float, int]:
        """Load in per cent of one core, and bytes: this process, its workers, and those that train."""
        cpu, memory = self._self.cpu_percent(None), self._self.memory_info().rss
        known = {one.pid for one in workers}
        others = self._self.children(recursive=True) if training else []  # it costs some milliseconds to find them
        self._children = {one.pid: self._children.get(one.pid, one) for one in others if one.pid not in known}
        for one in self._children.values():
            try:
                cpu, memory = cpu + one.cpu_percent(None), memory + one.memory_info().rss
            except psutil.Error:  # it has just gone
                continue
        return cpu + sum(one.cpu for one in workers), memory + sum(one.memory for one in workers)

    def _run(self, job: TournamentJob) -> RunNow:
        progress, visual, now = job.progress(), job.run.live is not None, time.monotonic()
        if self._key != (job, visual):  # another pace, so nothing before says anything about it
            self._key = job, visual
            self._past.clear()
            if not visual and progress.played - job.before and not job.run.watched:
                self._past.append((job.began, job.before))
        self._past.append((now, progress.played))
        while len(self._past) > 2 and not visual and now - self._past[1][0] > WINDOW:
            self._past.popleft()
        since, before = self._past[0]
        rate = (progress.played - before) / (now - since) if now > since else 0.0
        left = (progress.total - progress.played) / rate if rate else None
        return RunNow(job.number, job.name, progress, visual, rate, left, now - job.began)


def _training(job: TrainingJob) -> TrainingView:
    return TrainingView(job.number, job.name, job.paused, job.progress, job.trouble)


@dataclass(frozen=True)
class Waiting:
    """A tournament that could go on."""

    number: int
    name: str
    played: int
    total: int
    planned: bool  # nothing of it was played yet


def waiting(state: LeagueState) -> list[Waiting]:
    """The latest first."""

    def told(one: Tournament) -> Waiting:
        return Waiting(one.number, one.name, one.played, max(one.total or 0, one.played), not one.played)

    return [told(one) for one in reversed(state.unfinished())]
