"""Large numbers in narrow columns, and lists that stay still while a tournament runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from pytestqt.qtbot import QtBot

from engine.league.standings import Tally
from league_app.core.formatting import compact
from league_app.core.queries.agents import forfeit_warning
from league_app.core.state import LeagueState
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.docks.agents import AgentsDock
from league_app.gui.history.matches import MatchesView
from league_app.gui.history.page import HistoryPage
from league_app.gui.models.matches import TournamentRow
from league_app.gui.pages.standings import StandingsPage
from league_app.gui.widgets.table.delegates import PAD, first_fitting
from league_app.gui.widgets.table.model import VALUE
from tests.league_app.gui.test_history import fail_some

TIP = Qt.ItemDataRole.ToolTipRole


def number_of(model: Any, title: str) -> int:
    return next(n for n, column in enumerate(model.columns) if column.title == title)


# Matches while a tournament runs


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Makes the page believe that a tournament is running."""
    value = [True]
    monkeypatch.setattr(LeagueState, "running", property(lambda state: value[0]))
    return value


@pytest.fixture
def history(context: AppContext, running: list[bool], qtbot: QtBot) -> HistoryPage:
    page = HistoryPage(context)
    qtbot.addWidget(page)
    page.resize(730, 560)
    page.show()
    qtbot.waitUntil(lambda: len(page.matches.model.rows) == 120 and not context.read_queue.waiting)
    return page


def refreshed(view: MatchesView, context: AppContext, qtbot: QtBot) -> None:
    view.refresh()
    qtbot.waitUntil(lambda: not context.read_queue.waiting)


def test_new_rows_wait_for_a_click_while_a_tournament_runs(
    context: AppContext, history: HistoryPage, qtbot: QtBot
) -> None:
    view = history.matches
    before = list(view.model.rows)
    refreshed(view, context, qtbot)
    assert view.new_rows.isVisible(), "it is there from the beginning, so that nothing jumps"
    assert not view.new_rows.show_button.isVisible()
    fail_some(context)
    refreshed(view, context, qtbot)
    assert view.model.rows == before
    assert view.new_rows.text.text() == "6 new matches"
    qtbot.mouseClick(view.new_rows.show_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(view.model.rows) == 126)
    assert view.table.verticalScrollBar().value() == 0
    assert not view.new_rows.show_button.isVisible()


def test_filtering_sorting_and_reopening_load_new_rows(context: AppContext, history: HistoryPage, qtbot: QtBot) -> None:
    view = history.matches
    fail_some(context, 2)
    view.table.sortByColumn(4, Qt.SortOrder.DescendingOrder)
    qtbot.waitUntil(lambda: len(view.model.rows) == 122)
    fail_some(context, 1, seed=78)
    refreshed(view, context, qtbot)
    assert view.new_rows.text.text() == "1 new match"
    view.ending.choose("failed")
    qtbot.waitUntil(lambda: len(view.model.rows) == 3)
    assert not view.new_rows.show_button.isVisible()
    fail_some(context, 1, seed=79)
    history.hide()
    history.show()
    qtbot.waitUntil(lambda: len(view.model.rows) == 4)


def test_the_end_of_a_run_refreshes_only_lists_not_in_use(
    context: AppContext, history: HistoryPage, running: list[bool], qtbot: QtBot
) -> None:
    view = history.matches
    view.table.selectRow(3)
    fail_some(context)
    refreshed(view, context, qtbot)
    running[0] = False
    refreshed(view, context, qtbot)
    assert len(view.model.rows) == 120, "one is selected"
    assert view.new_rows.text.text() == "6 new matches"
    view.table.clearSelection()
    view.table.verticalScrollBar().setValue(200)
    refreshed(view, context, qtbot)
    assert len(view.model.rows) == 120, "it is scrolled"
    view.table.verticalScrollBar().setValue(0)
    refreshed(view, context, qtbot)
    assert len(view.model.rows) == 126
    assert not view.new_rows.isVisible()


# Large numbers


def test_a_number_is_shortened_to_four_characters() -> None:
    texts = [compact(count) for count in (0, 999, 1000, 4246, 9960, 27_940, 280_000, 999_900, 1_250_000)]
    assert texts == ["0", "999", "1.0k", "4.2k", "10k", "28k", "280k", "1.0M", "1.2M"]


def big_table(context: AppContext, qtbot: QtBot) -> StandingsPage:
    page = StandingsPage(context)
    qtbot.addWidget(page)
    page.resize(730, 560)
    context.settings.set("standings/tab", 0)
    page.show()
    qtbot.waitUntil(lambda: page.view is not None)
    assert page.view is not None
    total = Tally(67_123, 1_204, 28_456, 338_000.0, 15_000.0)
    best = dataclasses.replace(total, draws=0, losses=0)
    lines = [dataclasses.replace(row, total=total, name=f"Predictor {n}") for n, row in enumerate(page.view.rows)]
    lines[0] = dataclasses.replace(lines[0], total=best, forfeits=(("quarantined", 280_000), ("crash", 4)))
    page.model.set_rows([])
    page.table._sized = False
    page.model.set_rows(lines)
    return page


