"""Small pictures of players: the network of an evolved player, a pattern from the content hash of any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from engine.errors import RingsideError
from league_app.gui import theme

MAX_NODES, MAX_LINKS = 120, 300  # more would overlap
MAX_PAYLOAD = 4 << 20  # bytes; larger payloads get a pattern


@dataclass(frozen=True)
class Node:
    x: float  # 0 at the inputs, 1 at the outputs
    y: float
    role: str  # input, hidden, output


@dataclass(frozen=True)
class Link:
    source: int  # index of a node
    target: int
    weight: float  # from -1 to 1, relative to the strongest


@dataclass(frozen=True)
class NetworkSketch:
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]


def load_sketch(kind: str, payload: bytes) -> NetworkSketch | None:
    """The network of a NEAT player; None for other kinds and for payloads that cannot be read."""
    if kind != "neat" or not payload or len(payload) > MAX_PAYLOAD:
        return None
    from agents.neat.payload import load

    try:
        genome = load(payload)
    except RingsideError:
        return None
    links = [
        (source, target, weight)
        for source, target, weight, on in zip(genome.source, genome.target, genome.weight, genome.enabled, strict=True)
        if on
    ]
    links = sorted(links, key=lambda link: -abs(link[2]))[:MAX_LINKS]
    inputs = [-1 - index for index in range(min(genome.inputs, MAX_NODES // 3))]
    outputs = list(range(min(genome.outputs, MAX_NODES // 3)))
    used = {key for source, target, _ in links for key in (source, target)}
    hidden = [key for key in genome.key if key >= genome.outputs and key in used][: MAX_NODES // 3]
    depth = _depths([*inputs, *hidden, *outputs], hidden, links)
    return _layout(inputs, hidden, outputs, depth, links)


def _depths(known: Iterable[int], hidden: Iterable[int], links: Iterable[tuple[int, int, float]]) -> dict[int, int]:
    """The number of links from the inputs to each node; six rounds, because a network may have cycles."""
    depth = dict.fromkeys(known, 0)
    inner, links = set(hidden), list(links)
    for _ in range(6):
        for source, target, _ in links:
            if target in inner and source in depth and source != target:
                depth[target] = min(max(depth[target], depth[source] + 1), 6)
    return depth


def _layout(
    inputs: list[int], hidden: list[int], outputs: list[int], depth: dict[int, int], links: list[tuple[int, int, float]]
) -> NetworkSketch:
    layers = sorted({max(depth[key], 1) for key in hidden})
    columns: list[tuple[float, str, list[int]]] = [(0.0, "input", inputs)]
    for number, layer in enumerate(layers, 1):
        keys = [key for key in hidden if max(depth[key], 1) == layer]
        columns.append((number / (len(layers) + 1), "hidden", keys))
    columns.append((1.0, "output", outputs))
    indexes: dict[int, int] = {}
    nodes: list[Node] = []
    for x, role, keys in columns:
        for number, key in enumerate(keys):
            indexes[key] = len(nodes)
            nodes.append(Node(x, (number + 0.5) / len(keys), role))
    most = max((abs(weight) for *_, weight in links), default=1.0) or 1.0
    shown = tuple(
        Link(indexes[source], indexes[target], weight / most)
        for source, target, weight in links
        if source in indexes and target in indexes
    )
    return NetworkSketch(tuple(nodes), shown)


class Thumbnail(QWidget):
    """The picture of one player, in the colours of the current theme."""

    def __init__(self, content: str = "", sketch: NetworkSketch | None = None, size: QSize | None = None) -> None:
        super().__init__()
        self._content, self._sketch = content, sketch
        self.setFixedSize(size or QSize(112, 76))

    def show_player(self, content: str, sketch: NetworkSketch | None) -> None:
        if (content, sketch) != (self._content, self._sketch):
            self._content, self._sketch = content, sketch
            self.update()

    @property
    def sketch(self) -> NetworkSketch | None:
        return self._sketch

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QPen(theme.colour("hairline"), 1))
        painter.setBrush(theme.colour("raised"))
        painter.drawRoundedRect(frame, 6, 6)
        inner = frame.adjusted(10, 8, -10, -8)
        if self._sketch is not None:
            draw_network(painter, inner, self._sketch)
        elif self._content:
            draw_pattern(painter, inner, self._content)


def draw_network(painter: QPainter, rect: QRectF, sketch: NetworkSketch) -> None:
    """Inputs at the left; positive weights are blue, negative ones orange and dashed."""
    points = [
        QPointF(rect.left() + node.x * rect.width(), rect.top() + node.y * rect.height()) for node in sketch.nodes
    ]
    for link in sketch.links:
        colour = theme.series(0 if link.weight >= 0 else 1)
        colour.setAlphaF(0.25 + 0.6 * abs(link.weight))
        style = Qt.PenStyle.SolidLine if link.weight >= 0 else Qt.PenStyle.DashLine
        painter.setPen(QPen(colour, 0.6 + 1.4 * abs(link.weight), style))
        painter.drawLine(points[link.source], points[link.target])
    largest = max(len([node for node in sketch.nodes if node.role == role]) for role in ("input", "hidden", "output"))
    radius = min(max(rect.height() / max(largest, 1) * 0.32, 1.2), 3.5)
    painter.setPen(QPen(theme.colour("surface"), 0.8))
    for node, point in zip(sketch.nodes, points, strict=True):
        painter.setBrush(theme.colour({"input": "muted", "hidden": "text", "output": "accent"}[node.role]))
        painter.drawEllipse(point, radius, radius)


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
