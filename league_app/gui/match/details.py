"""What is known of a match, as a column of small print: the game, where it was played, how it ended."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QPlainTextEdit, QSizePolicy, QWidget

from engine.play.match import MatchResult
from league_app.gui.match.info import Bill, result_words
from league_app.gui.widgets.basics import Elided, column, label

LONGEST = 40  # letters of a name: an engine's options may have any


class Pairs(QWidget):
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
        self.setLayout(self._rows)

    def set_rows(self, rows: Iterable[tuple[str, str]]) -> None:
        """Those that have a value."""
        while self._rows.rowCount():
            self._rows.removeRow(0)
        for name, value in rows:
            if value:
                short = name if len(name) <= LONGEST else f"{name[:LONGEST]}\u2026"
                self._rows.addRow(label(short, "caption"), Elided(value))


class Facts(QWidget):
    """What is known of a match, below how it ended."""

    def __init__(self) -> None:
        super().__init__()
        self._pairs = Pairs()
        self.ending = label("", wrap=True)
        self.ending.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # a name may be one word
        self.reason = QPlainTextEdit()
        self.reason.setReadOnly(True)
        self.reason.setAccessibleName("What the player that failed had to say")
        self.reason.setFixedHeight(96)
        self._shown: tuple[Bill, MatchResult | None, str, str] | None = None
        self.setLayout(column(self.ending, self.reason, self._pairs, gap=8))
        self.ending.hide()
        self.reason.hide()

    def set_match(self, bill: Bill, result: MatchResult | None, how: str = "", trouble: str = "") -> None:
        """`how` it ended is what the board itself has to say, if anything."""
        if (bill, result, how, trouble) == self._shown:
            return
        self._shown = bill, result, how, trouble
        self._set_ending(bill, result, how, trouble)
        where = f"{bill.tournament}. {bill.event}" if bill.tournament else bill.event
        rows = [("Game", bill.game), ("Match", bill.reference), ("Tournament", where), ("Seed", str(bill.seed))]
        rows += bill.options
        if not bill.tournament and bill.event:
            rows = [("File" if name == "Tournament" else name, value) for name, value in rows]
        self._pairs.set_rows(rows)

    def _set_ending(self, bill: Bill, result: MatchResult | None, how: str, trouble: str) -> None:
        reason = result.ending.reason if result is not None else ""
        text = trouble
        if result is not None and not trouble:
            text = result_words(bill, result, how)
        self.ending.setText(f"\u200e{text}" if text else "")  # a sentence of ours, whichever way the name is read
        self.ending.setVisible(bool(text))
        self.reason.setPlainText(reason)
        self.reason.setVisible(bool(reason))
