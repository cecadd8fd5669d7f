"""A league of another user, which cannot be written here: its owner may start writing at any moment."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import BadLeague, LeagueChanged, LeagueHeld
from engine.league.records import RunState, TournamentSettings
from engine.league.storage import database
from engine.league.storage.league import League
from engine.league.storage.lock import Lock, is_locked
from engine.league.storage.readers import ReadConnection
from engine.play.match import AgentSpec
from engine.registry import new_game

GAME = new_game("tictactoe").spec


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with League.new(tmp_path / "x.league") as league:
        for name in ("a", "b"):
            league.add_agent(name, GAME.name, AgentSpec(name, "fast", name.encode()))
        league.add_tournament("cup", TournamentSettings(GAME, options=(("rounds", 1),)), ["a", "b"])
    return tmp_path / "x.league"


@pytest.fixture
def reader(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[League]:
    """Without write permission, unlike its owner in the same test."""
    monkeypatch.setattr(database.Database, "_may_write", lambda file: not file.read_only)
    with League(path, read_only=True) as league:
        assert league.file._mode == "mode=ro&immutable=1"
        yield league


def rename(path: Path, name: str) -> None:
    """What the owner does: open, change, close, which moves the log into the file."""
    with League(path) as owner:
        owner.change_agent("a", name=name)


def names(league: League) -> list[str]:
    return sorted(league.names().values())


def during_the_next_read(reader: League, change: Callable[[], None]) -> None:
    """Calls it once, in the middle of the next query of this thread."""
    pending = [change]

    def step() -> int:
        if pending:
            pending.pop()()
        return 0

    reader.file.reader().set_progress_handler(step, 1)


def test_what_the_owner_has_changed_is_seen(reader: League, path: Path) -> None:
    assert names(reader) == ["a", "b"]
    for number in range(5):
        rename(path, f"name {number}")
        assert names(reader) == sorted(["b", f"name {number}"])


def test_a_reader_stays_right_while_the_owner_writes_and_after_it(reader: League, path: Path) -> None:
    with League(path) as owner:
        for number in range(5):
            owner.change_agent("a", name=f"name {number}")
            assert names(reader) == sorted(["b", f"name {number}"])
            owner.file._main.execute("PRAGMA wal_checkpoint(PASSIVE)")
            assert names(reader) == sorted(["b", f"name {number}"])
        assert reader.file._mode == "mode=ro", "SQLite's own locks protect it now"
    rename(path, "last")
    assert names(reader) == ["b", "last"]


def test_a_read_in_which_the_file_changes_is_repeated(reader: League, path: Path) -> None:
    during_the_next_read(reader, lambda: rename(path, "new"))
    assert reader.file.read("SELECT name FROM agents ORDER BY number") == [("new",), ("b",)]
    assert names(reader) == ["b", "new"]


def test_a_read_is_repeated_if_another_thread_opens_the_file_again_before_it(
    reader: League, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This thread has its connection to the former state then, but has read nothing yet."""
    connect, used = database.Database._reader, list[sqlite3.Connection]()
    changes = [lambda: rename(path, "new")]

    def connect_late(file: database.Database) -> ReadConnection:
        found = connect(file)
        if file is reader.file and changes:
            changes.pop()()
            thread = threading.Thread(target=names, args=(reader,))
            thread.start()
            thread.join()
        return found

    def read(db: sqlite3.Connection) -> str:
        used.append(db)
        return str(db.execute("SELECT name FROM agents WHERE number = 1").fetchone()[0])

    monkeypatch.setattr(database.Database, "_reader", connect_late)
    assert reader.file.read_with(read) == "new"
    assert len(used) == 2, "the first read was of the former state"


def test_an_error_of_a_read_in_which_the_file_changes_is_not_called_damage(reader: League, path: Path) -> None:
    changes = [lambda: rename(path, "new")]

    def read(db: sqlite3.Connection) -> int:
        if changes:
            changes.pop()()
            raise sqlite3.DatabaseError("database disk image is malformed")
        return int(db.execute("SELECT count(*) FROM agents").fetchone()[0])

    assert reader.file.read_with(read) == 2
    changes = [lambda: None]
    with pytest.raises(BadLeague, match="damaged"):  # the file is the same, so the error is what it says
        reader.file.read_with(read)


def test_a_snapshot_of_a_file_that_changes_ends_with_a_sentence(reader: League, path: Path) -> None:
    sentence = r"x\.league was changed by another program while it was read: try again"
    with reader.file.snapshot():
        assert reader.file.read("SELECT count(*) FROM agents") == [(2,)]
        rename(path, "new")
        with pytest.raises(LeagueChanged, match=sentence):
            reader.file.read("SELECT count(*) FROM agents")
    with reader.file.snapshot():
        assert reader.file.read("SELECT count(*) FROM agents") == [(2,)]
    assert names(reader) == ["b", "new"]


