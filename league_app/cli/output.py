"""What a terminal shows: sentences, tables that fit it, progress. And the same as data, for programs."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from engine.game import Game
from engine.league.records import PlayedMatch, Tournament
from engine.league.storage.session_rows import Series
from engine.league.statistics import Comparison
from engine.league.standings import Row, Standings
from engine.play.match import MatchResult
from league_app.core.formatting import lasting as lasting
from league_app.core.formatting import many as many
from league_app.core.formatting import outcome

BARS = "▁▂▃▄▅▆▇█"
REPLACED = "\N{REPLACEMENT CHARACTER}"
JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"  # many emoji and some scripts are made with them
WIDE = 110  # columns: in a narrower terminal words come before a bar
LONGEST = 2000  # letters of a sentence about what is wrong
CALLED = "RINGSIDE_CALLED"  # what a person types to get here, where that is not `ringside`: launch.py says so
console = Console(highlight=False)
errors = Console(highlight=False, stderr=True)


@dataclass(frozen=True)
class Answer:
    """What a command has to say: as data, in words, and as an exit status."""

    data: Any
    show: Callable[[], None]
    status: int = 0
    raw: bool = False  # what it shows is data already


def tell(answer: Answer, as_json: bool) -> None:
    if as_json and not answer.raw:
        sys.stdout.write(json.dumps(as_data(answer.data), indent=1, allow_nan=False) + "\n")
    else:
        answer.show()


def as_data(value: object) -> Any:
    """Plain JSON; a number that is none becomes null, bytes hexadecimal."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): as_data(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_data(one) for one in value]
    if isinstance(value, np.ndarray):
        return as_data(value.tolist())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def called() -> str:
    """This program, as a person calls it."""
    return os.environ.get(CALLED) or "ringside"


def _retold(text: str) -> str:
    """Hints, wherever they come from, as they can be typed here."""
    return text.replace("`ringside ", f"`{called()} ")


def say(sentence: str) -> None:
    """What went wrong, on standard error."""
    told = plain(_retold(" ".join(sentence.splitlines())))
    print(f"ringside: {told if len(told) <= LONGEST else told[:LONGEST] + ' ...'}", file=sys.stderr)  # noqa: T201


def plain(text: str) -> str:
    """Names come from files and plug-ins: none of their control characters may reach the terminal."""
    return "".join(letter if letter.isprintable() or letter in JOINERS else REPLACED for letter in text)


def words(text: object, style: str = "") -> Text:
    """Text from outside: shown as it is, never read as markup."""
    return Text(plain(str(text)), style)


def line(text: str, style: str = "") -> None:
    console.print(words(_retold(text), style), soft_wrap=True)  # a terminal wraps by itself, and a pipe should not


def table(*headings: str) -> Table:
    """Numbers to the right: a heading that begins with > is that of a number."""
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in headings:
        right = heading.startswith(">")
        shown.add_column(heading.removeprefix(">"), justify="right" if right else "left", no_wrap=right)
    return shown


