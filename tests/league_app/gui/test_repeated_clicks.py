"""Buttons that are clicked twice before the first command was run."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from engine.play.live import LiveMatch
from league_app.gui.context import AppContext
from league_app.gui.match.page import MatchPage
from league_app.gui.pages.agent import AgentPage
from league_app.state import LeagueState


def test_two_clicks_on_play_against_it_leave_one_live_match(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[LiveMatch] = []
    exhibit = LeagueState.exhibit

    def spy(state: LeagueState, *args: Any, **named: Any) -> LiveMatch:
        started.append(exhibit(state, *args, **named))
        return started[-1]

    monkeypatch.setattr(LeagueState, "exhibit", spy)
    match_page, agent_page = MatchPage(context), AgentPage(context)
    for page in (match_page, agent_page):
        qtbot.addWidget(page)
        page.resize(900, 640)
        page.show()
    context.navigation_requested.connect(lambda name, what: match_page.show_item(what))  # as the window does
    agent_page.show_item("Tracker")
    qtbot.waitUntil(lambda: agent_page._shown is not None and agent_page.play.isEnabled())
    QTest.mouseClick(agent_page.play, Qt.MouseButton.LeftButton)
    QTest.mouseClick(agent_page.play, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(started) == 2 and match_page.shown is not None)
    qtbot.waitUntil(lambda: sum(live.result is None for live in started) == 1)
    assert match_page.shown is not None
    qtbot.waitUntil(lambda: match_page.shown is not None and match_page.shown.live is started[-1])
    assert started[-1].result is None, "the one that is shown continues"
    match_page.stop()
    qtbot.waitUntil(lambda: all(live.result is not None for live in started))
