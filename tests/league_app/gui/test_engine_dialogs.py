"""Dialogs for external engines: adding one, and confirming an imported one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from agents.usi.approvals import approve, approved
from agents.usi.engine_spec import EngineSpec, engine_of, payload_of
from agents.usi.protocol import Identity, Option
from agents.usi.transcript import FOLDER
from engine.errors import BadValue
from engine.registry import new_game
from league_app.core.queries.agents import agent_rows
from league_app.core.tournament_draft import DraftEstimator, TournamentDraft
from league_app.gui.actions import ACTIONS
from league_app.gui.agent_actions import AgentActions
from league_app.gui.context import AppContext
from league_app.gui.dialogs.choose_agent import ChooseAgentDialog
from league_app.gui.dialogs.messages import ConfirmDialog
from league_app.gui.dialogs.tournament import TournamentDialog
from league_app.gui.dialogs.usi_engine import (
    AddEngineDialog,
    ConfirmEngineDialog,
    confirm_engine_dialog,
    options_of,
    settings_type,
)
from league_app.gui.pages.agent import AgentPage
from league_app.gui.widgets.checklist import ID
from league_app.gui.widgets.form import Form
from tests.agents.usi.engines import FAULTY
from tests.league_app.gui.test_history import SignalRecorder


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "engine"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {FAULTY} "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def dialog(context: AppContext, program: str, qtbot: QtBot) -> AddEngineDialog:
    dialog = AddEngineDialog(context, program)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def row_of(form: Form, title: str) -> object:
    return next(row for row in form._rows if row.field.title == title).field


def test_the_options_of_a_chosen_engine_become_a_form(
    context: AppContext, dialog: AddEngineDialog, program: str, qtbot: QtBot
) -> None:
    recorder = SignalRecorder(context)
    assert "Starting the engine" in dialog.status.text()
    assert not dialog.add_button.isEnabled()
    qtbot.waitUntil(lambda: dialog.form is not None and dialog.add_button.isEnabled())
    assert dialog.status.text().replace("\u200b", "") == "Faulty 1.0, by Test Author. Plays Shogi."
    assert dialog.name.text() == "Faulty 1.0"
    form = dialog.form
    assert [row.field.title for row in form._rows] == [
        "Nodes", "Seconds", "USI_Hash", "Threads", "Book File", "Style", "Resign Early",
        "Patience", "Startup", "Memory",
    ]  # fmt: skip
    row_of(form, "Threads").control.lineEdit().setText("99")
    assert not dialog.add_button.isEnabled()
    row_of(form, "Threads").control.lineEdit().setText("2")
    row_of(form, "Style").control.setCurrentText("very wild")
    check = row_of(form, "Resign Early").control
    assert isinstance(check, QCheckBox)
    check.setChecked(True)
    row_of(form, "Nodes").control.lineEdit().setText("0")
    row_of(form, "Memory").control.lineEdit().setText("512")
    dialog.add_button.click()
    qtbot.waitUntil(lambda: bool(recorder.messages))
    assert recorder.messages[-1][0] == "Faulty 1.0 joined the league"
    agent = context.league.league.agent("Faulty 1.0")
    engine = engine_of(context.league.league.payload(agent.payload))
    options = (("Threads", "2"), ("Style", "very wild"), ("Resign Early", "true"))
    assert engine == EngineSpec(program, (), options, 0, 1.0, memory=512)
    assert approved(engine)


def test_a_program_that_is_no_engine_is_reported_and_new_arguments_retry(dialog: AddEngineDialog, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: dialog.form is not None)
    dialog.arguments.setText("refuses")
    dialog.arguments.editingFinished.emit()
    assert not dialog.add_button.isEnabled()
    qtbot.waitUntil(dialog.error.isVisible)
    assert "I play checkers" in dialog.error.text().replace("\u200b", "")
    dialog.arguments.setText("'half")
    dialog.arguments.editingFinished.emit()
    assert "quotation" in dialog._arguments.error.text()


def test_any_announced_options_make_a_form(qtbot: QtBot) -> None:
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


def test_the_end_of_a_long_command_can_be_read(context: AppContext, program: str, qtbot: QtBot) -> None:
    """A malicious argument could hide there."""
    engine = EngineSpec(program, (*(f"--harmless{n}" for n in range(250)), f"sly{' ' * 300}end"), nodes=5)
    context.league.add_agent("Sly", "shogi", "usi", payload_of(engine), origin="imported")
    confirmation = confirm_engine_dialog(context, "Sly")
    qtbot.addWidget(confirmation)
    confirmation.show()
    assert confirmation.command.verticalScrollBar().maximum() > 0
    assert confirmation.command.toPlainText().splitlines()[-2] == f"'sly{' ' * 300}end'"
    assert confirmation.height() < 700


def test_an_imported_engine_shows_its_command_before_it_may_run(
    context: AppContext, program: str, qtbot: QtBot
) -> None:
    engine = EngineSpec(program, ("--fast",), (("Style", "calm"),), nodes=5)
    state, recorder = context.league, SignalRecorder(context)
    state.add_samples("shogi", ["Dice"])
    stranger = state.add_agent("Stranger", "shogi", "usi", payload_of(engine), origin="imported")
    ids = (stranger.id, state.league.agent("Dice", "shogi").id)
    assert "not confirmed on this machine" in DraftEstimator().check(state, TournamentDraft("shogi", {}, ids)).error
    [row] = [row for row in agent_rows(state.league, None) if row.id == stranger.id]
    assert "Not confirmed on this machine" in row.warning
    confirmation = confirm_engine_dialog(context, stranger.id)
    confirmation.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(confirmation)
    assert isinstance(confirmation, ConfirmDialog)
    assert confirmation.command.toPlainText().splitlines() == [
        program,
        "--fast",
        "set Style = calm",
        "may use 4,096 MB of memory",
    ]
    confirmation.show()
    QTest.keyClick(confirmation, Qt.Key.Key_Return)
    assert not approved(engine), "Enter is no consent"
    assert not confirmation.isVisible()
    confirmation.yes.click()
    assert approved(engine)
    assert recorder.messages[-1][0] == "Stranger is allowed to run on this machine"
    assert not any(row.warning for row in agent_rows(state.league, None))
    assert not DraftEstimator().check(state, TournamentDraft("shogi", {}, ids)).error
    with pytest.raises(BadValue, match="not confirmed on this machine yet"):
        confirm_engine_dialog(context, "Stranger")


@pytest.fixture
def handling(context: AppContext, qtbot: QtBot) -> tuple[AgentActions, QWidget]:
    parent = QWidget()
    qtbot.addWidget(parent)
    return AgentActions(context, parent), parent


def strange(context: AppContext, program: str, name: str) -> str:
    """Add an imported engine."""
    engine = EngineSpec(program, (name,), nodes=5)
    return context.league.add_agent(name, "shogi", "usi", payload_of(engine), origin="imported").id


def test_confirming_finds_unconfirmed_engines(
    context: AppContext, program: str, handling: tuple[AgentActions, QWidget], qtbot: QtBot
) -> None:
    hands, parent = handling
    recorder = SignalRecorder(context)
    hands.confirm_one([], parent)
    qtbot.waitUntil(lambda: bool(recorder.messages))
    assert recorder.messages[-1][0].endswith("engines of this league are already confirmed on this machine")
    first = strange(context, program, "First")
    other = context.league.league.agents("pong")[0].id
    hands.confirm_one([other], parent)
    qtbot.waitUntil(lambda: len(parent.findChildren(ConfirmEngineDialog)) == 1)
    [confirmation] = parent.findChildren(ConfirmEngineDialog)
    assert "First" in confirmation.windowTitle() + confirmation.sentence.text()
    confirmation.yes.click()
    assert approved(EngineSpec(program, ("First",), nodes=5))
    second, third = strange(context, program, "Second"), strange(context, program, "Third")
    for selected in ([], [first]):
        hands.confirm_one(selected, parent)
        qtbot.waitUntil(lambda: len(parent.findChildren(ChooseAgentDialog)) == 1)
        [pick] = parent.findChildren(ChooseAgentDialog)
        assert [pick.list.item(n).data(ID) for n in range(pick.list.count())] == [second, third]
        pick.list.setCurrentRow(1)
        pick.yes.click()
        qtbot.waitUntil(lambda: not parent.findChildren(ChooseAgentDialog))
        [confirmation] = [dialog for dialog in parent.findChildren(ConfirmEngineDialog) if dialog.isVisible()]
        assert "Third" in confirmation.sentence.text()
        confirmation.no.click()
        qtbot.waitUntil(lambda: not parent.findChildren(ConfirmEngineDialog))
    hands.confirm_one([second], parent)
    qtbot.waitUntil(lambda: len(parent.findChildren(ConfirmEngineDialog)) == 1)
    assert "Second" in parent.findChildren(ConfirmEngineDialog)[0].sentence.text()


def test_the_confirm_action_is_enabled_whenever_a_league_is_open() -> None:
    [action] = [action for action in ACTIONS if action.text == "Confirm engine..."]
    assert action.when == "league"


def test_a_draft_with_an_unconfirmed_engine_offers_to_confirm_it(
    context: AppContext, program: str, qtbot: QtBot
) -> None:
    context.league.add_samples("shogi", ["Dice"])
    strange(context, program, "Stranger")
    context.select_pool(new_game("shogi").spec)
    dialog = TournamentDialog(context)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.fix.isVisible())
    assert (dialog.fix.text(), dialog.start.isEnabled()) == ("Confirm engine...", False)
    dialog.fix.click()
    [confirmation] = dialog.findChildren(ConfirmEngineDialog)
    confirmation.yes.click()
    qtbot.waitUntil(lambda: not dialog.error.text())
    assert (dialog.fix.isVisible(), dialog.start.isEnabled()) == (False, True)
    dialog.reject()


def test_an_engines_page_has_its_settings_in_rows(context: AppContext, program: str, qtbot: QtBot) -> None:
    engine = EngineSpec(program, ("--fast",), (("Style", "very wild"),), movetime=0.5, memory=512)
    page = AgentPage(context)
    qtbot.addWidget(page)
    page.resize(1000, 700)
    page.show()
    page.show_item(context.league.add_agent("Wild", "shogi", "usi", payload_of(engine), origin="imported").id)
    qtbot.waitUntil(lambda: page.name.text() == "Wild")
    texts = [label.text() for label in page.facts.findChildren(QLabel)]
    assert dict(zip(texts[::2], texts[1::2], strict=True)) == {
        "Command": f"{program} --fast",
        "Limit": "0.5 s per move",
        "Style": "very wild",
        "Memory": "512 MB at most",
    }
    assert "{" not in page.payload.text()
    page.show_item(context.league.league.agents("pong")[0].id)
    qtbot.waitUntil(page.facts.isHidden)


def test_engine_output_is_logged_on_demand(
    context: AppContext, program: str, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, "")
    engine, recorder = EngineSpec(program, nodes=5), SignalRecorder(context)
    context.league.add_samples("shogi", ["Dice"])
    context.league.add_agent("Talker", "shogi", "usi", payload_of(engine), origin="here")
    approve(engine)
    handling = AgentActions(context, context)
    handling.toggle_log()
    qtbot.waitUntil(lambda: bool(recorder.messages))
    folder = Path(context.league.engine_log)
    assert str(folder) in recorder.messages[-1][0]
    rules = new_game("shogi", opening="none", move_limit=2).spec
    context.league.start_tournament(game=rules, agents=["Talker", "Dice"], seed=1)
    qtbot.waitUntil(lambda: not context.league.running)
    assert any("> go nodes 5" in log.read_text() for log in folder.iterdir())
    handling.toggle_log()
    qtbot.waitUntil(lambda: len(recorder.messages) == 2)
    assert context.league.engine_log == ""
