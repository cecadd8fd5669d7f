"""The training page: sessions begin on their sheet, go on and end, and are there again after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.league.records import State
from engine.league.storage.sessions import Sessions
from league_app.gui import placement_matches as placement
from league_app.gui.context import Desk
from league_app.gui.training.sessions_model import Glance, SessionsModel, glances, places
from league_app.gui.dialogs.training_session import SessionSheet
from league_app.core.state import LeagueState
from league_app.core.formatting import ordinal
from tests.agents.sessions import FOREVER, OURS, PLUGINS
from tests.gui.conftest import BOTS, QUICK
from tests.gui.training import Ear, chart_of, our_trainers, page_of, recorded, until, with_trainers

SLOW = {"steps": FOREVER, "nap": 0.02, "every": 3}


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with our_trainers():
        yield


@pytest.fixture
def desk(bare: Desk, played: Path) -> Desk:
    return with_trainers(bare, played)


# Nothing yet


def test_without_a_league_or_a_session_there_is_one_button(bare: Desk, played: Path, qtbot: QtBot) -> None:
    page, ear = page_of(bare, qtbot), Ear(bare)
    assert page.empty.isVisible()
    page.new_session()
    assert ear.said[-1][0] == "Open a league first"
    bare.adopt(LeagueState(played))
    until(qtbot, lambda: not bare.reads.waiting)
    assert page.empty.isVisible()
    assert "60-second run" in page.empty.sentence.text()
    qtbot.mouseClick(page.empty.button, Qt.MouseButton.LeftButton)
    sheet = next(one for one in page.findChildren(SessionSheet))
    until(qtbot, sheet.start.isEnabled)
    sheet.reject()


# A session from its sheet to its end


def test_a_session_begins_on_the_sheet_grows_pauses_stops_and_goes_on(desk: Desk, qtbot: QtBot) -> None:
    page, ear = page_of(desk, qtbot), Ear(desk)
    sheet = SessionSheet(desk, page)
    sheet.started.connect(page._started)
    sheet.open()
    until(qtbot, sheet.start.isEnabled)
    assert {sheet.trainer.itemData(place) for place in range(sheet.trainer.count())} >= {"neat", *OURS}
    sheet.trainer.setCurrentIndex(sheet.trainer.findData("counting"))
    assert sheet.about.text() == "Counts."
    assert sheet.form is not None
    assert sheet.form.preset.currentText() == "short"
    sheet.form.set_values(SLOW)
    sheet.name.setText("<b>first</b>")
    assert sheet.rules is not None
    assert sheet.rules.values()["points"] == 2, "the rules that are looked at"
    qtbot.keyClick(sheet, Qt.Key.Key_Return)
    until(qtbot, lambda: page.number == 1)
    assert ear.shown == [("training", 1)]
    until(qtbot, lambda: page.curves.cards and chart_of(page, "Value").shown)
    before = len(chart_of(page, "Value").shown[0].x)
    until(qtbot, lambda: len(chart_of(page, "Value").shown[0].x) > before)
    assert page.head.name.text() == "<b>first</b>"
    assert page.head.word.text() == "Running"

    page.head.main.click()
    until(qtbot, lambda: page.head.word.text() == "Paused")
    assert desk.league.training.sessions.session(1).state is State.PAUSED
    assert page.head.main.text() == "Go on"
    page.pause_resume()
    until(qtbot, lambda: page.head.word.text() == "Running")
    page.head.stop.click()
    until(qtbot, lambda: page.head.word.text() == "Stopped")
    until(qtbot, lambda: "was stopped and can be resumed" in ear.text)
    assert not desk.league.training.jobs
    steps = Sessions(desk.league.league).steps(1)
    page.head.main.click()
    until(qtbot, lambda: page.head.word.text() == "Running" and page.glance and page.glance.step > steps)
    page.order("kill")
    until(qtbot, lambda: page.head.word.text() == "Stopped")
    assert "on request" in page.head.remark.text()


def test_a_finished_session_tells_and_its_champion_can_be_placed(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "MATCHES", 12)
    page, ear = page_of(desk, qtbot), Ear(desk)
    desk.league.training.start("counting", {"steps": 3}, game=QUICK, name="Counter")
    until(qtbot, lambda: "Counter has finished: Counter has entered the league" in ear.text)
    text, place = next(offer for told, _, offer in ear.said if "has finished" in told)
    assert text == "Place it"
    place()
    until(qtbot, lambda: any("new, " in told for told, *_ in ear.said))
    told, tone, (offer, _) = ear.said[-1]
    agent = desk.league.league.agent("Counter", "pong")
    rank, matches, rating, error = places(desk.league, QUICK, {agent.id})[agent.id]
    assert told == f"Counter: new, {ordinal(rank)}, {rating:.0f} \u00b1 {error:.0f}"
    assert (tone, matches) == ("good", 12)
    assert offer == "Play it"
    gauntlet = desk.league.league.tournaments()[-1]
    assert gauntlet.settings.format == "gauntlet"
    assert gauntlet.name == "Placement of Counter"
    assert set(gauntlet.entrants) == {agent.id, *(desk.league.league.agent(one, "pong").id for one in BOTS)}
    assert page.trainees.placements.word(agent.id) == ""


# Opened again, or only looked at


def test_sessions_are_there_again_after_a_restart(desk: Desk, played: Path, qtbot: QtBot) -> None:
    number = recorded(desk.league, "kept")
    page = page_of(desk, qtbot)
    until(qtbot, lambda: page.number == number)
    state = desk.release()
    assert state is not None
    state.close()
    assert page.empty.isVisible()
    desk.adopt(LeagueState(played, plugins=PLUGINS))
    until(qtbot, lambda: page.number == number)
    assert page.head.word.text() == "Stopped"
    assert page.head.main.text() == "Resume"
    assert page.head.main.isEnabled()
    until(qtbot, lambda: page.curves.cards and chart_of(page, "Matches").shown)
    assert len(chart_of(page, "Matches").shown[0].x) == 30


def test_a_read_only_league_is_only_looked_at(bare: Desk, played: Path, qtbot: QtBot) -> None:
    with LeagueState(played) as state:
        number = recorded(state)
    bare.adopt(LeagueState(played, read_only=True))
    page, ear = page_of(bare, qtbot), Ear(bare)
    until(qtbot, lambda: page.number == number and page.trainees.view.cards)
    assert not page.new.isEnabled()
    assert not page.head.main.isEnabled()
    assert not page.trainees.view.cards[0].main.isEnabled()
    assert page.trainees.view.cards[0].watch_button.isEnabled()
    page.new_session()
    assert "read-only" in ear.text
    until(qtbot, lambda: page.curves.cards and chart_of(page, "Matches").shown)


def test_the_list_is_a_proper_model_and_says_what_it_shows(desk: Desk, qtbot: QtBot) -> None:
    model = SessionsModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    numbers = [recorded(desk.league, "one"), recorded(desk.league, "two", begun=False)]
    rows = glances(desk.league)
    assert [one.number for one in rows] == numbers[::-1]
    model.set_rows(rows[1:])
    model.set_rows(rows)
    first = model.index(0)
    assert first.data(Qt.ItemDataRole.AccessibleTextRole) == "two, neat, finished, step 30 of 30, best 100 %"
    assert model.setData(first, Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    assert model.marked == [numbers[1]]
    assert model.place(numbers[0]) is None
    model.set_rows(rows[1:])
    assert model.marked == []
    model.set_rows([])
    assert model.rowCount(QModelIndex()) == 0
    del tester


def test_a_hostile_session_changes_no_layout(desk: Desk, qtbot: QtBot) -> None:
    name = "<b>\u05d0\U0001f3d3" + "W" * 115
    sessions = Sessions(desk.league.league)
    number = sessions.add(name, "gone trainer", QUICK, [("note", "<i>" + "x" * 500)]).number
    sessions.record(number, 1, [("odd/" + "y" * 100, float("nan")), ("odd/z", np.inf), ("odd/a", 1.0)])
    sessions.update(number, State.STOPPED, "failed: <b>" + "z" * 900)
    page = page_of(desk, qtbot)
    page.resize(706, 536)
    until(qtbot, lambda: page.number == number and page.curves.cards)
    for place in range(page.tabs.count()):
        page.tabs.setCurrentIndex(place)
        QApplication.processEvents()
        page.grab()
    assert page.minimumSizeHint().width() <= 706
    assert page.head.word.text() == "Failed"
    one = page.glance
    assert isinstance(one, Glance)
    assert one.resumable
