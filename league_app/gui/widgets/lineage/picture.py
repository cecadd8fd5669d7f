"""Draws a lineage: axis, colour scale, lines to parents, dots, and the description of one of them.

A dot is larger, and blue instead of orange, the higher its value is. Dots of one shade are drawn by one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen

from engine.game import Floats
from league_app.gui import theme
from league_app.gui.widgets.lineage.dots import Facts, Layout, Lineage, Mask
from league_app.gui.widgets.matrix import heat_colours, heat_image

LEGEND, CROWN, AXIS = 24, 16, 22  # pixels: height of the legend, of the mark above the best dot, of the axis
MARGIN = 12  # at the sides
SHADES = 12
SMALL = 0.6  # radius of the dot with the lowest value, as a share of that of the highest
ALL_LINES = 1500  # more lines than this are drawn only for a highlighted lineage
FADE = 0.45  # of the other dots, beside a highlighted lineage; small ones fade less
TINY = 3.0  # pixels: a smaller dot has a lighter outline
SCALE_WIDTH = 60
TICK_DISTANCE = 44


@dataclass(frozen=True)
class Highlight:
    """A dot and its ancestors."""

    place: int
    lineage: Mask


def radii(lineage: Lineage, places: Layout) -> Floats:
    """Of all dots, by their value."""
    shares: Floats = SMALL + (1 - SMALL) * np.nan_to_num(lineage.heat, nan=0.0)
    return np.maximum(places.radius * shares, 1.0)


def draw_all(painter: QPainter, lineage: Lineage, places: Layout, area: QRectF) -> None:
    """Draws all dots inside an area, with lines to their parents if these are few enough."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipRect(area)
    _draw_lines(painter, places, lineage.links(most=ALL_LINES), QPen(theme.colour("border", 0.35), 0.8))
    _draw_dots(painter, lineage, places, _inside(places, area))
    painter.setClipping(False)


