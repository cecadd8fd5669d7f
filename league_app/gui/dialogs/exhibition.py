"""Choosing who plays a match to be watched: it is an exhibition, and counts for nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QComboBox, QDialog, QFormLayout, QSizePolicy, QSpinBox, QWidget

from engine.league.records import Agent
from league_app.gui.widgets.basics import Combo, button, column, label, row
from league_app.core.formatting import seat_words

LONGEST = 60  # letters of a name in a list
YOU = "You, at this keyboard"


class ExhibitionSheet(QDialog):
    """One agent for each seat, and a seed; `start` is called with the ids of the agents ("" for a person) and the
    seed. Of `people` no more can play than that."""

    def __init__(
        self,
        parent: QWidget | None,
        title: str,
        seats: int,
        agents: Sequence[Agent],
        start: Callable[[list[str], int], Any],
        people: int = 2,
        last: Sequence[str] = (),
        seed: int = 1,
        names: Sequence[str] = (),
    ) -> None:
        super().__init__(parent)
        self._start, self._people = start, people
        self._ids = [*([""] if people else []), *(one.id for one in agents)]
        self.setWindowTitle("Watch a match")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(420)
        form = QFormLayout()
        form.setSpacing(12)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.seats = [self._chooser(seat, agents, people > 0, last) for seat in range(seats)]
        for seat, chooser in enumerate(self.seats):
            called = names[seat] if seat < len(names) else ""
            form.addRow(self._label(seat_words(seat, called), chooser), chooser)
        self.seed = QSpinBox()
        self.seed.setRange(0, 2**31 - 1)
        self.seed.setValue(seed)
        self.seed.lineEdit().setTextMargins(6, 0, 0, 0)  # as far from the edge as in the other controls
        self.seed.setAccessibleName("Seed")
        form.addRow(self._label("Seed", self.seed), self.seed)
        self.go = button("Watch", self._go, primary=True)
        self.go.setDefault(True)
        sentence = f"A match of {title} that is played for you, and counts for nothing. The same seed, the same match."
        whole = column(label("Watch a match", "title"), label(sentence, "muted", wrap=True), margin=24, gap=16)
        self.wrong = label(f"No more than {people} people can play at this keyboard.", tone="bad", wrap=True)
        self.wrong.hide()
        for chooser in self.seats:
            chooser.currentIndexChanged.connect(self._check)
        self._check()
        whole.addLayout(form)
        whole.addWidget(self.wrong)
        whole.addLayout(row(1, button("Cancel", self.reject), self.go))
        self.setLayout(whole)

    def _label(self, text: str, buddy: QWidget) -> QWidget:
        made = label(text)
        made.setBuddy(buddy)
        return made

    def _chooser(self, seat: int, agents: Sequence[Agent], person: bool, last: Sequence[str]) -> QComboBox:
        made = Combo()
        made.setAccessibleName(f"Who plays seat {seat + 1}")
        made.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        made.setMinimumWidth(200)
        names = [one.name if len(one.name) <= LONGEST else one.name[:LONGEST] + "\u2026" for one in agents]
        made.addItems([*([YOU] if person else []), *names])
        wanted = last[seat] if seat < len(last) else None
        usual = (1 if person else 0) + seat % max(len(agents), 1)
        made.setCurrentIndex(self._ids.index(wanted) if wanted in self._ids else min(usual, made.count() - 1))
        return made

    def _chosen(self) -> list[str]:
        return [self._ids[one.currentIndex()] for one in self.seats]

    @Slot()
    def _check(self) -> None:
        crowded = self._chosen().count("") > self._people
        self.wrong.setVisible(crowded)
        self.go.setEnabled(not crowded)

    @Slot()
    def _go(self) -> None:
        chosen = self._chosen()
        self.accept()
        self._start(chosen, self.seed.value())
