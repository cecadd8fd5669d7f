"""Who failed, how often and why: with the whole reason, and what the process wrote last."""

from __future__ import annotations

from collections.abc import Hashable

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QSplitter, QStackedWidget, QWidget

from engine.play.match import GameSpec
from league_app.core.queries import matches as looks
from league_app.gui import theme
from league_app.gui.context import Desk
from league_app.core.queries.matches import Failed
from league_app.gui.models.matches import failure_columns
from league_app.gui.widgets.table.model import TableModel
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Card, Elided, Empty, button, column, label, row
from league_app.gui.widgets.table.view import Filtered, Table


class FailuresView(QWidget):
    """A table above, the whole story of the one that is selected below."""

    counted = Signal(int)

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._wanted = ""  # an agent's id, to be selected
        self.model = TableModel(failure_columns(), _key, self)
        self.table = Table(self.model, "failures", desk.settings)
        self.filtered = Filtered(self.table, "Filter failures", noun="failure")
        self.title = Elided("", "section")
        self.story = QPlainTextEdit()
        self.story.setReadOnly(True)
        self.story.setAccessibleName("Reason, and what the process wrote last")
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(theme.SIZES["body"] - 1)
        self.story.setFont(font)
        self.watch_button = button("Open the match", self.watch, icon="play")
        self.all_button = button("All its failed matches", self.show_all, icon="history")
        self.copy_button = button("Copy", self.copy, icon="copy")
        self._doing = (self.watch_button, self.all_button, self.copy_button)
        detail = Card(margin=12)
        detail.body.addWidget(self.title)
        detail.body.addWidget(self.story, 1)
        detail.body.addLayout(row(*self._doing, 1))
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
        hint = label("Resigning is no failure, and is not listed.", "caption")
        inner = QWidget()
        inner.setLayout(column(split, hint))
        inner.setContentsMargins(0, 8, 0, 12)
        self.empty = Empty("check", "Nobody has failed: no crash, no timeout, no illegal action.")
        self.stack = QStackedWidget()
        self.stack.addWidget(inner)
        self.stack.addWidget(self.empty)
        self.setLayout(column(self.stack))
        self.table.chosen.connect(self._open)
        self.table.selected.connect(self._tell)
        self._tell(None)

    def refresh(self) -> None:
        pool = self._desk.pool
        if self._desk.state is None or pool is None:
            self._take([])
        else:
            self._desk.ask("history/failures", _Look(pool), self._take)

    def _take(self, rows: list[Failed]) -> None:
        self.model.set_rows(rows)
        self.stack.setCurrentIndex(0 if rows else 1)
        self.counted.emit(len(rows))
        if self._wanted:
            self.select(self._wanted)
        if not self.table.currentIndex().isValid() and rows:
            self.table.setCurrentIndex(self.model.index(0, 0))
        self._tell(self.current)

    def select(self, agent: str) -> None:
        """The latest failure of this one, now or as soon as it is known."""
        self._wanted = agent
        for place, one in enumerate(self.model.rows):
            if one.agent == agent:
                self.table.setCurrentIndex(self.model.index(place, 0))
                self._wanted = ""
                return

    @property
    def current(self) -> Failed | None:
        at = self.table.currentIndex().row()
        return self.model.rows[at] if 0 <= at < len(self.model.rows) else None

    @Slot(object)
    def _tell(self, one: Failed | None) -> None:
        for shown in self._doing:
            shown.setEnabled(one is not None)
        if one is None:
            self.title.setText("")
            self.story.setPlainText("")
            return
        self.all_button.setEnabled(bool(one.agent))
        often = "once" if one.times == 1 else f"{one.times:,} times"
        self.title.setText(f"{looks.words_of(one.ending).capitalize()} {often}: {one.name}")
        told = story(one)
        if told != self.story.toPlainText():
            self.story.setPlainText(told)

    @Slot(object)
    def _open(self, one: Failed) -> None:
        self._desk.show("match", looks.reference(one.number))

    @Slot()
    def watch(self) -> None:
        if self.current is not None:
            self._open(self.current)

    @Slot()
    def show_all(self) -> None:
        if self.current is not None:
            self._desk.show("history", {"agent": self.current.agent, "failed": True, "tab": "matches"})

    @Slot()
    def copy(self) -> None:
        QGuiApplication.clipboard().setText(f"{self.title.text()}\n{self.story.toPlainText()}")
        self._desk.say("Copied")


def story(one: Failed) -> str:
    """All that is known about it, for reading and for copying."""
    reason, wrote = one.told
    parts = [f"match {looks.reference(one.number)}", reason or "no reason given"]
    if wrote:
        parts.append("What its process wrote last:\n" + "\n".join(f"  {line}" for line in wrote.split(" | ")))
    return "\n\n".join(parts)


def _key(row: Failed) -> Hashable:
    return row.agent, row.ending


class _Look:
    def __init__(self, pool: GameSpec) -> None:
        self._pool = pool

    def __call__(self, state: LeagueState) -> list[Failed]:
        return looks.failures(state.league, self._pool)
