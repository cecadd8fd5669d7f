"""A training session, its metrics and its checkpoints as rows of the file, and back; changes in between are noticed."""

from __future__ import annotations

import math
import numbers
import struct
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from engine import codec
from engine.errors import BadLeague, BadValue, RingsideError
from engine.game import Floats, Ints
from engine.league.records import NOTES_LENGTH, State, check_name
from engine.league.storage.checksums import seal_of
from engine.league.storage.league import LARGEST_PAYLOAD
from engine.options import Value
from engine.play.match import GameSpec

LARGEST_STATE = 512 << 20  # bytes, unpacked
MOST_STEPS = 2**53
STATES = (State.RUNNING, State.PAUSED, State.STOPPED, State.FINISHED)


@dataclass(frozen=True)
class Session:
    """A training session as it stands."""

    number: int
    name: str  # others may have it too
    trainer: str
    game: GameSpec
    config: tuple[tuple[str, Value], ...]  # the trainer's settings
    state: State
    created: float  # seconds since 1970
    finished: float | None = None
    note: str = ""  # why it stopped, for people


@dataclass(frozen=True)
class SavedCheckpoint:
    """What was saved at one step: the best player so far, if there is one, and the trainer's state while it is kept."""

    number: int
    session: int
    step: int
    at: float  # seconds since 1970
    kind: str  # of the best player; empty if there is none, and then so is its payload
    version: int
    payload: str  # content hash of the best player's
    about: str
    state: str  # content hash of the packed state; empty once it is no longer kept
    size: int  # of the state, unpacked
    agent: str | None = None  # id of the best player, once it has entered the league

    @property
    def resumable(self) -> bool:
        return bool(self.state)


class Measured(NamedTuple):
    """What was measured at one step."""

    step: int
    values: Sequence[tuple[str, float]]  # by "group/name"; any number, NaN and infinities too
    at: float | None = None  # seconds since 1970; None for now


@dataclass(frozen=True, eq=False)
class Series:
    """One metric over time, by step."""

    steps: Ints
    at: Floats
    values: Floats


