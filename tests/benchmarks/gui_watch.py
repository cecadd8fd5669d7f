"""Observers for measurements of the window: when widgets are painted, and how late timers fire."""

from __future__ import annotations

import faulthandler
import time
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, Qt, QTimer, Slot

PATIENCE = 120.0  # seconds to wait for a condition


class Painted(QObject):
    """Calls a function once, when a widget and its children are painted and `ready` returns True."""

    def __init__(
        self, widget: QObject, then: Callable[[float], None], ready: Callable[[], bool] = lambda: True
    ) -> None:
        super().__init__()
        self._widget, self._then, self._ready = widget, then, ready
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() == QEvent.Type.Paint and self._ready():
            self._widget.removeEventFilter(self)
            # children are painted after the widget and before Qt handles further events, so this event comes after them
            QCoreApplication.postEvent(self, QEvent(QEvent.Type.User), Qt.EventPriority.HighEventPriority.value)
        return False

    def customEvent(self, event: QEvent) -> None:  # noqa: N802
        self._then(time.perf_counter())


class Frames(QObject):
    """Counts how often a canvas is painted with a new scene."""

    def __init__(self, canvas: Any) -> None:
        super().__init__()
        self._canvas, self._scene = canvas, canvas.scene
        self.count = 0
        canvas.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() == QEvent.Type.Paint and self._canvas.scene is not self._scene:
            self._scene = self._canvas.scene
            self.count += 1
        return False


class Clock(QObject):
    """A precise single-shot timer that restarts itself; `late` holds its delays in milliseconds."""

    def __init__(self, interval: int) -> None:
        super().__init__()
        self.late: list[float] = []
        self._interval, self._due = interval, 0.0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._ring)
        self._wind()

    def _wind(self) -> None:
        self._due = time.perf_counter() + self._interval / 1e3
        self._timer.start(self._interval)

    @Slot()
    def _ring(self) -> None:
        self.late.append(max(time.perf_counter() - self._due, 0.0) * 1e3)
        self._wind()

    def stop(self) -> list[float]:
        """Stops it; an overdue timer counts as well."""
        self._timer.stop()
        return [*self.late, max(time.perf_counter() - self._due, 0.0) * 1e3]


class _Wait(QObject):
    def __init__(self, true: Callable[[], bool], every: int) -> None:
        super().__init__()
        self._true, self._until = true, time.monotonic() + PATIENCE
        self._loop, self._timer = QEventLoop(), QTimer(self)
        self._timer.timeout.connect(self._look)
        self._timer.start(every)
        self.came = False

    @Slot()
    def _look(self) -> None:
        self.came = self._true()
        if self.came or time.monotonic() > self._until:
            self._timer.stop()
            self._loop.quit()

    def wait(self) -> bool:
        self._loop.exec()
        return self.came


def until(true: Callable[[], bool], every: int = 20) -> None:
    """Processes events until a condition holds."""
    if not _Wait(true, every).wait():
        faulthandler.dump_traceback()
        raise AssertionError(f"waited {PATIENCE:.0f} s for {true.__qualname__}, in vain")


def for_a_while(seconds: float) -> None:
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end, 50)
