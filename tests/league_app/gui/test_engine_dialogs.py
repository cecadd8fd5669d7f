"""External engines in the window: chosen, asked, set, added; and one from elsewhere, confirmed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from agents.usi.approvals import approve, approved
from agents.usi.engine_spec import Engine, engine_of, payload_of
from agents.usi.protocol import Identity, Option
from agents.usi.transcript import FOLDER
from engine.errors import BadValue
from engine.registry import new_game
from league_app.core.queries import matches as looks
from league_app.gui.actions import ACTIONS
from league_app.gui.context import Desk
from league_app.core.tournament_draft import Draft, Drawing
from league_app.gui.agent_actions import Handling
from league_app.gui.pages.agent import AgentPage
from league_app.gui.dialogs.usi_engine import Consent, EngineSheet, confirm_sheet, options_of, settings_type
from league_app.gui.dialogs.choose_agent import PickSheet
from league_app.gui.dialogs.messages import Question
from league_app.gui.dialogs.tournament import TournamentSheet
from league_app.gui.widgets.checklist import ID
from league_app.gui.widgets.form import Form
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


@pytest.fixture
def handling(desk: Desk, qtbot: QtBot) -> tuple[Handling, QWidget]:
    parent = QWidget()
    qtbot.addWidget(parent)
    return Handling(desk, parent), parent


def strange(desk: Desk, program: str, name: str) -> str:
    """An engine that came from elsewhere."""
    engine = Engine(program, (name,), nodes=5)
    return desk.league.add_agent(name, "shogi", "usi", payload_of(engine), origin="imported").id


def test_confirming_finds_the_engine_that_waits_for_it(
    desk: Desk, program: str, handling: tuple[Handling, QWidget], qtbot: QtBot
) -> None:
    hands, parent = handling
    ears = Ears(desk)
    hands.confirm_one([], parent)
    qtbot.waitUntil(lambda: bool(ears.said))
    assert ears.said[-1][0].endswith("all engines of this league are confirmed on this machine")
    first = strange(desk, program, "First")
    other = desk.league.league.agents("pong")[0].id
    hands.confirm_one([other], parent)
    qtbot.waitUntil(lambda: len(parent.findChildren(Consent)) == 1)
    [asked] = parent.findChildren(Consent)
    assert "First" in asked.windowTitle() + asked.sentence.text()
    asked.yes.click()
    assert approved(Engine(program, ("First",), nodes=5))
    second, third = strange(desk, program, "Second"), strange(desk, program, "Third")
    for selected in ([], [first]):
        hands.confirm_one(selected, parent)
        qtbot.waitUntil(lambda: len(parent.findChildren(PickSheet)) == 1)
        [pick] = parent.findChildren(PickSheet)
        assert [pick.list.item(n).data(ID) for n in range(pick.list.count())] == [second, third]
        pick.list.setCurrentRow(1)
        pick.yes.click()
        qtbot.waitUntil(lambda: not parent.findChildren(PickSheet))
        [asked] = [one for one in parent.findChildren(Consent) if one.isVisible()]
        assert "Third" in asked.sentence.text()
        asked.no.click()
        qtbot.waitUntil(lambda: not parent.findChildren(Consent))
    hands.confirm_one([second], parent)
    qtbot.waitUntil(lambda: len(parent.findChildren(Consent)) == 1)
    assert "Second" in parent.findChildren(Consent)[0].sentence.text()


def test_the_menu_offers_to_confirm_whenever_a_league_is_open() -> None:
    [action] = [one for one in ACTIONS if one.text == "Confirm an engine..."]
    assert action.when == "league"


def test_a_draft_with_an_engine_that_is_not_confirmed_offers_to(desk: Desk, program: str, qtbot: QtBot) -> None:
    desk.league.add_samples("shogi", ["Dice"])
    strange(desk, program, "Stranger")
    desk.look_at(new_game("shogi").spec)
    sheet = TournamentSheet(desk)
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(sheet)
    sheet.show()
    qtbot.waitUntil(lambda: sheet.offer.isVisible(), timeout=20_000)
    assert (sheet.offer.text(), sheet.start.isEnabled()) == ("Confirm...", False)
    sheet.offer.click()
    [asked] = sheet.findChildren(Consent)
    asked.yes.click()
    qtbot.waitUntil(lambda: not sheet.wrong.text(), timeout=20_000)
    assert (sheet.offer.isVisible(), sheet.start.isEnabled()) == (False, True)
    sheet.reject()


def test_an_engines_page_has_its_settings_in_rows(desk: Desk, program: str, qtbot: QtBot) -> None:
    engine = Engine(program, ("--fast",), (("Style", "very wild"),), movetime=0.5, memory=512)
    page = AgentPage(desk)
    qtbot.addWidget(page)
    page.resize(1000, 700)
    page.show()
    page.show_what(desk.league.add_agent("Wild", "shogi", "usi", payload_of(engine), origin="imported").id)
    qtbot.waitUntil(lambda: page.name.text() == "Wild")
    told = [one.text() for one in page.settings.findChildren(QLabel)]
    assert dict(zip(told[::2], told[1::2], strict=True)) == {
        "Command": f"{program} --fast",
        "Limit": "0.5 s a move",
        "Style": "very wild",
        "Memory": "512 MB at most",
    }
    assert "{" not in page.made.text()
    page.show_what(desk.league.league.agents("pong")[0].id)
    qtbot.waitUntil(page.settings.isHidden)


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
