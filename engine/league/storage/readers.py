"""Readers: the connections with which the threads of this process read a league file, one for each thread.

They are found by the number of the thread, not kept in a `threading.local`: that loses its contents in a thread that
Qt has started, each time that its Python code returns to Qt, so every query opened a connection that stayed open.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TASKS = Path("/proc/self/task")  # the running threads of this process; on Linux only


@dataclass(frozen=True)
class ReadConnection:
    """A connection, the state of the file that it was opened for, and its thread."""

    db: sqlite3.Connection
    opened: int
    thread: threading.Thread
    task: int  # the number of the thread in the system

    @property
    def ended(self) -> bool:
        """Whether its thread has ended, as far as that is known: Python does not notice the end of Qt's threads."""
        return not self.thread.is_alive() or (TASKS.is_dir() and not (TASKS / str(self.task)).exists())


class Readers:
    """Closes the connections of threads that have ended when a new one is added, and all of them in `close`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_thread: dict[int, ReadConnection] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._by_thread)

    @property
    def connections(self) -> list[sqlite3.Connection]:
        with self._lock:
            return [reader.db for reader in self._by_thread.values()]

    def find(self) -> ReadConnection | None:
        """The connection of this thread."""
        ident = threading.get_ident()
        found = self._by_thread.get(ident)
        if found is None or found.task == threading.get_native_id():
            return found
        with self._lock:  # of a thread that has ended: the system gives its number to a later one
            self._by_thread.pop(ident, None)
        _close(found)
        return None

    def add(self, opened: int, connect: Callable[[], sqlite3.Connection]) -> ReadConnection | None:
        """A new connection for this thread, instead of its previous one; None if all have been closed."""
        thread, task = threading.current_thread(), threading.get_native_id()
        new = ReadConnection(connect(), opened, thread, task)
        with self._lock:
            if self._closed:
                old = [new]
            else:
                previous = self._by_thread.pop(threading.get_ident(), None)
                ended = [ident for ident, reader in self._by_thread.items() if reader.ended]
                old = [self._by_thread.pop(ident) for ident in ended] + ([previous] if previous is not None else [])
                self._by_thread[threading.get_ident()] = new
        for reader in old:
            _close(reader)
        return None if new in old else new

    def interrupt(self) -> None:
        """Ends the queries in progress with an error. No connection is added from now on."""
        with self._lock:
            self._closed = True
            readers = list(self._by_thread.values())
        for reader in readers:
            with suppress(sqlite3.Error):
                reader.db.interrupt()

    def close(self) -> None:
        """Call it when no query is in progress: closing a connection during one would crash SQLite."""
        with self._lock:
            self._closed = True
            readers, self._by_thread = list(self._by_thread.values()), {}
        for reader in readers:
            _close(reader)


def _close(reader: ReadConnection) -> None:
    with suppress(sqlite3.Error):
        reader.db.close()
