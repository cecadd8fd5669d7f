"""Crosstable and heat map, with two to two hundred agents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from engine.league.standings import Row, Tally
from league_app.gui.context import AppContext
from league_app.gui.models.crosstable import crosstable_data
from league_app.gui.widgets.crosstable import Crosstable
from league_app.gui.widgets.heatmap import Heatmap, percent
from league_app.gui.widgets.matrix import Matrix, MatrixLabel
from tests.league_app.gui.conftest import QUICK
from tests.league_app.gui.test_standings import NASTY, shown, wanted

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")  # no screen, so no window manager either


def cell(view: Matrix, row: int, other: int, role: Qt.ItemDataRole = Qt.ItemDataRole.DisplayRole) -> Any:
    return view.model().data(view.model().index(row, other), role)


def test_the_crosstable_shows_points_and_details_in_tooltips(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    page.tabs.setCurrentIndex(1)
    rows = [row for row in context.league.standings(QUICK).rows if row.total.played]
    tally = rows[0].against[rows[1].agent]
    assert page.crosstable.model().rowCount() == 6
    assert cell(page.crosstable, 0, 1) == f"{tally.points:g}/{tally.played}"
    assert cell(page.crosstable, 0, 0) == ""
    tip = cell(page.crosstable, 0, 1, Qt.ItemDataRole.ToolTipRole)
    assert f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost" in tip
    assert "Pairs with sides swapped" in tip


def test_a_cell_opens_the_matches_of_both_agents(context: AppContext, qtbot: QtBot) -> None:
    page, heard = shown(context, qtbot), wanted(context)
    page.show_item(1)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == 1)
    for tab, view in ((1, page.crosstable), (2, page.heatmap)):
        page.tabs.setCurrentIndex(tab)
        heard.clear()
        who = view.model().agents  # type: ignore[attr-defined]
        asked = {"agent": who[2].agent, "opponent": who[4].agent, "tournament": 1}
        at = view.visualRect(view.model().index(2, 4)).center()
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
        assert heard == [("history", asked)]
        qtbot.keyClick(view, Qt.Key.Key_Return)
        assert heard == [("history", asked)] * 2
        view.setCurrentIndex(view.model().index(3, 3))
        qtbot.keyClick(view, Qt.Key.Key_Return)
        assert len(heard) == 2, "the diagonal is not clickable"


def test_superiority_is_a_percentage_with_a_sentence_as_tooltip(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    page.tabs.setCurrentIndex(2)
    table = context.league.standings(QUICK)
    share = float(table.superiority[0, 1])
    assert cell(page.heatmap, 0, 1) == percent(share)
    assert page.heatmap.texts
    first, second = table.rows[0].name, table.rows[1].name
    sentence = f"Likelihood that {first} is stronger than {second}: {percent(share)}".replace(">", "&gt;")
    for pair in ((0, 1), (1, 0)):
        assert sentence in cell(page.heatmap, *pair, Qt.ItemDataRole.ToolTipRole)
    assert percent(0.999) == ">99"
    assert percent(0.0001) == "<1"


def standings_rows(count: int) -> list[Row]:
    """Standings rows in which each agent has met all others but the next."""
    names = [NASTY, *(f"Agent {n}" for n in range(1, count))]
    rows = [Row(f"id{n}", name) for n, name in enumerate(names)]
    for row in range(count):
        for other in range(count):
            if other not in (row, (row + 1) % count) and row != (other + 1) % count:
                rows[row].against[f"id{other}"] = Tally(2, 1, 1, pairs=(0, 1, 0, 1, 0))
    return rows


@pytest.mark.parametrize("count", [2, 8, 200])
def test_crosstable_and_heat_map_scale_to_two_hundred_agents(bare: AppContext, qtbot: QtBot, count: int) -> None:
    rows = standings_rows(count)
    table, heat = Crosstable(), Heatmap()
    fatal, checked = QAbstractItemModelTester.FailureReportingMode.Fatal, (table, heat) if count < 20 else ()
    testers = [QAbstractItemModelTester(view.cells, fatal) for view in checked]  # a large one takes seconds
    table.cells.set_data(crosstable_data(rows))
    values = np.random.default_rng(1).random((count, count))
    heat.cells.set_values([MatrixLabel(row.agent, row.name) for row in rows], values)
    for view in (table, heat):
        qtbot.addWidget(view)
        view.resize(700, 480)
        view.show()
        first = view.viewport().grab().toImage()
        view.horizontalScrollBar().setValue(view.horizontalScrollBar().maximum())
        view.setCurrentIndex(view.model().index(count - 1, count - 1))
        assert view.viewport().grab().toImage() != first
        assert NASTY in view.model().headerData(0, Qt.Orientation.Vertical)
        assert "&lt;b&gt;" in view.model().headerData(0, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
        assert view.verticalHeader().width() <= 168
    assert heat.texts == (count < 20), "no percentages in small cells"
    assert cell(heat, 0, 1, Qt.ItemDataRole.ToolTipRole)
    assert cell(table, 0, 1, Qt.ItemDataRole.ToolTipRole)
    assert len(testers) == len(checked)


def test_agents_that_have_not_met_have_an_empty_cell(bare: AppContext, qtbot: QtBot) -> None:
    table = Crosstable()
    qtbot.addWidget(table)
    table.cells.set_data(crosstable_data(standings_rows(8)))
    assert cell(table, 2, 3) == ""
    assert "Agent 2 has not played Agent 3" in cell(table, 2, 3, Qt.ItemDataRole.ToolTipRole)


def test_the_current_cell_follows_its_agents_when_ranks_change(bare: AppContext, qtbot: QtBot) -> None:
    rows, table = standings_rows(8), Crosstable()
    qtbot.addWidget(table)
    table.cells.set_data(crosstable_data(rows))
    table.setCurrentIndex(table.model().index(2, 5))
    table.cells.set_data(crosstable_data(rows[::-1]))
    index = table.currentIndex()
    assert (index.row(), index.column()) == (5, 2)


def test_a_copied_crosstable_includes_names(bare: AppContext, qtbot: QtBot) -> None:
    rows, table = standings_rows(8), Crosstable()
    rows[1].name = "=evil\tname"
    qtbot.addWidget(table)
    table.cells.set_data(crosstable_data(rows))
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = [text.split("\t") for text in QGuiApplication.clipboard().text().split("\n")]
    assert [len(line) for line in lines] == [9] * 9
    assert lines[0][2] == lines[2][0] == "'=evil name"
    assert lines[1][3] == "2.5/4"
