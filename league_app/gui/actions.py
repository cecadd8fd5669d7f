"""Every action of the window, as data: one table feeds the menus, the toolbar, the shortcuts and the command palette.

To add an action, add a line. `run` names a component of the window (see `MainWindow.component`) and its method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from league_app.gui import theme
from league_app.gui.widgets.basics import tooltip_html


@dataclass(frozen=True)
class Action:
    """One user action."""

    menu: str  # "Tournament", or "View/Theme" for a submenu
    text: str
    run: str  # component.method
    shortcut: str = ""
    icon: str = ""
    when: str = ""  # enabled by this condition of `MainWindow.conditions`; empty: always
    checked: str = ""  # checkable, and checked by this condition
    tip: str = ""
    gap: bool = False  # separator above
    argument: object = None  # passed to the method


ACTIONS = (
    Action("League", "New league...", "leagues.new", "Ctrl+N", "new"),
    Action("League", "Open league...", "leagues.open", "Ctrl+O", "open"),
    Action("League", "Open sample league", "leagues.sample", icon="ringside"),
    Action("League", "Back up...", "leagues.backup", "", "save", "league", gap=True),
    Action("League", "Export results...", "leagues.export", "Ctrl+E", "export", "league"),
    Action("League", "Check file", "leagues.check", "", "check", "league", tip="Check the league file for damage"),
    Action("League", "Undo", "context.undo_change", "Ctrl+Z", "undo", "undo", gap=True),
    Action("League", "Redo", "context.redo_change", "Ctrl+Shift+Z", "redo", "redo"),
    Action("League", "Close league", "leagues.close", "Ctrl+W", "cross", "league", gap=True),
    Action("League", "Quit", "window.close", "Ctrl+Q"),
    Action("Agents", "Add ready-made agents...", "agents.add_ready_made", "", "plus", "writable"),
    Action("Agents", "Import agent files...", "agents.import_files", "Ctrl+I", "import", "writable"),
    Action("Agents", "Add USI engine...", "agents.add_engine", "", "engine", "writable",
           tip="Add an external program that speaks the USI protocol"),
    Action("Agents", "Add agent by kind...", "agents.enter", "", "edit", "writable"),
    Action("Agents", "Add yourself", "agents.add_person", "", "human", "writable"),
    Action("Agents", "Show agent page", "agents.open_selected", "", "agent", "agent", gap=True),
    Action("Agents", "Edit...", "agents.edit_selected", "", "edit", "agent"),
    Action("Agents", "Export...", "agents.export_selected", "", "export", "agent"),
    Action("Agents", "Confirm engine...", "agents.confirm_engine", "", "check", "league",
           tip="Review the command of an imported engine and allow it to run on this machine"),
    Action("Agents", "Archive / Restore", "agents.archive_selected", "", "archive", "agent"),
    Action("Agents", "Log engine output", "agents.toggle_log", "", "log", "writable", "engine-log", gap=True,
           tip="Log the messages to and from external engines, one file per player and match"),
    Action("Tournament", "New tournament...", "tournaments.new", "Ctrl+T", "tournament", "writable"),
    Action("Tournament", "Resume last tournament", "run.resume", "Ctrl+R", "play", "resumable"),
    Action("Tournament", "Pause / Resume", "run.pause_resume", "Ctrl+P", "pause", "running", gap=True),
    Action("Tournament", "Finish running matches, then stop", "run.finish", "", "finish", "running"),
    Action("Tournament", "Stop now", "run.stop_now", "Ctrl+.", "stop", "running"),
    Action("Tournament", "Visual mode", "window.toggle_visual", "F5", "eye", "writable", "visual", gap=True,
           tip="On: show the matches of a tournament live, one at a time. Off: play them in batches"),
    Action("Tournament", "Watch a match...", "match.watch", "Ctrl+M", "live", "league"),
    Action("Training", "New session...", "training.new_session", "Ctrl+Shift+T", "training", "writable"),
    Action("Training", "Pause / Resume", "training.pause_resume", "", "pause", "training"),
    Action("Training", "Save checkpoint and stop", "training.stop", "", "stop", "training"),
    Action("View", "Welcome", "window.show_page", "Ctrl+0", "home", argument="welcome"),
    Action("View", "Dashboard", "window.show_page", "Ctrl+1", "dashboard", "league", argument="dashboard"),
    Action("View", "Standings", "window.show_page", "Ctrl+2", "standings", "league", argument="standings"),
    Action("View", "Match", "window.show_page", "Ctrl+3", "live", "league", argument="match"),
    Action("View", "Training", "window.show_page", "Ctrl+4", "training", "league", argument="training"),
    Action("View", "History", "window.show_page", "Ctrl+5", "history", "league", argument="history"),
    Action("View/Board", "Play / Pause", "match.play_pause", "", "play", "league"),
    Action("View/Board", "Slower", "match.slower", "", "minus", "league"),
    Action("View/Board", "Faster", "match.faster", "", "plus", "league"),
    Action("View/Board", "Skip to result", "match.skip", "", "skip-end", "league"),
    Action("View/Board", "Piece style", "match.restyle", "", "palette", "league",
           tip="Switch to the next style, in games with several, such as Shogi with letters"),
    Action("View/Board", "Take over seat", "match.take_over", "", "human", "league"),
    Action("View/Board", "Watch live match", "match.watch_live", "", "live", "running"),
    Action("View/Theme", "System", "view.set_theme", "", "theme", "", "theme-system", argument="system"),
    Action("View/Theme", "Light", "view.set_theme", "", "sun", "", "theme-light", argument="light"),
    Action("View/Theme", "Dark", "view.set_theme", "", "moon", "", "theme-dark", argument="dark"),
    Action("View", "Toggle light / dark", "view.flip_theme", "Ctrl+Shift+L", "theme"),
    Action("View", "Agents panel", "view.toggle_dock", "Ctrl+Shift+A", "agents", "", "dock-agents", gap=True,
           argument="agents"),
    Action("View", "Run panel", "view.toggle_dock", "Ctrl+Shift+R", "cpu", "", "dock-run", argument="run"),
    Action("View", "Log panel", "view.toggle_dock", "Ctrl+Shift+G", "log", "", "dock-log", argument="log"),
    Action("View", "Reduce motion", "view.toggle_motion", "", "speed", "", "still"),
    Action("View", "Full screen", "view.toggle_full_screen", "F11", "fullscreen", "", "full-screen"),
    Action("View", "Reset layout", "view.reset_layout", "", "restore",
           tip="Restore the default panels, columns and window size"),
    Action("Help", "Command palette...", "help.palette", "Ctrl+K", "palette"),
    Action("Help", "Guide", "help.guide", "F1", "help", tip="Open the guide at the page for the current view"),
    Action("Help", "Keyboard shortcuts", "help.shortcuts", "Ctrl+/", "keyboard"),
    Action("Help", "About Ringside", "help.about", "", "info"),
)  # fmt: skip
MENUS = ("League", "Agents", "Tournament", "Training", "View", "Help")
TOOLBAR = ("tournaments.new", "run.resume", "run.pause_resume", "run.stop_now")


class Actions(QObject):
    """The QActions of the table. Components are looked up when an action runs, so they may be created later."""

    def __init__(self, component: Callable[[str], Any], parent: QWidget) -> None:
        super().__init__(parent)
        self._component = component
        self.qt_actions: dict[Action, QAction] = {}
        for action in ACTIONS:
            qt_action = QAction(action.text, parent)
            qt_action.setObjectName(action.run if action.argument is None else f"{action.run}:{action.argument}")
            qt_action.setCheckable(bool(action.checked))
            if action.shortcut:
                qt_action.setShortcut(QKeySequence(action.shortcut))
            tip = (
                f"{action.tip or action.text.rstrip('.')} ({action.shortcut})"
                if action.shortcut
                else action.tip or action.text
            )
            qt_action.setToolTip(tooltip_html(tip))
            qt_action.triggered.connect(self._run)
            parent.addAction(qt_action)  # makes the shortcut work while the menu is closed
            self.qt_actions[action] = qt_action
        self.update_icons()

    def update_icons(self) -> None:
        """Tints the icons with the current palette."""
        for action, qt_action in self.qt_actions.items():
            if action.icon:
                qt_action.setIcon(theme.icon(action.icon))

    def build_menus(self, bar: QMenuBar) -> dict[str, QMenu]:
        """Fills the menu bar; returns the menus by path."""
        menus: dict[str, QMenu] = {}
        for name in MENUS:
            menus[name] = bar.addMenu(name)
            menus[name].setToolTipsVisible(True)
        for action, qt_action in self.qt_actions.items():
            if action.menu not in menus:
                outer, _, inner = action.menu.partition("/")
                menus[action.menu] = menus[outer].addMenu(inner)
            if action.gap:
                menus[action.menu].addSeparator()
            menus[action.menu].addAction(qt_action)
        return menus

    def find(self, run: str) -> QAction:
        return next(qt_action for action, qt_action in self.qt_actions.items() if action.run == run)

    def update(self, conditions: Mapping[str, bool]) -> None:
        """Enables and checks the actions."""
        for action, qt_action in self.qt_actions.items():
            qt_action.setEnabled(conditions.get(action.when, False) if action.when else True)
            if action.checked:
                qt_action.setChecked(conditions.get(action.checked, False))

    def run(self, action: Action) -> None:
        component, _, method = action.run.partition(".")
        call = getattr(self._component(component), method)
        call() if action.argument is None else call(action.argument)

    @Slot()
    def _run(self) -> None:
        sender = self.sender()
        for action, qt_action in self.qt_actions.items():
            if qt_action is sender:
                self.run(action)
                return
