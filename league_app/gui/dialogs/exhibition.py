"""Choosing the players of an exhibition: a match that is shown at once and not rated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QComboBox, QDialog, QFormLayout, QSizePolicy, QSpinBox, QWidget

from engine.league.records import Agent
from league_app.core.formatting import seat_label, shorten
from league_app.gui.widgets.basics import Combo, button, column, label, row

LONGEST = 61  # characters of a name in a list
YOU = "You (at this keyboard)"


class ExhibitionDialog(QDialog):
    """Asks for the player of each seat and a seed, and calls `start` with the ids ("" for a human) and the seed. At
    most `people` of the players may be human."""

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
        self._ids = [*([""] if people else []), *(agent.id for agent in agents)]
        self.setWindowTitle("Watch a match")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(420)
        form = QFormLayout()
        form.setSpacing(12)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.seats = [self._chooser(seat, agents, people > 0, last) for seat in range(seats)]
        for seat, chooser in enumerate(self.seats):
            name = names[seat] if seat < len(names) else ""
            form.addRow(self._label(seat_label(seat, name), chooser), chooser)
        self.seed = QSpinBox()
        self.seed.setRange(0, 2**31 - 1)
        self.seed.setValue(seed)
        self.seed.lineEdit().setTextMargins(6, 0, 0, 0)  # aligned with the other controls
        self.seed.setAccessibleName("Seed")
        form.addRow(self._label("Seed", self.seed), self.seed)
        self.go = button("Watch", self._accept, primary=True)
        self.go.setDefault(True)
        sentence = f"An unrated match of {title}. The same seed repeats the same match."
        whole = column(label("Watch a match", "title"), label(sentence, "muted", wrap=True), margin=24, gap=16)
        self.error = label(f"At most {people} people can play at this keyboard.", tone="bad", wrap=True)
        self.error.hide()
        for chooser in self.seats:
            chooser.currentIndexChanged.connect(self._check)
        self._check()
        whole.addLayout(form)
        whole.addWidget(self.error)
        whole.addLayout(row(1, button("Cancel", self.reject), self.go))
        self.setLayout(whole)

    def _label(self, text: str, buddy: QWidget) -> QWidget:
        title = label(text)
        title.setBuddy(buddy)
        return title

    def _chooser(self, seat: int, agents: Sequence[Agent], person: bool, last: Sequence[str]) -> QComboBox:
        combo = Combo()
        combo.setAccessibleName(f"Player for seat {seat + 1}")
        combo.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        combo.setMinimumWidth(200)
        names = [shorten(agent.name, LONGEST) for agent in agents]
        combo.addItems([*([YOU] if person else []), *names])
        before = last[seat] if seat < len(last) else None
        default = (1 if person else 0) + seat % max(len(agents), 1)
        combo.setCurrentIndex(self._ids.index(before) if before in self._ids else min(default, combo.count() - 1))
        return combo

    def _chosen(self) -> list[str]:
        return [self._ids[box.currentIndex()] for box in self.seats]

    @Slot()
    def _check(self) -> None:
        too_many = self._chosen().count("") > self._people
        self.error.setVisible(too_many)
        self.go.setEnabled(not too_many)

    @Slot()
    def _accept(self) -> None:
        chosen = self._chosen()
        self.accept()
        self._start(chosen, self.seed.value())
