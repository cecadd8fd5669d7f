"""A paused live match on the Match page: stepping, looking back and resuming."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from agents.human import person
from engine.errors import NotNow
from engine.play.match import GameSpec
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.match.page import MatchPage
from league_app.gui.match.player import MatchPlayer
from tests.league_app.gui.live_helpers import settle, tick
from tests.league_app.gui.test_match_page import LIVE, LONG, opened, watching


@pytest.fixture
def page(context: AppContext, qtbot: QtBot) -> Iterator[MatchPage]:
    yield from opened(context, qtbot)


def exhibited(page: MatchPage, qtbot: QtBot, game: GameSpec = LONG) -> MatchPlayer:
    page.show_item(page.context.league.exhibit(["Tracker", "Predictor"], game))
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.step > 10)
    assert page.shown is not None
    return page.shown


def paused(page: MatchPage, qtbot: QtBot, player: MatchPlayer) -> None:
    """Pause by the button, and wait until the newest step is shown."""
    page.view.playback_bar.play.click()
    says(page, qtbot, "PAUSED")
    settle(page, qtbot, player)
    qtbot.waitUntil(lambda: player.step == player.steps)


def reached(player: MatchPlayer, step: int) -> bool:
    return player.step == player.steps == step


def says(page: MatchPage, qtbot: QtBot, badge: str) -> None:
    qtbot.waitUntil(lambda: page.view.header.badge.text == badge)


@pytest.mark.parametrize("kind", ["live", "exhibition"])
def test_a_step_at_the_edge_of_a_paused_match_is_played_and_it_stays_paused(
    page: MatchPage, qtbot: QtBot, kind: str
) -> None:
    player = watching(page, qtbot, game=LONG) if kind == "live" else exhibited(page, qtbot)
    paused(page, qtbot, player)
    at = player.steps
    for edge in (at + 1, at + 2, at + 3):
        page.view.playback_bar.forward.click()
        qtbot.waitUntil(partial(reached, player, edge))
        assert page.view.header.badge.text == "PAUSED"
    page.view.playback_bar.back.click()
    page.view.playback_bar.back.click()
    page.view.playback_bar.forward.click()
    settle(page, qtbot, player)
    tick(page, qtbot)
    assert (player.step, player.steps) == (at + 2, at + 3), "known steps are only shown"
    assert page.view.header.badge.text == "PAUSED"


def test_play_after_stepping_resumes_the_tournament_and_not_only_playback(page: MatchPage, qtbot: QtBot) -> None:
    player = watching(page, qtbot, game=LONG)
    job = page.context.league.job
    assert job is not None
    paused(page, qtbot, player)
    page.step(-1)
    page.step(1)
    steps = player.steps
    QTest.keyClick(page.view.canvas, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: job.progress().text == "live" and player.steps > steps + 5)
    says(page, qtbot, "LIVE")


def test_skipping_a_paused_match_resumes_its_tournament_and_finishes_it(page: MatchPage, qtbot: QtBot) -> None:
    player = watching(page, qtbot)
    job = page.context.league.job
    assert job is not None
    paused(page, qtbot, player)
    page.step(1)
    page.view.playback_bar.skip.click()
    qtbot.waitUntil(lambda: player.at_end)
    assert player.badge == "ENDED"
    qtbot.waitUntil(lambda: page.shown is not player)
    assert job.progress().text == "live", "the next match is played"


def test_play_at_the_end_of_a_match_resumes_the_tournament_that_was_paused_in_it(page: MatchPage, qtbot: QtBot) -> None:
    player = watching(page, qtbot)
    job = page.context.league.job
    assert job is not None
    paused(page, qtbot, player)
    page.step(600)
    says(page, qtbot, "ENDED")
    qtbot.waitUntil(lambda: job.run.live is None)
    qtbot.waitUntil(lambda: job.progress().text == "paused")
    page.view.playback_bar.play.click()
    qtbot.waitUntil(lambda: page.shown is not player)
    says(page, qtbot, "LIVE")


def test_a_paused_match_resumes_when_playback_reaches_its_newest_step(page: MatchPage, qtbot: QtBot) -> None:
    player = exhibited(page, qtbot)
    paused(page, qtbot, player)
    edge = player.steps
    page.view.playback_bar.scrubber.setValue(edge - 8)
    tick(page, qtbot)
    assert (player.step, page.view.header.badge.text) == (edge - 8, "PAUSED"), "playback stays paused"
    page.view.playback_bar.play.click()
    qtbot.waitUntil(lambda: player.step > edge + 5)
    says(page, qtbot, "EXHIBITION")


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # from menus without a screen
def test_a_seat_is_taken_over_at_the_step_where_the_menu_opened(
    page: MatchPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[int] = []

    def take_over(state: object, spec: object, seat: int, actions: list[int], steps: int) -> None:
        received.extend((len(actions), steps))
        raise NotNow("tested up to here")

    monkeypatch.setattr(LeagueState, "take_over", take_over)
    player = exhibited(page, qtbot)
    page.take_over()
    opened_at = player.step
    qtbot.waitUntil(lambda: player.steps > opened_at + 15)
    assert player.step == opened_at, "playback waits while the menu is open"
    page.match_actions.menu.hide()
    qtbot.waitUntil(lambda: player.step > opened_at)
    page.match_actions.menu.actions()[0].trigger()
    qtbot.waitUntil(lambda: received == [opened_at, opened_at])


def test_a_match_whose_tournament_is_stopped_is_not_called_live(page: MatchPage, qtbot: QtBot) -> None:
    player = watching(page, qtbot, game=LONG)
    says(page, qtbot, "LIVE")
    page.step(-3)
    says(page, qtbot, "REPLAY")
    page.to_end()
    paused(page, qtbot, player)
    job = page.context.league.job
    assert job is not None
    job.stop()
    says(page, qtbot, "ENDED")


def test_a_match_with_a_human_cannot_be_skipped(page: MatchPage, qtbot: QtBot) -> None:
    page.show_item(page.context.league.exhibit(["Tracker", person()], LONG))
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.step > 2)
    player = page.shown
    assert player is not None
    assert player.live is not None
    assert not page.view.playback_bar.skip.isEnabled()
    commands: list[object] = []
    player.live._send = lambda live, words: commands.append(words)
    page.skip()
    page._act(1, 0)
    qtbot.waitUntil(lambda: bool(commands))
    assert commands == [["act", 1, 0]], "nor by the action"


def test_an_exhibition_that_has_ended_can_be_played_again_with_the_next_seed(page: MatchPage, qtbot: QtBot) -> None:
    player = exhibited(page, qtbot, LIVE)
    bar = page.view.playback_bar
    assert (bar.take_over.isVisible(), bar.play_again.isVisible()) == (True, False)
    page.skip()
    qtbot.waitUntil(bar.play_again.isVisible)
    assert not bar.take_over.isVisible()
    bar.play_again.click()
    qtbot.waitUntil(lambda: page.shown is not player and page.shown is not None)
    assert page.shown is not None
    assert (page.shown.spec.players, page.shown.spec.seed) == (player.spec.players, player.spec.seed + 1)
    qtbot.waitUntil(bar.take_over.isVisible)
