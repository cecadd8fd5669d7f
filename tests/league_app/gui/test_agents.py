"""The agents dock, and the dialogs that add or edit agents."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from engine.league import standings
from engine.league.storage import agent_file
from engine.registry import KINDS
from league_app.core import agent_files
from league_app.core.queries.agent_profile import load_profile
from league_app.core.queries.agents import agent_rows
from league_app.core.state import LeagueState
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.dialogs.add_agents import AddAgentDialog, ReadyMadeDialog, load_kinds, load_ready_made
from league_app.gui.dialogs.choose_agent import ChooseAgentDialog
from league_app.gui.dialogs.edit_agent import EditAgentDialog
from league_app.gui.docks.agents import AgentsDock
from league_app.gui.widgets.agent_colours import colour_of
from tests.league_app.gui.conftest import BOTS, QUICK
from tests.league_app.gui.test_history import HOSTILE, SignalRecorder, fail_some


@pytest.fixture
def recorder(context: AppContext) -> SignalRecorder:
    return SignalRecorder(context)


@pytest.fixture
def dock(context: AppContext, qtbot: QtBot) -> AgentsDock:
    dock = AgentsDock(context)
    qtbot.addWidget(dock)
    dock.resize(240, 560)
    dock.show()
    qtbot.waitUntil(lambda: len(dock.model.rows) == 8)
    return dock


def choose(dock: AgentsDock, *ids: str) -> None:
    dock.table.clearSelection()
    for place, row in enumerate(dock.model.rows):
        if row.id in ids:
            flags = dock.table.selectionModel().SelectionFlag
            index = dock.model.index(place, 0)
            dock.table.selectionModel().select(index, flags.Select | flags.Rows)
            dock.table.selectionModel().setCurrentIndex(index, flags.NoUpdate)
    assert sorted(dock.selected()) == sorted(ids)


# The dock


def test_the_dock_lists_the_games_agents_by_rating(context: AppContext, dock: AgentsDock) -> None:
    QAbstractItemModelTester(dock.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    table = [row.agent for row in standings.standings(context.league.league, QUICK).rows if row.total.played]
    assert [row.id for row in dock.model.rows][: len(BOTS)] == table
    assert {row.id for row in dock.model.rows if row.rating is None} == {"Evolved", "Dice"}
    dock.filter_edit.setText("shak")
    assert [row.id for row in dock.model.rows] == ["Shaky"]


def test_delete_archives_and_undo_brings_back(
    context: AppContext, dock: AgentsDock, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    choose(dock, "Lazy", "Dice")
    qtbot.keyClick(dock.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: len(dock.model.rows) == 6)
    text, _, offer = recorder.messages[-1]
    assert text == "2 agents archived"
    assert offer is not None
    offer[1]()
    qtbot.waitUntil(lambda: len(dock.model.rows) == 8)
    context.undo.redo()
    qtbot.waitUntil(lambda: len(dock.model.rows) == 6)
    dock.archived.click()
    assert len(dock.model.rows) == 8
    choose(dock, "Lazy", "Dice")
    assert dock.archive_button.accessibleName().startswith("Restore")
    dock.archive_selected()
    assert {"Lazy", "Dice"} <= {agent.id for agent in context.league.agents()}


def test_archiving_an_entrant_of_an_unfinished_tournament_archives_none(
    context: AppContext, dock: AgentsDock, qtbot: QtBot
) -> None:
    fail_some(context)
    context.failed.disconnect()
    failed: list[object] = []
    context.failed.connect(failed.append)
    choose(dock, "Dice", "Lazy")
    dock.archive_selected()
    assert len(failed) == 1
    assert len(context.league.agents()) == 8
    assert not context.undo.canUndo()


def test_a_name_that_was_another_agents_id_is_not_mistaken_for_it(
    context: AppContext, dock: AgentsDock, qtbot: QtBot
) -> None:
    context.league.change_agent("Dice", name="Old")
    context.league.change_agent("Evolved", name="Dice")
    qtbot.waitUntil(lambda: any(row.name == "Old" for row in dock.model.rows))
    choose(dock, "Dice")
    dock.archive_selected()
    assert context.league.league.by_id("Dice").archived is not None
    assert context.league.league.by_id("Evolved").archived is None


def test_enter_opens_the_page_and_f2_the_edit_dialog(
    context: AppContext, dock: AgentsDock, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    choose(dock, "Lazy")
    qtbot.keyClick(dock.table, Qt.Key.Key_Return)
    assert recorder.navigations == [("agent", "Lazy")]
    qtbot.keyClick(dock.table, Qt.Key.Key_F2)
    [dialog] = dock.findChildren(EditAgentDialog)
    assert dialog.name.text() == "Lazy"


def test_agents_are_exported_and_imported_and_bad_files_reported(
    context: AppContext, dock: AgentsDock, recorder: SignalRecorder, qtbot: QtBot, tmp_path: Path
) -> None:
    context.league.change_agent("Lazy", name=HOSTILE, tags=("slow",), notes="n", colour="FF00AA")
    dock.agent_actions._exported = ["Lazy"]
    dock.agent_actions.export_to(str(tmp_path / "lazy.agent"))
    qtbot.waitUntil(lambda: not context.slow_queue.waiting)
    assert agent_file.load(tmp_path / "lazy.agent").name == HOSTILE
    context.league.change_agent("Lazy", name="Lazy again")
    (tmp_path / "bad.agent").write_bytes(b"PK nonsense")
    mime = QMimeData()
    paths = [tmp_path / "lazy.agent", tmp_path / "bad.agent", tmp_path / "x.league"]
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    actions, buttons, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    with qtbot.waitSignal(dock.dropped) as others:
        dock.dropEvent(QDropEvent(QPointF(5, 5), actions, mime, buttons, keys))
    assert others.args == [[tmp_path / "x.league"]]
    qtbot.waitUntil(lambda: not context.slow_queue.waiting)
    agent = context.league.league.agent(HOSTILE, "pong")
    assert (agent.tags, agent.notes, agent.colour) == (("slow",), "n", "FF00AA")
    assert agent.payload == context.league.league.by_id("Lazy").payload
    assert [tone for _, tone, _ in recorder.messages[-2:]] == ["good", "bad"]
    offer = recorder.messages[-2][2]
    assert offer is not None
    offer[1]()
    assert context.league.league.by_id(agent.id).archived is not None


def test_the_same_agent_is_imported_once_and_another_of_its_name_gets_a_number(
    context: AppContext, tmp_path: Path
) -> None:
    league = context.league.league
    [same] = agent_files.export_agents(league, ["Lazy"], tmp_path / "lazy.agent")
    other = agent_file.load(same)
    agent_file.save(
        tmp_path / "other.agent", agent_file.AgentFile("Lazy", "pong", "pong-bot", other.version, b'{"style": "still"}')
    )
    found = agent_files.import_agents(context.league, [same, tmp_path / "other.agent"])
    assert found.known == ("Lazy",)
    assert [agent.name for agent in found.agents] == ["Lazy (2)"]
    written = agent_files.export_agents(league, ["Lazy", "Still", "Dice"], tmp_path)
    assert sorted(path.name for path in written) == ["Dice.agent", "Lazy.agent", "Still.agent"]
    assert len(agent_files.export_agents(league, ["Lazy", "Still"], tmp_path)) == 2
    assert (tmp_path / "Lazy-2.agent").is_file()  # existing files are not overwritten


def test_a_read_only_league_cannot_be_changed(bare: AppContext, played: Path, qtbot: QtBot) -> None:
    bare.adopt(LeagueState(played, read_only=True))
    dock = AgentsDock(bare)
    qtbot.addWidget(dock)
    dock.show()
    qtbot.waitUntil(lambda: len(dock.model.rows) == 8)
    choose(dock, "Lazy")
    assert not dock.add_button.isEnabled()
    assert not dock.archive_button.isEnabled()
    assert dock.export_button.isEnabled()
    dock.edit_selected()
    assert not dock.findChildren(QDialog)


def test_the_dock_says_that_no_league_is_open(bare: AppContext, qtbot: QtBot) -> None:
    dock = AgentsDock(bare)
    qtbot.addWidget(dock)
    dock.show()
    dock._refresh_all()
    assert dock.stack.currentWidget() is dock.no_league


# Dialogs


def test_edit_dialog_shows_errors_before_anything_changes(context: AppContext, qtbot: QtBot) -> None:
    dialog = EditAgentDialog(context, "Lazy")
    qtbot.addWidget(dialog)
    dialog.show()
    assert not dialog.save_button.isEnabled()  # nothing has changed yet
    for wrong in ("Tracker", "", " x", "a\u202eb", "x" * 121):
        dialog.name.setText(wrong)
        assert not dialog.save_button.isEnabled()
        assert dialog._name.error.text()
    dialog.name.setText(HOSTILE)
    assert dialog.save_button.isEnabled()
    dialog.description.colour.set("12345")
    assert not dialog.save_button.isEnabled()
    dialog.description.colour.swatches[2].click()
    dialog.description.tags.setText("slow,  baseline, slow")
    dialog.description.notes.setPlainText("two\nlines")
    dialog.save_button.click()
    changed = context.league.league.by_id("Lazy")
    assert (changed.name, changed.tags, changed.notes) == (HOSTILE, ("slow", "baseline"), "two\nlines")
    assert changed.colour == theme.current().series[1]
    context.undo.undo()
    before = context.league.league.by_id("Lazy")
    assert (before.name, before.tags, before.notes, before.colour) == ("Lazy", (), "", "")


def test_a_colour_of_the_palette_follows_the_theme(context: AppContext) -> None:
    given = theme.LIGHT.series[5]
    assert colour_of("x", given) == given
    theme.apply("dark")
    assert colour_of("x", given) == theme.DARK.series[5]
    assert colour_of("x", "FF00AA") == "FF00AA"
    theme.apply("light")


def test_ready_made_agents_already_in_the_league_cannot_be_checked(
    context: AppContext, qtbot: QtBot, recorder: SignalRecorder
) -> None:
    context.league.change_agent("Dice", name="Other")
    context.league.archive("Still")
    dialog = ReadyMadeDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.list.list.count() > 0)
    assert "Dice" in dialog.list.checked
    dialog.list.check_none()
    assert not dialog.add_button.isEnabled()
    for name in ("Dice", "Still", "Tracker"):
        dialog.list.field.setText(name)
        dialog.list.check_all()
    assert dialog.list.checked == ["Dice"]  # the others are archived or already added
    dialog.add_button.click()
    qtbot.waitUntil(lambda: bool(recorder.messages))
    assert recorder.messages[-1][:2] == ("Dice added", "good")
    assert any(agent.name == "Dice" for agent in context.league.agents())


def test_an_agent_is_added_from_a_payload_or_its_error_shown(context: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = AddAgentDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.kind.count() > 1)
    assert not dialog.add_button.isEnabled()
    dialog.kind.setCurrentText("pong-bot")
    dialog.name.setText("Sleepy")
    dialog.payload.setPlainText('{"style": "asleep"}')
    dialog.add_button.click()
    qtbot.waitUntil(lambda: bool(dialog._payload.error.text()))
    assert "asleep" in dialog._payload.error.text()
    path = tmp_path / "payload.json"
    path.write_text('{"style": "still"}')
    dialog.use_file(str(path))
    dialog.description.tags.setText("quiet")
    dialog.add_button.click()
    qtbot.waitUntil(lambda: any(agent.name == "Sleepy" for agent in context.league.agents()))
    agent = context.league.league.agent("Sleepy")
    assert context.league.league.payload(agent.payload) == b'{"style": "still"}'
    assert agent.tags == ("quiet",)


def test_an_opponent_is_chosen_by_typing(context: AppContext, qtbot: QtBot) -> None:
    picked: list[str] = []
    dialog = ChooseAgentDialog("Against", "Watch", agent_rows(context.league.league, QUICK), picked.append, None)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.keyClicks(dialog.field, "laz")
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    assert picked == ["Lazy"]


def test_a_human_player_joins_the_league(
    context: AppContext, dock: AgentsDock, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    joined = "You joined the league: enter yourself in a tournament to play"
    dock.add_person()
    qtbot.waitUntil(lambda: any(message[0] == joined for message in recorder.messages))
    dock.add_person()
    qtbot.waitUntil(lambda: sum(agent.kind == "human" for agent in context.league.agents()) == 2)


@pytest.fixture
def joystick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The only live kind is one of a plug-in."""
    kind = dataclasses.replace(KINDS.get("human"), name="joystick")
    names = [name for name in KINDS.names() if name != "human"]
    KINDS.add("joystick", kind)
    monkeypatch.setattr(KINDS, "names", lambda: [*names, "joystick"])
    yield
    KINDS.remove("joystick")


def test_the_person_at_this_screen_plays_by_the_kind_that_is_live(
    joystick: None, context: AppContext, dock: AgentsDock, qtbot: QtBot
) -> None:
    dock.add_person()
    qtbot.waitUntil(lambda: [agent.kind for agent in context.league.agents() if agent.name == "You"] == ["joystick"])
    assert "joystick" not in load_kinds("pong"), "it has an action of its own"
    assert "joystick" not in {row.about for row in load_ready_made(context.league, "pong")}


def test_the_person_plays_against_an_agent_by_the_kind_that_is_live(joystick: None, context: AppContext) -> None:
    agent = context.league.agents()[0]
    person = load_profile(context.league, None, agent.id).person
    assert person is KINDS.get("joystick")


def test_without_a_live_kind_no_person_joins_and_the_reason_is_shown(
    context: AppContext, dock: AgentsDock, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KINDS, "names", lambda: ["neat", "pong-bot"])
    context.failed.disconnect()
    with qtbot.waitSignal(context.failed) as failed:
        dock.add_person()
    assert "no installed agent kind lets a person play pong" in str(failed.args[0])
