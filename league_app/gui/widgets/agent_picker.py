"""Choosing agents: a list to tick, with a filter, everybody or nobody at once, and an order for those who go first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QWidget

from engine.league.records import Agent
from engine.registry import KINDS
from league_app.gui.widgets.table.model import Column, Index, TableModel
from league_app.gui.widgets.basics import button, column, label, row
from league_app.gui.widgets.table.delegates import NOTHING, AgentCell
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.table.view import Filtered, Table

TICK = 0  # the column
FIRST = (
    "Enter the selected ones before the others: the first ones are the challengers of a gauntlet, "
    "and a test is told from the first one's point of view"
)


@dataclass(frozen=True)
class Pick:
    """An agent who may take part."""

    agent: Agent
    rating: float | None = None  # None for somebody who has not played under these rules
    error: float = 0.0

    @property
    def able(self) -> bool:
        """Whether its kind is installed; without that it cannot play."""
        return self.agent.kind in KINDS.names()


class PickModel(TableModel):
    """Ticks in the first column; those who are ticked are numbered in the order in which they are entered."""

    ticked = Signal()

    def __init__(self) -> None:
        columns = [
            Column(
                "#",
                self._place,
                sort=self._number,
                width=64,
                tip="Who takes part, in the order in which they are entered",
            ),
            Column("Agent", _name, paint="agent", value=_cell, cell_tip=_tip, width=210, least=90, grow=1),
            Column("Rating", _rating, sort=_strength, right=True, descending=True, tip="Under these rules", width=92),
        ]
        super().__init__(columns, _id)
        self._numbers: dict[str, int] = {}  # of those who take part, by id: their places

    # Who takes part

    @property
    def chosen(self) -> tuple[str, ...]:
        """Ids, in the order in which they are entered."""
        return tuple(self._numbers)

    def choose(self, ids: Iterable[str]) -> None:
        """Exactly these, as far as they are there, in the order of the list."""
        wanted = set(ids)
        self._renumber([one.agent.id for one in self.every if one.agent.id in wanted])

    def tick(self, ids: Iterable[str], on: bool) -> None:
        wanted = set(ids)
        self.choose(set(self._numbers) | wanted if on else set(self._numbers) - wanted)

    def put_first(self, ids: Sequence[str]) -> None:
        """To the top of the list, as they are in it; who is put first also takes part."""
        first = [one for one in self.every if one.agent.id in ids]
        rest = [one for one in self.every if one.agent.id not in ids]
        self.set_rows([*first, *rest])
        self.tick(ids, True)

    def rate(self, ratings: Mapping[str, tuple[float, float]]) -> None:
        """By id: rating and half of its interval."""
        self.set_rows([replace(one, rating=None, error=0.0) if one.agent.id not in ratings else
                       Pick(one.agent, *ratings[one.agent.id]) for one in self.every])  # fmt: skip

    def _renumber(self, ids: Sequence[str]) -> None:
        numbers = {id: place for place, id in enumerate(ids, 1)}
        if list(numbers) != list(self._numbers):
            self._numbers = numbers
            if self.rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, TICK))
            self.ticked.emit()

    def _place(self, pick: Pick) -> str:
        return str(self._numbers.get(pick.agent.id, ""))

    def _number(self, pick: Pick) -> int:
        return self._numbers.get(pick.agent.id, len(self.every) + 1)

    # What Qt asks

    def flags(self, index: Index) -> Qt.ItemFlag:
        found = super().flags(index)
        return found | Qt.ItemFlag.ItemIsUserCheckable if index.column() == TICK else found

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if index.isValid() and index.column() == TICK and index.row() < len(self.rows):
            pick: Pick = self.rows[index.row()]
            if role == Qt.ItemDataRole.CheckStateRole:
                return Qt.CheckState.Checked if pick.agent.id in self._numbers else Qt.CheckState.Unchecked
            if role == Qt.ItemDataRole.AccessibleTextRole:
                return f"{pick.agent.name} {'takes part' if pick.agent.id in self._numbers else 'is left out'}"
        return super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802
        if role != Qt.ItemDataRole.CheckStateRole or not index.isValid() or index.column() != TICK:
            return False
        self.tick([self.rows[index.row()].agent.id], Qt.CheckState(value) == Qt.CheckState.Checked)
        return True


class _Ticks(Table):
    """Space ticks what is selected; a click anywhere in a row ticks it."""

    def __init__(self, model: PickModel) -> None:
        super().__init__(model, "agents who take part")
        self._model = model
        self.setAccessibleName("Agents who take part")
        self.clicked.connect(self._click)

    @Slot(QModelIndex)
    def _click(self, index: QModelIndex) -> None:
        plain = QGuiApplication.keyboardModifiers() == Qt.KeyboardModifier.NoModifier
        if plain and index.isValid() and index.column() != TICK:
            id = self._model.rows[index.row()].agent.id
            self._model.tick([id], id not in self._model.chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Space:
            ids = [one.agent.id for one in self.picked()]
            self._model.tick(ids, not set(ids) <= set(self._model.chosen))
            return
        super().keyPressEvent(event)


class Picks(QWidget):
    """The list with all that belongs to it."""

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.model = PickModel()
        self.model.ticked.connect(self._ticked)
        self.table = _Ticks(self.model)
        self.count = label("", "caption")
        self.everybody = button("All", self._all, tip="Tick everybody who is shown")
        self.nobody = button("None", self._none, tip="Tick nobody who is shown")
        self.first = button("Put first", self._first, tip=FIRST)
        self.filtered = Filtered(self.table, "Filter agents", [self.everybody, self.nobody], "agent")
        self.setLayout(column(self.filtered, row(self.count, 1, self.first), gap=8))

    @property
    def chosen(self) -> tuple[str, ...]:
        return self.model.chosen

    def show_agents(self, agents: Sequence[Agent], chosen: Iterable[str]) -> None:
        self.model.set_rows([Pick(one) for one in agents])
        wanted = set(chosen)
        self.model.choose(one.agent.id for one in self.model.every if one.able and one.agent.id in wanted)
        self._ticked()

    def _shown(self) -> list[str]:
        return [one.agent.id for one in self.model.rows]

    def _all(self) -> None:
        self.model.tick([one.agent.id for one in self.model.rows if one.able], True)

    def _none(self) -> None:
        self.model.tick(self._shown(), False)

    def _first(self) -> None:
        self.model.put_first([one.agent.id for one in self.table.picked()])

    @Slot()
    def _ticked(self) -> None:
        self.count.setText(f"{len(self.model.chosen):,} of {len(self.model.every):,} take part")
        self.edited.emit()


def _id(pick: Pick) -> str:
    return pick.agent.id


def _name(pick: Pick) -> str:
    return pick.agent.name


def _tip(pick: Pick) -> str:
    return f"{pick.agent.name}\n{pick.agent.kind}"


def _cell(pick: Pick) -> AgentCell:
    kind = pick.agent.kind if pick.able else f"{pick.agent.kind}, not installed"
    return AgentCell(pick.agent.name, kind, colour_of(pick.agent.id, pick.agent.colour))


def _rating(pick: Pick) -> str:
    return NOTHING if pick.rating is None else f"{pick.rating:z.0f} \N{PLUS-MINUS SIGN}{pick.error:.0f}"


def _strength(pick: Pick) -> float:
    return pick.rating if pick.rating is not None else -1e9
