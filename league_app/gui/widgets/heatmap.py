"""Heat map of the likelihood that one agent is stronger than another: blue for the row, orange for the column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from engine.game import Floats
from league_app.gui import theme
from league_app.gui.widgets.matrix import Matrix, MatrixLabel, MatrixModel, heat_image

MIN_CELL, MAX_CELL, MIN_TEXT_CELL = 18, 64, 34


def percent(share: float) -> str:
    """Percent, never 0 or 100, because no number of games makes it certain."""
    return "<1" if share < 0.005 else ">99" if share > 0.995 else f"{share * 100:.0f}"


class SuperiorityModel(MatrixModel):
    def __init__(self) -> None:
        super().__init__()
        self._values: Floats = np.zeros((0, 0))

    def set_values(self, agents: Sequence[MatrixLabel], superiority: Floats) -> None:
        """`who` are the agents that have played, in the order of the table."""
        self._values = superiority
        self.set_agents(agents)

    def text(self, row: int, column: int) -> str:
        return "" if row == column else percent(float(self._values[row, column]))

    def description(self, row: int, column: int) -> str:
        if row == column:
            return ""
        share, first, second = float(self._values[row, column]), self.agents[row].name, self.agents[column].name
        if abs(share - 0.5) < 0.005:
            return f"{first} and {second} are about equally likely to be stronger"
        if share < 0.5:
            first, second, share = second, first, 1 - share
        return f"Likelihood that {first} is stronger than {second}: {percent(share)} %"

    def values(self) -> npt.NDArray[np.float64]:
        return self._values


class Heatmap(Matrix):
    """Squares with their percentage, where they are large enough."""

    def __init__(self) -> None:
        self.cells = SuperiorityModel()
        super().__init__(self.cells, "Superiority")

    def cell_size(self, count: int, room: int) -> tuple[int, int]:
        side = min(max(room // count, MIN_CELL), MAX_CELL)
        self.texts = side >= MIN_TEXT_CELL
        return side, min(side, 44)


class Legend(QWidget):
    """The colour scale."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(20)
        self.setAccessibleName("Blue: the row is stronger. Orange: the column is stronger.")

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(420, 20)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.colour("muted"))
        metrics, x = QFontMetrics(painter.font()), 0
        for part in ("column is stronger  0 %", "", "100 %  row is stronger"):
            width = metrics.horizontalAdvance(part) if part else 120
            rect = QRect(x, 0, width, self.height())
            if part:
                painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter, part)
            else:
                painter.drawImage(rect.adjusted(0, 5, 0, -5), heat_image(np.linspace(0, 1, 120)[None, :]))
            x += width + 8
