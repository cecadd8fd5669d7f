"""A drawing of an agent as nodes and links, for an agent kind to offer; independent of any graphics library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Node:
    x: float  # 0 at the inputs, 1 at the outputs
    y: float  # 0 at the top, 1 at the bottom
    role: Literal["input", "hidden", "output"]


@dataclass(frozen=True)
class Link:
    source: int  # index of a node
    target: int
    weight: float  # from -1 to 1, relative to the strongest


@dataclass(frozen=True)
class Diagram:
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
