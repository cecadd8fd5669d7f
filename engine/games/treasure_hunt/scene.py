"""Draws Treasure Hunt: rounded tiles, yellow gems, and seats that differ in shape, number and colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.scene import Circle, Item, Line, Point, Polygon, Rect, Scene, Text, is_hollow, seat_colour, seat_corners

GROUND, TILE, PILLAR, PILLAR_TOP, GEM, GLINT, INK = "101826", "1A2436", "3A4860", "4A5A76", "FFD24D", "FFF0BF", "101826"
MARGIN = 0.02
SMALL = 24  # cells across or down; larger boards are drawn without single tiles and glints, to save time


@dataclass
class BoardLayout:
    """The positions of a board's cells in the picture. Tiles are cached, because pillars never move during a match."""

    width: int
    height: int
    turns: int
    wall: int  # value of a cell with a pillar
    gem: int  # value of a cell with a gem
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
        pillars = tuple(number for number, what in enumerate(cells) if what == self.wall)
        if pillars not in self._tiles:
            self._tiles.clear()  # only one match is shown at a time
            self._tiles[pillars] = self._build_tiles(set(pillars))
        return self._tiles[pillars]

    @property
    def small(self) -> bool:
        return max(self.width, self.height) <= SMALL

    def _build_tiles(self, pillars: set[int]) -> tuple[Item, ...]:
        items: list[Item] = [] if self.small else self._build_grid()
        gap, size = self.cell * 0.04, self.cell * 0.92
        for number in range(self.width * self.height) if self.small else sorted(pillars):
            x, y = (value - self.cell / 2 + gap for value in self.middle(number))
            if number in pillars:
                items.append(Rect(x, y, size, size, PILLAR, radius=self.cell * 0.16))
                items.append(Rect(x, y, size, size * 0.82, PILLAR_TOP, radius=self.cell * 0.16))
            else:
                items.append(Rect(x, y, size, size, TILE, radius=self.cell * 0.16))
        return tuple(items)

    def _build_grid(self) -> list[Item]:
        """A plain field with grid lines instead of tiles."""
        right, bottom, thin = self.aspect - MARGIN, 1.0 - MARGIN, self.cell * 0.08
        items: list[Item] = [Rect(MARGIN, MARGIN, right - MARGIN, bottom - MARGIN, TILE)]
        for x in (MARGIN + column * self.cell for column in range(1, self.width)):
            items.append(Line((x, MARGIN), (x, bottom), GROUND, thin))
        for y in (MARGIN + row * self.cell for row in range(1, self.height)):
            items.append(Line((MARGIN, y), (right, y), GROUND, thin))
        return items


def hunt_scene(
    layout: BoardLayout, cells: Sequence[int], steps: Sequence[tuple[int, int]], treasure: Sequence[int], turn: int
) -> Scene:
    """`cells` are listed row by row; `steps` holds each seat's cell a turn ago and now."""
    items = list(layout.tiles(cells))
    for number, what in enumerate(cells):
        if what == layout.gem:
            items += _gem(layout.middle(number), layout.cell)[: 2 if layout.small else 1]
    for seat, (before, now) in enumerate(steps):
        if before != now:
            items.append(Line(layout.middle(before), layout.middle(now), seat_colour(seat), layout.cell * 0.08))
    for seat, (_, now) in enumerate(steps):
        items += _seat(seat, layout.middle(now), layout.cell)
    count = sum(what == layout.gem for what in cells)
    gems = f"{count} gem{'s' * (count != 1)} left"
    caption = f"Treasure Hunt, turn {turn} of {layout.turns}: {', '.join(map(str, treasure))}; {gems}"
    return Scene(layout.aspect, GROUND, tuple(items), caption)


def _gem(middle: Point, cell: float) -> list[Item]:
    x, y = middle
    wide, high = cell * 0.2, cell * 0.27
    left, right, top, bottom = (x - wide, y), (x + wide, y), (x, y - high), (x, y + high)
    return [Polygon((top, right, bottom, left), GEM), Polygon((top, (x + wide * 0.3, y), left), GLINT)]


def _seat(seat: int, middle: Point, cell: float) -> list[Item]:
    x, y = middle
    colour, corners = seat_colour(seat), seat_corners(seat)
    radius, hollow = cell * 0.36, is_hollow(seat)
    outlines = [(radius, colour), (radius * 0.76, GROUND)] if hollow else [(radius, colour)]
    items: list[Item] = []
    for size, paint in outlines:
        shape = tuple((x + size * across, y + size * down) for across, down in corners)
        items.append(Polygon(shape, paint) if shape else Circle(x, y, size, paint))
    low = cell * 0.06 if len(corners) == 3 else 0.0  # a triangle has more room below its centre
    items.append(Text(x, y + low, str(seat + 1), cell * (0.36 if seat < 9 else 0.3), colour if hollow else INK))
    return items
