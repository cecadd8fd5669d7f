"""What a person would see at once, and no other test: heights, room, names that do not fit, things that flash by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from league_app.gui.context import Desk
from league_app.gui.widgets.table.model import Column, TableModel
from league_app.gui.pages.dashboard import DashboardPage
from league_app.gui.match.page import MatchPage
from league_app.gui.pages.standings import StandingsPage
from league_app.gui.dialogs.command_palette import Entry, PaletteSheet
from league_app.gui.dialogs.messages import Trouble
from league_app.gui.widgets import basics
from league_app.gui.widgets.basics import Combo, Elided, button
from league_app.gui.widgets.table.delegates import BarCell
from league_app.gui.widgets.table.view import Table
from league_app.gui.widgets.toasts import Toasts
from league_app.gui.main_window import Window
from tests.gui.conftest import BOTS

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
LONG = "A name that somebody gave without thinking of the room that there is for it, nor of who has to read it"


@pytest.fixture
def window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, desk: Desk, qtbot: QtBot) -> Iterator[Window]:
    """On its first page, with the league that has been played in."""
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))
    made = Window(desk)
    made.show()
    made.show_page("dashboard")
    yield made
    made.close_unasked()
    qtbot.waitUntil(lambda: not made.isVisible(), timeout=30_000)
    made.deleteLater()


# The window


def test_the_toolbar_is_44_high_and_panels_begin_where_pages_do(window: Window) -> None:
    assert window.bar.height() == 44
    for name in ("agents", "run"):
        assert window.dock(name).widget().y() == window.tabs.height()


def test_it_is_never_too_narrow_for_a_page_between_its_panels(window: Window, qtbot: QtBot) -> None:
    window.page("match")  # the widest
    window.resize(960, 600)
    assert window.width() > 1200
    assert window.stack.width() >= window.stack.minimumSizeHint().width() > 600
    window.view.toggle_dock("run")
    window.resize(960, 600)
    assert window.width() == 960
    window.view.toggle_dock("run")
    qtbot.waitUntil(lambda: window.width() > 1200)


def test_a_panel_that_was_closed_by_hand_stays_closed(window: Window) -> None:
    dock = window.dock("run")
    dock.close()
    window.show_page("standings")
    assert dock.isHidden()
    assert not window.view.conditions()["dock-run"]
    dock.toggleViewAction().trigger()
    assert not dock.isHidden()
    assert window.view.conditions()["dock-run"]


class Windows(QObject):
    """Whatever becomes a window of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.seen.append(type(watched).__name__)
        return False


def test_no_part_of_the_match_page_is_a_window_for_a_moment(desk: Desk, qtbot: QtBot) -> None:
    watching, app = Windows(), QApplication.instance()
    assert app is not None
    app.installEventFilter(watching)
    page = MatchPage(desk)
    qtbot.addWidget(page)
    app.removeEventFilter(watching)
    assert watching.seen == []


# What is told


def test_a_toast_goes_by_itself_wherever_the_mouse_was(qtbot: QtBot) -> None:
    over = QWidget()
    qtbot.addWidget(over)
    over.resize(800, 600)
    over.show()
    QCursor.setPos(over.mapToGlobal(QPoint(5, 5)))
    toasts = Toasts(over)
    toasts.say("Saved", "good")
    QApplication.processEvents()
    [toast] = toasts.shown
    assert toast.x() > 400
    assert toast._timer.isActive()


def test_a_report_of_an_error_fits_its_sheet_whatever_the_error_says(qtbot: QtBot) -> None:
    sheet = Trouble(None, ValueError("x" * 280))
    qtbot.addWidget(sheet)
    sheet.show()
    assert sheet.width() < 800
    report = sheet.report
    assert report.mapTo(sheet, report.rect().topRight()).x() < sheet.width()
    assert not report.hasFocus(), "the button is what one wants first"


def test_the_palette_says_when_it_finds_nothing(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    sheet = PaletteSheet([Entry(LONG, "Agents  Ctrl+I", "import", list)], parent)
    sheet.show()
    assert sheet.list.isVisible()
    assert not sheet.nothing.isVisible()
    sheet.field.setText("zzz")
    assert sheet.nothing.isVisible()
    assert not sheet.list.isVisible()


# Names that do not fit


class Painter:
    """Notes the texts that controls are drawn with."""

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
    for one in (choice, link):
        qtbot.addWidget(one)
        one.setFixedWidth(160)
        one.ensurePolished()
    Painter.texts = []
    monkeypatch.setattr(basics, "QStylePainter", Painter)
    choice.grab()
    link.grab()
    assert len(Painter.texts) == 2
    assert all(text.startswith("A name") and text.endswith("\u2026") for text in Painter.texts)


def test_names_keep_their_ampersands_and_scores_their_place(desk: Desk, qtbot: QtBot) -> None:
    for place, name in enumerate(BOTS):
        desk.league.change_agent(name, name=f"{place} Tom & Jerry {'W' * 90}")
    page = DashboardPage(desk)
    qtbot.addWidget(page)
    page.resize(706, 900)
    page.show()

    def named() -> list[str]:
        return [one.text() for one in page.latest.findChildren(Elided) if one.isVisible()]

    qtbot.waitUntil(lambda: bool(named()))
    shown = named()
    assert all("& J" in text and "&&" not in text for text in shown)
    play = page.latest.findChildren(basics.IconButton)[-1]
    right = play.mapTo(page, play.rect().topRight()).x()
    assert right < page.latest.geometry().right() + 16, "long names push nothing out of its card"


# Tables


def test_where_there_is_little_room_bars_give_way_before_names(qtbot: QtBot) -> None:
    columns = (
        Column("Name", lambda one: one, width=200, least=60, grow=1),
        Column("Share", lambda one: "50 %", paint="bar", value=lambda one: BarCell(0.5, "50 %"), width=200, least=90),
    )
    model = TableModel(columns, lambda one: one)
    table = Table(model, "some")
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


def test_nobody_is_told_that_nothing_was_played_before_that_is_known(desk: Desk, qtbot: QtBot) -> None:
    page = StandingsPage(desk)
    qtbot.addWidget(page)
    page.show()
    assert page.stack.currentWidget() is page.nothing
    qtbot.waitUntil(lambda: page.view is not None)
    assert page.stack.currentIndex() == 0
