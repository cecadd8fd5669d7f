"""Visible flaws that no other test covers: heights, minimum widths, elided names, windows that flash up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from league_app.gui.context import AppContext
from league_app.gui.dialogs.command_palette import CommandPalette, Entry
from league_app.gui.dialogs.messages import ErrorDialog
from league_app.gui.main_window import MainWindow
from league_app.gui.match.page import MatchPage
from league_app.gui.pages.dashboard import DashboardPage
from league_app.gui.pages.standings import StandingsPage
from league_app.gui.widgets import basics
from league_app.gui.widgets.basics import Combo, ElidedLabel, button
from league_app.gui.widgets.table.delegates import BarCell
from league_app.gui.widgets.table.model import TableColumn, TableModel
from league_app.gui.widgets.table.view import TableView
from league_app.gui.widgets.toasts import Toasts
from tests.league_app.gui.conftest import BOTS

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
LONG = "A name that is much longer than the room that a table, a button or a tooltip of the window has for it"


@pytest.fixture
def window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: AppContext, qtbot: QtBot) -> Iterator[MainWindow]:
    """A window on the dashboard, with the league of `played`."""
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))
    window = MainWindow(context)
    window.show()
    window.show_page("dashboard")
    yield window
    window.close_without_asking()
    qtbot.waitUntil(lambda: not window.isVisible())
    window.deleteLater()


# The window


def test_the_toolbar_is_44_high_and_panels_begin_where_pages_do(window: MainWindow) -> None:
    assert window.toolbar.height() == 44
    for name in ("agents", "run"):
        assert window.dock(name).widget().y() == window.tabs.height()


def test_the_window_is_never_too_narrow_for_page_and_panels(window: MainWindow, qtbot: QtBot) -> None:
    window.page("match")  # the widest
    window.resize(960, 600)
    assert window.width() > 1200
    assert window.stack.width() >= window.stack.minimumSizeHint().width() > 600
    window.view.toggle_dock("run")
    window.resize(960, 600)
    assert window.width() == 960
    window.view.toggle_dock("run")
    qtbot.waitUntil(lambda: window.width() > 1200)


def test_a_panel_that_was_closed_by_hand_stays_closed(window: MainWindow) -> None:
    dock = window.dock("run")
    dock.close()
    window.show_page("standings")
    assert dock.isHidden()
    assert not window.view.conditions()["dock-run"]
    dock.toggleViewAction().trigger()
    assert not dock.isHidden()
    assert window.view.conditions()["dock-run"]


class Windows(QObject):
    """Records widgets that become top-level windows."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.seen.append(type(watched).__name__)
        return False


def test_no_part_of_the_match_page_flashes_up_as_a_window(context: AppContext, qtbot: QtBot) -> None:
    watching, app = Windows(), QApplication.instance()
    assert app is not None
    app.installEventFilter(watching)
    page = MatchPage(context)
    qtbot.addWidget(page)
    app.removeEventFilter(watching)
    assert watching.seen == []


# Messages


def test_a_toast_closes_by_itself_wherever_the_mouse_was(qtbot: QtBot) -> None:
    over = QWidget()
    qtbot.addWidget(over)
    over.resize(800, 600)
    over.show()
    QCursor.setPos(over.mapToGlobal(QPoint(5, 5)))
    toasts = Toasts(over)
    toasts.show_message("Saved", "good")
    QApplication.processEvents()
    [toast] = toasts.shown
    assert toast.x() > 400
    assert toast._timer.isActive()


def test_an_error_report_fits_its_dialog_for_any_message(qtbot: QtBot) -> None:
    dialog = ErrorDialog(None, ValueError("x" * 280))
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.width() < 800
    report = dialog.report
    assert report.mapTo(dialog, report.rect().topRight()).x() < dialog.width()
    assert not report.hasFocus(), "the button is what one wants first"


def test_the_palette_shows_that_nothing_matches(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = CommandPalette([Entry(LONG, "Agents  Ctrl+I", "import", list)], parent)
    dialog.show()
    assert dialog.list.isVisible()
    assert not dialog.nothing.isVisible()
    dialog.field.setText("zzz")
    assert dialog.nothing.isVisible()
    assert not dialog.list.isVisible()


# Names that do not fit


class Painter:
    """Records the texts that controls are drawn with."""

    texts: list[str]

    def __init__(self, widget: QWidget) -> None:
        pass

    def drawComplexControl(self, control: object, option: Any) -> None:  # noqa: N802
        pass

    def drawControl(self, control: object, option: Any) -> None:  # noqa: N802
        Painter.texts.append(getattr(option, "currentText", "") or option.text)


def test_long_names_on_buttons_and_in_choices_end_in_an_ellipsis(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    choice, link = Combo(), button(LONG, link=True)
    choice.addItem(LONG)
    for control in (choice, link):
        qtbot.addWidget(control)
        control.setFixedWidth(160)
        control.ensurePolished()
    Painter.texts = []
    monkeypatch.setattr(basics, "QStylePainter", Painter)
    choice.grab()
    link.grab()
    assert len(Painter.texts) == 2
    assert all(text.startswith("A name") and text.endswith("\u2026") for text in Painter.texts)


def test_names_keep_their_ampersands_and_scores_their_place(context: AppContext, qtbot: QtBot) -> None:
    for place, name in enumerate(BOTS):
        context.league.change_agent(name, name=f"{place} Tom & Jerry {'W' * 90}")
    page = DashboardPage(context)
    qtbot.addWidget(page)
    page.resize(706, 900)
    page.show()

    def named() -> list[str]:
        return [label.text() for label in page.latest.findChildren(ElidedLabel) if label.isVisible()]

    qtbot.waitUntil(lambda: bool(named()))
    shown = named()
    assert all("& J" in text and "&&" not in text for text in shown)
    play = page.latest.findChildren(basics.IconButton)[-1]
    right = play.mapTo(page, play.rect().topRight()).x()
    assert right < page.latest.geometry().right() + 16, "long names push nothing out of its card"


# Tables


def test_narrow_columns_hide_bars_before_names(qtbot: QtBot) -> None:
    columns = (
        TableColumn("name", "Name", lambda row: row, width=200, min_width=60, grow=1),
        TableColumn(
            "share",
            "Share",
            lambda row: "50 %",
            paint="bar",
            value=lambda row: BarCell(0.5, "50 %"),
            width=200,
            min_width=90,
        ),
    )
    model = TableModel(columns, lambda row: row)
    table = TableView(model, "some")
    qtbot.addWidget(table)
    table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    table.resize(320, 200)
    table.show()
    model.set_rows(["one"])
    assert table.columnWidth(0) == 200
    assert table.columnWidth(1) < 130
    table.resize(220, 200)
    assert table.columnWidth(0) < 140
    assert 89 <= table.columnWidth(1) <= 90


def test_the_empty_state_appears_only_after_loading(context: AppContext, qtbot: QtBot) -> None:
    page = StandingsPage(context)
    qtbot.addWidget(page)
    page.show()
    assert page.stack.currentWidget() is page.nothing
    qtbot.waitUntil(lambda: page.view is not None)
    assert page.stack.currentIndex() == 0
