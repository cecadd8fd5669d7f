"""Dialogs of training sessions: defaults, remembered settings and errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from PySide6.QtGui import QShortcut
from pytestqt.qtbot import QtBot

from agents.training.hybrid.config import HybridConfig
from league_app.core.guide import load_pages
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
    assert dialog.trainer.currentData() == "neat", "not the first in alphabetical order"
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


def opened(context: AppContext, qtbot: QtBot, trainer: str) -> NewSessionDialog:
    """A new dialog with this trainer chosen."""
    dialog = NewSessionDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    until(qtbot, dialog.start.isEnabled)
    dialog.trainer.setCurrentIndex(dialog.trainer.findData(trainer))
    return dialog


def test_start_from_is_offered_only_by_trainers_that_accept_an_agent(context: AppContext, qtbot: QtBot) -> None:
    dialog = opened(context, qtbot, "neat")
    assert dialog.ancestor.isEnabled()
    dialog.ancestor.setCurrentIndex(1)
    dialog.trainer.setCurrentIndex(dialog.trainer.findData("independent"))
    assert not dialog.ancestor.isEnabled()
    assert dialog.ancestor.currentData() is None
    assert "independent always starts from scratch" in dialog.ancestor.toolTip()
    dialog.trainer.setCurrentIndex(dialog.trainer.findData("ppo"))
    assert dialog.ancestor.isEnabled()


def test_an_agent_that_cannot_be_continued_is_an_error_of_start_from(context: AppContext, qtbot: QtBot) -> None:
    dialog = opened(context, qtbot, "neat")
    dialog.ancestor.setCurrentIndex(1)
    name = dialog.ancestor.currentText()
    dialog.start.click()
    until(qtbot, lambda: f"Start from = {name!r}: must be an agent of kind neat" in dialog.error.text())
    until(qtbot, dialog.ancestor.hasFocus)
    dialog.ancestor.setCurrentIndex(0)
    assert not dialog.error.isVisible()


def test_an_error_leads_to_its_field_and_disappears_when_that_is_edited(context: AppContext, qtbot: QtBot) -> None:
    dialog = opened(context, qtbot, "neat")
    assert dialog.form is not None
    dialog.form.set_values({"validate_bots": "Lazy,Missing"})
    dialog.start.setFocus()
    dialog.start.click()
    until(qtbot, lambda: dialog.error.isVisible())
    until(qtbot, dialog.form.control("validate_bots").hasFocus)
    assert "Missing" in dialog.form.problem("validate_bots")
    dialog.form.set_values({"validate_bots": "Lazy"})
    assert not dialog.error.isVisible()
    assert dialog.form.problem("validate_bots") == ""
    dialog.workers.lineEdit().setText("0")
    dialog.start.click()
    until(qtbot, lambda: dialog.error.isVisible())
    until(qtbot, dialog.workers.hasFocus)
    dialog.workers.lineEdit().setText("2")
    assert not dialog.error.isVisible()


def test_the_form_of_a_hybrid_search_has_its_settings_presets_and_errors(context: AppContext, qtbot: QtBot) -> None:
    dialog = opened(context, qtbot, "hybrid")
    assert dialog.form is not None
    dialog.game.setCurrentIndex(dialog.game.findData("pong"))
    assert dialog.form.preset.itemText(0) == "Pong"
    values = dialog.form.values()
    assert set(values) == {field.name for field in fields(HybridConfig)}
    preset = dict(HybridConfig.presets["Pong"])
    assert {name: values[name] for name in preset} == preset
    assert (values["from_league"], values["mode"], values["epochs"]) == ("strongest", "auto", 20)
    assert not dialog.ancestor.isEnabled(), "a search begins with new architectures"
    dialog.form.set_values({"teacher": "Nobody"})
    dialog.start.click()
    until(qtbot, lambda: "Nobody" in dialog.error.text() and dialog.start.isEnabled())
    until(qtbot, dialog.form.control("teacher").hasFocus)
    dialog.form.set_values({"teacher": "", "mutation_rate_min": 0.9})
    dialog.start.click()
    until(qtbot, lambda: "must be at most mutation_rate_max (0.8)" in dialog.error.text())
    assert context.league.training.sessions.all() == []


TRAINER_PAGES = [
    ("neat", "training"),
    ("independent", "independent"),
    ("ppo", "training#train-by-ppo"),
    ("hybrid", "hybrid"),
]


@pytest.mark.parametrize(("trainer", "page"), TRAINER_PAGES)
def test_f1_opens_the_page_about_the_trainer(trainer: str, page: str, context: AppContext, qtbot: QtBot) -> None:
    dialog = opened(context, qtbot, trainer)
    asked = list[tuple[str, object]]()
    context.navigation_requested.connect(lambda name, what: asked.append((name, what)))
    [shortcut] = [shortcut for shortcut in dialog.findChildren(QShortcut) if shortcut.key().toString() == "F1"]
    shortcut.activated.emit()
    assert asked == [("guide", page)]
    name, _, anchor = page.partition("#")
    sections = load_pages()[f"{name}.md"].sections
    assert not anchor or anchor in {section.anchor for section in sections}
