"""Games with several piece styles are drawn in the chosen one."""

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
from league_app.gui.context import AppContext
from league_app.gui.match.page import MatchPage


@pytest.fixture
def page(context: AppContext, qtbot: QtBot, tmp_path: Path) -> Iterator[MatchPage]:
    page = MatchPage(context)
    qtbot.addWidget(page)
    page.show()
    yield page
    page.stop()


def letters(page: MatchPage) -> bool:
    scene = page.view.canvas.scene
    assert scene is not None
    return any(isinstance(item, Text) and item.text == "K" for item in scene.items)


def filed(game: str, tmp_path: Path) -> Path:
    players = (AgentSpec("a", "dice"), AgentSpec("b", "dice"))
    spec = MatchSpec("m", new_game(game).spec, players, 1, None, Limits(6))
    with SequentialMatchExecutor(1) as executor:
        replay.save(tmp_path / f"{game}.replay", spec, executor.execute_match(spec))
    return tmp_path / f"{game}.replay"


def test_pieces_show_letters_after_the_style_is_changed(page: MatchPage, qtbot: QtBot, tmp_path: Path) -> None:
    messages: list[str] = []
    page.context.notified.connect(lambda text, *_: messages.append(text))
    page.show_item(filed("shogi", tmp_path))
    qtbot.waitUntil(lambda: page.view.canvas.scene is not None)
    assert not letters(page)
    page.restyle()
    assert letters(page)
    assert page.context.settings.get("style.shogi") == "letters"
    page.restyle()
    assert not letters(page)
    assert messages[-2:] == ["Shogi piece style: letters", "Shogi piece style: kanji"]


def test_a_game_with_one_style_reports_it(page: MatchPage, qtbot: QtBot, tmp_path: Path) -> None:
    messages: list[str] = []
    page.context.notified.connect(lambda text, *_: messages.append(text))
    page.show_item(filed("pong", tmp_path))
    qtbot.waitUntil(lambda: page.view.canvas.scene is not None)
    page.restyle()
    assert messages[-1] == "Pong has only one piece style"
