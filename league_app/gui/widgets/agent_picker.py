"""A list of agents to check, with a filter, buttons for all and none, and an order of entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QWidget

from engine.registry import KINDS
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.basics import button, column, label, row
from league_app.gui.widgets.table.delegates import NOTHING, AgentCell
from league_app.gui.widgets.table.model import Index, TableColumn, TableModel
from league_app.gui.widgets.table.view import FilteredTable, TableView

TICK_COLUMN = 0  # the column
MOVE_TO_TOP_TIP = (
    "Move the selected agents to the top of the list. The first agents are the challengers of a gauntlet, "
    "and a test reports the result of the first agent"
)


class PickableAgent(Protocol):
    """What the list shows of an agent."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def colour(self) -> str: ...


@dataclass(frozen=True)
class PickRow:
    """A row of the list."""

    agent: PickableAgent
    rating: float | None = None  # None if it has no matches under these rules
    error: float = 0.0

    @property
    def installed(self) -> bool:
        """Whether its kind is installed; otherwise it cannot play."""
        return self.agent.kind in KINDS.names()


class PickModel(TableModel):
    """Check boxes in the first column; checked agents are numbered in their order of entry."""

    checked = Signal()

    def __init__(self) -> None:
        columns = [
            TableColumn(
                "order",
                "#",
                self._position_text,
                sort=self._position,
                width=64,
                tip="Checked agents take part, in this order",
            ),
            TableColumn(
                "agent", "Agent", _name, paint="agent", value=_cell, cell_tip=_tip, width=210, min_width=90, grow=1
            ),
            TableColumn(
                "rating",
                "Rating",
                _rating,
                sort=_rating_key,
                right=True,
                descending=True,
                tip="Rating under these rules",
                width=92,
            ),
        ]
        super().__init__(columns, _id)
        self._positions: dict[str, int] = {}  # of checked agents, by id, from 1

    # Checked agents

    @property
    def chosen(self) -> tuple[str, ...]:
        """Ids in the order of entry."""
        return tuple(self._positions)

    def set_chosen(self, ids: Iterable[str]) -> None:
        """Checks exactly these agents; ids that are not listed are ignored."""
        chosen = set(ids)
        self._renumber([row.agent.id for row in self.all_rows if row.agent.id in chosen])

    def check(self, ids: Iterable[str], on: bool) -> None:
        checked = set(ids)
        self.set_chosen(set(self._positions) | checked if on else set(self._positions) - checked)

    def move_to_top(self, ids: Sequence[str]) -> None:
        """Moves these agents to the top of the list, and checks them."""
        first = [row for row in self.all_rows if row.agent.id in ids]
        rest = [row for row in self.all_rows if row.agent.id not in ids]
        self.set_rows([*first, *rest])
        self.check(ids, True)

    def set_ratings(self, ratings: Mapping[str, tuple[float, float]]) -> None:
        """Rating and half of its interval, by id."""
        self.set_rows([replace(row, rating=None, error=0.0) if row.agent.id not in ratings else
                       PickRow(row.agent, *ratings[row.agent.id]) for row in self.all_rows])  # fmt: skip

    def _renumber(self, ids: Sequence[str]) -> None:
        numbers = {id: position for position, id in enumerate(ids, 1)}
        if list(numbers) != list(self._positions):
            self._positions = numbers
            if self.rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, TICK_COLUMN))
            self.checked.emit()

    def _position_text(self, pick: PickRow) -> str:
        return str(self._positions.get(pick.agent.id, ""))

    def _position(self, pick: PickRow) -> int:
        return self._positions.get(pick.agent.id, len(self.all_rows) + 1)

    # Qt interface

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsUserCheckable if index.column() == TICK_COLUMN else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if index.isValid() and index.column() == TICK_COLUMN and index.row() < len(self.rows):
            pick: PickRow = self.rows[index.row()]
            if role == Qt.ItemDataRole.CheckStateRole:
                return Qt.CheckState.Checked if pick.agent.id in self._positions else Qt.CheckState.Unchecked
            if role == Qt.ItemDataRole.AccessibleTextRole:
                return f"{pick.agent.name} {'takes part' if pick.agent.id in self._positions else 'does not take part'}"
        return super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802
        if role != Qt.ItemDataRole.CheckStateRole or not index.isValid() or index.column() != TICK_COLUMN:
            return False
        self.check([self.rows[index.row()].agent.id], Qt.CheckState(value) == Qt.CheckState.Checked)
        return True


