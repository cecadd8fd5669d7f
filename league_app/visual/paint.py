"""Draws a scene on a pygame surface: the only place that knows both.

Only what pygame and pygame-ce share is used, and no display or sound is ever opened.
"""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import pygame

from engine.scene import Circle, Item, Line, Point, Polygon, Rect, Scene, Sprite, Text

SMOOTH = 3  # stills are drawn larger by this factor and scaled down: pygame's own shapes have hard edges


def paint(scene: Scene, surface: pygame.Surface) -> None:
    """Fill the surface with the scene, in the middle where the proportions differ."""
    width, height = surface.get_size()
    unit = min(width / scene.aspect, height)
    left, top = (width - unit * scene.aspect) / 2, (height - unit) / 2
    surface.fill("#" + scene.ground)
    for item in scene.items:
        _draw(item, surface, unit, left, top)


def picture(scene: Scene, height: int = 600) -> pygame.Surface:
    """The scene as a still picture of this height."""
    size = (round(height * scene.aspect), height)
    large = pygame.Surface((size[0] * SMOOTH, size[1] * SMOOTH))
    paint(scene, large)
    return pygame.transform.smoothscale(large, size)


def save_png(scene: Scene, path: Path, height: int = 600) -> None:
    if path.suffix.lower() != ".png":
        raise OSError(f"{path.suffix or 'no ending'} instead of .png")
    try:
        pygame.image.save(picture(scene, height), str(path))
    except pygame.error as error:
        raise OSError(str(error)) from None


def _draw(item: Item, surface: pygame.Surface, unit: float, left: float, top: float) -> None:
    def at(x: float, y: float) -> tuple[float, float]:
        return left + x * unit, top + y * unit

    match item:
        case Rect():
            x, y = at(item.x, item.y)
            x2, y2 = at(item.x + item.width, item.y + item.height)
            box = pygame.Rect(round(x), round(y), round(x2) - round(x), round(y2) - round(y))
            width = _stroke(item.outline, unit)
            pygame.draw.rect(surface, "#" + item.colour, box, width, border_radius=round(item.radius * unit))
        case Circle():
            _circle(item, surface, at(item.x, item.y), item.radius * unit, unit)
        case Line():
            _line(item, surface, at(*item.start), at(*item.end), unit)
        case Polygon():
            points = [at(*point) for point in item.points]
            pygame.draw.polygon(surface, "#" + item.colour, points, _stroke(item.outline, unit))
        case Text():
            image = _font(max(round(item.size * unit), 1)).render(item.text, True, "#" + item.colour)
            x, y = at(item.x, item.y)
            shift = {"left": 0.0, "centre": 0.5, "right": 1.0}[item.anchor]
            surface.blit(image, (round(x - shift * image.get_width()), round(y - image.get_height() / 2)))
        case Sprite():
            image = pygame.image.frombuffer(item.rgb, item.pixels, "RGB")
            size = (max(round(item.width * unit), 1), max(round(item.height * unit), 1))
            surface.blit(pygame.transform.smoothscale(image, size), at(item.x, item.y))


def _circle(item: Circle, surface: pygame.Surface, centre: Point, radius: float, unit: float) -> None:
    width = _stroke(item.outline, unit)
    if item.alpha >= 1.0:
        pygame.draw.circle(surface, "#" + item.colour, centre, radius, width)
        return
    side = 2 * math.ceil(radius) + 2
    veil = pygame.Surface((side, side), pygame.SRCALPHA)
    colour = pygame.Color("#" + item.colour)
    colour.a = round(255 * item.alpha)
    pygame.draw.circle(veil, colour, (side / 2, side / 2), radius, width)
    surface.blit(veil, (round(centre[0] - side / 2), round(centre[1] - side / 2)))


def _line(item: Line, surface: pygame.Surface, start: Point, end: Point, unit: float) -> None:
    width = max(round(item.width * unit), 1)
    length = math.dist(start, end)
    dash = item.dash * unit or length or 1.0
    for k in range(math.ceil(length / (2 * dash))):
        a, b = 2 * k * dash / length, min((2 * k + 1) * dash / length, 1.0)
        pygame.draw.line(surface, "#" + item.colour, _between(start, end, a), _between(start, end, b), width)


def _between(start: Point, end: Point, part: float) -> Point:
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def _stroke(width: float, unit: float) -> int:
    return max(round(width * unit), 1) if width else 0


@functools.lru_cache(maxsize=64)
def _font(size: int) -> pygame.font.Font:
    pygame.font.init()  # never pygame.init(): it opens sound and swallows SIGTERM
    return pygame.font.Font(None, size)
