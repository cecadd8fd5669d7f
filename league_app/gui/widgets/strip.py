"""Strip: the picture of a series that grows at the right, of which only the new part is drawn.

The panels of the docks show a dozen such series and get a sample of each twice a second, also while nothing runs.
Drawing 360 points takes 2.5 ms, most of it antialiasing, and adding one takes 0.05 ms.
"""

from __future__ import annotations

import math
from collections import deque

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap, QPolygonF

LINE = 1.2  # width in pixels
MARGIN = 4  # pixels left of a new point that are drawn again, because its line changes them


class Strip:
    """Shares from 0 to 1, as a filled line with the newest at the right; `count` of them fill the width."""

    def __init__(self, count: int, fill: float = 0.12) -> None:
        self._count, self._fill = count, fill
        self._shares: deque[float] = deque(maxlen=count)
        self._added = self._drawn = 0  # how many shares were added, and how many of them are in the picture
        self._picture, self._key = QPixmap(), tuple[object, ...]()
        self.redrawn = 0  # how often the whole picture was drawn

    def add(self, share: float) -> None:
        self._shares.append(min(max(share, 0.0), 1.0))
        self._added += 1

    def draw(self, painter: QPainter, rect: QRect, colour: QColor, ratio: float) -> None:
        """Draws it in whole pixels of a screen with this pixel ratio."""
        if not self._shares:
            return
        key = rect.size().toTuple(), colour.rgba(), ratio
        if key != self._key or self._added - self._drawn > self._count // 4:
            self._key = key
            self._picture = QPixmap(math.ceil(rect.width() * ratio), math.ceil(rect.height() * ratio))
            self._picture.fill(Qt.GlobalColor.transparent)
            self._paint(QRect(0, 0, self._picture.width(), self._picture.height()), colour, ratio)
            self.redrawn += 1
        elif self._added > self._drawn:
            shift = self._origin(self._added) - self._origin(self._drawn)
            self._picture.setDevicePixelRatio(1.0)
            self._picture.scroll(-shift, 0, self._picture.rect())
            new = min(shift + math.ceil(MARGIN * ratio), self._picture.width())
            self._paint(QRect(self._picture.width() - new, 0, new, self._picture.height()), colour, ratio)
        self._drawn = self._added
        self._picture.setDevicePixelRatio(ratio)
        painter.drawPixmap(rect.topLeft(), self._picture)

    @property
    def _step(self) -> float:
        return self._picture.width() / (self._count - 1)

    def _origin(self, added: int) -> int:
        """The left edge, in pixels from the first share that was ever added, if the last of `added` is at the right."""
        return math.floor((added - 1) * self._step) - self._picture.width() + 1

    def _paint(self, part: QRect, colour: QColor, ratio: float) -> None:
        """Draws this part of the picture."""
        origin, step, first = self._origin(self._added), self._step, self._added - len(self._shares)
        bottom, height = self._picture.height() - 0.5 * ratio, self._picture.height() - 3 * ratio
        from_left = math.floor((origin + part.left() - MARGIN * ratio) / step) - first
        shares = list(self._shares)[max(from_left, 0) :]
        left = (self._added - len(shares)) * step - origin
        points = [QPointF(left + place * step, bottom - share * height) for place, share in enumerate(shares)]
        painter = QPainter(self._picture)
        painter.setClipRect(part)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Source)
        painter.fillRect(part, Qt.GlobalColor.transparent)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_line(painter, points, bottom, colour, self._fill, LINE * ratio)
        painter.end()


def draw_line(
    painter: QPainter, points: list[QPointF], bottom: float, colour: QColor, fill: float, width: float = LINE
) -> None:
    """Draws a line, and fills the area below it."""
    fill_colour = QColor(colour)
    fill_colour.setAlphaF(fill)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(fill_colour)
    painter.drawPolygon(QPolygonF([QPointF(points[0].x(), bottom), *points, QPointF(points[-1].x(), bottom)]))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(colour, width))
    painter.drawPolyline(QPolygonF(points))


def whole_pixels(rect: QRectF) -> QRect:
    """The pixels of an outline that is drawn through their centres."""
    return QRect(math.floor(rect.left()), math.floor(rect.top()), math.ceil(rect.width()), math.ceil(rect.height()))
