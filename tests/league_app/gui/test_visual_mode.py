"""The visual mode in the window: switch, status, badges, buttons and toasts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.registry import new_game
from league_app.core.state import LeagueState
from league_app.core.training_manager import TrainingManager
from league_app.gui.main_window import MainWindow
from league_app.gui.match.page import MatchPage
from tests.agents.training.session_helpers import PLUGINS, registered_trainers
from tests.faults.league import worker_pids
from tests.league_app.gui.conftest import BOTS, LASTING, QUICK
from tests.league_app.gui.live_helpers import settle, tick

LONG = new_game("pong", step_limit=4000, paddle_height=300.0, top_speed=7.0).spec
SHOWN = {"game": LONG, "agents": ("Predictor", "Tracker")}
MANY = {"game": QUICK, "agents": BOTS, "options": LASTING}


@pytest.fixture
def window(hall: MainWindow, played: Path, qtbot: QtBot) -> Iterator[MainWindow]:
    """The window with a league that has matches."""
    hall.leagues.open_path(played)
    qtbot.waitUntil(lambda: hall.context.state is not None)
    hall.context.league.budget.cores = 2
    hall.show_page("dashboard")
    yield hall
    hall.leagues.close_without_asking(lambda: None)
    qtbot.waitUntil(lambda: not hall.leagues.switching)
    assert not worker_pids()


def press(window: MainWindow, qtbot: QtBot) -> None:
    """Press F5 and wait until its commands have run."""
    window.menu_actions.find("window.toggle_visual").trigger()
    qtbot.waitUntil(lambda: not window.context.command_queue.waiting)


def live(window: MainWindow, qtbot: QtBot) -> MatchPage:
    """Start a tournament and open its first match."""
    press(window, qtbot)
    window.context.league.start_tournament(**SHOWN, seed=31)
    window.show_page("match")
    page = window.page("match")
    assert isinstance(page, MatchPage)
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.steps > 5)
    return page


def says(window: MainWindow, qtbot: QtBot, text: str) -> None:
    """Wait for this status beside the switch."""
    qtbot.waitUntil(lambda: window.toolbar.status_text.text() == text)


# Idle


def test_while_idle_the_status_describes_the_next_tournament(window: MainWindow, qtbot: QtBot) -> None:
    says(window, qtbot, "the next tournament runs on 2 workers")
    press(window, qtbot)
    says(window, qtbot, "the next tournament will be shown")
    assert window.toolbar.switch.isChecked()
    assert type(window.stack.currentWidget()).__name__ == "DashboardPage", "no match is live, so the page stays"


# Running


def test_turning_it_off_in_a_live_match_skips_to_the_end(window: MainWindow, qtbot: QtBot) -> None:
    page = live(window, qtbot)
    says(window, qtbot, "showing match 1 of 2")
    player = page.shown
    assert player is not None
    assert player.badge == "LIVE"
    press(window, qtbot)
    assert not window.toolbar.switch.isChecked()
    qtbot.waitUntil(lambda: player.complete and player.at_end)


def test_turning_it_on_in_a_headless_run_opens_the_match_page(window: MainWindow, qtbot: QtBot) -> None:
    job = window.context.league.start_tournament(**MANY, seed=32)
    qtbot.waitUntil(lambda: job.progress().played > 10)
    press(window, qtbot)
    page = window.page("match")
    assert window.stack.currentWidget() is page
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.badge == "LIVE")
    qtbot.waitUntil(lambda: window.toolbar.status_text.text().startswith("showing match "))
    state = window.context.league
    qtbot.waitUntil(lambda: _states(state) == {"idle: visual mode"})


def _states(state: LeagueState) -> set[str]:
    """The states of the batch workers, as the panel shows them."""
    status = state.status()
    return {worker.state for worker in status.workers if worker.id >= 0} if status is not None else set()


# Paused


def test_a_paused_match_stays_paused_when_the_mode_changes(window: MainWindow, qtbot: QtBot) -> None:
    page = live(window, qtbot)
    player = page.shown
    assert player is not None
    page.play_pause()
    qtbot.waitUntil(lambda: player.badge == "PAUSED")
    for on in (False, True):
        press(window, qtbot)
        assert window.toolbar.switch.isChecked() is on
        says(window, qtbot, "paused")
        assert player.badge == "PAUSED"
        assert window.conditions()["paused"]
    steps = player.steps
    page.play_pause()
    qtbot.waitUntil(lambda: player.badge == "LIVE" and player.steps > steps)


def test_pausing_stops_the_clocks_of_the_players(window: MainWindow, qtbot: QtBot) -> None:
    page = live(window, qtbot)
    player = page.shown
    assert player is not None
    assert player.live is not None
    page.play_pause()
    qtbot.waitUntil(lambda: player.live.paused)
    settle(page, qtbot, player)
    before = player.steps
    tick(page, qtbot)
    settle(page, qtbot, player)
    assert player.steps == before, "no player is asked for an action"
    assert player.idle_seconds == 0.0, "and no waiting time is shown"


# A replay is open


def test_an_open_replay_stays_and_a_button_offers_the_live_match(window: MainWindow, qtbot: QtBot) -> None:
    window.show_page("match", "1.1")
    page = window.page("match")
    qtbot.waitUntil(lambda: page.shown is not None)
    replay = page.shown
    press(window, qtbot)
    window.context.league.start_tournament(**SHOWN, seed=33)
    qtbot.waitUntil(page.view.live_button.isVisible)
    assert page.view.live_button.text() == "Watch live: Predictor \u2013 Tracker"
    assert (page.shown, replay.badge) == (replay, "REPLAY")
    press(window, qtbot)
    assert (page.shown, replay.badge) == (replay, "REPLAY"), "the replay stays after turning it off"


def test_the_button_opens_the_live_match(window: MainWindow, qtbot: QtBot) -> None:
    window.show_page("match", "1.1")
    page = window.page("match")
    qtbot.waitUntil(lambda: page.shown is not None)
    press(window, qtbot)
    window.context.league.start_tournament(**SHOWN, seed=34)
    qtbot.waitUntil(page.view.live_button.isVisible)
    page.view.live_button.click()
    qtbot.waitUntil(lambda: page.shown.badge == "LIVE")
    qtbot.waitUntil(lambda: not page.view.live_button.isVisible())


# Training and exhibitions


def test_training_is_not_affected(window: MainWindow, qtbot: QtBot) -> None:
    state = window.context.league
    state.training = TrainingManager(state._context, PLUGINS, state.start, lambda: state.executor)
    with registered_trainers():
        job = state.training.start("counting", {"steps": 100_000, "nap": 0.01, "every": 1000}, game=QUICK)
        steps = state.training.sessions.steps
        for _ in range(2):
            press(window, qtbot)
            before = steps(job.number)
            qtbot.waitUntil(lambda before=before: steps(job.number) > before)
            assert not job.paused
        says(window, qtbot, "the next tournament runs on 2 workers")


def test_an_exhibition_is_not_affected(window: MainWindow, qtbot: QtBot) -> None:
    shown = window.context.league.exhibit(["Predictor", "Tracker"], LONG)
    window.show_page("match", shown)
    page = window.page("match")
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.steps > 5)
    player = page.shown
    for _ in range(2):
        press(window, qtbot)
        assert (page.shown, player.badge, shown.paused, shown.result) == (player, "EXHIBITION", False, None)
    steps = player.steps
    qtbot.waitUntil(lambda: player.steps > steps)


# A person is seated


def test_with_a_human_entrant_it_cannot_be_turned_off(window: MainWindow, qtbot: QtBot) -> None:
    state = window.context.league
    state.add_agent("You", "pong", "human", b"")
    state.start_tournament(game=QUICK, agents=("Lazy", "Still", "You"), swap=False, seed=35)
    qtbot.waitUntil(lambda: state.live is not None)
    qtbot.waitUntil(window.toolbar.switch.isChecked)  # a human entrant turns it on
    press(window, qtbot)
    texts = [toast.text for toast in window.toasts.shown]
    assert any("while you play in 2 remaining matches" in text for text in texts), texts
    assert window.toolbar.switch.isChecked()
    assert window.menu_actions.find("window.toggle_visual").isChecked()
    assert state.show_visuals


# Out of sight


def test_leaving_the_match_page_stops_painting_and_not_the_match(window: MainWindow, qtbot: QtBot) -> None:
    page = live(window, qtbot)
    player = page.shown
    assert player is not None
    window.show_page("history")
    assert not page._timer.isActive(), "nothing is drawn"
    shown = player.step
    assert player.live is not None
    arrived = len(player.live._actions)
    qtbot.waitUntil(lambda: len(player.live._actions) > arrived + 60)  # thirty more steps
    assert player.step == shown
    window.show_page("match")
    assert page.shown is player
    qtbot.waitUntil(lambda: player.steps > shown + 20)
    assert player.badge == "LIVE"
