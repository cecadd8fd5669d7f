"""A table over rows of data: columns say how a row is shown and sorted, rows are replaced as a whole.

Sorting and filtering are done here, on the rows, and not cell by cell: a hundred thousand of them are no trouble.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from league_app.gui.widgets.basics import plain

Index = QModelIndex | QPersistentModelIndex
ROW = Qt.ItemDataRole.UserRole  # the row itself
VALUE = Qt.ItemDataRole.UserRole + 1  # what a delegate paints
DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True)
class Column:
    """How one column is made of a row."""

    title: str
    text: Callable[[Any], str]
    sort: Callable[[Any], Any] | None = None  # by the text, unless said
    right: bool = False  # numbers
    tip: str = ""  # what the header says when asked
    paint: str = ""  # which delegate: agent, rating, record, bar; nothing for plain text
    value: Callable[[Any], Any] | None = None  # what that delegate paints
    cell_tip: Callable[[Any], str] | None = None
    width: int = 0  # at first; 0 for what the content needs
    descending: bool = False  # what a first click on the header gives
    least: int = 0  # how narrow it may get where there is little room; 0: it stays as it is
    grow: int = 0  # its part of the room that is left


class TableModel(QAbstractTableModel):
    """Rows are told apart by `key`, so that selections and animations can follow them."""

    def __init__(
        self, columns: Sequence[Column], key: Callable[[Any], Hashable], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.columns, self._key = tuple(columns), key
        self._every: list[Any] = []
        self._shown: list[Any] = []
        self._sorted: tuple[int, Qt.SortOrder] | None = None
        self._words: list[str] = []
        self._texts: list[str] | None = None  # of every row, once somebody filters
        self._places: list[int] | None = None  # of every row, once somebody sorts

    # What it shows

    @property
    def rows(self) -> list[Any]:
        """As shown: filtered and sorted."""
        return self._shown

    @property
    def every(self) -> list[Any]:
        return self._every

    def key(self, row: Any) -> Hashable:
        return self._key(row)

    def set_rows(self, rows: Sequence[Any]) -> None:
        self._every, self._texts, self._places = list(rows), None, None
        self._show()

    def set_filter(self, text: str) -> None:
        """Rows whose texts hold all of these words."""
        words = text.casefold().split()
        if words != self._words:
            self._words = words
            self._show()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted = (column, order) if 0 <= column < len(self.columns) else None
        self._places = None
        self._show()

    def _show(self) -> None:
        rows = self._matching() if self._words else [self._every[place] for place in self._order()]
        before = [self._key(row) for row in self._shown]
        after = [self._key(row) for row in rows]
        if before == after:
            self._shown = rows
            if rows:
                last = self.index(len(rows) - 1, len(self.columns) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
        elif len(before) == len(after) and set(before) == set(after):
            self._reorder(rows, before, {key: place for place, key in enumerate(after)})
        else:
            self.beginResetModel()
            self._shown = rows
            self.endResetModel()

    def _reorder(self, rows: list[Any], before: Sequence[Hashable], places: dict[Hashable, int]) -> None:
        self.layoutAboutToBeChanged.emit()
        old = self.persistentIndexList()
        new = [self.index(places[before[one.row()]], one.column()) for one in old]
        self._shown = rows
        self.changePersistentIndexList(old, new)
        self.layoutChanged.emit()

    def _order(self) -> Sequence[int]:
        """Places of all rows, sorted: a filter then need not sort again."""
        if self._sorted is None:
            return range(len(self._every))
        if self._places is None:
            number, order = self._sorted
            column = self.columns[number]
            keys = [*map(column.sort or _Natural(column.text), self._every)]
            descending = order == Qt.SortOrder.DescendingOrder
            self._places = sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)
        return self._places

    def _matching(self) -> list[Any]:
        if self._texts is None:
            texts = [column.text for column in self.columns]
            self._texts = ["\n".join([text(row) for text in texts]).casefold() for row in self._every]
        found: Sequence[int] = self._order()
        for word in self._words:
            found = [place for place in found if word in self._texts[place]]
        return [self._every[place] for place in found]

    # What Qt asks

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name, Qt's default
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._shown):
            return None
        row, column = self._shown[index.row()], self.columns[index.column()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return column.text(row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.right else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == ROW:
            return row
        if role == VALUE:
            return column.value(row) if column.value else None
        if role == Qt.ItemDataRole.ToolTipRole and column.cell_tip is not None:
            return plain(column.cell_tip(row))
        return None

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            return None
        if not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.right else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(column.tip) or None
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            return Qt.SortOrder.DescendingOrder if column.descending else Qt.SortOrder.AscendingOrder
        return None


class _Natural:
    """Texts as a person sorts them: Agent 2 before agent 10."""

    def __init__(self, text: Callable[[Any], str]) -> None:
        self._text = text

    def __call__(self, row: Any) -> str:
        return DIGITS.sub(_padded, self._text(row).casefold())


def _padded(digits: re.Match[str]) -> str:
    return digits[0].zfill(18)
