"""The part of a chart that pyqtgraph draws. Import it lazily: pyqtgraph takes half a second."""

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
from league_app.gui.widgets.chart.axis import ChartAxis
from league_app.gui.widgets.chart.labels import (
    SAMPLE,
    LineValue,
    draw_reference_label,
    draw_sample,
    draw_values,
    elided_names,
    is_dashed,
    line_style,
)
from league_app.gui.widgets.chart.series import (
    Axis,
    Floats,
    PreparedLine,
    Reference,
    band,
    bounds,
    format_number,
    format_position,
    isolated_points,
    spread_labels,
)

MAX_LABEL_WIDTH = 96  # pixels, for the names at the line ends
ANTIALIAS_LIMIT = 2000  # points
FEW_LINES = 4  # of which raw values are drawn clearly
MAX_LISTED = 12  # lines whose values the crosshair shows


@dataclass
class _Items:
    """The graphics items of one line."""

    raw: Any
    smooth: Any
    dots: Any
    band: QGraphicsPathItem


class Plot(pg.PlotWidget):  # type: ignore[misc] # pyqtgraph has no types
    """Lines with names, a crosshair and reference lines. It always repaints as a whole, which is cheap.

    Names are at the line ends, where the eye follows a line, and not in a pg.LegendItem, which would cover lines.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        self.left, self.bottom = ChartAxis("left"), ChartAxis("bottom")
        self._lines: list[PreparedLine] = []
        self._items: list[_Items] = []
        self._references: list[Reference] = []
        self._reference_lines: list[Any] = []
        self._cursor: float | None = None  # on the x axis
        self._zoomed = False
        self.default_name = ""  # the crosshair's name for a line without one
        self._fixed: tuple[float, float] | None = None
        super().__init__(parent, axisItems={"left": self.left, "bottom": self.bottom}, enableMenu=False)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(self.Shape.NoFrame)
        self.box = self.getPlotItem().getViewBox()
        self.box.setMouseMode(pg.ViewBox.RectMode)
        self.box.disableAutoRange()
        self.box.setDefaultPadding(0)
        self.box.sigRangeChangedManually.connect(self._on_zoomed)
        self.hideButtons()
        self.apply_theme()

    # Content

    def show_lines(
        self, lines: Sequence[PreparedLine], references: Sequence[Reference], fixed: tuple[float, float] | None
    ) -> None:
        """`fixed` is the range of the y axis, if it is known."""
        self._lines, self._references, self._fixed = list(lines), list(references), fixed
        while len(self._items) < len(lines):
            self._items.append(self._new_items())
        for index, items in enumerate(self._items):
            self._show(items, self._lines[index] if index < len(lines) else None)
        self._show_references()
        self._reserve_label_space()
        if not self._zoomed:
            self.reset()
        self.viewport().update()

    def _new_items(self) -> _Items:
        quick = {"clipToView": True, "autoDownsample": True, "downsampleMethod": "peak", "connect": "finite"}
        raw, smooth = pg.PlotDataItem(**quick), pg.PlotDataItem(**quick)
        # A plain path: with pg.FillBetweenItem two lines of 10,000 points and a band took 19.2 instead of 17.0 ms of
        # CPU time (fastest of 30 redraws, median of 5 runs on a busy machine)
        dots, filled = pg.ScatterPlotItem(size=6, pxMode=True), QGraphicsPathItem()
        filled.setPen(QPen(Qt.PenStyle.NoPen))
        filled.setZValue(-10)
        for item in (filled, raw, smooth, dots):
            self.box.addItem(item, ignoreBounds=True)
        return _Items(raw, smooth, dots, filled)

    def _show(self, items: _Items, line: PreparedLine | None) -> None:
        if line is None:
            for item in (items.raw, items.smooth, items.dots):
                item.setData([], [])
            items.band.setPath(QPainterPath())
            return
        colour, dash = line_style(line.line.colour)
        pale = QColor(colour)
        pale.setAlphaF(0.3 if len(self._lines) <= FEW_LINES else 0.12)  # raw values of many lines would hide the others
        for curve in (items.raw.curve, items.smooth.curve):
            # without it a pen of 2 pixels costs 50 ms; but with it dashes would restart at every point
            curve.setSegmentedLineMode("on" if dash == Qt.PenStyle.SolidLine else "off")
        thin, thick = pg.mkPen(pale, width=1), pg.mkPen(colour, width=2, style=dash)
        items.raw.setPen(thin if line.smooth is not None else thick)
        antialias = len(line.x) <= ANTIALIAS_LIMIT  # antialiasing doubles the cost, and is invisible in dense lines
        items.raw.setData(line.x, line.y, antialias=antialias)
        items.smooth.setPen(thick)
        items.smooth.setData(*((line.x, line.smooth) if line.smooth is not None else ([], [])), antialias=True)
        isolated = isolated_points(line.y)
        items.dots.setData(line.x[isolated], line.y[isolated], brush=pg.mkBrush(colour), pen=None)
        fill = QColor(colour)
        fill.setAlphaF(0.15)
        items.band.setBrush(fill)
        items.band.setPath(_band_path(line))

    def _show_references(self) -> None:
        values = [self._reference_position(reference) for reference in self._references]
        while len(self._reference_lines) < len(values):
            line = pg.InfiniteLine(angle=0)
            self.box.addItem(line, ignoreBounds=True)
            self._reference_lines.append(line)
        for index, line in enumerate(self._reference_lines):
            value = values[index] if index < len(values) else None
            line.setVisible(value is not None)
            if value is not None:
                line.setPos(value)
                line.setPen(pg.mkPen(theme.colour("muted"), width=1, style=Qt.PenStyle.DashLine))

    def _reference_position(self, reference: Reference) -> float | None:
        """On the scale of the axis; None if a logarithmic axis cannot show it."""
        if not self.left.log:
            return reference.value
        return math.log10(reference.value) if reference.value > 0 else None

    def apply_theme(self) -> None:
        """Applies the colours of the current theme."""
        self.setBackground(theme.colour("surface"))
        for axis in (self.left, self.bottom):
            axis.setPen(QPen(Qt.PenStyle.NoPen))
            axis.setTickPen(pg.mkPen(theme.colour("muted")))
            axis.setTextPen(pg.mkPen(theme.colour("muted")))
            axis.setTickFont(theme.font("caption"))
        for items, line in zip(self._items, self._lines, strict=False):
            self._show(items, line)
        self._show_references()

    def set_axes(self, axis: Axis, percent: bool, log: bool, unit: str) -> None:
        self._unit = unit
        if (self.bottom.kind, self.left.log) != (axis, log):
            self._zoomed, self._cursor = False, None
        self.bottom.kind, self.left.percent, self.left.log = axis, percent, log
        for side in (self.left, self.bottom):
            side.picture = None
            side.update()

    def set_titles(self, x: str, y: str) -> None:
        style = {"font-size": "11px", "color": f"#{theme.current().muted}"}
        for axis, text in ((self.bottom, x), (self.left, y)):
            axis.setLabel(text or None, **style)
            axis.showLabel(bool(text))

    # Zoom

    def reset(self) -> None:
        """Shows everything."""
        self._zoomed = False
        positions = [self._reference_position(reference) for reference in self._references]
        limits = bounds(self._lines, [value for value in positions if value is not None])
        if limits is None:
            return
        left, right, low, high = limits
        if right <= left:
            left, right = left - 0.5, right + 0.5
        if self._fixed is not None and not self.left.log:
            low, high = self._fixed
            margin = (high - low) * 0.03
        else:
            margin = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
        self.box.setRange(xRange=(left, right), yRange=(low - margin, high + margin), padding=0)

    @property
    def zoomed(self) -> bool:
        return self._zoomed

    def _on_zoomed(self, *_: object) -> None:
        self._zoomed = True
        self.viewport().update()

    def zoom(self, factor: float) -> None:
        self._zoomed = True
        self.box.scaleBy((factor, factor))

    # The crosshair

    @property
    def cursor_at(self) -> float | None:
        """Position on the x axis; None if the crosshair is hidden."""
        return self._cursor

    def set_cursor(self, x: float | None) -> None:
        """Moves the crosshair to the nearest point; None hides it."""
        positions = self._cursor_positions()
        self._cursor = float(positions[np.abs(positions - x).argmin()]) if x is not None and len(positions) else None
        self.viewport().update()

    def step_cursor(self, by: int) -> None:
        positions = self._cursor_positions()
        if len(positions):
            index = len(positions) - 1 if self._cursor is None else int(np.searchsorted(positions, self._cursor)) + by
            self.set_cursor(float(positions[min(max(index, 0), len(positions) - 1)]))

    def _cursor_positions(self) -> Floats:
        parts = [line.x[np.isfinite(line.y)] for line in self._lines]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0)

    def values_at_cursor(self) -> tuple[str, list[tuple[PreparedLine, int]]]:
        """The position as text, and the index of the nearest point of each line."""
        if self._cursor is None:
            return "", []
        points = []
        for line in self._lines:
            finite = np.flatnonzero(np.isfinite(line.y))
            if len(finite):
                points.append((line, int(finite[np.abs(line.x[finite] - self._cursor).argmin()])))
        return format_position(self._cursor, self.bottom.kind, self._unit), points

    def format_value(self, value: float) -> str:
        return f"{format_number(value * 100, 3)} %" if self.left.percent else format_number(value)

    # Qt events

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        super().mouseMoveEvent(event)
        at = self.mapToScene(event.position().toPoint())
        inside = self.box.sceneBoundingRect().contains(at)
        self.set_cursor(self.box.mapSceneToView(at).x() if inside else None)

    def leaveEvent(self, event: Any) -> None:  # noqa: N802
        super().leaveEvent(event)
        self.set_cursor(None)

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
        if hasattr(self, "box"):  # pyqtgraph resizes in its constructor
            self._reserve_label_space()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        event.ignore()

    # Painting over the lines

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:  # noqa: N802
        super().drawForeground(painter, rect)
        area = self.box.sceneBoundingRect()
        if area.width() < 20 or area.height() < 20:
            return
        painter.setFont(theme.font("caption"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_reference_labels(painter, area)
        self._draw_names(painter, area)
        if self._cursor is not None:
            self._draw_cursor(painter, area)

    def _to_scene(self, x: float, y: float) -> QPointF:
        return QPointF(self.box.mapViewToScene(QPointF(x, y)))

    def _draw_reference_labels(self, painter: QPainter, area: QRectF) -> None:
        for reference in self._references:
            value = self._reference_position(reference)
            if value is not None and area.top() <= (y := self._to_scene(0.0, value).y()) <= area.bottom():
                draw_reference_label(painter, area, y, reference.text)

    def _reserve_label_space(self) -> None:
        """Reserves space at the right for the names."""
        metrics = QFontMetrics(theme.font("caption"))
        widest = max((metrics.horizontalAdvance(line.line.name) for line in self._lines), default=0)
        room = min(widest + 14, MAX_LABEL_WIDTH, self.width() // 4) if widest and self.width() > 240 else 12
        room += SAMPLE + 4 if room > 12 and self._has_dashes else 0
        self.getPlotItem().layout.setContentsMargins(2, 8, room, 2)

    @property
    def _has_dashes(self) -> bool:
        return any(is_dashed(line.line.colour) for line in self._lines)

    def _draw_names(self, painter: QPainter, area: QRectF) -> None:
        left = area.right() + 6 + (SAMPLE + 4 if self._has_dashes else 0)
        right = self.width() - left - 2
        if right < 24:
            return
        ends = []
        (left_edge, right_edge), _ = self.box.viewRange()
        for line in self._lines:
            curve = line.smooth if line.smooth is not None else line.y
            visible = np.flatnonzero(np.isfinite(curve) & (line.x <= right_edge) & (line.x >= left_edge))
            if len(visible) and line.line.name:
                y = self._to_scene(float(line.x[visible[-1]]), float(curve[visible[-1]])).y()
                ends.append((min(max(y, area.top()), area.bottom()), line))
        metrics = QFontMetrics(painter.font())
        placed = spread_labels(ends, area.top(), area.bottom())
        texts = elided_names([line.line.name for _, line in placed], metrics, int(right))
        for (y, line), text in zip(placed, texts, strict=True):
            if self._has_dashes:
                draw_sample(painter, area.right() + 6, y, line.line.colour)
            painter.setPen(line_style(line.line.colour)[0])
            painter.drawText(QPointF(left, y + metrics.ascent() / 2 - 1), text)

    def _draw_cursor(self, painter: QPainter, area: QRectF) -> None:
        position, points = self.values_at_cursor()
        x = self._to_scene(self._cursor or 0.0, 0.0).x()
        if not area.left() - 1 <= x <= area.right() + 1:
            return
        painter.setPen(QPen(theme.colour("border"), 1))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        painter.setPen(QPen(theme.colour("surface"), 1.5))
        for line, index in points:
            painter.setBrush(line_style(line.line.colour)[0])
            point = self._to_scene(float(line.x[index]), float(line.y[index]))
            if area.adjusted(-4, -4, 4, 4).contains(point):
                painter.drawEllipse(point, 4, 4)
        values = [
            LineValue(line.line.name or self.default_name, self._value_text(line, index), line.line.colour)
            for line, index in points
        ]
        inside = QRectF(0.0, area.top() + 4, self.width(), self.height() - area.top() - 4)
        draw_values(painter, inside, x, position, values, MAX_LISTED, self._has_dashes)

    def _value_text(self, line: PreparedLine, index: int) -> str:
        text = self.format_value(float(line.value[index]))
        if line.line.low is None or line.line.high is None or line.low is None or line.high is None:
            return text
        low, high = float(line.low[index]), float(line.high[index])
        if self.left.log:
            low, high = 10.0**low, 10.0**high
        return f"{text} ({self.format_value(low)} to {self.format_value(high)})" if math.isfinite(low + high) else text


def _band_path(line: PreparedLine) -> QPainterPath:
    path = QPainterPath()
    for x, low, high in band(line):
        path.moveTo(float(x[0]), float(low[0]))
        for position, value in zip(x[1:], low[1:], strict=True):
            path.lineTo(float(position), float(value))
        for position, value in zip(x[::-1], high[::-1], strict=True):
            path.lineTo(float(position), float(value))
        path.closeSubpath()
    return path
