"""The database files that this process has open: none of their descriptors may be closed before the last connection.

POSIX drops all locks of a process on a file when it closes any descriptor of that file, also the locks by which SQLite
protects its connections: another program would then take the database for closed, and remove its log.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path

Identity = tuple[int, int]  # device and inode
FLAGS = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))  # open no link

_guard = threading.Lock()
_users: Counter[Identity] = Counter()
_idle: dict[Identity, list[int]] = {}  # descriptors that wait for the last user


def identity_of(path: Path | str) -> Identity | None:
    """What tells a file from another one at the same path; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_open_here(path: Path | str) -> bool:
    """Whether it is a database that this process has open: then it must not be opened in another way."""
    identity = identity_of(path)
    with _guard:
        return identity is not None and _users[identity] > 0


class OpenFile:
    """One use of a database file. `close` it after the last connection to the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._used: set[Identity] = set()
        self.use()

    def use(self) -> None:
        """Count the file that is at the path now: call it before connecting to it."""
        identity = identity_of(self._path)
        if identity is not None:
            with _guard:
                self._count(identity)

    def _count(self, identity: Identity) -> None:
        if identity not in self._used:
            self._used.add(identity)
            _users[identity] += 1

    def borrow(self) -> int:
        """A descriptor of the file, to be given back. Raises OSError if it cannot be opened."""
        identity = identity_of(self._path)
        with _guard:
            if identity is not None and _idle.get(identity):
                self._count(identity)
                return _idle[identity].pop()
            handle = os.open(self._path, os.O_RDONLY | FLAGS)
            self._count(_identity(handle))
            return handle

    def give_back(self, handle: int) -> None:
        with _guard:
            _idle.setdefault(_identity(handle), []).append(handle)

    def close(self) -> None:
        with _guard:
            for identity in self._used:
                _users[identity] -= 1
                if not _users[identity]:
                    del _users[identity]
                    for handle in _idle.pop(identity, ()):
                        os.close(handle)
            self._used = set()


def _identity(handle: int) -> Identity:
    found = os.fstat(handle)
    return found.st_dev, found.st_ino
