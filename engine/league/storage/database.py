"""Database: opens and checks the SQLite file of a league, reads it, writes it in transactions, and copies it while it
is in use."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from engine.errors import BadLeague, BadValue, LeagueError, LeagueHeld, ReadOnly, StorageFailed
from engine.files import LEAGUE_SUFFIX, check_path, move_into_place
from engine.league.storage import schema
from engine.league.storage.lock import Lock, is_locked

SUFFIX = LEAGUE_SUFFIX
FULL_CHECK = 64 << 20  # bytes: smaller files are checked entirely when they are opened, in about 0.1 s
BUSY_TIMEOUT = 5.0  # seconds to wait for other connections
PAGE = 256  # rows that a stream fetches at once


class Database:
    """An open file: any number of concurrent readers, one writer."""

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = Path(os.path.realpath(check_path("league", path)))  # one lock per file, also through symbolic links
        self.read_only = read_only
        self._writing = threading.RLock()
        self._local = threading.local()
        self._readers: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._lock: Lock | None = None
        self._copy: Path | None = None  # what is read instead of a file of an older version
        self._closed = False
        self._condition, self._reads = threading.Condition(), 0  # reads under way
        self._commits = 0
        self._check_place()
        if not read_only:
            self._lock = self._take_lock()
        try:
            if not read_only:
                self._make_log_writable()
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
        if not os.access(self.path, os.R_OK):
            raise BadLeague(f"{self.path} cannot be read ({os.strerror(errno.EACCES)}): change its permissions")
        if size == 0:
            raise BadLeague(f"{self.path} is empty, its content is lost: restore a backup")

    def _logged(self) -> bool:
        """Whether the write-ahead log beside the file holds data."""
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
            reason = f"{self.path.parent} cannot be written ({error.strerror})"
            raise ReadOnly(f"{reason}: open {self.path.name} read-only, or copy it to another place") from None

    def _make_log_writable(self) -> None:
        """SQLite gives its log the permissions of the league. What was left beside a league that could not be written
        then would block every writer now."""
        for beside in (self.path.with_name(self.path.name + suffix) for suffix in ("-wal", "-shm")):
            if beside.exists() and not os.access(beside, os.W_OK):
                try:
                    beside.chmod(stat.S_IMODE(self.path.stat().st_mode))
                except OSError as error:
                    raise ReadOnly(f"{beside} cannot be written ({error.strerror}): change its permissions") from None

    def _find_mode(self) -> str:
        """Also a reader may have to clean up the log that SQLite keeps beside the file. So it opens for writing if
        possible, and `query_only` prevents changes. Where that is impossible, SQLite must not create a log: it could
        not remove it. So the file is read as one that does not change, unless a log holds data or a program writes."""
        if os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK):
            return "mode=rw"
        return "mode=ro" if self._logged() or is_locked(self.path) else "mode=ro&immutable=1"

    def _connect(self) -> sqlite3.Connection:
        address = f"{(self._copy or self.path).as_uri()}?{self._mode if self._copy is None else 'mode=ro'}"
        pragmas = ["trusted_schema=OFF", "cell_size_check=ON", "foreign_keys=ON", "synchronous=FULL"]
        pragmas.append("wal_autocheckpoint=4000")
        with self._translated_errors("open"):
            db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_TIMEOUT)
            try:
                for pragma in [*pragmas, *(["query_only=ON"] if self.read_only else [])]:
                    db.execute(f"PRAGMA {pragma}")
            except BaseException:
                db.close()
                raise
        return db

    def _examine(self) -> None:
        """Raise BadLeague unless it is an intact league file of a known version; migrate an older one."""
        with self._translated_errors("open"):
            application = self._value("PRAGMA application_id")
            if application != schema.APPLICATION:
                raise BadLeague(f"{self.path} is a database, but not a Ringside league")
            whole = self._value("PRAGMA page_count") * self._value("PRAGMA page_size")
            size = self.path.stat().st_size
            if size < whole and not self._logged():
                left = f"{size:,} of {whole:,} bytes are left"
                raise BadLeague(f"{self.path} is truncated ({left}): restore a backup")
            version = self._value("PRAGMA user_version")
            if version > schema.VERSION:
                known = f"this one reads versions up to {schema.VERSION}"
                raise BadLeague(f"{self.path} is of version {version}, made by a newer Ringside ({known}): update it")
            if version != schema.VERSION and version not in schema.MIGRATIONS:
                raise BadLeague(f"{self.path} is damaged: version {version} never existed")
            if version == schema.VERSION:
                self._check_tables()
            self.check(whole=self.path.stat().st_size <= FULL_CHECK)
            if version < schema.VERSION:
                self._migrate(version)
            if not self.read_only:
                self._main.execute("PRAGMA journal_mode=WAL")

    def _check_tables(self) -> None:
        """A foreign trigger or view would run when the file is read or written."""
        if schema.defined(self._main) != schema.expected():
            raise BadLeague(f"{self.path} has tables that Ringside did not create: it is not opened")

    def check(self, whole: bool = True) -> None:
        """Raise BadLeague if the file is damaged; the large tables are checked only if `whole` is set."""
        with self._translated_errors("check"):
            names = [row[0] for row in self._main.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            checks = ["PRAGMA quick_check"]
            if not whole:
                checks = [f'PRAGMA quick_check("{name}")' for name in names if name not in schema.LARGE]
            for check in checks:
                found = self._value(check)
                if found != "ok":
                    raise BadLeague(f"{self.path} is damaged ({found.splitlines()[-1]}): restore a backup")

    def _migrate(self, version: int) -> None:
        if self.read_only:
            self._use_migrated_copy(version)
            return
        self.backup(self.path.with_name(f"{self.path.name}.version{version}.backup"), replace=True)
        with self.transaction() as db:
            migrate(db, version)
            self._check_tables()

    def _use_migrated_copy(self, version: int) -> None:
        """Reads from a temporary copy of the current version: a file that was opened read-only is not changed."""
        try:
            handle, name = tempfile.mkstemp(prefix="ringside-", suffix=SUFFIX)
            os.close(handle)
            self._copy = Path(name)
            with closing(sqlite3.connect(name, isolation_level=None)) as copy:
                self._copy_to(copy)
                copy.execute("PRAGMA journal_mode=DELETE")
                copy.execute("BEGIN")
                migrate(copy, version)
                copy.execute("COMMIT")
        except (OSError, sqlite3.OperationalError) as error:
            folder = f" in {self._copy.parent}" if self._copy else ""
            reason = f"{self.path} is of version {version}, and a temporary copy{folder} failed ({error})"
            raise StorageFailed(f"{reason}: make room there, or open it for writing once, which upgrades it") from error
        self._main.close()
        self._main = self._connect()
        self._check_tables()

    # Reading and writing

    def reader(self) -> sqlite3.Connection:
        """This thread's own connection: it sees committed data and does not block."""
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
        """Keep a connection until its thread has ended."""
        with self._writing:
            for thread, old in self._readers:
                if not thread.is_alive():
                    old.close()
            alive = [(thread, old) for thread, old in self._readers if thread.is_alive()]
            self._readers = [*alive, (threading.current_thread(), db)]

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, protected from `close`: closing it during a read would crash SQLite."""
        db = self.reader()
        with self._condition:
            if self._closed:
                raise LeagueError(f"{self.path} has been closed")
            self._reads += 1
        try:
            yield db
        finally:
            with self._condition:
                self._reads -= 1
                self._condition.notify_all()

    def read(self, sql: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        with self._translated_errors("read"), self.reading() as db:
            return db.execute(sql, values).fetchall()

    def stream(self, sql: str, *values: object) -> Iterator[tuple]:  # type: ignore[type-arg]
        """Rows one by one, for large results."""
        with self._translated_errors("read"):
            with self.reading() as db:
                cursor = db.execute(sql, values)
                rows = cursor.fetchmany(PAGE)
            while rows:
                yield from rows
                with self.reading():
                    rows = cursor.fetchmany(PAGE)

    def version(self) -> int | None:
        """Another number after each change of the file; None while this thread reads an earlier state of it.

        Read it before the data that is kept for it: data may then be newer than its version, but never older."""
        with self._translated_errors("read"), self.reading() as db:
            if db.in_transaction:
                return None
            if not self.read_only:
                return self._commits  # there is no other writer
            with self._writing:
                return int(self._value("PRAGMA data_version"))  # of one connection: each counts for itself

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all changes, or none if the block raises; they are on the disk when it ends."""
        if self.read_only:
            raise ReadOnly(f"{self.path} was opened read-only: nothing can be changed")
        if self._closed:
            raise LeagueError(f"{self.path} has been closed")
        with self._writing, self._translated_errors("write"):
            if self._main.in_transaction:  # part of a larger one
                yield self._main
                return
            self._main.execute("BEGIN IMMEDIATE")
            try:
                yield self._main
                self._main.execute("COMMIT")
                self._commits += 1
            except BaseException:
                with suppress(sqlite3.Error):  # after a full disk SQLite has rolled back by itself
                    self._main.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated_errors(self, verb: str) -> Iterator[None]:
        """Translates errors of SQLite into errors that say what to do."""
        try:
            yield
        except (UnicodeEncodeError, OverflowError) as error:
            given = error.object if isinstance(error, UnicodeEncodeError) else error
            raise BadValue("value", given, "text and numbers that a file can hold") from None
        except UnicodeDecodeError as error:  # SQLite's message quotes a damaged definition
            raise BadLeague(f"{self.path} is damaged ({error.reason}): restore a backup") from error
        except sqlite3.IntegrityError:
            raise
        except sqlite3.ProgrammingError:
            if self._closed:
                raise LeagueError(f"{self.path} has been closed") from None
            raise
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "") or "SQLITE_CORRUPT"  # without one: invalid text
            if self._closed and name == "SQLITE_INTERRUPT":
                raise LeagueError(f"{self.path} has been closed") from None
            if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
                what = "the disk is full" if name == "SQLITE_FULL" else str(error)
                denied = name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN"))
                advice = "check the permissions of the file and its folder" if denied else "make room or check the disk"
                text = f"cannot {verb} {self.path}: {what}. Nothing that was saved is lost; {advice}"
                raise StorageFailed(text) from error
            if name.startswith("SQLITE_BUSY"):
                raise LeagueHeld(f"{self.path} is being written by another program that does not release it") from error
            if name.startswith("SQLITE_NOTADB"):
                raise BadLeague(f"{self.path} is not a league: {error}") from error
            if name.startswith("SQLITE_CORRUPT"):
                raise BadLeague(f"{self.path} is damaged ({error}): restore a backup") from error
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
        """Copy everything saved so far; the league may be in use meanwhile."""
        target = Path(os.path.realpath(check_path("file", target)))
        if target == self.path:
            raise LeagueError(f"{target} is the league itself: choose another name")

        def fill(copy: sqlite3.Connection) -> None:
            self._copy_to(copy)

        with self._translated_errors("copy"):
            write_database(target, fill, replace)

    def _no_reads(self) -> bool:
        return not self._reads

    def close(self) -> None:
        """Close the file and release its lock; everything is on the disk already."""
        readers = [reader for _, reader in self._readers]
        with self._condition:
            self._closed = True
            for db in readers:
                with suppress(sqlite3.Error):
                    db.interrupt()  # readers get an error that says it was closed
            self._condition.wait_for(self._no_reads, BUSY_TIMEOUT)
        main = [self._main] if hasattr(self, "_main") else []
        for db in [*readers, *main]:
            with suppress(sqlite3.Error):
                db.close()
        if self._copy is not None:
            remove_database(self._copy)
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Upgrades a file of this version to the current one, inside a transaction."""
    for step in range(version, schema.VERSION):
        schema.MIGRATIONS[step](db)
    db.execute(f"PRAGMA user_version = {schema.VERSION}")


def insert_many(db: sqlite3.Connection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Insert many rows with few statements. Python releases its lock for each statement, and gets it back only after
    milliseconds while another thread is busy: measured, 1,450 us a row with single statements, 140 us this way."""
    at = 0
    for size in (512, 64, 8, 1):
        while len(rows) - at >= size:
            part = rows[at : at + size]
            one = f"({','.join('?' * len(part[0]))})"
            values = [value for row in part for value in row]
            db.execute(f"INSERT INTO {table} VALUES {','.join([one] * size)}", values)
            at += size


def create(path: Path) -> None:
    """Create an empty league file, completely or not at all."""

    def fill(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA page_size = 8192")  # with the longer log, recording takes a quarter less time
        db.executescript(f"BEGIN; {schema.SCHEMA} COMMIT;")
        db.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        db.execute(f"PRAGMA user_version = {schema.VERSION}")

    write_database(Path(os.path.abspath(check_path("league", path))), fill, replace=False)


def write_database(target: Path, fill: Callable[[sqlite3.Connection], None], replace: bool) -> None:
    """Write a database under a temporary name, then rename it."""
    if os.path.lexists(target) and not replace:
        raise LeagueError(f"{target} already exists: choose another name, or remove it first")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
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
    for one in (path, path.with_name(f"{path.name}-journal")):
        one.unlink(missing_ok=True)
