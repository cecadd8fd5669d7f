"""The toolbar and the status bar."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QSizePolicy, QStatusBar, QToolBar

from league_app.core.formatting import plural
from league_app.core.run_monitor import RunSnapshot
from league_app.gui import theme
from league_app.gui.actions import TOOLBAR, Actions
from league_app.gui.context import AppContext
from league_app.gui.game_selector import GameSelector
from league_app.gui.widgets.basics import ElidedLabel, tooltip_html
from league_app.gui.widgets.switch import Switch

LABELS = {"tournaments.new": "New", "run.resume": "Resume", "run.pause_resume": "Pause", "run.stop_now": "Stop"}


class Toolbar(QToolBar):
    """The game selector, the tournament buttons, and the visual switch with a text on its current effect."""

    toggled = Signal()  # the visual switch was pressed

    def __init__(self, context: AppContext, actions: Actions) -> None:
        super().__init__("Toolbar")
        self._context, self._actions = context, actions
        self.setObjectName("toolbar")
        self.setMovable(False)
        self._pause_icon = 0  # the key of the icon that was set; `Actions.update_icons` sets one with another key
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(theme.ICON)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.games = GameSelector(context)
        self.games.setMaximumWidth(260)
        self.addWidget(self.games)
        self.addSeparator()
        for name in TOOLBAR:
            action = actions.find(name)
            action.setIconText(LABELS[name])
            self.addAction(action)
            self.widgetForAction(action).setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.addSeparator()
        self.switch = Switch("Visual mode")
        self.switch.setToolTip(tooltip_html("Show matches of a tournament live, one at a time (F5)"))
        self.switch.clicked.connect(self.toggled)
        self.addWidget(self.switch)
        self.status_text = ElidedLabel("", "muted")
        self.status_text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.addWidget(self.status_text)

    def update_state(self, conditions: dict[str, bool]) -> None:
        self.switch.setEnabled(conditions["writable"])
        self.switch.setChecked(conditions["visual"])
        pause, text = self._actions.find("run.pause_resume"), "Resume" if conditions["paused"] else "Pause"
        if (pause.iconText(), pause.icon().cacheKey()) != (
            text,
            self._pause_icon,
        ):  # to set them is to lay it out again
            pause.setIconText(text)
            pause.setIcon(theme.icon("play" if conditions["paused"] else "pause"))
            self._pause_icon = pause.icon().cacheKey()

    @Slot(object)
    def show_status(self, now: RunSnapshot) -> None:
        self.status_text.setText(now.toggle)


class StatusBar(QStatusBar):
    """Activity, progress, number of workers, and whether everything is saved."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context, self._busy = context, ""
        self.setSizeGripEnabled(False)
        self.activity, self.progress, self.saved = ElidedLabel("", "caption"), QLabel(), QLabel()
        for widget in (self.progress, self.saved):
            widget.setProperty("role", "caption")
            widget.setTextFormat(Qt.TextFormat.PlainText)
            widget.setContentsMargins(12, 0, 12, 0)
        self.setContentsMargins(10, 0, 0, 0)
        self.addWidget(self.activity, 1)
        self.addPermanentWidget(self.progress)
        self.addPermanentWidget(self.saved)
        context.reproducer.changed.connect(self._show_latest)

    @Slot()
    def _show_latest(self) -> None:
        self.show_status(self._context.monitor.latest)

    def show_busy(self, text: str) -> None:
        self._busy = text
        self._show_latest()

    @Slot(object)
    def show_status(self, now: RunSnapshot) -> None:
        if self._busy or self._context.state is None:
            self.activity.setText(self._busy)
            return
        progress = now.run.progress if now.run is not None else None
        tournament = f"{now.run.name}: {now.run.progress.text}" if now.run is not None else ""
        training = plural(len(now.training), "training session") if now.training else ""
        again = f"Playing {match} again" if (match := self._context.reproducer.match) else ""
        self.activity.setText("; ".join(filter(None, (tournament, training, again))) or "Idle")
        self.progress.setText(f"{progress.played:,} of {progress.total:,}" if progress is not None else "")
        saved = "read-only" if self._context.league.league.read_only else "not saved yet" if now.trouble else "saved"
        self.saved.setText(f"{plural(self._context.league.budget.cores, 'worker')}, {saved}")
