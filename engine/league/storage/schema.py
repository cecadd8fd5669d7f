"""The tables of a league file, and migrations of older versions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping

from engine.league.storage.checksums import checksum

APPLICATION = 0x52494E47  # "RING": identifies a file as a league
VERSION = 2
PLACES = 1 << 32  # a match's number is that of its tournament, times this, plus its place in the schedule

CHECKPOINTS = """
CREATE TABLE checkpoints (
    number INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions, step INTEGER NOT NULL, at REAL NOT NULL,
    state TEXT REFERENCES payloads, size INTEGER NOT NULL, players INTEGER NOT NULL, seal BLOB NOT NULL);
CREATE INDEX checkpoints_by_session ON checkpoints (session, step);
CREATE TABLE players (
    checkpoint INTEGER NOT NULL REFERENCES checkpoints, place INTEGER NOT NULL,
    payload TEXT NOT NULL REFERENCES payloads, agent INTEGER REFERENCES agents, record TEXT NOT NULL,
    seal BLOB NOT NULL, PRIMARY KEY (checkpoint, place)) WITHOUT ROWID;
CREATE INDEX players_by_payload ON players (payload);
CREATE TABLE spans (
    session INTEGER NOT NULL REFERENCES sessions, number INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL,
    seal BLOB NOT NULL, PRIMARY KEY (session, number)) WITHOUT ROWID;
"""

SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE payloads (hash TEXT PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE agents (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, game TEXT NOT NULL,
    payload TEXT NOT NULL REFERENCES payloads, record TEXT NOT NULL, archived REAL, seal BLOB NOT NULL,
    UNIQUE (game, name));
CREATE TABLE pools (number INTEGER PRIMARY KEY, game TEXT NOT NULL UNIQUE);
CREATE TABLE tournaments (
    number INTEGER PRIMARY KEY, pool INTEGER NOT NULL REFERENCES pools, name TEXT NOT NULL, settings TEXT NOT NULL,
    lineups TEXT NOT NULL, state TEXT NOT NULL, created REAL NOT NULL, finished REAL, played INTEGER NOT NULL,
    total INTEGER, note TEXT NOT NULL, seal BLOB NOT NULL);
CREATE TABLE matches (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, at REAL NOT NULL, players BLOB NOT NULL, seed INTEGER NOT NULL,
    start TEXT, ranks BLOB NOT NULL, numbers BLOB NOT NULL, steps INTEGER NOT NULL, ending TEXT NOT NULL,
    blamed INTEGER NOT NULL, reason TEXT NOT NULL, repeatable INTEGER NOT NULL, duration REAL NOT NULL,
    worker INTEGER NOT NULL, game INTEGER NOT NULL, digest BLOB NOT NULL, seal BLOB NOT NULL);
CREATE INDEX failed ON matches (number) WHERE blamed != 0;
CREATE INDEX void ON matches (number) WHERE ending = 'void';
CREATE TABLE actions (match INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE seats (agent INTEGER NOT NULL, match INTEGER NOT NULL, PRIMARY KEY (agent, match)) WITHOUT ROWID;
CREATE TABLE tallies (
    pool INTEGER NOT NULL, tournament INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL,
    wins INTEGER NOT NULL, draws INTEGER NOT NULL, losses INTEGER NOT NULL,
    scored REAL NOT NULL, conceded REAL NOT NULL,
    ll INTEGER NOT NULL, ld INTEGER NOT NULL, even INTEGER NOT NULL, wd INTEGER NOT NULL, ww INTEGER NOT NULL,
    PRIMARY KEY (pool, tournament, first, second)) WITHOUT ROWID;
CREATE TABLE forfeits (
    tournament INTEGER NOT NULL, agent INTEGER NOT NULL, ending TEXT NOT NULL, count INTEGER NOT NULL,
    latest INTEGER NOT NULL, PRIMARY KEY (tournament, agent, ending)) WITHOUT ROWID;
CREATE TABLE skills (
    pool INTEGER NOT NULL, tournament INTEGER NOT NULL, agent INTEGER NOT NULL, mean REAL NOT NULL,
    deviation REAL NOT NULL, PRIMARY KEY (pool, tournament, agent)) WITHOUT ROWID;
CREATE TABLE ratings (
    pool INTEGER NOT NULL, tournament INTEGER NOT NULL, at REAL NOT NULL, agent INTEGER NOT NULL, rating REAL NOT NULL,
    error REAL NOT NULL, PRIMARY KEY (pool, at, agent)) WITHOUT ROWID;
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, trainer TEXT NOT NULL, game TEXT NOT NULL, config TEXT NOT NULL,
    state TEXT NOT NULL, created REAL NOT NULL, finished REAL, note TEXT NOT NULL, seal BLOB NOT NULL);
CREATE TABLE metrics (
    session INTEGER NOT NULL REFERENCES sessions, name TEXT NOT NULL, step INTEGER NOT NULL, at REAL NOT NULL,
    value BLOB NOT NULL, PRIMARY KEY (session, name, step)) WITHOUT ROWID;
"""
SCHEMA += CHECKPOINTS
"""In `tallies` and `skills` tournament 0 is the whole pool; wins, scores and pairs are those of `first`. A `seal` is a
checksum of the rest of its row. SQLite stores NaN as NULL, so columns that may hold NaN are raw bytes."""

