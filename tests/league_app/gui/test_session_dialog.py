"""The sheets of training: filled in at first, remembered later, and plain about what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from league_app.gui.context import Desk
from league_app.gui.dialogs.training_session import ResumeSheet, SessionSheet
from tests.gui.conftest import QUICK
from tests.gui.training import our_trainers, page_of, until, with_trainers


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with our_trainers():
        yield


@pytest.fixture
def desk(bare: Desk, played: Path) -> Desk:
    return with_trainers(bare, played)


# Sheets


def test_the_first_preset_is_chosen_and_the_last_settings_are_remembered(desk: Desk, qtbot: QtBot) -> None:
    sheet = SessionSheet(desk)
    qtbot.addWidget(sheet)
    sheet.show()
    until(qtbot, sheet.start.isEnabled)
    sheet.trainer.setCurrentIndex(sheet.trainer.findData("neat"))
    assert sheet.form is not None
    assert sheet.form.preset.currentText() == "60 seconds"
    sheet.form.set_values({"population": 77, "seed": 5})
    sheet.keep()
    again = SessionSheet(desk)
    qtbot.addWidget(again)
    until(qtbot, again.start.isEnabled)
    assert again.trainer.currentData() == "neat"
    assert again.form is not None
    assert again.form.values()["population"] == 77
    assert again.form.values()["seed"] == 1, "another evolution each time"
    desk.settings.set("session/neat", {"population": "many", "no such": 1})
    third = SessionSheet(desk)
    qtbot.addWidget(third)
    until(qtbot, third.start.isEnabled)
    assert third.form is not None
    assert third.form.preset.currentText() == "60 seconds", "what no longer fits is passed over"


@pytest.mark.parametrize(("setting", "value", "told"), [
    ("neat_config", "/no/such/file", "file"), ("validate_bots", "Nobody", "Nobody"), ("bots", "Goliath", "Goliath"),
])  # fmt: skip
def test_what_the_trainer_refuses_is_told_on_the_sheet_and_nothing_is_kept(
    desk: Desk, qtbot: QtBot, setting: str, value: str, told: str
) -> None:
    sheet = SessionSheet(desk)
    qtbot.addWidget(sheet)
    sheet.show()
    until(qtbot, sheet.start.isEnabled)
    assert sheet.form is not None
    sheet.trainer.setCurrentIndex(sheet.trainer.findData("neat"))
    sheet.form.set_values({setting: value})
    sheet.start.click()
    until(qtbot, lambda: sheet.wrong.isVisible() and sheet.start.isEnabled())
    assert told in sheet.wrong.text()
    assert desk.league.training.sessions.every() == []
    assert desk.settings.get("session/neat") is None
    assert sheet.isVisible()


def test_a_wrong_number_on_the_sheet_starts_nothing(desk: Desk, qtbot: QtBot) -> None:
    sheet = SessionSheet(desk)
    qtbot.addWidget(sheet)
    sheet.show()
    until(qtbot, sheet.start.isEnabled)
    sheet.trainer.setCurrentIndex(sheet.trainer.findData("counting"))
    sheet.workers.lineEdit().setText("0")
    sheet.start.click()
    until(qtbot, lambda: "orkers = 0" in sheet.wrong.text())
    assert sheet.form is not None
    sheet.form.control("steps").lineEdit().setText("0")  # type: ignore[attr-defined]
    sheet.start.click()
    assert "steps = 0" in sheet.wrong.text().lower()
    assert desk.league.training.sessions.every() == []


def test_a_finished_session_goes_on_with_more_to_do(desk: Desk, qtbot: QtBot) -> None:
    state = desk.league
    job = state.training.start("counting", {"steps": 2}, game=QUICK)
    page = page_of(desk, qtbot)
    until(qtbot, lambda: page.head.word.text() == "Finished")
    assert job.number == 1
    assert page.head.main.text() == "Go on\u2026"
    page.head.main.click()
    sheet = page.window().findChildren(ResumeSheet)[0]
    assert sheet.form is not None
    sheet.start.click()
    until(qtbot, lambda: "finished" in sheet.wrong.text())
    sheet.form.set_values({"steps": 4})
    sheet.start.click()
    until(qtbot, lambda: page.glance and page.glance.step == 4 and page.head.word.text() == "Finished")
