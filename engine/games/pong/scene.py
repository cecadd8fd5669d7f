"""Draws Pong: court, net, paddles, score, and a ball with a trail of eight frames."""

from __future__ import annotations

from typing import Any

from engine.scene import SEATS, Circle, Item, Line, Rect, Scene, Text

GROUND, NET, GOAL_LINE, SCORE, BALL = "101826", "2B3950", "1A2436", "5C6B86", "FFFFFF"
TRAIL = 8  # frames
WIDTH, HEIGHT, PADDLE_WIDTH, RADIUS = 800.0, 600.0, 20.0, 7.0


def court_scene(board: Any, half: float) -> Scene:
    """`board` is a record of type `game.BOARD`; `half` is half the height of a paddle."""
    score = [int(points) for points in board["score"]]
    items: list[Item] = [
        Line((_x(0), 0.0), (_x(0), 1.0), NET, 4 / HEIGHT, dash=0.025),
        Text(_x(-100), 0.12, str(score[0]), 0.14, SCORE),
        Text(_x(100), 0.12, str(score[1]), 0.14, SCORE),
    ]
    for side in (-1, 1):  # before the paddles: items that never move come first, and are not repainted
        front = _x(side * (WIDTH / 2 - PADDLE_WIDTH))
        items.append(Line((front, 0.0), (front, 1.0), GOAL_LINE, 2 / HEIGHT))
    for seat in range(2):
        left = 0.0 if seat == 0 else WIDTH - PADDLE_WIDTH
        top = float(board["paddle"][seat]) - half
        items.append(
            Rect(left / HEIGHT, _y(top), PADDLE_WIDTH / HEIGHT, 2 * half / HEIGHT, SEATS[seat], radius=6 / HEIGHT)
        )
    for age, (x, y) in reversed(list(enumerate(_trail(board), start=1))):
        fade = 1.0 - age / (TRAIL + 1)
        items.append(Circle(_x(x), _y(y), RADIUS * (0.4 + 0.5 * fade) / HEIGHT, BALL, alpha=0.35 * fade))
    if not board["over"]:
        items.append(Circle(_x(float(board["x"])), _y(float(board["y"])), RADIUS / HEIGHT, BALL))
    caption = f"Pong, {score[0]} to {score[1]}, step {int(board['step'])}"
    return Scene(WIDTH / HEIGHT, GROUND, tuple(items), caption)


def _trail(board: Any) -> list[tuple[float, float]]:
    """Positions of the ball in the last frames, newest first.

    Between hits and serves the ball flies straight except for reflections, so its earlier positions are computed from
    its velocity, and boards need not store a history.
    """
    since = int(board["step"]) - int(board["event"])
    places = [
        _earlier_position(board["x"], board["y"], board["vx"], board["vy"], k) for k in range(1, min(since, TRAIL) + 1)
    ]
    if board["hit"]:
        for k in range(TRAIL - len(places)):
            places.append(_earlier_position(board["px"], board["py"], board["pvx"], board["pvy"], k))
    return [place for place in places if abs(place[0]) < WIDTH / 2]


def _earlier_position(x: float, y: float, vx: float, vy: float, frames: int) -> tuple[float, float]:
    """The position some frames ago; undoes reflections at the walls."""
    wall = HEIGHT / 2 - RADIUS
    far = float(y - vy * frames)
    if far < -wall:
        far = -2 * wall - far
    elif far > wall:
        far = 2 * wall - far
    return float(x - vx * frames), far


def _x(x: float) -> float:
    return (x + WIDTH / 2) / HEIGHT


def _y(y: float) -> float:
    return (y + HEIGHT / 2) / HEIGHT
