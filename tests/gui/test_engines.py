"""External engines in the window: chosen, asked, set, added; and one from elsewhere, confirmed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox
from pytestqt.qtbot import QtBot

from agents.usi.approvals import approve, approved
from agents.usi.payload import Engine, engine_of, payload_of
from agents.usi.protocol import Identity, Option
from agents.usi.transcript import FOLDER
from engine.errors import BadValue
from engine.registry import new_game
from league_app import looks
from league_app.desk import Desk
from league_app.draft import Draft, Drawing
from league_app.handling import Handling
from league_app.sheets.engine import EngineSheet, confirm_sheet, options_of, settings_type
from league_app.sheets.telling import Question
from league_app.widgets.form import Form
from tests.agents.engines import FAULTY
from tests.gui.test_history import Ears


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))


@pytest.fixture
def program(tmp_path: Path) -> str:
    made = tmp_path / "engine"
    made.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {FAULTY} "$@"\n')
    made.chmod(0o755)
    return str(made)


@pytest.fixture
def sheet(desk: Desk, program: str, qtbot: QtBot) -> EngineSheet:
    made = EngineSheet(desk, program)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    return made


def row_of(form: Form, title: str) -> object:
    return next(one for one in form._rows if one.field.title == title).field


def test_a_chosen_program_is_asked_and_its_options_become_a_form(
    desk: Desk, sheet: EngineSheet, program: str, qtbot: QtBot
) -> None:
    ears = Ears(desk)
    assert "Asking" in sheet.told.text()
    assert not sheet.add_button.isEnabled()
    qtbot.waitUntil(lambda: sheet.form is not None and sheet.add_button.isEnabled(), timeout=20_000)
    assert sheet.told.text().replace("\u200b", "") == "Faulty 1.0, by nobody. It plays Shogi."
    assert sheet.name.text() == "Faulty 1.0"
    form = sheet.form
    assert [one.field.title for one in form._rows] == [
        "Nodes", "Seconds", "USI_Hash", "Threads", "Book File", "Style", "Resign Early",
        "Patience", "Startup", "Memory",
    ]  # fmt: skip
    row_of(form, "Threads").control.lineEdit().setText("99")
    assert not sheet.add_button.isEnabled()
    row_of(form, "Threads").control.lineEdit().setText("2")
    row_of(form, "Style").control.setCurrentText("very wild")
    check = row_of(form, "Resign Early").control
    assert isinstance(check, QCheckBox)
    check.setChecked(True)
    row_of(form, "Nodes").control.lineEdit().setText("0")
    row_of(form, "Memory").control.lineEdit().setText("512")
    sheet.add_button.click()
    qtbot.waitUntil(lambda: bool(ears.said), timeout=20_000)
    assert ears.said[-1][0] == "Faulty 1.0 is in"
    agent = desk.league.league.agent("Faulty 1.0")
    engine = engine_of(desk.league.league.payload(agent.payload))
    options = (("Threads", "2"), ("Style", "very wild"), ("Resign Early", "true"))
    assert engine == Engine(program, (), options, 0, 1.0, memory=512)
    assert approved(engine)


def test_a_program_that_is_no_engine_is_told_and_arguments_have_it_asked_again(
    sheet: EngineSheet, qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: sheet.form is not None, timeout=20_000)
    sheet.arguments.setText("refuses")
    sheet.arguments.editingFinished.emit()
    assert not sheet.add_button.isEnabled()
    qtbot.waitUntil(sheet.wrong.isVisible, timeout=20_000)
    assert "I play checkers" in sheet.wrong.text().replace("\u200b", "")
    sheet.arguments.setText("'half")
    sheet.arguments.editingFinished.emit()
    assert "quotation" in sheet._arguments.wrong.text()


def test_whatever_an_engine_announces_makes_a_form(qtbot: QtBot) -> None:
    strange = (
        Option("No ends", "spin", "x"),
        Option("Below", "spin", "-5", 1, 9),
        Option("Nowhere", "combo", "a", choices=("b", "c")),
        Option("Empty combo", "combo", "a"),
        Option("Press", "button"),
        Option("class", "string", "\u5c06\u68cb"),
        Option("UCI_Variant", "combo", "chess", choices=("chess",)),
    )
    identity = Identity("", "", strange)
    form = Form(settings_type(identity))
    qtbot.addWidget(form)
    values = dict(list(form.values().items())[2:-3])
    assert list(values.values()) == [0, 1, "b", "a", "\u5c06\u68cb"]
    assert options_of(identity, {"option_0": 7}) == (("No ends", "7"),)


def test_the_end_of_a_long_command_can_be_read(desk: Desk, program: str, qtbot: QtBot) -> None:
    """Whoever wants to hide something puts it there."""
    engine = Engine(program, (*(f"--harmless{n}" for n in range(250)), f"sly{' ' * 300}end"), nodes=5)
    desk.league.add_agent("Sly", "shogi", "usi", payload_of(engine), origin="imported")
    asked = confirm_sheet(desk, "Sly")
    qtbot.addWidget(asked)
    asked.show()
    assert asked.command.verticalScrollBar().maximum() > 0
    assert asked.command.toPlainText().splitlines()[-2] == f"'sly{' ' * 300}end'"
    assert asked.height() < 700


def test_an_engine_from_elsewhere_shows_its_command_before_it_may_run(desk: Desk, program: str, qtbot: QtBot) -> None:
    engine = Engine(program, ("--fast",), (("Style", "calm"),), nodes=5)
    state, ears = desk.league, Ears(desk)
    state.add_samples("shogi", ["Dice"])
    stranger = state.add_agent("Stranger", "shogi", "usi", payload_of(engine), origin="imported")
    ids = (stranger.id, state.league.agent("Dice", "shogi").id)
    assert "not confirmed on this machine" in Drawing().count(state, Draft("shogi", {}, ids)).wrong
    [row] = [one for one in looks.listed(state.league, None) if one.id == stranger.id]
    assert "Not confirmed on this machine" in row.warning
    asked = confirm_sheet(desk, stranger.id)
    asked.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(asked)
    assert isinstance(asked, Question)
    assert asked.command.toPlainText().splitlines() == [
        program,
        "--fast",
        "set Style = calm",
        "may take 4,096 MB of memory",
    ]
    asked.show()
    QTest.keyClick(asked, Qt.Key.Key_Return)
    assert not approved(engine), "Enter is no consent"
    assert not asked.isVisible()
    asked.yes.click()
    assert approved(engine)
    assert ears.said[-1][0] == "Stranger may run on this machine"
    assert not any(one.warning for one in looks.listed(state.league, None))
    assert not Drawing().count(state, Draft("shogi", {}, ids)).wrong
    with pytest.raises(BadValue, match="not confirmed on this machine yet"):
        confirm_sheet(desk, "Stranger")


def test_what_engines_say_is_written_down_on_demand(
    desk: Desk, program: str, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, "")
    engine, ears = Engine(program, nodes=5), Ears(desk)
    desk.league.add_samples("shogi", ["Dice"])
    desk.league.add_agent("Talker", "shogi", "usi", payload_of(engine), origin="here")
    approve(engine)
    handling = Handling(desk, desk)
    handling.toggle_log()
    qtbot.waitUntil(lambda: bool(ears.said), timeout=20_000)
    folder = Path(desk.league.engine_log)
    assert str(folder) in ears.said[-1][0]
    rules = new_game("shogi", opening="none", move_limit=2).spec
    desk.league.start_tournament(game=rules, agents=["Talker", "Dice"], seed=1)
    qtbot.waitUntil(lambda: not desk.league.running, timeout=30_000)
    assert any("> go nodes 5" in log.read_text() for log in folder.iterdir())
    handling.toggle_log()
    qtbot.waitUntil(lambda: len(ears.said) == 2, timeout=20_000)
    assert desk.league.engine_log == ""
