"""What is another now, told to whoever looks: in batches, so that ten thousand matches are not ten thousand notices."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

NOTICE = 0.05  # seconds between two notices at least: twenty a second


@dataclass(frozen=True)
class Change:
    """What is another now: agents, tournaments, matches, progress (with the match that is shown), training or
    settings."""

    what: str
    tournament: int = 0  # its number; that of a session, for training
    count: int = 0  # matches saved


Observer = Callable[[list[Change]], None]


class Notices:
    """Observers, and what they have not heard yet."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []
        self._waiting: list[Change] = []
        self._told = 0.0
        self._late: threading.Timer | None = None  # tells what was held back, if nothing else does
        self._lock = threading.Lock()

    def subscribe(self, observer: Observer) -> Callable[[], None]:
        """Be told of changes; call what is returned to end that. An observer must be quick, and must not raise."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def add(self, change: Change, now: bool = True) -> None:
        """What is not urgent waits for the next notice."""
        with self._lock:
            self._waiting.append(change)
            if not now and time.monotonic() - self._told < NOTICE:
                if self._late is None:
                    self._late = threading.Timer(NOTICE, self._tell)
                    self._late.daemon = True
                    self._late.start()
                return
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            if self._late is not None:
                self._late.cancel()
                self._late = None
            told, self._waiting = _merged(self._waiting), []
            self._told = time.monotonic()
        for observer in list(self._observers) if told else ():
            observer(told)


def _merged(changes: list[Change]) -> list[Change]:
    """Each kind once, matches added up."""
    counts: dict[tuple[str, int], int] = {}
    for one in changes:
        counts[one.what, one.tournament] = counts.get((one.what, one.tournament), 0) + one.count
    return [Change(what, tournament, count) for (what, tournament), count in counts.items()]
