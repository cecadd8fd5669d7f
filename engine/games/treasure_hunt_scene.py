"""What a Treasure Hunt looks like: rounded tiles, yellow diamonds, and seats told apart by shape, number and colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.scene import Circle, Item, Line, Point, Polygon, Rect, Scene, Text

GROUND, TILE, PILLAR, PILLAR_TOP, GEM, GLINT, INK = "101826", "1A2436", "3A4860", "4A5A76", "FFD24D", "FFF0BF", "101826"
SEATS = ("4A9BFF", "FF7A33", "3CCFA0", "E9A6F2", "FFFFFF")
CORNERS = (0, 4, 3, 5, 6)  # of a seat's shape; 0 is a disc. From the sixth seat on they are hollow
MARGIN = 0.02
EMPTY, WALL, TREASURE, FIRST = range(4)  # as in the boards


@dataclass
class GroundPlan:
    """Where the cells of a board are drawn. The tiles of one arrangement of pillars are made once: they never move."""

    width: int
    height: int
    turns: int
    _tiles: dict[tuple[int, ...], tuple[Item, ...]] = field(default_factory=dict)

    @property
    def cell(self) -> float:
        return (1.0 - 2 * MARGIN) / self.height

    @property
    def aspect(self) -> float:
        return self.cell * self.width + 2 * MARGIN

    def middle(self, number: int) -> Point:
        row, column = divmod(number, self.width)
        return MARGIN + (column + 0.5) * self.cell, MARGIN + (row + 0.5) * self.cell

    def tiles(self, cells: Sequence[int]) -> tuple[Item, ...]:
        pillars = tuple(number for number, what in enumerate(cells) if what == WALL)
        if pillars not in self._tiles:
            self._tiles.clear()  # one match at a time is looked at
            self._tiles[pillars] = self._laid(set(pillars))
        return self._tiles[pillars]

    def _laid(self, pillars: set[int]) -> tuple[Item, ...]:
        items: list[Item] = []
        gap, size = self.cell * 0.04, self.cell * 0.92
        for number in range(self.width * self.height):
            x, y = (value - self.cell / 2 + gap for value in self.middle(number))
            if number in pillars:
                items.append(Rect(x, y, size, size, PILLAR, radius=self.cell * 0.16))
                items.append(Rect(x, y, size, size * 0.82, PILLAR_TOP, radius=self.cell * 0.16))
            else:
                items.append(Rect(x, y, size, size, TILE, radius=self.cell * 0.16))
        return tuple(items)


def hunt_scene(
    plan: GroundPlan, cells: Sequence[int], steps: Sequence[tuple[int, int]], treasure: Sequence[int], turn: int
) -> Scene:
    """`cells` by row, `steps` where each seat was a turn ago and where it is."""
    items = list(plan.tiles(cells))
    for number, what in enumerate(cells):
        if what == TREASURE:
            items += _gem(plan.middle(number), plan.cell)
    for seat, (before, now) in enumerate(steps):
        if before != now:
            items.append(Line(plan.middle(before), plan.middle(now), SEATS[seat % len(SEATS)], plan.cell * 0.08))
    for seat, (_, now) in enumerate(steps):
        items += _seat(seat, plan.middle(now), plan.cell)
    count = sum(what == TREASURE for what in cells)
    lying = f"{count} gem{'s' * (count != 1)} to be had"
    caption = f"Treasure Hunt, turn {turn} of {plan.turns}: {', '.join(map(str, treasure))}; {lying}"
    return Scene(plan.aspect, GROUND, tuple(items), caption)


def _gem(middle: Point, cell: float) -> list[Item]:
    x, y = middle
    wide, high = cell * 0.2, cell * 0.27
    left, right, top, bottom = (x - wide, y), (x + wide, y), (x, y - high), (x, y + high)
    return [Polygon((top, right, bottom, left), GEM), Polygon((top, (x + wide * 0.3, y), left), GLINT)]


def _seat(seat: int, middle: Point, cell: float) -> list[Item]:
    x, y = middle
    colour, corners = SEATS[seat % len(SEATS)], CORNERS[seat % len(CORNERS)]
    radius, hollow = cell * 0.36, seat >= len(SEATS)
    outlines = [(radius, colour), (radius * 0.76, GROUND)] if hollow else [(radius, colour)]
    items: list[Item] = []
    for size, paint in outlines:
        items.append(_shape(x, y, size, corners, paint))
    low = cell * 0.06 if corners == 3 else 0.0  # a triangle has its room below
    items.append(Text(x, y + low, str(seat + 1), cell * (0.36 if seat < 9 else 0.3), colour if hollow else INK))
    return items


def _shape(x: float, y: float, radius: float, corners: int, colour: str) -> Item:
    if corners == 0:
        return Circle(x, y, radius, colour)
    far = radius * {3: 1.28, 4: 1.22, 5: 1.12, 6: 1.08}[corners]  # so that all look equally large
    turn = math.pi / 4 if corners == 4 else 0.0
    lower = y + far * 0.14 if corners == 3 else y
    angles = [turn + 2 * math.pi * k / corners for k in range(corners)]
    return Polygon(tuple((x + far * math.sin(angle), lower - far * math.cos(angle)) for angle in angles), colour)
