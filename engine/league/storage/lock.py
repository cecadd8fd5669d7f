"""Who writes to a league: a lock file beside it that names its holder, and that is free again when that one dies."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

from engine.errors import LeagueHeld

FAR = 1 << 30  # where Windows locks a byte, so that the text before it stays readable


class Lock:
    """Held from its creation until `release`, or the end of the process, however that comes."""

    def __init__(self, league: Path) -> None:
        """Raise LeagueHeld if somebody else has it, OSError if there cannot be one here."""
        self._path = league.with_name(league.name + "-lock")
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
            if not _take(handle):
                told = _holder(handle)
                os.close(handle)
                raise LeagueHeld(
                    f"{league} is open for writing in {told}: close it there; looking at it works meanwhile"
                )
            if self._still_there(handle):
                break
            os.close(handle)  # its last holder has just removed it
        self._handle = handle
        try:
            self._sign()
        except OSError:
            self.release()
            raise

    def _sign(self) -> None:
        name = Path(sys.argv[0] or "python").name
        said = {
            "program": "ringside" if name == "__main__.py" else name,
            "pid": os.getpid(),
            "host": socket.gethostname(),
        }
        os.truncate(self._handle, 0)
        os.write(self._handle, json.dumps({**said, "since": time.strftime("%Y-%m-%d %H:%M:%S")}).encode())

    def release(self) -> None:
        if self._handle >= 0:
            if os.name == "posix":  # elsewhere an open file cannot be removed: the empty text stays
                self._path.unlink(missing_ok=True)
            os.truncate(self._handle, 0)
            os.close(self._handle)
            self._handle = -1

    def _still_there(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), os.stat(self._path))
        except FileNotFoundError:
            return False


def held(league: Path) -> bool:
    """Whether somebody has it now."""
    try:
        handle = os.open(league.with_name(league.name + "-lock"), os.O_RDWR)
    except OSError:
        return False
    try:
        return not _take(handle)
    finally:
        os.close(handle)


def _take(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder(handle: int) -> str:
    """In words; whoever wrote the file may have been interrupted."""
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        said = json.loads(os.read(handle, 4096))
        return f"{said['program']} (process {said['pid']} on {said['host']}, since {said['since']})"
    except (ValueError, KeyError, TypeError):
        return "another program"
