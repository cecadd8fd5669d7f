"""A drawing of a position as shapes and texts, independent of any graphics library.

One unit is the height of the picture: y runs from 0 (top) to 1, x from 0 to `aspect`. Colours are RRGGBB. Items are
drawn in the order given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]
SEATS = ("4A9BFF", "FF7A33", "3CCFA0", "E9A6F2", "FFFFFF")  # colours on a dark background, the same in all games
CORNERS = (0, 4, 3, 5, 6)  # of the shape of a seat; 0 is a disc
SWELL = {3: 1.28, 4: 1.22, 5: 1.12, 6: 1.08}  # scale by number of corners, so that all shapes look equally large


@dataclass(frozen=True, slots=True)
class Rect:
    x: float  # left edge
    y: float  # top edge
    width: float
    height: float
    colour: str
    radius: float = 0.0  # of its corners
    outline: float = 0.0  # line width; 0 fills the shape


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
    """An image supplied by the game, as rows of RGB bytes."""

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
    caption: str = ""  # one line that describes the scene: for screen readers, tests and terminals
    ending: str = ""  # how the match ended by the rules, if not only by score: "checkmate"


def seat_colour(seat: int) -> str:
    return SEATS[seat % len(SEATS)]


def is_hollow(seat: int) -> bool:
    """Whether the seat reuses the colour and shape of an earlier seat, drawn as an outline."""
    return seat >= len(SEATS)


def seat_corners(seat: int) -> tuple[Point, ...]:
    """The corners of the shape, centred at 0 and as large as a disc of radius 1; empty for a disc."""
    count = CORNERS[seat % len(CORNERS)]
    if not count:
        return ()
    turn, lower = (math.pi / 4 if count == 4 else 0.0), (SWELL[3] * 0.14 if count == 3 else 0.0)
    angles = [turn + 2 * math.pi * k / count for k in range(count)]
    return tuple((SWELL[count] * math.sin(angle), lower - SWELL[count] * math.cos(angle)) for angle in angles)
