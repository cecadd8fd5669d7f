"""The header of a table, and the saved state of its columns."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHeaderView

SAMPLED_ROWS = 100  # for measuring the width of a column


class TableHeader(QHeaderView):
    """Knows whether the user is dragging it: only then its widths are saved."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.dragging = False
        self.setSectionsClickable(True)
        self.setSectionsMovable(True)
        self.setHighlightSections(False)
        self.setStretchLastSection(True)
        self.setMinimumSectionSize(32)
        self.setResizeContentsPrecision(SAMPLED_ROWS)
        self.setSortIndicatorClearable(True)
        self.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        self.dragging = True
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        super().mouseReleaseEvent(event)
        self.dragging = False

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        self.dragging = True
        super().mouseDoubleClickEvent(event)


def column_state(saved: object) -> tuple[int, bool, int] | None:
    """Width, hidden, position; None if the settings file, which a user may have edited, holds something else."""
    if isinstance(saved, list) and len(saved) == 3 and all(isinstance(value, int) for value in saved):
        return min(max(saved[0], 0), 2000), bool(saved[1]), saved[2]
    return None
