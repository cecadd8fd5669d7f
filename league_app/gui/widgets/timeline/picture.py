"""Draws a timeline: an axis, and for each track its name, the share of each name, and bars.

Bars narrower than two pixels are not drawn one by one. In a column of pixels that has several, each name takes as much
of the height as of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QImage, QPainter, QPen

from league_app.core.formatting import chance
from league_app.gui import theme
from league_app.gui.widgets.chart.series import time_step
from league_app.gui.widgets.timeline.spans import Description, Floats, Lane, TimelineSpans, Track, ticks

AXIS = 26  # pixels: height of the axis, of the text above bars, of bars, of those below them, and between tracks
CAPTION = 20
BAR, TALLEST_BAR = 20, 40
INNER_BAR = 12
GAP = 12
MARGIN = 12
WAIT = "wait"  # spans with this name are grey: nothing is done in them
NARROW = 2.0  # pixels of the screen; wider bars are drawn one by one
TICK_DISTANCE = 96  # pixels
LABELLED = 28  # pixels of the narrowest bar with a name


@dataclass(frozen=True)
class TimelineView:
    """The visible time, in seconds, and the pixels that it takes."""

    left: float
    right: float
    x: float
    width: float

    @property
    def seconds(self) -> float:
        return self.right - self.left

    def to_x(self, time: float) -> float:
        return self.x + (time - self.left) / self.seconds * self.width

    def to_time(self, x: float) -> float:
        return self.left + (x - self.x) / self.width * self.seconds


@dataclass(frozen=True, eq=False)
class TimelineRow:
    """Where a track is drawn, in pixels below the axis."""

    track: Track
    top: float
    bars: tuple[tuple[float, float], ...]  # top and height, by lane
    height: float

    def lane_at(self, y: float) -> int | None:
        return next((lane for lane, (top, height) in enumerate(self.bars) if top <= y < top + height), None)


def rows_of(spans: TimelineSpans, height: float) -> list[TimelineRow]:
    """The rows in this height; if there is more than enough, the bars are taller."""
    rows, top = [], 0.0
    spare = height - sum(_height(track, BAR) for track in spans.tracks)
    bar = BAR + min(max(spare / max(len(spans.tracks), 1), 0.0), TALLEST_BAR - BAR)
    for track in spans.tracks:
        bars, y = [], top + CAPTION
        for lane in range(len(track.lanes)):
            bars.append((y, INNER_BAR if lane else float(math.floor(bar))))
            y += bars[-1][1] + 1
        rows.append(TimelineRow(track, top, tuple(bars), y - top))
        top = y + GAP
    return rows


def _height(track: Track, bar: float) -> float:
    return CAPTION + bar + 1 + (len(track.lanes) - 1) * (INNER_BAR + 1) + GAP


# Drawing


def draw_axis(painter: QPainter, view: TimelineView, height: float) -> None:
    """Draws the times, and lines below them down to `height`."""
    painter.setFont(theme.font("caption"))
    metrics = QFontMetrics(painter.font())
    step = time_step(view.seconds, view.width / TICK_DISTANCE)
    for time, text in ticks(view.left, view.right, step):
        x = view.to_x(time)
        painter.fillRect(QRectF(round(x), AXIS, 1, height - AXIS), theme.colour("muted", 0.15))
        wide = metrics.horizontalAdvance(text)
        left = min(max(x - wide / 2, view.x), view.x + view.width - wide)
        painter.setPen(theme.colour("muted"))
        painter.drawText(QPointF(left, AXIS - 9), text)


def draw_row(painter: QPainter, row: TimelineRow, names: Sequence[str], view: TimelineView, ratio: float) -> None:
    """Draws a track; the painter's origin is at the left end of the axis, below it."""
    _draw_caption(painter, row, names, view)
    for lane, (top, height) in zip(row.track.lanes, row.bars, strict=True):
        painter.fillRect(QRectF(view.x, top, view.width, height), theme.colour("muted", 0.08))
        _draw_bars(painter, lane, names, view, top, height, ratio)


