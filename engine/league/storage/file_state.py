"""A league file and the files beside it, before it is opened: permissions, and whether it has changed or may soon."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from engine.errors import BadLeague, ReadOnly
from engine.league.storage.lock import is_locked


class FileState(NamedTuple):
    """What a reader without write permission can observe. Two equal states: the file was not written in between.

    A program that writes takes the lock, then opens the log (`-wal`, with its index `-shm`), writes to the log, and
    copies pages from there to the file, which changes the file's time of modification."""

    locked: bool
    log: bool  # the log holds data
    in_use: bool  # the log is open, or was when its program was killed
    identity: tuple[int, int, int] | None  # of the file: inode, size, time of modification; None if it is missing

    @property
    def at_rest(self) -> bool:
        """Whether everything is in the file itself and no program has opened its log."""
        return not self.log and not (self.locked and self.in_use)

    @classmethod
    def of(cls, league: Path) -> FileState:
        """The file itself last: what happens between the other looks and this one changes its identity."""
        in_use = has_log_index(league)
        return cls(is_locked(league), log_has_data(league), in_use, _identity(league))


def log_has_data(league: Path) -> bool:
    """Whether the write-ahead log beside the file holds data."""
    try:
        return _beside(league, "-wal").stat().st_size > 0
    except OSError:
        return False


def has_log_index(league: Path) -> bool:
    """Whether a program has the log beside the file open, or had it open when it was killed."""
    return _beside(league, "-shm").exists()


def _beside(league: Path, suffix: str) -> Path:
    return league.with_name(league.name + suffix)


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def remove_log(league: Path) -> None:
    """Remove a log that does not belong to the file: SQLite would apply it. Call it with the lock, or if there is no
    file."""
    for suffix in ("-wal", "-shm", "-journal"):
        with suppress(OSError):
            _beside(league, suffix).unlink(missing_ok=True)


def check_readable(path: Path) -> None:
    """Raise BadLeague unless it is a file with content that this user may read."""
    try:
        size = path.stat().st_size
    except OSError as error:
        hint = "; `ringside new` makes one" if isinstance(error, FileNotFoundError) else ""
        raise BadLeague(f"{path}: {error.strerror}{hint}") from None
    if not path.is_file():
        raise BadLeague(f"{path} is not a file")
    if not os.access(path, os.R_OK):
        raise BadLeague(f"{path} cannot be read ({os.strerror(errno.EACCES)}): change its permissions")
    if size == 0:
        raise BadLeague(f"{path} is empty, its content is lost: restore a backup")


def make_log_writable(league: Path) -> None:
    """SQLite gives its log the permissions of the league. What was left beside a league that could not be written then
    would block every writer now."""
    for beside in (_beside(league, suffix) for suffix in ("-wal", "-shm")):
        if beside.exists() and not os.access(beside, os.W_OK):
            try:
                beside.chmod(stat.S_IMODE(league.stat().st_mode))
            except OSError as error:
                raise ReadOnly(f"{beside} cannot be written ({error.strerror}): change its permissions") from None
