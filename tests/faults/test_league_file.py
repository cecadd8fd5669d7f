"""Damaged, foreign, locked and unreadable league files, or of other versions: opened, or refused with a reason."""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engine.errors import BadLeague, LeagueError, LeagueHeld, ReadOnly, StorageFailed
from engine.league import played_matches
from engine.league.storage import new_database, schema
from engine.league.storage.league import League
from engine.play.match import AgentSpec
from engine.registry import new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState

FLIPS, CUTS = 250, 60


class Written(NamedTuple):
    """A closed league file, and everything that was read from it before."""

    data: bytes
    truth: dict[str, object]


def records(league: League) -> dict[str, object]:
    """Everything in the file, each record checked against its hash."""
    agents = league.agents(archived=True)
    return {
        "agents": agents,
        "payloads": [league.payload(agent.payload) for agent in agents],
        "tournaments": [dataclasses.replace(tournament, note="") for tournament in league.tournaments()],
        "matches": list(played_matches.every_match(league)),
        "names": league.names(),
        "pools": league.pools(),
    }


def dice(name: str) -> AgentSpec:
    return AgentSpec(name, "dice", b"", 1)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    path = tmp_path_factory.mktemp("written") / "good.league"
    with LeagueState.new(path) as state:
        state.use_concurrent = False
        state.add_samples("pong", ["Dice", "Lazy", "Tracker"])
        state.league.change_agent("Dice", notes="as it was written", tags=["old", "new"])
        game = new_game("pong", points=1, step_limit=60).spec
        state.start_tournament(game=game, options={"rounds": 3}, name="The first").wait()
        truth = records(state.league)
    return Written(path.read_bytes(), truth)


@pytest.fixture
def path(tmp_path: Path, written: Written) -> Path:
    target = tmp_path / "x.league"
    target.write_bytes(written.data)
    return target


def noticed(path: Path, written: Written, read_only: bool = True) -> bool:
    """True if the file is refused with an error that names it; else its content must be unchanged."""
    try:
        with League(path, read_only) as league:
            found = records(league)
    except (BadLeague, StorageFailed) as error:
        return named(path, error)
    assert found == written.truth, "wrong data without an error"
    return False


def named(path: Path, error: Exception) -> bool:
    assert str(path) in str(error)
    return True


@contextmanager
def disk(folder: Path, size: str = "8m") -> Iterator[Callable[..., None]]:
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield lambda how: subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for sql in statements:
            db.execute(sql)
        [(busy, *_)] = db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert not busy, "a league that was closed still locks the file"


# Damaged and foreign files


@pytest.mark.parametrize("read_only", [False, True])
def test_a_truncated_file_is_refused(path: Path, written: Written, read_only: bool) -> None:
    chance, size = random.Random(1), len(written.data)
    cuts = {1, 15, 16, 99, 100, 512, 4095, 4096, 4097, size - 4096, size - 1}
    for cut in cuts | {chance.randrange(1, size) for _ in range(CUTS)}:
        path.write_bytes(written.data[:cut])
        assert noticed(path, written, read_only), f"cut to {cut} bytes"


