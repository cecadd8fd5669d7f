"""A table model over a list of rows: columns define how a row is shown and sorted; rows are replaced as a whole.

The model sorts and filters whole rows instead of asking for cells, which is fast enough for a hundred thousand rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from league_app.core.formatting import natural_key
from league_app.gui.widgets.basics import tooltip_html

Index = QModelIndex | QPersistentModelIndex
ROW = Qt.ItemDataRole.UserRole  # the row itself
VALUE = Qt.ItemDataRole.UserRole + 1  # what a delegate paints


@dataclass(frozen=True)
class TableColumn:
    """How a column shows a row."""

    name: str  # unique in its table, and stable: saved widths are stored under it
    title: str
    text: Callable[[Any], str]
    sort: Callable[[Any], Any] | None = None  # sort key, None: last in both orders; by default the text, with numbers
    # in it in numerical order
    right: bool = False  # aligned right, for numbers
    tip: str = ""  # tooltip of the header
    paint: str = ""  # name of a delegate in `delegates.DELEGATES`; empty for plain text
    value: Callable[[Any], Any] | None = None  # the cell that the delegate paints
    cell_tip: Callable[[Any], str] | None = None
    width: int = 0  # initial; 0 to fit the content
    descending: bool = False  # order after the first click on the header
    min_width: int = 0  # when the table is narrow; 0: never below its width
    grow: int = 0  # stretch factor for spare room


class TableModel(QAbstractTableModel):
    """`key` identifies a row, so that selections and animations can follow it."""

    def __init__(
        self, columns: Sequence[TableColumn], key: Callable[[Any], Hashable], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.columns, self._key = tuple(columns), key
        assert len({column.name for column in columns}) == len(columns), "column names must be unique"
        self._all_rows: list[Any] = []
        self._shown: list[Any] = []
        self._sorted: tuple[int, Qt.SortOrder] | None = None
        self._filter_words: list[str] = []
        self._filter_texts: list[str] | None = None  # of all rows, computed for the first filter
        self._order_cache: list[int] | None = None  # indexes of all rows in order, computed on the first sort

    # Rows

    @property
    def rows(self) -> list[Any]:
        """Filtered and sorted."""
        return self._shown

    @property
    def all_rows(self) -> list[Any]:
        return self._all_rows

    def key(self, row: Any) -> Hashable:
        return self._key(row)

    def set_rows(self, rows: Sequence[Any]) -> None:
        self._all_rows, self._filter_texts, self._order_cache = list(rows), None, None
        self._show()

    def set_filter(self, text: str) -> None:
        """Shows the rows whose texts contain all of these words."""
        words = text.casefold().split()
        if words != self._filter_words:
            self._filter_words = words
            self._show()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted = (column, order) if 0 <= column < len(self.columns) else None
        self._order_cache = None
        self._show()

    def _show(self) -> None:
        rows = self._matching() if self._filter_words else [self._all_rows[place] for place in self._sorted_indexes()]
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
        new = [self.index(places[before[index.row()]], index.column()) for index in old]
        self._shown = rows
        self.changePersistentIndexList(old, new)
        self.layoutChanged.emit()

    def _sorted_indexes(self) -> Sequence[int]:
        """Indexes of all rows in order, kept so that a filter need not sort again."""
        if self._sorted is None:
            return range(len(self._all_rows))
        if self._order_cache is None:
            number, order = self._sorted
            column = self.columns[number]
            keys = [*map(column.sort or _natural_key(column.text), self._all_rows)]
            descending = order == Qt.SortOrder.DescendingOrder
            known = [place for place, key in enumerate(keys) if key is not None]
            self._order_cache = sorted(known, key=keys.__getitem__, reverse=descending)
            self._order_cache += [place for place, key in enumerate(keys) if key is None]
        return self._order_cache

    def _matching(self) -> list[Any]:
        if self._filter_texts is None:
            texts = [column.text for column in self.columns]
            self._filter_texts = ["\n".join([text(row) for text in texts]).casefold() for row in self._all_rows]
        indexes: Sequence[int] = self._sorted_indexes()
        for word in self._filter_words:
            indexes = [index for index in indexes if word in self._filter_texts[index]]
        return [self._all_rows[index] for index in indexes]

    # Qt interface

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
            return tooltip_html(column.cell_tip(row))
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
            return tooltip_html(column.tip) or None
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            return Qt.SortOrder.DescendingOrder if column.descending else Qt.SortOrder.AscendingOrder
        return None


def _natural_key(text: Callable[[Any], str]) -> Callable[[Any], str]:
    def key(row: Any) -> str:
        return natural_key(text(row))

    return key
