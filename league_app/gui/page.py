"""The base of all pages: refreshes after changes of the league, but only while visible."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from league_app.core.changes import Change
from league_app.gui.context import AppContext

PERIOD = 400  # minimum milliseconds between two refreshes


class Page(QWidget):
    """Subclasses set `watches` and override `refresh` and `show_item`."""

    title = ""
    icon = ""
    guide = "window"  # the page of the guide that F1 opens
    watches: frozenset[str] = frozenset()  # kinds of Change after which it refreshes

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self._stale = True
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setSingleShot(True)
        self._refresh_timer.setInterval(PERIOD)
        self._refresh_timer.timeout.connect(self._refresh_if_visible)
        context.changed.connect(self._on_changes)
        context.opened.connect(self._refresh_all)
        context.pool_changed.connect(self._refresh_all)
        self.setAccessibleName(self.title)

    def refresh(self) -> None:
        """Requests the data to show; there may be no open league."""

    def show_item(self, what: object) -> None:
        """Shows the item passed to `AppContext.navigate`."""

    @Slot(object)
    def _on_changes(self, changes: Sequence[Change]) -> None:
        if any(change.what in self.watches for change in changes):
            self._stale = True
            if self.isVisible() and not self._refresh_timer.isActive():
                self._refresh_timer.start()

    @Slot()
    def _refresh_all(self) -> None:
        self._stale = True
        self._refresh_if_visible()

    @Slot()
    def _refresh_if_visible(self) -> None:
        if self._stale and self.isVisible():
            self._stale = False
            self.refresh()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._refresh_if_visible()
