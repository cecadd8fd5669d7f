"""Writes new database files, completely or not at all, and removes what a killed program left of one."""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.errors import LeagueError, LeagueHeld, StorageFailed
from engine.files import check_path, move_into_place
from engine.league.storage import schema
from engine.league.storage.file_state import remove_log
from engine.league.storage.lock import is_locked


def create(path: Path) -> None:
    """Create an empty league file, completely or not at all."""

    def fill(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA page_size = 8192")  # with the longer log, recording takes a quarter less time
        db.executescript(f"BEGIN; {schema.SCHEMA} COMMIT;")
        db.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        db.execute(f"PRAGMA user_version = {schema.VERSION}")

    write_database(Path(os.path.abspath(check_path("league", path))), fill, replace=False)


def upgrade_backup(league: Path, version: int | str) -> Path:
    """Where a file of this older version is copied to before it is upgraded."""
    return league.with_name(f"{league.name}.version{version}.backup")


def write_database(target: Path, fill: Callable[[sqlite3.Connection], None], replace: bool) -> None:
    """Write a database under a temporary name, then rename it."""
    if os.path.lexists(target):
        if not replace:
            raise LeagueError(f"{target} already exists: choose another name, or remove it first")
    elif is_locked(target):
        raise LeagueHeld(f"a program still has {target} open, which was deleted or moved: close it there")
    else:
        remove_log(target)  # of a killed program, whose file was deleted
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=_temporary_prefix(target))
    except OSError as error:
        raise StorageFailed(f"cannot write {target}: {error.strerror}; choose another folder") from None
    os.close(handle)
    try:
        db = sqlite3.connect(name, isolation_level=None)
        try:
            fill(db)
            db.execute("PRAGMA journal_mode=DELETE")
        finally:
            db.close()
        move_into_place(Path(name), target, replace)
    except FileExistsError:
        raise LeagueError(f"{target} already exists: choose another name, or remove it first") from None
    except sqlite3.Error as error:
        raise StorageFailed(f"cannot write {target}: {error}") from error
    finally:
        remove_database(Path(name))


def remove_database(path: Path) -> None:
    """Remove a temporary database, and the journal that SQLite leaves beside it when the disk is full."""
    for file in (path, path.with_name(f"{path.name}-journal")):
        file.unlink(missing_ok=True)


def remove_unfinished_backups(league: Path) -> None:
    """Remove temporary files of upgrades that were killed. Call it with the league's lock, which an upgrade holds too:
    then none of them is being written."""
    start, end = _temporary_prefix(upgrade_backup(league, "\0")).split("\0")
    temporary = re.compile(rf"{re.escape(start)}[0-9]+{re.escape(end)}\w{{8}}(-journal)?")  # 8: of `tempfile`
    with suppress(OSError):  # a folder that cannot be listed
        for path in league.parent.iterdir():
            if temporary.fullmatch(path.name):
                path.unlink(missing_ok=True)


def _temporary_prefix(target: Path) -> str:
    return f".{target.name}."
