"""Without a mouse and without eyes: every control of every page, panel and sheet has a name and can be reached."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QScrollBar,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from league_app.gui.dialogs.messages import Question, Trouble
from league_app.core.state import LeagueState
from league_app.gui.main_window import DOCKS, PAGES, Window

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QTabBar,
)


@pytest.fixture
def window(hall: Window, played: Path, qtbot: QtBot) -> Iterator[Window]:
    """With a league in which somebody's name tries to be more than a name."""
    with LeagueState(played) as state:
        state.change_agent(state.league.agent("Lazy").id, name="<b>Bold</b> & <img src=x>")
    hall.leagues.open_path(played)
    qtbot.waitUntil(lambda: hall.desk.state is not None, timeout=20_000)
    for name in DOCKS:
        hall.dock(name)
    yield hall
    hall.leagues.leave_silently(lambda: None)
    qtbot.waitUntil(lambda: not hall.leagues.unsettled, timeout=30_000)


def nameless(over: QWidget) -> list[str]:
    """Controls that say nothing: neither a text of their own nor a name for whoever asks."""
    found = []
    for one in [over, *over.findChildren(QWidget)]:
        if not isinstance(one, CONTROLS) or isinstance(one, QScrollBar) or _inner(one) or one.isHidden():
            continue
        text = one.text() if isinstance(one, QAbstractButton) else ""
        if not (text.strip() or one.accessibleName().strip()):
            parents = []
            above = one.parentWidget()
            while above is not None and len(parents) < 4:
                parents.append(type(above).__name__)
                above = above.parentWidget()
            found.append(f"{type(one).__name__} {one.objectName()!r} in {' in '.join(parents)}")
    return found


def guessing(over: QWidget) -> list[str]:
    """Labels and tooltips of which Qt guesses whether they are markup."""
    labels = [
        one for one in over.findChildren(QLabel) if one.textFormat() != Qt.TextFormat.PlainText and not _inner(one)
    ]
    found = [f"label {one.text()!r}" for one in labels if one.text()]
    tips = [one.toolTip() for one in over.findChildren(QWidget)]
    return found + [f"tooltip {tip!r}" for tip in tips if "<" in tip and not tip.startswith("<p style=")]


def _inner(one: QWidget) -> bool:
    """Parts that Qt itself puts into a control or beside it."""
    above = one.parentWidget()
    while above is not None:
        if isinstance(above, QComboBox | QAbstractSpinBox | QLineEdit | QAbstractItemView | QTabBar):
            return True
        above = above.parentWidget()
    scrolls = isinstance(one, QScrollArea) and one.focusPolicy() == Qt.FocusPolicy.NoFocus
    return scrolls or (one.objectName().startswith("qt_") and not isinstance(one, QTabBar))


def reached(over: QWidget) -> set[QWidget]:
    """What Tab comes to, all the way round."""
    found, one = set(), over.nextInFocusChain()
    while one is not over and one not in found:
        if one.focusPolicy() & Qt.FocusPolicy.TabFocus and one.isVisible() and one.isEnabled():
            found.add(one)
        one = one.nextInFocusChain()
    return found


def sheets(window: Window) -> Iterator[tuple[str, QDialog]]:
    """Each of them, open."""
    opened = {
        "tournament": window.new,
        "session": window.page("training").new_session,
        "match": window.page("match").watch,
        "ready-made": window.dock("agents").add_ready_made,
        "enter": window.dock("agents").enter,
        "palette": window.help.palette,
        "about": window.help.about,
        "shortcuts": window.help.shortcuts,
        "trouble": lambda: Trouble(window, ValueError("odd")).open(),
        "question": lambda: Question(window, "Really?", "", "Yes", lambda: None).open(),
    }
    for name, show in opened.items():
        show()
        yield name, _modal()
        found = QApplication.activeModalWidget()
        if found is not None:
            found.close()


def _modal() -> QDialog:
    """The sheet that comes up; some of them read the league first, in another thread."""
    until = time.monotonic() + 10.0
    while (found := QApplication.activeModalWidget()) is None and time.monotonic() < until:
        QApplication.processEvents()
        QApplication.sendPostedEvents()
        time.sleep(0.001)
    assert isinstance(found, QDialog)
    return found


def test_every_control_of_every_page_and_panel_says_what_it_is_in_plain_text(window: Window, qtbot: QtBot) -> None:
    agent = window.desk.league.agents()[0].id
    window.show_page("welcome")
    wrong = [f"welcome: {one}" for one in nameless(window.welcome)]
    for name in PAGES:
        window.show_page(name, agent if name == "agent" else "1.1" if name == "match" else None)
        qtbot.waitUntil(lambda: not window.desk.reads.waiting, timeout=20_000)
        wrong += [f"{name}: {one}" for one in [*nameless(window.page(name)), *guessing(window.page(name))]]
    for name, dock in window.docks.items():
        wrong += [f"{name}: {one}" for one in [*nameless(dock.widget()), *guessing(dock.widget())]]
    wrong += [f"toolbar: {one}" for one in nameless(window.bar)]
    assert not wrong, "\n".join(sorted(set(wrong)))


def test_every_control_of_every_sheet_says_what_it_is_and_escape_closes_it(window: Window, qtbot: QtBot) -> None:
    wrong = []
    for name, sheet in sheets(window):
        qtbot.waitUntil(lambda: not window.desk.reads.waiting and not window.desk.work.waiting, timeout=20_000)
        wrong += [f"{name}: {one}" for one in [*nameless(sheet), *guessing(sheet)]]
        if not sheet.windowTitle():
            wrong.append(f"{name}: the sheet has no title")
        if not reached(sheet):
            wrong.append(f"{name}: Tab comes to nothing")
        qtbot.keyClick(sheet.focusWidget() or sheet, Qt.Key.Key_Escape)
        if QApplication.activeModalWidget() is not None:
            wrong.append(f"{name}: Escape does not close it")
    assert not wrong, "\n".join(wrong)


def test_tab_comes_to_every_control_of_a_page_and_of_the_panels_around_it(window: Window, qtbot: QtBot) -> None:
    wrong = []
    for name in ("dashboard", "standings", "match", "training", "history"):
        window.show_page(name, "1.1" if name == "match" else None)
        qtbot.waitUntil(lambda: not window.desk.reads.waiting, timeout=20_000)
        ring = reached(window)
        for one in window.findChildren(QWidget):
            control = isinstance(one, CONTROLS) and not isinstance(one, QScrollBar) and not _inner(one)
            if control and one.isVisible() and one.isEnabled() and one not in ring:
                told = one.accessibleName() or (one.text() if isinstance(one, QAbstractButton) else "")
                wrong.append(f"{name}: {type(one).__name__} {told!r}")
    assert not wrong, "\n".join(sorted(set(wrong)))
