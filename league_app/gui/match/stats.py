"""The players' statistics side by side: numbers, and bars to compare them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.scene import is_hollow
from league_app.gui import theme
from league_app.gui.match.info import readable

LINE, BAR, GAP = 18, 4, 10
NUMBER, VALUE = 18, 60  # pixels for a seat's number and for its value
ONE_COLUMN = 5  # most seats in one column


def format_value(value: float) -> str:
    """Format with at most two decimal places, fewer for larger values."""
    whole = value == int(value) or abs(value) >= 1000
    text = f"{value:,.0f}" if whole else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return text.replace("-", "\u2212")


class StatsComparison(QWidget):
    """Shows values by seat and name, as returned by `Playback.stats`."""

    def __init__(self) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()
        self._values: tuple[tuple[float, ...], ...] = ()
        self._coloured = True
        self.setAccessibleName("Statistics")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def values(self) -> tuple[tuple[float, ...], ...]:
        return self._values

    def set_values(self, names: Sequence[str], values: Sequence[Sequence[float]]) -> None:
        shown = tuple(map(readable, names)), tuple(map(tuple, values))
        if shown == (self._names, self._values):
            return
        resized = (len(shown[0]), len(shown[1])) != (len(self._names), len(self._values))
        self._names, self._values = shown
        between = " to " if len(values) == 2 else ", "
        lines = [f"{name}: {between.join(self._column(place))}" for place, name in enumerate(self._names)]
        self.setAccessibleDescription("; ".join(lines))
        if resized:
            self.updateGeometry()
        self.update()

    def set_coloured(self, on: bool) -> None:
        """Set whether the bars have the colours of the seats."""
        if on != self._coloured:
            self._coloured = on
            self.update()

    def _shade(self, seat: int) -> QColor:
        return theme.seat(seat) if self._coloured else theme.colour("muted")

    def _column(self, place: int) -> list[str]:
        return [format_value(seat[place]) for seat in self._values]

    def _block(self) -> int:
        """Return the height of one statistic in pixels."""
        return LINE + BAR + GAP if len(self._values) == 2 else LINE * (1 + self._lines()) + GAP

    def _lines(self) -> int:
        """Return the lines of one statistic; many seats take two columns."""
        return len(self._values) if len(self._values) <= ONE_COLUMN else math.ceil(len(self._values) / 2)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(180, self._block() * len(self._names))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return QSize(150, self._block() * len(self._names))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for place, name in enumerate(self._names):
            area = QRectF(0, place * self._block(), self.width(), self._block())
            if len(self._values) == 2:
                self._paint_two(painter, area, name, place)
            else:
                self._paint_many(painter, area, name, place)

    def _paint_two(self, painter: QPainter, area: QRectF, name: str, place: int) -> None:
        text = QRectF(area.left(), area.top(), area.width(), LINE)
        first, second = (seat[place] for seat in self._values)
        painter.setFont(theme.font("body"))
        painter.setPen(theme.colour("text"))
        painter.drawText(text, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, format_value(first))
        painter.drawText(text, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, format_value(second))
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.colour("muted"))
        painter.drawText(text, Qt.AlignmentFlag.AlignCenter, name)
        painter.setPen(Qt.PenStyle.NoPen)
        total, top = abs(first) + abs(second), area.top() + LINE + 1
        if not total:
            painter.setBrush(theme.colour("hairline"))
            painter.drawRoundedRect(QRectF(area.left(), top, area.width(), BAR), 2, 2)
            return
        split = (area.width() - 2) * abs(first) / total
        painter.setBrush(self._shade(0))
        painter.drawRoundedRect(QRectF(area.left(), top, split, BAR), 2, 2)
        painter.setBrush(self._shade(1))
        painter.drawRoundedRect(QRectF(area.left() + split + 2, top, area.width() - 2 - split, BAR), 2, 2)

    def _paint_many(self, painter: QPainter, area: QRectF, name: str, place: int) -> None:
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.colour("muted"))
        painter.drawText(QRectF(area.left(), area.top(), area.width(), LINE), Qt.AlignmentFlag.AlignVCenter, name)
        most = max((abs(seat[place]) for seat in self._values), default=0.0) or 1.0
        painter.setFont(theme.font("body"))
        columns = 1 if self._lines() == len(self._values) else 2
        wide = (area.width() - GAP * (columns - 1)) / columns
        number, value = NUMBER, VALUE // columns
        for seat, values in enumerate(self._values):
            across, down = divmod(seat, self._lines())
            line = QRectF(area.left() + across * (wide + GAP), area.top() + LINE * (down + 1), wide, LINE)
            painter.setPen(theme.colour("muted"))
            painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, f"{seat + 1}")
            painter.setPen(theme.colour("text"))
            right = QRectF(line.left() + number, line.top(), value, LINE)
            painter.drawText(
                right, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, format_value(values[place])
            )
            room = max(line.width() - number - value - 8, 0.0) * abs(values[place]) / most
            bar = QRectF(right.right() + 8, line.center().y() - 2, room, BAR)
            hollow = is_hollow(seat) and room > BAR
            painter.setPen(self._shade(seat) if hollow else Qt.PenStyle.NoPen)
            painter.setBrush(Qt.BrushStyle.NoBrush if hollow else self._shade(seat))
            painter.drawRoundedRect(bar.adjusted(0.5, 0.5, -0.5, -0.5) if hollow else bar, 2, 2)
