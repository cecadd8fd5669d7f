"""Converts training sessions, metrics and checkpoints to rows of the file and back; checksums detect changes made in
between."""

from __future__ import annotations

import math
import numbers
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from engine import codec
from engine.errors import BadLeague, BadValue, RingsideError
from engine.foreign_code import clean_lines
from engine.game import Floats, Ints
from engine.league.records import LARGEST_PAYLOAD, NOTES_LENGTH, RunState, check_name, check_text, content_hash
from engine.league.storage.checksums import checksum
from engine.options import Value
from engine.play.match import GameSpec

SESSION = "number, name, trainer, game, config, state, created, finished, note, seal"
LARGEST_STATE = 512 << 20  # bytes, unpacked
MOST_STEPS = 2**53
FAILED = "failed: "  # begins how a failed session ended; in files of older versions, also its note
STATES = (RunState.RUNNING, RunState.PAUSED, RunState.STOPPED, RunState.FINISHED)


@dataclass(frozen=True)
class Session:
    """A training session."""

    number: int
    name: str  # not necessarily unique
    trainer: str
    game: GameSpec
    config: tuple[tuple[str, Value], ...]  # the trainer's settings
    state: RunState
    created: float  # seconds since 1970
    finished: float | None = None
    note: str = ""  # why it stopped
    failed: bool = False  # then the note is the reason

    @property
    def ending(self) -> str:
        """How it ended, as a text; empty if that is not recorded."""
        return f"{FAILED}{self.note}" if self.failed else self.note


@dataclass(frozen=True)
class SavedPlayer:
    """A player of a checkpoint."""

    role: str  # different for each player of a checkpoint; may be empty if there is only one
    kind: str
    version: int
    payload: str  # content hash
    about: str
    agent: str | None = None  # its id, once it has joined the league


@dataclass(frozen=True)
class SavedCheckpoint:
    """A checkpoint: its players, and the trainer's state as long as it is kept."""

    number: int
    session: int
    step: int
    at: float  # seconds since 1970
    state: str  # content hash of the packed state; empty once it is no longer kept
    size: int  # of the state, unpacked
    players: tuple[SavedPlayer, ...] = ()

    @property
    def resumable(self) -> bool:
        return bool(self.state)

    def player(self, role: str | None = None) -> SavedPlayer:
        """The player with this role; without a role, the only one. Raises an error that names the roles."""
        found = [player for player in self.players if role in (None, player.role)]
        if len(found) != 1:
            roles = [player.role for player in self.players]
            known = f"one of {', '.join(map(repr, roles))}" if roles else "that of a player, but there is none"
            raise BadValue("role", role, f"{known}, at step {self.step} of training session {self.session}")
        return found[0]


class Measured(NamedTuple):
    """Metrics of one step."""

    step: int
    values: Sequence[tuple[str, float]]  # by "group/name"; any number, NaN and infinities too
    at: float | None = None  # seconds since 1970; None for now


@dataclass(frozen=True, eq=False)
class Series:
    """One metric over time, by step."""

    steps: Ints
    at: Floats
    values: Floats


