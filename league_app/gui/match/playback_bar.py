"""The playback controls below the board: scrubber, buttons and speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import QRectF, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QComboBox, QSlider, QStyle, QStyleOptionSlider, QWidget

from league_app.gui import theme
from league_app.gui.match.player import SPEEDS, MatchPlayer
from league_app.gui.widgets.basics import IconButton, button, column, label, row

HANDLE = 14


def speed_text(speed: float) -> str:
    return f"{speed:g}\u00d7"


class Scrubber(QSlider):
    """The steps of a match from left to right, with a mark at each score. A click seeks to that step."""

    seek_requested = Signal(int)

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._marks: list[int] = []
        self.setAccessibleName("Step of the match")
        self.setFixedHeight(24)
        self.setSingleStep(1)
        self.valueChanged.connect(self._seek)

    @property
    def marks(self) -> list[int]:
        return self._marks

    def set_position(self, step: int, steps: int, marks: Sequence[int]) -> None:
        """Show this position; does not emit `seek_requested`."""
        with QSignalBlocker(self):
            if self.maximum() != steps:
                self.setMaximum(steps)
                self.setPageStep(max(steps // 20, 1))
            if self.value() != step and not self.isSliderDown():
                self.setValue(step)
        if len(marks) != len(self._marks):
            self.update()
        self._marks = list(marks)

    @Slot(int)
    def _seek(self, step: int) -> None:
        self.seek_requested.emit(step)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        if event.button() == Qt.MouseButton.LeftButton:
            option = QStyleOptionSlider()
            self.initStyleOption(option)
            part = QStyle.SubControl.SC_SliderHandle
            handle = self.style().subControlRect(QStyle.ComplexControl.CC_Slider, option, part, self)
            if not handle.contains(event.position().toPoint()):
                at, room = event.position().x() - HANDLE / 2, self.width() - HANDLE
                self.setValue(QStyle.sliderValueFromPosition(0, self.maximum(), round(at), round(room)))
        super().mousePressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        super().paintEvent(event)
        if not self._marks or self.maximum() <= 0:
            return
        painter = QPainter(self)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("muted"))
        room, middle = self.width() - HANDLE, self.height() / 2
        handle = HANDLE / 2 + room * self.value() / self.maximum()
        for mark in self._marks:
            x = HANDLE / 2 + room * mark / self.maximum()
            if abs(x - handle) > HANDLE / 2:
                painter.drawRoundedRect(QRectF(round(x) - 1, middle - 5, 2, 10), 1, 1)


class PlaybackTarget(Protocol):
    """Receives the commands of the buttons and of the keyboard."""

    def play_pause(self) -> None: ...
    def step(self, delta: int) -> None: ...
    def to_start(self) -> None: ...
    def to_end(self) -> None: ...
    def faster(self) -> None: ...
    def slower(self) -> None: ...
    def skip(self) -> None: ...
    def take_over(self) -> None: ...
    def watch_live(self) -> None: ...
    def set_speed(self, speed: float) -> None: ...


class PlaybackBar(QWidget):
    """Shows the state of a `MatchPlayer`, and passes what is pressed on to its target."""

    def __init__(self, target: PlaybackTarget, play_again: Callable[[], None]) -> None:
        super().__init__()
        self._target = target
        self.scrubber = Scrubber()
        self.start = IconButton("skip-start", "Go to start (Home)", target.to_start)
        self.back = IconButton("step-back", "Step back (Left)", self._back)
        self.play = IconButton("pause", "Pause (Space)", target.play_pause)
        self.forward = IconButton("step-forward", "Step forward (Right)", self._forward)
        self.end = IconButton("skip-end", "Go to end (End)", target.to_end)
        self.position = label("", "muted")
        self.position.setMinimumWidth(140)
        self.speed = QComboBox()
        self.speed.addItems([speed_text(speed) for speed in SPEEDS])
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.speed.setAccessibleName("Speed (plus and minus keys)")
        self.speed.setToolTip("Speed: + and - keys")
        self.speed.setFixedWidth(84)
        self.speed.currentIndexChanged.connect(self._on_speed_chosen)
        self.skip = button("Skip to result", target.skip, tip="Play the rest at full speed and show the result")
        tip = "Choose a seat and play it yourself from this step on"
        self.take_over = button("Take over", target.take_over, icon="human", tip=tip)
        self.play_again = button("Play again", play_again, icon="play", tip="Same players, next seed")
        self.play_again.hide()
        buttons = row(self.start, self.back, self.play, self.forward, self.end, gap=4)
        self.setLayout(
            column(
                self.scrubber,
                row(buttons, self.position, 1, self.speed, self.skip, self.take_over, self.play_again),
                gap=4,
            ),
        )

    @Slot()
    def _back(self) -> None:
        self._target.step(-1)

    @Slot()
    def _forward(self) -> None:
        self._target.step(1)

    @Slot(int)
    def _on_speed_chosen(self, place: int) -> None:
        if 0 <= place < len(SPEEDS):
            self._target.set_speed(SPEEDS[place])

    def set_speed(self, speed: float) -> None:
        """Show this speed; does not change that of the match."""
        nearest = min(range(len(SPEEDS)), key=lambda place: abs(SPEEDS[place] - speed))
        with QSignalBlocker(self.speed):
            self.speed.setCurrentIndex(nearest)

    def set_player(self, player: MatchPlayer) -> None:
        self.scrubber.set_position(player.step, player.steps, player.marks)
        self.position.setText(f"{player.step:,} / {player.steps:,}")
        stopped = player.paused or player.at_end
        self.play.set_icon("play" if stopped else "pause", "Play (Space)" if stopped else "Pause (Space)")
        skippable = player.complete or not player.has_humans  # a human has to play the rest
        self.skip.setEnabled(skippable and not player.at_end and not player.error)
        ended = player.kind == "exhibition" and player.at_end
        self.play_again.setVisible(ended)  # in place of the button that is no longer of use
        self.take_over.setVisible(not ended)
        self.take_over.setEnabled(not player.at_end and not player.error)
