"""The texts that a chart paints over its lines: names, labels of reference lines, and the values at the crosshair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen

from league_app.gui import theme

SAMPLE = 18  # pixels, of a piece of line beside a name
NAME_WIDTH = 130  # pixels, of a name in the box of values
ROW = 16  # pixels


class LineValue(NamedTuple):
    """A row in the box of values."""

    name: str
    text: str
    colour: int | str


def line_style(colour: int | str) -> tuple[QColor, Qt.PenStyle]:
    if isinstance(colour, str):
        return theme.colour(colour), Qt.PenStyle.SolidLine
    return theme.series(colour), theme.dashed(colour)


def is_dashed(colour: int | str) -> bool:
    """Whether another line has the same colour, so that a name needs a sample of its line."""
    return line_style(colour)[1] != Qt.PenStyle.SolidLine


def elided_names(names: Sequence[str], metrics: QFontMetrics, width: int) -> list[str]:
    """Names in this width, elided at the end. Where two would then be the same, the words that all of them begin with
    are left out, and if that is not enough, they are elided in the middle."""
    for shown, place in _shorter_names(names):
        texts = [metrics.elidedText(name, place, width) for name in shown]
        if len(set(texts)) == len(set(names)):
            break
    return texts


def _shorter_names(names: Sequence[str]) -> Iterator[tuple[list[str], Qt.TextElideMode]]:
    yield list(names), Qt.TextElideMode.ElideRight
    first, last = min(names), max(names)
    same = next((at for at, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))
    common = first.rfind(" ", 0, same) + 1  # whole words
    shown = [f"\u2026{name[common:]}" for name in names] if common else list(names)
    yield shown, Qt.TextElideMode.ElideRight
    yield shown, Qt.TextElideMode.ElideMiddle


def draw_sample(painter: QPainter, x: float, y: float, colour: int | str) -> None:
    """Draws a piece of a line."""
    shade, dash = line_style(colour)
    pen = QPen(shade, 2, dash)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    painter.drawLine(QPointF(x, y), QPointF(x + SAMPLE, y))


def draw_reference_label(painter: QPainter, area: QRectF, y: float, text: str) -> None:
    """Draws a text above a horizontal line at `y`, or below it if there is no space above.

    Not by pg.InfLineLabel, which takes braces in a name for a format string and does not elide.
    """
    metrics = QFontMetrics(painter.font())
    text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(area.width()) - 8)
    base = y - 4 if y - 4 - metrics.ascent() > area.top() else y + 2 + metrics.ascent()
    width = metrics.horizontalAdvance(text)
    background = QRectF(area.left() + 2, base - metrics.ascent(), width + 4, metrics.height())
    painter.fillRect(background, theme.colour("surface", 0.75))
    painter.setPen(theme.colour("muted"))
    painter.drawText(QPointF(area.left() + 4, base), text)


def draw_values(
    painter: QPainter, inside: QRectF, x: float, heading: str, values: Sequence[LineValue], most: int, samples: bool
) -> None:
    """Draws a box with at most so many values beside `x`. `samples`: with a piece of each line, not only its colour."""
    metrics = QFontMetrics(painter.font())
    rows, left_out = values[:most], max(len(values) - most, 0)
    names = elided_names([row.name for row in rows], metrics, NAME_WIDTH)
    indent = SAMPLE + 6 if samples else 16
    widest_name = max((metrics.horizontalAdvance(name) for name in names), default=0)
    widest_value = max((metrics.horizontalAdvance(row.text) for row in rows), default=0)
    width = max(indent + widest_name + 12 + widest_value, metrics.horizontalAdvance(heading)) + 20
    height = ROW * (len(rows) + 1 + bool(left_out)) + 12
    left = x + 12 if x + 12 + width <= inside.right() else x - 12 - width
    frame = QRectF(max(left, 2.0), min(inside.top(), max(inside.bottom() - height - 2.0, 0.0)), width, height)
    painter.setPen(QPen(theme.colour("hairline"), 1))
    painter.setBrush(theme.colour("raised", 0.96))
    painter.drawRoundedRect(frame, 6, 6)
    side = Qt.AlignmentFlag.AlignVCenter
    line = QRectF(frame.left() + 10, frame.top() + 6, width - 20, ROW)
    painter.setPen(theme.colour("muted"))
    painter.drawText(line, int(side | Qt.AlignmentFlag.AlignLeft), heading)
    for row, name in zip(rows, names, strict=True):
        line.translate(0, ROW)
        if samples:
            draw_sample(painter, line.left(), line.center().y(), row.colour)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(line_style(row.colour)[0])
            painter.drawEllipse(QRectF(line.left(), line.center().y() - 4, 8, 8))
        painter.setPen(theme.colour("text"))
        painter.drawText(line.adjusted(indent, 0, 0, 0), int(side | Qt.AlignmentFlag.AlignLeft), name)
        painter.drawText(line, int(side | Qt.AlignmentFlag.AlignRight), row.text)
    if left_out:
        line.translate(0, ROW)
        painter.setPen(theme.colour("muted"))
        painter.drawText(line, int(side | Qt.AlignmentFlag.AlignLeft), f"and {left_out} more")
