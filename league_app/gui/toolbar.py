"""The bar above the pages and the line below them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QSizePolicy, QStatusBar, QToolBar

from league_app.gui import theme
from league_app.gui.actions import TOOLBAR, Actions
from league_app.gui.context import Desk
from league_app.gui.game_selector import GameBox
from league_app.gui.status_poller import Now
from league_app.gui.widgets.basics import Elided, plain
from league_app.gui.widgets.switch import Switch
from league_app.core.formatting import many

WORDS = {"tournaments.new": "New", "run.resume": "Resume", "run.pause_resume": "Pause", "run.stop_now": "Stop"}


class Toolbar(QToolBar):
    """The game that is looked at, the tournament's buttons, and the visual toggle with what it means now."""

    toggled = Signal()  # the visual switch was pressed

    def __init__(self, desk: Desk, actions: Actions) -> None:
        super().__init__("Toolbar")
        self._desk, self._actions = desk, actions
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(theme.ICON)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.games = GameBox(desk)
        self.games.setMaximumWidth(260)
        self.addWidget(self.games)
        self.addSeparator()
        for name in TOOLBAR:
            action = actions.named(name)
            action.setIconText(WORDS[name])
            self.addAction(action)
            self.widgetForAction(action).setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.addSeparator()
        self.switch = Switch("Visual mode")
        self.switch.setToolTip(plain("Show matches of a tournament live, one at a time (F5)"))
        self.switch.clicked.connect(self.toggled)
        self.addWidget(self.switch)
        self.words = Elided("", "muted")
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.addWidget(self.words)

    def update_state(self, conditions: dict[str, bool]) -> None:
        self.switch.setEnabled(conditions["writable"])
        self.switch.setChecked(conditions["visual"])
        pause = self._actions.named("run.pause_resume")
        pause.setIconText("Go on" if conditions["paused"] else "Pause")
        pause.setIcon(theme.icon("play" if conditions["paused"] else "pause"))

    @Slot(object)
    def tell(self, now: Now) -> None:
        self.words.setText(now.toggle)


class Status(QStatusBar):
    """What goes on, how far it is, with how many workers, and whether it is saved."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk, self._busy, self._now = desk, "", Now()
        self.setSizeGripEnabled(False)
        self.going_on, self.far, self.saved = Elided("", "caption"), QLabel(), QLabel()
        for one in (self.far, self.saved):
            one.setProperty("role", "caption")
            one.setTextFormat(Qt.TextFormat.PlainText)
            one.setContentsMargins(12, 0, 12, 0)
        self.setContentsMargins(10, 0, 0, 0)
        self.addWidget(self.going_on, 1)
        self.addPermanentWidget(self.far)
        self.addPermanentWidget(self.saved)

    def say_busy(self, words: str) -> None:
        self._busy = words
        self.tell(self._now)

    @Slot(object)
    def tell(self, now: Now) -> None:
        self._now = now
        if self._busy or self._desk.state is None:
            self.going_on.setText(self._busy)
            return
        trained = many(now.training, "training session") if now.training else ""
        played, progress = "", now.progress
        if progress is not None:
            played = f"{now.name}: {progress.text}"
        self.going_on.setText("; ".join(one for one in (played, trained) if one) or "Idle")
        self.far.setText(f"{progress.played:,} of {progress.total:,}" if progress is not None else "")
        where = "read-only" if self._desk.league.league.read_only else "not saved yet" if now.trouble else "saved"
        self.saved.setText(f"{many(self._desk.league.budget.cores, 'worker')}, {where}")
