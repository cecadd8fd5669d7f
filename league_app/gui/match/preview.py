"""A match that plays itself, over and over: something to look at, with nothing to press."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QShowEvent

from engine.play.replay import Playback
from league_app.gui.match.canvas import Canvas

PERIOD = 33  # milliseconds: thirty pictures a second are enough for what one does not study
HOLD = 2.0  # seconds that the end stays


class Preview(Canvas):
    """A click, or Enter, asks for the match itself."""

    chosen = Signal()

    def __init__(self) -> None:
        super().__init__("The best match of this league, playing itself")
        self._playback: Playback | None = None
        self._at = 0.0
        self._watch = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self._tick)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Modest: it takes the room that is left."""
        return QSize(480, 300)

    def play(self, playback: Playback | None) -> None:
        """A finished match; None for nothing."""
        self._playback, self._at = playback, 0.0
        if playback is None:
            self._timer.stop()
            self.show_scene(None)
        elif self.isVisible():
            self._begin()

    @property
    def playback(self) -> Playback | None:
        return self._playback

    def _begin(self) -> None:
        self._watch.start()
        self._timer.start()
        self._tick()

    @Slot()
    def _tick(self) -> None:
        playback = self._playback
        if playback is None:
            return
        self._at += self._watch.restart() / 1000 * playback.game.info.pace
        if self._at > playback.steps + HOLD * playback.game.info.pace:
            self._at = 0.0
        playback.seek(int(self._at))
        self.show_scene(playback.scene())

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        if self._playback is not None:
            self._begin()

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
