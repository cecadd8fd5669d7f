"""Small pictures of players: the diagram that the agent kind offers, or else a pattern from the content hash."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from engine.diagram import Block, Diagram
from league_app.gui import theme

TEXT_GAP = 4  # pixels between the names of two layers
NAMED_HEIGHT, LINE = 90, 18  # pixels: layers of smaller pictures are not named; the height of their names


class Thumbnail(QWidget):
    """The picture of one player, in the colours of the current theme."""

    def __init__(self, content: str = "", diagram: Diagram | None = None, size: QSize | None = None) -> None:
        super().__init__()
        self._content, self._diagram = content, diagram
        self.setFixedSize(size or QSize(112, 76))

    def show_player(self, content: str, diagram: Diagram | None) -> None:
        if (content, diagram) != (self._content, self._diagram):
            self._content, self._diagram = content, diagram
            self.update()

    @property
    def diagram(self) -> Diagram | None:
        return self._diagram

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QPen(theme.colour("hairline"), 1))
        painter.setBrush(theme.colour("raised"))
        painter.drawRoundedRect(frame, 6, 6)
        inner = frame.adjusted(10, 8, -10, -8)
        if self._diagram is not None:
            draw = draw_layers if self._diagram.blocks else draw_network
            draw(painter, inner, self._diagram)
        elif self._content:
            draw_pattern(painter, inner, self._content)


def draw_network(painter: QPainter, rect: QRectF, diagram: Diagram) -> None:
    """Inputs at the left; positive weights are blue, negative ones orange and dashed."""
    points = [
        QPointF(rect.left() + node.x * rect.width(), rect.top() + node.y * rect.height()) for node in diagram.nodes
    ]
    for link in diagram.links:
        colour = theme.series(0 if link.weight >= 0 else 1)
        colour.setAlphaF(0.25 + 0.6 * abs(link.weight))
        style = Qt.PenStyle.SolidLine if link.weight >= 0 else Qt.PenStyle.DashLine
        painter.setPen(QPen(colour, 0.6 + 1.4 * abs(link.weight), style))
        painter.drawLine(points[link.source], points[link.target])
    largest = max(len([node for node in diagram.nodes if node.role == role]) for role in ("input", "hidden", "output"))
    radius = min(max(rect.height() / max(largest, 1) * 0.32, 1.2), 3.5)
    painter.setPen(QPen(theme.colour("surface"), 0.8))
    for node, point in zip(diagram.nodes, points, strict=True):
        painter.setBrush(theme.colour({"input": "muted", "hidden": "text", "output": "accent"}[node.role]))
        painter.drawEllipse(point, radius, radius)


def draw_layers(painter: QPainter, rect: QRectF, diagram: Diagram) -> None:
    """A bar for each layer, a stack of planes for an image; with its text below, if there is room for it."""
    named = rect.height() >= NAMED_HEIGHT
    room = rect.adjusted(0, 0, 0, -LINE if named else 0)
    step = room.width() / len(diagram.blocks)
    for block, before in zip(diagram.blocks[1:], diagram.blocks, strict=False):
        painter.setPen(QPen(theme.colour("border"), 1))
        centre = room.center().y()
        painter.drawLine(
            QPointF(room.left() + before.x * room.width(), centre),
            QPointF(room.left() + block.x * room.width(), centre),
        )
    texts = texts_that_fit(painter, room, diagram.blocks) if named else set()
    for block in diagram.blocks:
        x, height = room.left() + block.x * room.width(), block.height * room.height()
        painter.setPen(QPen(theme.colour("surface"), 0.8))
        painter.setBrush(theme.colour({"input": "muted", "hidden": "text", "output": "accent"}[block.role]))
        width = min(step * 0.5, height * 0.7 if block.image else 10.0)
        for shift in (-2.0, 0.0, 2.0) if block.image else (0.0,):
            place = QRectF(x - width / 2 + shift, room.center().y() - height / 2 + shift, width, height)
            painter.drawRoundedRect(place, 1.5, 1.5)
        if block in texts:
            painter.setPen(theme.colour("muted"))
            below = QRectF(x - 1.5 * step, room.bottom(), 3 * step, LINE)
            painter.drawText(below, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom, block.text)


def texts_that_fit(painter: QPainter, room: QRectF, blocks: Sequence[Block]) -> set[Block]:
    """The blocks whose texts are drawn: those of the outputs and, from the inputs on, all that no other text covers."""
    taken: list[tuple[float, float]] = []
    found = set()
    for block in (blocks[-1], *blocks[:-1]):
        x, width = room.left() + block.x * room.width(), painter.fontMetrics().horizontalAdvance(block.text)
        left, right = x - width / 2 - TEXT_GAP / 2, x + width / 2 + TEXT_GAP / 2
        if block.text and all(right <= start or end <= left for start, end in taken):
            taken.append((left, right))
            found.add(block)
    return found


def draw_pattern(painter: QPainter, rect: QRectF, content: str) -> None:
    """Five by five squares with mirror symmetry, from the content hash: equal players look equal."""
    try:
        bits = int(content[:8], 16)
    except ValueError:
        bits = sum(ord(letter) * 31**index for index, letter in enumerate(content[:8]))
    side = min(rect.width(), rect.height()) / 5
    left, top = rect.center().x() - side * 2.5, rect.center().y() - side * 2.5
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.series(bits % 6))
    for row in range(5):
        for column in range(3):
            if bits >> (row * 3 + column) & 1:
                for x in {column, 4 - column}:
                    painter.drawRect(QRectF(left + x * side, top + row * side, side - 1, side - 1))
