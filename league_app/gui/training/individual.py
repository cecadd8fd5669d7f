"""The card of one individual of a population: the drawing of what it is, its values, and why it failed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from agents.training.population import Individual
from league_app.core.formatting import shorten
from league_app.core.population import NUMBER, STATUS, PopulationColumn
from league_app.gui.training.thumbnail import Thumbnail
from league_app.gui.widgets.basics import (
    Card,
    ElidedLabel,
    Icon,
    breakable,
    clear,
    column,
    label,
    row,
    scroll_area,
    tooltip_html,
)
from league_app.gui.widgets.table.delegates import NOTHING

PICTURE = 132  # pixels: height of the drawing
LINE, SPACING, MOST, FRAME = 20, 4, 300, 72  # pixels: heights of a value, below it, of all shown ones, of the rest
LONGEST, WIDTH = 400, 22  # characters of a value, and of one line of it
WIDE = 420  # pixels: a wider card has the drawing beside the values


class IndividualCard(Card):
    """Shows one individual, in the columns of the table."""

    def __init__(self) -> None:
        super().__init__(margin=12)
        self.body.setSpacing(8)
        self.crown, self.title = Icon("crown", 16, "text"), ElidedLabel("", "section")
        self.picture = Thumbnail(size=QSize(PICTURE, PICTURE))
        self.picture.setMaximumWidth(WIDE)  # as wide as there is room
        self.picture.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.error = label("", tone="bad", wrap=True)
        self.error.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._values = QGridLayout()
        self._values.setContentsMargins(0, 0, 8, 0)
        self._values.setHorizontalSpacing(12)
        self._values.setVerticalSpacing(SPACING)
        self._titles: list[tuple[str, str]] = []
        self.texts: list[QLabel] = []  # of the values
        values = QWidget()
        inside = column(self.error, 1)
        inside.insertLayout(0, self._values)
        values.setLayout(inside)
        self.area = scroll_area(values, "Values of the individual")
        self._parts = QGridLayout()
        self._parts.setSpacing(12)
        self.body.addLayout(row(self.crown, self.title, gap=6))
        self.body.addLayout(self._parts)
        self.body.setStretch(1, 1)
        self._shown: tuple[object, ...] = ()
        self._beside: bool | None = None
        self._arrange(False)

    def show_individual(self, individual: Individual, columns: Sequence[PopulationColumn], best: bool) -> None:
        listed = [column for column in columns if column.name not in (NUMBER, STATUS)]
        rows = [(column.title, column.text(individual), column.about) for column in listed]
        status = next((column.text(individual) for column in columns if column.name == STATUS), "")
        shown = (individual.number, rows, status, best, individual.diagram)
        if shown == self._shown:
            return
        self._shown = shown
        self.crown.setVisible(best)
        self.title.setText(f"Individual {individual.number}")
        self.picture.show_player("", individual.diagram)
        self.picture.setVisible(individual.diagram is not None)
        self.picture.setAccessibleName(f"Drawing of individual {individual.number}")
        self.error.setText(breakable(status) if individual.error else "")
        self.error.setVisible(bool(individual.error))
        self._show_values([*rows, ("Status", "Failed" if individual.error else status, "")])

    def _show_values(self, rows: Sequence[tuple[str, str, str]]) -> None:
        titles = [(title, about) for title, _, about in rows]
        if titles != self._titles:
            self._titles = titles
            clear(self._values)
            self.texts = [_value_label() for _ in rows]
            for index, (title, about) in enumerate(titles):
                name = ElidedLabel(title, "caption")
                name.setToolTip(tooltip_html(about or title))
                name.setFixedHeight(LINE - SPACING)
                self._values.addWidget(name, index, 0, Qt.AlignmentFlag.AlignTop)
                self._values.addWidget(self.texts[index], index, 1)
            self._values.setColumnStretch(0, 2)
            self._values.setColumnStretch(1, 3)
        for shown, (_, text, _) in zip(self.texts, rows, strict=True):
            shown.setText(breakable(shorten(text, LONGEST)) or NOTHING)
            shown.setToolTip(tooltip_html(text) if len(text) > LONGEST else "")

    @property
    def needed_height(self) -> int:
        """Pixels in which the drawing is beside the values, about."""
        lines = sum(1 + len(shown.text()) // WIDTH for shown in self.texts)
        return min(max(PICTURE, lines * LINE), MOST) + FRAME

    def _arrange(self, beside: bool) -> None:
        """The drawing above the values, or beside them."""
        if beside != self._beside:
            self._beside = beside
            for part in (self.picture, self.area):
                self._parts.removeWidget(part)
            self._parts.addWidget(self.picture, 0, 0, Qt.AlignmentFlag.AlignTop)
            self._parts.addWidget(self.area, 0 if beside else 1, 1 if beside else 0)
            for place, stretch in enumerate((4, 5) if beside else (1, 0)):
                self._parts.setColumnStretch(place, stretch)
            for place, stretch in enumerate((1, 0) if beside else (0, 1)):
                self._parts.setRowStretch(place, stretch)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._arrange(event.size().width() >= WIDE)


def _value_label() -> QLabel:
    """Shows a whole value, on several lines if it is long."""
    shown = label("", wrap=True)
    shown.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return shown
