"""Database: opens and checks the SQLite file of a league, reads it, writes it in transactions, and copies it while it
is in use."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import BadLeague, LeagueChanged, LeagueError, ReadOnly, StorageFailed
from engine.files import LEAGUE_SUFFIX, check_path
from engine.league.storage import schema
from engine.league.storage.access import Access
from engine.league.storage.file_state import FileState, check_readable, log_has_data, make_log_writable, remove_log
from engine.league.storage.new_database import (
    remove_database,
    remove_unfinished_backups,
    upgrade_backup,
    write_database,
)
from engine.league.storage.readers import ReadConnection, Readers
from engine.league.storage.sqlite_errors import league_gone, translated_errors
from engine.league.storage.statements import new_cursor
from engine.open_files import Identity, identity_of
from engine.temporary import private_folder

T = TypeVar("T")

SUFFIX = LEAGUE_SUFFIX
FULL_CHECK = 64 << 20  # bytes: smaller files are checked entirely when they are opened, in about 0.1 s
BUSY_TIMEOUT = 5.0  # seconds to wait for other connections
PAGE = 256  # rows that a stream fetches at once
TRIES = 3  # to read a file that its owner starts or stops writing meanwhile


class Database:
    """An open file: any number of concurrent readers, one writer."""

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = Path(os.path.realpath(check_path("league", path)))  # one lock per file, also through symbolic links
        self.read_only = read_only
        self._writing = threading.RLock()
        self._readers = Readers()
        self._copy: Path | None = None  # what is read instead of a file of an older version
        self._closed = False
        self._condition, self._reads = threading.Condition(), 0  # reads under way
        self._commits = 0
        self._state: FileState | None = None  # of a file that is read without locks, when it was opened
        self._identity: Identity | None = None  # of the file when it was opened
        self._opened = 0  # how often it was opened
        check_readable(self.path)
        self._access = Access(self.path, read_only)
        try:
            if not read_only:
                remove_unfinished_backups(self.path)
                make_log_writable(self.path)
            self._open()
        except BaseException:
            self.close()
            raise

    # Opening

    def _open(self) -> None:
        """Connect and examine the file; again if its owner starts or stops writing meanwhile."""
        for _ in range(TRIES):
            self._drop_main()
            self._access.use()
            before = self._find_mode()
            try:
                self._main = self._connect()
                self._examine()
                if self._state is None or FileState.of(self.path) == self._state:
                    break
            except LeagueError:
                if before is None or FileState.of(self.path) == before:
                    raise
        else:
            raise self._changed()
        self._opened += 1
        self._identity = identity_of(self.path)
        if self._copy is not None:
            self._state = None  # the copy does not change

    @property
    def gone(self) -> bool:
        """Whether the file that was opened is no longer at this path: it was deleted, moved or replaced."""
        return self._identity is not None and identity_of(self.path) != self._identity

    def check_in_place(self) -> None:
        """Raise LeagueGone if the file is gone. SQLite would not notice it, and go on writing."""
        if self.gone:
            raise league_gone(self.path)

    def _drop_main(self) -> None:
        if hasattr(self, "_main"):
            self._main.close()
        if self._copy is not None:
            remove_database(self._copy)
            self._copy = None

    def _may_write(self) -> bool:
        return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)

    def _find_mode(self) -> FileState | None:
        """Also a reader may have to clean up the log that SQLite keeps beside the file. So it opens for writing if
        possible, and `query_only` prevents changes. Where that is impossible, SQLite must not create a log: it could
        not remove it. So a file at rest is read as one that does not change, and `reading` checks that it has not.
        Returns the state of a file that cannot be written."""
        self._state, self._mode = None, "mode=rw"
        if self._may_write():
            return None
        found = FileState.of(self.path)
        self._mode = "mode=ro"
        if found.at_rest:
            self._state, self._mode = found, "mode=ro&immutable=1"
        return found

    def _changed(self) -> LeagueChanged:
        return LeagueChanged(f"{self.path} was changed by another program while it was read: try again")

    def _is_changed(self) -> bool:
        """Whether a file that is read without locks is no longer as it was when it was opened."""
        return self._state is not None and FileState.of(self.path) != self._state

    def _reopen_if_changed(self) -> None:
        if self._is_changed():
            with self._writing:
                if (state := self._state) is not None and self._is_changed():  # no other thread has opened it again
                    try:
                        check_readable(self.path)
                        self._open()
                    except BaseException:
                        self._state = state  # the next read tries it again
                        raise

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
            if size < whole and not log_has_data(self.path):
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
        with self._writing, self._translated_errors("check"):
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
        self.backup(upgrade_backup(self.path, version), replace=True)
        with self.transaction() as db:
            schema.migrate(db, version)
            self._check_tables()

    def _use_migrated_copy(self, version: int) -> None:
        """Reads from a temporary copy of the current version: a file that was opened read-only is not changed."""
        try:
            handle, name = tempfile.mkstemp(dir=private_folder(), suffix=SUFFIX)
            os.close(handle)
            self._copy = Path(name)
            with closing(sqlite3.connect(name, isolation_level=None)) as copy:
                self._copy_to(copy)
                copy.execute("PRAGMA journal_mode=DELETE")
                copy.execute("BEGIN")
                schema.migrate(copy, version)
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
        return self._reader().db

    def _reader(self) -> ReadConnection:
        if not self._closed:
            self._reopen_if_changed()
            found = self._readers.find()
            if found is not None and found.opened != self._opened and found.db.in_transaction:
                raise self._changed()  # the rest of a snapshot would be of another state
            if found is None or found.opened != self._opened:
                found = self._readers.add(self._opened, self._connect_reader)
            if found is not None:
                return found
        raise LeagueError(f"{self.path} has been closed")

    def _connect_reader(self) -> sqlite3.Connection:
        if self._state is None and self._copy is None:  # it would read the other file
            self.check_in_place()
        db = self._connect()
        db.execute("PRAGMA query_only=ON")
        return db

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, protected from `close`: closing it during a read would crash SQLite. Raises
        LeagueChanged at the end if what was read may be wrong: see `_find_mode`."""
        reader = self._reader()
        opened, db = reader.opened, reader.db  # another thread may open the file again at any moment
        with self._condition:
            if self._closed:
                raise LeagueError(f"{self.path} has been closed")
            self._reads += 1
        try:
            yield db
        except sqlite3.Error as error:
            if opened != self._opened or self._is_changed():
                raise self._changed() from error
            raise
        finally:
            with self._condition:
                self._reads -= 1
                self._condition.notify_all()
        if opened != self._opened or self._is_changed():
            raise self._changed()

    def read_with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` reads; it is called again if the file was changed meanwhile."""
        with self._translated_errors("read"):
            for _ in range(TRIES - 1):
                try:
                    with self.reading() as db:
                        return work(db)
                except LeagueChanged:
                    known = self._readers.find()
                    if known is not None and known.db.in_transaction:  # a snapshot cannot be continued
                        raise
            with self.reading() as db:
                return work(db)

    def read(self, sql: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        return self.read_with(lambda db: db.execute(sql, values).fetchall())

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """In this block, this thread reads one state of the file, whatever is written meanwhile."""
        with self._translated_errors("read"):
            db = self.reader()
            if db.in_transaction:  # part of a larger one
                yield
                return
            db.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.ProgrammingError):  # the league has been closed
                db.execute("COMMIT")

    def stream(self, sql: str, *values: object) -> Generator[tuple, None, None]:  # type: ignore[type-arg]
        """Rows one by one, for large results. Close it if not all of them are read: until then it locks the file."""
        with self._translated_errors("read"), ExitStack() as cursors:
            with self.reading() as db:
                opened, cursor = self._opened, cursors.enter_context(new_cursor(db))
                rows = cursor.execute(sql, values).fetchmany(PAGE)
            while rows:
                yield from rows
                with self.reading():
                    if opened != self._opened:
                        raise self._changed()
                    rows = cursor.fetchmany(PAGE)

    def version(self) -> int | None:
        """Another number after each change of the file; None while this thread reads an earlier state of it.

        Read it before the data that is kept for it: data may then be newer than its version, but never older."""
        return self.read_with(self._version)

    def _version(self, db: sqlite3.Connection) -> int | None:
        if db.in_transaction:
            return None
        if not self.read_only:
            return self._commits  # there is no other writer
        with self._writing:  # SQLite counts changes, in 32 bits, for each connection by itself
            return (self._opened << 32) + int(self._value("PRAGMA data_version"))

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
            self.check_in_place()
            self._main.execute("BEGIN IMMEDIATE")
            try:
                yield self._main
                self._main.execute("COMMIT")
                self._commits += 1
            except BaseException:
                with suppress(sqlite3.Error):  # after a full disk SQLite has rolled back by itself
                    self._main.execute("ROLLBACK")
                raise

    def _translated_errors(self, verb: str) -> AbstractContextManager[None]:
        return translated_errors(self.path, verb, lambda: self._closed)

    def _value(self, sql: str) -> Any:
        return self._main.execute(sql).fetchone()[0]

    # Copying and closing

    def _copy_to(self, copy: sqlite3.Connection) -> None:
        if self.read_only or self.gone:  # a new connection could not read a file that is gone
            with self._writing:
                self._main.backup(copy)
                if self._is_changed():
                    raise self._changed()
        else:
            with self.reading() as db:
                db.backup(copy)

    def backup(self, target: Path, replace: bool = False) -> None:
        """Copy everything saved so far; the league may be in use meanwhile, and its file may be gone."""
        target = Path(os.path.realpath(check_path("file", target)))
        if target == self.path:
            raise LeagueError(f"{target} is the league itself: choose another name")
        self._reopen_if_changed()

        def fill(copy: sqlite3.Connection) -> None:
            self._copy_to(copy)

        with self._translated_errors("copy"):
            write_database(target, fill, replace)

    def _no_reads(self) -> bool:
        return not self._reads

    def close(self) -> None:
        """Close the file and release its lock; everything is on the disk already."""
        with self._condition:
            self._closed = True
            self._readers.interrupt()  # they get an error that says it was closed
            self._condition.wait_for(self._no_reads, BUSY_TIMEOUT)
        self._readers.close()
        if hasattr(self, "_main"):
            leaving = self.gone and self._access.at_path
            with suppress(sqlite3.Error):
                if leaving:  # SQLite itself would not complete a file that was moved
                    self._main.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._main.close()
            if leaving and (self.path.exists() or not log_has_data(self.path)):
                remove_log(self.path)
        if self._copy is not None:
            remove_database(self._copy)
        self._access.close()
