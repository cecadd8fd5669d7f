"""Draws the network of a genome as a diagram, in columns from inputs to outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from agents.neat.payload import load
from engine.diagram import Diagram, Link, Node
from engine.play.match import AgentSpec

MAX_NODES, MAX_LINKS = 120, 300  # more would overlap
MAX_PAYLOAD = 4 << 20  # bytes; networks of larger ones are not drawn


def draw(agent: AgentSpec) -> Diagram | None:
    """The strongest links of its network, and the nodes that they connect; None if it is too large."""
    if len(agent.payload) > MAX_PAYLOAD:
        return None
    genome = load(agent.payload)
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
) -> Diagram:
    layers = sorted({max(depth[key], 1) for key in hidden})
    columns: list[tuple[float, Literal["input", "hidden", "output"], list[int]]] = [(0.0, "input", inputs)]
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
    return Diagram(tuple(nodes), shown)
