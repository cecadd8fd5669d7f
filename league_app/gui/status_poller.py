"""Polls the state of the running jobs twice a second, in the background: a run may have to wait for workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from engine.league.tournament_runner import Progress
from league_app.core.formatting import plural
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext

PERIOD = 500  # milliseconds, for progress that sends no notification


@dataclass(frozen=True)
class AppStatus:
    """The state of the running jobs."""

    toggle: str = ""  # text beside the visual switch
    name: str = ""  # of the running tournament
    progress: Progress | None = None
    training: int = 0  # sessions

    @property
    def paused(self) -> bool:
        return self.progress is not None and self.progress.paused

    @property
    def trouble(self) -> str:
        """Why nothing can be saved; empty if it can."""
        return self.progress.trouble if self.progress is not None else ""


def load_status(state: LeagueState) -> AppStatus:
    job, training = state.job, len(state.training.jobs)
    if job is not None:
        progress = job.progress()
        return AppStatus(_toggle_text(progress, state.budget.cores), job.name, progress, training)
    return AppStatus("read-only" if state.league.read_only else state.toggle_text, training=training)


def _toggle_text(progress: Progress, workers: int) -> str:
    """The text beside the visual switch."""
    if progress.text == "live":
        return f"showing match {progress.played + 1:,} of {progress.total:,}"
    if progress.text == "playing":
        return f"playing on {plural(workers, 'worker')}"
    return progress.text


class StatusPoller(QObject):
    """Holds the latest status and emits `updated` with each new one."""

    updated = Signal(object)  # AppStatus

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context, self.status = context, AppStatus()
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self.poll)
        self._timer.start()

    @Slot()
    def poll(self) -> None:
        state = self._context.state
        if state is None:
            self._receive(AppStatus())
        else:
            self._context.status_queue.submit("now", partial(load_status, state), self._receive, self._ignore)

    def _receive(self, now: AppStatus) -> None:
        before, self.status = self.status, now
        if now.trouble and not before.trouble:
            self._context.notify(f"Paused because results cannot be saved: {now.trouble}", "bad")
        elif before.trouble and now.progress is not None and not now.trouble:
            self._context.notify("Saving works again: the tournament continues", "good")
        self.updated.emit(now)

    def _ignore(self, error: Exception) -> None:
        """Errors while a league is being closed are expected."""

    def stop(self) -> None:
        self._timer.stop()
