"""The visual toggle as the window shows it: what only a page, a badge, a pill or a toast can tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.registry import new_game
from league_app.gui.match.page import MatchPage
from league_app.core.state import LeagueState
from league_app.core.training_jobs import Trainings
from league_app.gui.main_window import Window
from tests.agents.sessions import PLUGINS
from tests.faults.league import worker_pids
from tests.gui.conftest import BOTS, QUICK
from tests.gui.training import our_trainers

LONG = new_game("pong", step_limit=4000, paddle_height=300.0, top_speed=7.0).spec
SHOWN = {"game": LONG, "agents": ("Predictor", "Tracker")}
MANY = {"game": QUICK, "agents": BOTS, "options": {"rounds": 1000}}


@pytest.fixture
def window(hall: Window, played: Path, qtbot: QtBot) -> Iterator[Window]:
    """With the league that has been played in."""
    hall.leagues.open_path(played)
    qtbot.waitUntil(lambda: hall.desk.state is not None, timeout=20_000)
    hall.desk.league.budget.cores = 2
    hall.show_page("dashboard")
    yield hall
    hall.leagues.leave_silently(lambda: None)
    qtbot.waitUntil(lambda: not hall.leagues.unsettled, timeout=30_000)
    assert not worker_pids()


def press(window: Window, qtbot: QtBot) -> None:
    """F5, and whatever comes of it has come."""
    window.acts.named("window.toggle_visual").trigger()
    qtbot.waitUntil(lambda: not window.desk.orders.waiting, timeout=10_000)


def live(window: Window, qtbot: QtBot) -> MatchPage:
    """A tournament whose first match is on the page."""
    press(window, qtbot)
    window.desk.league.start_tournament(**SHOWN, seed=31)
    window.show_page("match")
    page = window.page("match")
    assert isinstance(page, MatchPage)
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.steps > 5, timeout=20_000)
    return page


def says(window: Window, qtbot: QtBot, text: str) -> None:
    """What stands beside the switch."""
    qtbot.waitUntil(lambda: window.bar.words.text() == text, timeout=10_000)


# Idle


def test_idle_the_words_beside_the_switch_tell_of_the_next_tournament(window: Window, qtbot: QtBot) -> None:
    says(window, qtbot, "the next tournament runs on 2 workers")
    press(window, qtbot)
    says(window, qtbot, "the next tournament will be shown")
    assert window.bar.switch.isChecked()
    assert type(window.stack.currentWidget()).__name__ == "DashboardPage", "nothing is played, so nothing is shown"


# Running


def test_turned_off_in_a_live_match_the_words_say_so_and_the_page_goes_to_its_end(window: Window, qtbot: QtBot) -> None:
    page = live(window, qtbot)
    says(window, qtbot, "showing match 1 of 2")
    show = page.shown
    assert show is not None
    assert show.badge == "LIVE"
    press(window, qtbot)
    assert not window.bar.switch.isChecked()
    qtbot.waitUntil(lambda: show.complete and show.at_end, timeout=20_000)


def test_turned_on_in_a_headless_run_the_match_page_comes_by_itself(window: Window, qtbot: QtBot) -> None:
    job = window.desk.league.start_tournament(**MANY, seed=32)
    qtbot.waitUntil(lambda: job.progress().played > 10, timeout=20_000)
    press(window, qtbot)
    page = window.page("match")
    assert window.stack.currentWidget() is page
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.badge == "LIVE", timeout=20_000)
    qtbot.waitUntil(lambda: window.bar.words.text().startswith("showing match "), timeout=10_000)
    state = window.desk.league
    qtbot.waitUntil(lambda: _states(state) == {"idle: visual mode"}, timeout=10_000)


def _states(state: LeagueState) -> set[str]:
    """Of the workers that play batches, as the panel shows them."""
    status = state.status()
    return {one.state for one in status.workers if one.slot >= 0} if status is not None else set()


# Paused


def test_a_paused_match_stays_paused_whichever_way_it_is_flipped(window: Window, qtbot: QtBot) -> None:
    page = live(window, qtbot)
    show = page.shown
    assert show is not None
    page.play_pause()
    qtbot.waitUntil(lambda: show.badge == "PAUSED", timeout=10_000)
    for on in (False, True):
        press(window, qtbot)
        assert window.bar.switch.isChecked() is on
        says(window, qtbot, "paused")
        assert show.badge == "PAUSED"
        assert window.conditions()["paused"]
    steps = show.steps
    page.play_pause()
    qtbot.waitUntil(lambda: show.badge == "LIVE" and show.steps > steps, timeout=10_000)


def test_pausing_stops_the_clocks_of_those_who_play(window: Window, qtbot: QtBot) -> None:
    page = live(window, qtbot)
    show = page.shown
    assert show is not None
    assert show.live is not None
    page.play_pause()
    qtbot.waitUntil(lambda: show.live.paused, timeout=10_000)
    qtbot.wait(300)  # what was on its way comes
    before = show.steps
    qtbot.wait(600)
    assert show.steps == before, "nobody is asked for a move, so nobody's time runs"
    assert show.silent == 0.0, "and nobody is said to be late"


# A replay is open


def test_a_replay_stays_and_a_pill_offers_the_live_match(window: Window, qtbot: QtBot) -> None:
    window.show_page("match", "1.1")
    page = window.page("match")
    qtbot.waitUntil(lambda: page.shown is not None, timeout=10_000)
    replay = page.shown
    press(window, qtbot)
    window.desk.league.start_tournament(**SHOWN, seed=33)
    qtbot.waitUntil(page.ring.pill.isVisible, timeout=20_000)
    assert page.ring.pill.text() == "Live: Predictor \u2013 Tracker, watch"
    assert (page.shown, replay.badge) == (replay, "REPLAY")
    press(window, qtbot)
    assert (page.shown, replay.badge) == (replay, "REPLAY"), "turned off it stays as well"


def test_the_pill_leads_to_the_live_match(window: Window, qtbot: QtBot) -> None:
    window.show_page("match", "1.1")
    page = window.page("match")
    qtbot.waitUntil(lambda: page.shown is not None, timeout=10_000)
    press(window, qtbot)
    window.desk.league.start_tournament(**SHOWN, seed=34)
    qtbot.waitUntil(page.ring.pill.isVisible, timeout=20_000)
    page.ring.pill.click()
    qtbot.waitUntil(lambda: page.shown.badge == "LIVE", timeout=10_000)
    qtbot.waitUntil(lambda: not page.ring.pill.isVisible())


# Training and exhibitions


def test_training_does_not_hear_of_it(window: Window, qtbot: QtBot) -> None:
    state = window.desk.league
    state.training = Trainings(state, PLUGINS)
    with our_trainers():
        job = state.training.start("counting", {"steps": 100_000, "nap": 0.01, "every": 1000}, game=QUICK)
        steps = state.training.sessions.steps
        for _ in range(2):
            press(window, qtbot)
            before = steps(job.number)
            qtbot.waitUntil(lambda before=before: steps(job.number) > before, timeout=20_000)
            assert not job.paused
        says(window, qtbot, "the next tournament runs on 2 workers")


def test_an_exhibition_goes_on_whatever_the_toggle_says(window: Window, qtbot: QtBot) -> None:
    shown = window.desk.league.exhibit(["Predictor", "Tracker"], LONG)
    window.show_page("match", shown)
    page = window.page("match")
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.steps > 5, timeout=20_000)
    show = page.shown
    for _ in range(2):
        press(window, qtbot)
        assert (page.shown, show.badge, shown.paused, shown.result) == (show, "EXHIBITION", False, None)
    steps = show.steps
    qtbot.waitUntil(lambda: show.steps > steps, timeout=10_000)


# A person is seated


def test_while_you_have_to_play_it_is_refused_in_a_toast_and_the_switch_goes_back(window: Window, qtbot: QtBot) -> None:
    state = window.desk.league
    state.add_agent("You", "pong", "human", b"")
    state.start_tournament(game=QUICK, agents=("Lazy", "Still", "You"), swap=False, seed=35)
    qtbot.waitUntil(lambda: state.live is not None, timeout=20_000)
    qtbot.waitUntil(window.bar.switch.isChecked)  # it is on, whatever was set
    press(window, qtbot)
    told = [one.text for one in window.toasts.shown]
    assert any(one.startswith("you play in 2 remaining matches") for one in told), told
    assert window.bar.switch.isChecked()
    assert window.acts.named("window.toggle_visual").isChecked()
    assert state.show_visuals


# Out of sight


def test_leaving_the_match_tab_stops_the_painting_and_not_the_play(window: Window, qtbot: QtBot) -> None:
    page = live(window, qtbot)
    show = page.shown
    assert show is not None
    window.show_page("history")
    assert not page._timer.isActive(), "nothing is drawn"
    shown = show.step
    qtbot.wait(500)
    assert show.step == shown
    window.show_page("match")
    assert page.shown is show
    qtbot.waitUntil(lambda: show.steps > shown + 20, timeout=10_000)
    assert show.badge == "LIVE"
