"""The Training page: sessions start in the dialog, pause, stop, resume and finish, and survive a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.league.records import RunState
from engine.league.storage.sessions import SessionStore
from engine.registry import TRAINERS
from league_app.core.formatting import ordinal
from league_app.core.queries.sessions import SessionPreviews, SessionSummary, load_ranks, load_sessions
from league_app.core.state import LeagueState
from league_app.gui import placement_matches
from league_app.gui.context import AppContext
from league_app.gui.dialogs.training_session import NewSessionDialog
from league_app.gui.training.sessions_model import SessionsModel
from tests.agents.training.session_helpers import FOREVER, OURS, PLUGINS, registered_trainers
from tests.league_app.gui.conftest import BOTS, QUICK
from tests.league_app.gui.training_helpers import (
    Notifications,
    chart_of,
    page_of,
    recorded,
    until,
    with_trainers,
)

SLOW = {"steps": FOREVER, "nap": 0.02, "every": 3}


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with registered_trainers():
        yield


@pytest.fixture
def context(bare: AppContext, played: Path) -> AppContext:
    return with_trainers(bare, played)


# Empty state


def test_the_empty_page_has_one_button(bare: AppContext, played: Path, qtbot: QtBot) -> None:
    page, notes = page_of(bare, qtbot), Notifications(bare)
    assert page.empty.isVisible()
    page.new_session()
    assert notes.messages[-1][0] == "Open a league first"
    bare.adopt(LeagueState(played))
    until(qtbot, lambda: not bare.read_queue.waiting)
    assert page.empty.isVisible()
    text = page.empty.sentence.text()
    assert text.startswith("No training yet")
    presets = {preset for name in TRAINERS.names() for preset in TRAINERS.get(name).presets}
    assert presets
    assert not any(preset in text for preset in presets), "it is true of every trainer"
    qtbot.mouseClick(page.empty.button, Qt.MouseButton.LeftButton)
    dialog = page.findChildren(NewSessionDialog)[0]
    until(qtbot, dialog.start.isEnabled)
    dialog.reject()


# The life of a session


def test_a_session_starts_in_the_dialog_grows_pauses_stops_and_resumes(context: AppContext, qtbot: QtBot) -> None:
    page, notes = page_of(context, qtbot), Notifications(context)
    dialog = NewSessionDialog(context, page)
    dialog.started.connect(page._on_started)
    dialog.open()
    until(qtbot, dialog.start.isEnabled)
    assert {dialog.trainer.itemData(place) for place in range(dialog.trainer.count())} >= {"neat", *OURS}
    dialog.trainer.setCurrentIndex(dialog.trainer.findData("counting"))
    assert dialog.about.text() == "Counts."
    assert dialog.form is not None
    assert dialog.form.preset.currentText() == "short"
    dialog.form.set_values(SLOW)
    dialog.name.setText("<b>first</b>")
    assert dialog.rules is not None
    assert dialog.rules.values()["points"] == 2, "the rules of the selected pool"
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    until(qtbot, lambda: page.number == 1)
    assert notes.shown == [("training", 1)]
    until(qtbot, lambda: page.charts.cards and chart_of(page, "Value").shown)
    before = len(chart_of(page, "Value").shown[0].x)
    until(qtbot, lambda: len(chart_of(page, "Value").shown[0].x) > before)
    assert page.header.name.text() == "<b>first</b>"
    assert page.header.status.text() == "Running"

    page.header.main_button.click()
    until(qtbot, lambda: page.header.status.text() == "Paused")
    assert context.league.training.sessions.session(1).state is RunState.PAUSED
    assert page.header.main_button.text() == "Resume"
    page.pause_resume()
    until(qtbot, lambda: page.header.status.text() == "Running")
    page.header.stop_button.click()
    until(qtbot, lambda: page.header.status.text() == "Stopped")
    until(qtbot, lambda: "was stopped and can be resumed" in notes.text)
    assert not context.league.training.jobs
    steps = SessionStore(context.league.league).steps(1)
    page.header.main_button.click()
    until(qtbot, lambda: page.header.status.text() == "Running" and page.summary and page.summary.step > steps)
    log = page.log_view
    until(qtbot, lambda: len(log.toPlainText().splitlines()) > 2)
    first, resumed, second = (line.partition("  ")[2] for line in log.toPlainText().splitlines()[:3])
    assert (first[:7], resumed, second[:5]) == ("from 0 ", "Resumed", "from "), "earlier messages are kept"
    page.run_command("kill")
    until(qtbot, lambda: page.header.status.text() == "Stopped")
    assert "on request" in page.header.message.text()


def test_a_finished_session_notifies_and_its_champion_can_be_placed(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement_matches, "MATCHES", 12)
    page, notes = page_of(context, qtbot), Notifications(context)
    context.league.training.start("counting", {"steps": 3}, game=QUICK, name="Counter")
    until(qtbot, lambda: "Counter has finished: Counter joined the league" in notes.text)
    until(qtbot, lambda: page.header.status.text() == "Finished")
    assert page.header.message.text() == "At 3", "the status says that it has finished"
    text, place = next(offer for text, _, offer in notes.messages if "has finished" in text)
    assert text == "Rate"
    place()
    until(qtbot, lambda: any(": placed " in text for text, *_ in notes.messages))
    text, tone, (offer, _) = notes.messages[-1]
    agent = context.league.league.agent("Counter", "pong")
    rank, matches, rating, error = load_ranks(context.league, QUICK, {agent.id})[agent.id]
    assert text == f"Counter: placed {ordinal(rank)}, {rating:.0f} \u00b1 {error:.0f}"
    assert (tone, matches) == ("good", 12)
    assert offer == "Play against it"
    gauntlet = context.league.league.tournaments()[-1]
    assert gauntlet.settings.format == "gauntlet"
    assert gauntlet.name == "Placement of Counter"
    assert set(gauntlet.entrants) == {agent.id, *(context.league.league.agent(bot, "pong").id for bot in BOTS)}
    assert page.players.placements.status_text(agent.id) == ""


# Restart and read-only leagues


def test_sessions_are_listed_after_a_restart(context: AppContext, played: Path, qtbot: QtBot) -> None:
    number = recorded(context.league, "kept")
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.number == number)
    state = context.release()
    assert state is not None
    state.close()
    assert page.empty.isVisible()
    context.adopt(LeagueState(played, plugins=PLUGINS))
    until(qtbot, lambda: page.number == number)
    assert page.header.status.text() == "Stopped"
    assert page.header.main_button.text() == "Resume"
    assert page.header.main_button.isEnabled()
    until(qtbot, lambda: page.charts.cards and chart_of(page, "Matches").shown)
    assert len(chart_of(page, "Matches").shown[0].x) == 30


def test_a_read_only_league_can_be_viewed_but_not_trained_in(bare: AppContext, played: Path, qtbot: QtBot) -> None:
    with LeagueState(played) as state:
        number = recorded(state)
    bare.adopt(LeagueState(played, read_only=True))
    page, notes = page_of(bare, qtbot), Notifications(bare)
    until(qtbot, lambda: page.number == number and page.players.view.cards)
    assert not page.new.isEnabled()
    assert not page.header.main_button.isEnabled()
    assert not page.players.view.cards[0].main_button.isEnabled()
    assert page.players.view.cards[0].watch_button.isEnabled()
    page.new_session()
    assert "read-only" in notes.text
    until(qtbot, lambda: page.charts.cards and chart_of(page, "Matches").shown)


def test_the_session_list_is_a_sound_model_with_accessible_texts(context: AppContext, qtbot: QtBot) -> None:
    model = SessionsModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    numbers = [recorded(context.league, "one"), recorded(context.league, "two", stopped=False)]
    rows = load_sessions(SessionPreviews(), context.league)
    assert [summary.number for summary in rows] == numbers[::-1]
    model.set_rows(rows[1:])
    model.set_rows(rows)
    first = model.index(0)
    assert first.data(Qt.ItemDataRole.AccessibleTextRole) == "two, neat, finished, 30 generations, best 100 %"
    assert model.setData(first, Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    assert model.checked == [numbers[1]]
    assert model.colour_index(numbers[0]) is None
    model.set_rows(rows[1:])
    assert model.checked == []
    model.set_rows([])
    assert model.rowCount(QModelIndex()) == 0
    del tester


def test_hostile_names_and_notes_do_not_widen_the_page(context: AppContext, qtbot: QtBot) -> None:
    name = "<b>\u05d0\U0001f3d3" + "W" * 115
    sessions = SessionStore(context.league.league)
    number = sessions.add(name, "gone trainer", QUICK, [("note", "<i>" + "x" * 500)]).number
    sessions.record(number, 1, [("odd/" + "y" * 100, float("nan")), ("odd/z", np.inf), ("odd/a", 1.0)])
    sessions.update(number, RunState.STOPPED, "<b>" + "z" * 900, failed=True)
    page = page_of(context, qtbot)
    page.resize(706, 536)
    until(qtbot, lambda: page.number == number and page.charts.cards)
    for place in range(page.tabs.count()):
        page.tabs.setCurrentIndex(place)
        QApplication.processEvents()
        page.grab()
    assert page.minimumSizeHint().width() <= 706
    assert page.header.status.text() == "Failed"
    summary = page.summary
    assert isinstance(summary, SessionSummary)
    assert summary.resumable
