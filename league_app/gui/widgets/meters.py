"""Small time series for the docks: CPU load and memory of the last three minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from league_app.gui import theme
from league_app.gui.widgets.strip import Strip, draw_line, whole_pixels

MAX_SAMPLES = 360  # samples: three minutes at two a second
PLOT_HEIGHT = 44  # pixels
TEXT_HEIGHT = 18


class TimeLine(QWidget):
    """Two values over time: what the whole system uses, and what this program uses of it."""

    def __init__(self, title: str, format: Callable[[float], str]) -> None:
        super().__init__()
        self._title, self._format = title, format
        self._samples: deque[tuple[float, float]] = deque(maxlen=MAX_SAMPLES)
        self._strips = Strip(MAX_SAMPLES), Strip(MAX_SAMPLES, fill=0.25)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(title)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)  # or all widgets behind it are painted each time

    def add(self, system: float, ours: float, whole: float = 100.0) -> None:
        self._samples.append((system, ours))
        for strip, value in zip(self._strips, (system, ours), strict=True):
            strip.add(value / (whole or 1.0))
        self.setAccessibleDescription(f"total {self._format(system)}, Ringside {self._format(ours)}")
        self.update()

    @property
    def samples(self) -> list[tuple[float, float]]:
        """Oldest first."""
        return list(self._samples)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(200, TEXT_HEIGHT + PLOT_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("surface"))  # as the card that it is on
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_texts(painter)
        plot = QRectF(0.5, TEXT_HEIGHT + 0.5, self.width() - 1, PLOT_HEIGHT - 1)
        shape = QPainterPath()
        shape.addRoundedRect(plot, 4, 4)
        painter.fillPath(shape, theme.colour("raised"))
        painter.setClipPath(shape)
        for share in (0.25, 0.5, 0.75):
            painter.setPen(theme.colour("text", 0.10))
            y = round(plot.bottom() - plot.height() * share) + 0.5
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
        for strip, role in zip(self._strips, ("muted", "accent"), strict=True):
            strip.draw(painter, whole_pixels(plot), theme.colour(role), self.devicePixelRatioF())
        painter.setClipping(False)
        painter.setPen(theme.colour("hairline"))
        painter.drawPath(shape)

    def _draw_texts(self, painter: QPainter) -> None:
        """Draws the title and both values, each after a dash in the colour of its line."""
        painter.setFont(theme.font("caption"))
        metrics = QFontMetrics(painter.font())
        painter.setPen(theme.colour("text"))
        painter.drawText(QRectF(0, 0, self.width(), TEXT_HEIGHT - 2), int(Qt.AlignmentFlag.AlignVCenter), self._title)
        system, ours = self._samples[-1] if self._samples else (0.0, 0.0)
        x = float(self.width())
        for text, role in ((f"Ringside {self._format(ours)}", "accent"), (f"total {self._format(system)}", "muted")):
            x -= metrics.horizontalAdvance(text)
            painter.setPen(theme.colour("muted"))
            painter.drawText(QRectF(x, 0, self.width(), TEXT_HEIGHT - 2), int(Qt.AlignmentFlag.AlignVCenter), text)
            painter.setPen(QPen(theme.colour(role), 2))
            painter.drawLine(QPointF(x - 12, TEXT_HEIGHT / 2 - 1), QPointF(x - 4, TEXT_HEIGHT / 2 - 1))
            x -= 22


def draw_area(
    painter: QPainter,
    plot: QRectF,
    shares: Sequence[float],
    colour: QColor,
    fill: float,
    count: int,
) -> None:
    """Draws a filled line with the newest value at the right. Shares are from 0 to 1; `count` of them fill the plot."""
    step = plot.width() / (count - 1)
    right, bottom, height = plot.right(), plot.bottom(), plot.height() - 2
    points = [
        QPointF(right - (len(shares) - 1 - index) * step, bottom - min(max(share, 0.0), 1.0) * height)
        for index, share in enumerate(shares)
    ]
    draw_line(painter, points, bottom, colour, fill)


class Cores(QWidget):
    """A small time series for each core, as many in a row as fit."""

    MIN_WIDTH, HEIGHT, GAP = 58, 30, 4

    def __init__(self) -> None:
        super().__init__()
        self._loads: tuple[float, ...] = ()  # the latest
        self._strips: list[Strip] = []
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("CPU by core")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def add(self, cores: Sequence[float]) -> None:
        first = len(self._loads) != len(cores)
        if first:
            self._strips = [Strip(MAX_SAMPLES) for _ in cores]
        self._loads = tuple(cores)
        for strip, load in zip(self._strips, cores, strict=True):
            strip.add(load / 100.0)
        self.setAccessibleDescription(", ".join(f"{load:.0f} %" for load in cores))
        if first:
            self.updateGeometry()
        self.update()

    @property
    def _count(self) -> int:
        return len(self._loads) or 1

    def _columns(self, width: int) -> int:
        most = max((width + self.GAP) // (self.MIN_WIDTH + self.GAP), 1)
        return min(self._count, most)

    def heightForWidth(self, width: int) -> int:  # noqa: N802
        rows = -(-self._count // self._columns(width))
        return rows * (self.HEIGHT + self.GAP) - self.GAP

    def sizeHint(self) -> QSize:  # noqa: N802
        width = self.width() or 250
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return QSize(self.MIN_WIDTH, self.heightForWidth(self.width() or 250))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("surface"))
        if not self._loads:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(theme.font("caption"))
        columns = self._columns(self.width())
        width = (self.width() - (columns - 1) * self.GAP) / columns
        for core in range(self._count):
            left, top = (core % columns) * (width + self.GAP), (core // columns) * (self.HEIGHT + self.GAP)
            self._draw_core(painter, QRectF(left + 0.5, top + 0.5, width - 1, self.HEIGHT - 1), core)

    def _draw_core(self, painter: QPainter, cell: QRectF, core: int) -> None:
        shape = QPainterPath()
        shape.addRoundedRect(cell, 4, 4)
        painter.save()
        painter.fillPath(shape, theme.colour("raised"))
        painter.setClipPath(shape)
        self._strips[core].draw(painter, whole_pixels(cell), theme.colour("muted", 0.4), self.devicePixelRatioF())
        painter.restore()
        painter.setPen(theme.colour("hairline"))
        painter.drawPath(shape)
        painter.setPen(theme.colour("text"))
        text_rect = cell.adjusted(6, 0, -6, 0)
        painter.drawText(text_rect, int(Qt.AlignmentFlag.AlignVCenter), f"{core + 1}")
        right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(text_rect, int(right), f"{self._loads[core]:.0f} %")
