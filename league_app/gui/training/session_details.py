"""The Log and Settings tabs of a training session."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QPlainTextEdit, QScrollArea, QWidget

from engine.clock import local_text
from league_app.core.queries.sessions import SessionSummary
from league_app.gui.widgets.basics import Card, ElidedLabel, clear, column, label


class SessionLog(QPlainTextEdit):
    """The latest messages with their times, also of earlier runs. Follows new ones unless the user has scrolled up."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setAccessibleName("Session log")
        self.setPlaceholderText("Messages from the trainer appear here while the session runs.")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)

    def show_session(self, summary: SessionSummary) -> None:
        lines = [f"{local_text(log.at, '%H:%M:%S')}  {'Warning: ' * log.warning}{log.text}" for log in summary.logs]
        if summary.session.note:
            lines.append(f"{summary.status.capitalize()}: {summary.session.note}")
        text = "\n".join(lines)
        if text != self.toPlainText():
            bar = self.verticalScrollBar()
            position, at_end = bar.value(), bar.value() >= bar.maximum() - 2
            self.setPlainText(text)
            bar.setValue(bar.maximum() if at_end else position)


class SettingsView(QScrollArea):
    """Names and values of a session's settings; those that differ from the defaults come first."""

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

    def show_session(self, summary: SessionSummary, defaults: Mapping[str, object], names: Mapping[str, str]) -> None:
        """`names` are those of agents by id, because a setting may hold an agent's id."""
        session = summary.session
        rows = [("Game", session.game.name), *((f"Game: {name}", value) for name, value in session.game.options)]
        config = sorted(session.config, key=lambda pair: (defaults.get(pair[0]) == pair[1], pair[0]))
        rows += [(name, names.get(str(value), value)) for name, value in config]
        if rows == self._shown:
            return
        self._shown = rows
        clear(self._grid)
        for index, (name, value) in enumerate(rows):
            changed = name in defaults and defaults[name] != value
            title = label(name.replace("_", " ").capitalize(), "" if changed else "muted")
            text = f"{_value_text(value)} (default {_value_text(defaults[name])})" if changed else _value_text(value)
            self._grid.addWidget(title, index, 0)
            self._grid.addWidget(ElidedLabel(text), index, 1)


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value) if value != "" else "\u2013"
