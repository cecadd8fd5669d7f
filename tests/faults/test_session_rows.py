"""Damaged or forged training data in a league file: refused with an error that names the row, found by the doctor."""

from __future__ import annotations

import sqlite3
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from agents.training.events import Player
from engine.errors import BadLeague
from engine.league.records import RunState, content_hash
from engine.league.storage import session_rows
from engine.league.storage.checksums import checksum
from engine.league.storage.league import League
from engine.league.storage.sessions import SessionStore
from engine.league.storage.spans import SavedSpan
from engine.play.match import AgentSpec
from engine.registry import new_game
from league_app.cli.main import main

GAME = new_game("tictactoe").spec
RANDOM = np.random.default_rng(1).bytes(50_000)


def best(payload: bytes) -> list[Player]:
    """The only player of a checkpoint."""
    return [Player("fast", 1, payload, "")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.league"


@pytest.fixture
def sessions(path: Path) -> Iterator[SessionStore]:
    """A store with one session, number 1."""
    with League.new(path) as league:
        store = SessionStore(league)
        store.add("First", "neat", GAME, ())
        yield store


def change(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys=OFF")
        assert db.execute(sql, values).rowcount == 1


def trained(path: Path) -> None:
    """A closed league file in which every training table has a row."""
    with League.new(path) as league:
        own = SessionStore(league)
        own.add("First", "neat", GAME, (("population", 150),))
        own.record(1, 1, [("fitness/best", 1.0)])
        own.enter(own.add_checkpoint(1, 1, RANDOM, best(b"champion")).number, "Champion")
        own.record_spans(1, [SavedSpan("learner", "collect", 1e9, 0.5)])
        own.update(1, RunState.FINISHED, "done")


def everything(league: League) -> None:
    own = SessionStore(league)
    own.all()
    own.metrics(1)
    own.checkpoints(1)
    own.state(1)
    own.spans(1)


# Another first byte: a seal, which is a hash, begins with FF once in 256 times.
OTHER_BYTE = "CAST(iif(hex(substr({0}, 1, 1)) = 'FF', x'FE', x'FF') || substr({0}, 2) AS BLOB)"
OTHER = ["{0} || 'x'", OTHER_BYTE, "CAST(x'FF80' AS TEXT)", "'word'", "-1", "0.5"]
COLUMNS = {
    "sessions": "name trainer game config state created finished note seal",
    "checkpoints": "step at state size players seal",
    "players": "place payload agent record seal",
    "spans": "number count data seal",
    "metrics": "name step at value",
}
# Metrics have no seal: a changed name, time or number of the right form cannot be detected.
UNSEALED = {("at", "-1"), ("at", "0.5"), ("name", OTHER[0]), ("value", OTHER_BYTE)}


@pytest.mark.parametrize("other", OTHER)
@pytest.mark.parametrize("table", COLUMNS)
def test_a_changed_row_is_detected_when_it_is_read_and_by_the_doctor(
    path: Path, table: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trained(path)
    whole = path.read_bytes()
    main(["doctor", str(path)])
    for column in COLUMNS[table].split():
        if table == "metrics" and (column, other) in UNSEALED:
            continue
        path.write_bytes(whole)
        change(path, f"UPDATE {table} SET {column} = {other.format(column)}")
        with League(path, read_only=True) as league, pytest.raises(BadLeague) as caught:
            everything(league)
        assert str(path) in str(caught.value), column
        with pytest.raises(SystemExit) as stopped:
            main(["doctor", str(path)])
        assert stopped.value.code in (1, 2), column
        assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("sessions", "training session 1 is damaged"),
        ("checkpoints", "checkpoint 1 of training session 1 is damaged"),
        ("players", "checkpoint 1 of training session 1 is damaged"),
        ("spans", "the timeline of training session 1 is damaged"),
    ],
)
def test_one_flipped_bit_in_a_seal_names_the_row(path: Path, table: str, message: str) -> None:
    trained(path)
    with closing(sqlite3.connect(path)) as db:
        [(seal,)] = db.execute(f"SELECT seal FROM {table}")
    change(path, f"UPDATE {table} SET seal = ?", bytes([seal[0] ^ 1]) + seal[1:])
    with League(path, read_only=True) as league, pytest.raises(BadLeague, match=message):
        everything(league)


def test_a_damaged_session_does_not_keep_the_file_locked(path: Path) -> None:
    trained(path)
    change(path, "UPDATE sessions SET name = 'Other'")
    kept = []
    for _ in range(2):
        with pytest.raises(BadLeague, match="training session 1 is damaged") as caught:
            League(path)
        kept.append(caught)  # as code that shows the error would keep it
    change(path, "UPDATE sessions SET name = 'First'")
    with League(path) as league:
        assert SessionStore(league).session(1).name == "First"


@pytest.mark.parametrize("which", ["state", "payload"])
@pytest.mark.parametrize("how", ["flipped", "gone", "text"])
def test_a_damaged_payload_is_detected_and_its_checkpoint_named(path: Path, which: str, how: str) -> None:
    trained(path)
    with League(path, read_only=True) as league:
        [saved] = SessionStore(league).checkpoints(1)
        content = saved.state if which == "state" else saved.players[0].payload
        data = bytearray(league.payload(content))
    data[len(data) // 2] ^= 1
    if how == "gone":
        change(path, "DELETE FROM payloads WHERE hash = ?", content)
    else:
        change(path, "UPDATE payloads SET data = ? WHERE hash = ?", bytes(data) if how == "flipped" else "x", content)
    with League(path, read_only=True) as league:
        with pytest.raises(BadLeague, match=f"checkpoint 1 of training session 1.*{content}"):
            SessionStore(league).audit()
        if which == "state":
            with pytest.raises(BadLeague, match="checkpoint 1 of training session 1"):
                SessionStore(league).state(1)
    with pytest.raises(SystemExit):
        main(["doctor", str(path)])


def test_a_damaged_player_cannot_join(sessions: SessionStore, path: Path) -> None:
    saved = sessions.add_checkpoint(1, 1, b"state", best(b"champion"))
    change(path, "UPDATE payloads SET data = x'00' WHERE hash = ?", saved.players[0].payload)
    with pytest.raises(BadLeague, match="checkpoint 1"):
        sessions.enter(saved.number, "Champion")
    assert sessions.league.agents() == []


def test_an_older_checkpoint_is_used_if_the_newest_is_damaged(sessions: SessionStore, path: Path) -> None:
    sessions.add_checkpoint(1, 1, b"one")
    newest = sessions.add_checkpoint(1, 2, b"two")
    change(path, "UPDATE payloads SET data = x'00' WHERE hash = ?", newest.state)
    with pytest.raises(BadLeague, match="checkpoint 2"):
        sessions.state(1)
    assert sessions.state(1, 1) == (1, b"one")
    sessions.forget_after(1, 1)
    assert sessions.state(1) == (1, b"one")
    assert sessions.audit() == []


@pytest.mark.parametrize("value", [b"", bytes(7), bytes(16)])
def test_a_number_of_the_wrong_length_is_detected(path: Path, value: bytes) -> None:
    trained(path)
    change(path, "UPDATE metrics SET value = ?", value)
    with League(path, read_only=True) as league, pytest.raises(BadLeague, match=r"'fitness/best'.*at step 1"):
        SessionStore(league).metrics(1)


STRAY = {
    "UPDATE metrics SET session = 9": "metrics of session 9",
    "UPDATE spans SET session = 9": "spans of time of session 9",
    "UPDATE players SET checkpoint = 9": "damaged",
    "DELETE FROM checkpoints": "players of checkpoint 1",
    "UPDATE agents SET number = 9": "damaged",
    "DELETE FROM agents": "damaged",
    "DELETE FROM sessions": "checkpoint 1 belongs to no session",
}


@pytest.mark.parametrize("sql", STRAY)
def test_the_doctor_detects_inconsistent_rows(path: Path, sql: str, capsys: pytest.CaptureFixture[str]) -> None:
    trained(path)
    change(path, sql)
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", str(path)])
    assert stopped.value.code in (1, 2)
    assert STRAY[sql] in " ".join(capsys.readouterr().err.split())


# Forged files, whose seals are right


def forge(path: Path, packed: bytes, size: int | None = None) -> None:
    """Replace the state by this payload, and seal the checkpoint again."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT OR REPLACE INTO payloads VALUES (?, ?)", (content_hash(packed), packed))
        [(*place, old, count)] = db.execute("SELECT number, session, step, at, size, players FROM checkpoints")
        row = (*place, content_hash(packed), old if size is None else size, count)
        db.execute("UPDATE checkpoints SET state = ?, size = ?, seal = ?", (*row[4:6], checksum(*row)))


def test_the_doctor_detects_a_checkpoint_with_a_foreign_agent(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(path)
    with League(path) as league:
        league.add_agent("Other", "tictactoe", AgentSpec("other", "fast", b"other"))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        [row] = db.execute("SELECT checkpoint, place, payload, 2, record FROM players")
        db.execute("UPDATE players SET agent = 2, seal = ?", (checksum(*row),))
    with pytest.raises(SystemExit):
        main(["doctor", str(path)])
    assert "a player of checkpoint 1 differs from its agent Other" in " ".join(capsys.readouterr().err.split())


def bomb(megabytes: int) -> bytes:
    packer, block = zlib.compressobj(9), bytes(1 << 20)
    return b"".join([*(packer.compress(block) for _ in range(megabytes)), packer.flush()])


def test_a_state_that_would_unpack_to_all_memory_is_refused(path: Path) -> None:
    trained(path)
    forge(path, bomb(64))
    with League(path, read_only=True) as league:
        tracemalloc.start()
        try:
            with pytest.raises(BadLeague, match="does not unpack to 50,000 bytes"):
                SessionStore(league).state(1)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize("size", [-1, session_rows.LARGEST_STATE + 1, 2**62])
def test_a_state_with_an_excessive_size_is_not_unpacked(path: Path, size: int) -> None:
    trained(path)
    forge(path, bomb(1), size=size)
    with League(path, read_only=True) as league, pytest.raises(BadLeague, match="checkpoint 1 of training session 1"):
        SessionStore(league).state(1)


@pytest.mark.parametrize("packed", [b"", b"no zlib", zlib.compress(RANDOM)[:-4], zlib.compress(RANDOM) + b"more"])
def test_a_corrupt_state_is_refused(path: Path, packed: bytes) -> None:
    trained(path)
    forge(path, packed)
    with League(path, read_only=True) as league, pytest.raises(BadLeague, match="the state of checkpoint 1"):
        SessionStore(league).state(1)


def test_a_missing_player_is_detected(path: Path) -> None:
    trained(path)
    change(path, "DELETE FROM players")
    with League(path, read_only=True) as league, pytest.raises(BadLeague, match="0 of 1 players"):
        SessionStore(league).checkpoints(1)


def test_a_timeline_that_would_unpack_to_all_memory_is_refused(path: Path) -> None:
    trained(path)
    packed = bomb(64)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        row = (1, 1, 1, packed)
        db.execute("UPDATE spans SET data = ?, seal = ?", (packed, checksum(*row)))
    with League(path, read_only=True) as league:
        tracemalloc.start()
        try:
            with pytest.raises(BadLeague, match="the timeline of training session 1"):
                SessionStore(league).spans(1)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 4 << 20
