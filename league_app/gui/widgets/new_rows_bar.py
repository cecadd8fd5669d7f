"""A slim bar above a list that stands still while more comes in."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from league_app.gui.widgets.basics import button, label, row
from league_app.core.formatting import many


class Behind(QFrame):
    """How many are new, and a link that brings them. It stays while more may come, so that rows do not jump about."""

    wanted = Signal()

    def __init__(self, noun: str) -> None:
        super().__init__()
        self._noun = noun
        self.setProperty("card", True)
        self.text = label("", "caption")
        self.show_button = button("Show", self.wanted.emit, link=True, tip="Bring the list up to date")
        across = row(self.text, self.show_button, 1)
        across.setContentsMargins(12, 0, 12, 0)
        self.setLayout(across)
        self.hide()

    def tell(self, new: int, waiting: bool) -> None:
        """`waiting` while more may come."""
        self.text.setText(many(new, f"new {self._noun}") if new > 0 else "The list is up to date")
        self.show_button.setVisible(new > 0)
        self.setVisible(new > 0 or waiting)
