"""Details of a match in small print: game, tournament, seed, options, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QPlainTextEdit, QSizePolicy, QWidget

from engine.play.match import MatchResult
from league_app.core.formatting import shorten
from league_app.gui.match.info import MatchInfo, result_text
from league_app.gui.widgets.basics import ElidedLabel, column, label

LONGEST = 41  # characters of a name: names of engine options may have any length


class KeyValueList(QWidget):
    """Rows of a name and a value, in small print."""

    def __init__(self) -> None:
        super().__init__()
        self._rows = QFormLayout()
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setHorizontalSpacing(12)
        self._rows.setVerticalSpacing(4)
        self._rows.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self._rows.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._rows.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
        self._shown: tuple[tuple[str, str], ...] = ()
        self.setLayout(self._rows)

    def set_rows(self, rows: Iterable[tuple[str, str]]) -> None:
        """Show the rows that have a value."""
        shown = tuple((name, value) for name, value in rows if value)
        if shown == self._shown:
            return
        self._shown = shown
        while self._rows.rowCount():
            taken = self._rows.takeRow(0)
            for item in (taken.labelItem, taken.fieldItem):
                if (widget := item.widget()) is not None:
                    widget.hide()
                    widget.deleteLater()  # not now: Qt may be in a loop over all widgets, to restyle them
        for name, value in shown:
            self._rows.addRow(label(shorten(name, LONGEST), "caption"), ElidedLabel(value))


class MatchDetails(QWidget):
    """How a match ended, and below it what is known of it."""

    def __init__(self) -> None:
        super().__init__()
        self._pairs = KeyValueList()
        self.ending = label("", wrap=True)
        self.ending.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # a long name cannot wrap
        self.reason = QPlainTextEdit()
        self.reason.setReadOnly(True)
        self.reason.setAccessibleName("Reason for the failure")
        self.reason.setFixedHeight(96)
        self._shown: tuple[MatchInfo, MatchResult | None, str, str] | None = None
        self.setLayout(column(self.ending, self.reason, self._pairs, gap=8))
        self.ending.hide()
        self.reason.hide()

    def set_match(self, info: MatchInfo, result: MatchResult | None, how: str = "", error: str = "") -> None:
        """`how` is the game's own description of the ending, if it has one."""
        if (info, result, how, error) == self._shown:
            return
        self._shown = info, result, how, error
        self._set_ending(info, result, how, error)
        where = f"{info.tournament}. {info.event}" if info.tournament else info.event
        rows = [("Game", info.game), ("Match", info.reference), ("Tournament", where), ("Seed", str(info.seed))]
        rows += info.options
        if not info.tournament and info.event:
            rows = [("File" if name == "Tournament" else name, value) for name, value in rows]
        self._pairs.set_rows(rows)

    def _set_ending(self, info: MatchInfo, result: MatchResult | None, how: str, error: str) -> None:
        reason = result.ending.reason if result is not None else ""
        text = error
        if result is not None and not error:
            text = result_text(info, result, how)
        self.ending.setText(f"\u200e{text}" if text else "")  # left to right, even if the name is not
        self.ending.setVisible(bool(text))
        self.reason.setPlainText(reason)
        self.reason.setVisible(bool(reason))
