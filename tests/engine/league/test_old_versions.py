"""League files of older versions: they open, read-only too, with all their data."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from engine.errors import BadLeague
from engine.league.records import content_hash
from engine.league.storage import schema
from engine.league.storage.league import League
from engine.league.storage.sessions import SessionStore
from engine.registry import agents_for, new_game

SQL = Path(__file__).with_name("version1.sql")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of version 1 with a finished session of four checkpoints, whose second player is in the league."""
    path = tmp_path / "old.league"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(SQL.read_text(encoding="utf-8"))
        db.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        db.execute("PRAGMA user_version = 1")
    return path


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        assert db.execute(sql).rowcount == 1


def check_content(league: League) -> None:
    sessions, bots = SessionStore(league), agents_for(new_game("pong"))["pong-bot"]
    checkpoints = sessions.checkpoints(1)
    assert [(checkpoint.step, checkpoint.resumable) for checkpoint in checkpoints] == [
        (20, False),
        (30, True),
        (40, True),
        (50, True),
    ]
    for checkpoint in checkpoints:
        [player] = checkpoint.players
        assert (player.role, player.kind, player.about) == ("", "pong-bot", f"validated at {checkpoint.step} %")
        assert player.payload == content_hash(bots[checkpoint.step // 20 - 1].payload)
        assert player.agent == ("Champion" if checkpoint.step == 30 else None)
    assert sessions.state(1) == (50, b"state 50")
    assert sessions.metrics(1)["validation/share"].values.tolist() == [0.25]
    assert sessions.spans(1) == []
    assert sessions.audit() == []


def test_a_file_of_version_1_is_backed_up_and_upgraded(path: Path) -> None:
    with League(path) as league:
        check_content(league)
        own = SessionStore(league)
        own.enter(own.checkpoints(1)[-1].number, "Last")
    assert (path.parent / "old.league.version1.backup").exists()
    with League(path) as again:
        assert SessionStore(again).checkpoints(1)[-1].players[0].agent == "Last"


def test_a_file_of_version_1_is_read_without_being_changed(path: Path, tmp_path: Path, monkeypatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("engine.league.storage.database.private_folder", lambda: place)
    before = path.read_bytes()
    with League(path, read_only=True) as league:
        check_content(league)
    assert path.read_bytes() == before
    assert os.listdir(place) == [], "the copy is deleted"


@pytest.mark.parametrize(
    "sql", ["UPDATE checkpoints SET step = 31 WHERE step = 30", "DELETE FROM payloads WHERE rowid = 1"]
)
def test_damage_in_a_file_of_version_1_is_still_detected(path: Path, sql: str) -> None:
    change(path, sql)
    with League(path) as league, pytest.raises(BadLeague, match=r"checkpoint . of training session 1 is damaged"):
        SessionStore(league).audit()


def test_a_checkpoint_of_no_session_in_a_file_of_version_1_does_not_keep_it_from_opening(path: Path) -> None:
    change(path, "UPDATE checkpoints SET session = 9 WHERE step = 20")
    with League(path) as league:
        assert [checkpoint.step for checkpoint in SessionStore(league).checkpoints(1)] == [30, 40, 50]
        assert SessionStore(league).audit() == []


KILLED = """
import os, signal, sys
from engine.league.storage import new_database
from engine.league.storage.league import League

new_database.move_into_place = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
League(sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_a_backup_that_was_killed_is_removed_when_the_file_is_opened_again(path: Path) -> None:
    """The copy is complete then, but not renamed yet."""
    before = path.read_bytes()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    [left] = [name for name in os.listdir(path.parent) if name.startswith(".")]
    assert left.startswith(".old.league.version1.backup.")
    path.with_name(f"{left}-journal").touch()
    others = [".old.league.version1.backup", ".old.league.versions.backup.12345678", ".old.league.12345678"]
    for name in others:
        path.with_name(name).touch()
    assert path.read_bytes() == before
    with League(path, read_only=True) as league:
        check_content(league)
    assert left in os.listdir(path.parent), "a program that only reads leaves everything as it is"
    with League(path) as league:
        check_content(league)
    assert sorted(os.listdir(path.parent)) == sorted([*others, "old.league", "old.league.version1.backup"])