class _PickTable(TableView):
    """Space toggles the selected rows; a click anywhere in a row toggles it."""

    def __init__(self, model: PickModel) -> None:
        super().__init__(model, "Entrants")
        self._model = model
        self.clicked.connect(self._click)

    @Slot(QModelIndex)
    def _click(self, index: QModelIndex) -> None:
        plain = QGuiApplication.keyboardModifiers() == Qt.KeyboardModifier.NoModifier
        if plain and index.isValid() and index.column() != TICK_COLUMN:
            id = self._model.rows[index.row()].agent.id
            self._model.check([id], id not in self._model.chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Space:
            ids = [row.agent.id for row in self.selected_rows()]
            self._model.check(ids, not set(ids) <= set(self._model.chosen))
            return
        super().keyPressEvent(event)


class AgentPicker(QWidget):
    """The list with its filter, buttons and count."""

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.model = PickModel()
        self.model.checked.connect(self._on_checked)
        self.table = _PickTable(self.model)
        self.count = label("", "caption")
        self.all_button = button("All", self._check_all, tip="Check all agents in the list")
        self.none_button = button("None", self._check_none, tip="Uncheck all agents in the list")
        self.top_button = button("Move to top", self._move_selected_to_top, tip=MOVE_TO_TOP_TIP)
        self.filtered = FilteredTable(self.table, "Filter agents", [self.all_button, self.none_button], "agent")
        self.setLayout(column(self.filtered, row(self.count, 1, self.top_button), gap=8))

    @property
    def chosen(self) -> tuple[str, ...]:
        return self.model.chosen

    def show_agents(self, agents: Sequence[PickableAgent], chosen: Iterable[str]) -> None:
        self.model.set_rows([PickRow(agent) for agent in agents])
        ids = set(chosen)
        self.model.set_chosen(row.agent.id for row in self.model.all_rows if row.installed and row.agent.id in ids)
        self._on_checked()

    def _shown_ids(self) -> list[str]:
        return [row.agent.id for row in self.model.rows]

    def _check_all(self) -> None:
        self.model.check([row.agent.id for row in self.model.rows if row.installed], True)

    def _check_none(self) -> None:
        self.model.check(self._shown_ids(), False)

    def _move_selected_to_top(self) -> None:
        self.model.move_to_top([row.agent.id for row in self.table.selected_rows()])

    @Slot()
    def _on_checked(self) -> None:
        self.count.setText(f"{len(self.model.chosen):,} of {len(self.model.all_rows):,} take part")
        self.edited.emit()


def _id(pick: PickRow) -> str:
    return pick.agent.id


def _name(pick: PickRow) -> str:
    return pick.agent.name


def _tip(pick: PickRow) -> str:
    return f"{pick.agent.name}\n{pick.agent.kind}"


def _cell(pick: PickRow) -> AgentCell:
    kind = pick.agent.kind if pick.installed else f"{pick.agent.kind}, not installed"
    return AgentCell(pick.agent.name, kind, colour_of(pick.agent.id, pick.agent.colour))


def _rating(pick: PickRow) -> str:
    return NOTHING if pick.rating is None else f"{pick.rating:z.0f} \N{PLUS-MINUS SIGN}{pick.error:.0f}"


def _rating_key(pick: PickRow) -> float:
    return pick.rating if pick.rating is not None else -1e9
