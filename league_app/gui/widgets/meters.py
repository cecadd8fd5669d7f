"""Lines of time for the panels: load and memory over the last minutes, painted small, with their numbers beside."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from league_app.gui import theme

KEPT = 360  # samples: three minutes at two a second
PLOT = 44  # pixels
LINE = 18  # of a line of words


class TimeLine(QWidget):
    """Two shares of the same whole: what the system uses as an area, what is ours of it as a line."""

    def __init__(self, title: str, tell: Callable[[float], str]) -> None:
        super().__init__()
        self._title, self._tell = title, tell
        self._past: deque[tuple[float, float]] = deque(maxlen=KEPT)
        self._whole = 100.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(title)

    def add(self, system: float, ours: float, whole: float = 100.0) -> None:
        self._whole = whole or 1.0
        self._past.append((system, ours))
        self.setAccessibleDescription(f"system {self._tell(system)}, ours {self._tell(ours)}")
        self.update()

    @property
    def past(self) -> list[tuple[float, float]]:
        """Oldest first."""
        return list(self._past)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(200, LINE + PLOT)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._words(painter)
        plot = QRectF(0.5, LINE + 0.5, self.width() - 1, PLOT - 1)
        shape = QPainterPath()
        shape.addRoundedRect(plot, 4, 4)
        painter.fillPath(shape, theme.colour("raised"))
        painter.setClipPath(shape)
        for share in (0.25, 0.5, 0.75):
            painter.setPen(theme.colour("text", 0.10))
            y = round(plot.bottom() - plot.height() * share) + 0.5
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
        if self._past:
            area(painter, plot, [one / self._whole for one, _ in self._past], theme.colour("muted"))
            area(painter, plot, [one / self._whole for _, one in self._past], theme.colour("accent"), fill=0.25)
        painter.setClipping(False)
        painter.setPen(theme.colour("hairline"))
        painter.drawPath(shape)

    def _words(self, painter: QPainter) -> None:
        """The title, then both numbers, each after a dash in the colour of its line."""
        painter.setFont(theme.font("caption"))
        metrics = QFontMetrics(painter.font())
        painter.setPen(theme.colour("text"))
        painter.drawText(QRectF(0, 0, self.width(), LINE - 2), int(Qt.AlignmentFlag.AlignVCenter), self._title)
        system, ours = self._past[-1] if self._past else (0.0, 0.0)
        x = float(self.width())
        for words, role in ((f"ours {self._tell(ours)}", "accent"), (f"system {self._tell(system)}", "muted")):
            x -= metrics.horizontalAdvance(words)
            painter.setPen(theme.colour("muted"))
            painter.drawText(QRectF(x, 0, self.width(), LINE - 2), int(Qt.AlignmentFlag.AlignVCenter), words)
            painter.setPen(QPen(theme.colour(role), 2))
            painter.drawLine(QPointF(x - 14, LINE / 2 - 1), QPointF(x - 5, LINE / 2 - 1))
            x -= 26


def area(
    painter: QPainter, plot: QRectF, shares: Sequence[float], colour: QColor, fill: float = 0.12, kept: int = KEPT
) -> None:
    """A line with what is below it, the newest at the right; shares go from 0 to 1. `kept` of them fill the plot."""
    step = plot.width() / (kept - 1)
    right, bottom, height = plot.right(), plot.bottom(), plot.height() - 2
    points = [
        QPointF(right - (len(shares) - 1 - place) * step, bottom - min(max(share, 0.0), 1.0) * height)
        for place, share in enumerate(shares)
    ]
    ground = QColor(colour)
    ground.setAlphaF(fill)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ground)
    painter.drawPolygon(QPolygonF([QPointF(points[0].x(), bottom), *points, QPointF(right, bottom)]))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(colour, 1.2))
    painter.drawPolyline(QPolygonF(points))


class Cores(QWidget):
    """Every core by itself: a small line of time with its number; as many in a row as there is room for."""

    LEAST, HEIGHT, GAP = 58, 30, 4

    def __init__(self) -> None:
        super().__init__()
        self._past: deque[tuple[float, ...]] = deque(maxlen=KEPT)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("CPU by core")

    def add(self, cores: Sequence[float]) -> None:
        if self._past and len(self._past[-1]) != len(cores):
            self._past.clear()
        fresh = not self._past
        self._past.append(tuple(cores))
        self.setAccessibleDescription(", ".join(f"{one:.0f} %" for one in cores))
        if fresh:
            self.updateGeometry()
        self.update()

    @property
    def _count(self) -> int:
        return len(self._past[-1]) if self._past else 1

    def _columns(self, width: int) -> int:
        most = max((width + self.GAP) // (self.LEAST + self.GAP), 1)
        return min(self._count, most)

    def heightForWidth(self, width: int) -> int:  # noqa: N802
        rows = -(-self._count // self._columns(width))
        return rows * (self.HEIGHT + self.GAP) - self.GAP

    def sizeHint(self) -> QSize:  # noqa: N802
        width = self.width() or 250
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return QSize(self.LEAST, self.heightForWidth(self.width() or 250))

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        if not self._past:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(theme.font("caption"))
        columns = self._columns(self.width())
        width = (self.width() - (columns - 1) * self.GAP) / columns
        for core in range(self._count):
            left, top = (core % columns) * (width + self.GAP), (core // columns) * (self.HEIGHT + self.GAP)
            self._cell(painter, QRectF(left + 0.5, top + 0.5, width - 1, self.HEIGHT - 1), core)

    def _cell(self, painter: QPainter, cell: QRectF, core: int) -> None:
        shape = QPainterPath()
        shape.addRoundedRect(cell, 4, 4)
        painter.save()
        painter.fillPath(shape, theme.colour("raised"))
        painter.setClipPath(shape)
        area(painter, cell, [one[core] / 100.0 for one in self._past], theme.colour("muted", 0.4))
        painter.restore()
        painter.setPen(theme.colour("hairline"))
        painter.drawPath(shape)
        painter.setPen(theme.colour("text"))
        words = cell.adjusted(6, 0, -6, 0)
        painter.drawText(words, int(Qt.AlignmentFlag.AlignVCenter), f"{core + 1}")
        right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(words, int(right), f"{self._past[-1][core]:.0f} %")
