"""Standings for the window: loaded in a background thread, shown by the columns defined here."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import BadValue
from engine.game import Floats
from engine.league import standings
from engine.league.ratings import START
from engine.play.match import GameSpec
from league_app.core.formatting import compact, meetings, percent, plural
from league_app.core.queries.agents import forfeit_warning, match_count
from league_app.core.queries.matches import tournament_label
from league_app.core.state import LeagueState
from league_app.gui.garbage_collection import gc_paused
from league_app.gui.models.crosstable import crosstable_data
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.crosstable import CrosstableData
from league_app.gui.widgets.table.delegates import (
    NOTHING,
    AgentCell,
    FitCell,
    RankCell,
    RatingCell,
    RecordCell,
    ToneCell,
)
from league_app.gui.widgets.table.model import TableColumn

MAX_SCOPES = 300  # the newest tournaments, in the list of scopes
RECORD_TIP = "Games won, drawn and lost. In a game of more than two seats, each opponent counts as one game"
MARK_SECONDS = 8.0  # how long a changed rank is marked


@dataclass(frozen=True)
class Scope:
    """A tournament whose standings can be shown alone."""

    number: int
    text: str


@dataclass(frozen=True)
class StandingsRow:
    """One agent, with everything that its row shows."""

    rank: int | None  # None if it has not played
    agent: str  # its id
    name: str
    kind: str
    colour: str  # its own, or empty
    rating: float
    error: float
    low: float  # the scale on which all intervals of the table are drawn
    high: float
    total: standings.Tally
    forfeits: tuple[tuple[str, int], ...]  # by kind of ending, the most frequent first
    seats: int = 2

    @property
    def games(self) -> int:
        return match_count(self.total.played, self.seats)

    @property
    def forfeited(self) -> int:
        return sum(count for _, count in self.forfeits)

    @property
    def warning(self) -> str:
        """Why its rating is not reliable, or empty."""
        return forfeit_warning(self.games, self.forfeits)


@dataclass(frozen=True)
class StandingsView:
    """Everything that the page shows about a pool or one of its tournaments."""

    scope: int  # the tournament's number; 0 for all matches of the game
    scopes: tuple[Scope, ...]
    anchor: str | None  # the agent whose rating is fixed
    rows: tuple[StandingsRow, ...]
    crosstable: CrosstableData  # of agents that have played
    superiority: Floats  # of the same agents
    model: str
    notes: tuple[str, ...]
    matches: int
    seats: int
    seconds: float  # seconds


def load_standings(state: LeagueState, pool: GameSpec, scope: int, anchor: str | None) -> StandingsView:
    """Called in a background thread."""
    with gc_paused:
        return _load(state, pool, scope, anchor)


def _load(state: LeagueState, pool: GameSpec, scope: int, anchor: str | None) -> StandingsView:
    since = time.perf_counter()
    newest_first = reversed(state.league.tournaments())
    tournaments = [tournament for tournament in newest_first if tournament.settings.game == pool]
    if scope not in {tournament.number for tournament in tournaments}:
        scope = 0
    shown = tournaments[:MAX_SCOPES]
    shown += [tournament for tournament in tournaments[MAX_SCOPES:] if tournament.number == scope]
    anchor, table = load_table(state, pool, scope, anchor)
    scopes = tuple(
        Scope(tournament.number, tournament_label(tournament.number, tournament.name)) for tournament in shown
    )
    agents = state.agents(pool.name, archived=True)
    lines = _standings_rows(table, {agent.id: (agent.kind, agent.colour) for agent in agents})
    crosstable = crosstable_data([row for row in table.rows if row.total.played])
    facts = table.superiority, table.model, table.notes, table.matches, table.seats
    return StandingsView(scope, scopes, anchor, lines, crosstable, *facts, time.perf_counter() - since)


def load_table(
    state: LeagueState, pool: GameSpec, scope: int, anchor: str | None
) -> tuple[str | None, standings.Standings]:
    """The standings, and the anchor's id; None if there is no anchor or it has not played here."""
    names = {agent.id: agent.name for agent in state.agents(pool.name, archived=True)}
    if anchor in names:
        with contextlib.suppress(BadValue):
            return anchor, state.standings(pool, scope, names[anchor])  # a name may be another agent's id
    return None, state.standings(pool, scope)


