"""Matches, tournaments and failures as rows of tables."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from engine.league.records import State
from engine.league.storage.match_rows import unpack_players
from engine.league.storage.schema import PLACES
from league_app.core.queries import matches as looks
from league_app.core.queries.matches import Failed, Found, Person, Row
from league_app.gui.widgets.table.model import Column, TableModel
from league_app.gui.widgets.table.delegates import AgentCell, BarCell, FitCell
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.players_delegate import PlayersCell, Seated
from league_app.core.formatting import compact, finish, percent

Index = QModelIndex | QPersistentModelIndex
SORTS = ("match", "when", "players", "ending", "steps", "tournament")  # by column, as `looks.Wanted` calls them
PLAYERS = SORTS.index("players")


class MatchModel(TableModel):
    """Pages of matches, already in order: sorting, filtering and the next page are asked of whoever reads."""

    ordered = Signal()  # another order is wanted
    short = Signal()  # more rows are

    def __init__(self, parent: QObject | None = None) -> None:
        self.people: Mapping[int, Person] = {}
        self.tournaments: Mapping[int, str] = {}
        self.total = 0
        self.asking = False
        self._known: set[int] = set()
        columns = (
            Column("Match", _reference, tip="Tournament and place in its plan"),
            Column("When", lambda row: looks.when(row[1]), cell_tip=lambda row: full_time(row[1]), descending=True),
            Column(
                "Players",
                lambda row: self.players(row).text,
                value=self.players,
                cell_tip=self._who,
                width=300,
                least=250,
                grow=3,
            ),
            Column("Ending", lambda row: looks.words_of(row[6]), cell_tip=self._why),
            Column("Steps", lambda row: f"{row[5]:,}", right=True),
            Column("Tournament", self._called, cell_tip=self._called, least=90, grow=1),
        )
        super().__init__(columns, lambda row: row[0], parent)

    # What a row says

    def players(self, row: Row) -> PlayersCell:
        seated, ranks, scores = unpack_players(row[2]), row[3], looks.scores_of(row)
        decided = len(set(ranks)) > 1
        seats = []
        for seat in finish(ranks):
            one = self.people.get(seated[seat])
            name, colour = (one.name, colour_of(one.id, one.colour)) if one else ("?", "888888")
            seats.append(Seated(name, f"{scores[seat]:g}", colour, decided and ranks[seat] == 1))
        return PlayersCell(tuple(seats))

    def ending(self, row: Row) -> str:
        told, seated = looks.words_of(row[6]), unpack_players(row[2])
        blamed = [number for seat, number in enumerate(seated) if row[7] >> seat & 1]
        names = " and ".join(dict.fromkeys(self.people[one].name for one in blamed if one in self.people))
        return f"{told} by {names}" if names else told

    def _why(self, row: Row) -> str:
        return f"{self.ending(row)}: {row[8]}" if row[8] else self.ending(row)

    def _called(self, row: Row) -> str:
        number = row[0] // PLACES
        return looks.called(number, self.tournaments[number]) if number in self.tournaments else ""

    def _who(self, row: Row) -> str:
        return f"{self.players(row).text}\n{self.ending(row)} after {row[5]:,} steps"

    # What Qt asks, and what comes of it

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted = (column, order) if 0 <= column < len(self.columns) else None
        self.ordered.emit()

    @property
    def order(self) -> tuple[str, bool]:
        """As `looks.Wanted` has it."""
        if self._sorted is None:
            return "", False
        return SORTS[self._sorted[0]], self._sorted[1] == Qt.SortOrder.DescendingOrder

    def canFetchMore(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008, N802
        return not parent.isValid() and not self.asking and 0 < len(self._shown) < self.total

    def fetchMore(self, parent: Index = QModelIndex()) -> None:  # noqa: B008, N802
        if self.canFetchMore(parent):
            self.asking = True
            self.short.emit()

    def take(self, found: Found) -> None:
        self.asking = False
        self.people, self.tournaments = found.people, found.tournaments
        if found.more:
            self._append([row for row in found.rows if row[0] not in self._known])
            return
        self.total = max(found.total, len(found.rows))
        new, old = found.rows, self._shown
        fresh = _prepended(old, new)
        if fresh is not None:
            self._prepend(new[:fresh])
        else:
            self.beginResetModel()
            self._shown = self._every = new
            self._known = {row[0] for row in new}
            self.endResetModel()

    def _append(self, rows: list[Row]) -> None:
        if not rows:
            self.total = len(self._shown)
            return
        at = len(self._shown)
        self.beginInsertRows(QModelIndex(), at, at + len(rows) - 1)
        self._shown += rows
        self._known.update(row[0] for row in rows)
        self.endInsertRows()

    def _prepend(self, rows: list[Row]) -> None:
        if rows:
            self.beginInsertRows(QModelIndex(), 0, len(rows) - 1)
            self._shown[:0] = rows
            self._known.update(row[0] for row in rows)
            self.endInsertRows()
        elif self._shown:  # names may be others
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._shown) - 1, len(self.columns) - 1))


def _reference(row: Row) -> str:
    return looks.reference(row[0])


def _prepended(old: Sequence[Row], new: Sequence[Row]) -> int | None:
    """How many of the new rows stand before the old ones, if nothing else has changed."""
    if not old or not new or len(new) < min(len(old), looks.PAGE):
        return None
    first = old[0][0]
    at = next((place for place, row in enumerate(new) if row[0] == first), None)
    if at is None:
        return None
    rest = new[at:]
    return at if rest == old[: len(rest)] and len(rest) <= len(old) else None


# Tournaments


@dataclass(frozen=True)
class TournamentRow:
    number: int
    name: str
    game: str
    format: str
    state: State
    playing: bool  # by this window, now
    played: int
    total: int | None
    entrants: tuple[str, ...]  # ids
    created: float
    note: str

    @property
    def share(self) -> float:
        return self.played / self.total if self.total else float(self.state is State.FINISHED)


def _format(row: TournamentRow) -> str:
    return row.format.replace("-", " ")


def _played(row: TournamentRow) -> str:
    return f"{row.played:,} / {row.total:,}" if row.total is not None else f"{row.played:,}"


def _played_cell(row: TournamentRow) -> FitCell:
    shown = (compact(row.played), *([compact(row.total)] if row.total is not None else ()))
    return FitCell((_played(row), " / ".join(shown)))


def tournament_columns() -> tuple[Column, ...]:
    return (
        Column("#", lambda row: str(row.number), sort=lambda row: row.number, right=True, width=36, descending=True),
        Column("Name", lambda row: row.name, cell_tip=lambda row: row.name, width=150, least=120, grow=2),
        Column("Format", _format, cell_tip=_format, least=70),
        Column("State", lambda row: row.state.value),
        Column(
            "Played",
            _played,
            sort=lambda row: row.played,
            right=True,
            paint="fit",
            value=_played_cell,
            cell_tip=_played,
            least=92,
        ),
        Column(
            "Progress",
            lambda row: percent(row.share),
            sort=lambda row: row.share,
            paint="bar",
            value=lambda row: BarCell(row.share, percent(row.share)),
            width=120,
            least=84,
            grow=1,
        ),
        Column("Agents", lambda row: str(len(row.entrants)), sort=lambda row: len(row.entrants), right=True),
        Column(
            "Started",
            lambda row: looks.when(row.created),
            sort=lambda row: row.created,
            cell_tip=lambda row: full_time(row.created),
            descending=True,
        ),
        Column("Note", lambda row: row.note, cell_tip=lambda row: row.note, least=40, grow=2),
    )


# Failures


def failure_columns() -> tuple[Column, ...]:
    return (
        Column(
            "Agent",
            lambda row: row.name,
            paint="agent",
            value=_agent,
            cell_tip=lambda row: row.name,
            width=150,
            least=130,
            grow=1,
        ),
        Column("Ending", lambda row: looks.words_of(row.ending)),
        Column("Times", lambda row: f"{row.times:,}", sort=lambda row: row.times, right=True, descending=True),
        Column("Latest", lambda row: looks.reference(row.number), sort=lambda row: row.number, descending=True),
        Column("Reason", _reason, cell_tip=_reason, least=160, grow=3),
    )


def _agent(row: Failed) -> AgentCell:
    return AgentCell(row.name, row.kind, colour_of(row.agent, row.colour))


def _reason(row: Failed) -> str:
    return one_line(row.told[0]) or "no reason given"


def one_line(text: str) -> str:
    return " ".join(text.split())


def full_time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
