"""Table models and columns for matches, tournaments and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from engine.clock import local_text
from engine.league.records import RunState
from engine.league.storage.match_rows import unpack_players
from engine.league.storage.schema import PLACES
from league_app.core.formatting import compact, finish_order, percent
from league_app.core.queries import matches
from league_app.core.queries.matches import AgentLabel, FailureRow, MatchRows, Row
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.players_delegate import PlayerResult, PlayersCell
from league_app.gui.widgets.table.delegates import AgentCell, BarCell, FitCell
from league_app.gui.widgets.table.model import TableColumn, TableModel

Index = QModelIndex | QPersistentModelIndex
SORTS = ("match", "when", "players", "ending", "steps", "tournament")  # by column, as in `MatchFilter`
PLAYERS = SORTS.index("players")


class MatchModel(TableModel):
    """Pages of matches that the database has sorted and filtered; the signals ask for other pages."""

    order_changed = Signal()
    more_needed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        self.agents: Mapping[int, AgentLabel] = {}
        self.tournaments: Mapping[int, str] = {}
        self.total = 0
        self.loading = False
        self._known_ids: set[int] = set()
        columns = (
            TableColumn("match", "Match", _reference, tip="Number of the tournament and of the match in it"),
            TableColumn(
                "time",
                "When",
                lambda row: matches.short_time(row[1]),
                cell_tip=lambda row: full_time(row[1]),
                descending=True,
            ),
            TableColumn(
                "players",
                "Players",
                lambda row: self.players(row).text,
                value=self.players,
                cell_tip=self._players_tip,
                width=300,
                min_width=250,
                grow=3,
            ),
            TableColumn("ending", "Ending", lambda row: matches.ending_text(row[6]), cell_tip=self._ending_tip),
            TableColumn("steps", "Steps", lambda row: f"{row[5]:,}", right=True),
            TableColumn(
                "tournament", "Tournament", self._tournament_name, cell_tip=self._tournament_name, min_width=90, grow=1
            ),
        )
        super().__init__(columns, lambda row: row[0], parent)

    # Texts of a row

    def players(self, row: Row) -> PlayersCell:
        seated, ranks, scores = unpack_players(row[2]), row[3], matches.scores_of(row)
        decided = len(set(ranks)) > 1
        seats = []
        for seat in finish_order(ranks):
            agent = self.agents.get(seated[seat])
            name, colour = (agent.name, colour_of(agent.id, agent.colour)) if agent else ("?", "888888")
            seats.append(PlayerResult(name, f"{scores[seat]:g}", colour, decided and ranks[seat] == 1))
        return PlayersCell(tuple(seats))

    def ending_text(self, row: Row) -> str:
        text, seated = matches.ending_text(row[6]), unpack_players(row[2])
        blamed = [number for seat, number in enumerate(seated) if row[7] >> seat & 1]
        names = " and ".join(dict.fromkeys(self.agents[number].name for number in blamed if number in self.agents))
        return f"{text} by {names}" if names else text

    def _ending_tip(self, row: Row) -> str:
        return f"{self.ending_text(row)}: {row[8]}" if row[8] else self.ending_text(row)

    def _tournament_name(self, row: Row) -> str:
        number = row[0] // PLACES
        return matches.tournament_label(number, self.tournaments[number]) if number in self.tournaments else ""

    def _players_tip(self, row: Row) -> str:
        return f"{self.players(row).text}\n{self.ending_text(row)} after {row[5]:,} steps"

    # Sorting and paging

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted = (column, order) if 0 <= column < len(self.columns) else None
        self.order_changed.emit()

    @property
    def order(self) -> tuple[str, bool]:
        """Sort column and whether descending, as in `MatchFilter`."""
        if self._sorted is None:
            return "", False
        return SORTS[self._sorted[0]], self._sorted[1] == Qt.SortOrder.DescendingOrder

    def canFetchMore(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008, N802
        return not parent.isValid() and not self.loading and 0 < len(self._shown) < self.total

    def fetchMore(self, parent: Index = QModelIndex()) -> None:  # noqa: B008, N802
        if self.canFetchMore(parent):
            self.loading = True
            self.more_needed.emit()

    def add_result(self, result: MatchRows) -> None:
        self.loading = False
        self.agents, self.tournaments = result.agents, result.tournaments
        if result.more:
            self._append([row for row in result.rows if row[0] not in self._known_ids])
            return
        self.total = max(result.total, len(result.rows))
        new, old = result.rows, self._shown
        added = _prepended(old, new)
        if added is not None:
            self._prepend(new[:added])
        else:
            self.beginResetModel()
            self._shown = self._all_rows = new
            self._known_ids = {row[0] for row in new}
            self.endResetModel()

    def _append(self, rows: list[Row]) -> None:
        if not rows:
            self.total = len(self._shown)
            return
        at = len(self._shown)
        self.beginInsertRows(QModelIndex(), at, at + len(rows) - 1)
        self._shown += rows
        self._known_ids.update(row[0] for row in rows)
        self.endInsertRows()

    def _prepend(self, rows: list[Row]) -> None:
        if rows:
            self.beginInsertRows(QModelIndex(), 0, len(rows) - 1)
            self._shown[:0] = rows
            self._known_ids.update(row[0] for row in rows)
            self.endInsertRows()
        elif self._shown:  # names may have changed
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._shown) - 1, len(self.columns) - 1))


def _reference(row: Row) -> str:
    return matches.reference(row[0])


def _prepended(old: Sequence[Row], new: Sequence[Row]) -> int | None:
    """How many new rows were added before the old ones; None if anything else has changed."""
    if not old or not new or len(new) < min(len(old), matches.PAGE):
        return None
    first = old[0][0]
    added = next((index for index, row in enumerate(new) if row[0] == first), None)
    if added is None:
        return None
    rest = new[added:]
    return added if rest == old[: len(rest)] and len(rest) <= len(old) else None


# Tournaments


@dataclass(frozen=True)
class TournamentRow:
    number: int
    name: str
    game: str
    format: str
    state: RunState
    playing: bool  # in this window, now
    played: int
    total: int | None
    entrants: tuple[str, ...]  # ids
    created: float
    note: str

    @property
    def share(self) -> float:
        return self.played / self.total if self.total else float(self.state is RunState.FINISHED)


def _format(row: TournamentRow) -> str:
    return row.format.replace("-", " ")


def _played(row: TournamentRow) -> str:
    return f"{row.played:,} / {row.total:,}" if row.total is not None else f"{row.played:,}"


def _played_cell(row: TournamentRow) -> FitCell:
    shown = (compact(row.played), *([compact(row.total)] if row.total is not None else ()))
    return FitCell((_played(row), " / ".join(shown)))


def tournament_columns() -> tuple[TableColumn, ...]:
    return (
        TableColumn(
            "number",
            "#",
            lambda row: str(row.number),
            sort=lambda row: row.number,
            right=True,
            width=36,
            descending=True,
        ),
        TableColumn(
            "name", "Name", lambda row: row.name, cell_tip=lambda row: row.name, width=150, min_width=120, grow=2
        ),
        TableColumn("format", "Format", _format, cell_tip=_format, min_width=70),
        TableColumn("state", "State", lambda row: row.state.value),
        TableColumn(
            "played",
            "Played",
            _played,
            sort=lambda row: row.played,
            right=True,
            paint="fit",
            value=_played_cell,
            cell_tip=_played,
            min_width=92,
        ),
        TableColumn(
            "progress",
            "Progress",
            lambda row: percent(row.share),
            sort=lambda row: row.share,
            paint="bar",
            value=lambda row: BarCell(row.share, percent(row.share)),
            width=120,
            min_width=84,
            grow=1,
        ),
        TableColumn(
            "agents", "Agents", lambda row: str(len(row.entrants)), sort=lambda row: len(row.entrants), right=True
        ),
        TableColumn(
            "started",
            "Started",
            lambda row: matches.short_time(row.created),
            sort=lambda row: row.created,
            cell_tip=lambda row: full_time(row.created),
            descending=True,
        ),
        TableColumn("note", "Note", lambda row: row.note, cell_tip=lambda row: row.note, min_width=40, grow=2),
    )


# Failures


def failure_columns() -> tuple[TableColumn, ...]:
    return (
        TableColumn(
            "agent",
            "Agent",
            lambda row: row.name,
            paint="agent",
            value=_agent,
            cell_tip=lambda row: row.name,
            width=150,
            min_width=130,
            grow=1,
        ),
        TableColumn("ending", "Ending", lambda row: matches.ending_text(row.ending)),
        TableColumn(
            "count", "Count", lambda row: f"{row.times:,}", sort=lambda row: row.times, right=True, descending=True
        ),
        TableColumn(
            "latest",
            "Latest match",
            lambda row: matches.reference(row.number),
            sort=lambda row: row.number,
            descending=True,
        ),
        TableColumn("reason", "Reason", _reason, cell_tip=_reason, min_width=160, grow=3),
    )


def _agent(row: FailureRow) -> AgentCell:
    return AgentCell(row.name, row.kind, colour_of(row.agent, row.colour))


def _reason(row: FailureRow) -> str:
    return one_line(row.reason) or "no reason given"


def one_line(text: str) -> str:
    return " ".join(text.split())


def full_time(at: float) -> str:
    return local_text(at, "%Y-%m-%d %H:%M:%S")
