"""Draws scenes on pygame surfaces.

Uses only what pygame and pygame-ce share, and never opens a display or sound. pygame's shapes are not antialiased, so
shapes that are not axis-aligned are drawn larger once, scaled down, and cached as stamps.
"""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pygame

from engine.errors import BadValue
from engine.files import asset, write_file
from engine.scene import Circle, Item, Line, Point, Polygon, Rect, Scene, Sprite, Text

SMOOTH = 3  # scale factor of still pictures before they are scaled down
FINE = 4  # scale factor of stamps; their positions are rounded to quarters of a pixel
STABLE = 30  # draws without a change after which an item becomes part of the background
LARGE = 400  # pixels; larger shapes are not cached
LINE_HEIGHT = 1.21  # of the Inter font, relative to its size
Place = Callable[[float, float], Point]


def paint(scene: Scene, surface: pygame.Surface) -> None:
    """Draws the scene on the surface, centred if the proportions differ."""
    surface.fill("#" + scene.ground)
    unit, at = _frame(scene.aspect, surface)
    for item in scene.items:
        _draw(item, surface, unit, at)


def picture(scene: Scene, height: int = 600) -> pygame.Surface:
    """Renders the scene as an antialiased picture of this height."""
    size = (round(height * scene.aspect), height)
    large = pygame.Surface((size[0] * SMOOTH, size[1] * SMOOTH))
    paint(scene, large)
    return pygame.transform.smoothscale(large, size)


def save_png(scene: Scene, path: Path, height: int = 600, overwrite: bool = False, field: str = "file") -> None:
    """Saves a picture; see `write_file`."""
    check_png(path, field)
    drawn = io.BytesIO()
    pygame.image.save(picture(scene, height), drawn, "picture.png")
    write_file(path, drawn.getvalue(), overwrite, field)


def check_png(path: Path, field: str = "file") -> None:
    if path.suffix.lower() != ".png":
        raise BadValue(field, str(path), "a file name that ends in .png")


class ScenePainter:
    """Draws successive scenes on a surface, and redraws only what has changed.

    The first items of a scene rarely change (a board, a net, the score): after a while they are cached as a background
    picture, from which the surface is restored wherever other items were.
    """

    def __init__(self, surface: pygame.Surface) -> None:
        self._surface = surface
        # Without alpha: items drawn over cached stamps would leave marks at their corners
        self._still = pygame.Surface(surface.get_size(), 0, 32, (*surface.get_masks()[:3], 0))
        self._kept = 0  # number of items in the background picture
        self._scene: Scene | None = None
        self._loose: list[pygame.Rect] = []  # areas of the other items
        self._unchanged: list[int] = []  # number of leading items that did not change, in the last draws

    def draw(self, scene: Scene) -> list[pygame.Rect]:
        """Draws the scene and returns the areas of the surface that may have changed."""
        before, self._scene = self._scene, scene
        same = _common(before, scene)
        unit, at = _frame(scene.aspect, self._surface)
        if same < self._kept:
            self._kept, self._unchanged = max(same, 0), []
            self._still.fill("#" + scene.ground)
            self._keep(scene, 0, self._kept)
            self._surface.blit(self._still, (0, 0))
            changed = [self._surface.get_rect()]
        else:
            self._unchanged.append(same)
            if len(self._unchanged) == STABLE:
                self._keep(scene, self._kept, min(self._unchanged))
                self._kept, self._unchanged = min(self._unchanged), []
            for part in self._loose:
                self._surface.blit(self._still, part, part)
            changed = self._loose
        self._loose = [_draw(item, self._surface, unit, at) for item in scene.items[self._kept :]]
        return [part for part in changed + self._loose if part.w and part.h]

    def _keep(self, scene: Scene, first: int, last: int) -> None:
        unit, at = _frame(scene.aspect, self._still)
        for item in scene.items[first:last]:
            _draw(item, self._still, unit, at)


def _common(before: Scene | None, after: Scene) -> int:
    """The number of equal leading items; -1 if the background colour or the proportions differ."""
    if before is None or (before.aspect, before.ground) != (after.aspect, after.ground):
        return -1
    pairs = enumerate(zip(before.items, after.items, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(before.items), len(after.items)))


