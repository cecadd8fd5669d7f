"""The log dock: events of the league, newest last."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QDockWidget, QWidget

from agents.training.events import Level
from engine.clock import local_text, now
from engine.play.executors import Executor
from engine.telemetry import THIS_NODE, Event
from league_app.core.changes import Change
from league_app.core.formatting import error_text, plural
from league_app.core.state import LeagueState
from league_app.core.tournament_job import TournamentJob
from league_app.core.training_job import TrainingJob
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.widgets.basics import IconButton, column
from league_app.gui.widgets.table.model import Index, TableColumn, TableModel
from league_app.gui.widgets.table.view import FilteredTable, TableView

MAX_ENTRIES = 2000
DUPLICATE = 2.0  # seconds within which an identical text is not repeated
TONES = {"info": "", "good": "", "warn": "warning", "bad": "error"}


@dataclass(frozen=True)
class LogEntry:
    number: int  # counted from 1
    at: float  # seconds since 1970
    tone: str  # info, good, warn, bad
    text: str


class LogCollector:
    """Collects events of workers and training sessions; call `collect` from one background thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: Executor | None = None
        self._position = 0  # in the events of that executor
        self._dead: set[tuple[str, int]] = set()  # node and id of workers that died and were not restarted yet
        self._quarantined: set[str] = set()
        self._remarks: dict[TrainingJob, int] = {}

    def collect(self, state: LeagueState, job: TournamentJob | None) -> list[tuple[float, str, str]]:
        """Time, tone and text of all events since the last call. `job` is running, or has just ended."""
        with self._lock:
            found = self._events(state, job) if job is not None else []
            return sorted([*found, *self._training(state)])

    def _events(self, state: LeagueState, job: TournamentJob) -> list[tuple[float, str, str]]:
        if job.executor is not self._executor:
            self._executor, self._position = job.executor, 0
        self._position, events = job.executor.events(self._position)
        at, past = now(), time.monotonic()
        found = [(at - (past - event.at), *entry) for event in events if (entry := self._entry(event)) is not None]
        status = state.status()
        quarantined = set(status.run.quarantined) if status is not None else set()
        names = state.league.names() if quarantined - self._quarantined else {}
        for id in sorted(quarantined - self._quarantined):
            found.append((at, "bad", f"{names.get(id, id)} is quarantined: it failed too often in this run"))
        self._quarantined = quarantined
        return found

    def _entry(self, event: Event) -> tuple[str, str] | None:
        node = "" if event.node == THIS_NODE else f" on {event.node}"
        worker = f"Worker {event.worker + 1}{node}" if event.worker >= 0 else "The worker of the live match"
        key = event.node, event.worker
        match event.what:
            case "died":
                self._dead.add(key)
                return "warn", f"{worker} died: {event.detail}"
            case "start" if key in self._dead:
                self._dead.discard(key)
                return "info", f"{worker} was restarted"
            case "suspects":
                return "warn", f"{worker} lost {plural(int(event.detail), 'match')}, to be played again one by one"
            case "failed":
                return "bad", f"The run failed: {event.detail}"
        return None

    def _training(self, state: LeagueState) -> list[tuple[float, str, str]]:
        found, at = list[tuple[float, str, str]](), now()
        for job in [*self._remarks, *(running for running in state.training.jobs if running not in self._remarks)]:
            if job not in self._remarks:
                found.append((at, "info", f"Training session {job.name} started"))
            new = job.log_count - self._remarks.get(job, 0)
            self._remarks[job] = job.log_count
            for log in list(job.logs)[-new:] if new > 0 else ():
                found.append((at, "warn" if log.level is Level.WARNING else "info", f"{job.name}: {log.text}"))
            if job.end is not None or job.error is not None:
                del self._remarks[job]
                how = f"{job.end.how.value}: {job.end.reason}" if job.end is not None else f"failed: {job.error}"
                found.append((at, "info" if job.error is None else "bad", f"Training session {job.name} {how}"))
        return found


class LogModel(TableModel):
    """Warnings and errors are coloured, and named in a column."""

    def __init__(self) -> None:
        columns = [
            TableColumn("time", "Time", _time, sort=_number),
            TableColumn("kind", "Kind", _kind, min_width=50),
            TableColumn("message", "Message", _text, cell_tip=_text, grow=1, min_width=200),
        ]
        super().__init__(columns, _number)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.ForegroundRole and index.isValid() and index.row() < len(self.rows):
            tone = self.rows[index.row()].tone
            return theme.colour(tone if tone in ("warn", "bad") else "text" if index.column() == 2 else "muted")
        return super().data(index, role)


