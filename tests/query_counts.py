"""Counts the statements that a league file is read with, for tests and benchmarks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from engine.league.storage.league import League


@contextmanager
def counted_queries(league: League) -> Iterator[list[str]]:
    """The statements that all threads read the league with meanwhile, those of new connections included."""
    found: list[str] = []
    file = league.file
    connect = file._connect_reader

    def traced() -> sqlite3.Connection:
        db = connect()
        db.set_trace_callback(found.append)
        return db

    file._connect_reader = traced  # type: ignore[method-assign]
    for db in file._readers.connections:
        db.set_trace_callback(found.append)
    try:
        yield found
    finally:
        del file._connect_reader  # type: ignore[method-assign]
        for db in file._readers.connections:
            db.set_trace_callback(None)