def draw_highlight(painter: QPainter, lineage: Lineage, places: Layout, area: QRectF, shown: Highlight) -> None:
    """Fades what is drawn, and draws a dot and its ancestors."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipRect(area)
    painter.fillRect(area, theme.colour("surface", FADE if places.radius >= TINY else FADE / 3))
    width = 1.6 if shown.lineage.sum() < ALL_LINES / 3 else 1.0
    _draw_lines(painter, places, lineage.links(shown.lineage), QPen(theme.colour("accent", 0.8), width))
    visible = shown.lineage & _inside(places, area)
    _draw_rings(painter, lineage, places, visible, "accent", 2.2)
    _draw_dots(painter, lineage, places, visible)
    painter.setClipping(False)


def _inside(places: Layout, area: QRectF) -> Mask:
    reach = 2 * places.radius
    visible: Mask = (places.x >= area.left() - reach) & (places.x <= area.right() + reach)
    return visible


def _draw_lines(painter: QPainter, places: Layout, links: np.ndarray, pen: QPen) -> None:
    if len(links):
        ends = np.stack([places.x[links[:, 0]], places.y[links[:, 0]], places.x[links[:, 1]], places.y[links[:, 1]]], 1)
        painter.setPen(pen)
        painter.drawLines([QLineF(*line) for line in ends.tolist()])


def _groups(lineage: Lineage, places: Layout, shown: Mask) -> Iterator[tuple[int, float, list[QPointF]]]:
    """The dots with a value by shade, their radius, and where they are."""
    heat, every = lineage.heat, radii(lineage, places)
    shades = np.rint(np.nan_to_num(heat, nan=-1.0) * (SHADES - 1)).astype(int)
    for shade in range(SHADES):
        found = np.flatnonzero(shown & (shades == shade) & ~np.isnan(heat))
        if len(found):
            yield shade, float(every[found].mean()), _points(places, found)


def _points(places: Layout, found: np.ndarray) -> list[QPointF]:
    return [QPointF(x, y) for x, y in zip(places.x[found].tolist(), places.y[found].tolist(), strict=True)]


def _round(colour: QColor, diameter: float) -> QPen:
    return QPen(colour, diameter, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)


def _draw_dots(painter: QPainter, lineage: Lineage, places: Layout, shown: Mask) -> None:
    """Outlined dots; those of members have a stronger outline. Crosses and rings are dots without a value."""
    tiny = places.radius < TINY
    edge = ("hairline", 0.4) if tiny else ("border", 0.7)
    _draw_rings(painter, lineage, places, shown & ~lineage.members, *edge)
    _draw_rings(painter, lineage, places, shown & lineage.members, "text", 0.8 if tiny else 1.2)
    colours = heat_colours(np.linspace(0, 1, SHADES))
    for shade, radius, points in _groups(lineage, places, shown):
        painter.setPen(_round(QColor(*colours[shade].tolist()), 2 * radius))
        painter.drawPoints(points)
    unknown = shown & np.isnan(lineage.heat)
    size = max(places.radius * SMALL, 1.2)
    painter.setPen(QPen(theme.colour("bad"), 1.4))
    for point in _points(places, np.flatnonzero(unknown & lineage.failed)):
        draw_cross(painter, point, size)
    painter.setPen(QPen(theme.colour("muted"), 1.2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for point in _points(places, np.flatnonzero(unknown & ~lineage.failed)):
        painter.drawEllipse(point, size, size)


def _draw_rings(painter: QPainter, lineage: Lineage, places: Layout, shown: Mask, role: str, width: float) -> None:
    """Larger points under the dots."""
    width = min(width, places.radius / 2)
    for _, radius, points in _groups(lineage, places, shown):
        painter.setPen(_round(theme.colour(role), 2 * (radius + width)))
        painter.drawPoints(points)


def draw_cross(painter: QPainter, at: QPointF, size: float) -> None:
    painter.drawLine(QPointF(at.x() - size, at.y() - size), QPointF(at.x() + size, at.y() + size))
    painter.drawLine(QPointF(at.x() - size, at.y() + size), QPointF(at.x() + size, at.y() - size))


def draw_marks(painter: QPainter, lineage: Lineage, places: Layout, area: QRectF, chosen: int | None) -> None:
    """A crown above the best dot, and a ring around the chosen one."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    every = radii(lineage, places)
    if chosen is not None and area.left() <= places.x[chosen] <= area.right():
        radius = max(float(every[chosen]), 3.0) + 3
        painter.setPen(QPen(theme.colour("text"), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QPointF(places.x[chosen], places.y[chosen]), radius, radius)
    best = lineage.best
    if best is not None and area.left() <= places.x[best] <= area.right():
        ratio = painter.device().devicePixelRatio()
        above = 8 if best == chosen else 5
        crown = theme.pixmap("crown", 14, "text", ratio)
        painter.drawPixmap(QPointF(places.x[best] - 7, places.y[best] - every[best] - above - 12), crown)


# Around the dots


def draw_axis(painter: QPainter, labels: Sequence[int], area: QRectF, left: float, column: float) -> None:
    """The numbers of the columns, as many as fit; `left` is where the first column begins."""
    painter.setFont(theme.font("caption"))
    painter.setPen(theme.colour("muted"))
    metrics = QFontMetrics(painter.font())
    widest = max((metrics.horizontalAdvance(f"{label:,}") for label in labels[-1:]), default=0)
    step = _step(max(TICK_DISTANCE, widest + 12) / column if column > 0 else 1.0) if len(labels) > 1 else 1
    for place in range(0, len(labels), step):
        x, text = left + (place + 0.5) * column, f"{labels[place]:,}"
        half = metrics.horizontalAdvance(text) / 2
        if area.left() <= x - half and x + half <= area.right():
            painter.drawText(QPointF(x - half, area.bottom() + 15), text)


def _step(least: float) -> int:
    """The next of 1, 2, 5, 10, 20, 50 and so on."""
    size = 1
    while True:
        for factor in (1, 2, 5):
            if size * factor >= least:
                return size * factor
        size *= 10


def draw_legend(painter: QPainter, lineage: Lineage, width: float, member: str) -> None:
    """The colour scale with its ends, and the marks that are in the picture, as far as there is room."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(theme.font("caption"))
    metrics, x, middle = QFontMetrics(painter.font()), float(MARGIN), LEGEND / 2
    base = middle + metrics.ascent() / 2 - 1
    painter.setPen(theme.colour("muted"))
    if lineage.scale is not None:
        for text in (lineage.scale[0], "", lineage.scale[1]):
            if text:
                painter.drawText(QPointF(x, base), text)
                x += metrics.horizontalAdvance(text) + 6
            else:
                image = heat_image(np.linspace(0, 1, SCALE_WIDTH)[None, :])
                painter.drawImage(QRectF(x, middle - 5, SCALE_WIDTH, 10), image)
                x += SCALE_WIDTH + 6
    for present, mark, text in (
        (lineage.best is not None, "best", "best"),
        (bool(lineage.members.any()), "member", member),
        (True, "kin", "ancestors"),
        (bool(lineage.failed.any()), "failed", "failed"),
    ):
        if not present:
            continue
        x += 10
        if x + 18 + metrics.horizontalAdvance(text) > width - MARGIN:
            return
        _draw_sample(painter, QPointF(x + 7, middle), mark)
        painter.setPen(theme.colour("muted"))
        painter.drawText(QPointF(x + 17, base), text)
        x += 17 + metrics.horizontalAdvance(text)


def _draw_sample(painter: QPainter, at: QPointF, mark: str) -> None:
    if mark == "best":
        crown = theme.pixmap("crown", 14, "text", painter.device().devicePixelRatio())
        painter.drawPixmap(QPointF(at.x() - 7, at.y() - 7), crown)
    elif mark == "failed":
        painter.setPen(QPen(theme.colour("bad"), 1.4))
        draw_cross(painter, at, 3.5)
    elif mark == "kin":
        painter.setPen(QPen(theme.colour("accent", 0.8), 1.6))
        painter.drawLine(QPointF(at.x() - 7, at.y() + 3), QPointF(at.x() + 6, at.y() - 3))
    else:
        painter.setPen(QPen(theme.colour("text"), 1.2))
        painter.setBrush(theme.colour("surface"))
        painter.drawEllipse(at, 4.5, 4.5)


def draw_facts(painter: QPainter, at: QPointF, area: QRectF, title: str, facts: Facts) -> None:
    """A box with names and values beside a point, inside an area."""
    painter.setFont(theme.font("caption"))
    metrics = QFontMetrics(painter.font())
    end = Qt.TextElideMode.ElideRight
    texts = [
        (metrics.elidedText(name, end, 120), metrics.elidedText(value, end, 180)) for name, value in facts if value
    ]
    inner = max((metrics.horizontalAdvance(name + value) + 16 for name, value in texts), default=0)
    width = max(inner, metrics.horizontalAdvance(title)) + 20
    frame = QRectF(0, 0, width, 16 * (len(texts) + 1) + 12)
    x = at.x() + 14 if at.x() + 14 + width <= area.right() else at.x() - 14 - width
    y = min(at.y() + 14, area.bottom() - frame.height() - 2)
    frame.moveTo(max(x, area.left() + 2), max(y, area.top() + 2))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour("hairline"), 1))
    painter.setBrush(theme.colour("raised", 0.97))
    painter.drawRoundedRect(frame, 6, 6)
    line = QRectF(frame.left() + 10, frame.top() + 6, width - 20, 16)
    middle = Qt.AlignmentFlag.AlignVCenter
    painter.setPen(theme.colour("text"))
    painter.drawText(line, int(middle | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute), title)
    for name, value in texts:
        line.translate(0, 16)
        painter.setPen(theme.colour("muted"))
        painter.drawText(line, int(middle | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute), name)
        painter.setPen(theme.colour("text"))
        painter.drawText(line, int(middle | Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute), value)
