"""Runs Python's garbage collection in the window's thread only.

Python collects in whichever thread allocates. If a worker thread collects a widget, Qt destroys it there: that thread
holds a Qt lock and waits for the GIL, while the window's thread holds the GIL and waits for the Qt lock. Such a
deadlock was seen once in the tests, with gdb.
"""

from __future__ import annotations

import gc
import threading

from PySide6.QtCore import QObject, QTimer, Slot

PERIOD = 250  # milliseconds
FULL_COLLECTION = 240  # periods between two full collections: a minute


class _Pause:
    """A context manager, shared by all threads, that postpones collections.

    Building a table of 200 agents creates tens of thousands of objects within half a second. Without a pause, repeated
    collections stop every thread for 160 ms at a time (measured); with it, for 45 ms.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0

    @property
    def active(self) -> bool:
        """Whether any thread is inside the context."""
        return self._inside > 0

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1


gc_paused = _Pause()


class GuiThreadCollector(QObject):
    """Replaces automatic collection until `stop`. Objects that exist at its start are frozen and never scanned."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        gc.freeze()
        self._runs = 0
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    def stop(self) -> None:
        """Restores automatic collection; call it when no other thread is left."""
        self._timer.stop()
        gc.enable()

    @Slot()
    def collect(self) -> None:
        """Collects by Python's own thresholds: young generations often, old ones rarely."""
        if gc_paused.active:
            return
        self._runs += 1
        if self._runs % FULL_COLLECTION == 0:
            gc.collect()
            return
        counts, most = gc.get_count(), gc.get_threshold()
        if counts[0] > most[0]:
            gc.collect(1 if counts[1] > most[1] else 0)
