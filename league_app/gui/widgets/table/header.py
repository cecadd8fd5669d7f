"""The header of a table, and what is remembered of it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHeaderView

LOOKED_AT = 100  # rows that a width is measured by


class Header(QHeaderView):
    """Knows whether a person has hold of it: only then its widths are worth remembering."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.held = False
        self.setSectionsClickable(True)
        self.setSectionsMovable(True)
        self.setHighlightSections(False)
        self.setStretchLastSection(True)
        self.setMinimumSectionSize(32)
        self.setResizeContentsPrecision(LOOKED_AT)
        self.setSortIndicatorClearable(True)
        self.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        self.held = True
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        super().mouseReleaseEvent(event)
        self.held = False

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        self.held = True
        super().mouseDoubleClickEvent(event)


def known(kept: object) -> tuple[int, bool, int] | None:
    """Width, hidden, place: if that is what the file holds, which a person may have edited."""
    if isinstance(kept, list) and len(kept) == 3 and all(isinstance(one, int) for one in kept):
        return min(max(kept[0], 0), 2000), bool(kept[1]), kept[2]
    return None
