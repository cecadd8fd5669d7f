"""What a position looks like: shapes and texts that pygame, a test or a thumbnail can draw.

One unit is the height of the picture: y runs from 0 (top) to 1, x from 0 to `aspect`. Colours are RRGGBB. Items are
drawn in the order given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rect:
    x: float  # left edge
    y: float  # top edge
    width: float
    height: float
    colour: str
    radius: float = 0.0  # of its corners
    outline: float = 0.0  # line width; 0 fills it


@dataclass(frozen=True, slots=True)
class Circle:
    x: float  # centre
    y: float
    radius: float
    colour: str
    alpha: float = 1.0
    outline: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    start: Point
    end: Point
    colour: str
    width: float
    dash: float = 0.0  # length of a dash and of its gap; 0 draws a whole line


@dataclass(frozen=True, slots=True)
class Polygon:
    points: tuple[Point, ...]
    colour: str
    outline: float = 0.0


@dataclass(frozen=True, slots=True)
class Text:
    x: float  # of the anchor
    y: float  # of the middle of the line
    text: str
    size: float  # height of a line
    colour: str
    anchor: Literal["left", "centre", "right"] = "centre"


@dataclass(frozen=True, slots=True)
class Sprite:
    """A picture that the game itself supplies, as rows of RGB bytes."""

    x: float
    y: float
    width: float
    height: float
    pixels: tuple[int, int]  # columns and rows in `rgb`
    rgb: bytes


Item = Rect | Circle | Line | Polygon | Text | Sprite


@dataclass(frozen=True, slots=True)
class Scene:
    aspect: float
    ground: str
    items: tuple[Item, ...]
    caption: str = ""  # one line that says the same in words: for screen readers, tests and terminals