def _frame(aspect: float, surface: pygame.Surface) -> tuple[float, Place]:
    """The pixels per unit, and the function that maps a point of the scene to pixels."""
    width, height = surface.get_size()
    unit = min(width / aspect, float(height))
    left, top = round((width - unit * aspect) / 2), round((height - unit) / 2)

    def at(x: float, y: float) -> Point:
        return left + x * unit, top + y * unit

    return unit, at


def _draw(item: Item, surface: pygame.Surface, unit: float, at: Place) -> pygame.Rect:
    """Draws an item and returns the area it covers."""
    match item:
        case Rect():
            box = _box(at(item.x, item.y), at(item.x + item.width, item.y + item.height))
            radius = min(round(item.radius * unit), box.w // 2, box.h // 2)
            return _rect(surface, box, item.colour, radius, _stroke(item.outline, unit))
        case Circle():
            return _circle(item, surface, at(item.x, item.y), item.radius * unit, unit)
        case Line():
            return _line(item, surface, at(*item.start), at(*item.end), unit)
        case Polygon():
            return _polygon(surface, [at(*point) for point in item.points], item.colour, _stroke(item.outline, unit))
        case Text():
            return _text(item, surface, at(item.x, item.y), unit)
        case Sprite():
            size = (max(round(item.width * unit), 1), max(round(item.height * unit), 1))
            return surface.blit(_scaled(item.rgb, item.pixels, size), at(item.x, item.y))


def _rect(surface: pygame.Surface, box: pygame.Rect, colour: str, radius: int, stroke: int) -> pygame.Rect:
    """Draws sides on whole pixels, and rounded corners as quarters of a cached disc."""
    if radius <= 0:
        return pygame.draw.rect(surface, "#" + colour, box, stroke)
    disc = _disc(float(radius), 0.0, 0.0, colour, 1.0, stroke)
    middle, far = disc.get_width() // 2, (box.right - radius, box.bottom - radius)
    for across in (0, 1):
        for down in (0, 1):
            place = (far[0] if across else box.left, far[1] if down else box.top)
            quarter = (middle - radius * (1 - across), middle - radius * (1 - down), radius, radius)
            surface.blit(disc, place, quarter)
    wide, high = box.w - 2 * radius, box.h - 2 * radius
    thick = stroke or radius
    bars = [(box.left + radius, y, wide, thick) for y in (box.top, box.bottom - thick)]
    bars += [(x, box.top + radius, thick, high) for x in (box.left, box.right - thick)]
    if not stroke:
        bars.append((box.left + radius, box.top + radius, wide, high))
    for bar in bars:
        surface.fill("#" + colour, bar)
    return box.clip(surface.get_rect())


def _circle(item: Circle, surface: pygame.Surface, centre: Point, radius: float, unit: float) -> pygame.Rect:
    stroke = _stroke(item.outline, unit)
    step = FINE if radius < LARGE / 4 else 1
    x, y = (round(value * step) / step for value in centre)
    whole = math.floor(x), math.floor(y)
    rounded = max(round(radius * 8), 1) / 8
    disc = _disc(rounded, x - whole[0], y - whole[1], item.colour, item.alpha, stroke)
    middle = disc.get_width() // 2
    return surface.blit(disc, (whole[0] - middle, whole[1] - middle))


@functools.lru_cache(maxsize=1024)
def _disc(radius: float, x: float, y: float, colour: str, alpha: float, stroke: int) -> pygame.Surface:
    """A disc whose centre has this offset within the middle pixel."""
    middle = math.ceil(radius) + 1
    fine = FINE if middle < LARGE else 1
    large = _sheet(2 * middle * fine, 2 * middle * fine, colour)
    centre = ((middle + x) * fine, (middle + y) * fine)
    pygame.draw.circle(large, _ink(colour, alpha), centre, radius * fine, stroke * fine)
    return pygame.transform.smoothscale(large, (2 * middle, 2 * middle)) if fine > 1 else large


def _line(item: Line, surface: pygame.Surface, start: Point, end: Point, unit: float) -> pygame.Rect:
    width = max(round(item.width * unit), 1)
    length = math.dist(start, end)
    dash = item.dash * unit or length or 1.0
    touched = []
    for k in range(math.ceil(length / (2 * dash))):
        a, b = 2 * k * dash / length, min((2 * k + 1) * dash / length, 1.0)
        touched.append(_bar(surface, _between(start, end, a), _between(start, end, b), item.colour, width))
    return touched[0].unionall(touched[1:]) if touched else pygame.Rect(0, 0, 0, 0)


def _bar(surface: pygame.Surface, start: Point, end: Point, colour: str, width: int) -> pygame.Rect:
    """A straight segment; horizontal and vertical ones lie on whole pixels."""
    (x, y), (x2, y2) = start, end
    if round(x) == round(x2):
        left, (top, bottom) = round(x - width / 2), sorted((round(y), round(y2)))
        return surface.fill("#" + colour, (left, top, width, bottom - top))
    if round(y) == round(y2):
        top, (left, right) = round(y - width / 2), sorted((round(x), round(x2)))
        return surface.fill("#" + colour, (left, top, right - left, width))
    half = width / 2 / math.dist(start, end)
    across, down = (y - y2) * half, (x2 - x) * half
    corners = [(x + across, y + down), (x2 + across, y2 + down), (x2 - across, y2 - down), (x - across, y - down)]
    return _polygon(surface, corners, colour, 0)


def _polygon(surface: pygame.Surface, points: Sequence[Point], colour: str, stroke: int) -> pygame.Rect:
    left, top = (math.floor(min(point[k] for point in points)) - stroke - 1 for k in (0, 1))
    right, bottom = (math.ceil(max(point[k] for point in points)) + stroke + 1 for k in (0, 1))
    if max(right - left, bottom - top) > LARGE:
        box = pygame.draw.polygon(surface, "#" + colour, points, stroke)
        return box.union(pygame.draw.aalines(surface, "#" + colour, True, points))
    inner = tuple((round((x - left) * FINE), round((y - top) * FINE)) for x, y in points)
    return surface.blit(_cut(inner, (right - left, bottom - top), colour, stroke), (left, top))


@functools.lru_cache(maxsize=512)
def _cut(points: tuple[tuple[int, int], ...], size: tuple[int, int], colour: str, stroke: int) -> pygame.Surface:
    """A polygon with corners in quarters of a pixel."""
    large = _sheet(size[0] * FINE, size[1] * FINE, colour)
    pygame.draw.polygon(large, _ink(colour, 1.0), points, stroke * FINE)
    return pygame.transform.smoothscale(large, size)


def _text(item: Text, surface: pygame.Surface, place: Point, unit: float) -> pygame.Rect:
    image = _written(item.text, max(round(item.size * unit), 1), item.colour)
    shift = {"left": 0.0, "centre": 0.5, "right": 1.0}[item.anchor]
    return surface.blit(image, (round(place[0] - shift * image.get_width()), round(place[1] - image.get_height() / 2)))


@functools.lru_cache(maxsize=512)
def _written(text: str, height: int, colour: str) -> pygame.Surface:
    return _font(height).render(text, True, "#" + colour)


@functools.lru_cache(maxsize=64)
def _font(height: int) -> pygame.font.Font:
    """The font with this line height."""
    pygame.font.init()  # not pygame.init(), which opens sound and catches SIGTERM
    file = asset("fonts/Inter-SemiBold.ttf")
    return pygame.font.Font(None if file is None else str(file), max(round(height / LINE_HEIGHT), 1))


@functools.lru_cache(maxsize=16)  # a sprite may be a frame of several megabytes
def _scaled(rgb: bytes, pixels: tuple[int, int], size: tuple[int, int]) -> pygame.Surface:
    return pygame.transform.smoothscale(pygame.image.frombuffer(rgb, pixels, "RGB"), size)


def _sheet(width: int, height: int, colour: str) -> pygame.Surface:
    """A transparent surface of this colour, so that scaled-down edges keep their colour."""
    made = pygame.Surface((width, height), pygame.SRCALPHA)
    made.fill(_ink(colour, 0.0))
    return made


def _ink(colour: str, alpha: float) -> pygame.Color:
    made = pygame.Color("#" + colour)
    made.a = round(255 * alpha)
    return made


def _box(first: Point, last: Point) -> pygame.Rect:
    left, top, right, bottom = round(first[0]), round(first[1]), round(last[0]), round(last[1])
    return pygame.Rect(left, top, right - left, bottom - top)


def _between(start: Point, end: Point, part: float) -> Point:
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def _stroke(width: float, unit: float) -> int:
    return max(round(width * unit), 1) if width else 0
