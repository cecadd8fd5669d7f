"""Exports of a league's data: JSON values, rows of matches and standings, CSV and JSON files."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from engine.files import write_file
from engine.league import played_matches, standings
from engine.league.storage.league import League
from engine.league.storage.session_rows import Series
from engine.play.match import GameSpec, MatchResult
from league_app.core.validation import game_info

FORMULA_STARTS = "=+-@\t\r"  # a spreadsheet treats a cell that begins with one of these as a formula
STANDING_COLUMNS = ("place", "agent", "rating", "error", "wins", "draws", "losses", "scored", "conceded", "forfeits")
MATCH_COLUMNS = (
    *("tournament", "number", "game", "seed", "start", "at", "ending", "steps", "repeatable", "duration"),
    *("digest", "blamed", "reason"),
)
SEAT_COLUMNS = ("player", "score", "rank")  # of each seat, with its number, before its statistics
METRIC_COLUMNS = ("metric", "step", "at", "value")


def as_data(value: object) -> Any:
    """Converts a value to plain JSON types: non-finite numbers become null, bytes hexadecimal text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): as_data(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_data(item) for item in value]
    if isinstance(value, np.ndarray):
        return as_data(value.tolist())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def result_data(result: MatchResult) -> dict[str, object]:
    """The fields of a match result that are exported."""
    return {
        "players": result.players,
        "scores": result.scores,
        "ranks": result.ranks,
        "steps": result.steps,
        "ending": result.ending,
        "stats": result.stats,
        "repeatable": result.repeatable,
        "duration": result.duration,
        "digest": result.digest(),
    }


def standing_lines(table: standings.Standings) -> Iterator[dict[str, Any]]:
    """One row for each agent of the standings, best first."""
    for place, row in enumerate(table.rows, 1):
        total = row.total
        yield {
            "place": place,
            "agent": row.name,
            "rating": row.rating if total.played else None,
            "error": row.error if total.played else None,
            "wins": total.wins,
            "draws": total.draws,
            "losses": total.losses,
            "scored": total.scored,
            "conceded": total.conceded,
            "forfeits": sum(row.forfeits.values()),
        }


def match_rows(league: League, number: int | None) -> Iterator[dict[str, Any]]:
    """One row for each match of a tournament, or of the whole league if `number` is None."""
    names, stats = league.names(), _StatNames()
    for match in played_matches.every_match(league, number):
        game, ending = match.spec.game, match.result.ending
        data = as_data(result_data(match.result))
        row: dict[str, Any] = {"match": match.reference, "tournament": match.tournament, "number": match.place}
        row |= {"game": game.name, "seed": str(match.spec.seed), "start": match.spec.start, "at": match.at}
        row |= {"ending": ending.kind.value} | {name: data[name] for name in ("steps", "repeatable", "duration")}
        row |= {"digest": data["digest"], "blamed": " ".join(map(str, ending.seats)), "reason": ending.reason}
        for seat, player in enumerate(match.result.players):
            values = dict(zip(stats[game], data["stats"][seat], strict=False))  # a match that never began has none
            row |= {f"player{seat}": names[player], f"score{seat}": data["scores"][seat]}
            row |= {f"rank{seat}": data["ranks"][seat]}
            row |= {_stat_column(name, seat): values.get(name) for name in stats[game]}
        yield row


class _StatNames(dict[GameSpec, tuple[str, ...]]):
    """By game; none if it is not installed."""

    def __missing__(self, game: GameSpec) -> tuple[str, ...]:
        info = game_info(game)
        self[game] = info.stats if info is not None else ()
        return self[game]


def _stat_column(stat: str, seat: int) -> str:
    """Unlike any other column: `hits0`, and `hits1_0` because `hits10` belongs to another seat."""
    return f"{stat}_{seat}" if stat in SEAT_COLUMNS or stat[-1:].isdigit() else f"{stat}{seat}"


def match_columns(league: League, number: int | None) -> list[str]:
    """The columns of all these matches together: each game has its own number of seats, and its own statistics."""
    stats, by_seat = _StatNames(), list[dict[str, None]]()
    for tournament in [number] if number is not None else [record.number for record in league.tournaments()]:
        for match in played_matches.history(league, tournament=tournament, limit=1):  # all have as many seats
            for seat in range(len(match.spec.players)):
                if seat == len(by_seat):
                    by_seat.append(dict.fromkeys(f"{name}{seat}" for name in SEAT_COLUMNS))
                by_seat[seat] |= dict.fromkeys(_stat_column(stat, seat) for stat in stats[match.spec.game])
    return [*MATCH_COLUMNS, *(name for columns in by_seat for name in columns)]


def match_lines(league: League, number: int | None, format: str) -> Iterator[str]:
    """The matches of a tournament, or of the whole league, as a file of this format: csv or json.

    A CSV has no column `match`: spreadsheets and pandas would read 1.10 as 1.1. All lines are of one state of the
    league: the first match of another game, recorded meanwhile, would have columns that the heading lacks.
    """
    with league.file.snapshot():
        rows = match_rows(league, number)
        if format == "json":
            yield from json_lines(rows)
        else:
            numbered = ({name: value for name, value in row.items() if name != "match"} for row in rows)
            yield from csv_lines(match_columns(league, number), numbered)


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """CSV with a heading; cells that a spreadsheet would treat as formulas are marked as text. A row may lack columns,
    but not have others: no value is left out silently."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="raise", lineterminator="\n")
    writer.writeheader()
    yield out.getvalue()
    for row in rows:
        out.seek(0)
        out.truncate()
        writer.writerow({name: _cell(value) for name, value in row.items()})
        yield out.getvalue()


def json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """A JSON list with one object per line."""
    before = "[\n"
    for row in rows:
        yield before + json.dumps(row, allow_nan=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def write_lines(path: Path | str, lines: Iterator[str], overwrite: bool = False, field: str = "file") -> Path:
    """Writes a text file; see `write_file`."""
    return write_file(path, (line.encode(errors="replace") for line in lines), overwrite, field)


def write_csv(metrics: Mapping[str, Series], path: str, overwrite: bool = False, field: str = "file") -> Path:
    """Writes the metrics of a training session, one row per value."""
    rows = (
        dict(zip(METRIC_COLUMNS, (name, step, at, value), strict=True))
        for name, series in metrics.items()
        for step, at, value in zip(series.steps.tolist(), series.at.tolist(), series.values.tolist(), strict=True)
    )
    return write_lines(path, csv_lines(METRIC_COLUMNS, rows), overwrite, field)


def _cell(value: object) -> object:
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value[:1] in FORMULA_STARTS and value:
        return f"'{value}"
    return value
