"""Standings as the window shows them: made of the league in another thread, taken as they are by tables in this one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import BadValue
from engine.game import Floats
from engine.league import standings as tables
from engine.league.ratings import START
from engine.play.match import GameSpec
from league_app.core.queries.matches import called, games, unsteady
from league_app.gui.widgets.table.model import Column
from league_app.core.state import LeagueState
from league_app.gui.gc_pause import no_sweeping
from league_app.gui.widgets.table.delegates import NOTHING, AgentCell, FitCell, RankCell, RatingCell, RecordCell, ToneCell
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.crosstable import Crossed, crossed
from league_app.core.formatting import compact, many, meetings, percent

SCOPES = 300  # tournaments to choose from, the newest ones
RECORD = "Games won, drawn and lost; with more than two seats, each of the others who came in behind or before"
LASTING = 8.0  # seconds for which a changed rank is marked


@dataclass(frozen=True)
class Scope:
    """A tournament that can be looked at by itself."""

    number: int
    text: str


@dataclass(frozen=True)
class Line:
    """One agent, with all that its row shows."""

    rank: int | None  # None for somebody who has not played
    agent: str  # its id
    name: str
    kind: str
    colour: str  # its own, or empty
    rating: float
    error: float
    low: float  # the scale on which all intervals of the table are drawn
    high: float
    total: tables.Tally
    forfeits: tuple[tuple[str, int], ...]  # by kind of ending, the most frequent first
    seats: int = 2

    @property
    def games(self) -> int:
        return games(self.total.played, self.seats)

    @property
    def forfeited(self) -> int:
        return sum(count for _, count in self.forfeits)

    @property
    def warning(self) -> str:
        """Why its rating says little; nothing where it does not."""
        return unsteady(self.games, self.forfeits)


@dataclass(frozen=True)
class View:
    """Everything that the page shows of a pool or of one of its tournaments."""

    scope: int  # the tournament's number; 0 for all matches of the game
    scopes: tuple[Scope, ...]
    anchor: str | None  # the agent whose rating is fixed
    lines: tuple[Line, ...]
    crossed: Crossed  # of those who have played
    superiority: Floats  # of the same
    model: str
    notes: tuple[str, ...]
    matches: int
    seats: int
    took: float  # seconds


def look(state: LeagueState, pool: GameSpec, scope: int, anchor: str | None) -> View:
    """The question: called beside the window's thread."""
    with no_sweeping:
        return _look(state, pool, scope, anchor)


def _look(state: LeagueState, pool: GameSpec, scope: int, anchor: str | None) -> View:
    since = time.perf_counter()
    found = [one for one in reversed(state.league.tournaments()) if one.settings.game == pool]
    if scope not in {one.number for one in found}:
        scope = 0
    shown = found[:SCOPES] + [one for one in found[SCOPES:] if one.number == scope]
    anchor, table = table_of(state, pool, scope, anchor)
    scopes = tuple(Scope(one.number, called(one.number, one.name)) for one in shown)
    lines = _lines(table, {one.id: (one.kind, one.colour) for one in state.agents(pool.name, archived=True)})
    made = crossed([row for row in table.rows if row.total.played])
    facts = table.superiority, table.model, table.notes, table.matches, table.seats
    return View(scope, scopes, anchor, lines, made, *facts, time.perf_counter() - since)


def table_of(state: LeagueState, pool: GameSpec, scope: int, anchor: str | None) -> tuple[str | None, tables.Standings]:
    """With the anchor, by its id, if it can be one: who has not played here cannot."""
    names = {one.id: one.name for one in state.agents(pool.name, archived=True)}
    if anchor in names:
        with contextlib.suppress(BadValue):
            return anchor, state.standings(pool, scope, names[anchor])  # a name may be the id of somebody else
    return None, state.standings(pool, scope)


def _lines(table: tables.Standings, known: dict[str, tuple[str, str]]) -> tuple[Line, ...]:
    played = [row for row in table.rows if row.total.played]
    low, high = _scale([row.rating for row in played], [row.error for row in played])
    made, ranks = [], 0
    for row in table.rows:
        ranks += bool(row.total.played)
        kind, colour = known.get(row.agent, ("", ""))
        made.append(
            Line(
                ranks if row.total.played else None,
                row.agent,
                row.name,
                kind,
                colour,
                row.rating,
                row.error,
                low,
                high,
                row.total,
                tuple(sorted(row.forfeits.items(), key=lambda one: -one[1])),
                table.seats,
            )
        )
    return tuple(made)


