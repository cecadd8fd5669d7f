"""Translates errors of SQLite into errors that say what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import BadLeague, BadValue, LeagueError, LeagueGone, LeagueHeld, RingsideError, StorageFailed

FILE_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")


@contextmanager
def translated_errors(path: Path, verb: str, is_closed: Callable[[], bool]) -> Iterator[None]:
    """`verb` says what the block does with the file; `is_closed` is asked after an error."""
    try:
        yield
    except (UnicodeEncodeError, OverflowError) as error:
        given = error.object if isinstance(error, UnicodeEncodeError) else error
        raise BadValue("value", given, "text and numbers that a file can hold") from None
    except UnicodeDecodeError as error:  # SQLite's message quotes a damaged definition
        raise BadLeague(f"{path} is damaged ({error.reason}): restore a backup") from error
    except sqlite3.IntegrityError:
        raise
    except sqlite3.ProgrammingError:
        if is_closed():
            raise LeagueError(f"{path} has been closed") from None
        raise
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "") or "SQLITE_CORRUPT"  # without one: invalid text
        if is_closed() and name == "SQLITE_INTERRUPT":
            raise LeagueError(f"{path} has been closed") from None
        translated = _translated(path, verb, name, error)
        if translated is None:
            raise
        raise translated from error


def _translated(path: Path, verb: str, name: str, error: sqlite3.DatabaseError) -> RingsideError | None:
    if name == "SQLITE_READONLY_DBMOVED" or (name.startswith(FILE_ERRORS) and not path.exists()):
        return league_gone(path)
    if name.startswith(FILE_ERRORS):
        what = "the disk is full" if name == "SQLITE_FULL" else str(error)
        denied = name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN"))
        advice = "check the permissions of the file and its folder" if denied else "make room or check the disk"
        return StorageFailed(f"cannot {verb} {path}: {what}. Nothing that was saved is lost; {advice}")
    if name.startswith("SQLITE_BUSY"):
        return LeagueHeld(f"{path} is being written by another program that does not release it")
    if name.startswith("SQLITE_NOTADB"):
        return BadLeague(f"{path} is not a league: {error}")
    if name.startswith("SQLITE_CORRUPT"):
        return BadLeague(f"{path} is damaged ({error}): restore a backup")
    return None


def league_gone(path: Path) -> LeagueGone:
    """SQLite would still write to a file that has no name any more, or another one."""
    return LeagueGone(f"{path} was deleted, moved or replaced while it was open, so nothing more is saved in it")
