"""The painter draws the items of a scene at their positions."""

from __future__ import annotations

from pathlib import Path

import pygame
import pytest

from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.play.replay import verified
from engine.registry import KINDS, new_game
from engine.scene import Circle, Line, Polygon, Rect, Scene, Sprite, Text
from league_app.rendering.painter import paint, picture, save_png


def test_a_pong_board_is_drawn_to_a_picture(tmp_path: Path) -> None:
    game = new_game("pong")
    agents = {agent.id: agent for agent in KINDS.get("pong-bot").samples(game)}
    spec = MatchSpec("m", game.spec, (agents["Tracker"], agents["Predictor"]), 1)
    with SequentialMatchExecutor(1) as executor:
        playback = verified(spec, executor.execute_match(spec))
    playback.seek(300)
    file = tmp_path / "pong.png"
    save_png(playback.scene(), file)
    image = pygame.image.load(str(file))
    board = playback.boards.records[0]
    assert image.get_size() == (800, 600)
    at = {
        "left paddle": ((10, round(300 + board["paddle"][0])), (0x4A, 0x9B, 0xFF)),
        "right paddle": ((790, round(300 + board["paddle"][1])), (0xFF, 0x7A, 0x33)),
        "ball": ((round(400 + board["x"]), round(300 + board["y"])), (255, 255, 255)),
        "ground": ((200, 590), (0x10, 0x18, 0x26)),
    }
    for what, (place, colour) in at.items():
        assert image.get_at(place)[:3] == pytest.approx(colour, abs=6), what


def test_every_kind_of_item_is_drawn() -> None:
    items = (
        Rect(0.0, 0.0, 0.2, 0.2, "FF0000"),
        Circle(0.5, 0.1, 0.1, "00FF00"),
        Circle(0.8, 0.1, 0.1, "FFFFFF", alpha=0.5),
        Line((0.0, 0.5), (1.0, 0.5), "0000FF", 0.02),
        Polygon(((0.0, 1.0), (0.2, 1.0), (0.1, 0.7)), "FFFF00"),
        Text(0.5, 0.8, "HHHH", 0.3, "FF00FF"),
        Sprite(0.8, 0.8, 0.2, 0.2, (1, 1), bytes((1, 200, 3))),
    )
    image = picture(Scene(1.0, "000000", items), 100)
    wanted = {
        (10, 10): (255, 0, 0),
        (50, 10): (0, 255, 0),
        (30, 50): (0, 0, 255),
        (10, 92): (255, 255, 0),
        (90, 90): (1, 200, 3),
    }
    for place, colour in wanted.items():
        assert image.get_at(place)[:3] == pytest.approx(colour, abs=4), place
    assert 110 < image.get_at((80, 10))[0] < 145, "half transparent"
    assert any(image.get_at((x, 80))[0] > 200 for x in range(25, 75)), "the text"


def test_a_scene_stays_in_proportion_on_any_surface() -> None:
    surface = pygame.Surface((300, 100))
    paint(Scene(1.0, "000000", (Rect(0.0, 0.0, 1.0, 1.0, "FFFFFF"),)), surface)
    row = [surface.get_at((x, 50))[0] for x in range(300)]
    assert row == [0] * 100 + [255] * 100 + [0] * 100


def test_a_dashed_line_has_gaps() -> None:
    image = picture(Scene(1.0, "000000", (Line((0.0, 0.5), (1.0, 0.5), "FFFFFF", 0.1, dash=0.1),)), 100)
    assert image.get_at((5, 50))[0] > 250
    assert image.get_at((15, 50))[0] == 0


def test_only_the_font_module_of_pygame_is_initialised() -> None:
    assert not pygame.display.get_init()
    assert pygame.mixer.get_init() is None
