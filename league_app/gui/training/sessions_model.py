"""The Qt model of the list of training sessions, each with a check box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from league_app.core.queries.sessions import SessionSummary
from league_app.gui.widgets.basics import tooltip_html

Index = QModelIndex | QPersistentModelIndex
SUMMARY_ROLE = Qt.ItemDataRole.UserRole


class SessionsModel(QAbstractListModel):
    """Sessions, newest first. The charts show the checked ones together, or the selected one if none is checked."""

    checks_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[SessionSummary] = []
        self._checked: list[int] = []  # numbers, in the order in which they were checked

    @property
    def rows(self) -> list[SessionSummary]:
        return self._rows

    @property
    def checked(self) -> list[int]:
        return list(self._checked)

    def set_rows(self, rows: Sequence[SessionSummary]) -> None:
        before, after = [row.number for row in self._rows], [row.number for row in rows]
        self._checked = [number for number in self._checked if number in after]
        if before == after:
            self._rows = list(rows)
            if rows:
                self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
        elif before == after[len(after) - len(before) :]:  # new sessions above the known ones
            self.beginInsertRows(QModelIndex(), 0, len(after) - len(before) - 1)
            self._rows = list(rows)
            self.endInsertRows()
        else:
            self.beginResetModel()
            self._rows = list(rows)
            self.endResetModel()

    def row_of(self, number: int) -> int:
        """-1 if it is not listed."""
        return next((index for index, row in enumerate(self._rows) if row.number == number), -1)

    def set_checked(self, numbers: Sequence[int]) -> None:
        self._checked = [number for number in numbers if self.row_of(number) >= 0]
        self._notify_checked()

    def toggle(self, number: int) -> None:
        others = [other for other in self._checked if other != number]
        self.set_checked(others if number in self._checked else [*self._checked, number])

    def colour_index(self, number: int) -> int | None:
        """Index of its colour in the charts; None if it is not checked."""
        return self._checked.index(number) if number in self._checked else None

    def _notify_checked(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))
        self.checks_changed.emit()

    # Qt interface

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name and default
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        return super().flags(index) | Qt.ItemFlag.ItemIsUserCheckable if index.isValid() else Qt.ItemFlag.NoItemFlags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        summary = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return summary.session.name
        if role == Qt.ItemDataRole.AccessibleTextRole:
            best = f", best {summary.best_text}" if summary.best_text else ""
            return f"{summary.session.name}, {summary.session.trainer}, {summary.status}, {summary.progress_text}{best}"
        if role == Qt.ItemDataRole.CheckStateRole:
            return Qt.CheckState.Checked if summary.number in self._checked else Qt.CheckState.Unchecked
        if role == SUMMARY_ROLE:
            return summary
        if role == Qt.ItemDataRole.ToolTipRole:
            session = summary.session
            note = f"\n{session.ending}" if session.ending else ""
            return tooltip_html(f"{session.number}: {session.name}\n{session.trainer} on {session.game.name}{note}")
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802
        if role != Qt.ItemDataRole.CheckStateRole or not index.isValid():
            return False
        number, checked = self._rows[index.row()].number, Qt.CheckState(value) == Qt.CheckState.Checked
        if checked != (number in self._checked):
            self.toggle(number)
        return True
