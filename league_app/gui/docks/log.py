"""The drawer at the bottom: what happened, line by line, the newest last."""

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
from engine.errors import RingsideError
from engine.telemetry import Event
from league_app.gui import theme
from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.core.tournament_job import TournamentJob
from league_app.gui.widgets.table.model import Column, Index, TableModel
from league_app.core.match_runner import Stage
from league_app.core.state import LeagueState
from league_app.core.training_jobs import TrainingJob
from league_app.gui.widgets.basics import IconButton, column
from league_app.gui.widgets.table.view import Filtered, Table

PERIOD = 500  # milliseconds
KEPT = 2000  # lines
AGAIN = 2.0  # seconds within which the same words are the same news
TONES = {"info": "", "good": "", "warn": "warning", "bad": "error"}


@dataclass(frozen=True)
class Line:
    number: int  # they are counted
    at: float  # seconds since 1970
    tone: str  # info, good, warn, bad
    text: str


class Gatherer:
    """Looks for what is worth a line; always asked in the same other thread, and forgets nothing in between."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stage: Stage | None = None
        self._seen = 0  # events of that stage
        self._dead: set[int] = set()  # slots whose worker died, and which nobody has taken yet
        self._barred: set[str] = set()
        self._remarks: dict[TrainingJob, int] = {}

    def gather(self, state: LeagueState, job: TournamentJob | None) -> list[tuple[float, str, str]]:
        """When, in which tone, what: since it was last asked. `job` runs, or has just ended."""
        with self._lock:
            found = self._events(state, job) if job is not None else []
            return sorted([*found, *self._training(state)])

    def _events(self, state: LeagueState, job: TournamentJob) -> list[tuple[float, str, str]]:
        workers = job.stage.workers
        if job.stage is not self._stage:
            self._stage, self._seen = job.stage, 0
        self._seen, events = workers.events(self._seen)
        now, past = time.time(), time.monotonic()
        found = [(now - (past - one.at), *told) for one in events if (told := self._told(one)) is not None]
        status = state.status()
        barred = set(status.run.quarantined) if status is not None else set()
        names = state.league.names() if barred - self._barred else {}
        for one in sorted(barred - self._barred):
            found.append((now, "bad", f"{names.get(one, one)} is quarantined: it failed too often in this run"))
        self._barred = barred
        return found

    def _told(self, event: Event) -> tuple[str, str] | None:
        who = f"Worker {event.worker + 1}" if event.worker >= 0 else "The worker of the live match"
        match event.what:
            case "died":
                self._dead.add(event.worker)
                return "warn", f"{who} died: {event.detail}"
            case "start" if event.worker in self._dead:
                self._dead.discard(event.worker)
                return "info", f"{who} is started again"
            case "suspects":
                return "warn", f"{who} left {event.detail} matches that are played again, one by one"
            case "failed":
                return "bad", f"The run failed: {event.detail}"
        return None

    def _training(self, state: LeagueState) -> list[tuple[float, str, str]]:
        found, now = list[tuple[float, str, str]](), time.time()
        for job in [*self._remarks, *(one for one in state.training.jobs if one not in self._remarks)]:
            if job not in self._remarks:
                found.append((now, "info", f"Training {job.name} began"))
            new = job.remarks - self._remarks.get(job, 0)
            self._remarks[job] = job.remarks
            for log in list(job.logs)[-new:] if new > 0 else ():
                found.append((now, "warn" if log.level is Level.WARNING else "info", f"{job.name}: {log.text}"))
            if job.end is not None or job.error is not None:
                del self._remarks[job]
                how = f"{job.end.how.value}: {job.end.reason}" if job.end is not None else f"failed: {job.error}"
                found.append((now, "info" if job.error is None else "bad", f"Training {job.name} {how}"))
        return found


class LogModel(TableModel):
    """What went wrong is coloured, and says so too."""

    def __init__(self) -> None:
        columns = [
            Column("Time", _time, sort=_number),
            Column("Kind", _kind, least=50),
            Column("What happened", _text, cell_tip=_text, grow=1, least=200),
        ]
        super().__init__(columns, _number)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.ForegroundRole and index.isValid() and index.row() < len(self.rows):
            tone = self.rows[index.row()].tone
            return theme.colour(tone if tone in ("warn", "bad") else "text" if index.column() == 2 else "muted")
        return super().data(index, role)


class LogDock(QDockWidget):
    """Hidden at first. `add` is for whatever else should be kept, such as toasts that have gone by."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__("Log", parent)
        self.setObjectName("log")
        self.desk, self._gatherer = desk, Gatherer()
        self._lines: list[Line] = []
        self._count = 0
        self._asking = False
        self._job: TournamentJob | None = None
        self.model = LogModel()
        self.table = Table(self.model, "log", desk.settings)
        self.table.setAccessibleName("What happened")
        self.clearing = IconButton("trash", "Clear the log", self.clear)
        self.copying = IconButton("copy", "Copy what is selected, or everything", self.table.copy)
        self.filtered = Filtered(self.table, "Filter the log", [self.copying, self.clearing], "line")
        inner = QWidget()
        inner.setLayout(column(self.filtered, margin=12))
        self.setWidget(inner)
        self._soon = QTimer(self)  # lines come in bursts: they are shown together
        self._soon.setSingleShot(True)
        self._soon.setInterval(100)
        self._soon.timeout.connect(self._show_lines)
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self._look)
        desk.changed.connect(self._hear)
        desk.opened.connect(self._open)
        desk.failed.connect(self._fail)
        self.hide()
        self._open()

    # Lines

    @property
    def lines(self) -> list[Line]:
        """Oldest first."""
        return self._lines

    @Slot(str, str, object)
    def add(self, text: str, tone: str = "info", offer: object = None) -> None:
        """As `Desk.said` tells it; what it offers is for the moment only."""
        self._put(time.time(), tone, text)

    def _put(self, at: float, tone: str, text: str) -> None:
        text = " ".join(text.split())
        if self._lines and self._lines[-1].text == text and at - self._lines[-1].at < AGAIN:
            return  # an error that is also told in a toast
        self._count += 1
        self._lines.append(Line(self._count, at, tone, text))
        del self._lines[:-KEPT]
        if not self._soon.isActive():
            self._soon.start()

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

    # What happens

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        text = str(error) if isinstance(error, RingsideError) else f"{type(error).__name__}: {error}"
        self.add(text, "bad")

    @Slot()
    def _open(self) -> None:
        self._gatherer, self._job, self._asking = Gatherer(), None, False
        state = self.desk.state
        self._latest = None if state is None or state.running else state.latest_job
        self._timer.stop()
        if self.desk.state is not None:
            locked = ", for looking only" if self.desk.state.league.read_only else ""
            self.add(f"Opened {self.desk.state.league.path.name}{locked}")

    @Slot(object)
    def _hear(self, changes: Sequence[Change]) -> None:
        state = self.desk.state
        if state is None:
            return
        job, latest = state.job, state.latest_job
        if self._job is not None and self._job is not job:
            self._tell_end(self._job)
        if latest is not None and latest is not self._latest:
            self._latest = latest
            self.add(f"{latest.name} began")
            if latest is not job:  # it began and ended between two notices
                self._tell_end(latest)
        self._job = job
        if job is not None or state.training.jobs:
            if not self._timer.isActive():
                self._timer.start()
        elif self._timer.isActive():
            self._timer.stop()
            self._look()

    def _tell_end(self, job: TournamentJob) -> None:
        self.desk.ask(f"log end {job.number}", partial(_ended, number=job.number), self._told_end)
        self._look(job)

    @Slot(object)
    def _told_end(self, told: tuple[str, str]) -> None:
        self.add(*told)

    @Slot()
    def _look(self, job: TournamentJob | None = None) -> None:
        state = self.desk.state
        if state is not None and (not self._asking or job is not None):
            self._asking = True
            question = partial(self._gatherer.gather, state, job or self._job)
            key = f"log {job.number}" if job is not None else "log"
            self.desk.orders.ask(key, question, self._take, self._missed)

    @Slot(object)
    def _missed(self, error: Exception) -> None:
        self._asking = False
        if not isinstance(error, RingsideError):
            self.desk.failed.emit(error)

    @Slot(object)
    def _take(self, found: list[tuple[float, str, str]]) -> None:
        self._asking = False
        for at, tone, text in found:
            self._put(at, tone, text)


def _ended(state: LeagueState, number: int) -> tuple[str, str]:
    one = state.league.tournament(number)
    told = f"{one.name} {one.state.value}: {one.played:,} of {max(one.total or 0, one.played):,} matches"
    return f"{told}. {one.note}" if one.note else told, "bad" if one.note else "info"


def _number(line: Line) -> int:
    return line.number


def _time(line: Line) -> str:
    return time.strftime("%H:%M:%S", time.localtime(line.at))


def _kind(line: Line) -> str:
    return TONES.get(line.tone, "")


def _text(line: Line) -> str:
    return line.text
