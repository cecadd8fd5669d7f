"""The window: pages, panels and bars around one desk."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QTimer, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QTabBar, QWidget

from engine.errors import NotConfirmed, RingsideError, StorageFailed
from engine.league.storage.database import SUFFIX
from league_app.gui import theme
from league_app.gui.actions import Actions
from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.gui.help_actions import Help
from league_app.gui.league_files import Leagues, running_words
from league_app.gui.status_poller import News
from league_app.gui.page import Page
from league_app.gui.pages.welcome import WelcomePage
from league_app.gui.dialogs.messages import Question, Trouble
from league_app.core.state import LeagueState
from league_app.gui.toolbar import Status, Toolbar
from league_app.gui.window_layout import SIZE, View
from league_app.gui.widgets.basics import column
from league_app.gui.widgets.toasts import Toasts

REPLAY = ".replay"
PAGES = {  # a tab each; they are made when they are first wanted, or when there is nothing else to do
    "dashboard": ("Dashboard", "league_app.gui.pages.dashboard:DashboardPage"),
    "standings": ("Standings", "league_app.gui.pages.standings:StandingsPage"),
    "match": ("Match", "league_app.gui.match.page:MatchPage"),
    "training": ("Training", "league_app.gui.training.page:TrainingPage"),
    "history": ("History", "league_app.gui.history.page:HistoryPage"),
    "agent": ("", "league_app.gui.pages.agent:AgentPage"),  # over the tabs, without one of its own
}
ASIDE = {  # what `Desk.show` can ask for beside pages
    "live": ("match", "watch_live"),
    "resume": ("run", "resume"),
    "tournament-sheet": ("tournaments", "new"),
    "session-sheet": ("training", "new_session"),
    "ready-made-sheet": ("agents", "add_ready_made"),
}
DOCKS = {
    "agents": "league_app.gui.docks.agents:AgentsDock",
    "run": "league_app.gui.docks.run:RunDock",
    "log": "league_app.gui.docks.log:LogDock",
}


class Window(QMainWindow):
    """Shows and emits; what is going on is known to the desk's league."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.setObjectName("window")
        self.setWindowTitle("Ringside")
        self.setWindowIcon(theme.app_icon())
        self.resize(*SIZE)
        self.setMinimumSize(960, 600)
        self.setAcceptDrops(True)
        self._closing = self._resumable = False
        self._followed = 0  # the tournament that the standings were turned to when it began
        self._visual: bool | None = None  # what the toggle was last set to, until the league has heard of it
        self.leagues = Leagues(desk, self)
        self.pages: dict[str, Page] = {}
        self.docks: dict[str, Any] = {}
        self.welcome = WelcomePage(desk, self.leagues)
        self._build_centre()
        self.acts = Actions(self.part, self)
        self._build_menus()
        self.bar, self.status = Toolbar(desk, self.acts), Status(desk)
        self.addToolBar(self.bar)
        self.setStatusBar(self.status)
        self.view, self.help = View(desk, self, self.docks), Help(desk, self, self.acts)
        self.toasts, self.news = Toasts(self), News(desk, self)
        self._listen()
        self.show_page("welcome")
        self.update_actions()

    def _build_centre(self) -> None:
        self.tabs = QTabBar()
        self.tabs.setAccessibleName("Pages")
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        self.stack = QStackedWidget()
        for title, _ in PAGES.values():
            if title:
                self.tabs.addTab(title)
        tabbed = QWidget()
        tabbed.setLayout(column(self.tabs, self.stack, gap=0))
        self.outer = QStackedWidget()
        self.outer.addWidget(self.welcome)
        self.outer.addWidget(tabbed)
        self.setCentralWidget(self.outer)
        self.tabs.tabBarClicked.connect(self._tab)  # also the one that is selected, under an agent's page
        self.tabs.currentChanged.connect(self._tab)

    def _build_menus(self) -> None:
        menus = self.acts.fill(self.menuBar())
        menus["League"].insertMenu(self.acts.named("leagues.sample"), self.leagues.recent)
        menus["Agents"].aboutToShow.connect(self.update_actions)

    def _listen(self) -> None:
        desk = self.desk
        desk.said.connect(self.toasts.say)
        desk.said.connect(self._log)
        desk.failed.connect(self._fail)
        desk.wanted.connect(self.show_page)
        desk.opened.connect(self._opened)
        desk.changed.connect(self._hear)
        desk.undo.indexChanged.connect(self.update_actions)
        self.leagues.busy.connect(self._say_busy)
        self.bar.toggled.connect(self.toggle_visual)
        for hear in (self.bar.tell, self.status.tell, self._enable):
            self.news.told.connect(hear)

    # Parts

    def part(self, name: str) -> Any:
        """Whom an action calls; what is not there yet is made."""
        if name in ("window", "tournaments"):
            return self
        if name in DOCKS:
            return self.dock(name)
        return self.page(name) if name in PAGES else getattr(self, name)

    def page(self, name: str) -> Any:
        if name not in self.pages:
            made = _found(PAGES[name][1])(self.desk)
            self.stack.addWidget(made)
            self.pages[name] = made
        return self.pages[name]

    def dock(self, name: str) -> Any:
        if name not in self.docks:
            made = self.docks[name] = _found(DOCKS[name])(self.desk)
            self.view.place(name, made)
            if name == "agents":
                made.dropped.connect(self.take_files)
        return self.docks[name]

    @Slot()
    def furnish(self) -> None:
        """Make one more part; then, when there is nothing else to do, the next."""
        places = {**DOCKS, **{name: where for name, (_, where) in PAGES.items()}}
        missing = [name for name in places if name not in self.docks and name not in self.pages]
        if missing:
            loaded = places[missing[0]].partition(":")[0] in sys.modules
            self.part(missing[0]) if loaded else _found(places[missing[0]])  # in two steps: each holds up the window
            QTimer.singleShot(0, self.furnish)
        else:
            gc.collect()
            gc.freeze()  # or looking through all these widgets again and again holds up the window

    # Pages

    @Slot(str, object)
    def show_page(self, name: str, what: object = None) -> None:
        """As `Desk.show` was asked; without a league there is only the welcome page."""
        if name in ASIDE:
            part, method = ASIDE[name]
            if part in PAGES:
                self.show_page(part)
            getattr(self.part(part), method)()
            return
        welcome = name == "welcome" or self.desk.state is None
        if not welcome:
            for one in DOCKS:
                self.dock(one)
        self.outer.setCurrentIndex(0 if welcome else 1)
        self.view.show_sides(not welcome)
        if welcome:
            return
        if PAGES[name][0]:
            self.tabs.blockSignals(True)
            self.tabs.setCurrentIndex(list(PAGES).index(name))
            self.tabs.blockSignals(False)
        page = self.page(name)
        self.stack.setCurrentWidget(page)
        if what is not None:
            page.show_what(what)

    @Slot(int)
    def _tab(self, place: int) -> None:
        if place >= 0:
            self.show_page(list(PAGES)[place])

    @Slot()
    def new(self) -> None:
        """A tournament."""
        from league_app.gui.dialogs.tournament import TournamentSheet

        if self.desk.state is None:
            self.desk.say("Open a league first: the sample league has agents that can play", "warn")
        elif self.desk.league.league.read_only:
            self.desk.say("This league is open for looking only: nothing can be played in it", "warn")
        else:
            TournamentSheet(self.desk, self).open()

    @Slot()
    def toggle_visual(self) -> None:
        """Beside the window: the run may have to be told, and the choice is kept in the file."""
        state = self.desk.state
        if state is not None:
            self._visual = not (state.show_visuals if self._visual is None else self._visual)
            self.desk.orders.ask("visual", _Switch(state, self._visual), self._toggled, self._not_toggled)
            self.update_actions()

    def _toggled(self, on: bool) -> None:
        self._visual = None
        state = self.desk.state
        if on and state is not None and state.running:
            self.show_page("match")
        self.update_actions()

    def _not_toggled(self, error: Exception) -> None:
        self._visual = None
        self.desk.say(str(error), "warn") if isinstance(error, RingsideError) else self._fail(error)
        self.update_actions()

    # News

    @Slot(object)
    def _hear(self, changes: Sequence[Change]) -> None:
        kinds = {one.what for one in changes}
        if kinds & {"agents", "tournaments"}:
            self.bar.games.fill()
        job = self.desk.league.job if self.desk.state is not None else None
        if job is not None and job.number != self._followed and "standings" in self.pages:
            self._followed = job.number
            self.page("standings").show_what(job.number)
        if "tournaments" in kinds:
            self.desk.ask("resumable", _resumable, self._know_resumable)
        if kinds - {"matches"}:
            self.update_actions()

    def _know_resumable(self, able: bool) -> None:
        self._resumable = able
        self.update_actions()

    @Slot()
    def _opened(self) -> None:
        state = self.desk.state
        name = state.league.name.replace("[*]", "[*][*]") if state is not None else ""  # Qt's sign for "modified"
        self.setWindowTitle(f"{name} - Ringside" if name else "Ringside")
        self._resumable = False
        self.bar.games.fill()
        if state is None:
            self._stop_showing()
            self.show_page("welcome")
        else:
            self.dock("run").offer_resume()
            self.desk.ask("resumable", _resumable, self._know_resumable)
        self.update_actions()

    @Slot()
    def update_actions(self) -> None:
        self._enable()
        self.news.ask()

    @Slot()
    def _enable(self) -> None:
        conditions = {**self.view.conditions(), **self.conditions()}
        self.acts.update(conditions)
        self.bar.update_state(conditions)

    def conditions(self) -> dict[str, bool]:
        """What actions depend on."""
        state = self.desk.state
        job = state.job if state is not None else None
        writable = state is not None and not state.league.read_only
        return {
            "league": state is not None,
            "writable": writable,
            "running": job is not None,
            "paused": job is not None and self.news.now.paused,
            "resumable": writable and job is None and self._resumable,
            "training": state is not None and bool(state.training.jobs),
            "agent": state is not None and "agents" in self.docks and bool(self.docks["agents"].selected()),
            "visual": state is not None and (state.show_visuals if self._visual is None else self._visual),
            "engine-log": state is not None and bool(state.engine_log),
            "undo": self.desk.undo.canUndo(),
            "redo": self.desk.undo.canRedo(),
        }

    @Slot(str, str, object)
    def _log(self, text: str, tone: str, offer: object) -> None:
        self.dock("log").add(text, tone)

    @Slot(object)
    def _fail(self, error: object) -> None:
        """What a person can do something about is a few words; what should not happen is a report."""
        state = self.desk.state
        if isinstance(error, StorageFailed) and state is not None and not state.league.path.exists():
            told = f"{state.league.path} is not there any more: put it back, or close the league"
            self.desk.say(told, "bad")
        elif isinstance(error, NotConfirmed):
            self.dock("agents").handling.confirm(error.agent, self)
        elif isinstance(error, RingsideError):
            self.desk.say(str(error), "bad")
        elif isinstance(error, BaseException) and not self.findChildren(Trouble):
            Trouble(self, error).open()  # one at a time: what breaks on every frame would bury the window

    @Slot(str)
    def _say_busy(self, words: str) -> None:
        self.welcome.say_busy(words)
        self.status.say_busy(words)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "acts"):
            self.acts.tint()
        super().changeEvent(event)

    # Files

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        event.acceptProposedAction()
        self.take_files([Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()])

    @Slot(object)
    def take_files(self, paths: Sequence[Path]) -> None:
        """A league is opened, a replay shown, agents are imported."""
        leagues = [path for path in paths if path.suffix == SUFFIX]
        if leagues:
            self.leagues.open_path(leagues[0])
            return
        if paths and self.desk.state is None:
            self.desk.say(f"{paths[0].name} is no league: open one first, then drop agents and replays on it", "warn")
            return
        for path in [one for one in paths if one.suffix == REPLAY][:1]:
            self.show_page("match", path)
        agents = [path for path in paths if path.suffix not in (SUFFIX, REPLAY)]
        if agents:
            self.dock("agents").take(agents)

    # The end

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Asks once if something runs; then saves beside the window, and closes when that is done."""
        if self.desk.state is None and not self.leagues.unsettled:
            self.view.keep()
            self._stop_showing()
            self.news.stop()
            self.desk.close()
            event.accept()
            return
        event.ignore()
        if self._closing:
            return
        told = running_words(self.desk.state)
        if not told:
            self._close_now()
            return
        more = "It is stopped and saved, and can be resumed next time."
        Question(self, told, more, "Stop and quit", self._close_now, "Keep running", danger=False).open()

    def _stop_showing(self) -> None:
        """Exhibitions are played for this window alone."""
        if "match" in self.pages:
            self.page("match").stop()

    def close_unasked(self) -> None:
        """Whoever sent a signal is not there to answer."""
        if not self._closing:
            self._close_now()

    def _close_now(self) -> None:
        self.view.keep()
        self._closing = True
        self.leagues.leave_silently(self.close)


def _found(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)


class _Switch:
    def __init__(self, state: LeagueState, on: bool) -> None:
        self._state, self._on = state, on

    def __call__(self) -> bool:
        self._state.show_visuals = self._on
        return self._on


def _resumable(state: LeagueState) -> bool:
    return bool(state.unfinished())
