"""F1 in a dialog: opens the guide at the page that explains the dialog."""

from __future__ import annotations

from functools import partial

from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog

from league_app.gui.context import AppContext


def add_help_key(dialog: QDialog, context: AppContext, page: str) -> None:
    """A dialog blocks the shortcuts of the window behind it, so each dialog has its own."""
    QShortcut(QKeySequence("F1"), dialog, partial(context.navigate, "guide", page))
