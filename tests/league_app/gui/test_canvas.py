"""What pygame draws is what Qt shows, pixel by pixel, at any size and ratio."""

from __future__ import annotations

import subprocess
import sys

import pygame
import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.play.replay import Playback, verified
from engine.registry import KINDS, new_game
from engine.scene import Circle, Line, Polygon, Rect, Scene, Text
from league_app.gui import theme
from league_app.gui.match.canvas import NOTHING, BoardCanvas
from league_app.rendering.painter import STABLE, ScenePainter, paint

GROUND, LEFT, RIGHT = 0x101826, 0x4A9BFF, 0xFF7A33


@pytest.fixture(scope="module")
def rally() -> Playback:
    game = new_game("pong", points=2)
    bots = {agent.id: agent for agent in KINDS.get("pong-bot").samples(game)}
    spec = MatchSpec("m", game.spec, (bots["Tracker"], bots["Shaky"]), 1)
    with SequentialMatchExecutor(1) as executor:
        return verified(spec, executor.execute_match(spec))


class Ratio(BoardCanvas):
    """A canvas on a screen with this pixel ratio."""

    ratio = 1.0

    def devicePixelRatioF(self) -> float:  # noqa: N802
        return self.ratio


def shown(qtbot: QtBot, width: int, height: int) -> Ratio:
    theme.apply("light")
    canvas = Ratio()
    qtbot.addWidget(canvas)
    canvas.resize(width, height)
    canvas.show()
    return canvas


def colours(image: QImage, x: int) -> set[int]:
    return {image.pixel(x, y) & 0xFFFFFF for y in range(image.height())}


def test_a_match_is_letterboxed_in_its_background_colour(qtbot: QtBot, rally: Playback) -> None:
    canvas = shown(qtbot, 900, 300)
    rally.seek(100)
    canvas.show_scene(rally.scene())
    assert colours(canvas.image, 100) == {GROUND}, "beside the court, which is 400 pixels wide"
    assert LEFT in colours(canvas.image, 255)
    assert RIGHT in colours(canvas.image, 645)
    assert canvas.accessibleDescription() == rally.scene().caption
    grabbed = canvas.grab().toImage()
    assert [grabbed.pixel(x, 150) for x in range(20, 880)] == [canvas.image.pixel(x, 150) for x in range(20, 880)]


def test_without_a_scene_only_the_background_is_shown(qtbot: QtBot) -> None:
    canvas = shown(qtbot, 300, 200)
    canvas.show_scene(Scene(1.0, "FF0000", (), "red"))
    canvas.show_scene(None)
    assert colours(canvas.image, 150) == {int(NOTHING.ground, 16)}
    assert canvas.accessibleDescription() == ""


def test_the_image_is_recreated_when_size_or_pixel_ratio_changes(qtbot: QtBot, rally: Playback) -> None:
    canvas = shown(qtbot, 400, 300)
    rally.seek(50)
    canvas.show_scene(rally.scene())
    sizes = [(canvas.image.width(), canvas.image.height())]
    canvas.resize(500, 300)
    sizes.append((canvas.image.width(), canvas.image.height()))
    canvas.ratio = 2.0
    canvas.grab()  # paints, as after moving to another screen
    sizes.append((canvas.image.width(), canvas.image.height()))
    assert sizes == [(400, 300), (500, 300), (1000, 600)]
    assert canvas.image.devicePixelRatio() == 2.0
    assert LEFT in colours(canvas.image, 100 + 10), "the court of 800 pixels is in the middle"
    rally.seek(60)
    canvas.show_scene(rally.scene())
    expected = pygame.Surface((1000, 600))
    paint(rally.scene(), expected)
    assert as_bytes(canvas.image) == pygame.image.tobytes(expected, "RGB")


def as_bytes(image: QImage) -> bytes:
    rgb = image.convertToFormat(QImage.Format.Format_RGB888)
    line = rgb.width() * 3
    data, step = bytes(rgb.constBits()), rgb.bytesPerLine()
    return b"".join(data[row * step : row * step + line] for row in range(rgb.height()))


