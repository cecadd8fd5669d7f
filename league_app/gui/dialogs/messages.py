"""Message dialogs: errors with a report to copy, confirmations, keyboard shortcuts, versions."""

from __future__ import annotations

import platform
import sys
import traceback
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QGridLayout, QPlainTextEdit, QWidget

from league_app.gui import theme
from league_app.gui.widgets.basics import Icon, breakable, button, column, label, row

PACKAGES = ("ringside", "PySide6-Essentials", "pygame", "pyqtgraph", "numpy", "numba", "neat-python", "torch")


class MessageDialog(QDialog):
    """An icon, a sentence, more text and buttons."""

    def __init__(self, parent: QWidget | None, title: str, icon: str, role: str, sentence: str, more: str = "") -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(460)
        self.sentence = label(breakable(sentence), "section", wrap=True)
        self.words = column(self.sentence, gap=8)
        if more:
            self.words.addWidget(label(breakable(more), "muted", wrap=True))
        top = row(gap=16)
        top.addWidget(Icon(icon, 32, role), 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(self.words, 1)
        self.buttons = row(1)
        self.setLayout(column(top, 1, self.buttons, margin=24, gap=24))


class ConfirmDialog(MessageDialog):
    """Asks before something that cannot be undone. Escape and the `no` button change nothing."""

    def __init__(
        self,
        parent: QWidget | None,
        sentence: str,
        more: str,
        yes: str,
        doing: Callable[[], Any],
        no: str = "Cancel",
        danger: bool = True,
    ) -> None:
        super().__init__(parent, "Ringside", "help", "warn" if danger else "accent", sentence, more)
        self._doing = doing
        self.no = button(no, self.reject)
        self.yes = button(yes, self._agree, primary=not danger, danger=danger)
        self.yes.setDefault(True)
        self.buttons.addWidget(self.no)
        self.buttons.addWidget(self.yes)

    @Slot()
    def _agree(self) -> None:
        self.accept()
        self._doing()


class LostLeagueDialog(MessageDialog):
    """Asks what to do with an open league whose file is gone. Escape changes nothing."""

    def __init__(self, parent: QWidget | None, path: str, save: Callable[[], Any], close: Callable[[], Any]) -> None:
        sentence = "The file of this league was deleted, moved or replaced"
        more = (
            f"Nothing more is saved in {path}, and what was running in it has been stopped. What was saved before can "
            "be saved as another file. If you have moved the file, close the league and open it at its new place."
        )
        super().__init__(parent, "Ringside", "failure", "bad", sentence, more)
        self.close_button = button("Close the league", self.accept)
        self.close_button.clicked.connect(close)
        self.save_button = button("Save as...", self.accept, primary=True)
        self.save_button.clicked.connect(save)
        self.save_button.setDefault(True)
        self.buttons.addWidget(self.close_button)
        self.buttons.addWidget(self.save_button)


class FailureDialog(MessageDialog):
    """Something that the user asked for and that failed; stays until it is closed."""

    def __init__(self, parent: QWidget | None, sentence: str, reason: str) -> None:
        super().__init__(parent, "Ringside", "failure", "bad", sentence, reason)
        close = button("Close", self.accept, primary=True)
        close.setDefault(True)
        self.buttons.addWidget(close)


class ErrorDialog(MessageDialog):
    """An unexpected error, with a report to copy. The program continues."""

    def __init__(self, parent: QWidget | None, error: BaseException) -> None:
        more = "Saved data is not affected, and you can continue. Please include this report if you report the error."
        text = f"{type(error).__name__}: {error}"
        super().__init__(parent, "Unexpected error", "failure", "bad", text[:300], more)
        self.report = QPlainTextEdit(report(error))
        self.report.setReadOnly(True)
        self.report.setAccessibleName("Report")
        self.report.setMinimumSize(520, 220)
        self.setMinimumWidth(620)  # the minimum width set by MessageDialog would override that of the report
        self.words.addWidget(self.report)
        self.buttons.addWidget(button("Copy report", self._copy, icon="copy"))
        close = button("Continue", self.accept, primary=True)
        close.setDefault(True)
        self.buttons.addWidget(close)
        close.setFocus()  # otherwise the report has the focus

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.report.toPlainText())


def report(error: BaseException) -> str:
    trace = "".join(traceback.format_exception(error))
    return f"{trace}\n" + "\n".join(f"{name} {number}" for name, number in versions())


def versions() -> list[tuple[str, str]]:
    found = []
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            found.append((name, "not installed"))
    return [*found, ("Python", sys.version.split()[0]), ("system", platform.platform())]


class AboutDialog(MessageDialog):
    def __init__(self, parent: QWidget | None) -> None:
        about = "A desktop league for game-playing agents: watch matches, run tournaments, train agents, rate them."
        super().__init__(parent, "About Ringside", "ringside", "accent", f"Ringside {versions()[0][1]}", about)
        grid = QGridLayout()
        grid.setHorizontalSpacing(24)
        for place, (name, number) in enumerate(versions()[1:]):
            grid.addWidget(label(name, "muted"), place, 0)
            grid.addWidget(label(breakable(number), wrap=True), place, 1)
        grid.setColumnStretch(1, 1)
        self.words.addLayout(grid)
        self.words.addWidget(label("MIT licence. The font is Inter, SIL Open Font License 1.1.", "caption", wrap=True))
        self.buttons.addWidget(button("Copy versions", self._copy, icon="copy"))
        close = button("Close", self.accept, primary=True)
        close.setDefault(True)
        self.buttons.addWidget(close)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(f"{name} {number}" for name, number in versions()))


class ShortcutsDialog(MessageDialog):
    def __init__(self, parent: QWidget | None, shortcuts: Iterable[tuple[str, str]]) -> None:
        super().__init__(parent, "Keyboard shortcuts", "keyboard", "accent", "Keyboard shortcuts")
        grid = QGridLayout()
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(6)
        self.setMinimumWidth(760)
        every = list(shortcuts)
        half = -(-len(every) // 2)
        for place, (keys, text) in enumerate(every):
            line, side = place % half, place // half * 2
            key = label(keys, "muted")
            key.setFont(theme.font("body"))
            grid.addWidget(key, line, side)
            grid.addWidget(label(text), line, side + 1)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        self.words.addLayout(grid)
        close = button("Close", self.accept, primary=True)
        close.setDefault(True)
        self.buttons.addWidget(close)
