"""A preview that plays back one match in a loop, without controls."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QShowEvent

from engine.play.replay import Playback
from league_app.gui.match.canvas import BoardCanvas

PERIOD = 33  # milliseconds: thirty frames a second are enough for a preview
HOLD = 2.0  # seconds for which the last step is shown


class ReplayPreview(BoardCanvas):
    """Emits `chosen` on a click or Enter."""

    chosen = Signal()

    def __init__(self) -> None:
        super().__init__("Preview of the best match of this league")
        self._playback: Playback | None = None
        self._position = 0.0
        self._elapsed = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self._tick)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Small: the layout gives it the space that is left."""
        return QSize(480, 300)

    def play(self, playback: Playback | None) -> None:
        """Show a finished match, or nothing for None."""
        self._playback, self._position = playback, 0.0
        if playback is None:
            self._timer.stop()
            self.show_scene(None)
        elif self.isVisible():
            self._start()

    @property
    def playback(self) -> Playback | None:
        return self._playback

    def _start(self) -> None:
        self._elapsed.start()
        self._timer.start()
        self._tick()

    @Slot()
    def _tick(self) -> None:
        playback = self._playback
        if playback is None:
            return
        self._position += self._elapsed.restart() / 1000 * playback.game.info.pace
        if self._position > playback.steps + HOLD * playback.game.info.pace:
            self._position = 0.0
        playback.seek(int(self._position))
        self.show_scene(playback.scene())

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        if self._playback is not None:
            self._start()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self._timer.stop()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit()
        else:
            super().keyPressEvent(event)
