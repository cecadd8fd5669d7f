"""Lessons as bytes: a JSON header and columns, compressed, without pickle."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import codec
from engine.errors import BadValue
from engine.game import Floats
from engine.play.match import GameSpec

FORMAT, VERSION = "ringside-lessons", 1
LARGEST = 512 << 20  # bytes when they are not compressed
LONGEST_HEADER = 16 << 20
LENGTH = struct.Struct("<I")
TYPES: dict[int, Any] = {1: np.dtype("u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4")}  # of actions, by size


@dataclass(frozen=True, eq=False)
class Lesson:
    """One match, and which of its turns are examples."""

    name: str
    seed: int
    start: str | None
    selects: bool  # whether its examples are for selection
    actions: NDArray[Any]  # of the match, in order, up to its last example
    weights: tuple[float, ...]  # of an example of each seat
    places: NDArray[np.uint32]  # of its examples among the actions, ascending
    labels: NDArray[np.int64]  # the action to learn in each of them


@dataclass(frozen=True)
class Header:
    """All but the columns."""

    format: str
    version: int
    game: GameSpec
    seats: int
    size: int  # bytes of an action
    names: tuple[str, ...]
    starts: tuple[str | None, ...]


def pack(game: GameSpec, seats: int, lessons: Sequence[Lesson]) -> bytes:
    size = max((_size(max(_highest(lesson.actions), _highest(lesson.labels))) for lesson in lessons), default=1)
    names, starts = tuple(lesson.name for lesson in lessons), tuple(lesson.start for lesson in lessons)
    header = codec.dump(Header(FORMAT, VERSION, game, seats, size, names, starts)).encode()
    columns = [
        np.array([lesson.seed for lesson in lessons], "<u8"),
        np.array([lesson.selects for lesson in lessons], "u1"),
        np.array([len(lesson.actions) for lesson in lessons], "<u4"),
        np.array([len(lesson.places) for lesson in lessons], "<u4"),
        np.array([lesson.weights for lesson in lessons], "<f8"),
        *[lesson.actions.astype(TYPES[size]) for lesson in lessons],
        # Differences are small numbers, which compress well.
        *[np.diff(lesson.places, prepend=np.uint32(0)).astype("<u4") for lesson in lessons],
        *[lesson.labels.astype(TYPES[size]) for lesson in lessons],
    ]
    body = b"".join([column.tobytes() for column in columns])
    if len(header) > LONGEST_HEADER or len(body) + len(header) + LENGTH.size > LARGEST:
        raise BadValue("lessons", f"{len(header) + len(body):,} bytes", f"at most {LARGEST:,}: use fewer matches")
    return zlib.compress(LENGTH.pack(len(header)) + header + body, 6)


def unpack(data: bytes) -> tuple[Header, list[Lesson]]:
    """Reads what `pack` wrote; raises BadValue for anything else. Actions are not checked against the rules yet."""
    raw = _decompressed(data)
    if len(raw) < LENGTH.size:
        raise _damaged("too short")
    (length,) = LENGTH.unpack_from(raw)
    if length > min(LONGEST_HEADER, len(raw) - LENGTH.size):
        raise _damaged("its header is too long")
    header = codec.load(Header, raw[LENGTH.size : LENGTH.size + length], format=FORMAT, version=VERSION)
    count, seats = len(header.names), header.seats
    if header.size not in TYPES or not 1 <= seats <= 255 or len(header.starts) != count or not count:
        raise _damaged("its header contradicts itself")
    columns = _Columns(raw, LENGTH.size + length)
    seeds, selects, sizes, examples = (columns.take(kind, count) for kind in ("<u8", "u1", "<u4", "<u4"))
    weights: Floats = columns.take("<f8", count * seats).reshape(count, seats)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights <= 1e9).all()) or selects.max() > 1:
        raise _damaged("weights must be finite numbers from 0")
    kind = TYPES[header.size]
    actions = [columns.take(kind, size) for size in sizes.tolist()]
    places = [columns.take("<u4", size) for size in examples.tolist()]
    labels = [columns.take(kind, size).astype(np.int64) for size in examples.tolist()]
    columns.check_end()
    lessons = []
    for at, name in enumerate(header.names):
        own = np.cumsum(places[at], dtype=np.int64)
        if not own.size or (places[at][1:] == 0).any() or own[-1] != len(actions[at]) - 1:
            raise _damaged(f"the examples of match {name} are not in order")
        chosen = tuple(weights[at].tolist())
        lessons.append(
            Lesson(
                name,
                int(seeds[at]),
                header.starts[at],
                bool(selects[at]),
                actions[at],
                chosen,
                own.astype(np.uint32),
                labels[at],
            )
        )
    return header, lessons


class _Columns:
    """Reads arrays one after the other."""

    def __init__(self, raw: bytes, at: int) -> None:
        self._raw, self._at = raw, at

    def take(self, kind: Any, count: int) -> NDArray[Any]:
        size = np.dtype(kind).itemsize * count
        if size > len(self._raw) - self._at:
            raise _damaged("too short")
        found: NDArray[Any] = np.frombuffer(self._raw, kind, count, self._at)
        self._at += size
        return found

    def check_end(self) -> None:
        if self._at != len(self._raw):
            raise _damaged(f"{len(self._raw) - self._at:,} bytes too long")


def _decompressed(data: bytes) -> bytes:
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(data, LARGEST)
    except zlib.error:
        raise _damaged("not compressed") from None
    if not reader.eof or reader.unused_data:
        raise _damaged(f"not complete, or more than {LARGEST:,} bytes")
    return raw


def _damaged(why: str) -> BadValue:
    return BadValue("lessons", why, "what a session of the trainer `hybrid` has saved")


def _highest(values: NDArray[Any]) -> int:
    return int(values.max()) if values.size else 0


def _size(highest: int) -> int:
    return next(size for size in TYPES if highest < 1 << 8 * size)