@pytest.mark.parametrize("read_only", [False, True])
def test_a_flipped_byte_is_detected_or_harmless(path: Path, written: Written, read_only: bool) -> None:
    chance, found = random.Random(2 + read_only), 0
    places = [*range(16, 100, 3)] if read_only else [*range(0, 100, 3)]
    places += [chance.randrange(100, len(written.data)) for _ in range(FLIPS // 2)]
    for place in places:
        data = bytearray(written.data)
        data[place] ^= chance.choice([1, 2, 0x80, 0xFF])
        path.write_bytes(data)
        try:
            found += noticed(path, written, read_only)
        except Exception as error:
            raise AssertionError(f"byte {place} is {data[place]} instead of {written.data[place]}") from error
        for beside in path.parent.glob("x.league?*"):
            beside.unlink()
    assert found > len(places) // 10


@pytest.mark.parametrize("content", [b"", b"x" * 5000, b"SQLite format 3\0" + bytes(5000), b"PK\3\4" + bytes(99), None])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_league_is_refused_and_not_changed(
    tmp_path: Path, content: bytes | None, read_only: bool
) -> None:
    target = tmp_path / "x.league"
    if content is None:  # a database of another program
        change(target, "CREATE TABLE bookmarks (url)")
    else:
        target.write_bytes(content)
    before = target.read_bytes()
    with pytest.raises(BadLeague, match=r"x\.league (is|has)"):
        League(target, read_only)
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.league"], "no other file and no lock"


PLANTED = [
    "CREATE TRIGGER more AFTER INSERT ON agents BEGIN DELETE FROM matches; END",
    "CREATE VIEW more AS SELECT hex(name) FROM agents",
    "CREATE INDEX more ON agents (upper(name))",
    "ALTER TABLE agents ADD COLUMN more",
    "DROP INDEX failed",
]


@pytest.mark.parametrize("planted", PLANTED)
def test_a_league_with_foreign_tables_is_refused(path: Path, planted: str) -> None:
    change(path, planted)
    for read_only in (False, True):
        with pytest.raises(BadLeague, match="tables that Ringside did not create"):
            League(path, read_only)


OTHER = {  # a hash begins with FF once in 256 times
    "one more": "{0} + 1",
    "longer": "{0} || 'x'",
    "another byte": "CAST(iif(hex(substr({0}, 1, 1)) = 'FF', x'FE', x'FF') || substr({0}, 2) AS BLOB)",
    "no text": "CAST(x'FF80' AS TEXT)",
    "a word": "'word'",
    "negative": "-1",
}
MATCH = (
    "number id at players seed start ranks numbers steps ending blamed reason repeatable duration worker digest seal"
)
RECORDS = {
    "actions": "match data",
    "payloads": "hash data",
    "agents": "id name game payload record archived seal",
    "tournaments": "number pool name settings lineups state created finished played total seal",
    "matches": MATCH,
    "pools": "game",
}


@pytest.mark.parametrize("other", OTHER)
@pytest.mark.parametrize("table", RECORDS)
def test_a_changed_record_is_detected_when_it_is_read(path: Path, written: Written, table: str, other: str) -> None:
    wrong, last = [], f"rowid = (SELECT max(rowid) FROM {table})"
    for column in RECORDS[table].split():
        if (column, other) == ("number", "negative"):
            continue  # that row is missing rather than changed: see below
        path.write_bytes(written.data)
        try:
            change(path, f"UPDATE {table} SET {column} = {OTHER[other].format(column)} WHERE {last}")
            noticed(path, written)
        except sqlite3.IntegrityError:
            continue  # not even SQLite takes that
        except (AssertionError, Exception) as error:
            wrong.append(f"{column}: {type(error).__name__} {str(error).splitlines()[0]}")
    assert not wrong, "\n".join(wrong)


UNFOUNDED = [
    "UPDATE tallies SET wins = wins + 5 WHERE tournament = 1",
    "UPDATE tournaments SET played = played - 1",
    "UPDATE agents SET name = 'Changed' WHERE number = 1",
    "DELETE FROM seats WHERE agent = 1",
    "UPDATE matches SET digest = zeroblob(16) WHERE number % 7 = 0",
    "UPDATE matches SET number = -1 WHERE number = (SELECT max(number) FROM matches)",
]


@pytest.mark.parametrize("sql", UNFOUNDED)
def test_the_doctor_detects_data_that_contradicts_the_matches(
    path: Path, sql: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor", str(path)])
    change(path, sql)
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", str(path)])
    assert stopped.value.code in (1, 2)
    assert str(path) in capsys.readouterr().err


# Versions


@pytest.mark.parametrize("version", [0, -1, -(2**31), schema.VERSION + 1, 2**31 - 1])
@pytest.mark.parametrize("read_only", [False, True])
def test_an_unknown_version_is_reported_and_nothing_is_changed(path: Path, version: int, read_only: bool) -> None:
    change(path, f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(BadLeague, match="made by a newer Ringside" if version > 0 else f"version.*{version}"):
        League(path, read_only)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["x.league"]


MEDALS, SPOILT = "CREATE TABLE medals (agent INTEGER)", "UPDATE matches SET reason = 'lost'"


def upgrade(monkeypatch: pytest.MonkeyPatch, step: Callable[[Any], object]) -> None:
    now = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", now + 1)
    monkeypatch.setattr(schema, "SCHEMA", f"{schema.SCHEMA}{MEDALS};")
    monkeypatch.setattr(schema, "MIGRATIONS", {**schema.MIGRATIONS, now: step})


def test_an_older_league_is_backed_up_and_migrated(
    path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = schema.VERSION
    with monkeypatch.context() as patched:
        upgrade(patched, lambda db: db.execute(MEDALS))
        before = path.read_bytes()
        with League(path, read_only=True) as league:
            assert records(league) == written.truth
        assert path.read_bytes() == before, "read from a migrated copy"
        with League(path) as league:
            assert records(league) == written.truth
    with League(path.with_name(f"x.league.version{old}.backup")) as league:
        assert records(league) == written.truth
    with pytest.raises(BadLeague, match="newer Ringside"):
        League(path)


@pytest.mark.parametrize("steps", [[MEDALS, SPOILT, "CREATE TABLE agents (x)"], [SPOILT, "CREATE TABLE medal (x)"]])
def test_a_migration_that_fails_changes_nothing(
    path: Path, written: Written, monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    with monkeypatch.context() as patched:
        upgrade(patched, lambda db: [db.execute(sql) for sql in steps])
        with pytest.raises((LeagueError, sqlite3.Error)):
            League(path)
    with League(path) as league:
        assert records(league) == written.truth


# Places that cannot be written


def test_a_league_in_a_read_only_folder_can_be_read(tmp_path: Path, written: Written) -> None:
    with disk(tmp_path / "fixed") as remount:
        path = tmp_path / "fixed" / "x.league"
        path.write_bytes(written.data)
        remount("ro")
        with pytest.raises(ReadOnly, match="cannot be written: open it read-only") as caught:
            League(path)
        assert str(path) in str(caught.value)
        with League(path, read_only=True) as league:
            assert records(league) == written.truth
            with pytest.raises(ReadOnly, match="opened read-only"):
                league.add_agent("New", "pong", dice("New"))
            league.backup(tmp_path / "copy.league")
            with pytest.raises(StorageFailed, match="Read-only file system"):
                league.backup(path.with_name("copy.league"))
    assert not noticed(tmp_path / "copy.league", written)


def test_a_log_in_a_read_only_folder_is_read_or_reported(path: Path, tmp_path: Path) -> None:
    fixed = tmp_path / "fixed" / "x.league"
    with League(path) as league, disk(tmp_path / "fixed") as remount:
        league.add_agent("New", "pong", dice("New"))
        for name in ("x.league", "x.league-wal"):  # as after a crash, or on a medium that was pulled out
            shutil.copy(path.with_name(name), fixed.with_name(name))
        remount("ro")
        try:
            with League(fixed, read_only=True) as found:
                assert "New" in found.names()
        except (BadLeague, StorageFailed) as error:
            named(fixed, error)


def test_a_full_disk_at_opening_leaves_no_lock(tmp_path: Path, written: Written) -> None:
    with disk(tmp_path / "full", "1m"):
        path = tmp_path / "full" / "x.league"
        path.write_bytes(written.data)
        filler = path.with_name("filler")
        filler.write_bytes(bytes(shutil.disk_usage(path.parent).free))
        with pytest.raises(LeagueError, match=r"No space left|full"):
            League(path).close()
        filler.unlink()
        assert not path.with_name("x.league-lock").exists()
        with League(path) as league:  # in the same process
            assert records(league) == written.truth


def test_a_full_disk_leaves_no_part_of_a_copy(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of a backup nor of the copy that a reader makes of an older league."""
    old, full = schema.VERSION, tmp_path / "full"
    monkeypatch.setattr(schema, "VERSION", old + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", {old: lambda db: None})
    monkeypatch.setattr("engine.league.storage.database.private_folder", lambda: full)
    with disk(full, "64k"):
        with pytest.raises(StorageFailed, match=f"a temporary copy in {full} failed .*full.*: make room there"):
            League(path, read_only=True)
        assert os.listdir(full) == []
        with League(path) as league, pytest.raises(StorageFailed, match="full"):
            league.backup(full / "copy.league")
        assert os.listdir(full) == []


def test_another_name_of_the_file_does_not_open_it_twice(path: Path) -> None:
    (path.parent / "link.league").symlink_to(path)
    (path.parent / "folder").symlink_to(path.parent)
    with League(path):
        for name in ("link.league", "folder/x.league"):
            with pytest.raises(LeagueHeld, match=f"process {os.getpid()}"):
                League(path.parent / name)


def test_a_backup_of_a_league_in_use_is_a_league(path: Path, tmp_path: Path, written: Written) -> None:
    added: list[str] = []
    with League(path) as league:
        league.backup(tmp_path / "first.league")

        def write() -> None:
            while len(added) < 100:
                added.append(league.add_agent(f"Agent {len(added)}", "pong", dice("x")).name)

        writer = threading.Thread(target=write)
        writer.start()
        for n in range(8):
            known = list(added)
            league.backup(tmp_path / f"{n}.league")
            with League(tmp_path / f"{n}.league") as copy:
                assert set(known) <= set(copy.names().values())
                assert records(copy)["matches"] == written.truth["matches"]
        writer.join()
        for taken in (path, tmp_path / "first.league"):
            with pytest.raises(LeagueError, match=r"already exists|the league itself"):
                league.backup(taken)
    assert not noticed(tmp_path / "first.league", written)


def test_a_new_league_overwrites_nothing_and_leaves_no_file_when_interrupted(
    path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(LeagueError, match="already exists"):
        League.new(path)
    monkeypatch.setattr(new_database, "move_into_place", interrupt)
    with pytest.raises(KeyboardInterrupt):
        League.new(path.with_name("new.league"))
    monkeypatch.setattr(schema, "SCHEMA", "CREATE TABLE one (x); CREATE TABLE one (x);")
    with pytest.raises(StorageFailed, match=r"new\.league"):
        League.new(path.with_name("new.league"))
    assert path.read_bytes() == written.data
    assert os.listdir(path.parent) == ["x.league"]


def test_sqlite_settings_hold_for_every_connection(path: Path) -> None:
    wanted = {"synchronous": 2, "journal_mode": "wal", "trusted_schema": 0, "foreign_keys": 1, "cell_size_check": 1}
    for read_only in (False, True):
        with League(path, read_only) as league, ThreadPoolExecutor() as thread:
            connections = [league.file._main, league.file.reader(), thread.submit(league.file.reader).result()]
            assert len({id(db) for db in connections}) == 3
            for place, db in enumerate(connections):
                assert {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted} == wanted
                assert db.execute("PRAGMA query_only").fetchone()[0] == int(read_only or place > 0)
            assert league.file.read("PRAGMA application_id") == [(schema.APPLICATION,)]
