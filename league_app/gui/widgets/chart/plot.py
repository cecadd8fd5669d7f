"""The part of a chart that pyqtgraph draws. Nothing imports this before a chart has something to show: it takes half a
second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetrics,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QGraphicsPathItem, QGraphicsView, QWidget

from league_app.gui import theme
from league_app.gui.widgets.chart.series import Axis, Drawn, Floats, Reference, alone, band, bounds, number, place
from league_app.gui.widgets.chart.axis import Scale

LABELS = 96  # pixels at most for the names at the ends
CROWDED = 2000  # points
ROW = 14  # of a name at the end of a line
LISTED = 12  # lines whose values are told under the cursor


@dataclass
class _Items:
    """What one line is made of."""

    raw: Any
    smooth: Any
    dots: Any
    band: QGraphicsPathItem


class Plot(pg.PlotWidget):  # type: ignore[misc] # pyqtgraph has no types
    """Lines with names at their ends, a crosshair, reference lines; it repaints as a whole, which is cheap."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.left, self.bottom = Scale("left"), Scale("bottom")
        self._lines: list[Drawn] = []
        self._items: list[_Items] = []
        self._references: list[Reference] = []
        self._cursor: float | None = None  # on the x axis
        self._zoomed = False
        self.unnamed = ""  # what a line without a name is called under the cursor
        self._fixed: tuple[float, float] | None = None
        super().__init__(parent, axisItems={"left": self.left, "bottom": self.bottom}, enableMenu=False)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(self.Shape.NoFrame)
        self.box = self.getPlotItem().getViewBox()
        self.box.setMouseMode(pg.ViewBox.RectMode)
        self.box.disableAutoRange()
        self.box.setDefaultPadding(0)
        self.box.sigRangeChangedManually.connect(self._note_zoom)
        self.hideButtons()
        self.dress()

    # Showing

    def show_lines(
        self, lines: Sequence[Drawn], references: Sequence[Reference], fixed: tuple[float, float] | None
    ) -> None:
        """`fixed` is the range of values, where that is known."""
        self._lines, self._references, self._fixed = list(lines), list(references), fixed
        while len(self._items) < len(lines):
            self._items.append(self._new_items())
        for place_of, items in enumerate(self._items):
            self._show(items, self._lines[place_of] if place_of < len(lines) else None)
        self._make_room()
        if not self._zoomed:
            self.reset()
        self.viewport().update()

    def _new_items(self) -> _Items:
        quick = {"clipToView": True, "autoDownsample": True, "downsampleMethod": "peak", "connect": "finite"}
        raw, smooth = pg.PlotDataItem(**quick), pg.PlotDataItem(**quick)
        dots, ground = pg.ScatterPlotItem(size=6, pxMode=True), QGraphicsPathItem()
        ground.setPen(QPen(Qt.PenStyle.NoPen))
        ground.setZValue(-10)
        for one in (ground, raw, smooth, dots):
            self.box.addItem(one, ignoreBounds=True)
        return _Items(raw, smooth, dots, ground)

    def _show(self, items: _Items, one: Drawn | None) -> None:
        if one is None:
            for item in (items.raw, items.smooth, items.dots):
                item.setData([], [])
            items.band.setPath(QPainterPath())
            return
        colour, dash = pen_of(one.line.colour)
        pale = QColor(colour)
        pale.setAlphaF(0.3)
        for curve in (items.raw.curve, items.smooth.curve):
            # or a pen of 2 pixels costs fifty milliseconds; dashes would begin anew at every point
            curve.setSegmentedLineMode("on" if dash == Qt.PenStyle.SolidLine else "off")
        thin, thick = pg.mkPen(pale, width=1), pg.mkPen(colour, width=2, style=dash)
        items.raw.setPen(thin if one.smooth is not None else thick)
        fine = len(one.x) <= CROWDED  # edges of a crowd of lines are not seen, and cost as much again
        items.raw.setData(one.x, one.y, antialias=fine)
        items.smooth.setPen(thick)
        items.smooth.setData(*((one.x, one.smooth) if one.smooth is not None else ([], [])), antialias=True)
        single = alone(one.y)
        items.dots.setData(one.x[single], one.y[single], brush=pg.mkBrush(colour), pen=None)
        ground = QColor(colour)
        ground.setAlphaF(0.15)
        items.band.setBrush(ground)
        items.band.setPath(_path(one))

    def dress(self) -> None:
        """In the colours of now."""
        self.setBackground(theme.colour("surface"))
        for axis in (self.left, self.bottom):
            axis.setPen(QPen(Qt.PenStyle.NoPen))
            axis.setTickPen(pg.mkPen(theme.colour("muted")))
            axis.setTextPen(pg.mkPen(theme.colour("muted")))
            axis.setTickFont(theme.font("caption"))
        for items, one in zip(self._items, self._lines, strict=False):
            self._show(items, one)

    def set_kinds(self, axis: Axis, percent: bool, log: bool) -> None:
        if (self.bottom.kind, self.left.log) != (axis, log):
            self._zoomed, self._cursor = False, None
        self.bottom.kind, self.left.percent, self.left.log = axis, percent, log
        for one in (self.left, self.bottom):
            one.picture = None
            one.update()

    def set_titles(self, x: str, y: str) -> None:
        style = {"font-size": "11px", "color": f"#{theme.current().muted}"}
        for axis, text in ((self.bottom, x), (self.left, y)):
            axis.setLabel(text or None, **style)
            axis.showLabel(bool(text))

    # Looking closer

    def reset(self) -> None:
        """All of it."""
        self._zoomed = False
        log = self.left.log
        extra = [math.log10(one.value) if log else one.value for one in self._references if not log or one.value > 0]
        found = bounds(self._lines, extra)
        if found is None:
            return
        left, right, low, high = found
        if right <= left:
            left, right = left - 0.5, right + 0.5
        if self._fixed is not None and not log:
            low, high = self._fixed
            margin = (high - low) * 0.03
        else:
            margin = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
        self.box.setRange(xRange=(left, right), yRange=(low - margin, high + margin), padding=0)

    @property
    def zoomed(self) -> bool:
        return self._zoomed

    def _note_zoom(self, *_: object) -> None:
        self._zoomed = True
        self.viewport().update()

    def zoom(self, factor: float) -> None:
        self._zoomed = True
        self.box.scaleBy((factor, factor))

    # The crosshair

    @property
    def cursor_at(self) -> float | None:
        """The place on the x axis whose values are told."""
        return self._cursor

    def point(self, x: float | None) -> None:
        """Tell the values at the place nearest to this; None for none."""
        places = self._places()
        self._cursor = float(places[np.abs(places - x).argmin()]) if x is not None and len(places) else None
        self.viewport().update()

    def step_cursor(self, by: int) -> None:
        places = self._places()
        if len(places):
            at = len(places) - 1 if self._cursor is None else int(np.searchsorted(places, self._cursor)) + by
            self.point(float(places[min(max(at, 0), len(places) - 1)]))

    def _places(self) -> Floats:
        parts = [one.x[np.isfinite(one.y)] for one in self._lines]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0)

    def read(self) -> tuple[str, list[tuple[Drawn, int]]]:
        """Where the cursor is, and which point of each line is nearest to that."""
        if self._cursor is None:
            return "", []
        found = []
        for one in self._lines:
            there = np.flatnonzero(np.isfinite(one.y))
            if len(there):
                found.append((one, int(there[np.abs(one.x[there] - self._cursor).argmin()])))
        return place(self._cursor, self.bottom.kind), found

    def told(self, value: float) -> str:
        return f"{number(value * 100, 3)} %" if self.left.percent else number(value)

    # What Qt asks

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        super().mouseMoveEvent(event)
        at = self.mapToScene(event.position().toPoint())
        inside = self.box.sceneBoundingRect().contains(at)
        self.point(self.box.mapSceneToView(at).x() if inside else None)

    def leaveEvent(self, event: Any) -> None:  # noqa: N802
        super().leaveEvent(event)
        self.point(None)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        self.reset()
        self.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
        else:
            event.ignore()  # the page scrolls

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        if hasattr(self, "box"):  # pyqtgraph resizes while it is made
            self._make_room()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        event.ignore()

    # What is painted over the lines

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:  # noqa: N802
        super().drawForeground(painter, rect)
        area = self.box.sceneBoundingRect()
        if area.width() < 20 or area.height() < 20:
            return
        painter.setFont(theme.font("caption"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_references(painter, area)
        self._draw_names(painter, area)
        if self._cursor is not None:
            self._draw_cursor(painter, area)

    def _at(self, x: float, y: float) -> QPointF:
        return QPointF(self.box.mapViewToScene(QPointF(x, y)))

    def _draw_references(self, painter: QPainter, area: QRectF) -> None:
        metrics = QFontMetrics(painter.font())
        for one in self._references:
            if self.left.log and one.value <= 0:
                continue
            y = self._at(0.0, math.log10(one.value) if self.left.log else one.value).y()
            if not area.top() <= y <= area.bottom():
                continue
            painter.setPen(QPen(theme.colour("muted"), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            text = metrics.elidedText(one.text, Qt.TextElideMode.ElideRight, int(area.width()) - 8)
            base = y - 4 if y - 4 - metrics.ascent() > area.top() else y + 2 + metrics.ascent()
            width = metrics.horizontalAdvance(text)
            ground = QRectF(area.left() + 2, base - metrics.ascent(), width + 4, metrics.height())
            painter.fillRect(ground, theme.colour("surface", 0.75))
            painter.setPen(theme.colour("muted"))
            painter.drawText(QPointF(area.left() + 4, base), text)

    def _make_room(self) -> None:
        """At the right, for the names."""
        metrics = QFontMetrics(theme.font("caption"))
        widest = max((metrics.horizontalAdvance(one.line.name) for one in self._lines), default=0)
        room = min(widest + 14, LABELS, self.width() // 4) if widest and self.width() > 240 else 12
        self.getPlotItem().layout.setContentsMargins(2, 8, room, 2)

    def _draw_names(self, painter: QPainter, area: QRectF) -> None:
        right = self.width() - area.right() - 8
        if right < 24:
            return
        ends = []
        (left_edge, right_edge), _ = self.box.viewRange()
        for one in self._lines:
            curve = one.smooth if one.smooth is not None else one.y
            seen = np.flatnonzero(np.isfinite(curve) & (one.x <= right_edge) & (one.x >= left_edge))
            if len(seen) and one.line.name:
                y = self._at(float(one.x[seen[-1]]), float(curve[seen[-1]])).y()
                ends.append((min(max(y, area.top()), area.bottom()), one))
        metrics = QFontMetrics(painter.font())
        for y, one in spread(ends, area.top(), area.bottom()):
            text = metrics.elidedText(one.line.name, Qt.TextElideMode.ElideRight, int(right))
            painter.setPen(pen_of(one.line.colour)[0])
            painter.drawText(QPointF(area.right() + 6, y + metrics.ascent() / 2 - 1), text)

    def _draw_cursor(self, painter: QPainter, area: QRectF) -> None:
        where, found = self.read()
        x = self._at(self._cursor or 0.0, 0.0).x()
        if not area.left() - 1 <= x <= area.right() + 1:
            return
        painter.setPen(QPen(theme.colour("border"), 1))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        painter.setPen(QPen(theme.colour("surface"), 1.5))
        for one, index in found:
            painter.setBrush(pen_of(one.line.colour)[0])
            at = self._at(float(one.x[index]), float(one.y[index]))
            if area.adjusted(-4, -4, 4, 4).contains(at):
                painter.drawEllipse(at, 4, 4)
        self._draw_box(painter, area, x, where, found)

    def _draw_box(
        self, painter: QPainter, area: QRectF, x: float, where: str, found: Sequence[tuple[Drawn, int]]
    ) -> None:
        """The values, beside the line and never over the edge."""
        metrics = QFontMetrics(painter.font())
        rows = [(one, self._entry(one, index)) for one, index in found[:LISTED]]
        more = f"and {len(found) - LISTED} more" if len(found) > LISTED else ""
        names = [metrics.elidedText(one.line.name or self.unnamed, Qt.TextElideMode.ElideRight, 130) for one, _ in rows]
        left_side = max((metrics.horizontalAdvance(name) for name in names), default=0)
        right_side = max((metrics.horizontalAdvance(text) for _, text in rows), default=0)
        width = max(16 + left_side + 12 + right_side, metrics.horizontalAdvance(where)) + 20
        height = 16 * (len(rows) + 1 + bool(more)) + 12
        left = x + 12 if x + 12 + width <= self.width() else x - 12 - width
        frame = QRectF(max(left, 2.0), min(area.top() + 4, max(self.height() - height - 2.0, 0.0)), width, height)
        painter.setPen(QPen(theme.colour("hairline"), 1))
        painter.setBrush(theme.colour("raised", 0.96))
        painter.drawRoundedRect(frame, 6, 6)
        y = frame.top() + 6
        side = Qt.AlignmentFlag.AlignVCenter
        line = QRectF(frame.left() + 10, y, width - 20, 16)
        painter.setPen(theme.colour("muted"))
        painter.drawText(line, int(side | Qt.AlignmentFlag.AlignLeft), where)
        for (one, text), name in zip(rows, names, strict=True):
            line.translate(0, 16)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(pen_of(one.line.colour)[0])
            painter.drawEllipse(QRectF(line.left(), line.center().y() - 4, 8, 8))
            painter.setPen(theme.colour("text"))
            painter.drawText(line.adjusted(16, 0, 0, 0), int(side | Qt.AlignmentFlag.AlignLeft), name)
            painter.drawText(line, int(side | Qt.AlignmentFlag.AlignRight), text)
        if more:
            line.translate(0, 16)
            painter.setPen(theme.colour("muted"))
            painter.drawText(line, int(side | Qt.AlignmentFlag.AlignLeft), more)

    def _entry(self, one: Drawn, index: int) -> str:
        text = self.told(float(one.value[index]))
        if one.line.low is None or one.line.high is None or one.low is None or one.high is None:
            return text
        low, high = float(one.low[index]), float(one.high[index])
        if self.left.log:
            low, high = 10.0**low, 10.0**high
        return f"{text} ({self.told(low)} to {self.told(high)})" if math.isfinite(low + high) else text


def pen_of(colour: int | str) -> tuple[QColor, Qt.PenStyle]:
    if isinstance(colour, str):
        return theme.colour(colour), Qt.PenStyle.SolidLine
    return theme.series(colour), theme.dashed(colour)


def spread(ends: Sequence[tuple[float, Drawn]], top: float, bottom: float) -> list[tuple[float, Drawn]]:
    """Names that would lie over each other moved apart; those for which there is no room are left out."""
    most = max(int((bottom - top) / ROW) + 1, 1)
    kept = sorted(ends[:most], key=lambda end: end[0])
    places: list[float] = []
    for y, _ in kept:
        places.append(max(y, places[-1] + ROW) if places else y)
    over = places[-1] - bottom if places else 0.0
    for index in range(len(places) - 1, -1, -1):
        limit = bottom if index == len(places) - 1 else places[index + 1] - ROW
        if over > 0:
            places[index] = min(places[index], limit)
    return [(y, one) for y, (_, one) in zip(places, kept, strict=True)]


def _path(one: Drawn) -> QPainterPath:
    path = QPainterPath()
    for x, low, high in band(one):
        path.moveTo(float(x[0]), float(low[0]))
        for at, value in zip(x[1:], low[1:], strict=True):
            path.lineTo(float(at), float(value))
        for at, value in zip(x[::-1], high[::-1], strict=True):
            path.lineTo(float(at), float(value))
        path.closeSubpath()
    return path