def _scale(ratings: Sequence[float], errors: Sequence[float]) -> tuple[float, float]:
    """From the lowest to the highest, with room for most intervals: one that is very wide must not squeeze the rest."""
    if not ratings:
        return START - 100, START + 100
    room = float(np.quantile(errors, 0.8)) * 1.05 or 1.0
    return min(ratings) - room, max(ratings) + room


class Movements:
    """Who has just gone up or down, and by how many places: each change is told for a while."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._ranks: dict[str, int] = {}
        self._marks: dict[str, tuple[int, float]] = {}  # the rank before, and until when that is told

    def see(self, lines: Sequence[Line], anew: bool) -> None:
        """A newer table of the same things, or with `anew` one of other things."""
        now, ranks = self._now(), {line.agent: line.rank for line in lines if line.rank is not None}
        if anew:
            self._marks = {}
        else:
            for agent, rank in ranks.items():
                before = self._ranks.get(agent, rank)
                if before != rank:
                    self._marks[agent] = self._marks.get(agent, (before, 0))[0], now + LASTING
        self._ranks = ranks
        self.fade()

    def fade(self) -> bool:
        """Forget what is over; whether anything was."""
        now, count = self._now(), len(self._marks)
        kept = {agent: mark for agent, mark in self._marks.items() if mark[1] > now and agent in self._ranks}
        self._marks = kept
        return len(kept) < count

    @property
    def any(self) -> bool:
        return bool(self._marks)

    def of(self, agent: str) -> int:
        """Places gained; lost ones are below zero."""
        mark = self._marks.get(agent)
        return mark[0] - self._ranks[agent] if mark is not None else 0


def columns(movements: Movements) -> tuple[Column, ...]:
    """Of the table of standings."""

    def rank(line: Line) -> RankCell:
        return RankCell(_rank(line), movements.of(line.agent))

    def moved(line: Line) -> str:
        places = movements.of(line.agent)
        word = "up" if places > 0 else "down"
        return f"{word} {abs(places)} {'place' if abs(places) == 1 else 'places'}, just now" if places else ""

    return (
        Column("#", _rank, _by_rank, True, "Place, by rating", "rank", rank, moved, 52),
        Column("Agent", _name, None, False, "", "agent", _agent, _name_told, 150, least=92, grow=3),
        Column(
            "Rating",
            _rating,
            _by_rating,
            False,
            "With its 95 % interval: the true strength is inside in 19 of 20 cases",
            "rating",
            _rating_cell,
            rating_words,
            190,
            True,
            96,
            3,
        ),
        Column("Score", _score, _by_score, True, "Points of the games as a share of what could be won",
               cell_tip=_score_words, width=74, descending=True),
        Column("W / D / L", _record, _by_wins, False, RECORD, "record", _record_cell,
               record_words, 170, True, 140, 2),
        Column("Points", _points, _by_points, True, "The game's own points in a game, for and against", "tone",
               _points_cell, _points_words, 80, True),
        Column("Forfeits", _forfeits, _by_forfeits, True, "Games lost by breaking off, rather than by playing", "fit",
               _forfeit_cell, forfeit_words, 68, True, 62),
        Column("Games", _games, _by_games, True, "Matches played", "fit", _games_cell, _games_words, 74, True, 58),
    )  # fmt: skip


def _rank(line: Line) -> str:
    return NOTHING if line.rank is None else str(line.rank)


def _by_rank(line: Line) -> float:
    return line.rank or float("inf")


def _name(line: Line) -> str:
    return line.name


def _name_told(line: Line) -> str:
    return "\n".join(filter(None, (line.name, line.kind, line.warning)))


def _agent(line: Line) -> AgentCell:
    return AgentCell(line.name, line.kind, colour_of(line.agent, line.colour), bool(line.warning))


def figure(line: Line, value: float) -> str:
    """Elo as a whole number, the smaller numbers of other models with a decimal."""
    return f"{value:z.1f}" if line.high < 200 else f"{value:z.0f}"


def _rating(line: Line) -> str:
    return NOTHING if line.rank is None else f"{figure(line, line.rating)} ±{figure(line, line.error)}"


def _by_rating(line: Line) -> float:
    return line.rating if line.rank is not None else float("-inf")


def _rating_cell(line: Line) -> RatingCell:
    return RatingCell(line.rating if line.rank is not None else None, line.error, line.low, line.high)


def rating_words(line: Line) -> str:
    if line.rank is None:
        return f"{line.name} has not played here yet"
    low, high = (figure(line, line.rating + side * line.error) for side in (-1, 1))
    told = f"{line.name}: rated {figure(line, line.rating)}, between {low} and {high} with 95 % confidence"
    return f"{told}\n{line.warning}" if line.warning else told


def _score(line: Line) -> str:
    return percent(line.total.score, 1) if line.total.played else NOTHING


def _by_score(line: Line) -> float:
    return line.total.score if line.total.played else -1.0


def _score_words(line: Line) -> str:
    return f"{number(line.total.points)} of {line.total.played:,} points" if line.total.played else ""


def _record(line: Line) -> str:
    total = line.total
    return f"{total.wins:,} / {total.draws:,} / {total.losses:,}" if total.played else NOTHING


def _by_wins(line: Line) -> tuple[int, int]:
    return line.total.wins, -line.total.losses


def _record_cell(line: Line) -> RecordCell:
    return RecordCell(line.total.wins, line.total.draws, line.total.losses)


def record_words(line: Line) -> str:
    total = line.total
    told = f"{total.wins:,} won, {total.draws:,} drawn, {total.losses:,} lost"
    return f"{told}\n{meetings(total.played, line.seats)}" if line.seats > 2 and total.played else told


def number(value: float) -> str:
    """To a tenth, where it is no whole number."""
    return f"{value:,.1f}".removesuffix(".0")


def _points(line: Line) -> str:
    return f"{number(line.total.scored)} : {number(line.total.conceded)}" if line.total.played else NOTHING


def _points_cell(line: Line) -> ToneCell:
    """Of a game: the tooltip, a copy and an exported file have them altogether."""
    if not (played := line.total.played):
        return ToneCell(NOTHING, "muted")
    each = (line.total.scored / played, line.total.conceded / played)
    return ToneCell(" : ".join(f"{one:.1f}" if abs(one) < 100 else f"{one:,.0f}" for one in each))


def longest(lines: Sequence[Line]) -> int:
    """Letters of what is most unlike from game to game: its points."""
    return max((len(_points_cell(line).text) for line in lines), default=0)


def _by_points(line: Line) -> float:
    return (line.total.scored - line.total.conceded) / max(line.total.played, 1)


def _points_words(line: Line) -> str:
    total = line.total
    ahead = total.scored - total.conceded
    sign = "+" if ahead >= 0 else "-"
    told = f"{number(total.scored)} scored, {number(total.conceded)} conceded: {sign}{number(abs(ahead))}"
    return f"{told}\n{meetings(total.played, line.seats)}" if line.seats > 2 and total.played else told


def _forfeits(line: Line) -> str:
    return f"{line.forfeited:,}"


def _by_forfeits(line: Line) -> int:
    return line.forfeited


def _forfeit_cell(line: Line) -> FitCell:
    count = line.forfeited
    return FitCell((f"{count:,}", compact(count)), "warn") if count else FitCell((NOTHING,), "muted")


def forfeit_words(line: Line) -> str:
    told = [f"{kind.replace('_', ' ')}: {count:,}" for kind, count in line.forfeits]
    return "\n".join(told) if told else "no forfeits"


def _games(line: Line) -> str:
    return f"{line.games:,}"


def _games_cell(line: Line) -> FitCell:
    return FitCell((_games(line), compact(line.games)))


def _games_words(line: Line) -> str:
    return meetings(line.total.played, line.seats) if line.seats > 2 else many(line.games, "game")


def _by_games(line: Line) -> int:
    return line.games


def key(line: Any) -> str:
    agent: str = line.agent
    return agent
