"""The header above a session's charts: name, status, progress, latest message, newest player and buttons."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QProgressBar

from league_app.core.queries.sessions import SessionSummary
from league_app.gui.training.player_cards import PlayerCard
from league_app.gui.widgets.basics import Card, ElidedLabel, IconButton, button, label, row, set_tone

TONES = {"running": "", "paused": "warn", "failed": "bad", "finished": "good", "stopped": "warn"}
BAR = 1000  # steps of the progress bar
MENU_COMMANDS = {
    "Stop now, without a checkpoint": "kill",
    "Resume with other settings...": "change",
    "Export metrics as CSV...": "csv",
    "Export to TensorBoard...": "tensorboard",
}


class SessionHeader(Card):
    """`command` is emitted with watch, pause, unpause, resume, stop, kill, change, csv or tensorboard."""

    command = Signal(str)

    def __init__(self) -> None:
        super().__init__(margin=12)
        self.body.setSpacing(8)
        self.name, self.status = ElidedLabel("", "section"), label("", "caption")
        self.progress, self.message = ElidedLabel("", "muted"), ElidedLabel("", "caption")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress")
        self.main_button = button("Pause", self._on_main_clicked, icon="pause")
        self.stop_button = button(
            "Stop", self._on_stop_clicked, icon="stop", tip="Save a last checkpoint; the session can be resumed"
        )
        self.watch_button = button(
            "Watch", self._on_watch_clicked, icon="eye", tip="Watch an unrated match of the current player"
        )
        self.watch_button.setAccessibleName("Watch the current player")
        self.more_button = IconButton("more", "More actions for this session", self._show_menu)
        title = row(gap=12)
        below = row(self.status, gap=8)
        below.addWidget(self.progress, 1)
        title.addWidget(self.name, 1)
        title.addLayout(row(self.watch_button, self.main_button, self.stop_button, self.more_button))
        self.player = PlayerCard(small=True)
        self.body.addLayout(title)
        self.body.addLayout(below)  # in its full width: beside the buttons, 1280 pixels leave room for a word
        self.body.addWidget(self.bar)
        self.body.addWidget(self.message)
        self.body.addWidget(self.player)
        self._summary: SessionSummary | None = None
        self._writable = True

    def show_session(self, summary: SessionSummary, writable: bool) -> None:
        self._summary, self._writable = summary, writable
        session = summary.session
        self.name.setText(session.name)
        self.status.setText(summary.status.capitalize())
        set_tone(self.status, TONES[summary.status])
        parts = [f"{session.trainer} on {session.game.name}", summary.progress_text, summary.time_left, summary.text]
        self.progress.setText(" \u00b7 ".join(part for part in parts if part))
        self.bar.setVisible(summary.running)
        self.bar.setRange(0, 0 if summary.done is None else BAR)  # 0 to 0 is Qt's busy indicator: the end is unknown
        self.bar.setValue(round(BAR * (summary.done or 0.0)))
        self._show_message(summary)
        self._show_buttons(summary)

    def _show_message(self, summary: SessionSummary) -> None:
        text, tone = "", ""
        if summary.trouble:
            text, tone = summary.trouble, "bad"
        elif summary.running and summary.message:
            text, tone = summary.message.text, "warn" if summary.message.warning else ""
        elif not summary.running and summary.session.note:
            text, tone = summary.session.ending, "bad" if summary.session.failed else ""
            text = "" if text == summary.progress_text else text[:1].upper() + text[1:]  # such as 120 epochs
        self.message.setText(" ".join(text.split()))
        self.message.setVisible(bool(text))
        set_tone(self.message, tone)

    def _show_buttons(self, summary: SessionSummary) -> None:
        if summary.running:
            self.main_button.setText("Resume" if summary.paused else "Pause")
            self.main_button.set_icon("play" if summary.paused else "pause")
        else:
            self.main_button.setText("Resume" if summary.resumable else "Resume...")
            self.main_button.set_icon("play")
        self.main_button.setEnabled(self._writable)
        self.stop_button.setVisible(summary.running)
        self.watch_button.setVisible(summary.running and summary.facts.shows_current)
        self.watch_button.setEnabled(not summary.paused)  # its answer would wait until it is resumed

    def _on_main_clicked(self) -> None:
        summary = self._summary
        if summary is not None:
            idle = "resume" if summary.resumable else "change"
            self.command.emit(("unpause" if summary.paused else "pause") if summary.running else idle)

    def _on_watch_clicked(self) -> None:
        self.command.emit("watch")

    def _on_stop_clicked(self) -> None:
        self.command.emit("stop")

    def menu_entries(self) -> list[tuple[str, bool]]:
        """Texts of the menu, and whether each is enabled."""
        running = self._summary is not None and self._summary.running
        enabled = {"kill": running, "change": not running and self._writable}
        return [(text, enabled.get(command, True)) for text, command in MENU_COMMANDS.items()]

    def _show_menu(self) -> None:
        menu = QMenu(self)
        for text, enabled in self.menu_entries():
            action = QAction(text, menu)
            action.setEnabled(enabled)
            menu.addAction(action)
        menu.triggered.connect(self.on_menu_triggered)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.more_button.mapToGlobal(QPoint(0, self.more_button.height())))

    @Slot(QAction)
    def on_menu_triggered(self, action: QAction) -> None:
        self.command.emit(MENU_COMMANDS[action.text()])
