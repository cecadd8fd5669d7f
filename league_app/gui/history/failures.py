"""The list of failures by agent and kind, with the reason and the last output of the process."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QSplitter, QStackedWidget, QWidget

from engine.play.match import GameSpec
from league_app.core.queries import matches
from league_app.core.queries.matches import FailureRow
from league_app.core.state import LeagueState
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.models.matches import failure_columns
from league_app.gui.widgets.basics import Card, ElidedLabel, EmptyState, button, column, label, row
from league_app.gui.widgets.table.model import TableModel
from league_app.gui.widgets.table.view import FilteredTable, TableView


class FailuresView(QWidget):
    """A table, and below it the details of the selected failure."""

    counted = Signal(int)

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._to_select = ""  # id of an agent whose row is selected once it is loaded
        self.model = TableModel(failure_columns(), _key, self)
        self.table = TableView(self.model, "failures", context.settings)
        self.filtered = FilteredTable(self.table, "Filter failures", noun="failure")
        self.title = ElidedLabel("", "section")
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setAccessibleName("Reason and last output of the process")
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(theme.SIZES["body"] - 1)
        self.details.setFont(font)
        self.watch_button = button("Watch", self.watch, icon="play")
        self.all_button = button("All failed matches", self.show_all, icon="history")
        self.copy_button = button("Copy", self.copy, icon="copy")
        self._buttons = (self.watch_button, self.all_button, self.copy_button)
        detail = Card(margin=12)
        detail.body.addWidget(self.title)
        detail.body.addWidget(self.details, 1)
        detail.body.addLayout(row(*self._buttons, 1))
        split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(self.filtered)
        below = QWidget()
        below.setLayout(column(detail))
        below.setContentsMargins(0, 8, 0, 0)
        split.addWidget(below)
        split.setSizes([300, 240])
        split.setChildrenCollapsible(False)
        split.setHandleWidth(1)
        self.filtered.setContentsMargins(0, 0, 0, 8)
        hint = label("A resignation is not a failure and is not listed.", "caption")
        inner = QWidget()
        inner.setLayout(column(split, hint))
        inner.setContentsMargins(0, 8, 0, 12)
        self.empty = EmptyState("check", "No failures: no crash, no timeout, no illegal action.")
        self.stack = QStackedWidget()
        self.stack.addWidget(inner)
        self.stack.addWidget(self.empty)
        self.setLayout(column(self.stack))
        self.table.chosen.connect(self._open)
        self.table.selected.connect(self._show_details)
        self._show_details(None)

    def refresh(self) -> None:
        pool = self._context.pool
        if self._context.state is None or pool is None:
            self._show([])
        else:
            self._context.ask("history/failures", partial(load_failures, pool=pool), self._show)

    def _show(self, rows: list[FailureRow]) -> None:
        self.model.set_rows(rows)
        self.stack.setCurrentIndex(0 if rows else 1)
        self.counted.emit(len(rows))
        if self._to_select:
            self.select(self._to_select)
        if not self.table.currentIndex().isValid() and rows:
            self.table.setCurrentIndex(self.model.index(0, 0))
        self._show_details(self.current)

    def select(self, agent: str) -> None:
        """Select the latest failure of this agent, now or once it is loaded."""
        self._to_select = agent
        for place, known in enumerate(self.model.rows):
            if known.agent == agent:
                self.table.setCurrentIndex(self.model.index(place, 0))
                self._to_select = ""
                return

    @property
    def current(self) -> FailureRow | None:
        at = self.table.currentIndex().row()
        return self.model.rows[at] if 0 <= at < len(self.model.rows) else None

    @Slot(object)
    def _show_details(self, failure: FailureRow | None) -> None:
        for shown in self._buttons:
            shown.setEnabled(failure is not None)
        if failure is None:
            self.title.setText("")
            self.details.setPlainText("")
            return
        self.all_button.setEnabled(bool(failure.agent))
        often = "once" if failure.times == 1 else f"{failure.times:,} times"
        self.title.setText(f"{matches.ending_text(failure.ending).capitalize()} {often}: {failure.name}")
        text = details(failure)
        if text != self.details.toPlainText():
            self.details.setPlainText(text)

    @Slot(object)
    def _open(self, failure: FailureRow) -> None:
        self._context.navigate("match", matches.reference(failure.number))

    @Slot()
    def watch(self) -> None:
        if self.current is not None:
            self._open(self.current)

    @Slot()
    def show_all(self) -> None:
        if self.current is not None:
            self._context.navigate("history", {"agent": self.current.agent, "failed": True, "tab": "matches"})

    @Slot()
    def copy(self) -> None:
        QGuiApplication.clipboard().setText(f"{self.title.text()}\n{self.details.toPlainText()}")
        self._context.notify("Details copied")


def details(failure: FailureRow) -> str:
    """Return match, reason and last output as text."""
    parts = [f"Match {matches.reference(failure.number)}", failure.reason or "No reason given"]
    if failure.output:
        parts.append("Last output of its process:\n" + "\n".join(f"  {line}" for line in failure.output.split(" | ")))
    return "\n\n".join(parts)


def _key(row: FailureRow) -> Hashable:
    return row.agent, row.ending


def load_failures(state: LeagueState, pool: GameSpec) -> list[FailureRow]:
    return matches.failures(state.league, pool)