class _Rate(ProgressColumn):
    """Matches a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", "cyan")


def progress(quiet: bool, rate: bool = True) -> Progress:
    """Bar, count, rate and time left; on standard error where standard output is data. Without `rate`, the text says
    how fast it goes."""
    words, shown = TextColumn("{task.description}", markup=False), errors if quiet else console
    columns: list[ProgressColumn] = [MofNCompleteColumn(), words]
    if rate:
        columns = [words, BarColumn(40), MofNCompleteColumn(), _Rate(), TimeRemainingColumn()]
    elif shown.width >= WIDE:
        columns = [BarColumn(16), *columns]
    return Progress(*columns, console=shown)


# Tables of a league


def show_standings(standings: Standings, against: bool = True) -> None:
    """Places, games, ratings, and where it fits the share won against each of the others."""
    rows = standings.rows
    failing = any(row.forfeits for row in rows)
    skill = standings.seats > 2
    headings = [">#", "agent", ">w-d-l", ">skill" if skill else ">elo", ">points", *([">forfeits"] if failing else [])]
    cells = [_standing(place, row, skill, failing) for place, row in enumerate(rows, 1)]
    shares = [[_share(row, other.agent) for other in rows] for row in rows]
    versus = [f">v {place}" for place in range(1, len(rows) + 1)]
    lines = [[*headings, *versus], *([*own, *shared] for own, shared in zip(cells, shares, strict=True))]
    width = sum(
        max(cell_len(plain(cell).removeprefix(">")) for cell in column) + 2 for column in zip(*lines, strict=True)
    )
    crossed = against and width - 2 <= console.width
    shown = table(*headings, *(versus if crossed else []))
    for own, shared in zip(cells, shares, strict=True):
        shown.add_row(own[0], words(own[1], "bold"), *own[2:], *(shared if crossed else []))
    console.print(shown)
    options = ", ".join(f"{name} {value}" for name, value in standings.game.options)
    line(f"{standings.game.name} ({options})" if options else standings.game.name, "dim")
    line(standings.model, "dim")
    for note in standings.notes:
        line(note, "dim")


def _standing(place: int, row: Row, skill: bool, failing: bool) -> list[str]:
    total, games = row.total, max(row.total.played, 1)
    rating = f"{row.rating:z.1f} ±{row.error:.1f}" if skill else f"{row.rating:z.0f} ±{row.error:.0f}"
    points = f"{total.scored / games:.1f} : {total.conceded / games:.1f}"
    counted = f"{total.wins}-{total.draws}-{total.losses}"
    cells = [str(place), row.name, counted, rating if total.played else "-", points]
    return [*cells, str(sum(row.forfeits.values()) or "-")] if failing else cells


def _share(row: Row, other: str) -> str:
    return f"{row.against[other].score:.0%}" if other in row.against else "-"


def compared_words(one: Comparison) -> str:
    """How much stronger the first is than the second, and how sure that is."""
    if max(one.counts) == sum(one.counts) and one.counts[len(one.counts) // 2] == 0:
        return f"a clean sheet: likelihood of superiority {one.superiority:.2%}, and no limit to the difference"
    return (
        f"Elo {one.elo:.2f} ±{one.elo_error:.2f}, normalised Elo {one.normalised:.2f} ±{one.normalised_error:.2f}, "
        f"likelihood of superiority {one.superiority:.2%} (by {one.unit}, 95 % intervals)"
    )


def show_crosstable(standings: Standings) -> None:
    """Games won, drawn and lost against each of the others; as many columns as fit."""
    rows = standings.rows
    widths = [max([len(_wdl(row, other.agent)) for row in rows] + [len(f"v {n}")]) for n, other in enumerate(rows, 1)]
    room = console.width - 6 - max((len(row.name) for row in rows), default=0)
    shown_columns = 0
    while shown_columns < len(rows) and room >= widths[shown_columns] + 2:
        room -= widths[shown_columns] + 2
        shown_columns += 1
    shown = table(">#", "agent", *(f">v {n}" for n in range(1, shown_columns + 1)))
    for place, row in enumerate(rows, 1):
        cells = (_wdl(row, other.agent) for other in rows[:shown_columns])
        shown.add_row(str(place), words(row.name, "bold"), *cells)
    console.print(shown)
    line("won-drawn-lost by the agent of the row", "dim")
    if shown_columns < len(rows):
        line(f"{len(rows) - shown_columns} more columns do not fit here: widen the terminal, or use --json", "dim")


def _wdl(row: Any, other: str) -> str:
    tally = row.against.get(other)
    return "" if tally is None else f"{tally.wins}-{tally.draws}-{tally.losses}"


def show_match(game: Game, result: MatchResult, names: Sequence[str]) -> None:
    """One match: who, how it ended, and the statistics of each seat."""
    stats = game.info.stats if result.stats[0] else ()
    if len(names) > 2:
        _show_seats(stats, result, names)
    else:
        _show_two(stats, result, names)
    line(f"{game.info.title}: {how(result)} after {result.steps} steps{reason(result)}")


def _show_seats(stats: Sequence[str], result: MatchResult, names: Sequence[str]) -> None:
    """A line for each seat: ten of them side by side fit nowhere."""
    shown = table(">seat", "agent", ">rank", ">score", *(f">{name.replace('_', ' ')}" for name in stats))
    for seat, name in enumerate(names):
        figures = (f"{value:.4g}" for value in result.stats[seat][: len(stats)])
        shown.add_row(str(seat), words(name, "bold"), str(result.ranks[seat]), f"{result.scores[seat]:g}", *figures)
    console.print(shown)


def _show_two(stats: Sequence[str], result: MatchResult, names: Sequence[str]) -> None:
    shown = table("seat", *(f">{seat} {plain(name)}" for seat, name in enumerate(names)))
    for column, name in enumerate(names, 1):
        shown.columns[column].header = words(f"{column - 1} {name}")
    shown.add_row("rank", *(str(rank) for rank in result.ranks))
    shown.add_row("score", *(f"{score:g}" for score in result.scores))
    for row, name in enumerate(stats):
        shown.add_row(name.replace("_", " "), *(f"{values[row]:.4g}" for values in result.stats))
    console.print(shown)


def how(result: MatchResult) -> str:
    blame = f" by seat {', '.join(map(str, result.ending.seats))}" if result.ending.seats else ""
    return f"{result.ending.kind.value.replace('_', ' ')}{blame}"


def reason(result: MatchResult) -> str:
    return f": {result.ending.reason}" if result.ending.reason else ""


def show_failures(failures: Iterable[tuple[str, str, str, int, str]]) -> None:
    """Who broke, how often and how, one line for each: (agent, ending, reason, times, a match to reproduce)."""
    for name, ending, told, times, match in failures:
        often = "once" if times == 1 else f"{times:,} times"
        line(f"{name}: {ending.replace('_', ' ')} {often}: {told or 'no reason given'} (match {match})")


def show_history(matches: Iterable[PlayedMatch], names: dict[str, str]) -> None:
    shown = table("match", "players and scores", "ending", ">steps")
    for one in matches:
        result = one.result
        told = outcome([names.get(player, player) for player in result.players], result.scores, result.ranks)
        shown.add_row(one.reference, words(told), how(result), str(result.steps))
    console.print(shown)


def show_tournaments(tournaments: Iterable[Tournament]) -> None:
    shown = table(">number", "name", "game", "format", ">agents", ">matches", "state")
    for one in tournaments:
        played = f"{one.played:,}/{one.total:,}" if one.total is not None else f"{one.played:,}"
        shown.add_row(
            str(one.number),
            words(one.name),
            one.settings.game.name,
            one.settings.format,
            str(len(one.entrants)),
            played,
            one.state.value,
        )
    console.print(shown)


# Metrics of training


def show_curves(order: Sequence[str], metrics: Mapping[str, Series]) -> None:
    """Each metric from its beginning to its end, as a line of bars; group by group, in the order given."""
    place = {name: (order.index(name) if name in order else len(order), name) for name in metrics}
    first = {name: min(place[other] for other in metrics if _group(name) == _group(other)) for name in metrics}
    width = min(max(console.width - 36 - max(map(len, metrics), default=0), 8), 40)
    shown = table("metric", ">first", ">last", ">highest", "")
    for name in sorted(metrics, key=lambda one: (first[one], place[one])):
        values = metrics[name].values
        if len(values):
            cells = (f"{value:.4g}" for value in (values[0], values[-1], values.max()))
            shown.add_row(words(name), *cells, sparkline(values.tolist(), width))
    if shown.row_count:
        console.print(shown)


def _group(name: str) -> str:
    return name.partition("/")[0]


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """Means of equal parts, from lowest to highest."""
    if len(values) > width:
        edges = [len(values) * i // width for i in range(width + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    finite = [value for value in values if abs(value) < math.inf]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    span = high / 2 - low / 2  # halves: the difference of two large numbers may be none
    if span <= 1e-9 * max(abs(low), abs(high)):
        return "".join(BARS[3] if one in finite else " " for one in values)  # no change but by rounding
    return "".join(BARS[min(int((one / 2 - low / 2) / span * 8), 7)] if one in finite else " " for one in values)
