"""Lock: a file beside the league that names the program writing to it; the system releases it if the program dies."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

from engine.errors import LeagueHeld

TRIES, BETWEEN_TRIES = 40, 0.005  # seconds, to take a lock that is only being tested: on a busy machine for longer
OFFSET = 1 << 30  # of the byte that Windows locks, so that the text before it stays readable


class Lock:
    """Held from its creation until `release` or the end of the process."""

    def __init__(self, league: Path) -> None:
        """Raises LeagueHeld if another program holds it, OSError if the lock file cannot be created."""
        self._path = league.with_name(league.name + "-lock")
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
            if not _lock_soon(handle):
                holder = _holder(handle)
                os.close(handle)
                raise LeagueHeld(f"{league} is open for writing in {holder}: close it there, or open it read-only")
            if self._still_there(handle):
                break
            os.close(handle)  # its last holder has just deleted it
        self._handle = handle
        try:
            self._write_holder()
        except OSError:
            self.release()
            raise

    def _write_holder(self) -> None:
        name = Path(sys.argv[0] or "python").name
        holder = {
            "program": "ringside" if name == "__main__.py" else name,
            "pid": os.getpid(),
            "host": socket.gethostname(),
        }
        os.truncate(self._handle, 0)
        os.write(self._handle, json.dumps({**holder, "since": time.strftime("%Y-%m-%d %H:%M:%S")}).encode())

    def release(self) -> None:
        if self._handle >= 0:
            if os.name == "posix":  # elsewhere an open file cannot be deleted: it stays, empty
                self._path.unlink(missing_ok=True)
            os.truncate(self._handle, 0)
            os.close(self._handle)
            self._handle = -1

    def _still_there(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), os.stat(self._path))
        except FileNotFoundError:
            return False


def is_locked(league: Path) -> bool:
    """Whether a program holds the lock now."""
    try:
        # For reading is enough, except on Windows: the program may be that of another user.
        mode = os.O_RDONLY if os.name == "posix" else os.O_RDWR
        handle = os.open(league.with_name(league.name + "-lock"), mode)
    except OSError:
        return False
    try:
        return not _try_lock(handle, shared=True)
    finally:
        os.close(handle)


def _lock_soon(handle: int) -> bool:
    """Whether it is locked now. `is_locked` in another program may hold it for some microseconds."""
    for _ in range(TRIES):
        if _try_lock(handle):
            return True
        time.sleep(BETWEEN_TRIES)
    return False


def _try_lock(handle: int, shared: bool = False) -> bool:
    """`shared`: only to test it, so that two programs that test it at the same moment do not find each other."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, OFFSET, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder(handle: int) -> str:
    """A description of the holder; the file may be incomplete if writing it was interrupted."""
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        holder = json.loads(os.read(handle, 4096))
        return f"{holder['program']} (process {holder['pid']} on {holder['host']}, since {holder['since']})"
    except (ValueError, KeyError, TypeError):
        return "another program"
