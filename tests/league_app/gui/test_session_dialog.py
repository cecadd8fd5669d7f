"""Dialogs of training sessions: defaults, remembered settings and errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from league_app.gui.context import AppContext
from league_app.gui.dialogs.training_session import NewSessionDialog, ResumeSessionDialog
from tests.agents.training.session_helpers import registered_trainers
from tests.league_app.gui.conftest import QUICK
from tests.league_app.gui.training_helpers import page_of, until, with_trainers


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with registered_trainers():
        yield


@pytest.fixture
def context(bare: AppContext, played: Path) -> AppContext:
    return with_trainers(bare, played)


# Dialogs


def test_the_first_preset_is_chosen_and_the_last_settings_are_remembered(context: AppContext, qtbot: QtBot) -> None:
    dialog = NewSessionDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    until(qtbot, dialog.start.isEnabled)
    dialog.trainer.setCurrentIndex(dialog.trainer.findData("neat"))
    assert dialog.form is not None
    assert dialog.form.preset.currentText() == "60 seconds"
    dialog.form.set_values({"population": 77, "seed": 5})
    dialog.remember()
    again = NewSessionDialog(context)
    qtbot.addWidget(again)
    until(qtbot, again.start.isEnabled)
    assert again.trainer.currentData() == "neat"
    assert again.form is not None
    assert again.form.values()["population"] == 77
    assert again.form.values()["seed"] == 1, "a new seed each time"
    context.settings.set("session/neat", {"population": "many", "no such": 1})
    third = NewSessionDialog(context)
    qtbot.addWidget(third)
    until(qtbot, third.start.isEnabled)
    assert third.form is not None
    assert third.form.preset.currentText() == "60 seconds", "invalid settings are ignored"


def test_the_presets_of_the_chosen_game_are_offered(context: AppContext, qtbot: QtBot) -> None:
    dialog = NewSessionDialog(context)
    qtbot.addWidget(dialog)
    until(qtbot, dialog.start.isEnabled)

    def choose(trainer: str, game: str) -> list[str]:
        for box, name in ((dialog.trainer, trainer), (dialog.game, game)):
            box.setCurrentIndex(box.findData(name))
        assert dialog.form is not None
        return [dialog.form.preset.itemText(place) for place in range(dialog.form.preset.count())]

    assert choose("ppo", "pong") == ["Pong", "Defaults", "Custom"]
    assert dialog.form is not None
    assert dialog.form.preset.currentText() == "Pong"
    assert dialog.form.values()["bots"] == "Tracker,Predictor"
    dialog.form.set_values({"streams": 77})
    dialog.remember()
    assert choose("ppo", "shogi") == ["Shogi", "Defaults", "Custom"]
    assert dialog.form.preset.currentText() == "Shogi", "the settings used last were for another game"
    assert dialog.form.values()["bots"] == "Pebble,Magpie"
    choose("ppo", "pong")
    assert dialog.form.values()["streams"] == 77, "remembered for this game"
    assert choose("neat", "pong")[:2] == ["60 seconds", "ten minutes"]
    dialog.form.set_values({"population": 77})
    choose("neat", "shogi")
    assert dialog.form.values()["population"] == 77, "its presets are for every game, so nothing is replaced"


@pytest.mark.parametrize(("setting", "value", "expected"), [
    ("neat_config", "/no/such/file", "file"), ("validate_bots", "Missing", "Missing"), ("bots", "Goliath", "Goliath"),
])  # fmt: skip
def test_an_error_of_the_trainer_is_shown_and_nothing_is_saved(
    context: AppContext, qtbot: QtBot, setting: str, value: str, expected: str
) -> None:
    dialog = NewSessionDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    until(qtbot, dialog.start.isEnabled)
    assert dialog.form is not None
    dialog.trainer.setCurrentIndex(dialog.trainer.findData("neat"))
    dialog.form.set_values({setting: value})
    dialog.start.click()
    until(qtbot, lambda: dialog.error.isVisible() and dialog.start.isEnabled())
    assert expected in dialog.error.text()
    assert context.league.training.sessions.all() == []
    assert context.settings.get("session/neat") is None
    assert dialog.isVisible()


def test_an_invalid_number_starts_no_session(context: AppContext, qtbot: QtBot) -> None:
    dialog = NewSessionDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    until(qtbot, dialog.start.isEnabled)
    dialog.trainer.setCurrentIndex(dialog.trainer.findData("counting"))
    dialog.workers.lineEdit().setText("0")
    dialog.start.click()
    until(qtbot, lambda: "orkers = 0" in dialog.error.text())
    assert dialog.form is not None
    dialog.form.control("steps").lineEdit().setText("0")  # type: ignore[attr-defined]
    dialog.start.click()
    assert "steps = 0" in dialog.error.text().lower()
    assert context.league.training.sessions.all() == []


def test_a_finished_session_resumes_with_a_higher_limit(context: AppContext, qtbot: QtBot) -> None:
    state = context.league
    job = state.training.start("counting", {"steps": 2}, game=QUICK)
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.header.status.text() == "Finished")
    assert job.number == 1
    assert page.header.main_button.text() == "Resume..."
    page.header.main_button.click()
    dialog = page.window().findChildren(ResumeSessionDialog)[0]
    assert dialog.form is not None
    dialog.start.click()
    until(qtbot, lambda: "finished" in dialog.error.text())
    dialog.form.set_values({"steps": 4})
    dialog.start.click()
    until(qtbot, lambda: page.summary and page.summary.step == 4 and page.header.status.text() == "Finished")
