"""Batches change notifications for observers: ten thousand matches are not ten thousand notifications."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

INTERVAL = 0.05  # seconds between notifications that are not urgent


class ChangeKind(StrEnum):
    AGENTS = "agents"
    TOURNAMENTS = "tournaments"
    MATCHES = "matches"
    PROGRESS = "progress"  # of the running tournament, or its live match
    TRAINING = "training"
    SETTINGS = "settings"


@dataclass(frozen=True)
class Change:
    """Something in a league that has changed."""

    what: ChangeKind
    tournament: int = 0  # its number; for training, that of the session
    count: int = 0  # matches saved


Observer = Callable[[list[Change]], None]


class ChangeFeed:
    """Observers, and the changes that they have not received yet."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []
        self._waiting: list[Change] = []
        self._last = 0.0  # time of the last notification
        self._timer: threading.Timer | None = None  # delivers changes that were held back
        self._lock = threading.Lock()

    def subscribe(self, observer: Observer) -> Callable[[], None]:
        """Calls `observer` with each batch of changes; returns a function that unsubscribes it.

        Observers are called in the thread that made the change. They must return quickly and must not raise.
        """
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def add(self, change: Change, now: bool = True) -> None:
        """Notifies observers now or, if `now` is False, at most `INTERVAL` seconds after the last notification."""
        with self._lock:
            self._waiting.append(change)
            if not now and time.monotonic() - self._last < INTERVAL:
                if self._timer is None:
                    self._timer = threading.Timer(INTERVAL, self._notify)
                    self._timer.daemon = True
                    self._timer.start()
                return
        self._notify()

    def _notify(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            changes, self._waiting = _merged(self._waiting), []
            self._last = time.monotonic()
        for observer in list(self._observers) if changes else ():
            observer(changes)


def _merged(changes: list[Change]) -> list[Change]:
    """Each kind once for each tournament, with the counts added up."""
    counts: dict[tuple[ChangeKind, int], int] = {}
    for change in changes:
        counts[change.what, change.tournament] = counts.get((change.what, change.tournament), 0) + change.count
    return [Change(what, tournament, count) for (what, tournament), count in counts.items()]