def _standings_rows(table: standings.Standings, known: dict[str, tuple[str, str]]) -> tuple[StandingsRow, ...]:
    played = [row for row in table.rows if row.total.played]
    low, high = _scale([row.rating for row in played], [row.error for row in played])
    result, ranks = [], 0
    for row in table.rows:
        ranks += bool(row.total.played)
        kind, colour = known.get(row.agent, ("", ""))
        result.append(
            StandingsRow(
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
                tuple(sorted(row.forfeits.items(), key=lambda forfeit: -forfeit[1])),
                table.seats,
            )
        )
    return tuple(result)


def _scale(ratings: Sequence[float], errors: Sequence[float]) -> tuple[float, float]:
    """The range of ratings with room for 80 % of the intervals, so that a very wide one does not squeeze the rest."""
    if not ratings:
        return START - 100, START + 100
    room = float(np.quantile(errors, 0.8)) * 1.05 or 1.0
    return min(ratings) - room, max(ratings) + room


class RankChanges:
    """Marks agents whose rank has changed, for `MARK_SECONDS`."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._ranks: dict[str, int] = {}
        self._marks: dict[str, tuple[int, float]] = {}  # previous rank, and when the mark expires

    def update(self, lines: Sequence[StandingsRow], anew: bool) -> None:
        """Takes a newer table. `anew`: it is of another scope, so ranks cannot be compared."""
        now, ranks = self._now(), {line.agent: line.rank for line in lines if line.rank is not None}
        if anew:
            self._marks = {}
        else:
            for agent, rank in ranks.items():
                before = self._ranks.get(agent, rank)
                if before != rank:
                    self._marks[agent] = self._marks.get(agent, (before, 0))[0], now + MARK_SECONDS
        self._ranks = ranks
        self.expire()

    def expire(self) -> bool:
        """Removes expired marks. Returns whether there were any."""
        now, count = self._now(), len(self._marks)
        marks = {agent: mark for agent, mark in self._marks.items() if mark[1] > now and agent in self._ranks}
        self._marks = marks
        return len(marks) < count

    @property
    def active(self) -> bool:
        return bool(self._marks)

    def places_gained(self, agent: str) -> int:
        """Negative if places were lost."""
        mark = self._marks.get(agent)
        return mark[0] - self._ranks[agent] if mark is not None else 0


def columns(changes: RankChanges) -> tuple[TableColumn, ...]:
    """Columns of the standings table."""

    def rank(line: StandingsRow) -> RankCell:
        return RankCell(_rank(line), changes.places_gained(line.agent))

    def moved(line: StandingsRow) -> str:
        gained = changes.places_gained(line.agent)
        word = "up" if gained > 0 else "down"
        return f"moved {word} {plural(abs(gained), 'place')}" if gained else ""

    return (
        TableColumn("rank", "#", _rank, _by_rank, True, "Rank by rating", "rank", rank, moved, 52),
        TableColumn("agent", "Agent", _name, None, False, "", "agent", _agent, _name_tip, 150, min_width=92, grow=3),
        TableColumn(
            "rating", "Rating",
            _rating,
            _by_rating,
            False,
            "Rating with its 95 % confidence interval",
            "rating",
            _rating_cell,
            rating_tip,
            190,
            True,
            96,
            3,
        ),
        TableColumn("score", "Score", _score, _by_score, True, "Points won as a share of the possible points",
                    cell_tip=_score_tip, width=74, descending=True),
        TableColumn("record", "W / D / L", _record, _by_wins, False, RECORD_TIP, "record", _record_cell,
                    record_tip, 170, True, 140, 2),
        TableColumn("points", "Points", _points, _by_points, True, "Average score per game, for and against", "tone",
                    _points_cell, _points_tip, 80, True),
        TableColumn("forfeits", "Forfeits", _forfeits, _by_forfeits, True, "Games lost by resignation or failure",
                    "fit", _forfeit_cell, forfeits_tip, 68, True, 62),
        TableColumn("games", "Games", _games, _by_games, True, "Matches played", "fit",
                    _games_cell, _games_tip, 74, True, 58),
    )  # fmt: skip


def _rank(line: StandingsRow) -> str:
    return NOTHING if line.rank is None else str(line.rank)


def _by_rank(line: StandingsRow) -> float:
    return line.rank or float("inf")


def _name(line: StandingsRow) -> str:
    return line.name


def _name_tip(line: StandingsRow) -> str:
    return "\n".join(filter(None, (line.name, line.kind, line.warning)))


def _agent(line: StandingsRow) -> AgentCell:
    return AgentCell(line.name, line.kind, colour_of(line.agent, line.colour), bool(line.warning))


def format_rating(line: StandingsRow, value: float) -> str:
    """Elo as a whole number, the smaller ratings of other models with one decimal."""
    return f"{value:z.1f}" if line.high < 200 else f"{value:z.0f}"


def _rating(line: StandingsRow) -> str:
    return NOTHING if line.rank is None else f"{format_rating(line, line.rating)} ±{format_rating(line, line.error)}"


def _by_rating(line: StandingsRow) -> float:
    return line.rating if line.rank is not None else float("-inf")


def _rating_cell(line: StandingsRow) -> RatingCell:
    return RatingCell(line.rating if line.rank is not None else None, line.error, line.low, line.high)


def rating_tip(line: StandingsRow) -> str:
    if line.rank is None:
        return f"{line.name} has no matches in this table yet"
    low, high = (format_rating(line, line.rating + side * line.error) for side in (-1, 1))
    text = f"{line.name}: rated {format_rating(line, line.rating)}, between {low} and {high} with 95 % confidence"
    return f"{text}\n{line.warning}" if line.warning else text


def _score(line: StandingsRow) -> str:
    return percent(line.total.score, 1) if line.total.played else NOTHING


def _by_score(line: StandingsRow) -> float:
    return line.total.score if line.total.played else -1.0


def _score_tip(line: StandingsRow) -> str:
    return f"{format_points(line.total.points)} of {line.total.played:,} points" if line.total.played else ""


def _record(line: StandingsRow) -> str:
    total = line.total
    return f"{total.wins:,} / {total.draws:,} / {total.losses:,}" if total.played else NOTHING


def _by_wins(line: StandingsRow) -> tuple[int, int]:
    return line.total.wins, -line.total.losses


def _record_cell(line: StandingsRow) -> RecordCell:
    return RecordCell(line.total.wins, line.total.draws, line.total.losses)


def record_tip(line: StandingsRow) -> str:
    total = line.total
    text = f"{total.wins:,} won, {total.draws:,} drawn, {total.losses:,} lost"
    return f"{text}\n{meetings(total.played, line.seats)}" if line.seats > 2 and total.played else text


def format_points(value: float) -> str:
    """One decimal, unless it is a whole number."""
    return f"{value:,.1f}".removesuffix(".0")


def _points(line: StandingsRow) -> str:
    return (
        f"{format_points(line.total.scored)} : {format_points(line.total.conceded)}" if line.total.played else NOTHING
    )


def _points_cell(line: StandingsRow) -> ToneCell:
    """Averages for one game; the tooltip, a copy and an exported file have the totals."""
    if not (played := line.total.played):
        return ToneCell(NOTHING, "muted")
    each = (line.total.scored / played, line.total.conceded / played)
    return ToneCell(" : ".join(f"{value:.1f}" if abs(value) < 100 else f"{value:,.0f}" for value in each))


def longest_points(lines: Sequence[StandingsRow]) -> int:
    """The length of the longest text in Points, the column that differs most between games."""
    return max((len(_points_cell(line).text) for line in lines), default=0)


def _by_points(line: StandingsRow) -> float:
    return (line.total.scored - line.total.conceded) / max(line.total.played, 1)


def _points_tip(line: StandingsRow) -> str:
    total = line.total
    ahead = total.scored - total.conceded
    sign = "+" if ahead >= 0 else "-"
    text = f"{format_points(total.scored)} scored, {format_points(total.conceded)} conceded"
    text += f": {sign}{format_points(abs(ahead))}"
    return f"{text}\n{meetings(total.played, line.seats)}" if line.seats > 2 and total.played else text


def _forfeits(line: StandingsRow) -> str:
    return f"{line.forfeited:,}"


def _by_forfeits(line: StandingsRow) -> int:
    return line.forfeited


def _forfeit_cell(line: StandingsRow) -> FitCell:
    count = line.forfeited
    return FitCell((f"{count:,}", compact(count)), "warn") if count else FitCell((NOTHING,), "muted")


def forfeits_tip(line: StandingsRow) -> str:
    lines = [f"{kind.replace('_', ' ')}: {count:,}" for kind, count in line.forfeits]
    return "\n".join(lines) if lines else "no forfeits"


def _games(line: StandingsRow) -> str:
    return f"{line.games:,}"


def _games_cell(line: StandingsRow) -> FitCell:
    return FitCell((_games(line), compact(line.games)))


def _games_tip(line: StandingsRow) -> str:
    return meetings(line.total.played, line.seats) if line.seats > 2 else plural(line.games, "game")


def _by_games(line: StandingsRow) -> int:
    return line.games


def key(line: Any) -> str:
    agent: str = line.agent
    return agent
