"""A small picture of a player: the network of an evolved one, a pattern of its own for any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from engine.errors import RingsideError
from league_app.gui import theme

MOST_NODES, MOST_LINKS = 120, 300  # more are a blot
LARGEST = 4 << 20  # bytes that are worth reading for a picture


@dataclass(frozen=True)
class Node:
    x: float  # 0 at the inputs, 1 at the outputs
    y: float
    role: str  # input, hidden, output


@dataclass(frozen=True)
class Link:
    source: int  # places among the nodes
    target: int
    weight: float  # from -1 to 1, against the strongest


@dataclass(frozen=True)
class Sketch:
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]


def sketch(kind: str, payload: bytes) -> Sketch | None:
    """Of an evolved network; None for whoever is made otherwise, or cannot be read."""
    if kind != "neat" or not payload or len(payload) > LARGEST:
        return None
    from agents.neat import genome as genomes

    try:
        genome = genomes.load(payload)
    except RingsideError:
        return None
    links = [
        (source, target, weight)
        for source, target, weight, on in zip(genome.source, genome.target, genome.weight, genome.enabled, strict=True)
        if on
    ]
    links = sorted(links, key=lambda one: -abs(one[2]))[:MOST_LINKS]
    inputs = [-1 - place for place in range(min(genome.inputs, MOST_NODES // 3))]
    outputs = list(range(min(genome.outputs, MOST_NODES // 3)))
    used = {key for source, target, _ in links for key in (source, target)}
    hidden = [key for key in genome.key if key >= genome.outputs and key in used][: MOST_NODES // 3]
    depth = _depths([*inputs, *hidden, *outputs], hidden, links)
    return _placed(inputs, hidden, outputs, depth, links)


def _depths(known: Iterable[int], hidden: Iterable[int], links: Iterable[tuple[int, int, float]]) -> dict[int, int]:
    """How many links a node is from the inputs; a few rounds are enough for a picture, and end where there are
    cycles."""
    depth = dict.fromkeys(known, 0)
    inner, links = set(hidden), list(links)
    for _ in range(6):
        for source, target, _ in links:
            if target in inner and source in depth and source != target:
                depth[target] = min(max(depth[target], depth[source] + 1), 6)
    return depth


def _placed(
    inputs: list[int], hidden: list[int], outputs: list[int], depth: dict[int, int], links: list[tuple[int, int, float]]
) -> Sketch:
    layers = sorted({max(depth[key], 1) for key in hidden})
    columns: list[tuple[float, str, list[int]]] = [(0.0, "input", inputs)]
    for number, layer in enumerate(layers, 1):
        found = [key for key in hidden if max(depth[key], 1) == layer]
        columns.append((number / (len(layers) + 1), "hidden", found))
    columns.append((1.0, "output", outputs))
    places: dict[int, int] = {}
    nodes: list[Node] = []
    for x, role, keys in columns:
        for number, key in enumerate(keys):
            places[key] = len(nodes)
            nodes.append(Node(x, (number + 0.5) / len(keys), role))
    most = max((abs(weight) for *_, weight in links), default=1.0) or 1.0
    shown = tuple(
        Link(places[source], places[target], weight / most)
        for source, target, weight in links
        if source in places and target in places
    )
    return Sketch(tuple(nodes), shown)


class Thumbnail(QWidget):
    """Drawn in the colours of now."""

    def __init__(self, content: str = "", drawn: Sketch | None = None, size: QSize | None = None) -> None:
        super().__init__()
        self._content, self._sketch = content, drawn
        self.setFixedSize(size or QSize(112, 76))

    def show_player(self, content: str, drawn: Sketch | None) -> None:
        if (content, drawn) != (self._content, self._sketch):
            self._content, self._sketch = content, drawn
            self.update()

    @property
    def sketch(self) -> Sketch | None:
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


def draw_network(painter: QPainter, rect: QRectF, drawn: Sketch) -> None:
    """Inputs at the left; links that push are blue, those that hold back orange and dashed."""
    at = [QPointF(rect.left() + one.x * rect.width(), rect.top() + one.y * rect.height()) for one in drawn.nodes]
    for link in drawn.links:
        colour = theme.series(0 if link.weight >= 0 else 1)
        colour.setAlphaF(0.25 + 0.6 * abs(link.weight))
        style = Qt.PenStyle.SolidLine if link.weight >= 0 else Qt.PenStyle.DashLine
        painter.setPen(QPen(colour, 0.6 + 1.4 * abs(link.weight), style))
        painter.drawLine(at[link.source], at[link.target])
    crowd = max(len([one for one in drawn.nodes if one.role == role]) for role in ("input", "hidden", "output"))
    radius = min(max(rect.height() / max(crowd, 1) * 0.32, 1.2), 3.5)
    painter.setPen(QPen(theme.colour("surface"), 0.8))
    for one, place in zip(drawn.nodes, at, strict=True):
        painter.setBrush(theme.colour({"input": "muted", "hidden": "text", "output": "accent"}[one.role]))
        painter.drawEllipse(place, radius, radius)


def draw_pattern(painter: QPainter, rect: QRectF, content: str) -> None:
    """Five by five squares, alike at both sides, from its content: the same player looks the same."""
    try:
        bits = int(content[:8], 16)
    except ValueError:
        bits = sum(ord(one) * 31**place for place, one in enumerate(content[:8]))
    side = min(rect.width(), rect.height()) / 5
    left, top = rect.center().x() - side * 2.5, rect.center().y() - side * 2.5
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.series(bits % 6))
    for row in range(5):
        for column in range(3):
            if bits >> (row * 3 + column) & 1:
                for place in {column, 4 - column}:
                    painter.drawRect(QRectF(left + place * side, top + row * side, side - 1, side - 1))
