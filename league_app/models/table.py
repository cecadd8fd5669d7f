"""A table over rows of data: columns say how a row is shown and sorted, rows are replaced as a whole.

Sorting and filtering are done here, on the rows, and not cell by cell: a hundred thousand of them are no trouble.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from league_app.widgets.basics import plain

Index = QModelIndex | QPersistentModelIndex
ROW = Qt.ItemDataRole.UserRole  # the row itself
VALUE = Qt.ItemDataRole.UserRole + 1  # what a delegate paints


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
        self._every = list(rows)
        self._show()

    def set_filter(self, text: str) -> None:
        """Rows whose texts hold all of these words."""
        self._words = text.casefold().split()
        self._show()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted = (column, order) if 0 <= column < len(self.columns) else None
        self._show()

    def _show(self) -> None:
        rows = [row for row in self._every if self._matches(row)] if self._words else list(self._every)
        if self._sorted is not None:
            number, order = self._sorted
            column = self.columns[number]
            rows.sort(key=column.sort or column.text, reverse=order == Qt.SortOrder.DescendingOrder)
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

    def _matches(self, row: Any) -> bool:
        text = " ".join(column.text(row) for column in self.columns).casefold()
        return all(word in text for word in self._words)

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
        return None
