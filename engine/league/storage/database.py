"""The league file itself: opened with suspicion, written in whole transactions, and copied while it is in use."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from engine.errors import BadLeague, BadValue, LeagueError, LeagueHeld, ReadOnly, StorageFailed
from engine.files import check_path, settle
from engine.league.storage import schema
from engine.league.storage.lock import Lock

SUFFIX = ".league"
WHOLE = (
    64 << 20
)  # bytes: files up to here are checked entirely whenever they are opened, which takes a tenth of a second
PATIENCE = 5.0  # seconds to wait for somebody who is looking at the file
PAGE = 256  # rows of a stream that are fetched at once


class LeagueFile:
    """An open file: any number of readers at once, one writer."""

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = Path(os.path.realpath(check_path("league", path)))  # one file has one lock, whatever leads to it
        self.read_only = read_only
        self._writing = threading.RLock()
        self._local = threading.local()
        self._readers: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._lock: Lock | None = None
        self._closed = False
        self._news, self._reads = threading.Condition(), 0  # reads under way
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

    def _logged(self) -> bool:
        """Whether some of it is in the log beside it, still or again."""
        beside = self.path.with_name(self.path.name + "-wal")
        return beside.exists() and beside.stat().st_size > 0

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
        pragmas = ["trusted_schema=OFF", "cell_size_check=ON", "foreign_keys=ON", "synchronous=FULL"]
        pragmas.append("wal_autocheckpoint=4000")
        with self._told("open"):
            db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=PATIENCE)
            try:
                for pragma in [*pragmas, *(["query_only=ON"] if self.read_only else [])]:
                    db.execute(f"PRAGMA {pragma}")
            except BaseException:
                db.close()
                raise
        return db

    def _examine(self) -> None:
        """Is it one of ours, is it whole, and of which version?"""
        with self._told("open"):
            application = self._value("PRAGMA application_id")
            if application != schema.APPLICATION:
                raise BadLeague(f"{self.path} is a database, but no league of Ringside")
            whole = self._value("PRAGMA page_count") * self._value("PRAGMA page_size")
            size = self.path.stat().st_size
            if size < whole and not self._logged():
                told = f"{size:,} of {whole:,} bytes are left"
                raise BadLeague(f"{self.path} is cut off ({told}): take a backup, if there is one")
            version = self._value("PRAGMA user_version")
            if version > schema.VERSION:
                known = f"this one knows versions up to {schema.VERSION}"
                raise BadLeague(f"{self.path} is of version {version}, made by a newer Ringside ({known}): update it")
            if version != schema.VERSION and version not in schema.MIGRATIONS:
                raise BadLeague(f"{self.path} is damaged: there has never been a version {version}")
            if version == schema.VERSION:
                self._check_tables()
            self.check(whole=self.path.stat().st_size <= WHOLE)
            if version < schema.VERSION:
                self._migrate(version)
            if not self.read_only:
                self._main.execute("PRAGMA journal_mode=WAL")

    def _check_tables(self) -> None:
        """A trigger or a view of somebody's own would run when we read or write."""
        if schema.defined(self._main) != schema.expected():
            raise BadLeague(f"{self.path} has tables that no Ringside made: it is not opened")

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
            self._check_tables()

    # Reading and writing

    def reader(self) -> sqlite3.Connection:
        """This thread's own connection: it sees what has been committed, and waits for nobody."""
        if self._closed:
            raise LeagueError(f"{self.path} has been closed")
        found: sqlite3.Connection | None = getattr(self._local, "db", None)
        if found is None:
            found = self._connect()
            found.execute("PRAGMA query_only=ON")
            self._keep(found)
            self._local.db = found
        return found

    def _keep(self, db: sqlite3.Connection) -> None:
        """Until its thread is gone."""
        with self._writing:
            for thread, old in self._readers:
                if not thread.is_alive():
                    old.close()
            alive = [(thread, old) for thread, old in self._readers if thread.is_alive()]
            self._readers = [*alive, (threading.current_thread(), db)]

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, which nobody closes meanwhile: SQLite would crash."""
        db = self.reader()
        with self._news:
            if self._closed:
                raise LeagueError(f"{self.path} has been closed")
            self._reads += 1
        try:
            yield db
        finally:
            with self._news:
                self._reads -= 1
                self._news.notify_all()

    def read(self, sql: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        with self._told("read"), self.reading() as db:
            return db.execute(sql, values).fetchall()

    def stream(self, sql: str, *values: object) -> Iterator[tuple]:  # type: ignore[type-arg]
        """Rows one by one, for what may be many."""
        with self._told("read"):
            with self.reading() as db:
                cursor = db.execute(sql, values)
                rows = cursor.fetchmany(PAGE)
            while rows:
                yield from rows
                with self.reading():
                    rows = cursor.fetchmany(PAGE)

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
        except (UnicodeEncodeError, OverflowError) as error:
            given = error.object if isinstance(error, UnicodeEncodeError) else error
            raise BadValue("value", given, "text and numbers that a file can hold") from None
        except sqlite3.IntegrityError:
            raise
        except sqlite3.ProgrammingError:
            if self._closed:
                raise LeagueError(f"{self.path} has been closed") from None
            raise
        except sqlite3.DatabaseError as error:
            if self._closed and "interrupted" in str(error):
                raise LeagueError(f"{self.path} has been closed") from None
            name = getattr(error, "sqlite_errorname", "") or "SQLITE_CORRUPT"  # without one: text that is no text
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

    def _copy_to(self, copy: sqlite3.Connection) -> None:
        if self.read_only:
            self._main.backup(copy)
        else:
            with self.reading() as db:
                db.backup(copy)

    def backup(self, target: Path, replace: bool = False) -> None:
        """A copy of everything that is saved by now; the league stays in use meanwhile."""
        target = Path(os.path.realpath(check_path("file", target)))
        if target == self.path:
            raise LeagueError(f"{target} is the league itself: choose another name")

        def fill(copy: sqlite3.Connection) -> None:
            self._copy_to(copy)

        with self._told("copy"):
            write_database(target, fill, replace)

    def _unread(self) -> bool:
        return not self._reads

    def close(self) -> None:
        """Everything is on the disk already; this lets go of the file."""
        readers = [reader for _, reader in self._readers]
        with self._news:
            self._closed = True
            for db in readers:
                with suppress(sqlite3.Error):
                    db.interrupt()  # whoever reads is told that it has been closed
            self._news.wait_for(self._unread, PATIENCE)
        main = [self._main] if hasattr(self, "_main") else []
        for db in [*readers, *main]:
            with suppress(sqlite3.Error):
                db.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def insert_many(db: sqlite3.Connection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Many rows with few statements. Python lets go of its lock for each statement, and where another thread is busy
    it gets it back only after milliseconds: measured, 1,450 us a row that way and 140 us this way."""
    at = 0
    for size in (512, 64, 8, 1):
        while len(rows) - at >= size:
            part = rows[at : at + size]
            one = f"({','.join('?' * len(part[0]))})"
            values = [value for row in part for value in row]
            db.execute(f"INSERT INTO {table} VALUES {','.join([one] * size)}", values)
            at += size


def create(path: Path) -> None:
    """A new, empty league: whole, or not there at all."""

    def fill(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA page_size = 8192")  # with the longer log, a quarter less time for recording than as usual
        db.executescript(f"BEGIN; {schema.SCHEMA} COMMIT;")
        db.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        db.execute(f"PRAGMA user_version = {schema.VERSION}")

    write_database(Path(os.path.abspath(check_path("league", path))), fill, replace=False)


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
