"""Games that are found rather than listed, in the sheets that offer games."""

from __future__ import annotations

import sys

import pytest
from pytestqt.qtbot import QtBot

from engine.play.match import GameSpec
from engine.registry import new_game
from league_app.gui import league_files as leagues
from league_app.gui.context import Desk, pools
from league_app.gui.game_selector import game_words
from league_app.gui.dialogs.add_agents import ReadyMadeSheet
from league_app.gui.dialogs.training_session import choices
from league_app.gui.dialogs.tournament import TournamentSheet

RPS = "pettingzoo:rps_v2"


def test_a_member_is_entered_by_its_name_and_offered_from_then_on(desk: Desk, qtbot: QtBot) -> None:
    assert RPS not in choices(desk.league).games
    sheet = ReadyMadeSheet(desk, RPS)
    qtbot.addWidget(sheet)
    sheet.show()
    assert sheet.game.chosen == RPS
    qtbot.waitUntil(lambda: sheet.list.list.count() > 0)
    sheet.list.field.setText("Dice")
    sheet.list.tick_all()
    sheet.add()
    qtbot.waitUntil(lambda: "Dice" in [one.name for one in desk.league.agents(RPS)])
    spec = new_game(RPS).spec
    assert spec in pools(desk.league)
    assert game_words(spec) == "Rps (PettingZoo)"
    assert choices(desk.league).games[RPS] == "Rps (PettingZoo)"
    tournament = TournamentSheet(desk)
    qtbot.addWidget(tournament)
    assert tournament.game.findData(RPS) >= 0


def test_a_member_that_cannot_be_had_is_told(desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chess", None)
    sheet = ReadyMadeSheet(desk, "pettingzoo:chess_v6")
    qtbot.addWidget(sheet)
    sheet.show()
    qtbot.waitUntil(sheet.wrong.isVisible)
    assert "it needs the package 'chess'" in sheet.wrong.text().replace("\u200b", "")
    assert not sheet.add_button.isEnabled()
    sheet.game.setCurrentIndex(sheet.game.findData(RPS))
    qtbot.waitUntil(lambda: sheet.list.list.count() > 0)
    assert not sheet.wrong.isVisible()
    assert game_words(GameSpec("pettingzoo:chess_v6", 1, ())) == "pettingzoo:chess_v6 (not installed)"


def test_games_of_families_are_found_out_about_while_a_league_is_opened(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(leagues, "usual_game", asked.append)
    monkeypatch.setattr(leagues, "pools", lambda state: [GameSpec(RPS, 1, ())])
    assert leagues._Load(lambda path: desk.league, desk.league.league.path)() is desk.league
    assert asked == [RPS]
