"""RunMonitor: a snapshot of the running tournament and training, and of the machine, for all parts of the window.

Sample it in a background thread: reading the progress of a run may have to wait for its workers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from agents.training.events import Progress, WorkerState
from engine.league.tournament_runner import RunActivity, TournamentProgress
from engine.telemetry import Machine, Monitor, RunView, WorkerStatus
from league_app.core.formatting import byte_size, plural
from league_app.core.state import LeagueState
from league_app.core.tournament_job import TournamentJob
from league_app.core.training_job import TrainingJob

WINDOW = 5.0  # seconds over which a rate is measured
NO_RUN = RunView()


@dataclass(frozen=True)
class TrainingWorker:
    """A worker that a trainer reports, with the load of its process if it has one."""

    worker: WorkerState
    cpu: float | None  # percent of one core
    memory: int | None  # bytes

    @property
    def text(self) -> str:
        """One line: state, what it has done, load and restarts."""
        worker = self.worker
        load = [] if self.cpu is None or self.memory is None else [f"{self.cpu:.0f} %", byte_size(self.memory)]
        restarts = [plural(worker.restarts, "restart")] if worker.restarts else []
        return ", ".join([worker.state, *([worker.done] if worker.done else []), *load, *restarts])


@dataclass(frozen=True)
class TrainingView:
    """A running training session."""

    number: int
    name: str
    paused: bool
    progress: Progress | None
    trouble: str
    workers: tuple[TrainingWorker, ...] = ()


@dataclass(frozen=True)
class TournamentView:
    """The running tournament."""

    number: int
    name: str
    progress: TournamentProgress
    visual: bool
    rate: float  # matches per second
    seconds_left: float | None
    seconds: float  # since it was started or resumed


@dataclass(frozen=True)
class MachineLoad:
    """The machine, our share of it, and the worker processes."""

    machine: Machine
    cpu: float  # percent of the whole machine
    our_cpu: float
    our_memory: int
    nodes: tuple[Machine, ...]  # the machines that play, unless it is this one alone
    workers: tuple[WorkerStatus, ...]
    queue: RunView
    quarantined: tuple[str, ...]  # names


@dataclass(frozen=True)
class RunSnapshot:
    """The state at one time; without a league nothing runs."""

    run: TournamentView | None = None
    training: tuple[TrainingView, ...] = ()
    toggle: str = ""  # text beside the visual switch
    load: MachineLoad | None = None  # None if it was not measured
    gone: bool = False  # the league's file was deleted, moved or replaced, so nothing more can be saved in it

    @property
    def paused(self) -> bool:
        """Whether the tournament is paused, or will be after its running matches."""
        return self.run is not None and self.run.progress.paused

    @property
    def trouble(self) -> str:
        """Why nothing can be saved; empty if it can."""
        return self.run.progress.trouble if self.run is not None else ""


class RunMonitor:
    """Call `sample` at 2 Hz from one background thread."""

    def __init__(self) -> None:
        self._monitor = Monitor()
        self._self = psutil.Process()
        self._children: dict[int, psutil.Process] = {}
        self._loads: dict[int, tuple[float, int]] = {}  # of training processes by pid: CPU in percent, memory in bytes
        self._past: deque[tuple[float, int]] = deque()
        self._key: tuple[object, bool] | None = None

    def sample(self, state: LeagueState | None, with_load: bool = True) -> RunSnapshot:
        """`with_load` also measures machine and processes, which takes some milliseconds."""
        load = self._load(state) if with_load else None
        if state is None:
            return RunSnapshot(load=load)
        job = state.job
        run = self._run(job) if job is not None else None
        gone = state.league.file.gone and not state.league.read_only
        return RunSnapshot(run, tuple(map(self._training, state.training.jobs)), _toggle_text(state, run), load, gone)

    def _load(self, state: LeagueState | None) -> MachineLoad:
        status = state.status() if state is not None else None
        training = state is not None and bool(state.training.jobs)
        machine = status.machine if status is not None else self._monitor.sample((), NO_RUN).machine
        workers = status.workers if status is not None else ()
        cpu, memory = self._own_usage(workers, training)
        queue = status.run if status is not None else NO_RUN  # of the last run, if none is running
        names = state.league.names() if state is not None and queue.quarantined else {}
        cores = max(len(machine.cpu), 1)
        ours, quarantined = min(cpu / cores, 100.0), tuple(names.get(id, id) for id in queue.quarantined)
        nodes = status.nodes if status is not None else ()
        return MachineLoad(machine, sum(machine.cpu) / cores, ours, memory, nodes, workers, queue, quarantined)

    def _own_usage(self, workers: Sequence[WorkerStatus], training: bool) -> tuple[float, int]:
        """CPU load in percent of one core, and memory in bytes: this process, its workers, and training processes."""
        cpu, memory = self._self.cpu_percent(None), self._self.memory_info().rss
        known = {worker.pid for worker in workers}
        others = self._self.children(recursive=True) if training else []  # finding them takes some milliseconds
        self._children = {child.pid: self._children.get(child.pid, child) for child in others if child.pid not in known}
        self._loads = {}
        for pid, child in self._children.items():
            try:
                self._loads[pid] = child.cpu_percent(None), child.memory_info().rss
            except psutil.Error:  # it has just ended
                continue
        own = self._self.pid  # a worker without a pid is on another machine
        ours = [worker for worker in workers if worker.pid is not None and worker.pid != own]
        cpu += sum(load for load, _ in self._loads.values())
        memory += sum(size for _, size in self._loads.values())
        return cpu + sum(worker.cpu for worker in ours), memory + sum(worker.memory for worker in ours)

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

    def _training(self, job: TrainingJob) -> TrainingView:
        unknown = None, None
        workers = [TrainingWorker(worker, *self._loads.get(worker.pid or 0, unknown)) for worker in job.workers]
        return TrainingView(job.number, job.name, job.paused, job.progress, job.trouble, tuple(workers))


def _toggle_text(state: LeagueState, run: TournamentView | None) -> str:
    """The text beside the visual switch."""
    if run is None:
        return "read-only" if state.league.read_only else state.toggle_text
    now = run.progress
    if now.activity is RunActivity.LIVE:
        return f"showing match {now.played + 1:,} of {now.total:,}"
    return f"playing on {plural(state.budget.cores, 'worker')}" if now.activity is RunActivity.PLAYING else now.text


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
        UnfinishedTournament(
            tournament.number,
            tournament.name,
            tournament.played,
            max(tournament.total or 0, tournament.played),
            not tournament.played,
        )
        for tournament in reversed(state.unfinished())
    ]