class LogDock(QDockWidget):
    """Hidden by default. `add` logs any other text, such as toasts."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__("Log", parent)
        self.setObjectName("log")
        self.context, self._collector = context, LogCollector()
        self._lines: list[LogEntry] = []
        self._count = 0
        self._job: TournamentJob | None = None
        self.model = LogModel()
        self.table = TableView(self.model, "log", context.settings)
        self.table.setAccessibleName("Log")
        self.clear_button = IconButton("trash", "Clear log", self.clear)
        self.copy_button = IconButton("copy", "Copy the selected lines, or all", self.table.copy)
        self.filtered = FilteredTable(self.table, "Filter log", [self.copy_button, self.clear_button], "line")
        inner = QWidget()
        inner.setLayout(column(self.filtered, margin=12))
        self.setWidget(inner)
        self._show_timer = QTimer(self)  # lines come in bursts and are shown together
        self._show_timer.setSingleShot(True)
        self._show_timer.setInterval(100)
        self._show_timer.timeout.connect(self._show_lines)
        context.monitor.collect(self._collect, self._show_collected)
        context.changed.connect(self._on_changes)
        context.opened.connect(self._open)
        context.failed.connect(self._fail)
        self.hide()
        self._open()

    # Lines

    @property
    def lines(self) -> list[LogEntry]:
        """Oldest first."""
        return self._lines

    @Slot(str, str, object)
    def add(self, text: str, tone: str = "info", offer: object = None) -> None:
        """A slot for `AppContext.notified`; the offer is not logged."""
        self._append(now(), tone, text)

    def _append(self, at: float, tone: str, text: str) -> None:
        text = " ".join(text.split())
        if self._lines and self._lines[-1].text == text and at - self._lines[-1].at < DUPLICATE:
            return  # an error that was also shown as a toast
        self._count += 1
        self._lines.append(LogEntry(self._count, at, tone, text))
        del self._lines[:-MAX_ENTRIES]
        if not self._show_timer.isActive():
            self._show_timer.start()

    @Slot()
    def _show_lines(self) -> None:
        bar = self.table.verticalScrollBar()
        last = bar.value() >= bar.maximum() - 4
        self.model.set_rows(self._lines)
        if last:
            self.table.scrollToBottom()

    def clear(self) -> None:
        self._lines.clear()
        self.model.set_rows([])

    # Events

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self.add(error_text(error), "bad")

    @Slot()
    def _open(self) -> None:
        self._collector, self._job = LogCollector(), None
        state = self.context.state
        self._latest = self._collected = None if state is None or state.running else state.latest_job
        if self.context.state is not None:
            locked = " (read-only)" if self.context.state.league.read_only else ""
            self.add(f"Opened {self.context.state.league.path.name}{locked}")

    @Slot(object)
    def _on_changes(self, changes: Sequence[Change]) -> None:
        state = self.context.state
        if state is None:
            return
        job, latest = state.job, state.latest_job
        if self._job is not None and self._job is not job:
            self._log_end(self._job)
        if latest is not None and latest is not self._latest:
            self._latest = latest
            self.add(f"{latest.name} started")
            if latest is not job:  # it started and ended between two notifications
                self._log_end(latest)
        self._job = job

    def _log_end(self, job: TournamentJob) -> None:
        self.context.ask(f"log end {job.number}", partial(_ended, number=job.number), self._show_end)

    @Slot(object)
    def _show_end(self, entry: tuple[str, str]) -> None:
        self.add(*entry)

    def _collect(self, state: LeagueState) -> list[tuple[float, str, str]]:
        """Runs in the thread of the monitor; for a run that has ended, one more time."""
        job = state.latest_job if state.latest_job is not self._collected else None
        ended = job is not None and state.job is not job
        found = self._collector.collect(state, job)
        if ended:
            self._collected = job
        return found

    def _show_collected(self, found: list[tuple[float, str, str]]) -> None:
        for at, tone, text in found:
            self._append(at, tone, text)


def _ended(state: LeagueState, number: int) -> tuple[str, str]:
    tournament = state.league.tournament(number)
    total = max(tournament.total or 0, tournament.played)
    text = f"{tournament.name} {tournament.state.value}: {tournament.played:,} of {total:,} matches"
    return f"{text}. {tournament.note}" if tournament.note else text, "bad" if tournament.note else "info"


def _number(line: LogEntry) -> int:
    return line.number


def _time(line: LogEntry) -> str:
    return local_text(line.at, "%H:%M:%S")


def _kind(line: LogEntry) -> str:
    return TONES.get(line.tone, "")


def _text(line: LogEntry) -> str:
    return line.text