LARGE = (
    "matches",
    "actions",
    "seats",
    "metrics",
    "spans",
)  # these grow with use; their rows are checked when they are read

DAMAGED = """
INSERT OR IGNORE INTO checkpoints SELECT ?,?,?,?,NULL,0,0,? WHERE EXISTS (SELECT 1 FROM sessions WHERE number = ?)
"""


def _several_players(db: sqlite3.Connection) -> None:
    """From version 1, in which a checkpoint had at most one player, and there were no spans of time. A row that was
    damaged stays so: its checksum is wrong. One that belongs to no session is left out: nothing can use it."""
    rows = db.execute("SELECT number, session, step, at, payload, agent, record, seal FROM checkpoints").fetchall()
    db.execute("DROP TABLE checkpoints")
    for statement in CHECKPOINTS.split(";")[:-1]:
        db.execute(statement)
    for number, session, step, at, payload, agent, record, seal in rows:
        place = (number, session, step, at)
        try:
            if checksum(*place, payload, agent, record) != seal:
                raise ValueError
            old = json.loads(record)
            _insert(db, "checkpoints", (*place, old["state"] or None, old["size"], int(bool(old["kind"]))))
            if old["kind"]:
                text = json.dumps({"role": "", **{name: old[name] for name in ("kind", "version", "about")}})
                _insert(db, "players", (number, 0, payload, agent, text))
        except (ValueError, TypeError, KeyError, sqlite3.IntegrityError):
            db.execute("DELETE FROM checkpoints WHERE number = ?", (number,))
            db.execute(DAMAGED, (*place, b"damaged", session))


def _insert(db: sqlite3.Connection, table: str, row: tuple[object, ...]) -> None:
    sealed = (*row, checksum(*row))
    db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(sealed))})", sealed)


MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {1: _several_players}
"""By version: upgrades a file of that version to the next one, inside a transaction, after a backup."""


def expected() -> set[tuple[str, str, str]]:
    """Everything that a file of the current version defines: it may have no other tables, triggers or views."""
    with sqlite3.connect(":memory:") as fresh:
        fresh.executescript(SCHEMA)
        found = defined(fresh)
    fresh.close()
    return found


def defined(db: sqlite3.Connection) -> set[tuple[str, str, str]]:
    rows = db.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master")
    return {(kind, name, sql) for kind, name, sql in rows}


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Upgrades a file of this version to the current one, inside a transaction."""
    for step in range(version, VERSION):
        MIGRATIONS[step](db)
    db.execute(f"PRAGMA user_version = {VERSION}")
