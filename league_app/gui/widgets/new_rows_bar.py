"""A bar above a list that does not update by itself: it counts the new rows."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from league_app.core.formatting import plural
from league_app.gui.widgets.basics import button, label, row


class NewRowsBar(QFrame):
    """The number of new rows and a link that loads them. Stays while more may come, so that rows do not move."""

    show_requested = Signal()

    def __init__(self, noun: str) -> None:
        super().__init__()
        self._noun = noun
        self.setProperty("card", True)
        self.text = label("", "caption")
        self.show_button = button("Show", self.show_requested.emit, link=True, tip="Load the new rows into the list")
        across = row(self.text, self.show_button, 1)
        across.setContentsMargins(12, 0, 12, 0)
        self.setLayout(across)
        self.hide()

    def show_count(self, new: int, waiting: bool) -> None:
        """`waiting`: more rows may come."""
        self.text.setText(plural(new, f"new {self._noun}") if new > 0 else "The list is up to date")
        self.show_button.setVisible(new > 0)
        self.setVisible(new > 0 or waiting)
