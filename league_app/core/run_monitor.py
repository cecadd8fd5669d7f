"""RunMonitor: a snapshot of the machine, our share of it, the running tournament and training, for the panels.

Sample it in a background thread: reading the progress of a run may have to wait for its workers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from agents.training.events import Progress as Trained
from engine.league.tournament_runner import Progress
from engine.telemetry import Machine, Monitor, RunView, WorkerStatus
from league_app.core.state import LeagueState
from league_app.core.tournament_job import TournamentJob
from league_app.core.training_jobs import TrainingJob

WINDOW = 5.0  # seconds over which a rate is measured
NO_RUN = RunView()


@dataclass(frozen=True)
class TrainingView:
    """A running training session."""

    number: int
    name: str
    paused: bool
    progress: Trained | None
    trouble: str


@dataclass(frozen=True)
class TournamentView:
    """The running tournament."""

    number: int
    name: str
    progress: Progress
    visual: bool
    rate: float  # matches per second
    seconds_left: float | None
    seconds: float  # since it was started or resumed


@dataclass(frozen=True)
class RunSnapshot:
    """The state at one time."""

    at: float  # time.monotonic()
    machine: Machine
    cpu: float  # percent of the whole machine
    our_cpu: float
    our_memory: int
    workers: tuple[WorkerStatus, ...]
    queue: RunView
    quarantined: tuple[str, ...]  # names
    run: TournamentView | None
    training: tuple[TrainingView, ...]
    toggle: str  # text beside the visual toggle


class RunMonitor:
    """Call `sample` at 2 Hz from one background thread."""

    def __init__(self) -> None:
        self._monitor = Monitor()
        self._self = psutil.Process()
        self._children: dict[int, psutil.Process] = {}
        self._past: deque[tuple[float, int]] = deque()
        self._key: tuple[object, bool] | None = None

    def sample(self, state: LeagueState | None) -> RunSnapshot:
        status = state.status() if state is not None else None
        job = state.job if state is not None else None
        sessions = state.training.jobs if state is not None else []
        machine = status.machine if status is not None else self._monitor.sample((), NO_RUN).machine
        workers = status.workers if status is not None else ()
        cpu, memory = self._own_usage(workers, bool(sessions))
        queue = status.run if status is not None else NO_RUN  # of the last run, if none is running
        names = state.league.names() if state is not None and queue.quarantined else {}
        cores = max(len(machine.cpu), 1)
        return RunSnapshot(
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

    def _own_usage(self, workers: Sequence[WorkerStatus], training: bool) -> tuple[float, int]:
        """CPU load in percent of one core, and memory in bytes: this process, its workers, and training processes."""
        cpu, memory = self._self.cpu_percent(None), self._self.memory_info().rss
        known = {one.pid for one in workers}
        others = self._self.children(recursive=True) if training else []  # finding them takes some milliseconds
        self._children = {one.pid: self._children.get(one.pid, one) for one in others if one.pid not in known}
        for one in self._children.values():
            try:
                cpu, memory = cpu + one.cpu_percent(None), memory + one.memory_info().rss
            except psutil.Error:  # it has just ended
                continue
        return cpu + sum(one.cpu for one in workers), memory + sum(one.memory for one in workers)

    def _run(self, job: TournamentJob) -> TournamentView:
        progress, visual, now = job.progress(), job.run.live is not None, time.monotonic()
        if self._key != (job, visual):  # another pace: earlier measurements do not apply
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
        return TournamentView(job.number, job.name, progress, visual, rate, left, now - job.began)


def _training(job: TrainingJob) -> TrainingView:
    return TrainingView(job.number, job.name, job.paused, job.progress, job.trouble)


@dataclass(frozen=True)
class UnfinishedTournament:
    """A tournament that can be started or resumed."""

    number: int
    name: str
    played: int
    total: int
    planned: bool  # no match was played yet


def unfinished_tournaments(state: LeagueState) -> list[UnfinishedTournament]:
    """The latest first."""
    return [
        UnfinishedTournament(one.number, one.name, one.played, max(one.total or 0, one.played), not one.played)
        for one in reversed(state.unfinished())
    ]
