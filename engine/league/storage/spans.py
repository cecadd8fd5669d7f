"""Spans of time that trainers report, for timelines: stored in batches, of which a session keeps the latest."""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from engine.errors import BadValue
from engine.league.records import check_name
from engine.league.storage.checksums import checksum
from engine.league.storage.database import Database
from engine.league.storage.session_rows import damaged

MOST_SPANS = 200_000  # of a session, the latest ones
BATCH = 10_000  # spans in one row, at most
SPAN_BYTES = 3000  # of one span as JSON, at most: two names of 120 characters, up to 12 bytes each, and two numbers


class SpanRecord(Protocol):
    """A span of time."""

    @property
    def track(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def start(self) -> float: ...
    @property
    def seconds(self) -> float: ...


class SavedSpan(NamedTuple):
    """A span of time."""

    track: str  # a row of the timeline, such as "learner 1"
    name: str  # such as "collect"
    start: float  # seconds since 1970
    seconds: float


def save_spans(file: Database, session: int, spans: Sequence[SpanRecord]) -> None:
    """Saves spans. Beyond MOST_SPANS the oldest batches are deleted."""
    checked = [_checked(span) for span in spans]
    with file.transaction() as db:
        for first in range(0, len(checked), BATCH):
            _save_batch(db, session, checked[first : first + BATCH])


def _save_batch(db: sqlite3.Connection, session: int, spans: Sequence[SavedSpan]) -> None:
    known = db.execute("SELECT number, count FROM spans WHERE session = ? ORDER BY number", (session,)).fetchall()
    data = zlib.compress(json.dumps(spans).encode())
    row = (session, known[-1][0] + 1 if known else 1, len(spans), data)
    db.execute("INSERT INTO spans VALUES (?,?,?,?,?)", (*row, checksum(*row)))
    total = len(spans) + sum(count for _, count in known)
    for number, count in known:
        if total <= MOST_SPANS:
            break
        db.execute("DELETE FROM spans WHERE session = ? AND number = ?", (session, number))
        total -= count


def load_spans(file: Database, session: int) -> list[SavedSpan]:
    """By start."""
    sql = "SELECT session, number, count, data, seal FROM spans WHERE session = ? ORDER BY number"
    spans = [span for row in file.read(sql, session) for span in _spans_of(row, file.path)]
    return sorted(spans, key=lambda span: span.start)


def load_new_spans(file: Database, session: int, after: int, most: int) -> tuple[list[SavedSpan], int]:
    """Spans of the batches after this one, in the order in which they were saved, and the last batch that was read.

    It stops at the first batch with which there are at least `most` spans."""
    sql = "SELECT session, number, count, data, seal FROM spans WHERE session = ? AND number > ? ORDER BY number"
    spans, last = list[SavedSpan](), after
    with closing(file.stream(sql, session, after)) as rows:
        for row in rows:
            spans += _spans_of(row, file.path)
            last = row[1]
            if len(spans) >= most:
                break
    return spans, last


def has_spans(file: Database, session: int) -> bool:
    return bool(file.read("SELECT 1 FROM spans WHERE session = ? LIMIT 1", session))


def _checked(span: SpanRecord) -> SavedSpan:
    if not (math.isfinite(span.start) and math.isfinite(span.seconds) and span.seconds >= 0):
        raise BadValue("span", (span.start, span.seconds), "a finite time, and a duration from 0 seconds")
    return SavedSpan(
        check_name("track", span.track), check_name("span", span.name), float(span.start), float(span.seconds)
    )


def _spans_of(row: Sequence[Any], path: Path) -> list[SavedSpan]:
    *rest, seal = row
    session, _, count, data = rest
    try:
        if checksum(*rest) != seal or not 0 < count <= BATCH:
            raise ValueError("a checksum or a count is wrong")
        text = zlib.decompressobj().decompress(data, count * SPAN_BYTES + 2)  # a forged file could unpack to more
        spans = [SavedSpan(track, name, start, seconds) for track, name, start, seconds in json.loads(text)]
        if len(spans) != count:
            raise ValueError(f"{len(spans)} of {count} spans")
    except (TypeError, ValueError, zlib.error) as error:
        raise damaged(path, f"the timeline of training session {session}", error) from None
    return spans