class Best(Protocol):
    """Somebody who can play, such as an AgentSpec."""

    @property
    def kind(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def payload(self) -> bytes: ...


@dataclass(frozen=True)
class _Config:
    config: tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class _Record:
    kind: str
    version: int
    about: str
    state: str
    size: int


# Sessions


def session_row(one: Session) -> tuple[Any, ...]:
    made = (one.name, one.trainer, codec.dump(one.game), codec.dump(_Config(one.config)))
    row = (one.number, *made, one.state.value, one.created, one.finished, one.note)
    return (*row, seal_of(*row))


def session_of(row: Sequence[Any], path: Path) -> Session:
    """The session of a row; an error that names it if it is not what was written."""
    *kept, seal = row
    number, name, trainer, game, config, state, created, finished, note = kept
    try:
        if seal_of(*kept) != seal:
            raise ValueError("it is not what was written")
        if not all(isinstance(one, str) for one in (name, trainer, note)) or not _times(created, finished):
            raise ValueError("a name that is no text, or a time that is no number")
        if State(state) not in STATES:
            raise ValueError(f"no session is ever {state}")
        made = codec.load(GameSpec, game), codec.load(_Config, config).config
        return Session(number, name, trainer, *made, State(state), created, finished, note)
    except (RingsideError, TypeError, ValueError) as error:
        raise damaged(path, f"training session {number}", error) from None


def _times(created: object, finished: object) -> bool:
    return type(created) is float and (finished is None or type(finished) is float)


def check_config(config: Iterable[tuple[str, Value]]) -> tuple[tuple[str, Value], ...]:
    """What could not be read again must not be written."""
    made = tuple((check_name("config", name), value) for name, value in config)
    for name, value in made:
        if type(value) not in (bool, int, float, str) or (isinstance(value, float) and not math.isfinite(value)):
            raise BadValue(name, value, "yes or no, a finite number or text")
        try:
            codec.load(_Config, codec.dump(_Config(((name, value),))))
        except (RingsideError, ValueError):  # lone surrogates, or more digits than Python writes
            raise BadValue(name, "it", "something that a file can hold") from None
    return made


def clean_note(note: str) -> str:
    """It may be what a failing trainer said: what can be kept of it is."""
    kept = (one if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs") else "\ufffd" for one in note)
    return "".join(kept)[:NOTES_LENGTH]


# Metrics


def metric_rows(number: int, batch: Iterable[Measured], now: float) -> dict[tuple[str, int], tuple[object, ...]]:
    """By name and step; the last one counts."""
    rows: dict[tuple[str, int], tuple[object, ...]] = {}
    for step, values, at in batch:
        when = now if at is None else _number("at", at)
        if not math.isfinite(when):
            raise BadValue("at", at, "seconds since 1970")
        for name, value in values:
            key = check_metric(name), check_step(step)
            rows[key] = (number, *key, when, struct.pack("<d", _number(key[0], value)))
    return rows


def series_of(name: object, rows: Sequence[tuple[Any, Any, Any]], path: Path, number: int) -> Series:
    """Of rows of step, time and value; an error if that is not what they are."""
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
    """The name of a metric, as it may be kept and shown."""
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
    except OverflowError:  # a whole number beyond all floats
        pass
    raise BadValue(field, value, "a number that a float can hold")


# Checkpoints


def checkpoint_row(one: SavedCheckpoint, agent: int | None) -> tuple[Any, ...]:
    """With the number that its agent has in the tables."""
    record = codec.dump(_Record(one.kind, one.version, one.about, one.state, one.size))
    row = (one.number, one.session, one.step, one.at, one.payload or one.state, agent, record)
    return (*row, seal_of(*row))


def checkpoint_of(row: Sequence[Any], path: Path) -> SavedCheckpoint:
    """The checkpoint of a row and the id of its agent; an error that names it if it is not what was written."""
    *kept, seal, id = row
    number, session, step, at, payload, agent, record = kept
    try:
        if seal_of(*kept) != seal:
            raise ValueError("it is not what was written")
        if agent is not None and id is None:
            raise ValueError(f"it speaks of an agent {agent} that is not there")
        held = codec.load(_Record, record)
        if type(at) is not float or not 0 <= held.size <= LARGEST_STATE:
            raise ValueError(f"at {at!r}, of {held.size:,} bytes")
        said = (held.kind, held.version, payload if held.kind else "", held.about, held.state, held.size)
        return SavedCheckpoint(number, session, check_step(step), at, *said, id)
    except (RingsideError, TypeError, ValueError) as error:
        raise damaged(path, f"checkpoint {number} of training session {session}", error) from None


def check_best(best: Best) -> tuple[str, int, bytes]:
    """What its kind, its version and its payload are."""
    if type(best.version) is not int:
        raise BadValue("version", best.version, "a whole number")
    if not isinstance(best.payload, bytes) or len(best.payload) > LARGEST_PAYLOAD:
        raise BadValue("payload", _told(best.payload), f"at most {LARGEST_PAYLOAD:,} bytes")
    return check_name("kind", best.kind), best.version, best.payload


def pack_state(state: object) -> bytes:
    if not isinstance(state, bytes) or len(state) > LARGEST_STATE:
        raise BadValue("state", _told(state), f"at most {LARGEST_STATE:,} bytes")
    return zlib.compress(state)


def unpack_state(packed: bytes, one: SavedCheckpoint, path: Path) -> bytes:
    """No more than it says it is, whatever is in the file: a few kilobytes could unpack to all of the memory."""
    unpacker = zlib.decompressobj()
    try:
        state = unpacker.decompress(packed, one.size + 1)
        if len(state) != one.size or not unpacker.eof or unpacker.unused_data:
            raise ValueError(f"it does not unpack to {one.size:,} bytes")
    except (zlib.error, ValueError) as error:
        raise damaged(path, f"the state of checkpoint {one.number} of training session {one.session}", error) from None
    return state


def _told(data: object) -> object:
    return f"{len(data):,} bytes" if isinstance(data, bytes) else data


def damaged(path: Path, what: str, why: object) -> BadLeague:
    return BadLeague(f"{path}: {what} is damaged ({why}): take a backup, if there is one")
