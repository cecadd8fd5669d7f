"""Tables: sorting, filtering, copying, columns, selection and hostile names."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QDialog, QMenu, QPushButton, QVBoxLayout
from pytestqt.qtbot import QtBot

from league_app.core.preferences import Preferences
from league_app.gui import theme
from league_app.gui.widgets.table.delegates import AgentCell, BarCell, RankCell, RatingCell, RecordCell, ToneCell
from league_app.gui.widgets.table.model import TableColumn, TableModel
from league_app.gui.widgets.table.view import FilteredTable, TableView

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")  # no screen, so no keyboard to grab either
HOSTILE = (
    "=1+1",
    "+SUM(A1)",
    "-cmd|' /C calc'!A0",
    "@here",
    "<b>bold</b><img src=x>",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\U0001f3d3\U0001f525 fire",
    "W" * 120,
)


@dataclass(frozen=True)
class One:
    number: int
    name: str
    value: float


COLUMNS = (
    TableColumn("number", "Number", lambda row: str(row.number), lambda row: row.number, True, "What it is called"),
    TableColumn("name", "Name", lambda row: row.name, cell_tip=lambda row: row.name),
    TableColumn("value", "Value", lambda row: f"{row.value:.2f}", lambda row: row.value, True, descending=True),
)


def key(row: Any) -> Any:
    return row.number


@pytest.fixture(autouse=True)
def _looks(qtbot: QtBot) -> None:
    theme.load_fonts()
    theme.apply("light")


@pytest.fixture
def model() -> TableModel:
    return filled(COLUMNS)


def filled(columns: Sequence[TableColumn]) -> TableModel:
    model = TableModel(columns, key)
    model.set_rows([One(n, f"Agent {n}", value) for n, value in enumerate((0.5, 0.25, 2.0, -1.0, 0.75))])
    return model


def shown(qtbot: QtBot, model: TableModel, settings: Preferences | None = None) -> TableView:
    table = TableView(model, "test", settings)
    qtbot.addWidget(table)
    table.resize(600, 400)
    table.show()
    table.size_columns()
    return table


def numbers(model: TableModel) -> list[int]:
    return [row.number for row in model.rows]


def test_a_model_passes_the_test_of_qt_after_every_change(qtbot: QtBot) -> None:
    model = TableModel(COLUMNS, key)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    draws = random.Random(3)
    for _ in range(60):
        rows = [One(n, f"Agent {n % 7}", draws.random()) for n in draws.sample(range(20), draws.randint(0, 20))]
        model.set_rows(rows)
        model.sort(draws.randint(-1, 2), draws.choice(list(Qt.SortOrder)))
        model.set_filter(draws.choice(["", "agent", "3", "no such name"]))
        model.set_rows([One(row.number, row.name, draws.random()) for row in rows])
    assert tester.model() is model


def test_columns_sort_by_what_they_mean_and_back_to_what_was_given(model: TableModel) -> None:
    model.sort(2, Qt.SortOrder.DescendingOrder)
    assert numbers(model) == [2, 4, 0, 1, 3]
    model.sort(2, Qt.SortOrder.AscendingOrder)
    assert numbers(model) == [3, 1, 0, 4, 2]
    model.sort(-1)
    assert numbers(model) == [0, 1, 2, 3, 4]


def test_numbers_in_names_sort_by_value(model: TableModel) -> None:
    model.set_rows([One(n, name, 0) for n, name in enumerate(("bot 10", "Bot 9", "alpha", "Bot 100", "Zed", "²"))])
    model.sort(1)
    assert [row.name for row in model.rows] == ["alpha", "Bot 9", "bot 10", "Bot 100", "Zed", "²"]


def test_the_first_click_on_a_number_column_sorts_descending(model: TableModel, qtbot: QtBot) -> None:
    table = shown(qtbot, model)
    header = table.horizontalHeader()
    for number, first in ((2, 2), (0, 0)):
        at = QPoint(header.sectionViewportPosition(number) + 20, 10)
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
        assert numbers(model)[0] == first


def test_a_filter_matches_all_words_and_shows_the_count(model: TableModel, qtbot: QtBot) -> None:
    filtered = FilteredTable(shown(qtbot, model))
    qtbot.addWidget(filtered)
    model.set_rows([One(n, name, 0) for n, name in enumerate(("Red Fox", "red hen", "blue fox"))])
    assert filtered.count.text() == "3 rows"
    filtered.field.setText("FOX red")
    assert [row.name for row in model.rows] == ["Red Fox"]
    assert filtered.count.text() == "1 of 3"
    model.set_rows([*model.all_rows, One(9, "green hen", 0)])  # hidden by the filter
    assert filtered.count.text() == "1 of 4"
    filtered.field.setText("")
    assert len(model.rows) == 4


def test_a_copied_name_is_never_a_formula_a_column_or_a_row(model: TableModel, qtbot: QtBot) -> None:
    model.set_rows([One(n, name, -1.5) for n, name in enumerate((*HOSTILE, "tab\there", "line\nbreak", "\r\n=x"))])
    table = shown(qtbot, model)
    table.copy()
    lines = QGuiApplication.clipboard().text().split("\n")
    assert lines[0] == "Number\tName\tValue"
    cells = [line.split("\t") for line in lines]
    assert [len(line) for line in cells] == [3] * (1 + len(HOSTILE) + 3)
    assert not any(line[1][0] in "=+-@" for line in cells[1:])
    assert cells[1][1] == "'=1+1"
    assert cells[1][2] == "-1.50", "a number stays a number"


def test_only_selected_rows_are_copied_in_column_order(model: TableModel, qtbot: QtBot) -> None:
    table = shown(qtbot, model)
    table.horizontalHeader().moveSection(2, 0)
    table.setColumnHidden(0, True)
    table.selectRow(1)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Value\tName\n0.25\tAgent 1"


def drag(qtbot: QtBot, table: TableView, number: int, by: int) -> None:
    """Drags the right edge of a column with the mouse."""
    header = table.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(number) + header.sectionSize(number) - 2, 10)
    view, left = header.viewport(), Qt.MouseButton.LeftButton
    qtbot.mouseMove(view, at)
    qtbot.mousePress(view, left, pos=at)
    qtbot.mouseMove(view, at + QPoint(by, 0))
    qtbot.mouseRelease(view, left, pos=at + QPoint(by, 0))


def test_widths_positions_and_hidden_columns_are_saved(model: TableModel, qtbot: QtBot, settings: Preferences) -> None:
    table = shown(qtbot, model, settings)
    before = table.columnWidth(1)
    table.header_menu().actions()[-3].trigger()  # the last column goes
    drag(qtbot, table, 1, 40)
    table.horizontalHeader().dragging = True
    table.horizontalHeader().moveSection(1, 0)
    table.horizontalHeader().dragging = False
    qtbot.waitUntil(lambda: settings.get("columns/test", {}).get("name", [0, 0, 1])[2] == 0)
    width = table.columnWidth(1)
    assert width > before
    again = shown(qtbot, model, settings)
    assert again.columnWidth(1) == width
    assert again.horizontalHeader().visualIndex(1) == 0
    assert again.isColumnHidden(2)
    again.reset_columns()
    assert again.columnWidth(1) == before
    assert [again.horizontalHeader().visualIndex(n) for n in range(3)] == [0, 1, 2]
    assert not again.isColumnHidden(2)
    assert settings.get("columns/test") is None


def test_a_column_with_a_new_title_keeps_its_saved_width(qtbot: QtBot, settings: Preferences) -> None:
    settings.set("columns/test", {"name": [171, False, 1], "value": [83, False, 0]})
    renamed = [replace(column, title=f"New {column.title}") for column in COLUMNS]
    table = shown(qtbot, filled(renamed), settings)
    assert (table.columnWidth(1), table.columnWidth(2)) == (171, 83)
    assert table.horizontalHeader().visualIndex(2) == 0


def test_widths_saved_by_title_in_older_versions_are_ignored(
    model: TableModel, qtbot: QtBot, settings: Preferences
) -> None:
    before = shown(qtbot, model).columnWidth(1)
    settings.set("columns/test", {"Name": [before + 100, True, 0]})
    table = shown(qtbot, model, settings)
    assert table.columnWidth(1) == before
    assert not table.isColumnHidden(1)


def test_resizing_the_window_does_not_save_widths(model: TableModel, qtbot: QtBot, settings: Preferences) -> None:
    table = shown(qtbot, model, settings)
    table.resize(900, 400)
    table.resize(500, 300)
    table._on_header_changed()
    assert not table._save_timer.isActive()
    assert settings.get("columns/test") is None


@pytest.mark.parametrize("kept", [[], "wide", {"name": ["a", 1, 2]}, {"name": [10**9, False, 99]}, {"name": 5}])
def test_damaged_settings_are_ignored(model: TableModel, qtbot: QtBot, tmp_path: Path, kept: object) -> None:
    settings = Preferences(tmp_path / "window.json")
    settings.set("columns/test", kept)
    table = shown(qtbot, model, settings)
    assert 20 <= table.columnWidth(1) <= 2000


def test_columns_fill_the_table(qtbot: QtBot) -> None:
    columns = (
        TableColumn("name", "Name", lambda row: row.name, width=150, min_width=90, grow=1),
        TableColumn("value", "Value", lambda row: "0.25", right=True, width=60),
    )
    model = TableModel(columns, key)
    model.set_rows([One(1, "agent", 0)])
    table = shown(qtbot, model)
    for width in (160, 400, 900):
        table.resize(width, 300)
        room, used = table.viewport().width(), table.columnWidth(0) + table.columnWidth(1)
        assert room - 2 <= used <= room
        assert table.columnWidth(1) == table.sizeHintForColumn(1) + 4 or table.columnWidth(1) == 60


def test_the_selection_follows_its_rows(model: TableModel, qtbot: QtBot) -> None:
    table = shown(qtbot, model)
    table.selectRow(1)
    table.selectionModel().select(
        model.index(3, 0),
        table.selectionModel().SelectionFlag.Select | table.selectionModel().SelectionFlag.Rows,
    )
    seen: list[Any] = []
    table.selected.connect(seen.append)
    for rows in (
        [One(n, "another name", 1) for n in range(5)],  # the same ones
        [One(n, "turned round", 1) for n in reversed(range(5))],
        [One(n, "with more", 1) for n in (7, 4, 3, 2, 1, 0, 9)],
    ):
        model.set_rows(rows)
        assert sorted(row.number for row in table.selected_rows()) == [1, 3]
        assert model.rows[table.currentIndex().row()].number == 1
    model.set_rows([One(7, "the last", 1)])
    assert table.selected_rows() == []
    assert seen[-1] is None, "listeners are notified that no row is current"


def test_enter_and_a_double_click_open_a_row_and_nothing_else(model: TableModel, qtbot: QtBot) -> None:
    dialog = QDialog()
    qtbot.addWidget(dialog)
    table, button = TableView(model, "test"), QPushButton("OK")
    dialog.setLayout(QVBoxLayout())
    dialog.layout().addWidget(table)
    dialog.layout().addWidget(button)
    button.setDefault(True)
    button.clicked.connect(dialog.accept)
    dialog.show()
    opened: list[Any] = []
    table.chosen.connect(opened.append)
    table.setFocus()
    table.selectRow(2)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert [row.number for row in opened] == [2]
    assert dialog.isVisible(), "Enter opened the row, not the default button"
    at = table.visualRect(model.index(4, 1)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert [row.number for row in opened] == [2, 4]


def test_the_header_menu_works_with_the_keyboard(model: TableModel, qtbot: QtBot) -> None:
    table = shown(qtbot, model)
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    menu = QGuiApplication.focusObject() if isinstance(QGuiApplication.focusObject(), QMenu) else None
    menu = menu or table.findChild(QMenu)
    assert menu is not None
    assert menu.isVisible()
    sorts = menu.actions()[0].menu()
    assert isinstance(sorts, QMenu)
    sorts.actions()[2].trigger()
    assert numbers(model)[0] == 2, "the largest first"
    menu.close()
    again = table.header_menu().actions()[0].menu()
    assert isinstance(again, QMenu)
    assert again.actions()[2].isChecked()
    again.actions()[2].trigger()
    assert numbers(model)[0] == 3, "the order is reversed"


def test_the_last_column_cannot_be_hidden(model: TableModel, qtbot: QtBot) -> None:
    table = shown(qtbot, model)
    for name in ("Number", "Name"):
        [action] = [action for action in table.header_menu().actions() if action.text() == name]
        action.trigger()
    [last] = [action for action in table.header_menu().actions() if action.text() == "Value"]
    assert not last.isEnabled()
    assert not table.isColumnHidden(2)


def test_hostile_names_are_plain_text_and_do_not_widen_columns(qtbot: QtBot) -> None:
    columns = (
        TableColumn("number", "#", lambda row: str(row.number), paint="rank",
               value=lambda row: RankCell(str(row.number), 2)),
        TableColumn("who", "Who", lambda row: row.name, cell_tip=lambda row: row.name, paint="agent",
               value=lambda row: AgentCell(row.name, row.name, "1F5FD6")),
        TableColumn("r", "R", lambda row: "1", paint="rating",
               value=lambda row: RatingCell(1200 + row.value, 40, 1100, 1300)),
        TableColumn("w", "W", lambda row: "1", paint="record", value=lambda row: RecordCell(row.number, 1, 10**6)),
        TableColumn("b", "B", lambda row: "1", paint="bar", value=lambda row: BarCell(row.value, row.name)),
        TableColumn("t", "T", lambda row: row.name, paint="tone", value=lambda row: ToneCell(row.name, "warn")),
        TableColumn("plain", "Plain", lambda row: row.name),
    )  # fmt: skip
    model = TableModel(columns, key)
    model.set_rows([One(n, name, n / 5) for n, name in enumerate(HOSTILE)])
    table = shown(qtbot, model)
    table.resize(900, 400)
    before = table.grab().toImage()
    assert max(table.columnWidth(n) for n in range(6)) <= 420
    tip = model.data(model.index(4, 1), Qt.ItemDataRole.ToolTipRole)
    assert "<b>" not in tip
    assert "&lt;b&gt;bold" in tip
    table.selectRow(2)
    assert table.grab().toImage() != before, "the selection is visible"


def test_a_table_of_other_delegates_is_painted_by_qt(model: TableModel, qtbot: QtBot) -> None:
    class Checked(TableModel):
        def data(self, index: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
            if role == Qt.ItemDataRole.CheckStateRole and index.column() == 0:
                return Qt.CheckState.Checked
            return super().data(index, role)

    usual, checked = shown(qtbot, model), Checked(COLUMNS, key)
    checked.set_rows(model.rows)
    other = shown(qtbot, checked)
    assert usual.viewport().grab().toImage() != other.viewport().grab().toImage()


def test_a_filter_without_matches_shows_a_message(model: TableModel, qtbot: QtBot) -> None:
    table = shown(qtbot, model)
    model.set_rows([])
    empty = table.viewport().grab().toImage()
    model.set_rows([One(1, "a", 1)])
    model.set_filter("no such")
    assert table.viewport().grab().toImage() != empty


def test_a_hundred_thousand_rows_can_be_sorted_and_filtered(qtbot: QtBot) -> None:
    model = TableModel(COLUMNS, key)
    table = shown(qtbot, model)
    model.set_rows([One(n, f"Agent {n % 1000}", n * 7919 % 100_003) for n in range(100_000)])
    table.selectRow(77)
    model.sort(2, Qt.SortOrder.DescendingOrder)
    assert model.rows[0].value == max(row.value for row in model.all_rows)
    assert [row.number for row in table.selected_rows()] == [77]
    model.set_filter("agent 77 ")
    assert {row.name for row in model.rows} >= {"Agent 77", "Agent 770"}
    assert [row.number for row in table.selected_rows()] == [77]
    assert not table.grab().isNull()
