"""Training: the sessions of the league, their charts as they grow, and the players that come out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QCheckBox, QFileDialog, QSlider, QStackedWidget, QTabBar, QWidget

from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.gui.training.sessions_model import Glance, SessionsModel, glances
from league_app.gui.training.queries import Known, Read, export, how_it_ended, read
from league_app.gui.training.charts import Curve, Curves, Shown
from league_app.gui.page import Page
from league_app.gui.training.session_details import Remarks, SettingsView
from league_app.gui.training.session_header import SessionHead
from league_app.gui.training.players import Trainees
from league_app.gui.widgets.basics import Card, Elided, Empty, button, column, label, row
from league_app.gui.widgets.fields import ChoiceBox
from league_app.gui.training.session_list import SessionList
from league_app.core.formatting import percent

PERIOD = 500  # milliseconds between two looks at least
NOTHING = "No training yet. A 60-second run teaches a network to beat Random."


class TrainingPage(Page):
    title, icon = "Training", "training"
    watches = frozenset({"training", "agents", "tournaments"})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._curves: dict[int, dict[str, Curve]] = {}
        self._wanted = 0  # a session that is to be selected when it is there
        self._running: dict[int, str] = {}
        self._usual: dict[str, dict[str, object]] = {}  # settings, by trainer
        self._explained: dict[str, dict[str, str]] = {}  # metrics, by trainer
        self._drawn: list[int] = []  # the sessions in the charts
        self._orders = 0
        self._soon.setInterval(PERIOD)
        self.model = SessionsModel(self)
        self.model.checked.connect(self._look_at_curves)
        self.list = SessionList(self.model)
        self.list.selected.connect(self._select)
        self.new = button("New session", self.new_session, primary=True, icon="plus")
        self.head = SessionHead()
        self.head.wanted.connect(self.order)
        self.curves, self.remarks, self.settings_view = Curves(), Remarks(), SettingsView()
        self.curves.saved.connect(self._saved)
        self.curves.failed.connect(desk.failed)
        self.curves.folded.connect(self._remember_folded)
        self.curves.set_folded(one for one in desk.settings.get("training/folded", []) if isinstance(one, str))
        self.trainees = Trainees(desk, self, self.head.player)
        self.trainees.counted.connect(self._count_players)
        self._build()
        desk.changed.connect(self._notice)
        desk.opened.connect(self._forget)
        self._view_changed()

    def _build(self) -> None:
        side = Card(margin=0)
        side.body.setSpacing(0)
        side.body.addLayout(row(label("Sessions", "section"), 1, self.new, margin=12))
        side.body.addWidget(self.list)
        side.body.setContentsMargins(0, 0, 0, 6)  # the list has no round corners
        side.setFixedWidth(236)
        self.tabs, self.stack = QTabBar(), QStackedWidget()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setAccessibleName("What is shown of the session")
        charts = QWidget()
        charts.setLayout(column(self._bar(), self.curves, gap=8))
        views = (("Charts", charts), ("Players", self.trainees.view), ("Log", self.remarks))
        for name, view in (*views, ("Settings", self.settings_view)):
            self.tabs.addTab(name)
            self.stack.addWidget(view)
        self.tabs.currentChanged.connect(self.stack.setCurrentIndex)
        right = column(self.head, self.tabs, gap=8)
        right.addWidget(self.stack, 1)
        body = QWidget()
        inside = row(side, gap=12)
        inside.addLayout(right, 1)
        body.setLayout(inside)
        self.empty = Empty("training", NOTHING, "New session", self.new_session)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(body)
        self.setLayout(column(self.pages, margin=12))

    def _bar(self) -> QWidget:
        settings = self.desk.settings
        self.smoothing = QSlider(Qt.Orientation.Horizontal)
        self.smoothing.setRange(0, 99)
        self.smoothing.setFixedWidth(90)
        self.smoothing.setValue(settings.get("training/smoothing", 60))
        self.smoothing.setAccessibleName("Smoothing")
        self.log = QCheckBox("Log scale")
        self.log.setChecked(settings.get("training/log", False))
        self.axis = ChoiceBox()
        self.axis.setAccessibleName("Axis")
        self.axis.addItems(["Steps", "Time"])
        self.axis.setFixedSize(92, 30)
        self.axis.setCurrentIndex(1 if settings.get("training/axis", "step") == "elapsed" else 0)
        self.smoothing.valueChanged.connect(self._view_changed)
        self.log.toggled.connect(self._view_changed)
        self.axis.edited.connect(self._view_changed)
        self.compared = Elided("", "caption")  # so that it takes no room from the panels
        self.compared.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.compared.setMinimumWidth(0)
        bar = QWidget()
        inner = row(label("Smoothing", "muted"), self.smoothing, self.log, self.axis, self.compared)
        inner.setStretch(4, 1)
        bar.setLayout(inner)
        return bar

    # What is shown

    def refresh(self) -> None:
        state = self.desk.state
        if state is None or not self.isVisible():
            self._show_sessions([])
            return
        self.desk.ask("training", glances, self._show_sessions)

    def show_what(self, what: object) -> None:
        if isinstance(what, int):
            self._wanted = what
            self._choose_wanted()

    @property
    def number(self) -> int:
        """Of the session that is selected; 0 if there is none."""
        return self.list.number

    @property
    def glance(self) -> Glance | None:
        return next((one for one in self.model.rows if one.number == self.number), None)

    def _show_sessions(self, rows: object) -> None:
        assert isinstance(rows, list)
        self.model.set_rows(rows)
        self.pages.setCurrentIndex(1 if rows else 0)
        writable = self._writable()
        self.new.setEnabled(writable)
        if self.desk.state is not None:
            self.empty.button.setEnabled(writable)
            self.empty.sentence.setText(NOTHING if writable else "No training yet, and this league is read-only.")
        self._choose_wanted()
        if rows and not self.number:
            self.list.select(rows[0].number)
        self._show_selected()

    def _choose_wanted(self) -> None:
        if self._wanted and self.model.row_of(self._wanted) >= 0:
            self.list.select(self._wanted)
            self._wanted = 0

    @Slot(int)
    def _select(self, number: int) -> None:
        """One alone, unless it is among those that are compared."""
        if number not in self.model.marked:
            self.model.mark([number])
        else:
            self._look_at_curves()
        self._show_selected()

    def _show_selected(self) -> None:
        one = self.glance
        if one is None:
            return
        self.head.show_session(one, self._writable())
        self.remarks.show_session(one)
        self.settings_view.show_session(one, self._usual_of(one.session.trainer), self.trainees.names)
        self.trainees.look_at(one)
        self._look_at_curves()

    def _usual_of(self, trainer: str) -> dict[str, object]:
        return self._usual.get(trainer, {})

    @Slot()
    def _look_at_curves(self) -> None:
        """Reads what is new of the sessions that are shown; those that have ended are read once."""
        if self.desk.state is None or not self.isVisible():
            return
        marked = self.model.marked
        known: Known = {
            number: {name: curve.known for name, curve in self._curves.get(number, {}).items()} for number in marked
        }
        trainers = {one.session.trainer for one in self.model.rows if one.number in marked} - set(self._usual)
        self.desk.ask("training/curves", partial(read, known, trainers), self._show_curves)

    def _show_curves(self, new: object) -> None:
        assert isinstance(new, Read)
        self._usual |= new.usual
        self._explained |= new.explained
        drawn = list(new.found), any(new.found.values()), bool(new.explained)
        if drawn == (self._drawn, False, False):
            return  # nothing is new, and a chart of ten thousand steps is not drawn for that
        self._drawn = drawn[0]
        for number, parts in new.found.items():
            mine = self._curves.setdefault(number, {})
            for name, part in parts.items():
                if part is None:
                    mine.pop(name, None)
                else:
                    mine.setdefault(name, Curve()).take(part)
        self._draw()

    def _draw(self) -> None:
        rows = {one.number: one.session for one in self.model.rows}
        shown = [
            Shown(number, rows[number].name, rows[number].created, self._curves.get(number, {}),
                  self._explained.get(rows[number].trainer, {}))
            for number in self.model.marked if number in rows
        ]  # fmt: skip
        self.curves.show_sessions(shown)
        self.compared.setText(f"{len(shown)} sessions" if len(shown) > 1 else "")
        one = self.glance
        if one is not None:
            self.settings_view.show_session(one, self._usual_of(one.session.trainer), self.trainees.names)
            self.trainees.set_shares(self._curves.get(one.number, {}).get("validation/share"))

    @Slot()
    def _view_changed(self) -> None:
        smoothing, log = self.smoothing.value() / 100, self.log.isChecked()
        axis = "elapsed" if self.axis.currentIndex() == 1 else "step"
        self.smoothing.setToolTip(percent(smoothing))
        self.curves.set_view(smoothing, log, axis)  # type: ignore[arg-type]
        for name, value in (("smoothing", self.smoothing.value()), ("log", log), ("axis", axis)):
            self.desk.settings.set(f"training/{name}", value)

    @Slot(object)
    def _remember_folded(self, groups: object) -> None:
        self.desk.settings.set("training/folded", groups)

    @Slot(int)
    def _count_players(self, count: int) -> None:
        self.tabs.setTabText(1, f"Players ({count})" if count else "Players")

    @Slot()
    def _forget(self) -> None:
        """Another league."""
        self._curves, self._running, self._drawn = {}, {}, []
        self.model.set_rows([])
        self.pages.setCurrentIndex(0)

    # What is told wherever one looks

    @Slot(object)
    def _notice(self, changes: Sequence[Change]) -> None:
        state = self.desk.state
        if state is None or not any(one.what == "training" for one in changes):
            return
        running = {job.number: job.name for job in state.training.jobs}
        ended = {number: name for number, name in self._running.items() if number not in running}
        self._running = running
        for number in ended:
            self.desk.ask(f"training/end/{number}", partial(how_it_ended, number), self._tell_end)

    def _tell_end(self, told: object) -> None:
        assert isinstance(told, tuple)
        number, text, tone, champion = told
        offer = ("Place it", partial(self.trainees.place_agent, *champion)) if champion and self._writable() else None
        self.desk.say(text, tone, offer or ("Show", partial(self.desk.show, "training", number)))

    @Slot(str)
    def _saved(self, path: str) -> None:
        self.desk.say(f"Saved {Path(path).name}", "good")

    # What a person asks for

    def _writable(self) -> bool:
        state = self.desk.state
        return state is not None and not state.league.read_only

    @Slot()
    def new_session(self) -> None:
        state = self.desk.state
        if state is None:
            self.desk.say("Open a league first", "warn")
        elif state.league.read_only:
            self.desk.say(f"{state.league.path.name} was opened read-only: nothing can be trained in it", "warn")
        else:
            from league_app.gui.dialogs.training_session import SessionSheet

            sheet = SessionSheet(self.desk, self.window())
            sheet.started.connect(self._started)
            sheet.open()

    @Slot(int)
    def _started(self, number: int) -> None:
        self._wanted = number
        self.model.mark([])
        self.desk.show("training", number)
        self.refresh()

    @Slot()
    def pause_resume(self) -> None:
        """The selected session, or the one that runs."""
        one = self._one_running()
        if one is not None:
            self.order("unpause" if one.paused else "pause", one.number)

    @Slot()
    def stop(self) -> None:
        one = self._one_running()
        if one is not None:
            self.order("stop", one.number)

    def _one_running(self) -> Any:
        state = self.desk.state
        jobs = state.training.jobs if state is not None else []
        return next((one for one in jobs if one.number == self.number), jobs[0] if jobs else None)

    @Slot(str)
    def order(self, what: str, number: int = 0) -> None:
        """pause, unpause, stop, kill, resume, change, csv, tensorboard: of the selected session, or that number."""
        state, number = self.desk.state, number or self.number
        if state is None or not number:
            return
        if what == "csv":
            self._save("Save all values", f"session-{number}.csv", "Tables (*.csv)", self._save_csv)
        elif what == "tensorboard":
            self._save("A folder for TensorBoard", "", "", self._save_events)
        elif what == "change":
            self._change(number)
        elif what == "resume":
            self._do(partial(state.training.resume, number))
        else:
            job = next((one for one in state.training.jobs if one.number == number), None)
            if job is not None:
                done = {"pause": job.pause, "unpause": job.resume, "stop": job.stop, "kill": job.kill}
                self._do(done[what])

    def _do(self, doing: Callable[[], object]) -> None:
        """Beside the window: it may write to a slow disk, or wait for a process."""
        self._orders += 1
        self.desk.orders.ask(f"training/{self._orders}", doing, self._done)

    def _done(self, result: object) -> None:
        self.refresh()

    def _change(self, number: int) -> None:
        from league_app.gui.dialogs.training_session import ResumeSheet

        one = next((one for one in self.model.rows if one.number == number), None)
        if one is not None:
            sheet = ResumeSheet(self.desk, one.session, self.window())
            sheet.started.connect(self._started)
            sheet.open()

    def _save(self, title: str, name: str, kinds: str, then: Callable[[str], None]) -> QFileDialog:
        dialog = QFileDialog(self, title, name, kinds)
        if name:
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
            dialog.setDefaultSuffix("csv")
            dialog.selectFile(name)
        else:
            dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(then)
        dialog.open()
        return dialog

    @Slot(str)
    def _save_csv(self, path: str) -> None:
        self._export(path, False)

    @Slot(str)
    def _save_events(self, path: str) -> None:
        self._export(path, True)

    def _export(self, path: str, events: bool) -> None:
        state = self.desk.state
        if state is not None:
            self.desk.work.ask("training/export", partial(export, state, self.number, path, events), self._saved)
