"""Reads and writes files: atomically, so under a temporary name first. Also finds asset files.

All files that a user names go through `read_file`, which refuses what may never end, and `write_file`, which never
overwrites a league, and another file only on request. The league itself has `engine.league.storage.database`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from engine.errors import BadValue
from engine.open_files import is_open_here
from engine.temporary import new_file

LEAGUE_SUFFIX = ".league"
LEAGUE_NAME = re.compile(rf"{re.escape(LEAGUE_SUFFIX)}(-wal|-shm|-journal|-lock)?", re.IGNORECASE)  # suffix
DATABASE = b"SQLite format 3\0"  # the first bytes of a league, whatever its name is


def check_path(field: str, path: Path | str) -> Path:
    """Raise BadValue unless the operating system accepts this path. The file need not exist."""
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise BadValue(field, str(path), "a shorter path") from None
    except ValueError:  # a null byte, or characters that cannot be encoded
        raise BadValue(field, str(path), "a valid path") from None
    return Path(path)


def asset(name: str) -> Path | None:
    """The path of an asset: next to the packages in a checkout, inside this package when installed; None if missing."""
    here = Path(__file__).parent
    paths = (here.parent / "assets" / name, here / "assets" / name)
    return next((path for path in paths if path.is_file()), None)


def read_file(path: Path | str, largest: int, field: str = "file") -> bytes:
    """The content of a file that the user named. Raises BadValue for pipes and devices, which may never end."""
    path = check_path(field, path)
    if is_open_here(path):
        raise BadValue(field, str(path), "another file; this is a league that is open")
    try:  # without blocking: opening a named pipe would wait for a writer
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise BadValue(field, str(path), "a regular file; this is a folder, a device or a pipe")
            if os.fstat(handle).st_size > largest:
                raise BadValue(field, str(path), f"a file of at most {largest:,} bytes")
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read(largest + 1)
        finally:
            os.close(handle)
    except OSError as error:
        raise BadValue(field, str(path), f"a regular file that can be read ({error.strerror or error})") from None


def check_writable(path: Path | str, overwrite: bool = False, field: str = "file") -> Path:
    """Raise BadValue unless `write_file` can write this file: call it before the work that produces the content."""
    path = check_path(field, path)
    if _is_league(path):
        raise BadValue(field, str(path), "another name: a league is never overwritten")
    if os.path.isdir(path):
        raise BadValue(field, str(path), "the name of a file; this is a folder")
    if os.path.exists(path) and not os.path.isfile(path):
        raise BadValue(field, str(path), "the name of a file; this is a device or a pipe")
    if os.path.lexists(path) and not overwrite:
        raise BadValue(field, str(path), "a new name: this file exists, and only --overwrite replaces it")
    try:
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with tempfile.TemporaryFile(dir=path.parent):  # the only reliable test; access rights say too little
            pass
    except OSError as error:
        raise _unwritable(field, path, error) from None
    return path


def write_file(path: Path | str, data: bytes | Iterable[bytes], overwrite: bool = False, field: str = "file") -> Path:
    """Write a file that the user named, completely or not at all; `field` names the argument in error messages."""
    path = check_writable(path, overwrite, field)
    try:
        _write(path, [data] if isinstance(data, bytes) else data, overwrite)
    except FileExistsError:
        raise BadValue(field, str(path), "a new name: another program has just created this file") from None
    except OSError as error:
        raise _unwritable(field, path, error) from None
    return path


def _is_league(path: Path) -> bool:
    """By its name, existing or not, or by its content."""
    if any(LEAGUE_NAME.fullmatch(file.suffix) for file in (path, Path(os.path.realpath(path)))):
        return True
    if is_open_here(path):
        return True
    try:
        if not os.path.isfile(path):
            return False
        with path.open("rb") as file:
            return file.read(len(DATABASE)) == DATABASE
    except OSError:  # unreadable: then it is not overwritten either, unless asked to
        return False


def _unwritable(field: str, path: Path, error: OSError) -> BadValue:
    return BadValue(field, str(path), f"a file that can be written ({error.strerror or error})")


def write_private(path: Path, data: bytes) -> None:
    """Write a file of the program's own, which only this user may read, so that a crash leaves either the old or the
    new content. A missing folder is made for this user only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path, [data], replace=True, mode=0o600)


def make_private(path: Path) -> None:
    """Takes permissions for others away from a file or folder, if it is this user's."""
    if os.name == "posix":
        with suppress(OSError):  # it does not exist, or its file system has no permissions
            found = path.lstat()
            if found.st_uid == os.geteuid() and found.st_mode & 0o077 and not stat.S_ISLNK(found.st_mode):
                path.chmod(stat.S_IMODE(found.st_mode) & 0o700)


def _write(path: Path, parts: Iterable[bytes], replace: bool, mode: int | None = None) -> None:
    with new_file(path.parent) as temporary:
        with temporary.open("wb") as file:
            file.writelines(parts)
        move_into_place(temporary, path, replace, mode)


def move_into_place(temporary: Path, path: Path, replace: bool = True, mode: int | None = None) -> None:
    """Flush a temporary file and rename it to `path`. Raises FileExistsError if `path` exists and not `replace`.
    `mode`: its permissions; by default those of any new file, which a temporary one does not have."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    if mode is None:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    os.chmod(temporary, mode)
    if replace:
        os.replace(temporary, path)
    else:
        _link_new(temporary, path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _link_new(temporary: Path, path: Path) -> None:
    """Rename unless `path` exists, atomically on file systems that support hard links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(temporary, path)
