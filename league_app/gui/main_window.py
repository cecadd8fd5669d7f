"""The main window: pages, docks, toolbar, status bar and menus."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QTimer, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QTabBar, QWidget

from engine.errors import NotConfirmed, RingsideError, StorageFailed
from engine.league.storage.database import SUFFIX
from league_app.core.changes import Change
from league_app.core.state import LeagueState
from league_app.gui import theme
from league_app.gui.actions import Actions
from league_app.gui.context import AppContext
from league_app.gui.dialogs.messages import ConfirmDialog, ErrorDialog
from league_app.gui.help_actions import HelpActions
from league_app.gui.league_files import RESUMABLE, LeagueFileActions, running_text
from league_app.gui.page import Page
from league_app.gui.pages.welcome import WelcomePage
from league_app.gui.toolbar import StatusBar, Toolbar
from league_app.gui.widgets.basics import column
from league_app.gui.widgets.toasts import Toasts
from league_app.gui.window_layout import SIZE, WindowLayout

REPLAY = ".replay"
PAGES = {  # one tab each; created on first use, or when the event loop is idle
    "dashboard": ("Dashboard", "league_app.gui.pages.dashboard:DashboardPage"),
    "standings": ("Standings", "league_app.gui.pages.standings:StandingsPage"),
    "match": ("Match", "league_app.gui.match.page:MatchPage"),
    "training": ("Training", "league_app.gui.training.page:TrainingPage"),
    "history": ("History", "league_app.gui.history.page:HistoryPage"),
    "agent": ("", "league_app.gui.pages.agent:AgentPage"),  # shown over the tabs, has no tab
}
COMMANDS = {  # targets of `AppContext.navigate` that are not pages: component and method
    "live": ("match", "watch_live"),
    "resume": ("run", "resume"),
    "guide": ("help", "guide"),
    "tournament-dialog": ("tournaments", "new"),
    "session-dialog": ("training", "new_session"),
    "ready-made-dialog": ("agents", "add_ready_made"),
}
DOCKS = {
    "agents": "league_app.gui.docks.agents:AgentsDock",
    "run": "league_app.gui.docks.run:RunDock",
    "log": "league_app.gui.docks.log:LogDock",
}


class MainWindow(QMainWindow):
    """Creates the components and connects them to the context, which holds the league."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self.setObjectName("window")
        self.setWindowTitle("Ringside")
        self.setWindowIcon(theme.app_icon())
        self.resize(*SIZE)
        self.setMinimumSize(960, 600)
        self.setAcceptDrops(True)
        self._closing = self._resumable = False
        self._followed = 0  # the running tournament that the standings page was switched to
        self._visual: bool | None = None  # requested state of the visual toggle, until the league has applied it
        self.leagues = LeagueFileActions(context, self)
        self.pages: dict[str, Page] = {}
        self.docks: dict[str, Any] = {}
        self.welcome = WelcomePage(context, self.leagues)
        self._build_centre()
        self.menu_actions = Actions(self.component, self)
        self._build_menus()
        self.toolbar, self.status_bar = Toolbar(context, self.menu_actions), StatusBar(context)
        self.addToolBar(self.toolbar)
        self.setStatusBar(self.status_bar)
        self.view, self.help = (
            WindowLayout(context, self, self.docks),
            HelpActions(context, self, self.menu_actions, self.guide_page),
        )
        self.toasts = Toasts(self)
        self._connect_signals()
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
        self.tabs.tabBarClicked.connect(self._tab)  # also the selected tab, to leave an agent's page
        self.tabs.currentChanged.connect(self._tab)

    def _build_menus(self) -> None:
        menus = self.menu_actions.build_menus(self.menuBar())
        menus["League"].insertMenu(self.menu_actions.find("leagues.sample"), self.leagues.recent)
        menus["Agents"].aboutToShow.connect(self.update_actions)

    def _connect_signals(self) -> None:
        context = self.context
        context.notified.connect(self.toasts.show_message)
        context.notified.connect(self._log)
        context.failed.connect(self._show_error)
        context.navigation_requested.connect(self.show_page)
        context.opened.connect(self._opened)
        context.changed.connect(self._on_changes)
        context.undo.indexChanged.connect(self.update_actions)
        self.leagues.busy.connect(self._show_busy)
        self.toolbar.toggled.connect(self.toggle_visual)
        for update in (self.toolbar.show_status, self.status_bar.show_status, self._enable):
            context.monitor.sampled.connect(update)

    # Components

    def component(self, name: str) -> Any:
        """The object that an action calls, created if necessary."""
        if name in ("window", "tournaments"):
            return self
        if name in DOCKS:
            return self.dock(name)
        return self.page(name) if name in PAGES else getattr(self, name)

    def page(self, name: str) -> Any:
        if name not in self.pages:
            page = _import(PAGES[name][1])(self.context)
            self.stack.addWidget(page)
            self.pages[name] = page
        return self.pages[name]

    def dock(self, name: str) -> Any:
        if name not in self.docks:
            dock = self.docks[name] = _import(DOCKS[name])(self.context)
            self.view.place(name, dock)
            if name == "agents":
                dock.dropped.connect(self.open_files)
        return self.docks[name]

    @Slot()
    def preload_pages(self) -> None:
        """Creates one missing page or dock, then continues when the event loop is idle."""
        places = {**DOCKS, **{name: where for name, (_, where) in PAGES.items()}}
        missing = [name for name in places if name not in self.docks and name not in self.pages]
        if missing:
            if places[missing[0]].partition(":")[0] in sys.modules:
                self.component(missing[0])
            else:
                _import(places[missing[0]])  # a step of its own: importing and creating each block the window
            QTimer.singleShot(0, self.preload_pages)
        else:
            gc.collect()
            gc.freeze()  # or every collection would scan all these widgets and block the window

    # Pages

    @Slot(str, object)
    def show_page(self, name: str, what: object = None) -> None:
        """Handles `AppContext.navigate`; without a league only the welcome page is shown."""
        if name in COMMANDS:
            part, method = COMMANDS[name]
            if part in PAGES:
                self.show_page(part)
            getattr(self.component(part), method)(*(() if what is None else (what,)))
            return
        welcome = name == "welcome" or self.context.state is None
        if not welcome:
            for dock in DOCKS:
                self.dock(dock)
        self.outer.setCurrentIndex(0 if welcome else 1)
        self.view.show_panels(not welcome)
        if welcome:
            return
        if PAGES[name][0]:
            self.tabs.blockSignals(True)
            self.tabs.setCurrentIndex(list(PAGES).index(name))
            self.tabs.blockSignals(False)
        page = self.page(name)
        self.stack.setCurrentWidget(page)
        if what is not None:
            page.show_item(what)

    def guide_page(self) -> str:
        """The page of the guide about what is on the screen."""
        page = self.stack.currentWidget()
        return page.guide if self.outer.currentIndex() == 1 and isinstance(page, Page) else "index"

    @Slot(int)
    def _tab(self, place: int) -> None:
        if place >= 0:
            self.show_page(list(PAGES)[place])

    @Slot()
    def new(self) -> None:
        """Opens the dialog for a new tournament."""
        from league_app.gui.dialogs.tournament import TournamentDialog

        if self.context.state is None:
            self.context.notify("Open a league first, for example the sample league", "warn")
        elif self.context.league.league.read_only:
            self.context.notify("This league is open read-only: no tournament can be started", "warn")
        else:
            TournamentDialog(self.context, self).open()

    @Slot()
    def toggle_visual(self) -> None:
        """Runs in the background: it may wait for the running tournament, and is saved in the league file."""
        state = self.context.state
        if state is not None:
            self._visual = not (state.show_visuals if self._visual is None else self._visual)
            self.context.command_queue.submit(
                "visual", partial(_set_visual, state, self._visual), self._toggled, self._not_toggled
            )
            self.update_actions()

    def _toggled(self, on: bool) -> None:
        self._visual = None
        state = self.context.state
        if on and state is not None and state.running:
            self.show_page("match")
        self.update_actions()

    def _not_toggled(self, error: Exception) -> None:
        self._visual = None
        self.context.notify(str(error), "warn") if isinstance(error, RingsideError) else self._show_error(error)
        self.update_actions()

    # Updates

    @Slot(object)
    def _on_changes(self, changes: Sequence[Change]) -> None:
        kinds = {change.what for change in changes}
        if kinds & {"agents", "tournaments"}:
            self.toolbar.games.fill()
        job = self.context.league.job if self.context.state is not None else None
        if job is not None and job.number != self._followed and "standings" in self.pages:
            self._followed = job.number
            self.page("standings").show_item(job.number)
        if "tournaments" in kinds:
            self.context.ask("resumable", _resumable, self._set_resumable)
        if kinds - {"matches"}:
            self.update_actions()

    def _set_resumable(self, resumable: bool) -> None:
        self._resumable = resumable
        self.update_actions()

    @Slot()
    def _opened(self) -> None:
        state = self.context.state
        name = state.league.name.replace("[*]", "[*][*]") if state is not None else ""  # [*] is Qt's placeholder
        self.setWindowTitle(f"{name} - Ringside" if name else "Ringside")
        self._resumable = False
        self.toolbar.games.fill()
        if state is None:
            self._stop_exhibition()
            self.show_page("welcome")
        else:
            self.dock("run").offer_resume()
            self.context.ask("resumable", _resumable, self._set_resumable)
        self.update_actions()

    @Slot()
    def update_actions(self) -> None:
        self._enable()
        self.context.monitor.poll()

    @Slot()
    def _enable(self) -> None:
        conditions = {**self.view.conditions(), **self.conditions()}
        self.menu_actions.update(conditions)
        self.toolbar.update_state(conditions)

    def conditions(self) -> dict[str, bool]:
        """The conditions that enable and check actions."""
        state = self.context.state
        job = state.job if state is not None else None
        writable = state is not None and not state.league.read_only
        return {
            "league": state is not None,
            "writable": writable,
            "running": job is not None,
            "paused": job is not None and self.context.monitor.latest.paused,
            "resumable": writable and job is None and self._resumable,
            "training": state is not None and bool(state.training.jobs),
            "agent": state is not None and "agents" in self.docks and bool(self.docks["agents"].selected()),
            "visual": state is not None and (state.show_visuals if self._visual is None else self._visual),
            "engine-log": state is not None and bool(state.engine_log),
            "undo": self.context.undo.canUndo(),
            "redo": self.context.undo.canRedo(),
        }

    @Slot(str, str, object)
    def _log(self, text: str, tone: str, offer: object) -> None:
        self.dock("log").add(text, tone)

    @Slot(object)
    def _show_error(self, error: object) -> None:
        """Shows an expected error as a toast, and an unexpected one as a report."""
        state = self.context.state
        if isinstance(error, StorageFailed) and state is not None and not state.league.path.exists():
            text = f"{state.league.path} was moved or deleted: restore it, or close the league"
            self.context.notify(text, "bad")
        elif isinstance(error, NotConfirmed):
            self.dock("agents").agent_actions.confirm(error.agent, self)
        elif isinstance(error, RingsideError):
            self.context.notify(str(error), "bad")
        elif isinstance(error, BaseException) and not self.findChildren(ErrorDialog):
            ErrorDialog(self, error).open()  # one at a time: an error in a paint event repeats with every frame

    @Slot(str)
    def _show_busy(self, text: str) -> None:
        self.welcome.show_busy(text)
        self.status_bar.show_busy(text)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "menu_actions"):
            self.menu_actions.update_icons()
        super().changeEvent(event)

    # Files

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        event.acceptProposedAction()
        self.open_files([Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()])

    @Slot(object)
    def open_files(self, paths: Sequence[Path]) -> None:
        """Opens a league, shows a replay, or imports agents."""
        leagues = [path for path in paths if path.suffix == SUFFIX]
        if leagues:
            self.leagues.open_path(leagues[0])
            return
        if paths and self.context.state is None:
            self.context.notify(
                f"{paths[0].name} is not a league: open a league before you drop agents and replays", "warn"
            )
            return
        for path in [file for file in paths if file.suffix == REPLAY][:1]:
            self.show_page("match", path)
        agents = [path for path in paths if path.suffix not in (SUFFIX, REPLAY)]
        if agents:
            self.dock("agents").import_paths(agents)

    # Closing

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Asks once if a run would be interrupted; then saves in the background, and closes the window afterwards."""
        if self.context.state is None and not self.leagues.switching:
            self.view.save()
            self._stop_exhibition()
            self.help.close_guide()
            self.context.close()
            event.accept()
            return
        event.ignore()
        if self._closing:
            return
        text = running_text(self.context.state)
        if not text:
            self._close_now()
            return
        more = f"Quitting stops it. {RESUMABLE}"
        ConfirmDialog(self, text, more, "Stop and quit", self._close_now, "Keep running", danger=False).open()

    def _stop_exhibition(self) -> None:
        """Stops the match that is played for this window only."""
        if "match" in self.pages:
            self.page("match").stop()

    def close_without_asking(self) -> None:
        """Closes after a signal, when there may be no user to ask."""
        if not self._closing:
            self._close_now()

    def _close_now(self) -> None:
        self.view.save()
        self._closing = True
        self.leagues.close_without_asking(self.close)


def _import(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)


def _set_visual(state: LeagueState, on: bool) -> bool:
    state.show_visuals = on
    return on


def _resumable(state: LeagueState) -> bool:
    return bool(state.unfinished())
