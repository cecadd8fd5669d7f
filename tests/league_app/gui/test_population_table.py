"""Table, lineage and drawing of the Population tab, in step with each other."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from agents.training.population import Column, Individual, Population
from agents.training.trainer import Metric, Reading
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.training.population import SessionPopulation
from league_app.gui.widgets.table.model import VALUE
from tests.league_app.gui.population_helpers import column, numbers, opened, refresh, selected, table_of
from tests.league_app.gui.test_accessibility import ambiguous
from tests.league_app.gui.training_helpers import Notifications, until
from tests.league_app.populations import (
    add_checkpoint,
    individual,
    of,
    population,
    record,
    registered,
)
from tests.league_app.test_hostile_names import ACCEPTED
from tests.plugins.breeding import Breeding

ASCENDING, DESCENDING = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


@pytest.fixture(autouse=True, scope="module")
def plugin() -> Iterator[None]:
    with registered():
        yield


# The table


def test_the_table_shows_every_individual_best_first(context: AppContext, qtbot: QtBot) -> None:
    record(context.league.league)
    own, expected = opened(context, qtbot).population, population()
    table, rows = table_of(own), own.rows.model.rows
    assert len(rows) == len(expected.individuals)
    assert rows[0].number == expected.best
    fitness = [individual.fitness for individual in rows if individual.fitness is not None]
    assert fitness == sorted(fitness, reverse=True)
    assert [individual.fitness for individual in rows[len(fitness) :]] == [None] * (len(rows) - len(fitness))
    assert table.rowHeight(0) == 32
    assert f"{len(rows)} individuals" in own.summary.text()
    right = Qt.ItemDataRole.TextAlignmentRole
    sides = {spec.name: own.rows.model.index(0, n).data(right) for n, spec in enumerate(own.rows.model.columns)}
    for name in ("number", "fitness", "generation", "Parameters", "Rate"):
        assert sides[name] & Qt.AlignmentFlag.AlignRight, name
    assert not sides["Layers"] & Qt.AlignmentFlag.AlignRight


@pytest.mark.parametrize("order", [ASCENDING, DESCENDING])
@pytest.mark.parametrize(
    "name",
    ["number", "fitness", "generation", "parents", "Layers", "Parameters", "Activation", "Rate", "Dropout", "status"],
)
def test_every_column_sorts_in_both_directions_with_unknown_values_last(
    context: AppContext, qtbot: QtBot, name: str, order: Qt.SortOrder
) -> None:
    record(context.league.league)
    own = opened(context, qtbot).population
    place = column(own, name)
    table_of(own).sortByColumn(place, order)
    key = own.rows.model.columns[place].sort
    assert key is not None
    keys = [key(individual) for individual in own.rows.model.rows]
    known = [key for key in keys if key is not None]
    assert known == sorted(known, reverse=order == DESCENDING)
    assert keys[len(known) :] == [None] * (len(keys) - len(known))


def test_the_best_and_the_failed_are_marked_by_icon_and_text(context: AppContext, qtbot: QtBot) -> None:
    record(context.league.league)
    own = opened(context, qtbot).population
    model, tip = own.rows.model, Qt.ItemDataRole.ToolTipRole
    number, fitness, status = (column(own, name) for name in ("number", "fitness", "status"))
    best = model.index(0, number).data(VALUE)
    assert (best.icon, best.bold) == ("crown", True)
    assert model.index(0, status).data() == "Best, current"
    assert model.index(1, number).data(VALUE).icon == ""
    failed = next(place for place, individual in enumerate(model.rows) if individual.error)
    cell = model.index(failed, fitness).data(VALUE)
    assert (cell.text, cell.icon, cell.tone) == ("failed", "failure", "bad")
    reason = "loss is not finite after 12 steps: the learning rate is too high"
    assert model.index(failed, status).data() == f"Failed: {reason}"
    assert reason in model.index(failed, status).data(tip)
    own.choose(model.rows[failed].number)
    assert reason in own.card.error.text().replace("\N{ZERO WIDTH SPACE}", "")
    assert own.card.error.isVisible()


def test_the_table_can_be_limited_to_the_current_members(context: AppContext, qtbot: QtBot) -> None:
    record(context.league.league)
    page = opened(context, qtbot)
    own, expected = page.population, population()
    members = {individual.number for individual in expected.individuals if individual.member}
    past = next(individual.number for individual in expected.individuals if not individual.member)
    own.choose(past)
    own.rows.members.setCurrentIndex(1)
    own.rows.members.edited.emit()
    assert set(numbers(own)) == members
    assert selected(own) == ([], past, f"Individual {past}"), "it is not in the table, but still shown"
    assert context.settings.get("training/members", False) is True
    again = SessionPopulation(context)
    qtbot.addWidget(again)
    assert again.rows.members.currentIndex() == 1
    own.rows.members.setCurrentIndex(0)
    own.rows.members.edited.emit()
    assert selected(own)[0] == [past]


def test_a_filter_finds_individuals_by_any_text(context: AppContext, qtbot: QtBot) -> None:
    record(context.league.league)
    own, expected = opened(context, qtbot).population, population()
    assert own.rows.filtered is not None
    own.rows.filtered.field.setText("failed")
    assert set(numbers(own)) == {individual.number for individual in expected.individuals if individual.error}
    own.rows.filtered.field.setText("current")
    assert set(numbers(own)) == {individual.number for individual in expected.individuals if individual.member}
    own.rows.filtered.field.setText("there is no such thing")
    assert numbers(own) == []
    own.rows.filtered.field.setText("")
    assert len(numbers(own)) == len(expected.individuals)


def test_rows_can_be_copied_and_saved_as_csv(context: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    record(context.league.league)
    own, notes = opened(context, qtbot).population, Notifications(context)
    table_of(own).copy()
    assert QGuiApplication.clipboard().text().splitlines()[1].startswith(f"{population().best}\t")
    own.save(str(tmp_path / "all.csv"))
    until(qtbot, lambda: "Saved all.csv" in notes.text)
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(population().individuals)
    assert rows[0]["number"] == str(population().best)


# Selection


def test_table_lineage_and_drawing_show_the_same_individual(context: AppContext, qtbot: QtBot) -> None:
    record(context.league.league)
    own, expected = opened(context, qtbot).population, population()
    best, table = expected.best, table_of(own)
    assert best is not None
    assert selected(own) == ([best], best, f"Individual {best}"), "by default the best"
    assert own.card.crown.isVisible()
    assert own.lineage.highlighted == expected.ancestors(best)
    row = own.rows.model.rows[5].number
    table.setCurrentIndex(own.rows.model.index(5, 0))
    assert selected(own) == ([row], row, f"Individual {row}")
    assert not own.card.crown.isVisible()
    assert own.lineage.highlighted == expected.ancestors(row)
    other = own.rows.model.rows[-1].number
    qtbot.mouseClick(own.lineage.viewport(), Qt.MouseButton.LeftButton, pos=own.lineage.point(other).toPoint())
    assert selected(own) == ([other], other, f"Individual {other}")
    index = own.rows.model.index(len(numbers(own)) - 1, 0)
    assert table.viewport().rect().contains(table.visualRect(index)), "scrolled into view"
    qtbot.keyClick(table, Qt.Key.Key_Up)
    before = own.rows.model.rows[-2].number
    assert selected(own) == ([before], before, f"Individual {before}")
    qtbot.keyClick(own.lineage, Qt.Key.Key_Home)
    assert selected(own) == ([best], best, f"Individual {best}")


def test_the_drawing_is_that_of_the_individual_with_its_values(context: AppContext, qtbot: QtBot) -> None:
    record(context.league.league)
    own = opened(context, qtbot).population
    for row in (own.rows.model.rows[0], own.rows.model.rows[7]):
        own.choose(row.number)
        assert own.card.picture.diagram == row.diagram
        texts = [label.text() for label in own.card.texts]
        assert f"{(row.fitness or 0) * 100:.1f} %" in texts
        assert row.values[0] in texts


# Thousands, and hostile ones


def test_five_thousand_individuals_are_shown(context: AppContext, qtbot: QtBot) -> None:
    record(context.league.league, 100, 52)
    own = opened(context, qtbot).population
    count = len(numbers(own))
    assert count > 5000
    own.lineage.viewport().grab()
    drawn = own.lineage.drawn
    for place in range(0, count, 500):
        table_of(own).setCurrentIndex(own.rows.model.index(place, 0))
        own.lineage.viewport().grab()
    assert own.lineage.drawn == drawn, "a selection does not draw all of them again"
    table_of(own).sortByColumn(column(own, "Rate"), DESCENDING)
    assert own.rows.filtered is not None
    own.rows.filtered.field.setText("gelu")
    assert 0 < len(numbers(own)) < count


@dataclasses.dataclass(frozen=True)
class Hostile(Breeding):
    """Its texts come from elsewhere."""

    name: ClassVar[str] = "breeding"

    @classmethod
    def population_of(cls, state: bytes) -> Population | None:
        texts = [*ACCEPTED.values(), "x" * 100_000, "a\udcffb\0\u202e", "שלום " * 50]
        some = [
            individual(number, None if number % 2 else 1e308, parents=(number, 10**9, number - 1),
                       generation=10**15 * (number % 3), error=text * (number % 2),
                       values=(text, 10**40, text, float("nan"), True))
            for number, text in enumerate(texts, 1)
        ]  # fmt: skip
        columns = tuple(Column(text, text) for text in (*list(ACCEPTED.values())[:4], "n" * 5000))
        return dataclasses.replace(of(*some, best=2), columns=columns, generation=-7)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_hostile_texts_are_plain_and_fit_their_place(context: AppContext, qtbot: QtBot, name: str) -> None:
    record(context.league.league, 2)
    with registered(Hostile):
        theme.apply(name)
        page = opened(context, qtbot)
        own = page.population
        for width, height in ((700, 600), (1500, 1000)):
            page.resize(width, height)
            for number in list(own.lineage.lineage.places):
                own.choose(number)
                own.card.grab()
            assert not page.grab().isNull()
            assert ambiguous(page) == []
            assert page.width() == width, "no text widens the page"
            assert not own.area.horizontalScrollBar().isVisible()
        texts = [own.rows.model.index(row, 4).data() for row in range(own.rows.model.rowCount())]
        assert any("<script>" in text for text in texts)
        assert max(map(len, texts)) <= 2000
        tip = own.rows.model.index(texts.index(ACCEPTED["html"]), 4).data(Qt.ItemDataRole.ToolTipRole)
        assert "&lt;script&gt;" in tip
    theme.apply("light")


@dataclasses.dataclass(frozen=True)
class Losing(Breeding):
    """Its fitness is a loss, and it has other columns."""

    name: ClassVar[str] = "breeding"
    metrics: ClassVar[dict[str, Metric]] = {"fitness/best": Metric("", Reading.LOSS)}

    @classmethod
    def population_of(cls, state: bytes) -> Population | None:
        some = tuple(Individual(n, 0, (), n / 10, (n,), True) for n in range(1, 4))
        return Population(0, Column("Loss", "lower is better"), (Column("Depth", ""),), some, 1)


def test_of_a_loss_the_lowest_is_the_best(context: AppContext, qtbot: QtBot) -> None:
    record(context.league.league, 2)
    with registered(Losing):
        own = opened(context, qtbot).population
        assert numbers(own) == [1, 2, 3]
        assert own.rows.model.index(0, column(own, "fitness")).data() == "0.1"
        heat = own.lineage.lineage.heat
        assert heat[0] == 1.0 > heat[1] > heat[2]
        assert own.lineage.lineage.scale == ("0.29", "0.1"), "from the worst to the best"


def test_other_columns_make_another_table_in_the_same_order(context: AppContext, qtbot: QtBot) -> None:
    number = record(context.league.league, 3)
    own = opened(context, qtbot).population
    table_of(own).sortByColumn(column(own, "generation"), ASCENDING)
    before = own.rows.table
    with registered(Losing):
        add_checkpoint(context.league.league, number, 4)
        refresh(context, number)
        until(qtbot, lambda: own.rows.table is not before)
        assert [spec.title for spec in own.rows.model.columns] == [
            *("#", "Loss", "Generation", "Parents", "Depth", "Status")
        ]
        header = table_of(own).horizontalHeader()
        assert (header.sortIndicatorSection(), header.sortIndicatorOrder()) == (2, ASCENDING)
        until(qtbot, lambda: own.rows.members.isVisible() and own.rows.export.isVisible())
        assert selected(own)[1] == 1
