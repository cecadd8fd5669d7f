"""What a watcher drives a match with: a scrubber, buttons and the speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import QEvent, QRectF, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QComboBox, QSlider, QStyle, QStyleOptionSlider, QWidget

from league_app.gui import theme
from league_app.gui.match.player import SPEEDS, Show
from league_app.gui.widgets.basics import IconButton, button, column, label, row

HANDLE = 14


def speed_text(speed: float) -> str:
    return f"{speed:g}\u00d7"


class Scrubber(QSlider):
    """Steps of a match from left to right, with a mark where somebody scored. A click goes there."""

    sought = Signal(int)

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._marks: list[int] = []
        self.setAccessibleName("Step of the match that is shown")
        self.setFixedHeight(24)
        self.setSingleStep(1)
        self.valueChanged.connect(self._seek)

    @property
    def marks(self) -> list[int]:
        return self._marks

    def set_place(self, step: int, steps: int, marks: Sequence[int]) -> None:
        """As it is; nobody is asked to go there."""
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
        self.sought.emit(step)

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

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
        super().changeEvent(event)

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


class Driver(Protocol):
    """Who does what the buttons ask for."""

    def play_pause(self) -> None: ...
    def step(self, delta: int) -> None: ...
    def to_start(self) -> None: ...
    def to_end(self) -> None: ...
    def skip(self) -> None: ...
    def take_over(self) -> None: ...
    def watch_live(self) -> None: ...
    def set_speed(self, speed: float) -> None: ...


class Transport(QWidget):
    """Shows how a `Show` stands, and asks its driver for what is pressed."""

    def __init__(self, driver: Driver, again: Callable[[], None]) -> None:
        super().__init__()
        self._driver = driver
        self.scrubber = Scrubber()
        self.start = IconButton("skip-start", "To the start (Home)", driver.to_start)
        self.back = IconButton("step-back", "One step back (Left)", self._back)
        self.play = IconButton("pause", "Pause (Space)", driver.play_pause)
        self.forward = IconButton("step-forward", "One step forward (Right)", self._forward)
        self.end = IconButton("skip-end", "To the end (End)", driver.to_end)
        self.place = label("", "muted")
        self.place.setMinimumWidth(140)
        self.speed = QComboBox()
        self.speed.addItems([speed_text(one) for one in SPEEDS])
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.speed.setAccessibleName("Speed (plus and minus keys)")
        self.speed.setToolTip("Speed: + and - keys")
        self.speed.setFixedWidth(84)
        self.speed.currentIndexChanged.connect(self._choose)
        self.skip = button("Skip to result", driver.skip, tip="Play the rest as fast as it goes, and show the end")
        self.over = button(
            "Take over", driver.take_over, icon="human", tip="Play on from here yourself, in one's place"
        )
        self.again = button("Play again", again, icon="play", tip="The same players once more, with the next seed")
        self.again.hide()
        buttons = row(self.start, self.back, self.play, self.forward, self.end, gap=4)
        self.setLayout(
            column(self.scrubber, row(buttons, self.place, 1, self.speed, self.skip, self.over, self.again), gap=4),
        )

    @Slot()
    def _back(self) -> None:
        self._driver.step(-1)

    @Slot()
    def _forward(self) -> None:
        self._driver.step(1)

    @Slot(int)
    def _choose(self, place: int) -> None:
        if 0 <= place < len(SPEEDS):
            self._driver.set_speed(SPEEDS[place])

    def set_speed(self, speed: float) -> None:
        """As it is; nobody is asked to change it."""
        nearest = min(range(len(SPEEDS)), key=lambda place: abs(SPEEDS[place] - speed))
        with QSignalBlocker(self.speed):
            self.speed.setCurrentIndex(nearest)

    def set_show(self, show: Show) -> None:
        self.scrubber.set_place(show.step, show.steps, show.marks)
        self.place.setText(f"{show.step:,} / {show.steps:,}")
        stopped = show.paused or show.at_end
        self.play.set_icon("play" if stopped else "pause", "Play (Space)" if stopped else "Pause (Space)")
        hurried = show.complete or not show.peopled  # a person has to play the rest
        self.skip.setEnabled(hurried and not show.at_end and not show.trouble)
        over = show.kind == "exhibition" and show.at_end
        self.again.setVisible(over)  # in the place of what cannot be done any more
        self.over.setVisible(not over)
        self.over.setEnabled(not show.at_end and not show.trouble)
