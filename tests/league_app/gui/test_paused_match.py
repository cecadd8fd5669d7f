"""A live match that stands still on the Match page: step by step, looked back at, and gone on with."""

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
from league_app.gui.context import Desk
from league_app.gui.match.page import MatchPage
from league_app.core.state import LeagueState
from league_app.gui.match.player import Show
from tests.gui.test_match import LIVE, LONG, PATIENCE, opened, watching


@pytest.fixture
def page(desk: Desk, qtbot: QtBot) -> Iterator[MatchPage]:
    yield from opened(desk, qtbot)


def exhibited(page: MatchPage, qtbot: QtBot, game: GameSpec = LONG) -> Show:
    page.show_what(page.desk.league.exhibit(["Tracker", "Predictor"], game))
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.step > 10, timeout=PATIENCE)
    assert page.shown is not None
    return page.shown


def paused(page: MatchPage, qtbot: QtBot, show: Show) -> None:
    """By its button, and shown as far as it has come."""
    page.ring.transport.play.click()
    says(page, qtbot, "PAUSED")
    seen = -1

    def still() -> bool:
        nonlocal seen
        before, seen = seen, show.steps
        return show.step == show.steps == before

    for _ in range(3):
        qtbot.wait(150)  # what was on its way comes
    qtbot.waitUntil(still, timeout=PATIENCE)


def reached(show: Show, step: int) -> bool:
    return show.step == show.steps == step


def says(page: MatchPage, qtbot: QtBot, badge: str) -> None:
    qtbot.waitUntil(lambda: page.ring.head.badge.text == badge, timeout=PATIENCE)


@pytest.mark.parametrize("kind", ["live", "exhibition"])
def test_a_step_at_the_edge_of_a_paused_match_is_played_and_it_stays_paused(
    page: MatchPage, qtbot: QtBot, kind: str
) -> None:
    show = watching(page, qtbot, game=LONG) if kind == "live" else exhibited(page, qtbot)
    paused(page, qtbot, show)
    at = show.steps
    for edge in (at + 1, at + 2, at + 3):
        page.ring.transport.forward.click()
        qtbot.waitUntil(partial(reached, show, edge), timeout=PATIENCE)
        assert page.ring.head.badge.text == "PAUSED"
    page.ring.transport.back.click()
    page.ring.transport.back.click()
    page.ring.transport.forward.click()
    qtbot.wait(300)
    assert (show.step, show.steps) == (at + 2, at + 3), "what is known is only looked at"
    assert page.ring.head.badge.text == "PAUSED"


def test_play_after_stepping_resumes_the_tournament_and_not_only_the_picture(page: MatchPage, qtbot: QtBot) -> None:
    show = watching(page, qtbot, game=LONG)
    job = page.desk.league.job
    assert job is not None
    paused(page, qtbot, show)
    page.step(-1)
    page.step(1)
    steps = show.steps
    QTest.keyClick(page.ring.canvas, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: job.progress().text == "live" and show.steps > steps + 5, timeout=PATIENCE)
    says(page, qtbot, "LIVE")


def test_skipping_a_paused_match_resumes_its_tournament_and_finishes_it(page: MatchPage, qtbot: QtBot) -> None:
    show = watching(page, qtbot)
    job = page.desk.league.job
    assert job is not None
    paused(page, qtbot, show)
    page.step(1)
    page.ring.transport.skip.click()
    qtbot.waitUntil(lambda: show.at_end, timeout=PATIENCE)
    assert show.badge == "ENDED"
    qtbot.waitUntil(lambda: page.shown is not show, timeout=PATIENCE)
    assert job.progress().text == "live", "the next one is played"


def test_play_at_the_end_of_a_match_resumes_the_tournament_that_was_paused_in_it(page: MatchPage, qtbot: QtBot) -> None:
    show = watching(page, qtbot)
    job = page.desk.league.job
    assert job is not None
    paused(page, qtbot, show)
    page.step(600)
    says(page, qtbot, "ENDED")
    qtbot.waitUntil(lambda: job.run.live is None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: job.progress().text == "paused", timeout=PATIENCE)
    page.ring.transport.play.click()
    qtbot.waitUntil(lambda: page.shown is not show, timeout=PATIENCE)
    says(page, qtbot, "LIVE")


def test_a_paused_match_that_is_looked_back_at_goes_on_live_when_it_is_played(page: MatchPage, qtbot: QtBot) -> None:
    show = exhibited(page, qtbot)
    paused(page, qtbot, show)
    edge = show.steps
    page.ring.transport.scrubber.setValue(edge - 8)
    qtbot.wait(300)
    assert (show.step, page.ring.head.badge.text) == (edge - 8, "PAUSED"), "it stands still there as well"
    page.ring.transport.play.click()
    qtbot.waitUntil(lambda: show.step > edge + 5, timeout=PATIENCE)
    says(page, qtbot, "EXHIBITION")


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # of menus, where there is no screen
def test_a_seat_is_taken_at_the_step_at_which_it_was_asked_for(
    page: MatchPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    def take_over(state: object, spec: object, seat: int, actions: list[int], steps: int) -> None:
        told.extend((len(actions), steps))
        raise NotNow("this is all that is tested")

    monkeypatch.setattr(LeagueState, "take_over", take_over)
    show = exhibited(page, qtbot)
    page.take_over()
    asked = show.step
    qtbot.waitUntil(lambda: show.steps > asked + 15, timeout=PATIENCE)
    assert show.step == asked, "the picture waits for the choice"
    page.guests.menu.hide()
    qtbot.waitUntil(lambda: show.step > asked, timeout=PATIENCE)
    page.guests.menu.actions()[0].trigger()
    qtbot.waitUntil(lambda: told == [asked, asked], timeout=PATIENCE)


def test_a_match_whose_tournament_is_stopped_is_not_called_live(page: MatchPage, qtbot: QtBot) -> None:
    show = watching(page, qtbot, game=LONG)
    says(page, qtbot, "LIVE")
    page.step(-3)
    says(page, qtbot, "REPLAY")
    page.to_end()
    paused(page, qtbot, show)
    job = page.desk.league.job
    assert job is not None
    job.stop()
    says(page, qtbot, "ENDED")


def test_a_match_that_seats_a_person_cannot_be_skipped(page: MatchPage, qtbot: QtBot) -> None:
    page.show_what(page.desk.league.exhibit(["Tracker", person()], LONG))
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.step > 2, timeout=PATIENCE)
    show = page.shown
    assert show is not None
    assert show.live is not None
    assert not page.ring.transport.skip.isEnabled()
    told: list[object] = []
    show.live._tell = lambda live, words: told.append(words)
    page.skip()
    page._act(1, 0)
    qtbot.waitUntil(lambda: bool(told))
    assert told == [["act", 1, 0]], "nor by any other way"


def test_an_exhibition_that_has_ended_can_be_played_again_with_the_next_seed(page: MatchPage, qtbot: QtBot) -> None:
    show = exhibited(page, qtbot, LIVE)
    transport = page.ring.transport
    assert (transport.over.isVisible(), transport.again.isVisible()) == (True, False)
    page.skip()
    qtbot.waitUntil(transport.again.isVisible, timeout=PATIENCE)
    assert not transport.over.isVisible()
    transport.again.click()
    qtbot.waitUntil(lambda: page.shown is not show and page.shown is not None, timeout=PATIENCE)
    assert page.shown is not None
    assert (page.shown.spec.players, page.shown.spec.seed) == (show.spec.players, show.spec.seed + 1)
    qtbot.waitUntil(transport.over.isVisible, timeout=PATIENCE)
