"""Locks of a league: a file beside it that names the program writing to it, and one on the league file itself. The
system releases both if the program dies.

A file with two names, such as a hard link, has two logs: programs that write by different names would overwrite each
other's pages. The lock on the file itself holds for every name, also if the file beside it was deleted.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from engine.clock import local_text, now
from engine.errors import LeagueError, LeagueHeld
from engine.open_files import FLAGS, OpenFile

TRIES, BETWEEN_TRIES = 40, 0.005  # seconds, to take a lock that is only being tested: on a busy machine for longer
OFFSET = 1 << 30  # of the byte that Windows locks, so that the text before it stays readable
POSIX = os.name == "posix"
READ = os.O_RDONLY if POSIX else os.O_RDWR  # to lock it; the program that made it may be that of another user
LINUX = sys.platform == "linux"  # elsewhere a lock on the whole file would also block SQLite's own


class Lock:
    """The lock beside a league: held from its creation until `release` or the end of the process.

    No file is opened through a link, and none that exists is written to: it might be a link to a file of the user."""

    def __init__(self, league: Path) -> None:
        """Raises LeagueHeld if another program holds it, OSError if the lock file cannot be created."""
        self._league, self._path = league, _lock_path(league)
        self._handle = self._take()
        try:
            self._write_holder()
        except OSError:
            self.release()
            raise

    def _take(self) -> int:
        while True:
            handle, new = self._open()
            try:
                if not _lock_soon(handle):
                    holder = _holder(handle)
                    raise LeagueHeld(
                        f"{self._league} is open for writing in {holder}: close it there, or open it read-only"
                    )
                if self._in_place(handle):
                    if new or not POSIX:
                        return handle
                    self._path.unlink()  # its program was killed
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # it has just been deleted, here or by its last holder

    def _open(self) -> tuple[int, bool]:
        """A descriptor of the lock file, and whether it is new."""
        while True:
            try:
                return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | FLAGS, 0o644), True
            except FileExistsError:
                pass
            try:
                mode = os.lstat(self._path).st_mode
                if not stat.S_ISREG(mode):
                    what = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
                    raise LeagueError(f"{self._path} is {what}, so it cannot be the lock of a league: remove it")
                return os.open(self._path, READ | FLAGS), False
            except FileNotFoundError:  # deleted meanwhile
                continue

    def _write_holder(self) -> None:
        name = Path(sys.argv[0] or "python").name
        holder = {
            "program": "ringside" if name == "__main__.py" else name,
            "pid": os.getpid(),
            "host": socket.gethostname(),
        }
        if not POSIX:
            os.truncate(self._handle, 0)
        os.write(self._handle, json.dumps({**holder, "since": local_text(now(), "%Y-%m-%d %H:%M:%S")}).encode())

    def release(self) -> None:
        if self._handle >= 0:
            if not POSIX:  # an open file cannot be deleted there: it stays, empty
                os.truncate(self._handle, 0)
            elif self.in_place:
                self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = -1

    @property
    def in_place(self) -> bool:
        """Whether it is still at its path."""
        return self._handle >= 0 and self._in_place(self._handle)

    def _in_place(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), os.lstat(self._path))
        except FileNotFoundError:
            return False


class FileLock:
    """The lock on the league file itself. It does nothing except on Linux, and where a file system has no locks."""

    def __init__(self, file: OpenFile) -> None:
        self._file, self._handle = file, -1

    def take(self) -> bool:
        """Returns False if another program holds it."""
        return self._try(_lock_soon)

    def is_taken(self) -> bool:
        """Whether another program holds it now."""
        free = self._try(partial(_try_lock, shared=True))
        self.release()
        return not free

    def _try(self, lock: Callable[[int], bool]) -> bool:
        if not LINUX:
            return True
        try:
            self._handle = self._file.borrow()
            if lock(self._handle):
                return True
        except OSError:  # no locks here, such as in some network folders
            return True
        self.release()
        return False

    def release(self) -> None:
        if self._handle >= 0:
            _unlock(self._handle)
            self._file.give_back(self._handle)
            self._handle = -1


def is_locked(league: Path) -> bool:
    """Whether a program holds the lock beside this league now."""
    try:
        handle = os.open(_lock_path(league), READ | FLAGS)
    except OSError:
        return False
    try:
        return not _try_lock(handle, shared=True)
    except OSError:
        return False
    finally:
        os.close(handle)


def _lock_path(league: Path) -> Path:
    return league.with_name(league.name + "-lock")


def _lock_soon(handle: int) -> bool:
    """Whether it is locked now. Another program that tests the lock may hold it for some microseconds."""
    for _ in range(TRIES):
        if _try_lock(handle):
            return True
        time.sleep(BETWEEN_TRIES)
    return False


def _try_lock(handle: int, shared: bool = False) -> bool:
    """`shared`: only to test it, so that two programs that test it at the same moment do not find each other. Raises
    OSError where files cannot be locked."""
    if sys.platform == "win32":
        import msvcrt

        try:
            os.lseek(handle, OFFSET, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        except OSError:
            return False
    else:
        import fcntl

        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _unlock(handle: int) -> None:
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN)


def _holder(handle: int) -> str:
    """A description of the holder; the file may be incomplete if writing it was interrupted."""
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        holder = json.loads(os.read(handle, 4096))
        return f"{holder['program']} (process {holder['pid']} on {holder['host']}, since {holder['since']})"
    except (ValueError, KeyError, TypeError, RecursionError):
        return "another program"
