"""Access: the locks that an open league holds, and the refusal to open it where others would be in the way."""

from __future__ import annotations

import os
import time
from pathlib import Path

from engine.errors import LeagueError, LeagueHeld, ReadOnly
from engine.league.storage.file_state import has_log_index
from engine.league.storage.lock import BETWEEN_TRIES, FileLock, Lock, is_locked
from engine.open_files import OpenFile

TRIES = 3  # to see the same while the file is just being opened or closed elsewhere


class Access:
    """Held from its creation until `close`, which must come after the last connection to the file was closed."""

    def __init__(self, path: Path, read_only: bool) -> None:
        """Raises LeagueHeld if another program writes to the file, ReadOnly if it cannot be locked."""
        self._path = path
        self._file = OpenFile(path)
        self._file_lock = FileLock(self._file)
        self._lock: Lock | None = None
        try:
            if read_only:
                self._check_name()
            else:
                self._lock = self._take_lock()
                if not self._file_lock.take():
                    raise self._unnamed_holder()
        except BaseException:
            self.close()
            raise

    @property
    def at_path(self) -> bool:
        """Whether the lock is held, at the path of the file: then no other program writes to a file there."""
        return self._lock is not None and self._lock.in_place

    def use(self) -> None:
        """Call it before connecting to a file that may be another one by now."""
        self._file.use()

    def close(self) -> None:
        self._file_lock.release()
        self._file.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _take_lock(self) -> Lock:
        if not os.access(self._path, os.W_OK):
            raise ReadOnly(f"{self._path} cannot be written: open it read-only, or copy it to another place")
        try:
            return Lock(self._path)
        except LeagueError:
            raise
        except OSError as error:
            reason = f"{self._path.parent} cannot be written ({error.strerror})"
            raise ReadOnly(f"{reason}: open {self._path.name} read-only, or copy it to another place") from None

    def _check_name(self) -> None:
        """A program that writes to the file by another name has its log beside that name: a reader by this name would
        not see what is in the log, and pages would change while it reads them."""
        for _ in range(TRIES):
            if is_locked(self._path) or has_log_index(self._path) or not self._file_lock.is_taken():
                return
            time.sleep(BETWEEN_TRIES)
        raise self._unnamed_holder()

    def _unnamed_holder(self) -> LeagueHeld:
        return LeagueHeld(
            f"{self._path} is open for writing already, by another name of the file or without its lock: close it there"
        )
