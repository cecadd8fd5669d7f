"""The Population tab of the Training page: when it is there, and how it follows a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.league.storage.sessions import SessionStore
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from tests.league_app.gui.conftest import QUICK
from tests.league_app.gui.population_helpers import column, numbers, opened, refresh, selected, tab, table_of
from tests.league_app.gui.test_accessibility import ambiguous, nameless, reached
from tests.league_app.gui.training_helpers import page_of, recorded, until
from tests.league_app.populations import (
    BEST,
    GAME,
    PLUGINS,
    add_checkpoint,
    population,
    record,
    registered,
)
from tests.plugins.breeding import Breeding
from tests.query_counts import counted_queries

ASCENDING, DESCENDING = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


@pytest.fixture(autouse=True, scope="module")
def plugin() -> Iterator[None]:
    with registered():
        yield


# When it is there


def test_the_tab_is_there_only_if_the_trainer_has_a_population_and_the_session_a_checkpoint(
    context: AppContext, qtbot: QtBot
) -> None:
    other, fresh = recorded(context.league, "other trainer"), record(context.league.league, 0, name="fresh")
    number = record(context.league.league, name="bred")
    page = opened(context, qtbot)
    assert page.tabs.tabText(tab(page)) == "Population"
    for without in (other, fresh):
        page.list.select(without)
        until(qtbot, lambda: not page.tabs.isTabVisible(tab(page)))
        assert page.tabs.currentIndex() == page.stack.currentIndex() == 0
    page.list.select(number)
    until(qtbot, lambda: page.tabs.isTabVisible(tab(page)))
    add_checkpoint(context.league.league, fresh, 2)
    page.list.select(fresh)
    until(qtbot, lambda: page.tabs.isTabVisible(tab(page)))


def test_the_tab_stays_in_front_from_session_to_session(context: AppContext, qtbot: QtBot) -> None:
    first, second = record(context.league.league, 3), record(context.league.league, 5)
    page = opened(context, qtbot)
    own = page.population
    own.choose(7)
    assert len(numbers(own)) == len(population(5).individuals)
    page.list.select(first)
    until(qtbot, lambda: len(numbers(own)) == len(population(3).individuals))
    assert page.tabs.currentIndex() == tab(page)
    best = population(3).best
    assert selected(own) == ([best], best, f"Individual {best}"), "the best, not what was chosen in the other session"
    page.list.select(second)
    until(qtbot, lambda: len(numbers(own)) == len(population(5).individuals))


def test_a_state_is_read_only_while_the_tab_is_visible_and_once(context: AppContext, qtbot: QtBot) -> None:
    number = record(context.league.league, 3)
    page = opened(context, qtbot)
    with counted_queries(context.league.league) as queries:
        refresh(context, number)
        until(qtbot, lambda: queries and not page._refresh_timer.isActive() and not context.read_queue.waiting)
        page.tabs.setCurrentIndex(0)
        add_checkpoint(context.league.league, number, 4)
        refresh(context, number)
        before = len(queries)
        until(
            qtbot,
            lambda: len(queries) > before and not page._refresh_timer.isActive() and not context.read_queue.waiting,
        )
        assert not [query for query in queries if "SELECT data FROM payloads WHERE hash = " in query]
        page.tabs.setCurrentIndex(tab(page))
        until(qtbot, lambda: len(numbers(page.population)) == len(population(4).individuals))


# While a session runs


def test_a_new_checkpoint_changes_neither_order_selection_nor_place(context: AppContext, qtbot: QtBot) -> None:
    number = record(context.league.league, 10)
    page = opened(context, qtbot)
    own = page.population
    table = table_of(own)
    table.sortByColumn(column(own, "Parameters"), ASCENDING)
    own.choose(numbers(own)[12])
    chosen, bar = numbers(own)[12], table.verticalScrollBar()
    bar.setValue(10 * 32)
    place, header = bar.value(), table.horizontalHeader()
    assert place
    hidden = list[int]()
    own.stack.currentChanged.connect(hidden.append)
    add_checkpoint(context.league.league, number, 12)
    refresh(context, number)
    until(qtbot, lambda: len(numbers(own)) == len(population(12).individuals))
    assert own.rows.table is table, "the same table"
    assert (bar.value(), header.sortIndicatorSection()) == (place, column(own, "Parameters"))
    values = [individual.values[1] for individual in own.rows.model.rows]
    assert values == sorted(values)
    assert selected(own) == ([chosen], chosen, f"Individual {chosen}")
    assert not hidden, "no empty state in between"
    assert "Generation 11" in own.summary.text()


def test_generations_have_the_name_that_the_trainer_gives_its_steps(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Breeding, "unit", "round")
    record(context.league.league, 3)
    own = opened(context, qtbot).population
    assert own.summary.text().startswith("Round 2")
    assert own.orientation.text() == "Rounds from left to right, the best at the top"
    assert own.rows.members.itemText(1) == "Current round"
    shown = own.rows.model.columns[column(own, "generation")]
    assert (shown.title, shown.tip) == ("Round", "The first round that it was a member of")


def test_the_best_stays_selected_until_another_one_is_chosen(context: AppContext, qtbot: QtBot) -> None:
    number = record(context.league.league, 2)
    own = opened(context, qtbot).population
    assert selected(own)[1] == population(2).best
    add_checkpoint(context.league.league, number, 8)
    assert population(8).best != population(2).best
    refresh(context, number)
    until(qtbot, lambda: selected(own)[1] == population(8).best)
    assert selected(own)[0] == [population(8).best]


def test_a_running_session_fills_the_tab(bare: AppContext, played: Path, qtbot: QtBot) -> None:
    state = LeagueState(played, lanes=4, plugins=PLUGINS)
    state.budget.cores = 2
    bare.adopt(state)
    page = page_of(bare, qtbot)
    job = state.training.start("breeding", {"generations": 1_000_000, "nap": 0.01, "size": 4}, game=GAME, name="Live")
    page.show_item(job.number)
    until(qtbot, lambda: page.tabs.isTabVisible(tab(page)))
    page.tabs.setCurrentIndex(tab(page))
    own = page.population
    until(qtbot, lambda: own.rows.table is not None and len(numbers(own)) > 4)
    table, count = own.rows.table, len(numbers(own))
    own.choose(2)
    until(qtbot, lambda: len(numbers(own)) > count + 10)
    assert own.rows.table is table
    assert selected(own) == ([2], 2, "Individual 2")
    job.stop()
    job.wait()
    until(qtbot, lambda: not state.training.jobs)


def test_a_population_that_cannot_be_read_is_a_sentence(context: AppContext, qtbot: QtBot) -> None:
    number = record(context.league.league, 0)
    SessionStore(context.league.league).add_checkpoint(number, 4, b"\x00", [BEST])
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.tabs.isTabVisible(tab(page)))
    page.tabs.setCurrentIndex(tab(page))
    sentence = page.population.empty.sentence
    until(qtbot, lambda: "the trainer breeding cannot read the population of its checkpoint 4" in sentence.text())
    assert sentence.isVisible()
    add_checkpoint(context.league.league, number, 6)
    refresh(context, number)
    until(qtbot, lambda: page.population.rows.table is not None)
    assert page.population.area.isVisible()


# Everything else


def test_the_tab_is_accessible(context: AppContext, qtbot: QtBot) -> None:
    record(context.league.league)
    page = opened(context, qtbot)
    own = page.population
    assert nameless(page) == ambiguous(page) == []
    assert {own.lineage, own.rows.table, own.rows.members, own.rows.export} <= reached(page)
    best = population().best
    assert own.lineage.accessibleDescription().startswith(f"{best}, Accuracy ")
    assert table_of(own).accessibleName() == "Population of breeding"


@pytest.mark.parametrize(("width", "beside"), [(1500, True), (700, False)])
def test_a_narrow_tab_scrolls_and_a_wide_one_shows_everything(
    context: AppContext, qtbot: QtBot, width: int, beside: bool
) -> None:
    record(context.league.league)
    page = opened(context, qtbot)
    page.resize(width, 800)
    own = page.population
    until(qtbot, lambda: own._wide is beside)
    QApplication.processEvents()
    assert (own.card.x() > own.picture.x()) is beside
    assert (own.area.verticalScrollBar().maximum() == 0) is beside
    assert own.rows.height() <= own.area.viewport().height()


def test_the_tab_can_have_any_width(context: AppContext, qtbot: QtBot) -> None:
    """Where the arrangement changes, a scroll bar must not change it back: Qt would repeat that without end."""
    record(context.league.league)
    page = opened(context, qtbot)
    for width in (*range(1500, 500, -13), *range(500, 1500, 13)):
        page.resize(width, 640)
        QApplication.processEvents()
    assert page.population.card.isVisible()


def test_another_league_starts_afresh(context: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    record(context.league.league)
    page = opened(context, qtbot)
    context.release().close()  # type: ignore[union-attr]
    context.adopt(LeagueState.new(tmp_path / "other.league"))
    until(qtbot, lambda: not page.tabs.isTabVisible(tab(page)))
    assert page.population._view.population is None
    assert page.population.lineage.lineage.dots == ()
    number = record(context.league.league, 3, game=QUICK)
    refresh(context, number)
    until(qtbot, lambda: page.tabs.isTabVisible(tab(page)))
