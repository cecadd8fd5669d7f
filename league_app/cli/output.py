"""Terminal output: messages, tables that fit the width, progress bars; or the same data as JSON."""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from engine.game import Game
from engine.league.records import PlayedMatch, Tournament
from engine.league.standings import Row, Standings
from engine.league.statistics import Comparison
from engine.league.storage.session_rows import Series
from engine.play.match import AgentSpec, MatchResult
from engine.play.workers.warmup import must_compile
from league_app.core.export import as_data
from league_app.core.formatting import about_duration as about_duration
from league_app.core.formatting import duration as duration
from league_app.core.formatting import outcome
from league_app.core.formatting import plural as plural

BARS = "▁▂▃▄▅▆▇█"
REPLACED = "\N{REPLACEMENT CHARACTER}"
JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"  # part of many emoji and some scripts
WIDE = 110  # columns: a narrower terminal shows no bar
LONGEST = 2000  # characters of an error message
CALLED = "RINGSIDE_CALLED"  # set by launch.py: the command that the user types instead of `ringside`


class _Console(Console):
    """Passes a closed pipe on to `main`; rich would exit with status 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise  # rich calls this while it handles the BrokenPipeError


console = _Console(highlight=False)
errors = _Console(highlight=False, stderr=True)


@dataclass(frozen=True)
class CommandResult:
    """The result of a command: data, a function that prints it, and the exit status."""

    data: Any
    show: Callable[[], None]
    status: int = 0
    raw: bool = False  # `show` prints data


def print_result(answer: CommandResult, as_json: bool) -> None:
    if as_json and not answer.raw:
        sys.stdout.write(json.dumps(as_data(answer.data), indent=1, allow_nan=False) + "\n")
    else:
        answer.show()


def program_name() -> str:
    """The command that the user types to run this program."""
    return os.environ.get(CALLED) or "ringside"


def _localise_hints(text: str) -> str:
    """Replaces `ringside` in hints by the command that the user types."""
    return text.replace("`ringside ", f"`{program_name()} ")


def print_error(sentence: str) -> None:
    """Prints an error message to standard error."""
    text = plain(_localise_hints(" ".join(sentence.splitlines())))
    with suppress(OSError):  # nowhere to report it; the exit status still tells
        print(f"ringside: {text if len(text) <= LONGEST else text[:LONGEST] + ' ...'}", file=sys.stderr)  # noqa: T201


def plain(text: str) -> str:
    """Replaces control characters: names come from files and plug-ins."""
    return "".join(letter if letter.isprintable() or letter in JOINERS else REPLACED for letter in text)


def safe_text(text: object, style: str = "") -> Text:
    """Text from outside, never parsed as markup."""
    return Text(plain(str(text)), style)


def print_line(text: str, style: str = "") -> None:
    console.print(safe_text(_localise_hints(text), style), soft_wrap=True)  # terminals wrap by themselves


def announce_compilation(game: str, agents: Iterable[AgentSpec], quiet: bool, drivers: bool = False) -> None:
    """Says why the first match does not start at once; on standard error if standard output is data. `drivers`: as for
    `must_compile`."""
    if must_compile(game, agents, drivers):
        text = f"compiling the kernels of {game} first: a minute or two, only after an installation or an update"
        print_error(text) if quiet else print_line(text)


def table(*headings: str) -> Table:
    """A table; a heading that begins with > belongs to a right-aligned column."""
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in headings:
        right = heading.startswith(">")
        shown.add_column(heading.removeprefix(">"), justify="right" if right else "left", no_wrap=right)
    return shown


class _Rate(ProgressColumn):
    """Matches per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", "cyan")


def progress(quiet: bool, rate: bool = True) -> Progress:
    """A bar with count, rate and time left; on standard error if standard output is data. Without `rate`, the text
    contains count and speed."""
    words, shown = TextColumn("{task.description}", markup=False), errors if quiet else console
    columns: list[ProgressColumn] = [words]
    if rate:
        columns = [words, BarColumn(40), MofNCompleteColumn(), _Rate(), TimeRemainingColumn()]
    elif shown.width >= WIDE:
        columns = [BarColumn(16), *columns]
    return Progress(*columns, console=shown)


# Tables of a league


def show_standings(standings: Standings, against: bool = True) -> None:
    """Places, games, ratings and, if the width allows, the score against each opponent."""
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
        shown.add_row(own[0], safe_text(own[1], "bold"), *own[2:], *(shared if crossed else []))
    console.print(shown)
    options = ", ".join(f"{name} {value}" for name, value in standings.game.options)
    print_line(f"{standings.game.name} ({options})" if options else standings.game.name, "dim")
    print_line(standings.model, "dim")
    for note in standings.notes:
        print_line(note, "dim")


def _standing(place: int, row: Row, skill: bool, failing: bool) -> list[str]:
    total, games = row.total, max(row.total.played, 1)
    rating = f"{row.rating:z.1f} ±{row.error:.1f}" if skill else f"{row.rating:z.0f} ±{row.error:.0f}"
    points = f"{total.scored / games:.1f} : {total.conceded / games:.1f}"
    counted = f"{total.wins}-{total.draws}-{total.losses}"
    cells = [str(place), row.name, counted, rating if total.played else "-", points]
    return [*cells, str(sum(row.forfeits.values()) or "-")] if failing else cells


def _share(row: Row, other: str) -> str:
    return f"{row.against[other].score:.0%}" if other in row.against else "-"