def _draw_caption(painter: QPainter, row: TimelineRow, names: Sequence[str], view: TimelineView) -> None:
    """The name of the track, and the names of its spans with their shares of the visible time."""
    painter.fillRect(QRectF(0, row.top, view.x + view.width, CAPTION), theme.colour("surface"))
    painter.setFont(theme.font("body"))
    metrics, base = QFontMetrics(painter.font()), row.top + 14
    title = metrics.elidedText(row.track.name, Qt.TextElideMode.ElideRight, int(view.width / 3))
    painter.setPen(theme.colour("text"))
    painter.drawText(QPointF(view.x, base), title)
    x, end = view.x + metrics.horizontalAdvance(title) + 16, view.x + view.width
    painter.setFont(theme.font("caption"))
    metrics = QFontMetrics(painter.font())
    for name, share in row.track.shares(view.left, view.right).items():
        text = f"{names[name]} {chance(share)}"
        room = int(end - x - 14)
        if room < 40:
            break
        draw_swatch(painter, QRectF(x, base - 9, 10, 10), names, name)
        painter.setPen(theme.colour("muted"))
        painter.drawText(QPointF(x + 14, base), metrics.elidedText(text, Qt.TextElideMode.ElideRight, room))
        x += 14 + metrics.horizontalAdvance(text) + 14


def name_colour(names: Sequence[str], name: int) -> QColor:
    return theme.colour("muted") if names[name] == WAIT else theme.series(name)


def _hatched(names: Sequence[str], name: int) -> bool:
    """From the seventh name on, because colours repeat."""
    return names[name] != WAIT and theme.dashed(name) != Qt.PenStyle.SolidLine


def draw_swatch(painter: QPainter, rect: QRectF, names: Sequence[str], name: int) -> None:
    """A rectangle in the colour of a name."""
    painter.fillRect(rect, name_colour(names, name))
    if _hatched(names, name):
        pattern = (Qt.BrushStyle.BDiagPattern, Qt.BrushStyle.FDiagPattern, Qt.BrushStyle.DiagCrossPattern)
        turn = name // len(theme.current().series) - 1
        painter.fillRect(rect, QBrush(theme.colour("surface"), pattern[turn % len(pattern)]))


def _draw_bars(
    painter: QPainter, lane: Lane, names: Sequence[str], view: TimelineView, top: float, height: float, ratio: float
) -> None:
    part = lane.visible(view.left, view.right)
    least = NARROW / ratio / view.width * view.seconds
    wide = np.flatnonzero(lane.ends[part] - lane.starts[part] >= least) + part.start
    pixels = [_pixels(lane, int(index), view, ratio) for index in wide]
    if len(wide) < part.stop - part.start:
        painter.drawImage(QPointF(view.x, top), _narrow_bars(lane, names, view, height, ratio, pixels))
    painter.setFont(theme.font("caption"))
    metrics = QFontMetrics(painter.font())
    widths = {name: max(metrics.horizontalAdvance(names[name]) + 8, LABELLED) for name in lane.totals}
    for index, (first, last) in zip(wide.tolist(), pixels, strict=True):
        name = int(lane.names[index])
        space = 1 if last - first > 8 * ratio else 0  # between two bars
        rect = QRectF(view.x + first / ratio, top, (last - first - space) / ratio, height)
        draw_swatch(painter, rect, names, name)
        if rect.width() >= widths[name]:
            tall = min(16.0, height)
            text = QRectF(rect.center().x() - widths[name] / 2, rect.center().y() - tall / 2, widths[name], tall)
            colour = name_colour(names, name)
            painter.fillRect(text, colour)  # without the lines of a hatched bar
            painter.setPen(_text_colour(colour))
            painter.drawText(text, Qt.AlignmentFlag.AlignCenter, names[name])


def _pixels(lane: Lane, index: int, view: TimelineView, ratio: float) -> tuple[int, int]:
    """The first pixel of a bar and the one after its last."""
    ends = (float(lane.starts[index]), float(lane.ends[index]))
    first, last = (round(min(max(view.to_x(end) - view.x, 0.0), view.width) * ratio) for end in ends)
    return first, max(last, first + 1)


