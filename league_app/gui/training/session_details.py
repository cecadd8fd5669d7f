"""What a session was told to do, and what it said."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QPlainTextEdit, QScrollArea, QWidget

from league_app.gui.training.sessions_model import Glance
from league_app.gui.widgets.basics import Card, Elided, clear, column, label


class Remarks(QPlainTextEdit):
    """The latest lines; whoever reads further up is left there."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setAccessibleName("Remarks of the session")
        self.setPlaceholderText("What a session says is told here while it runs.")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)

    def show_session(self, one: Glance) -> None:
        lines = [f"Warning: {text}" if warning else text for text, warning in one.logs]
        if one.session.note:
            lines.append(f"{one.word.capitalize()}: {one.session.note}")
        text = "\n".join(lines)
        if text != self.toPlainText():
            bar = self.verticalScrollBar()
            at, end = bar.value(), bar.value() >= bar.maximum() - 2
            self.setPlainText(text)
            bar.setValue(bar.maximum() if end else at)


class SettingsView(QScrollArea):
    """Names and values, those that are not as usual first."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._card = Card(margin=16)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnMinimumWidth(0, 150)
        self._grid.setColumnStretch(1, 1)
        self._card.body.addLayout(self._grid)
        inner = QWidget()
        inner.setLayout(column(self._card, 1))
        self.setWidget(inner)
        self._shown: object = None

    def show_session(self, one: Glance, usual: Mapping[str, object], names: Mapping[str, str]) -> None:
        """`names` are those of agents by id: one of them may be the ancestor."""
        session = one.session
        rows = [("Game", session.game.name), *((f"Game: {name}", value) for name, value in session.game.options)]
        config = sorted(session.config, key=lambda pair: (usual.get(pair[0]) == pair[1], pair[0]))
        rows += [(name, names.get(str(value), value)) for name, value in config]
        if rows == self._shown:
            return
        self._shown = rows
        clear(self._grid)
        for place, (name, value) in enumerate(rows):
            changed = name in usual and usual[name] != value
            title = label(name.replace("_", " ").capitalize(), "" if changed else "muted")
            told = f"{_told(value)} (usually {_told(usual[name])})" if changed else _told(value)
            self._grid.addWidget(title, place, 0)
            self._grid.addWidget(Elided(told), place, 1)


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value) if value != "" else "\u2013"
