"""Temporary files and folders that do not stay when their program is killed: the next program removes them.

Each is locked by its program, and the system releases the lock when that ends. So one of this user that has such a name
and is not locked is no longer in use. Where files have no such locks, as on Windows, nothing is removed.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from engine.open_files import FLAGS

FOLDER, FILE = "ringside.", ".ringside."  # beginnings of names
ENDING = r"[a-z0-9_]{8}"  # as `tempfile` chooses them

_guard = threading.Lock()
_own: tuple[int, Path] | None = None  # the process that made the folder, and the folder


def private_folder() -> Path:
    """The folder for temporary files of this process and its children; no other user may enter it."""
    from multiprocessing import process  # here, because it takes some milliseconds to load

    global _own
    config = process.current_process()._config  # type: ignore[attr-defined]  # children get a copy
    with _guard:
        parents = config.get("tempdir", "")
        if re.fullmatch(re.escape(FOLDER) + ENDING, os.path.basename(parents)):
            return Path(parents)
        if _own is None or _own[0] != os.getpid():
            _own = os.getpid(), _new_folder()
            atexit.register(_remove_own, *_own)
            config.setdefault("tempdir", str(_own[1]))  # multiprocessing would make one that stays
        return _own[1]


def _new_folder() -> Path:
    _remove_unused(Path(tempfile.gettempdir()), FOLDER)
    while True:
        path = Path(tempfile.mkdtemp(prefix=FOLDER))
        if sys.platform == "win32":
            return path
        with suppress(FileNotFoundError):  # a program that looked for unused ones was faster than the lock
            handle = os.open(path, os.O_RDONLY | FLAGS)
            if _lock(handle) and _is_at(handle, path):
                return path  # the descriptor stays open until this process ends
            os.close(handle)


def _remove_own(process: int, folder: Path) -> None:
    if process == os.getpid():  # not in a fork
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def new_file(folder: Path) -> Iterator[Path]:
    """An empty file in this folder, to be filled and renamed in the block; after it, what is left is removed."""
    _remove_unused(folder, FILE)
    with ExitStack() as stack:
        while True:
            handle, name = tempfile.mkstemp(dir=folder, prefix=FILE)
            path = Path(name)
            if sys.platform == "win32":  # an open file could not be renamed
                os.close(handle)
                break
            if _lock(handle) and _is_at(handle, path):
                stack.callback(os.close, handle)
                break
            os.close(handle)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


def _remove_unused(folder: Path, start: str) -> None:
    if sys.platform != "win32":
        name = re.compile(re.escape(start) + ENDING)
        with suppress(OSError), os.scandir(folder) as found:
            for entry in found:
                if name.fullmatch(entry.name):
                    _remove_if_unused(Path(entry.path))


def _remove_if_unused(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY | FLAGS)
    except OSError:  # a link, or of another user
        return
    try:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid() or not _lock(handle, certainly=True):
            return
        if stat.S_ISDIR(found.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(found.st_mode):
            path.unlink(missing_ok=True)
    except OSError:  # it cannot be removed
        pass
    finally:
        os.close(handle)


def _lock(handle: int, certainly: bool = False) -> bool:
    """Whether it is locked now; also if it cannot be locked at all, unless `certainly` is set."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return not certainly
    return True


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
