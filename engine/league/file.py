"""The league file itself: opened with suspicion, written in whole transactions, and copied while it is in use."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from engine.errors import BadLeague, LeagueError, LeagueHeld, ReadOnly, StorageFailed
from engine.files import settle
from engine.league import schema
from engine.league.lock import Lock

SUFFIX = ".league"
WHOLE = (
    64 << 20
)  # bytes: files up to here are checked entirely whenever they are opened, which takes a tenth of a second
PATIENCE = 5.0  # seconds to wait for somebody who is looking at the file


class LeagueFile:
    """An open file: any number of readers at once, one writer."""

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = Path(os.path.abspath(path))
        self.read_only = read_only
        self._writing = threading.RLock()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._lock: Lock | None = None
        self._closed = False
        self._check_place()
        if not read_only:
            self._lock = self._take_lock()
        try:
            self._mode = self._find_mode()
            self._main = self._connect()
            self._examine()
        except BaseException:
            self.close()
            raise

    # Opening

    def _check_place(self) -> None:
        try:
            size = self.path.stat().st_size
        except OSError as error:
            hint = "; `ringside new` makes one" if isinstance(error, FileNotFoundError) else ""
            raise BadLeague(f"{self.path}: {error.strerror}{hint}") from None
        if not self.path.is_file():
            raise BadLeague(f"{self.path} is not a file")
        if size == 0:
            raise BadLeague(f"{self.path} is empty: whatever was in it is lost; take a backup, if there is one")

    def _take_lock(self) -> Lock:
        if not os.access(self.path, os.W_OK):
            raise ReadOnly(f"{self.path} cannot be written: open it read-only, or copy it to another place")
        try:
            return Lock(self.path)
        except LeagueHeld:
            raise
        except OSError as error:
            told = f"{self.path.parent} cannot be written ({error.strerror})"
            raise ReadOnly(f"{told}: open {self.path.name} read-only, or copy it to another place") from None

    def _find_mode(self) -> str:
        """Who only looks may still have to clear away the log that SQLite keeps beside the file, so it opens for
        writing where it can, and `query_only` forbids it to. A folder that cannot be written has no log, and SQLite
        must be told so."""
        if os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK):
            return "mode=rw"
        beside = self.path.with_name(self.path.name + "-wal").exists()
        return "mode=ro" if beside or os.access(self.path.parent, os.W_OK) else "mode=ro&immutable=1"

    def _connect(self) -> sqlite3.Connection:
        address = f"{self.path.as_uri()}?{self._mode}"
        db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=PATIENCE)
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "foreign_keys=ON", "synchronous=FULL"):
            db.execute(f"PRAGMA {pragma}")
        if self.read_only:
            db.execute("PRAGMA query_only=ON")
        return db

    def _examine(self) -> None:
        """Is it one of ours, is it whole, and of which version?"""
        with self._told("open"):
            application = self._value("PRAGMA application_id")
            if application != schema.APPLICATION:
                raise BadLeague(f"{self.path} is a database, but no league of Ringside")
            version = self._value("PRAGMA user_version")
            if version > schema.VERSION:
                known = f"this one knows versions up to {schema.VERSION}"
                raise BadLeague(f"{self.path} is of version {version}, made by a newer Ringside ({known}): update it")
            self.check(whole=self.path.stat().st_size <= WHOLE)
            if version < schema.VERSION:
                self._migrate(version)
            if schema.defined(self._main) != schema.expected():
                raise BadLeague(f"{self.path} has tables that no Ringside made: it is not opened")
            if not self.read_only:
                self._main.execute("PRAGMA journal_mode=WAL")

    def check(self, whole: bool = True) -> None:
        """Raise BadLeague unless the file is sound; the large tables only if asked."""
        with self._told("check"):
            names = [row[0] for row in self._main.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            checks = ["PRAGMA quick_check"]
            if not whole:
                checks = [f'PRAGMA quick_check("{name}")' for name in names if name not in schema.LARGE]
            for check in checks:
                found = self._value(check)
                if found != "ok":
                    raise BadLeague(
                        f"{self.path} is damaged ({found.splitlines()[-1]}): take a backup, if there is one"
                    )

    def _migrate(self, version: int) -> None:
        if self.read_only:
            raise BadLeague(f"{self.path} is of an older version ({version}): open it for writing once, to bring it up")
        self.backup(self.path.with_name(f"{self.path.name}.version{version}.backup"), replace=True)
        with self.transaction() as db:
            for step in range(version, schema.VERSION):
                schema.MIGRATIONS[step](db)
            db.execute(f"PRAGMA user_version = {schema.VERSION}")

    # Reading and writing

    def reader(self) -> sqlite3.Connection:
        """This thread's own connection: it sees what has been committed, and waits for nobody."""
        if self._closed:
            raise LeagueError(f"{self.path} has been closed")
        found: sqlite3.Connection | None = getattr(self._local, "db", None)
        if found is None:
            found = self._local.db = self._connect()
            found.execute("PRAGMA query_only=ON")
            self._readers.append(found)
        return found

    def read(self, sql: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        with self._told("read"):
            return self.reader().execute(sql, values).fetchall()

    def stream(self, sql: str, *values: object) -> Iterator[tuple]:  # type: ignore[type-arg]
        """Rows one by one, for what may be many."""
        with self._told("read"):
            yield from self.reader().execute(sql, values)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing, and on the disk when it ends well."""
        if self.read_only:
            raise ReadOnly(f"{self.path} was opened read-only: nothing can be changed")
        if self._closed:
            raise LeagueError(f"{self.path} has been closed")
        with self._writing, self._told("write"):
            if self._main.in_transaction:  # part of a larger one
                yield self._main
                return
            self._main.execute("BEGIN IMMEDIATE")
            try:
                yield self._main
                self._main.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # after a full disk SQLite has rolled back by itself
                    self._main.execute("ROLLBACK")
                raise

    @contextmanager
    def _told(self, verb: str) -> Iterator[None]:
        """What SQLite says, in words that help."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "") or ""
            if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
                what = "the disk is full" if name == "SQLITE_FULL" else str(error)
                told = f"cannot {verb} {self.path}: {what}. Nothing that was saved is lost; make room or check the disk"
                raise StorageFailed(told) from error
            if name.startswith("SQLITE_BUSY"):
                raise LeagueHeld(f"{self.path} is being written by another program that does not let go") from error
            if name.startswith("SQLITE_NOTADB"):
                raise BadLeague(f"{self.path} is no league: {error}") from error
            if name.startswith("SQLITE_CORRUPT"):
                raise BadLeague(f"{self.path} is damaged ({error}): take a backup, if there is one") from error
            raise

    def _value(self, sql: str) -> Any:
        return self._main.execute(sql).fetchone()[0]

    # Copying and closing

    def backup(self, target: Path, replace: bool = False) -> None:
        """A copy of everything that is saved by now; the league stays in use meanwhile."""
        target = Path(os.path.abspath(target))
        if target == self.path:
            raise LeagueError(f"{target} is the league itself: choose another name")

        def fill(copy: sqlite3.Connection) -> None:
            (self._main if self.read_only else self.reader()).backup(copy)

        with self._told("copy"):
            write_database(target, fill, replace)

    def close(self) -> None:
        """Everything is on the disk already; this lets go of the file."""
        self._closed = True
        for db in [*self._readers, *([self._main] if hasattr(self, "_main") else [])]:
            with suppress(sqlite3.Error):
                db.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def create(path: Path) -> None:
    """A new, empty league: whole, or not there at all."""

    def fill(db: sqlite3.Connection) -> None:
        db.executescript(f"BEGIN; {schema.SCHEMA} COMMIT;")
        db.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        db.execute(f"PRAGMA user_version = {schema.VERSION}")

    write_database(Path(os.path.abspath(path)), fill, replace=False)


def write_database(target: Path, fill: Callable[[sqlite3.Connection], None], replace: bool) -> None:
    """Under a temporary name first, then in place."""
    if target.exists() and not replace:
        raise LeagueError(f"{target} is there already: choose another name, or remove it first")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise StorageFailed(f"cannot write into {target.parent}: {error.strerror}") from None
    os.close(handle)
    try:
        db = sqlite3.connect(name, isolation_level=None)
        try:
            fill(db)
            db.execute("PRAGMA journal_mode=DELETE")
        finally:
            db.close()
        settle(Path(name), target, replace)
    except FileExistsError:
        raise LeagueError(f"{target} is there already: choose another name, or remove it first") from None
    except sqlite3.Error as error:
        raise StorageFailed(f"cannot write {target}: {error}") from error
    finally:
        Path(name).unlink(missing_ok=True)
