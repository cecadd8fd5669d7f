"""What is told of one session above its charts: its name and state, how far it is, what it said last, what to do."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QProgressBar

from league_app.gui.training.sessions_model import Glance
from league_app.gui.widgets.basics import Card, Elided, IconButton, button, column, label, row, set_tone
from league_app.gui.training.player_cards import PlayerCard

TONES = {"running": "", "paused": "warn", "failed": "bad", "finished": "good", "stopped": "warn"}
CHOICES = {
    "Stop at once, without a checkpoint": "kill",
    "Go on with other settings\u2026": "change",
    "Save all values\u2026": "csv",
    "Save for TensorBoard\u2026": "tensorboard",
}


class SessionHead(Card):
    """`wanted` tells what a person asks of the session: pause, resume, stop, kill, change, csv, tensorboard."""

    wanted = Signal(str)

    def __init__(self) -> None:
        super().__init__(margin=12)
        self.body.setSpacing(8)
        self.name, self.word = Elided("", "section"), label("", "caption")
        self.far, self.remark = Elided("", "muted"), Elided("", "caption")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress")
        self.main = button("Pause", self._main, icon="pause")
        self.stop = button("Stop", self._stop, icon="stop", tip="With a last checkpoint: it can be resumed")
        self.more = IconButton("more", "More about this session", self._menu)
        title = row(gap=12)
        below = row(self.word, gap=8)
        below.addWidget(self.far, 1)
        title.addLayout(column(self.name, below, gap=2), 1)
        title.addLayout(row(self.main, self.stop, self.more))
        self.player = PlayerCard(small=True)
        self.body.addLayout(title)
        self.body.addWidget(self.bar)
        self.body.addWidget(self.remark)
        self.body.addWidget(self.player)
        self._one: Glance | None = None
        self._writable = True

    def show_session(self, one: Glance, writable: bool) -> None:
        self._one, self._writable = one, writable
        self.name.setText(one.session.name)
        self.word.setText(one.word.capitalize())
        set_tone(self.word, TONES[one.word])
        far = [f"{one.session.trainer} on {one.session.game.name}", one.told, one.time_left, one.text]
        self.far.setText(" \u00b7 ".join(part for part in far if part))
        self.bar.setVisible(one.running)
        self.bar.setRange(0, min(one.total, 2**31 - 1))  # with no end known it moves to and fro
        self.bar.setValue(min(one.step, one.total, 2**31 - 1))
        self._show_remark(one)
        self._show_buttons(one)

    def _show_remark(self, one: Glance) -> None:
        text, tone = "", ""
        if one.trouble:
            text, tone = one.trouble, "bad"
        elif one.running and one.logs:
            last, warning = one.logs[-1]
            text, tone = last, "warn" if warning else ""
        elif not one.running and one.session.note:
            text, tone = one.session.note, "bad" if one.word == "failed" else ""
            text = f"Ended: {text}" if one.word == "finished" else text
        self.remark.setText(" ".join(text.split()))
        self.remark.setVisible(bool(text))
        set_tone(self.remark, tone)

    def _show_buttons(self, one: Glance) -> None:
        if one.running:
            self.main.setText("Go on" if one.paused else "Pause")
            self.main.set_icon("play" if one.paused else "pause")  # type: ignore[attr-defined]
        else:
            self.main.setText("Resume" if one.resumable else "Go on\u2026")
            self.main.set_icon("play")  # type: ignore[attr-defined]
        self.main.setEnabled(self._writable)
        self.stop.setVisible(one.running)

    def _main(self) -> None:
        one = self._one
        if one is not None:
            idle = "resume" if one.resumable else "change"
            self.wanted.emit(("unpause" if one.paused else "pause") if one.running else idle)

    def _stop(self) -> None:
        self.wanted.emit("stop")

    def choices(self) -> list[tuple[str, bool]]:
        """What the menu offers, and whether it can be done now."""
        running = self._one is not None and self._one.running
        possible = {"kill": running, "change": not running and self._writable}
        return [(text, possible.get(what, True)) for text, what in CHOICES.items()]

    def _menu(self) -> None:
        menu = QMenu(self)
        for text, possible in self.choices():
            action = QAction(text, menu)
            action.setEnabled(possible)
            menu.addAction(action)
        menu.triggered.connect(self.choose)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height())))

    @Slot(QAction)
    def choose(self, action: QAction) -> None:
        self.wanted.emit(CHOICES[action.text()])