def _narrow_bars(
    lane: Lane,
    names: Sequence[str],
    view: TimelineView,
    height: float,
    ratio: float,
    wide: Sequence[tuple[int, int]],
) -> QImage:
    """A picture of the bars that are too narrow to be drawn one by one, with space for the `wide` ones."""
    columns, lines = max(round(view.width * ratio), 1), max(round(height * ratio), 1)
    edges: Floats = np.linspace(view.left, view.right, columns + 1)
    seconds = lane.seconds(edges)
    shares = np.stack(list(seconds.values())) / (view.seconds / columns)
    level = ((np.arange(lines) + 0.5) / lines)[::-1, None]  # from the bottom
    place = (np.cumsum(shares, axis=0)[:, None, :] <= level).sum(axis=0)  # by line and column: the place of the name
    for first, last in wide:
        place[:, first:last] = len(seconds)
    pixels = np.array([*(name_colour(names, name).rgba() for name in seconds), 0], np.uint32)[place]
    hatched = np.array([*(_hatched(names, name) for name in seconds), False])[place]
    stripes = (np.add.outer(np.arange(lines), np.arange(columns)) // max(round(ratio), 1)) % 6 < 2
    pixels[hatched & stripes] = theme.colour("surface").rgba()
    image = QImage(pixels.tobytes(), columns, lines, columns * 4, QImage.Format.Format_ARGB32).copy()
    image.setDevicePixelRatio(ratio)
    return image


def _text_colour(ground: QColor) -> QColor:
    """Black or white, whichever is easier to read."""
    parts = (ground.redF(), ground.greenF(), ground.blueF())
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return QColor(Qt.GlobalColor.black if light > 0.179 else Qt.GlobalColor.white)


# The box beside the mouse


def draw_box(
    painter: QPainter,
    at: QPointF,
    area: QRectF,
    names: Sequence[str],
    found: Description,
) -> None:
    """Draws a description beside a point, inside an area."""
    title, colour, lines = found.title, found.colour, found.lines
    painter.setFont(theme.font("caption"))
    metrics = QFontMetrics(painter.font())
    indent = 16
    texts = [(shade, metrics.elidedText(what, Qt.TextElideMode.ElideRight, 180), value) for shade, what, value in lines]
    title = metrics.elidedText(title, Qt.TextElideMode.ElideRight, 240)
    inner = max(
        (metrics.horizontalAdvance(what) + 16 + metrics.horizontalAdvance(value) for _, what, value in texts), default=0
    )
    width = max(indent + inner, indent + metrics.horizontalAdvance(title)) + 20
    frame = QRectF(0, 0, width, 16 * (len(texts) + 1) + 12)
    x = at.x() + 14 if at.x() + 14 + width <= area.right() else at.x() - 14 - width
    y = min(at.y() + 14, area.bottom() - frame.height() - 2)
    frame.moveTo(max(x, area.left() + 2), max(y, area.top() + 2))
    painter.setPen(QPen(theme.colour("hairline"), 1))
    painter.setBrush(theme.colour("raised", 0.97))
    painter.drawRoundedRect(frame, 6, 6)
    line = QRectF(frame.left() + 10, frame.top() + 6, width - 20, 16)
    middle = Qt.AlignmentFlag.AlignVCenter
    for place, (shade, what, value) in enumerate([(colour, title, ""), *texts]):
        if shade is not None:
            draw_swatch(painter, QRectF(line.left(), line.center().y() - 5, 10, 10), names, shade)
        painter.setPen(theme.colour("text" if shade is not None or not place else "muted"))
        painter.drawText(line.adjusted(indent, 0, 0, 0), int(middle | Qt.AlignmentFlag.AlignLeft), what)
        painter.setPen(theme.colour("text"))
        painter.drawText(line, int(middle | Qt.AlignmentFlag.AlignRight), value)
        line.translate(0, 16)