def test_an_unchanged_scene_is_not_drawn_again(qtbot: QtBot, rally: Playback) -> None:
    canvas = shown(qtbot, 400, 300)
    rally.seek(50)
    canvas.show_scene(rally.scene())
    QApplication.processEvents()
    drawn = []
    before = canvas._draw
    canvas._draw = lambda: drawn.append(1) or before()  # type: ignore[method-assign, func-returns-value]
    canvas.show_scene(rally.scene())
    assert not drawn
    rally.seek(51)
    canvas.show_scene(rally.scene())
    assert drawn


def test_drawing_only_what_changed_gives_the_same_picture(rally: Playback) -> None:
    whole = pygame.Surface((640, 480))
    surface = pygame.image.frombuffer(bytearray(640 * 480 * 4), (640, 480), "BGRA")  # as in the window
    painter = ScenePainter(surface)
    for step in [*range(200), 350, 20, rally.steps, *range(100, 140)]:
        rally.seek(step)
        painter.draw(rally.scene())
        paint(rally.scene(), whole)
        assert pygame.image.tobytes(surface, "RGB") == pygame.image.tobytes(whole, "RGB"), step


def test_moving_items_leave_no_traces_on_cached_ones() -> None:
    tiles = tuple(Rect(0.05 + 0.1 * k, 0.4, 0.09, 0.2, "1A2436", radius=0.03) for k in range(9))
    whole = pygame.Surface((200, 200))
    surface = pygame.image.frombuffer(bytearray(200 * 200 * 4), (200, 200), "BGRA")  # as in the window
    painter = ScenePainter(surface)
    for step in range(STABLE + 20):
        scene = Scene(1.0, "101826", (*tiles, Circle(0.1 + step * 0.013, 0.45, 0.05, "4A9BFF")))
        painter.draw(scene)
        paint(scene, whole)
        assert pygame.image.tobytes(surface, "RGB") == pygame.image.tobytes(whole, "RGB"), step


def test_edges_are_antialiased_and_keep_their_position() -> None:
    items = (
        Rect(0.05, 0.05, 0.3, 0.3, "FFFFFF", radius=0.1),
        Rect(0.55, 0.05, 0.4, 0.3, "FFFFFF", radius=0.1, outline=0.02),
        Circle(0.25, 0.7, 0.15, "FFFFFF"),
        Polygon(((0.5, 0.9), (0.6, 0.5), (0.7, 0.9)), "FFFFFF"),
        Line((0.75, 0.9), (0.95, 0.5), "FFFFFF", 0.03),
        Text(0.5, 0.45, "0", 0.1, "FFFFFF"),
    )
    surface = pygame.Surface((200, 200))
    paint(Scene(1.0, "000000", items), surface)
    for place in ((40, 40), (50, 140), (120, 160), (170, 140), (112, 30)):
        assert surface.get_at(place)[0] == 255, f"inside at {place}"
    for place in ((11, 11), (150, 40), (50, 185), (105, 120), (150, 100)):
        assert surface.get_at(place)[0] == 0, f"outside at {place}"
    for area in ((10, 10, 20, 20), (20, 110, 60, 60), (100, 100, 40, 80), (150, 100, 40, 80)):
        greys = {
            surface.get_at((x, y))[0]
            for x in range(area[0], area[0] + area[2])
            for y in range(area[1], area[1] + area[3])
        }
        assert len(greys) > 4, f"an edge in {area} has steps between black and white"


def test_stopping_a_timer_leaks_no_reference_to_none(qtbot: QtBot) -> None:
    timer = QTimer()
    timer.stop()
    before = sys.getrefcount(None)
    for _ in range(500):
        timer.stop()
    assert abs(sys.getrefcount(None) - before) < 50


def test_the_window_is_imported_without_pygames_greeting() -> None:
    command = [sys.executable, "-c", "import league_app.gui.match.canvas"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""