def test_a_stream_of_a_file_that_changes_ends_with_a_sentence(
    reader: League, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PAGE", 1)
    rows = reader.file.stream("SELECT number FROM agents ORDER BY number")
    assert next(rows) == (1,)
    rename(path, "new")
    with pytest.raises(LeagueChanged, match="try again"):
        next(rows)
    assert list(reader.file.stream("SELECT number FROM agents ORDER BY number")) == [(1,), (2,)]


def test_a_backup_of_a_file_that_changes_leaves_no_file(
    reader: League, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = database.Database._copy_to

    def copy(file: database.Database, to: sqlite3.Connection) -> None:
        with monkeypatch.context() as once:
            once.setattr(database.Database, "_copy_to", copied)
            rename(path, "new")
        copied(file, to)

    monkeypatch.setattr(database.Database, "_copy_to", copy)
    with pytest.raises(LeagueChanged, match="try again"):
        reader.backup(path.with_name("copy.league"))
    monkeypatch.setattr(database.Database, "_copy_to", copied)
    assert os.listdir(path.parent) == ["x.league"]
    reader.backup(path.with_name("copy.league"))
    with League(path.with_name("copy.league"), read_only=True) as copy_of_it:
        assert names(copy_of_it) == ["b", "new"]


def test_a_file_that_is_gone_is_an_error_until_it_is_back(reader: League, path: Path) -> None:
    path.rename(path.with_name("away"))
    for _ in range(2):
        with pytest.raises(BadLeague, match="No such file"):
            reader.file.read("SELECT 1 FROM agents")
    path.with_name("away").rename(path)
    assert names(reader) == ["a", "b"]


def test_every_thread_reads_the_new_state(reader: League, path: Path) -> None:
    """Each has a connection of its own."""
    asked, answered = threading.Semaphore(0), threading.Semaphore(0)
    found: list[tuple[str]] = []

    def read() -> None:
        for _ in range(2):
            asked.acquire()
            found.extend(reader.file.read("SELECT name FROM agents WHERE number = 1"))
            answered.release()

    thread = threading.Thread(target=read)
    thread.start()
    for name in ("a", "new"):
        if name != "a":
            rename(path, name)
        assert name in names(reader)
        asked.release()
        answered.acquire()
    thread.join()
    assert found == [("a",), ("new",)]
    assert len(reader.file._readers) == 2, "one connection for each thread"


def test_a_run_counts_as_running_once_its_owner_has_opened_the_file(reader: League, path: Path) -> None:
    with League(path) as owner:
        owner.update_tournament(1, RunState.RUNNING)
        assert reader.tournament(1).state is RunState.RUNNING
    assert reader.tournament(1).state is RunState.RUNNING, "as the file says, until the file changes"


OWNER = """
import sys
from engine.league.storage.league import League

value = 0
while value < 200:
    with League(sys.argv[1]) as owner:
        for _ in range(2):
            value += 1
            with owner.file.transaction() as db:
                db.execute("DELETE FROM settings")
                for number in range(40):
                    db.execute("INSERT INTO settings VALUES (?, ?)", (str(number), f"{value:>2000}"))
"""


def test_a_reader_never_sees_half_a_change(reader: League, path: Path) -> None:
    """Another process opens the file, writes and closes it, again and again: each close moves the log into the file."""
    with subprocess.Popen([sys.executable, "-c", OWNER, str(path)]) as owner:
        seen: list[str] = []
        while owner.poll() is None:
            try:
                rows = reader.file.read("SELECT value, count(*) FROM settings GROUP BY value")
            except (LeagueChanged, LeagueHeld):
                continue
            assert [count for _, count in rows] in ([], [40]), "values of two transactions"
            seen += [value for value, _ in rows]
    assert owner.returncode == 0
    assert seen == sorted(seen), "an older state after a newer one"
    assert reader.file.read("SELECT DISTINCT value FROM settings") == [(f"{200:>2000}",)]


def test_testing_a_lock_disturbs_no_other_test_and_no_writer(path: Path) -> None:
    lock = path.with_name("x.league-lock")
    lock.touch()  # as a killed program leaves it
    stop = threading.Event()
    found: list[bool] = []

    def test() -> None:
        while not stop.is_set():
            found.append(is_locked(path))

    threads = [threading.Thread(target=test) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):
            lock.touch()
            Lock(path).release()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert found
