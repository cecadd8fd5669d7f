"""The run dock: the running tournament and training, CPU and memory, workers, and the last summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QWidget

from engine.league.records import RunState
from league_app.core.changes import Change
from league_app.core.formatting import byte_size
from league_app.core.queries import highlights
from league_app.core.queries.highlights import RunFacts, Summary
from league_app.core.run_monitor import RunSnapshot, UnfinishedTournament, unfinished_tournaments
from league_app.core.state import LeagueState
from league_app.core.tournament_job import TournamentJob
from league_app.gui.context import AppContext
from league_app.gui.docks.run_cards import MARGIN, QueueCard, RunCard, SummaryCard, TrainingCard, UnfinishedCard
from league_app.gui.docks.worker_list import WorkersCard
from league_app.gui.widgets.basics import Card, column, scroll_area
from league_app.gui.widgets.meters import Cores, TimeLine

WIDTH = 300


class RunDock(QDockWidget):
    """Shows the load of the machine while visible; summaries of ended runs are shown even while hidden."""

    ended = Signal(object)  # the Summary of a run
    new_requested = Signal()  # the button for a new tournament was clicked

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__("Run", parent)
        self.setObjectName("run")
        self.context = context
        self._job: TournamentJob | None = None
        self._fresh: set[int] = set()  # tournaments with new matches, even if their job was never sampled
        self._offer_pending = False
        self.summary: Summary | None = None  # of the last run
        self._build()
        context.monitor.sampled.connect(self._show_sample)
        context.changed.connect(self._on_changes)
        context.opened.connect(self._open)
        self._open()

    def _build(self) -> None:
        self.run_card, self.summary_card, self.unfinished_card = RunCard(), SummaryCard(), UnfinishedCard()
        self.training_card, self.queue_card, self.workers_card = TrainingCard(), QueueCard(), WorkersCard()
        self.cpu, self.cores, self.memory = TimeLine("CPU", _percent), Cores(), TimeLine("Memory", byte_size)
        machine = Card(margin=MARGIN)
        for meter in (self.cpu, self.cores, self.memory):
            machine.body.addWidget(meter)
        self.run_card.pause.connect(self.pause_resume)
        self.run_card.finish.connect(self.finish)
        self.run_card.stop.connect(self.stop_now)
        self.run_card.new.connect(self.new_requested)
        self.run_card.workers.connect(self._resize)
        self.summary_card.watch.connect(self._watch)
        self.summary_card.table.connect(self._table)
        self.summary_card.failures.connect(self._failures)
        self.unfinished_card.resume.connect(self._resume)
        self.training_card.flip.connect(self._toggle_training)
        self.training_card.stop.connect(self._stop_training)
        inner = QWidget()
        cards = (
            self.run_card,
            self.training_card,  # above the summary, which is of an earlier run
            self.summary_card,
            self.unfinished_card,
            machine,
            self.queue_card,
            self.workers_card,
        )
        inner.setLayout(column(*cards, 1, margin=MARGIN, gap=MARGIN))
        scroll = scroll_area(inner)
        scroll.setMinimumWidth(WIDTH)
        self.setWidget(scroll)

    # Sampling

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self.context.monitor.with_load = True
        self.context.monitor.tick()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self.context.monitor.with_load = False

    @Slot(object)
    def _show_sample(self, look: RunSnapshot) -> None:
        if not self.isVisible():
            return
        state, load = self.context.state, look.load
        if load is not None:
            self.cpu.add(load.cpu, load.our_cpu)
            self.cores.add(load.machine.cpu)
            self.memory.add(float(load.machine.memory), float(load.our_memory), float(load.machine.memory_total))
        if look.run is not None and state is not None and state.job is None:
            return  # it has ended since; its summary follows
        if state is not None and state.job is not None and state.job is not self._job:
            self._begin(state.job)  # its first notification has not arrived
        self.run_card.show_run(look.run, state is not None and state.league.read_only, bool(look.training))
        if load is not None:
            self.queue_card.show_queue(load.queue, load.quarantined)
            self.workers_card.show_workers(load.workers, load.nodes)
        self.queue_card.setVisible(look.run is not None or self.summary is not None)
        self.training_card.show_training(look.training)
        if state is not None:
            self.run_card.set_cores(state.budget.cores)

    # Events

    @Slot()
    def _open(self) -> None:
        """Resets the dock for another league."""
        self._job, self.summary = None, None
        self._fresh.clear()
        self.summary_card.hide()
        self.queue_card.hide()
        self.training_card.show_training(())
        self.workers_card.show_workers(())
        state = self.context.state
        self.run_card.setVisible(state is not None)
        self.run_card.show_run(None, state is not None and state.league.read_only)
        self.unfinished_card.hide()
        if state is not None:
            cores = self.context.settings.get("workers", 0)
            if cores:
                self.context.attempt(partial(setattr, state.budget, "cores", cores))
            self.run_card.set_cores(state.budget.cores)
            executor = self.context.settings.get("executor", "")
            if executor and executor != state.executor:
                self.context.attempt(partial(state.use_executor, executor))
            self.context.ask("run waiting", unfinished_tournaments, self._show_unfinished)

    @Slot(object)
    def _on_changes(self, changes: Sequence[Change]) -> None:
        state = self.context.state
        if state is None:
            return
        self._fresh |= {change.tournament for change in changes if change.what == "matches"}
        job = state.job
        if job is not None and job is not self._job:
            self._begin(job)
            self._ordered(None)
        elif job is None and any(change.what == "tournaments" for change in changes):
            over, self._job = self._job, None
            number = over.number if over is not None else max(self._fresh, default=0)
            self._fresh.clear()
            if number:
                self.context.ask("run summary", partial(_summarise, job=over, number=number), self._show_summary)
            self.context.ask("run waiting", unfinished_tournaments, self._show_unfinished)

    def _begin(self, job: TournamentJob) -> None:
        """Resets the dock for another run."""
        self._job, self.summary = job, None
        self.summary_card.hide()
        self.context.ask("run waiting", unfinished_tournaments, self._show_unfinished)

    @Slot(object)
    def _show_summary(self, summary: Summary) -> None:
        state = self.context.state
        if state is None or state.job is not None:
            return
        self.summary = summary
        self.run_card.show_run(None, state.league.read_only, bool(self.context.monitor.latest.training))
        self.summary_card.show_summary(summary)
        self.ended.emit(summary)
        tone = "good" if summary.state is RunState.FINISHED else "bad" if summary.note else "info"
        verb = "" if summary.state is RunState.FINISHED else f" {summary.state.value}"
        text = f"{summary.name}{verb}: {summary.sentence}" + (f". {summary.note}" if summary.note else "")
        self.context.notify(
            text, tone, ("Show standings", partial(self._table, summary.tournament)) if summary.played else None
        )
        self.context.monitor.poll()

    @Slot(object)
    def _show_unfinished(self, found: list[UnfinishedTournament]) -> None:
        state = self.context.state
        if state is None:
            return
        self.unfinished_card.show_tournaments(found, state.job is None and not state.league.read_only)
        begun = [tournament for tournament in found if not tournament.planned]
        if self._offer_pending and begun and not state.league.read_only:
            tournament = begun[0]
            text = f"{tournament.name} is unfinished: {tournament.played:,} of {tournament.total:,} matches played"
            self.context.notify(text, "info", ("Resume", partial(self._resume, tournament.number)))
        self._offer_pending = False

    def offer_resume(self) -> None:
        """Called after a league was opened: offers to resume an unfinished tournament."""
        self._offer_pending = True
        self.context.ask("run waiting", unfinished_tournaments, self._show_unfinished)

    # Commands, run in the background

    def _order(self, command: Callable[[], Any], done: Callable[[Any], None] | None = None) -> None:
        self.context.command_queue.run(command, done or self._ordered)

    @Slot(object)
    def _ordered(self, answer: object) -> None:
        self.context.monitor.poll()

    @Slot()
    def pause_resume(self) -> None:
        if (job := self._running()) is not None:
            self._order(partial(_toggle_pause, job))

    @Slot()
    def finish(self) -> None:
        """Finishes the running matches, then stops."""
        if (job := self._running()) is not None:
            self._order(job.finish)

    @Slot()
    def stop_now(self) -> None:
        if (job := self._running()) is not None:
            self._order(job.stop)

    @Slot()
    def resume(self) -> None:
        """Resumes the paused run, or else the latest unfinished tournament."""
        if (job := self._running()) is not None:
            self._order(job.resume)
        else:
            self._resume(None)

    @Slot(int)
    def _resume(self, number: int | None) -> None:
        if self.context.state is not None:
            self._order(partial(self.context.state.resume_tournament, number), self._resumed)

    @Slot(object)
    def _resumed(self, job: TournamentJob) -> None:
        self._ordered(None)
        state = self.context.state
        if state is not None:
            self.context.select_pool(job.run.store.tournament.settings.game)
            self.context.navigate("live") if state.show_visuals else self.context.navigate("standings", job.number)

    def _running(self) -> TournamentJob | None:
        return self.context.state.job if self.context.state is not None else None

    @Slot(int)
    def _resize(self, cores: int) -> None:
        if self.context.state is not None:
            self.context.settings.set("workers", cores)
            self._order(partial(setattr, self.context.state.budget, "cores", cores))

    @Slot(int)
    def _toggle_training(self, number: int) -> None:
        for job in self.context.league.training.jobs if self.context.state is not None else ():
            if job.number == number:
                self._order(job.resume if job.paused else job.pause)

    @Slot(int)
    def _stop_training(self, number: int) -> None:
        for job in self.context.league.training.jobs if self.context.state is not None else ():
            if job.number == number:
                self._order(job.stop)

    @Slot(str)
    def _watch(self, match: str) -> None:
        self.context.navigate("match", match)

    @Slot(int)
    def _table(self, number: int) -> None:
        self.context.navigate("standings", number)

    @Slot(int)
    def _failures(self, number: int) -> None:
        self.context.navigate("history", {"failed": True, "tournament": number})


def _percent(share: float) -> str:
    return f"{share:.0f} %"


def _toggle_pause(job: TournamentJob) -> None:
    """Runs in the background: reading the progress may wait for workers."""
    job.resume() if job.progress().paused else job.pause()


def _summarise(state: LeagueState, job: TournamentJob | None, number: int) -> Summary:
    facts = RunFacts(job.before, job.seconds, job.run.shown, job.run.shown_seconds) if job is not None else None
    return highlights.summary(state.league, number, facts)
