"""The Training page: the list of sessions, and charts, players, timeline, population, log and settings of the selected
one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QStackedWidget, QTabBar, QWidget

from league_app.core.changes import Change
from league_app.core.queries.sessions import (
    KnownPoints,
    SessionEnd,
    SessionPreviews,
    SessionSummary,
    SessionUpdates,
    load_end,
    load_sessions,
    load_updates,
)
from league_app.core.state import LeagueState
from league_app.core.trainers import TrainerFacts
from league_app.gui.context import AppContext
from league_app.gui.page import Page
from league_app.gui.training.chart_specs import MetricCurve, SessionCurves
from league_app.gui.training.chart_toolbar import ChartToolbar
from league_app.gui.training.charts import MetricCharts
from league_app.gui.training.players import TrainedPlayers
from league_app.gui.training.population import SessionPopulation
from league_app.gui.training.session_details import SessionLog, SettingsView
from league_app.gui.training.session_header import SessionHeader
from league_app.gui.training.session_list import SessionList
from league_app.gui.training.sessions_model import SessionsModel
from league_app.gui.training.timeline import SessionTimeline
from league_app.gui.widgets.basics import Card, EmptyState, button, column, label, row
from league_app.gui.widgets.file_dialogs import open_folder, save_file

PERIOD = 500  # milliseconds; at most one refresh in each
UNKNOWN = TrainerFacts()
NO_SESSIONS = "No training yet. A session trains agents that can then play in this league."


class TrainingPage(Page):
    guide = "training"
    title, icon = "Training", "training"
    watches = frozenset({"training", "agents", "tournaments"})

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self._previews, self._filling = SessionPreviews(), False
        self._curves: dict[int, dict[str, MetricCurve]] = {}
        self._pending = 0  # number of a session to select as soon as it is listed
        self._running: dict[int, str] = {}
        self._trainers: dict[str, TrainerFacts] = {}
        self._drawn: list[int] = []  # the sessions in the charts
        self._refresh_timer.setInterval(PERIOD)
        self.model = SessionsModel(self)
        self.model.checks_changed.connect(self._load_curves)
        self.list = SessionList(self.model)
        self.list.selected.connect(self._select)
        self.new = button("New session", self.new_session, primary=True, icon="plus")
        self.header = SessionHeader()
        self.header.command.connect(self.run_command)
        self.toolbar, self.charts = ChartToolbar(context.settings), MetricCharts()
        self.toolbar.changed.connect(self._on_view_changed)
        self.log_view, self.settings_view = SessionLog(), SettingsView()
        self.charts.saved.connect(self._on_saved)
        self.charts.failed.connect(context.failed)
        self.charts.folded.connect(self._save_folded)
        self.charts.set_folded(group for group in context.settings.get("training/folded", []) if isinstance(group, str))
        self.players = TrainedPlayers(context, self, self.header.player)
        self.players.counted.connect(self._count_players)
        self.timeline = SessionTimeline(context)
        self.timeline.found.connect(self._show_timeline_tab)
        self.population = SessionPopulation(context)
        self.population.found.connect(self._show_population_tab)
        self._build()
        context.changed.connect(self._notify_ended_sessions)
        context.opened.connect(self._on_league_opened)
        self._on_view_changed()

    def _build(self) -> None:
        side = Card(margin=0)
        side.body.setSpacing(0)
        side.body.addLayout(row(label("Sessions", "section"), 1, self.new, margin=12))
        side.body.addWidget(self.list)
        side.body.setContentsMargins(0, 0, 0, 6)  # keeps the list off the rounded corners
        side.setFixedWidth(236)
        self.tabs, self.stack = QTabBar(), QStackedWidget()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setAccessibleName("Session view")
        charts = QWidget()
        charts.setLayout(column(self.toolbar, self.charts, gap=8))
        views = {"Charts": charts, "Players": self.players.view, "Timeline": self.timeline}
        views |= {"Population": self.population, "Log": self.log_view, "Settings": self.settings_view}
        for name, view in views.items():
            self.tabs.addTab(name)
            self.stack.addWidget(view)
        self._show_timeline_tab(False)
        self._show_population_tab(False)
        self.tabs.currentChanged.connect(self.stack.setCurrentIndex)
        right = column(self.header, self.tabs, gap=8)
        right.addWidget(self.stack, 1)
        body = QWidget()
        inside = row(side, gap=12)
        inside.addLayout(right, 1)
        body.setLayout(inside)
        self.empty = EmptyState("training", NO_SESSIONS, "New session", self.new_session)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(body)
        self.setLayout(column(self.pages, margin=12))

    # Display

    def refresh(self) -> None:
        state = self.context.state
        if state is None or not self.isVisible():
            self._show_sessions([])
            return
        self.context.ask("training", partial(load_sessions, self._previews), self._show_sessions)

    def show_item(self, what: object) -> None:
        if isinstance(what, int):
            self._pending = what
            self._select_pending()

    @property
    def number(self) -> int:
        """Number of the selected session; 0 if there is none."""
        return self.list.number

    @property
    def _charted(self) -> list[int]:
        """The sessions of the charts: the checked ones, or else the selected one."""
        return self.model.checked or [self.number] * bool(self.number)

    @property
    def summary(self) -> SessionSummary | None:
        return self._summary_of(self.number)

    def _summary_of(self, number: int) -> SessionSummary | None:
        return next((summary for summary in self.model.rows if summary.number == number), None)

    def _show_sessions(self, rows: object) -> None:
        assert isinstance(rows, list)
        self._filling = True  # selecting a session would load it, and so does the end of this method
        self.model.set_rows(rows)
        self.pages.setCurrentIndex(1 if rows else 0)
        writable = self._writable()
        self.new.setEnabled(writable)
        if self.context.state is not None:
            self.empty.button.setEnabled(writable)
            self.empty.sentence.setText(NO_SESSIONS if writable else "No training yet, and this league is read-only.")
        self._select_pending()
        if rows and not self.number:
            self.list.select(rows[0].number)
        self._filling = False
        self._show_selected()

    def _select_pending(self) -> None:
        if self._pending and self.model.row_of(self._pending) >= 0:
            self.list.select(self._pending)
            self._pending = 0

    @Slot(int, bool)
    def _select(self, number: int, keep_checks: bool) -> None:
        """Shows this session alone, unless it is checked for comparison."""
        if not keep_checks and number not in self.model.checked:
            self.model.set_checked([number])
        else:
            self._load_curves()
        self._show_selected()

    def _show_selected(self) -> None:
        summary = self.summary
        if summary is None or self._filling:
            return
        self.header.show_session(summary, self._writable())
        self.log_view.show_session(summary)
        self._show_settings(summary)
        self.players.show_session(summary)
        self.timeline.show_session(summary)
        self.population.show_session(summary)
        self._load_curves()

    def _show_settings(self, summary: SessionSummary) -> None:
        self.settings_view.show_session(summary, summary.facts.defaults, self.players.names)

    @Slot()
    def _load_curves(self) -> None:
        """Loads new values of the sessions in the charts, and of the selected one for its players."""
        if self.context.state is None or not self.isVisible() or self._filling:
            return
        needed = dict.fromkeys([*self._charted, self.number] if self.number else self._charted)
        known: KnownPoints = {
            number: {name: curve.last_point for name, curve in self._curves.get(number, {}).items()}
            for number in needed
        }
        trainers = {row.session.trainer for row in self.model.rows if row.number in needed} - set(self._trainers)
        self.context.ask("training/curves", partial(load_updates, known, trainers), self._show_curves)

    def _show_curves(self, new: object) -> None:
        assert isinstance(new, SessionUpdates)
        self._trainers |= new.trainers
        if self._charted == self._drawn and not any(new.metrics.values()) and not new.trainers:
            return  # nothing is new: do not redraw charts of ten thousand steps
        self._drawn = self._charted
        for number, updates in new.metrics.items():
            curves = self._curves.setdefault(number, {})
            for name, update in updates.items():
                if update is None:
                    curves.pop(name, None)
                else:
                    curves.setdefault(name, MetricCurve()).update(update)
        self._draw()

    def _draw(self) -> None:
        sessions = {row.number: row.session for row in self.model.rows}
        shown = []
        for session in (sessions[number] for number in self._charted if number in sessions):
            facts, curves = self._trainers.get(session.trainer, UNKNOWN), self._curves.get(session.number, {})
            shown.append(
                SessionCurves(
                    session.number, session.name, session.created, curves, facts.metrics, facts.headline, facts.unit
                )
            )
        self.charts.show_sessions(shown)
        self.toolbar.show_sessions({view.unit for view in shown}, len(shown))
        summary = self.summary
        if summary is not None:
            self._show_settings(summary)
            self.players.set_curves(self._curves.get(summary.number, {}))

    @Slot()
    def _on_view_changed(self) -> None:
        self.charts.set_view(*self.toolbar.view)

    @Slot(object)
    def _save_folded(self, groups: object) -> None:
        self.context.settings.set("training/folded", groups)

    @Slot(int)
    def _count_players(self, count: int) -> None:
        self.tabs.setTabText(1, f"Players ({count})" if count else "Players")

    @Slot(bool)
    def _show_timeline_tab(self, shown: bool) -> None:
        self._show_tab(self.timeline, shown)

    @Slot(bool)
    def _show_population_tab(self, shown: bool) -> None:
        self._show_tab(self.population, shown)

    def _show_tab(self, view: QWidget, shown: bool) -> None:
        index = self.stack.indexOf(view)
        if not shown and self.tabs.currentIndex() == index:
            self.tabs.setCurrentIndex(0)
        self.tabs.setTabVisible(index, shown)

    @Slot()
    def _on_league_opened(self) -> None:
        self._previews, self._curves, self._running, self._drawn = SessionPreviews(), {}, {}, []
        self.model.set_rows([])
        self.pages.setCurrentIndex(0)

    # Notifications

    @Slot(object)
    def _notify_ended_sessions(self, changes: Sequence[Change]) -> None:
        state = self.context.state
        if state is None or not any(change.what == "training" for change in changes):
            return
        self.players.show_awaited()
        running = {job.number: job.name for job in state.training.jobs}
        ended = {number: name for number, name in self._running.items() if number not in running}
        self._running = running
        for number in ended:
            self.context.ask(f"training/end/{number}", partial(load_end, number), self._notify_end)

    def _notify_end(self, end: object) -> None:
        assert isinstance(end, SessionEnd)
        action: tuple[str, Callable[[], object]] = ("Show", partial(self.context.navigate, "training", end.number))
        if end.champion and self._writable():
            action = ("Rate", partial(self.players.place_agent, *end.champion))
        self.context.notify(end.text, end.tone, action)

    @Slot(str)
    def _on_saved(self, path: str) -> None:
        self.context.notify(f"Saved {Path(path).name}", "good")

    # Commands

    def _writable(self) -> bool:
        state = self.context.state
        return state is not None and not state.league.read_only

    @Slot()
    def new_session(self) -> None:
        state = self.context.state
        if state is None:
            self.context.notify("Open a league first", "warn")
        elif state.league.read_only:
            self.context.notify(f"{state.league.path.name} is open read-only, so no training can start", "warn")
        else:
            from league_app.gui.dialogs.training_session import NewSessionDialog

            dialog = NewSessionDialog(self.context, self.window())
            dialog.started.connect(self._on_started)
            dialog.open()

    @Slot(int)
    def _on_started(self, number: int) -> None:
        self._pending = number
        self.model.set_checked([])
        self.context.navigate("training", number)
        self.refresh()

    @Slot()
    def pause_resume(self) -> None:
        """Pauses or resumes the selected session, or else the first that runs."""
        job = self._running_job()
        if job is not None:
            self.run_command("unpause" if job.paused else "pause", job.number)

    @Slot()
    def stop(self) -> None:
        job = self._running_job()
        if job is not None:
            self.run_command("stop", job.number)

    def _running_job(self) -> Any:
        state = self.context.state
        jobs = state.training.jobs if state is not None else []
        return next((job for job in jobs if job.number == self.number), jobs[0] if jobs else None)

    @Slot(str)
    def run_command(self, command: str, number: int = 0) -> None:
        """Runs a command of `SessionHeader.command` on the session with this number, or on the selected one."""
        state, number = self.context.state, number or self.number
        if state is None or not number:
            return
        if command == "csv":
            save_file(self, "Export metrics as CSV", self._save_csv, "CSV files (*.csv)", f"session-{number}.csv")
        elif command == "tensorboard":
            open_folder(self, "Choose a folder for TensorBoard", self._save_events)
        elif command == "watch":
            self.players.watch_current(number)
        elif command == "change":
            self._open_resume_dialog(number)
        elif command == "resume":
            self._submit(partial(state.training.resume, number))
        else:
            job = next((job for job in state.training.jobs if job.number == number), None)
            if job is not None:
                methods = {"pause": job.pause, "unpause": job.resume, "stop": job.stop, "kill": job.kill}
                self._submit(methods[command])

    def _submit(self, command: Callable[[], object]) -> None:
        """Runs it in the background, because it may write to a slow disk or wait for a process."""
        self.context.command_queue.run(command, self._on_done)

    def _on_done(self, result: object) -> None:
        self.refresh()

    def _open_resume_dialog(self, number: int) -> None:
        from league_app.gui.dialogs.training_session import ResumeSessionDialog

        summary = self._summary_of(number)
        if summary is not None:
            dialog = ResumeSessionDialog(self.context, summary.session, self.window())
            dialog.started.connect(self._on_started)
            dialog.open()

    @Slot(str)
    def _save_csv(self, path: str) -> None:
        self._export(path, False)

    @Slot(str)
    def _save_events(self, path: str) -> None:
        self._export(path, True)

    def _export(self, path: str, tensorboard: bool) -> None:
        state = self.context.state
        if state is not None:
            task = partial(export, state, self.number, path, tensorboard)
            self.context.slow_queue.run(task, self._on_saved)


def export(state: LeagueState, number: int, path: str, tensorboard: bool) -> str:
    """Writes all metrics of a session and returns the path."""
    from league_app.core.export import write_csv
    from league_app.core.tensorboard import export as write_events

    session = state.training.sessions.session(number)
    metrics = state.training.sessions.metrics(number)
    if tensorboard:
        return str(write_events(metrics, session.created, path))
    return str(write_csv(metrics, path, overwrite=True))  # the dialog has asked