def test_nothing_of_the_standings_is_cut_off_at_the_smallest_size(context: AppContext, qtbot: QtBot) -> None:
    page = big_table(context, qtbot)
    model, header = page.model, page.table.horizontalHeader()
    assert page.table.horizontalScrollBar().maximum() == 0
    text = QFontMetrics(theme.font())
    for row in range(2):
        score, points, games, forfeits = (number_of(model, game) for game in ("Score", "Points", "Games", "Forfeits"))
        score_text = model.data(model.index(row, score))
        assert text.horizontalAdvance(score_text) <= header.sectionSize(score) - 2 * PAD
        cell = model.data(model.index(row, points), VALUE)
        assert text.horizontalAdvance(cell.text) <= header.sectionSize(points) - 2 * PAD
        for column in (games, forfeits):
            room = header.sectionSize(column) - 2 * PAD
            shown = first_fitting(text, model.data(model.index(row, column), VALUE).texts, room)
            assert text.horizontalAdvance(shown) <= room
    record = header.sectionSize(number_of(model, "W / D / L")) - 2 * PAD - 24 - 8
    assert QFontMetrics(theme.font("caption")).horizontalAdvance("67k / 1.2k / 28k") <= record


def test_points_are_shown_per_game_and_in_total_as_a_tooltip(context: AppContext, qtbot: QtBot) -> None:
    page = big_table(context, qtbot)
    column = number_of(page.model, "Points")
    index = page.model.index(0, column)
    assert page.model.data(index, VALUE).text == "5.0 : 0.2"
    assert "338,000 scored, 15,000 conceded" in page.model.data(index, TIP)
    assert page.model.data(index) == "338,000 : 15,000", "a copy is exact"
    page.model.sort(column, Qt.SortOrder.DescendingOrder)
    assert page.model.rows[0].total.losses == 0, "ahead by the same, in fewer games"


def test_tournaments_fit_and_show_their_number(context: AppContext, qtbot: QtBot, history: HistoryPage) -> None:
    model = history.matches.model
    assert model.data(model.index(0, 5)).startswith("2. ")
    history.tabs.setCurrentIndex(1)
    view = history.tournaments
    qtbot.waitUntil(lambda: len(view.model.rows) == 2)
    first: TournamentRow = view.model.rows[0]
    long = dataclasses.replace(first, name="Pong round robin " * 6, played=139_999, total=280_000, note="stopped " * 9)
    view.model.set_rows([])
    view.table._sized = False
    view.model.set_rows([dataclasses.replace(long, number=n) for n in range(40, 80)])
    assert view.table.horizontalScrollBar().maximum() == 0
    assert "139,999 / 280,000" in view.model.data(view.model.index(0, number_of(view.model, "Played")), TIP)


# Those who break off


def test_agents_that_forfeit_most_matches_are_marked(context: AppContext, qtbot: QtBot) -> None:
    assert not forfeit_warning(10, [("crash", 5)])
    assert not forfeit_warning(10, [("resigned", 9)]), "resigning is playing"
    assert forfeit_warning(10, [("crash", 4), ("quarantined", 3)]).startswith("Forfeited 7 of 13 matches")
    page = big_table(context, qtbot)
    index = page.model.index(0, number_of(page.model, "Agent"))
    assert page.model.data(index, VALUE).warned
    assert "is based on few games" in page.model.data(index, TIP)
    assert not page.model.data(page.model.index(1, index.column()), VALUE).warned


def test_the_dock_shows_rating_intervals_and_a_toggle_for_archived_agents(context: AppContext, qtbot: QtBot) -> None:
    dock = AgentsDock(context)
    qtbot.addWidget(dock)
    dock.resize(240, 560)
    dock.show()
    qtbot.waitUntil(lambda: len(dock.model.rows) == 8)
    best = dock.model.rows[0]
    cell = dock.model.data(dock.model.index(0, 1), VALUE)
    assert (cell.text, cell.note) == (f"{best.rating:.0f}", f"\N{PLUS-MINUS SIGN}{best.error:.0f}")
    broken = dataclasses.replace(best, warning="Forfeited 7 of 13 matches")
    dock._show_rows([broken, *dock.model.rows[1:]])
    assert "Forfeited 7 of 13" in dock.model.data(dock.model.index(0, 0), TIP)
    assert dock.model.data(dock.model.index(0, 0), VALUE).warned
    assert dock.table.horizontalScrollBar().maximum() == 0
    assert (dock.archived._icon, dock.archived.accessibleName()) == ("eye-off", "Show archived agents")
    dock.archived.click()
    assert dock.archived._icon == "eye"