class PlayerSpec(Protocol):
    """A player of a checkpoint."""

    @property
    def kind(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def about(self) -> str: ...
    @property
    def role(self) -> str: ...


@dataclass(frozen=True)
class _Config:
    config: tuple[tuple[str, Value], ...]
    failed: bool | None = None  # None in files of older versions: then the note says it


@dataclass(frozen=True)
class _Record:
    role: str
    kind: str
    version: int
    about: str


# Sessions


def session_row(session: Session) -> tuple[Any, ...]:
    fixed = (
        session.name,
        session.trainer,
        codec.dump(session.game),
        codec.dump(_Config(session.config, session.failed)),
    )
    row = (session.number, *fixed, session.state.value, session.created, session.finished, session.note)
    return (*row, checksum(*row))


def session_of(row: Sequence[Any], path: Path) -> Session:
    """The session of a row; raises BadLeague if the row was changed."""
    *rest, seal = row
    number, name, trainer, game, config, state, created, finished, note = rest
    try:
        if checksum(*rest) != seal:
            raise ValueError("its checksum is wrong")
        if not all(isinstance(one, str) for one in (name, trainer, note)) or not _times(created, finished):
            raise ValueError("a name is not text, or a time is not a number")
        if RunState(state) not in STATES:
            raise ValueError(f"a session cannot be {state}")
        settings, failed = (loaded := codec.load(_Config, config)).config, loaded.failed
        if failed is None:
            failed, note = note.startswith(FAILED), note.removeprefix(FAILED)
        fields = codec.load(GameSpec, game), settings, RunState(state), created, finished, note, failed
        return Session(number, name, trainer, *fields)
    except (RingsideError, TypeError, ValueError) as error:
        raise damaged(path, f"training session {number}", error) from None


def origin_of(session: Session, step: int, role: str = "") -> str:
    """The origin of an agent that this session has trained."""
    by = f"{session.trainer} as {role}" if role else session.trainer
    return f"trained by {by}, step {step} of training session {session.number} ({session.name})"


def names_session(origin: str, session: Session) -> bool:
    """Whether `origin_of` has written this origin. In files of older versions it is the only link of a player that no
    checkpoint holds; `Agent.session` has it now."""
    return origin.endswith(f" of training session {session.number} ({session.name})")


def update_session(db: sqlite3.Connection, session: Session) -> None:
    """Writes everything about a session that may change: settings, state, times and note."""
    columns = "config = ?, state = ?, created = ?, finished = ?, note = ?, seal = ?"
    db.execute(f"UPDATE sessions SET {columns} WHERE number = ?", (*session_row(session)[4:], session.number))


def _times(created: object, finished: object) -> bool:
    return type(created) is float and (finished is None or type(finished) is float)


def check_config(config: Iterable[tuple[str, Value]]) -> tuple[tuple[str, Value], ...]:
    """Raises BadValue for settings that could not be read back from the file."""
    checked = tuple((check_name("config", name), value) for name, value in config)
    for name, value in checked:
        if type(value) not in (bool, int, float, str) or (isinstance(value, float) and not math.isfinite(value)):
            raise BadValue(name, value, "yes or no, a finite number or text")
        try:
            codec.load(_Config, codec.dump(_Config(((name, value),))))
        except (RingsideError, ValueError):  # lone surrogates, or more digits than Python writes
            raise BadValue(name, "this value", "a value that a file can hold") from None
    return checked


def clean_note(note: str) -> str:
    """Replaces control characters and lone surrogates, which the message of a failing trainer may contain."""
    return clean_lines(note[: 4 * NOTES_LENGTH])[:NOTES_LENGTH]


# Metrics


def metric_rows(number: int, batch: Iterable[Measured], now: float) -> dict[tuple[str, int], tuple[object, ...]]:
    """By name and step; of several values the last one counts."""
    rows: dict[tuple[str, int], tuple[object, ...]] = {}
    for step, values, at in batch:
        moment = now if at is None else _number("at", at)
        if not math.isfinite(moment):
            raise BadValue("at", at, "seconds since 1970")
        for name, value in values:
            key = check_metric(name), check_step(step)
            rows[key] = (number, *key, moment, struct.pack("<d", _number(key[0], value)))
    return rows


def series_of(name: object, rows: Sequence[tuple[Any, Any, Any]], path: Path, number: int) -> Series:
    """From rows of step, time and value; raises BadLeague if a row is damaged."""
    try:
        if check_metric(name) != name:
            raise ValueError("its name")
        for step, at, value in rows:
            if type(step) is not int or not 0 <= step < MOST_STEPS:
                raise ValueError(f"a step {step!r}")
            if type(at) is not float or type(value) is not bytes or len(value) != 8:
                raise ValueError(f"at step {step}")
    except (BadValue, ValueError) as error:
        raise damaged(path, f"the metric {name!r} of training session {number}", error) from None
    values = np.frombuffer(b"".join([row[2] for row in rows]), "<f8").astype(np.float64)
    return Series(np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows]), values)


def check_metric(name: object) -> str:
    """The normalised name of a metric; raises BadValue unless it has the form "group/name"."""
    checked = check_name("metric", name)
    if "/" not in checked or not all(part.strip() for part in checked.split("/")):
        raise BadValue("metric", name, 'of the form "group/name"')
    return checked


def check_step(step: object) -> int:
    if not isinstance(step, numbers.Integral) or isinstance(step, bool) or not 0 <= int(step) < MOST_STEPS:
        raise BadValue("step", step, f"a whole number from 0 to {MOST_STEPS - 1}")
    return int(step)