def comparison_text(comparison: Comparison) -> str:
    """The difference in strength between two agents, with its uncertainty."""
    if max(comparison.counts) == sum(comparison.counts) and comparison.counts[len(comparison.counts) // 2] == 0:
        return (
            f"all {comparison.unit} have the same result: likelihood of superiority {comparison.superiority:.2%}, "
            "Elo difference unbounded"
        )
    return (
        f"Elo {comparison.elo:.2f} ±{comparison.elo_error:.2f}, "
        f"normalised Elo {comparison.normalised:.2f} ±{comparison.normalised_error:.2f}, "
        f"likelihood of superiority {comparison.superiority:.2%} (by {comparison.unit}, 95 % intervals)"
    )


def show_crosstable(standings: Standings) -> None:
    """Wins, draws and losses against each opponent; as many columns as fit."""
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
        shown.add_row(str(place), safe_text(row.name, "bold"), *cells)
    console.print(shown)
    print_line("won-drawn-lost by the agent of the row", "dim")
    if shown_columns < len(rows):
        print_line(
            f"{len(rows) - shown_columns} more columns do not fit here: widen the terminal, or use --json", "dim"
        )


def _wdl(row: Any, other: str) -> str:
    tally = row.against.get(other)
    return "" if tally is None else f"{tally.wins}-{tally.draws}-{tally.losses}"


def show_match(game: Game, result: MatchResult, names: Sequence[str]) -> None:
    """One match: players, ending, and the statistics of each seat."""
    stats = game.info.stats if result.stats[0] else ()
    if len(names) > 2:
        _show_seats(stats, result, names)
    else:
        _show_two(stats, result, names)
    print_line(f"{game.info.title}: {ending_text(result)} after {result.steps} steps{reason_text(result)}")


def _show_seats(stats: Sequence[str], result: MatchResult, names: Sequence[str]) -> None:
    """One row per seat, for games with more than two."""
    shown = table(">seat", "agent", ">rank", ">score", *(f">{name.replace('_', ' ')}" for name in stats))
    for seat, name in enumerate(names):
        figures = (f"{value:.4g}" for value in result.stats[seat][: len(stats)])
        shown.add_row(str(seat), safe_text(name, "bold"), str(result.ranks[seat]), f"{result.scores[seat]:g}", *figures)
    console.print(shown)


def _show_two(stats: Sequence[str], result: MatchResult, names: Sequence[str]) -> None:
    shown = table("seat", *(f">{seat} {plain(name)}" for seat, name in enumerate(names)))
    for column, name in enumerate(names, 1):
        shown.columns[column].header = safe_text(f"{column - 1} {name}")
    shown.add_row("rank", *(str(rank) for rank in result.ranks))
    shown.add_row("score", *(f"{score:g}" for score in result.scores))
    for row, name in enumerate(stats):
        shown.add_row(name.replace("_", " "), *(f"{values[row]:.4g}" for values in result.stats))
    console.print(shown)


def ending_text(result: MatchResult) -> str:
    blame = f" by seat {', '.join(map(str, result.ending.seats))}" if result.ending.seats else ""
    return f"{result.ending.kind.value.replace('_', ' ')}{blame}"


def reason_text(result: MatchResult) -> str:
    return f": {result.ending.reason}" if result.ending.reason else ""


def show_failures(failures: Iterable[tuple[str, str, str, int, str]]) -> None:
    """One line per failure: (agent, ending, reason, times, a match to reproduce)."""
    for name, ending, reason, times, match in failures:
        count = "once" if times == 1 else f"{times:,} times"
        print_line(f"{name}: {ending.replace('_', ' ')} {count}: {reason or 'no reason given'} (match {match})")


def show_history(matches: Iterable[PlayedMatch], names: dict[str, str]) -> None:
    shown = table("match", "players and scores", "ending", ">steps")
    for match in matches:
        result = match.result
        text = outcome([names.get(player, player) for player in result.players], result.scores, result.ranks)
        shown.add_row(match.reference, safe_text(text), ending_text(result), str(result.steps))
    console.print(shown)


def show_tournaments(tournaments: Iterable[Tournament]) -> None:
    shown = table(">number", "name", "game", "format", ">agents", ">matches", "state")
    for tournament in tournaments:
        played = (
            f"{tournament.played:,}/{tournament.total:,}" if tournament.total is not None else f"{tournament.played:,}"
        )
        shown.add_row(
            str(tournament.number),
            safe_text(tournament.name),
            tournament.settings.game.name,
            tournament.settings.format,
            str(len(tournament.entrants)),
            played,
            tournament.state.value,
        )
    console.print(shown)


# Metrics of training


def show_curves(order: Sequence[str], metrics: Mapping[str, Series]) -> None:
    """Each metric as a sparkline; group by group, in the order given."""
    place = {name: (order.index(name) if name in order else len(order), name) for name in metrics}
    first = {name: min(place[other] for other in metrics if _group(name) == _group(other)) for name in metrics}
    width = min(max(console.width - 36 - max(map(len, metrics), default=0), 8), 40)
    shown = table("metric", ">first", ">last", ">highest", "")
    for name in sorted(metrics, key=lambda metric: (first[metric], place[metric])):
        values = metrics[name].values
        if len(values):
            cells = (f"{value:.4g}" for value in (values[0], values[-1], values.max()))
            shown.add_row(safe_text(name), *cells, sparkline(values.tolist(), width))
    if shown.row_count:
        console.print(shown)


def _group(name: str) -> str:
    return name.partition("/")[0]


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """Bars for the means of equal parts, scaled from lowest to highest."""
    if len(values) > width:
        edges = [len(values) * i // width for i in range(width + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    finite = [value for value in values if abs(value) < math.inf]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    span = high / 2 - low / 2  # halves: the difference of two large numbers may overflow
    if span <= 1e-9 * max(abs(low), abs(high)):
        return "".join(BARS[3] if value in finite else " " for value in values)  # constant, apart from rounding
    return "".join(BARS[min(int((value / 2 - low / 2) / span * 8), 7)] if value in finite else " " for value in values)
