"""The Standings page: table, crosstable, heat map, and how they follow a tournament."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from engine.errors import BadLeague
from engine.registry import new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.garbage_collection import gc_paused
from league_app.gui.models import standings as model
from league_app.gui.models.standings import (
    load_standings,
)
from league_app.gui.pages import standings
from league_app.gui.pages.standings import ALL, StandingsPage
from league_app.gui.widgets.table.delegates import NOTHING
from tests.league_app.gui.conftest import BOTS, QUICK

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")  # no screen, so no window manager either
NASTY = "<b>\u05e9\u05dc\u05d5\u05dd</b> \U0001f3d3 " + "W" * 100


def shown(context: AppContext, qtbot: QtBot, width: int = 730, height: int = 560) -> StandingsPage:
    page = StandingsPage(context)
    qtbot.addWidget(page)
    page.resize(width, height)
    page.show()
    if context.state is not None and context.pool is not None:
        qtbot.waitUntil(lambda: page.view is not None)
    return page


def wanted(context: AppContext) -> list[tuple[str, object]]:
    heard: list[tuple[str, object]] = []
    context.navigation_requested.connect(lambda page, what: heard.append((page, what)))
    return heard


def texts(page: StandingsPage, title: str) -> list[str]:
    [number] = [n for n, column in enumerate(page.model.columns) if column.title == title]
    return [page.model.data(page.model.index(row, number)) for row in range(page.model.rowCount())]


# The table


def test_the_table_shows_the_standings_of_the_league(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    table = context.league.standings(QUICK)
    assert texts(page, "Agent") == [row.name for row in table.rows]
    assert texts(page, "Rating")[0] == f"{table.rows[0].rating:.0f} ±{table.rows[0].error:.0f}"
    assert texts(page, "#") == ["1", "2", "3", "4", "5", "6", NOTHING, NOTHING], "an agent without matches has no rank"
    assert texts(page, "Games") == ["40"] * 6 + ["0"] * 2
    assert texts(page, "Rating")[-1] == NOTHING
    best = table.rows[0].total
    assert texts(page, "W / D / L")[0] == f"{best.wins} / {best.draws} / {best.losses}"
    assert texts(page, "Points")[0] == f"{best.scored:g} : {best.conceded:g}"
    assert page.facts.text().startswith("120 matches. Elo by Bradley-Terry")
    assert page.notes.isVisible() == bool(table.notes)


def test_one_tournament_can_be_shown_alone(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    assert [page.scope.itemText(n)[:2] for n in range(3)] == [ALL[:2], "2.", "1."]
    page.scope.setCurrentIndex(2)
    page.scope.activated.emit(2)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == 1)
    assert page.facts.text().startswith("60 matches")
    assert texts(page, "Games") == ["20"] * 6, "only entrants"


def test_navigation_can_select_a_tournament(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    page.show_item(2)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == 2)
    assert page.scope.currentData() == 2
    page.show_item(None)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == 0)
    assert page.scope.currentText() == ALL


def test_a_tournament_of_another_game_selects_its_pool(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    other = new_game("pong", points=1, step_limit=500).spec
    planned = context.league.plan_tournament(game=other, agents=BOTS[:2], seed=5)
    page.show_item(planned.number)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == planned.number)
    assert context.pool == other
    assert page.empty.isVisible(), "it has no matches"
    assert page.scope.isVisible(), "another scope can be chosen"
    context.select_pool(QUICK)
    qtbot.waitUntil(lambda: page.view is not None and len(page.view.scopes) == 2)
    assert page.scope.currentText() == ALL, "that tournament is of another game"


def test_an_agent_can_be_anchored_at_1200(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    place = page.anchor.findText("Lazy at 1200")
    assert place > 0
    page.anchor.setCurrentIndex(place)
    page.anchor.activated.emit(place)
    qtbot.waitUntil(lambda: page.view is not None and page.view.anchor is not None)
    [lazy] = [line for line in page.model.rows if line.name == "Lazy"]
    assert (lazy.rating, lazy.error) == (1200, 0)
    assert "Lazy at 1200" in page.facts.text()


def test_enter_opens_an_agent(context: AppContext, qtbot: QtBot) -> None:
    page, heard = shown(context, qtbot), wanted(context)
    page.table.selectRow(1)
    qtbot.keyClick(page.table, Qt.Key.Key_Return)
    assert heard == [("agent", page.model.rows[1].agent)]


def test_the_window_and_the_command_line_export_the_same_rows(
    context: AppContext, qtbot: QtBot, tmp_path: Path
) -> None:
    page = shown(context, qtbot)
    context.league.league.change_agent(page.model.rows[0].agent, name="=1+1")
    ours, theirs, notified = tmp_path / "ours.csv", tmp_path / "theirs.csv", []
    context.notified.connect(lambda text, tone, offer: notified.append((text, tone)))
    page.export_to(str(ours))
    qtbot.waitUntil(lambda: bool(notified))
    context.league.league.backup(tmp_path / "copy.league")
    options = ("export", "csv", str(tmp_path / "copy.league"), "--what", "standings", "--to", str(theirs))
    main(options)
    assert ours.read_text() == theirs.read_text()
    assert next(csv.DictReader(ours.read_text().splitlines()))["agent"] == "'=1+1"


def test_a_file_that_cannot_be_written_is_reported(context: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    page = shown(context, qtbot)
    context.failed.disconnect()
    with qtbot.waitSignal(context.failed) as failure:
        page.export_to(str(tmp_path / "no such folder" / "x.csv"))
    assert "No such file" in str(failure.args[0])


# Empty states


def test_without_matches_one_button_opens_the_tournament_dialog(bare: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    state = LeagueState.new(tmp_path / "new.league")
    state.add_samples("pong", BOTS)
    bare.adopt(state)
    page, heard = shown(bare, qtbot), wanted(bare)
    assert page.empty.isVisible()
    assert page.empty.sentence.text() == "No matches yet. Run a tournament to rate the agents."
    page.empty.button.click()
    assert heard == [("tournament-dialog", None)]


def test_a_read_only_league_explains_the_disabled_button(bare: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    with LeagueState.new(tmp_path / "new.league") as state:
        state.add_samples("pong", BOTS)
    bare.adopt(LeagueState(tmp_path / "new.league", read_only=True))
    page = shown(bare, qtbot)
    assert not page.empty.button.isEnabled()
    assert "read-only" in page.empty.button.toolTip()


def test_the_page_works_without_a_league(bare: AppContext, qtbot: QtBot) -> None:
    page = shown(bare, qtbot)
    assert page.empty.isVisible()
    page.show_item(3)
    assert page.view is None


def test_another_league_does_not_keep_the_scope(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    page.show_item(2)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == 2)
    before = context.release()
    assert before is not None
    before.close()
    assert page.empty.isVisible()
    context.adopt(LeagueState(before.league.path))
    qtbot.waitUntil(lambda: page.view is not None)
    assert page.view is not None
    assert page.view.scope == 0, "another league may have a tournament with the same number"


def test_a_failed_query_is_reported_and_the_next_one_works(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = shown(context, qtbot)
    context.failed.disconnect()

    def broken(*_: object) -> None:
        raise BadLeague("it is damaged")

    with monkeypatch.context() as patched, qtbot.waitSignal(context.failed) as failure:
        patched.setattr(standings, "load_standings", broken)
        page.refresh()
    assert "damaged" in str(failure.args[0])
    page.view = None
    page.refresh()
    qtbot.waitUntil(lambda: page.view is not None)


# Live


def test_the_table_follows_a_tournament(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    errors = {line.name: line.error for line in page.model.rows if line.rank}
    context.league.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 3}, seed=7)
    qtbot.waitUntil(lambda: page.view is not None and page.view.matches == 210)
    after = {line.name: line.error for line in page.model.rows if line.rank}
    assert sum(after.values()) < sum(errors.values()), "intervals shrink"
    qtbot.waitUntil(lambda: page.scope.count() == 4)


# The page as a whole


def test_a_hidden_tab_is_filled_when_it_is_shown(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    assert page.crosstable.model().rowCount() == 0
    page.tabs.setCurrentIndex(1)
    assert page.crosstable.model().rowCount() == 6
    assert context.settings.get("standings/tab") == 1
    again = shown(context, qtbot)
    assert again.tabs.currentIndex() == 1


def test_long_names_do_not_widen_the_page(context: AppContext, qtbot: QtBot) -> None:
    for agent in context.league.agents()[:3]:
        context.league.league.change_agent(agent.id, name=f"{agent.name} {NASTY}"[:120])
    page = shown(context, qtbot)
    for tab in range(3):
        page.tabs.setCurrentIndex(tab)
        assert page.minimumSizeHint().width() <= 730
        assert page.width() == 730
    page.tabs.setCurrentIndex(0)
    assert page.table.horizontalScrollBar().maximum() == 0, "no horizontal scrolling"


def test_every_control_has_a_name_and_is_reached_with_tab(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    parts = (page.tabs, page.scope, page.filtered.field, page.anchor, page.export, page.table)
    for part in parts:
        assert part.accessibleName()
        assert part.focusPolicy() & Qt.FocusPolicy.TabFocus
    seen, at = set(), page.tabs.nextInFocusChain()
    while at is not page.tabs and len(seen) < 200:
        seen.add(at)
        at = at.nextInFocusChain()
    assert set(parts[1:]) <= seen


def test_a_pending_query_is_not_submitted_again(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    asked: list[str] = []
    real = context.read_queue.submit

    def ask(key: str, *rest: Any) -> None:
        asked.append(key)
        real(key, *rest)

    context.read_queue.submit = ask  # type: ignore[method-assign]
    for _ in range(5):
        page.refresh()
    assert asked == ["standings"]
    qtbot.waitUntil(lambda: len(asked) == 2)  # later requests are combined into one


def test_garbage_collection_waits_during_a_query(context: AppContext, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    real = model.load_table

    def looked(*given: object) -> object:
        seen.append(gc_paused.active)
        return real(*given)

    monkeypatch.setattr(model, "load_table", looked)
    view = load_standings(context.league, QUICK, 99, "no such agent")
    assert seen == [True]
    assert not gc_paused.active
    assert (view.scope, view.anchor) == (0, None), "unknown tournaments and agents are ignored"


def test_an_anchor_is_found_by_id_not_by_name(context: AppContext) -> None:
    league = context.league.league
    league.change_agent("Lazy", name="Old Lazy")
    league.change_agent("Still", name="Lazy")
    view = load_standings(context.league, QUICK, 0, "Lazy")
    assert [line.name for line in view.rows if line.rank and line.rating == 1200 and line.error == 0] == ["Old Lazy"]
