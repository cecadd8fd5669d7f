"""A page of the window: it looks again when something it shows has changed, but only while it is seen."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from league_app.core.changes import Change
from league_app.gui.context import Desk

PERIOD = 400  # milliseconds between two looks at least


class Page(QWidget):
    """Subclasses say what they `watch` and write `refresh`; `show_what` brings something before the person."""

    title = ""
    icon = ""
    watches: frozenset[str] = frozenset()  # kinds of Change that make it look again

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self._stale = True
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(PERIOD)
        self._soon.timeout.connect(self._look)
        desk.changed.connect(self._hear)
        desk.opened.connect(self._look_anew)
        desk.scoped.connect(self._look_anew)
        self.setAccessibleName(self.title)

    def refresh(self) -> None:
        """Ask for what is to be shown; there may be no league at all."""

    def show_what(self, what: object) -> None:
        """As `Desk.show` was given it."""

    @Slot(object)
    def _hear(self, changes: Sequence[Change]) -> None:
        if any(change.what in self.watches for change in changes):
            self._stale = True
            if self.isVisible() and not self._soon.isActive():
                self._soon.start()

    @Slot()
    def _look_anew(self) -> None:
        self._stale = True
        self._look()

    @Slot()
    def _look(self) -> None:
        if self._stale and self.isVisible():
            self._stale = False
            self.refresh()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._look()
