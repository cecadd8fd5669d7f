"""The Agent page."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from engine.league import played_matches, standings
from league_app.core.queries import matches
from league_app.core.queries.agent_profile import load_profile
from league_app.gui.context import AppContext
from league_app.gui.dialogs.choose_agent import ChooseAgentDialog
from league_app.gui.pages.agent import AgentPage
from tests.league_app.gui.conftest import BOTS, QUICK
from tests.league_app.gui.test_history import HOSTILE, SignalRecorder, fail_some


@pytest.fixture
def recorder(context: AppContext) -> SignalRecorder:
    return SignalRecorder(context)


@pytest.fixture
def page(context: AppContext, qtbot: QtBot) -> AgentPage:
    page = AgentPage(context)
    qtbot.addWidget(page)
    page.resize(730, 560)
    page.show()
    return page


def show(page: AgentPage, agent: str, qtbot: QtBot) -> None:
    page.show_item(agent)
    qtbot.waitUntil(lambda: page._shown is not None and page._shown.agent.id == agent)


def test_the_page_agrees_with_the_standings(context: AppContext, page: AgentPage, qtbot: QtBot) -> None:
    show(page, "Tracker", qtbot)
    table = standings.standings(context.league.league, QUICK)
    [line] = [row for row in table.rows if row.agent == "Tracker"]
    figures = page.figures
    assert figures.rating.value.text() == f"{line.rating:.0f}"
    assert figures.place.value.text() == str([row.agent for row in table.rows].index("Tracker") + 1)
    assert figures.record.text().startswith(f"{line.total.wins} won, {line.total.draws} drawn")
    assert len(page.opponents._model.rows) == len(BOTS) - 1
    assert len(page.chart.lines[0].x) == 2  # two tournaments
    assert len(page.model.rows) == 12


def test_statistics_are_means_of_its_own_matches(context: AppContext) -> None:
    found = load_profile(context.league, QUICK, "Shaky").statistics
    own = [
        match.result.stats[seat]
        for match in played_matches.history(context.league.league, agent="Shaky", limit=1000)
        for seat, player in enumerate(match.result.players)
        if player == "Shaky"
    ]
    assert found.matches == len(own) == 40
    for place, mean in enumerate(found.means):
        assert mean.own == pytest.approx(sum(stats[place] for stats in own) / len(own))


def test_a_hostile_name_is_plain_text_and_does_not_widen_the_page(
    context: AppContext, page: AgentPage, qtbot: QtBot
) -> None:
    notes = "<script>alert(1)</script>\n" + "y" * 300
    context.league.change_agent("Tracker", name=HOSTILE, tags=tuple(f"tag {n}" * 9 for n in range(32)), notes=notes)
    show(page, "Tracker", qtbot)
    assert page.name.text() == HOSTILE
    assert page.minimumSizeHint().width() <= 730
    assert page.area.widget().width() <= 730
    for label in page.findChildren(QLabel):
        assert label.textFormat() == Qt.TextFormat.PlainText or not label.text()


def test_lineage_links_open_agents_and_back_returns(
    context: AppContext, page: AgentPage, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    league = context.league.league
    spec = league.spec("Dice")
    league.add_agent("Child", "pong", spec, parents=("Tracker", "Gone"))
    league.add_agent("Grandchild", "pong", spec, parents=("Child", "Grandchild"))  # corrupt: its own parent
    found = load_profile(context.league, QUICK, "Grandchild")
    assert [(kin.name, [relative.name for relative in kin.parents]) for kin in found.parents] == [
        ("Child", ["Tracker", "Gone"]),
        ("Grandchild", ["Child", "Grandchild"]),
    ]
    show(page, "Child", qtbot)
    assert not page.chart.isVisible()  # no matches yet, so no empty axes
    head = page.family.topLevelItem(0)
    assert head is not None
    page.family.itemClicked.emit(head.child(0), 0)
    assert recorder.navigations == [("agent", "Tracker")]
    page.family.itemClicked.emit(head.child(1), 0)
    assert len(recorder.navigations) == 1  # an agent that is not in the league has no page
    show(page, "Tracker", qtbot)
    page.back.click()
    assert page.agent == "Child"
    page.back.click()
    assert recorder.navigations[-1] == ("standings", None)


def test_the_page_links_to_matches_opponents_and_failures(
    context: AppContext, page: AgentPage, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    fail_some(context)
    show(page, "Tracker", qtbot)
    page.opponents.selectRow(0)
    other = page.opponents._model.rows[0].id
    qtbot.keyClick(page.opponents, Qt.Key.Key_Return)
    assert recorder.navigations[-1] == ("history", {"agent": "Tracker", "opponent": other, "tab": "matches"})
    page.matches.selectRow(0)
    qtbot.keyClick(page.matches, Qt.Key.Key_Return)
    assert recorder.navigations[-1] == ("match", matches.reference(page.model.rows[0][0]))
    assert page._shown is not None
    assert page.cards["failures"].isVisible() == bool(page._shown.failures)


def test_archiving_on_the_page_can_be_undone(context: AppContext, page: AgentPage, qtbot: QtBot) -> None:
    show(page, "Dice", qtbot)
    page.archive.click()
    qtbot.waitUntil(lambda: "archived" in page.kind.text())
    assert page.archive.accessibleName() == "Restore"
    context.undo.undo()
    qtbot.waitUntil(lambda: "archived" not in page.kind.text())


def test_an_agent_of_a_league_that_is_closed_is_no_longer_shown(
    context: AppContext, page: AgentPage, qtbot: QtBot
) -> None:
    show(page, "Dice", qtbot)
    state = context.release()
    assert state is not None
    assert page.stack.currentIndex() == 0
    state.close()


def test_a_match_against_another_is_shown_live(
    context: AppContext, page: AgentPage, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    show(page, "Tracker", qtbot)
    page.watch.click()
    qtbot.waitUntil(lambda: bool(page.findChildren(ChooseAgentDialog)))
    [dialog] = page.findChildren(ChooseAgentDialog)
    dialog.yes.click()
    qtbot.waitUntil(lambda: bool(recorder.navigations))
    name, live = recorder.navigations[-1]
    assert name == "match"
    assert {player.kind for player in live.spec.players} <= {"pong-bot", "dice", "neat"}  # type: ignore[attr-defined]
    live.close()  # type: ignore[attr-defined]
