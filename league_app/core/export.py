"""Exports of a league's data: JSON values, rows of matches and standings, CSV and JSON files."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import BadValue
from engine.files import check_path, move_into_place
from engine.league import played_matches, standings
from engine.league.storage.league import League
from engine.league.storage.session_rows import Series
from engine.play.match import GameSpec, MatchResult
from league_app.core.validation import game_info

FORMULA_STARTS = "=+-@\t\r"  # a spreadsheet treats a cell that begins with one of these as a formula


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
    names, stat_names = league.names(), dict[GameSpec, tuple[str, ...]]()
    for match in played_matches.every_match(league, number):
        game, ending = match.spec.game, match.result.ending
        if game not in stat_names:
            info = game_info(game)
            stat_names[game] = info.stats if info is not None else ()
        data = as_data(result_data(match.result))
        row: dict[str, Any] = {"match": match.reference, "game": game.name, "seed": str(match.spec.seed)}
        row |= {"start": match.spec.start, "at": match.at, "ending": ending.kind.value}
        row |= {name: data[name] for name in ("steps", "repeatable", "duration", "digest")}
        row |= {"blamed": " ".join(map(str, ending.seats)), "reason": ending.reason}
        for seat, player in enumerate(match.result.players):
            row[f"player{seat}"] = names[player]
            row[f"score{seat}"] = data["scores"][seat]
            row[f"rank{seat}"] = data["ranks"][seat]
            values = zip(stat_names[game], data["stats"][seat], strict=False)
            row |= {f"{stat}{seat}": value for stat, value in values}
        yield row


def csv_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """CSV with a heading; cells that a spreadsheet would treat as formulas are marked as text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    headings: list[str] = []
    for row in rows:
        if not headings:
            headings = list(row)
            writer.writerow(headings)
        writer.writerow([_cell(row.get(name)) for name in headings])
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """A JSON list with one object per line."""
    before = "[\n"
    for row in rows:
        yield before + json.dumps(row, allow_nan=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def write_lines(path: Path, lines: Iterator[str], field: str = "--to") -> None:
    """Writes the file completely or not at all; `field` names the argument in error messages."""
    try:
        with tempfile.TemporaryDirectory(prefix=".ringside-", dir=path.absolute().parent) as folder:
            temporary = Path(folder) / "export"
            with temporary.open("w", encoding="utf-8", errors="replace", newline="") as file:
                file.writelines(lines)
            move_into_place(temporary, path)
    except OSError as error:
        raise BadValue(field, str(path), f"a file that can be written ({error.strerror})") from None


def write_csv(metrics: Mapping[str, Series], path: str) -> Path:
    """Writes the metrics of a training session, one row per value."""
    rows = (
        {"metric": name, "step": step, "at": at, "value": value}
        for name, series in metrics.items()
        for step, at, value in zip(series.steps.tolist(), series.at.tolist(), series.values.tolist(), strict=True)
    )
    write_lines(check_path("--to", path), csv_lines(rows))
    return Path(path)


def _cell(value: object) -> object:
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value[:1] in FORMULA_STARTS and value:
        return f"'{value}"
    return value
