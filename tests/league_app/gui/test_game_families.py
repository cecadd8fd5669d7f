"""Games of families, such as PettingZoo, in the dialogs that offer games."""

from __future__ import annotations

import sys

import pytest
from pytestqt.qtbot import QtBot

from engine.play.match import GameSpec
from engine.registry import new_game
from league_app.gui import league_files
from league_app.gui.context import AppContext, pools
from league_app.gui.dialogs.add_agents import ReadyMadeDialog
from league_app.gui.dialogs.tournament import TournamentDialog
from league_app.gui.dialogs.training_session import choices
from league_app.gui.game_selector import game_text

RPS = "pettingzoo:rps_v2"


def test_a_family_game_is_added_by_name_and_listed_from_then_on(context: AppContext, qtbot: QtBot) -> None:
    assert RPS not in choices(context.league).games
    dialog = ReadyMadeDialog(context, RPS)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.game.chosen == RPS
    qtbot.waitUntil(lambda: dialog.list.list.count() > 0)
    dialog.list.field.setText("Dice")
    dialog.list.check_all()
    dialog.add()
    qtbot.waitUntil(lambda: "Dice" in [agent.name for agent in context.league.agents(RPS)])
    spec = new_game(RPS).spec
    assert spec in pools(context.league)
    assert game_text(spec) == "Rps (PettingZoo)"
    assert choices(context.league).games[RPS] == "Rps (PettingZoo)"
    tournament = TournamentDialog(context)
    qtbot.addWidget(tournament)
    assert tournament.game.findData(RPS) >= 0


def test_a_family_game_that_cannot_be_loaded_shows_why(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "chess", None)
    dialog = ReadyMadeDialog(context, "pettingzoo:chess_v6")
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(dialog.error.isVisible)
    assert "it needs the package 'chess'" in dialog.error.text().replace("\u200b", "")
    assert not dialog.add_button.isEnabled()
    dialog.game.setCurrentIndex(dialog.game.findData(RPS))
    qtbot.waitUntil(lambda: dialog.list.list.count() > 0)
    assert not dialog.error.isVisible()
    assert game_text(GameSpec("pettingzoo:chess_v6", 1, ())) == "pettingzoo:chess_v6 (not installed)"


def test_family_games_are_loaded_while_a_league_is_opened(context: AppContext, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(league_files, "usual_game", loaded.append)
    monkeypatch.setattr(league_files, "pools", lambda state: [GameSpec(RPS, 1, ())])
    assert league_files._Loader(lambda path: context.league, context.league.league.path).load() is context.league
    assert loaded == [RPS]
