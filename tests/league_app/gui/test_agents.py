"""The agents dock, an agent's page, and the sheets that change or add agents."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QDialog, QLabel
from pytestqt.qtbot import QtBot

from engine.league.storage import agent_file as bundles
from engine.league import standings as tables
from league_app.core.queries import matches as looks
from league_app.gui import theme
from league_app.core import agent_files as travel
from league_app.gui.context import Desk
from league_app.gui.docks.agents import AgentsDock
from league_app.gui.pages.agent import AgentPage
from league_app.core.queries.agent_profile import portrait
from league_app.gui.dialogs.edit_agent import EditSheet
from league_app.gui.dialogs.add_agents import PERSON, EnterSheet, ReadyMadeSheet
from league_app.gui.dialogs.choose_agent import PickSheet
from league_app.core.state import LeagueState
from league_app.gui.widgets.agent_colours import colour_of
from tests.gui.conftest import BOTS, QUICK
from tests.gui.test_history import HOSTILE, Ears, fail_some


@pytest.fixture
def ears(desk: Desk) -> Ears:
    return Ears(desk)


@pytest.fixture
def dock(desk: Desk, qtbot: QtBot) -> AgentsDock:
    made = AgentsDock(desk)
    qtbot.addWidget(made)
    made.resize(240, 560)
    made.show()
    qtbot.waitUntil(lambda: len(made.model.rows) == 8)
    return made


@pytest.fixture
def page(desk: Desk, qtbot: QtBot) -> AgentPage:
    made = AgentPage(desk)
    qtbot.addWidget(made)
    made.resize(730, 560)
    made.show()
    return made


def choose(dock: AgentsDock, *ids: str) -> None:
    dock.table.clearSelection()
    for place, one in enumerate(dock.model.rows):
        if one.id in ids:
            flags = dock.table.selectionModel().SelectionFlag
            index = dock.model.index(place, 0)
            dock.table.selectionModel().select(index, flags.Select | flags.Rows)
            dock.table.selectionModel().setCurrentIndex(index, flags.NoUpdate)
    assert sorted(dock.selected()) == sorted(ids)


def show(page: AgentPage, agent: str, qtbot: QtBot) -> None:
    page.show_what(agent)
    qtbot.waitUntil(lambda: page._shown is not None and page._shown.agent.id == agent)


# The dock


def test_the_dock_lists_the_games_agents_by_rating(desk: Desk, dock: AgentsDock) -> None:
    QAbstractItemModelTester(dock.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    table = [row.agent for row in tables.standings(desk.league.league, QUICK).rows if row.total.played]
    assert [one.id for one in dock.model.rows][: len(BOTS)] == table
    assert {one.id for one in dock.model.rows if one.rating is None} == {"Evolved", "Dice"}
    dock.field.setText("shak")
    assert [one.id for one in dock.model.rows] == ["Shaky"]


def test_delete_archives_and_undo_brings_back(desk: Desk, dock: AgentsDock, ears: Ears, qtbot: QtBot) -> None:
    choose(dock, "Lazy", "Dice")
    qtbot.keyClick(dock.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: len(dock.model.rows) == 6)
    text, _, offer = ears.said[-1]
    assert text == "2 agents archived"
    assert offer is not None
    offer[1]()
    qtbot.waitUntil(lambda: len(dock.model.rows) == 8)
    desk.undo.redo()
    qtbot.waitUntil(lambda: len(dock.model.rows) == 6)
    dock.archived.click()
    assert len(dock.model.rows) == 8
    choose(dock, "Lazy", "Dice")
    assert dock.archive_button.accessibleName().startswith("Restore")
    dock.archive_selected()
    assert {"Lazy", "Dice"} <= {one.id for one in desk.league.agents()}


def test_who_plays_in_something_unfinished_stays_and_so_do_those_beside_it(
    desk: Desk, dock: AgentsDock, qtbot: QtBot
) -> None:
    fail_some(desk)
    desk.failed.disconnect()
    failed: list[object] = []
    desk.failed.connect(failed.append)
    choose(dock, "Dice", "Lazy")
    dock.archive_selected()
    assert len(failed) == 1
    assert len(desk.league.agents()) == 8
    assert not desk.undo.canUndo()


def test_a_name_that_was_another_agents_id_is_not_mistaken_for_it(desk: Desk, dock: AgentsDock, qtbot: QtBot) -> None:
    desk.league.change_agent("Dice", name="Old")
    desk.league.change_agent("Evolved", name="Dice")
    qtbot.waitUntil(lambda: any(one.name == "Old" for one in dock.model.rows))
    choose(dock, "Dice")
    dock.archive_selected()
    assert desk.league.league.by_id("Dice").archived is not None
    assert desk.league.league.by_id("Evolved").archived is None


def test_enter_opens_the_page_and_f2_the_sheet(desk: Desk, dock: AgentsDock, ears: Ears, qtbot: QtBot) -> None:
    choose(dock, "Lazy")
    qtbot.keyClick(dock.table, Qt.Key.Key_Return)
    assert ears.wanted == [("agent", "Lazy")]
    qtbot.keyClick(dock.table, Qt.Key.Key_F2)
    [sheet] = dock.findChildren(EditSheet)
    assert sheet.name.text() == "Lazy"


def test_agents_travel_as_files_and_what_is_wrong_is_told(
    desk: Desk, dock: AgentsDock, ears: Ears, qtbot: QtBot, tmp_path: Path
) -> None:
    desk.league.change_agent("Lazy", name=HOSTILE, tags=("slow",), notes="n", colour="FF00AA")
    dock.handling._exported = ["Lazy"]
    dock.handling.export_to(str(tmp_path / "lazy.agent"))
    qtbot.waitUntil(lambda: not desk.work.waiting)
    assert bundles.load(tmp_path / "lazy.agent").name == HOSTILE
    desk.league.change_agent("Lazy", name="Lazy again")
    (tmp_path / "bad.agent").write_bytes(b"PK nonsense")
    mime = QMimeData()
    paths = [tmp_path / "lazy.agent", tmp_path / "bad.agent", tmp_path / "x.league"]
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    actions, buttons, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    with qtbot.waitSignal(dock.dropped) as others:
        dock.dropEvent(QDropEvent(QPointF(5, 5), actions, mime, buttons, keys))
    assert others.args == [[tmp_path / "x.league"]]
    qtbot.waitUntil(lambda: not desk.work.waiting)
    made = desk.league.league.agent(HOSTILE, "pong")
    assert (made.tags, made.notes, made.colour) == (("slow",), "n", "FF00AA")
    assert made.payload == desk.league.league.by_id("Lazy").payload
    assert [tone for _, tone, _ in ears.said[-2:]] == ["good", "bad"]
    offer = ears.said[-2][2]
    assert offer is not None
    offer[1]()
    assert desk.league.league.by_id(made.id).archived is not None


def test_the_same_agent_is_imported_once_and_another_of_its_name_gets_a_number(desk: Desk, tmp_path: Path) -> None:
    league = desk.league.league
    [same] = travel.send(league, ["Lazy"], tmp_path / "lazy.agent")
    other = bundles.load(same)
    bundles.save(
        tmp_path / "other.agent", bundles.Bundle("Lazy", "pong", "pong-bot", other.version, b'{"style": "still"}')
    )
    found = travel.bring(desk.league, [same, tmp_path / "other.agent"])
    assert found.known == ("Lazy",)
    assert [one.name for one in found.agents] == ["Lazy (2)"]
    written = travel.send(league, ["Lazy", "Still", "Dice"], tmp_path)
    assert sorted(path.name for path in written) == ["Dice.agent", "Lazy.agent", "Still.agent"]
    assert len(travel.send(league, ["Lazy", "Still"], tmp_path)) == 2
    assert (tmp_path / "Lazy-2.agent").is_file()  # nothing is written over


def test_a_league_opened_for_looking_cannot_be_changed(bare: Desk, played: Path, qtbot: QtBot) -> None:
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


def test_without_a_league_the_dock_says_so(bare: Desk, qtbot: QtBot) -> None:
    dock = AgentsDock(bare)
    qtbot.addWidget(dock)
    dock.show()
    dock._look_anew()
    assert dock.stack.currentWidget() is dock.none


# Sheets


def test_editing_tells_what_is_wrong_before_anything_changes(desk: Desk, qtbot: QtBot) -> None:
    sheet = EditSheet(desk, "Lazy")
    qtbot.addWidget(sheet)
    sheet.show()
    assert not sheet.save_button.isEnabled()  # nothing is another yet
    for wrong in ("Tracker", "", " x", "a\u202eb", "x" * 121):
        sheet.name.setText(wrong)
        assert not sheet.save_button.isEnabled()
        assert sheet._name.wrong.text()
    sheet.name.setText(HOSTILE)
    assert sheet.save_button.isEnabled()
    sheet.said.colour.set("12345")
    assert not sheet.save_button.isEnabled()
    sheet.said.colour.swatches[2].click()
    sheet.said.tags.setText("slow,  baseline, slow")
    sheet.said.notes.setPlainText("two\nlines")
    sheet.save_button.click()
    changed = desk.league.league.by_id("Lazy")
    assert (changed.name, changed.tags, changed.notes) == (HOSTILE, ("slow", "baseline"), "two\nlines")
    assert changed.colour == theme.current().series[1]
    desk.undo.undo()
    before = desk.league.league.by_id("Lazy")
    assert (before.name, before.tags, before.notes, before.colour) == ("Lazy", (), "", "")


def test_a_colour_of_the_palette_follows_the_theme(desk: Desk) -> None:
    given = theme.LIGHT.series[5]
    assert colour_of("x", given) == given
    theme.apply("dark")
    assert colour_of("x", given) == theme.DARK.series[5]
    assert colour_of("x", "FF00AA") == "FF00AA"
    theme.apply("light")


def test_ready_made_agents_are_ticked_and_those_inside_cannot_be(desk: Desk, qtbot: QtBot, ears: Ears) -> None:
    desk.league.change_agent("Dice", name="Other")
    desk.league.archive("Still")
    sheet = ReadyMadeSheet(desk)
    qtbot.addWidget(sheet)
    sheet.show()
    qtbot.waitUntil(lambda: sheet.list.list.count() > 0)
    assert "Dice" in sheet.list.ticked
    sheet.list.tick_none()
    assert not sheet.add_button.isEnabled()
    for name in ("Dice", "Still", "Tracker"):
        sheet.list.field.setText(name)
        sheet.list.tick_all()
    assert sheet.list.ticked == ["Dice"]  # of the others one is archived and one is in
    sheet.add_button.click()
    qtbot.waitUntil(lambda: bool(ears.said))
    assert ears.said[-1][:2] == ("Dice added", "good")
    assert any(one.name == "Dice" for one in desk.league.agents())


def test_an_agent_made_of_a_payload_is_entered_or_refused_in_words(desk: Desk, qtbot: QtBot, tmp_path: Path) -> None:
    sheet = EnterSheet(desk)
    qtbot.addWidget(sheet)
    sheet.show()
    qtbot.waitUntil(lambda: sheet.kind.count() > 1)
    assert not sheet.enter_button.isEnabled()
    sheet.kind.setCurrentText("pong-bot")
    sheet.name.setText("Sleepy")
    sheet.payload.setPlainText('{"style": "asleep"}')
    sheet.enter_button.click()
    qtbot.waitUntil(lambda: bool(sheet._payload.wrong.text()))
    assert "asleep" in sheet._payload.wrong.text()
    path = tmp_path / "payload.json"
    path.write_text('{"style": "still"}')
    sheet.use_file(str(path))
    sheet.said.tags.setText("quiet")
    sheet.enter_button.click()
    qtbot.waitUntil(lambda: any(one.name == "Sleepy" for one in desk.league.agents()))
    made = desk.league.league.agent("Sleepy")
    assert desk.league.league.payload(made.payload) == b'{"style": "still"}'
    assert made.tags == ("quiet",)


def test_an_opponent_is_picked_by_typing(desk: Desk, qtbot: QtBot) -> None:
    picked: list[str] = []
    sheet = PickSheet("Against", "Watch", looks.listed(desk.league.league, QUICK), picked.append, None)
    qtbot.addWidget(sheet)
    sheet.show()
    qtbot.keyClicks(sheet.field, "laz")
    qtbot.keyClick(sheet.field, Qt.Key.Key_Return)
    assert picked == ["Lazy"]


# The page


def test_the_page_says_what_the_standings_say(desk: Desk, page: AgentPage, qtbot: QtBot) -> None:
    show(page, "Tracker", qtbot)
    table = tables.standings(desk.league.league, QUICK)
    [line] = [row for row in table.rows if row.agent == "Tracker"]
    figures = page.figures
    assert figures.rating.value.text() == f"{line.rating:.0f}"
    assert figures.place.value.text() == str([row.agent for row in table.rows].index("Tracker") + 1)
    assert figures.record.text().startswith(f"{line.total.wins} won, {line.total.draws} drawn")
    assert len(page.opponents._model.rows) == len(BOTS) - 1
    assert len(page.chart.lines[0].x) == 2  # two tournaments
    assert len(page.model.rows) == 12


def test_statistics_are_means_of_its_own_matches(desk: Desk) -> None:
    found = portrait(desk.league, QUICK, "Shaky").statistics
    own = [
        one.result.stats[seat]
        for one in tables.history(desk.league.league, agent="Shaky", limit=1000)
        for seat, player in enumerate(one.result.players)
        if player == "Shaky"
    ]
    assert found.matches == len(own) == 40
    for place, mean in enumerate(found.means):
        assert mean.own == pytest.approx(sum(stats[place] for stats in own) / len(own))


def test_a_hostile_name_is_plain_text_and_does_not_widen_the_page(desk: Desk, page: AgentPage, qtbot: QtBot) -> None:
    notes = "<script>alert(1)</script>\n" + "y" * 300
    desk.league.change_agent("Tracker", name=HOSTILE, tags=tuple(f"tag {n}" * 9 for n in range(32)), notes=notes)
    show(page, "Tracker", qtbot)
    assert page.name.text() == HOSTILE
    assert page.minimumSizeHint().width() <= 730
    assert page.area.widget().width() <= 730
    for one in page.findChildren(QLabel):
        assert one.textFormat() == Qt.TextFormat.PlainText or not one.text()


def test_the_family_can_be_walked_and_back(desk: Desk, page: AgentPage, ears: Ears, qtbot: QtBot) -> None:
    league = desk.league.league
    spec = league.spec("Dice")
    league.add_agent("Child", "pong", spec, parents=("Tracker", "Gone"))
    league.add_agent("Grandchild", "pong", spec, parents=("Child", "Grandchild"))  # its own parent, says a bad file
    found = portrait(desk.league, QUICK, "Grandchild")
    assert [(kin.name, [one.name for one in kin.above]) for kin in found.parents] == [
        ("Child", ["Tracker", "Gone"]),
        ("Grandchild", ["Child", "Grandchild"]),
    ]
    show(page, "Child", qtbot)
    assert not page.chart.isVisible()  # it has not played: no empty axes
    head = page.family.topLevelItem(0)
    assert head is not None
    page.family.itemClicked.emit(head.child(0), 0)
    assert ears.wanted == [("agent", "Tracker")]
    page.family.itemClicked.emit(head.child(1), 0)
    assert len(ears.wanted) == 1  # who is not here cannot be shown
    show(page, "Tracker", qtbot)
    page.back.click()
    assert page.agent == "Child"
    page.back.click()
    assert ears.wanted[-1] == ("standings", None)


def test_the_page_leads_on_to_matches_opponents_and_failures(
    desk: Desk, page: AgentPage, ears: Ears, qtbot: QtBot
) -> None:
    fail_some(desk)
    show(page, "Tracker", qtbot)
    page.opponents.selectRow(0)
    other = page.opponents._model.rows[0].id
    qtbot.keyClick(page.opponents, Qt.Key.Key_Return)
    assert ears.wanted[-1] == ("history", {"agent": "Tracker", "opponent": other, "tab": "matches"})
    page.matches.selectRow(0)
    qtbot.keyClick(page.matches, Qt.Key.Key_Return)
    assert ears.wanted[-1] == ("match", looks.reference(page.model.rows[0][0]))
    assert page._shown is not None
    assert page.cards["failures"].isVisible() == bool(page._shown.failures)


def test_archiving_on_the_page_shows_and_can_be_undone(desk: Desk, page: AgentPage, qtbot: QtBot) -> None:
    show(page, "Dice", qtbot)
    page.away.click()
    qtbot.waitUntil(lambda: "archived" in page.kind.text())
    assert page.away.accessibleName() == "Restore"
    desk.undo.undo()
    qtbot.waitUntil(lambda: "archived" not in page.kind.text())


def test_an_agent_of_a_league_that_is_closed_is_no_longer_shown(desk: Desk, page: AgentPage, qtbot: QtBot) -> None:
    show(page, "Dice", qtbot)
    state = desk.release()
    assert state is not None
    assert page.stack.currentIndex() == 0
    state.close()


def test_a_match_against_another_is_shown_live(desk: Desk, page: AgentPage, ears: Ears, qtbot: QtBot) -> None:
    show(page, "Tracker", qtbot)
    page.watch.click()
    qtbot.waitUntil(lambda: bool(page.findChildren(PickSheet)))
    [sheet] = page.findChildren(PickSheet)
    sheet.yes.click()
    qtbot.waitUntil(lambda: bool(ears.wanted), timeout=20_000)
    name, live = ears.wanted[-1]
    assert name == "match"
    assert {one.kind for one in live.spec.players} <= {"pong-bot", "dice", "neat"}  # type: ignore[attr-defined]
    live.close()  # type: ignore[attr-defined]


def test_a_person_joins_the_league(desk: Desk, dock: AgentsDock, ears: Ears, qtbot: QtBot) -> None:
    joined = "You are in: choose yourself for a tournament, and play"
    dock.add_person()
    qtbot.waitUntil(lambda: any(said[0] == joined for said in ears.said))
    dock.add_person()
    qtbot.waitUntil(lambda: sum(one.kind == PERSON for one in desk.league.agents()) == 2)