def _number(field: str, value: object) -> float:
    try:
        if isinstance(value, numbers.Real):
            return float(value)
    except OverflowError:  # an integer beyond the range of floats
        pass
    raise BadValue(field, value, "a number that a float can hold")


# Checkpoints


def checkpoint_row(checkpoint: SavedCheckpoint) -> tuple[Any, ...]:
    row = (
        checkpoint.number,
        checkpoint.session,
        checkpoint.step,
        checkpoint.at,
        checkpoint.state or None,
        checkpoint.size,
        len(checkpoint.players),
    )
    return (*row, checksum(*row))


def player_row(checkpoint: int, place: int, player: SavedPlayer, agent: int | None) -> tuple[Any, ...]:
    """The row of a player; `agent` is the number of its agent in the tables."""
    row = (
        checkpoint,
        place,
        player.payload,
        agent,
        codec.dump(_Record(player.role, player.kind, player.version, player.about)),
    )
    return (*row, checksum(*row))


def checkpoint_of(row: Sequence[Any], players: Iterable[Sequence[Any]], path: Path) -> SavedCheckpoint:
    """The checkpoint of a row and of the rows of its players, which end with the ids of their agents; raises BadLeague
    if a row was changed."""
    *rest, seal = row
    number, session, step, at, state, size, count = rest
    try:
        if checksum(*rest) != seal:
            raise ValueError("its checksum is wrong")
        if type(at) is not float or type(size) is not int or not 0 <= size <= LARGEST_STATE:
            raise ValueError(f"time {at!r}, size {size} bytes")
        saved = tuple(_player_of(player) for player in players)
        if len(saved) != count:
            raise ValueError(f"{len(saved)} of {count} players")
        return SavedCheckpoint(number, session, check_step(step), at, state or "", size, saved)
    except (RingsideError, TypeError, ValueError) as error:
        raise damaged(path, f"checkpoint {number} of training session {session}", error) from None


def _player_of(row: Sequence[Any]) -> SavedPlayer:
    *rest, seal, id = row
    _, _, payload, agent, record = rest
    if checksum(*rest) != seal:
        raise ValueError("the checksum of a player is wrong")
    if agent is not None and id is None:
        raise ValueError(f"it refers to an agent {agent} that does not exist")
    found = codec.load(_Record, record)
    return SavedPlayer(found.role, found.kind, found.version, payload, found.about, id)


def check_players(players: Sequence[PlayerSpec]) -> list[tuple[SavedPlayer, bytes]]:
    """Players as they are saved, with their payloads, once they are valid."""
    checked = []
    for player in players:
        if type(player.version) is not int:
            raise BadValue("version", player.version, "a whole number")
        if not isinstance(player.payload, bytes) or len(player.payload) > LARGEST_PAYLOAD:
            raise BadValue("payload", _size_text(player.payload), f"at most {LARGEST_PAYLOAD:,} bytes")
        role = check_name("role", player.role) if player.role else ""
        about = check_text("about", player.about, 1000)
        kind = check_name("kind", player.kind)
        checked.append((SavedPlayer(role, kind, player.version, content_hash(player.payload), about), player.payload))
    roles = [saved.role for saved, _ in checked]
    if len(set(roles)) < len(roles):
        raise BadValue("role", roles, "different for each player of a checkpoint")
    return checked


def pack_state(state: object) -> bytes:
    if not isinstance(state, bytes) or len(state) > LARGEST_STATE:
        raise BadValue("state", _size_text(state), f"at most {LARGEST_STATE:,} bytes")
    return zlib.compress(state)


def unpack_state(packed: bytes, checkpoint: SavedCheckpoint, path: Path) -> bytes:
    """Unpacks at most the recorded size: a few kilobytes of a forged file could unpack to more than the memory."""
    unpacker = zlib.decompressobj()
    try:
        state = unpacker.decompress(packed, checkpoint.size + 1)
        if len(state) != checkpoint.size or not unpacker.eof or unpacker.unused_data:
            raise ValueError(f"it does not unpack to {checkpoint.size:,} bytes")
    except (zlib.error, ValueError) as error:
        raise damaged(
            path, f"the state of checkpoint {checkpoint.number} of training session {checkpoint.session}", error
        ) from None
    return state


def _size_text(data: object) -> object:
    return f"{len(data):,} bytes" if isinstance(data, bytes) else data


def damaged(path: Path, what: str, why: object) -> BadLeague:
    return BadLeague(f"{path}: {what} is damaged ({why}): restore a backup")
