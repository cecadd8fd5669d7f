"""Plays a recorded match again for the window; an engine may need minutes, so it can be cancelled."""

from __future__ import annotations

import threading
from functools import partial

from PySide6.QtCore import QObject, Signal

from league_app.core.reproduce import reproduce
from league_app.core.state import LeagueState
from league_app.gui.background import TaskQueue


class Reproducer(QObject):
    """Plays one match at a time, in a queue of its own: leagues are opened and closed meanwhile."""

    changed = Signal()  # a match is played from now on, or none
    finished = Signal(str, str)  # a message and its tone
    failed = Signal(object)  # an Exception

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = TaskQueue(self)
        self._cancelled = threading.Event()  # a new one for each match
        self.match = ""  # the reference of the match that is played; empty if there is none

    def play(self, state: LeagueState, match: str) -> None:
        """Plays this match again, in place of one that is being played."""
        self.cancel()
        self._cancelled, self.match = threading.Event(), match
        task = partial(reproduce, state, match, self._cancelled.is_set)
        self._queue.run(task, self._on_played, self._on_failed)
        self.changed.emit()

    def cancel(self) -> None:
        """Ends the match without a message. Its process ends a moment later."""
        if self.match:
            self._cancelled.set()
            self._queue.clear()
            self._end()

    def _end(self) -> None:
        self.match = ""
        self.changed.emit()

    def _on_played(self, message: tuple[str, str]) -> None:
        self._end()
        self.finished.emit(*message)

    def _on_failed(self, error: Exception) -> None:
        self._end()
        self.failed.emit(error)

    def close(self) -> None:
        """Ends the match and its thread."""
        self.cancel()
        self._queue.close()
