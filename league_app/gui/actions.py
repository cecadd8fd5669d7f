"""Every action of the window, as data: one table feeds the menus, the toolbar, the shortcuts and the command palette.

A new action is a line here. `run` names what is called: a part of the window (see `Window.parts`) and a method of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from league_app.gui import theme
from league_app.gui.widgets.basics import plain


@dataclass(frozen=True)
class Action:
    """What a person can do, by whichever way."""

    menu: str  # "Tournament", or "View/Theme" for one inside another
    text: str
    run: str  # part.method
    shortcut: str = ""
    icon: str = ""
    when: str = ""  # a condition of `Window.conditions`; empty for always
    checked: str = ""  # a condition that says whether it is switched on
    tip: str = ""
    gap: bool = False  # a line above it
    argument: object = None  # what the method is given


ACTIONS = (
    Action("League", "New league...", "leagues.new", "Ctrl+N", "new"),
    Action("League", "Open league...", "leagues.open", "Ctrl+O", "open"),
    Action("League", "Open the sample league", "leagues.sample", icon="ringside"),
    Action("League", "Back up...", "leagues.backup", "", "save", "league", gap=True),
    Action("League", "Export results...", "leagues.export", "Ctrl+E", "export", "league"),
    Action("League", "Check the file", "leagues.check", "", "check", "league", tip="Looks whether anything is damaged"),
    Action("League", "Undo", "desk.take_back", "Ctrl+Z", "undo", "undo", gap=True),
    Action("League", "Redo", "desk.do_again", "Ctrl+Shift+Z", "redo", "redo"),
    Action("League", "Close league", "leagues.close", "Ctrl+W", "cross", "league", gap=True),
    Action("League", "Quit", "window.close", "Ctrl+Q"),
    Action("Agents", "Add ready-made agents...", "agents.add_ready_made", "", "plus", "writable"),
    Action("Agents", "Import agent files...", "agents.import_files", "Ctrl+I", "import", "writable"),
    Action("Agents", "Add engine...", "agents.add_engine", "", "engine", "writable",
           tip="A program that speaks USI: it is asked who it is, and what it can be set to"),
    Action("Agents", "Enter by kind and payload...", "agents.enter", "", "edit", "writable"),
    Action("Agents", "Add yourself", "agents.add_person", "", "human", "writable"),
    Action("Agents", "Open its page", "agents.open_selected", "", "agent", "agent", gap=True),
    Action("Agents", "Edit...", "agents.edit_selected", "", "edit", "agent"),
    Action("Agents", "Export...", "agents.export_selected", "", "export", "agent"),
    Action("Agents", "Confirm an engine...", "agents.confirm_engine", "", "check", "league",
           tip="Shows the whole command of an engine that came from elsewhere, and lets it run on this machine"),
    Action("Agents", "Archive or restore", "agents.archive_selected", "", "archive", "agent"),
    Action("Agents", "Write down what engines say", "agents.toggle_log", "", "log", "writable", "engine-log", gap=True,
           tip="Every conversation with an external engine goes into a file of its own"),
    Action("Tournament", "New tournament...", "tournaments.new", "Ctrl+T", "tournament", "writable"),
    Action("Tournament", "Resume the last one", "run.resume", "Ctrl+R", "play", "resumable"),
    Action("Tournament", "Pause or go on", "run.pause_resume", "Ctrl+P", "pause", "running", gap=True),
    Action("Tournament", "Finish what is played, then stop", "run.finish", "", "finish", "running"),
    Action("Tournament", "Stop now", "run.stop_now", "Ctrl+.", "stop", "running"),
    Action("Tournament", "Visual mode", "window.toggle_visual", "F5", "eye", "writable", "visual", gap=True,
           tip="Matches of a tournament are shown live, one at a time; off: they are played in batches"),
    Action("Tournament", "Watch a match...", "match.watch", "Ctrl+M", "live", "league"),
    Action("Training", "New session...", "training.new_session", "Ctrl+Shift+T", "training", "writable"),
    Action("Training", "Pause or go on", "training.pause_resume", "", "pause", "training"),
    Action("Training", "Stop with a checkpoint", "training.stop", "", "stop", "training"),
    Action("View", "Welcome", "window.show_page", "Ctrl+0", "home", argument="welcome"),
    Action("View", "Dashboard", "window.show_page", "Ctrl+1", "dashboard", "league", argument="dashboard"),
    Action("View", "Standings", "window.show_page", "Ctrl+2", "standings", "league", argument="standings"),
    Action("View", "Match", "window.show_page", "Ctrl+3", "live", "league", argument="match"),
    Action("View", "Training", "window.show_page", "Ctrl+4", "training", "league", argument="training"),
    Action("View", "History", "window.show_page", "Ctrl+5", "history", "league", argument="history"),
    Action("View/Board", "Play or pause", "match.play_pause", "", "play", "league"),
    Action("View/Board", "Slower", "match.slower", "", "minus", "league"),
    Action("View/Board", "Faster", "match.faster", "", "plus", "league"),
    Action("View/Board", "Skip to result", "match.skip", "", "skip-end", "league"),
    Action("View/Board", "Other way of drawing", "match.restyle", "", "palette", "league",
           tip="For games that can be drawn in several ways, such as Shogi with letters"),
    Action("View/Board", "Take over a seat", "match.take_over", "", "human", "league"),
    Action("View/Board", "Watch the live match", "match.watch_live", "", "live", "running"),
    Action("View/Theme", "As the system", "view.set_theme", "", "theme", "", "theme-system", argument="system"),
    Action("View/Theme", "Light", "view.set_theme", "", "sun", "", "theme-light", argument="light"),
    Action("View/Theme", "Dark", "view.set_theme", "", "moon", "", "theme-dark", argument="dark"),
    Action("View", "Switch light and dark", "view.flip_theme", "Ctrl+Shift+L", "theme"),
    Action("View", "Agents panel", "view.toggle_dock", "Ctrl+Shift+A", "agents", "", "dock-agents", gap=True,
           argument="agents"),
    Action("View", "Run panel", "view.toggle_dock", "Ctrl+Shift+R", "cpu", "", "dock-run", argument="run"),
    Action("View", "Log", "view.toggle_dock", "Ctrl+Shift+G", "log", "", "dock-log", argument="log"),
    Action("View", "Reduce motion", "view.toggle_motion", "", "speed", "", "still"),
    Action("View", "Full screen", "view.toggle_full_screen", "F11", "fullscreen", "", "full-screen"),
    Action("View", "Reset the layout", "view.reset_layout", "", "restore",
           tip="Panels, columns and the window's size as at the first start"),
    Action("Help", "Command palette...", "help.palette", "Ctrl+K", "palette"),
    Action("Help", "Keyboard shortcuts", "help.shortcuts", "F1", "keyboard"),
    Action("Help", "About Ringside", "help.about", "", "info"),
)  # fmt: skip
MENUS = ("League", "Agents", "Tournament", "Training", "View", "Help")
TOOLBAR = ("tournaments.new", "run.resume", "run.pause_resume", "run.stop_now")


class Actions(QObject):
    """The table brought to life. Parts are looked up when an action runs, so they may be built late."""

    def __init__(self, part: Callable[[str], Any], parent: QWidget) -> None:
        super().__init__(parent)
        self._part = part
        self.made: dict[Action, QAction] = {}
        for one in ACTIONS:
            made = QAction(one.text, parent)
            made.setObjectName(one.run if one.argument is None else f"{one.run}:{one.argument}")
            made.setCheckable(bool(one.checked))
            if one.shortcut:
                made.setShortcut(QKeySequence(one.shortcut))
            shown = f"{one.tip or one.text.rstrip('.')} ({one.shortcut})" if one.shortcut else one.tip or one.text
            made.setToolTip(plain(shown))
            made.triggered.connect(self._run)
            parent.addAction(made)  # so that its shortcut works while its menu is closed
            self.made[one] = made
        self.tint()

    def tint(self) -> None:
        """Icons in the colours of now."""
        for one, made in self.made.items():
            if one.icon:
                made.setIcon(theme.icon(one.icon))

    def fill(self, bar: QMenuBar) -> dict[str, QMenu]:
        """The menus, by path."""
        menus: dict[str, QMenu] = {}
        for name in MENUS:
            menus[name] = bar.addMenu(name)
            menus[name].setToolTipsVisible(True)
        for one, made in self.made.items():
            if one.menu not in menus:
                outer, _, inner = one.menu.partition("/")
                menus[one.menu] = menus[outer].addMenu(inner)
            if one.gap:
                menus[one.menu].addSeparator()
            menus[one.menu].addAction(made)
        return menus

    def named(self, run: str) -> QAction:
        return next(made for one, made in self.made.items() if one.run == run)

    def update(self, conditions: Mapping[str, bool]) -> None:
        """What can be done now, and what is switched on."""
        for one, made in self.made.items():
            made.setEnabled(conditions.get(one.when, False) if one.when else True)
            if one.checked:
                made.setChecked(conditions.get(one.checked, False))

    def run(self, one: Action) -> None:
        part, _, method = one.run.partition(".")
        call = getattr(self._part(part), method)
        call() if one.argument is None else call(one.argument)

    @Slot()
    def _run(self) -> None:
        sender = self.sender()
        for one, made in self.made.items():
            if made is sender:
                self.run(one)
                return
