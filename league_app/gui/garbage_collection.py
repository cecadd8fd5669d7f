"""Collects Python's garbage in the window's thread, and in no other.

Python collects in whichever thread happens to ask for memory. If that is one of ours and the garbage holds a widget,
Qt takes the widget apart there: it waits for Python's lock with a lock of Qt's in hand, while the window's thread waits
for that one with Python's. Both stand still for ever (seen once in the tests, by gdb).
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer, Slot

from league_app.gui.gc_pause import no_sweeping

EVERY = 250  # ms
SELDOM = 240  # looks after which everything is looked through: a minute


class Collector(QObject):
    """Until its end. What exists when it is made is taken to stay, and never looked through again."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        gc.freeze()
        self._looks = 0
        self._timer = QTimer(self)
        self._timer.setInterval(EVERY)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    def end(self) -> None:
        """From now on it is Python's business again: no other thread of ours is left."""
        self._timer.stop()
        gc.enable()

    @Slot()
    def look(self) -> None:
        """What Python itself would do by now: the young often, the old seldom."""
        if no_sweeping.going_on:
            return
        self._looks += 1
        if self._looks % SELDOM == 0:
            gc.collect()
            return
        counts, most = gc.get_count(), gc.get_threshold()
        if counts[0] > most[0]:
            gc.collect(1 if counts[1] > most[1] else 0)
