"""A drawing of an agent, as nodes and links or as layers, for an agent kind to offer; independent of any graphics
library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["input", "hidden", "output"]


@dataclass(frozen=True)
class Node:
    x: float  # 0 at the inputs, 1 at the outputs
    y: float  # 0 at the top, 1 at the bottom
    role: Role


@dataclass(frozen=True)
class Link:
    source: int  # index of a node
    target: int
    weight: float  # from -1 to 1, relative to the strongest


@dataclass(frozen=True)
class Block:
    """A layer of a network that is too large for single nodes."""

    x: float  # of its centre; 0 at the inputs, 1 at the outputs
    height: float  # from 0 to 1
    role: Role
    image: bool = False  # drawn as a stack of planes
    text: str = ""  # below it, where there is room


@dataclass(frozen=True)
class Diagram:
    nodes: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()
    blocks: tuple[Block, ...] = ()
