"""Converts a tournament to a row of the file and back; a checksum detects changes made in between."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine import codec
from engine.clock import now
from engine.errors import BadLeague, RingsideError
from engine.league.records import Lineup, RunState, Tournament, TournamentSettings
from engine.league.storage.checksums import checksum

COLUMNS = "number, pool, name, settings, lineups, state, created, finished, played, total, note, seal"
LINEUPS, STATE, CREATED, FINISHED, PLAYED, TOTAL, NOTE = 4, 5, 6, 7, 8, 9, 10  # indices into such a row


@dataclasses.dataclass(frozen=True)
class _Lineups:
    lineups: tuple[Lineup, ...]


def dump_lineups(lineups: Sequence[Lineup]) -> str:
    return codec.dump(_Lineups(tuple(lineups)))


def read_row(db: sqlite3.Connection, number: int) -> list[Any]:
    """The row without its checksum, to be changed and written back."""
    return list(db.execute(f"SELECT {COLUMNS} FROM tournaments WHERE number = ?", (number,)).fetchone()[:-1])


def write_row(db: sqlite3.Connection, row: Sequence[Any]) -> None:
    """Writes a row, and its checksum after it."""
    marks = ",".join("?" * 12)
    db.execute(f"INSERT OR REPLACE INTO tournaments ({COLUMNS}) VALUES ({marks})", (*row, checksum(*row)))


def set_state(row: list[Any], state: RunState) -> None:
    row[STATE], row[FINISHED] = state.value, None if state.open else now()


def checked_tournament(row: Sequence[Any], path: Path) -> Tournament:
    """The tournament of a row with its checksum; raises BadLeague if the row was changed."""
    *rest, seal = row
    if checksum(*rest) != seal:
        raise BadLeague(f"{path}: tournament {row[0]} is damaged: restore a backup")
    return tournament_of(rest, path)


def tournament_of(row: Sequence[Any], path: Path) -> Tournament:
    """The tournament of a row without its checksum."""
    number, _, name, settings, lineups, state, created, finished, played, total, note = row
    try:
        decoded = codec.load(TournamentSettings, settings), codec.load(_Lineups, lineups).lineups
        return Tournament(number, name, *decoded, RunState(state), created, finished, played, total, note)
    except (RingsideError, ValueError) as error:
        raise BadLeague(f"{path}: tournament {number} is damaged: {error}") from None
