"""The panel at the right: what is played, on what, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QFrame, QScrollArea, QWidget

from engine.errors import RingsideError
from engine.league.records import State
from league_app.core.queries import highlights
from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.gui.docks.run_cards import MARGIN, QueueCard, RunCard, SummaryCard, TrainingCard, WaitingCard
from league_app.gui.docks.worker_list import WorkersCard
from league_app.core.queries.highlights import Summary
from league_app.core.tournament_job import TournamentJob
from league_app.core.run_monitor import Look, Pulse, Waiting, waiting
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Card, column
from league_app.gui.widgets.meters import Cores, TimeLine
from league_app.core.formatting import weighing

PERIOD = 500  # milliseconds between two looks
WIDTH = 300


class RunDock(QDockWidget):
    """It looks twice a second while it is seen, and hears of ends even when it is not."""

    looked = Signal(object)  # a Look: for whoever else shows something of it
    ended = Signal(object)  # the Summary of a run
    asked_for_new = Signal()  # somebody wants to draw up a tournament

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__("Run", parent)
        self.setObjectName("run")
        self.desk, self._pulse = desk, Pulse()
        self._job: TournamentJob | None = None
        self._fresh: set[int] = set()  # tournaments of which matches came, whether their job was seen or not
        self._asking = self._offering = False
        self.summary: Summary | None = None  # of the last run
        self._build()
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self._look)
        desk.changed.connect(self._hear)
        desk.opened.connect(self._open)
        self._open()

    def _build(self) -> None:
        self.run, self.done, self.waiting = RunCard(), SummaryCard(), WaitingCard()
        self.training, self.queue, self.workers = TrainingCard(), QueueCard(), WorkersCard()
        self.cpu, self.cores, self.memory = TimeLine("CPU", _percent), Cores(), TimeLine("Memory", weighing)
        machine = Card(margin=MARGIN)
        for one in (self.cpu, self.cores, self.memory):
            machine.body.addWidget(one)
        self.run.pause.connect(self.pause_resume)
        self.run.finish.connect(self.finish)
        self.run.stop.connect(self.stop_now)
        self.run.new.connect(self.asked_for_new)
        self.run.workers.connect(self._resize)
        self.done.watch.connect(self._watch)
        self.done.table.connect(self._table)
        self.done.failures.connect(self._failures)
        self.waiting.resume.connect(self._resume)
        self.training.flip.connect(self._flip_training)
        self.training.stop.connect(self._stop_training)
        inner = QWidget()
        cards = (self.run, self.done, self.waiting, self.training, machine, self.queue, self.workers)
        inner.setLayout(column(*cards, 1, margin=MARGIN, gap=MARGIN))
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setMinimumWidth(WIDTH)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(inner)
        self.setWidget(scroll)

    # Looking

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._timer.start()
        self._look()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self._timer.stop()

    @Slot()
    def _look(self) -> None:
        if not self._asking:
            self._asking = True
            self.desk.orders.ask("run look", partial(self._pulse.look, self.desk.state), self._take, self._missed)

    @Slot(object)
    def _missed(self, error: Exception) -> None:
        self._asking = False
        if not isinstance(error, RingsideError):  # a league that is just being closed is nothing to speak of
            self.desk.failed.emit(error)

    @Slot(object)
    def _take(self, look: Look) -> None:
        self._asking = False
        state = self.desk.state
        self.cpu.add(look.cpu, look.our_cpu)
        self.cores.add(look.machine.cpu)
        self.memory.add(float(look.machine.memory), float(look.our_memory), float(look.machine.memory_total))
        if look.run is not None and state is not None and state.job is None:
            return  # it has ended since: its summary is on its way
        if state is not None and state.job is not None and state.job is not self._job:
            self._begin(state.job)  # it has not told anything yet
        self.run.show_run(look.run, state is not None and state.league.read_only)
        self.queue.show_queue(look.queue, look.quarantined)
        self.queue.setVisible(look.run is not None or self.summary is not None)
        self.workers.show_workers(look.workers)
        self.training.show_training(look.training)
        if state is not None:
            self.run.set_cores(state.budget.cores)
        self.looked.emit(look)

    # What happened

    @Slot()
    def _open(self) -> None:
        """Another league: nothing of the one before stays."""
        self._job, self.summary, self._asking = None, None, False
        self._fresh.clear()
        self.done.hide()
        self.queue.hide()
        self.training.show_training(())
        self.workers.show_workers(())
        state = self.desk.state
        self.run.setVisible(state is not None)
        self.run.show_run(None, state is not None and state.league.read_only)
        self.waiting.hide()
        if state is not None:
            cores = self.desk.settings.get("workers", 0)
            if cores:
                self.desk.attempt(partial(setattr, state.budget, "cores", cores))
            self.run.set_cores(state.budget.cores)
            self.desk.ask("run waiting", waiting, self._show_waiting)

    @Slot(object)
    def _hear(self, changes: Sequence[Change]) -> None:
        state = self.desk.state
        if state is None:
            return
        self._fresh |= {one.tournament for one in changes if one.what == "matches"}
        job = state.job
        if job is not None and job is not self._job:
            self._begin(job)
            self._ordered(None)
        elif job is None and any(one.what == "tournaments" for one in changes):
            over, self._job = self._job, None
            number = over.number if over is not None else max(self._fresh, default=0)
            self._fresh.clear()
            if number:
                self.desk.ask("run summary", partial(_summarise, job=over, number=number), self._show_summary)
            self.desk.ask("run waiting", waiting, self._show_waiting)

    def _begin(self, job: TournamentJob) -> None:
        """Another run: what is held of the one before goes."""
        self._job, self.summary = job, None
        self.done.hide()
        self.desk.ask("run waiting", waiting, self._show_waiting)

    @Slot(object)
    def _show_summary(self, one: Summary) -> None:
        state = self.desk.state
        if state is None or state.job is not None:
            return
        self.summary = one
        self.run.show_run(None, state.league.read_only)
        self.done.show_summary(one)
        self.ended.emit(one)
        tone = "good" if one.state is State.FINISHED else "bad" if one.note else "info"
        verb = "" if one.state is State.FINISHED else f" {one.state.value}"
        told = f"{one.name}{verb}: {one.sentence}" + (f". {one.note}" if one.note else "")
        self.desk.say(told, tone, ("Show the table", partial(self._table, one.tournament)) if one.played else None)
        if self._timer.isActive():
            self._look()

    @Slot(object)
    def _show_waiting(self, found: list[Waiting]) -> None:
        state = self.desk.state
        if state is None:
            return
        self.waiting.show_waiting(found, state.job is None and not state.league.read_only)
        begun = [one for one in found if not one.planned]
        if self._offering and begun and not state.league.read_only:
            one = begun[0]
            told = f"{one.name} was not finished: {one.played:,} of {one.total:,} matches are played"
            self.desk.say(told, "info", ("Resume", partial(self._resume, one.number)))
        self._offering = False

    def offer_resume(self) -> None:
        """Once after a league was opened: what was not finished is told, with a button."""
        self._offering = True
        self.desk.ask("run waiting", waiting, self._show_waiting)

    # What may be asked for; none of it is waited for

    def _order(self, key: str, doing: Callable[[], Any], done: Callable[[Any], None] | None = None) -> None:
        self.desk.orders.ask(f"run {key}", doing, done or self._ordered)

    @Slot(object)
    def _ordered(self, answer: object) -> None:
        if self._timer.isActive():
            self._look()

    @Slot()
    def pause_resume(self) -> None:
        if (job := self._running()) is not None:
            self._order("pause", partial(_flip, job))

    @Slot()
    def finish(self) -> None:
        """What is being played, then stop."""
        if (job := self._running()) is not None:
            self._order("finish", job.finish)

    @Slot()
    def stop_now(self) -> None:
        if (job := self._running()) is not None:
            self._order("stop", job.stop)

    @Slot()
    def resume(self) -> None:
        """The latest that was not finished; one that is paused goes on."""
        if (job := self._running()) is not None:
            self._order("resume", job.resume)
        else:
            self._resume(None)

    @Slot(int)
    def _resume(self, number: int | None) -> None:
        if self.desk.state is not None:
            self._order("resume", partial(self.desk.state.resume_tournament, number), self._resumed)

    @Slot(object)
    def _resumed(self, job: TournamentJob) -> None:
        self._ordered(None)
        state = self.desk.state
        if state is not None:
            self.desk.look_at(job.run.book.tournament.settings.game)
            self.desk.show("live") if state.show_visuals else self.desk.show("standings", job.number)

    def _running(self) -> TournamentJob | None:
        return self.desk.state.job if self.desk.state is not None else None

    @Slot(int)
    def _resize(self, cores: int) -> None:
        if self.desk.state is not None:
            self.desk.settings.set("workers", cores)
            self._order("workers", partial(setattr, self.desk.state.budget, "cores", cores))

    @Slot(int)
    def _flip_training(self, number: int) -> None:
        for job in self.desk.league.training.jobs if self.desk.state is not None else ():
            if job.number == number:
                self._order(f"training {number}", job.resume if job.paused else job.pause)

    @Slot(int)
    def _stop_training(self, number: int) -> None:
        for job in self.desk.league.training.jobs if self.desk.state is not None else ():
            if job.number == number:
                self._order(f"training {number}", job.stop)

    @Slot(str)
    def _watch(self, match: str) -> None:
        self.desk.show("match", match)

    @Slot(int)
    def _table(self, number: int) -> None:
        self.desk.show("standings", number)

    @Slot(int)
    def _failures(self, number: int) -> None:
        self.desk.show("history", {"failed": True, "tournament": number})


def _percent(share: float) -> str:
    return f"{share:.0f} %"


def _flip(job: TournamentJob) -> None:
    """What it says is asked here, where waiting for it holds up nobody."""
    job.resume() if "paused" in job.progress().text else job.pause()


def _summarise(state: LeagueState, job: TournamentJob | None, number: int) -> Summary:
    if job is None:
        return highlights.summary(state.league, number)
    began = time.time() - (time.monotonic() - job.began)
    return highlights.summary(state.league, number, began, job.before)
