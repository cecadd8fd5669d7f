"""A game that can be drawn in several ways is drawn as a person last chose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.play import replay
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, Limits, MatchSpec
from engine.registry import new_game
from engine.scene import Text
from league_app.gui.context import Desk
from league_app.gui.match.page import MatchPage


@pytest.fixture
def page(desk: Desk, qtbot: QtBot, tmp_path: Path) -> Iterator[MatchPage]:
    made = MatchPage(desk)
    qtbot.addWidget(made)
    made.show()
    yield made
    made.stop()


def letters(page: MatchPage) -> bool:
    scene = page.ring.canvas.scene
    assert scene is not None
    return any(isinstance(item, Text) and item.text == "K" for item in scene.items)


def filed(game: str, tmp_path: Path) -> Path:
    players = (AgentSpec("a", "dice"), AgentSpec("b", "dice"))
    spec = MatchSpec("m", new_game(game).spec, players, 1, None, Limits(6))
    with SequentialMatchExecutor(1) as executor:
        replay.save(tmp_path / f"{game}.replay", spec, executor.execute_match(spec))
    return tmp_path / f"{game}.replay"


def test_pieces_bear_letters_once_a_person_wants_them(page: MatchPage, qtbot: QtBot, tmp_path: Path) -> None:
    said: list[str] = []
    page.desk.said.connect(lambda text, *_: said.append(text))
    page.show_what(filed("shogi", tmp_path))
    qtbot.waitUntil(lambda: page.ring.canvas.scene is not None, timeout=30_000)
    assert not letters(page)
    page.restyle()
    assert letters(page)
    assert page.desk.settings.get("style.shogi") == "letters"
    page.restyle()
    assert not letters(page)
    assert said[-2:] == ["Shogi is drawn with letters", "Shogi is drawn with kanji"]


def test_a_game_that_looks_one_way_says_so(page: MatchPage, qtbot: QtBot, tmp_path: Path) -> None:
    said: list[str] = []
    page.desk.said.connect(lambda text, *_: said.append(text))
    page.show_what(filed("pong", tmp_path))
    qtbot.waitUntil(lambda: page.ring.canvas.scene is not None, timeout=30_000)
    page.restyle()
    assert said[-1] == "Pong looks one way only"
