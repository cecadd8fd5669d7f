"""Accessibility: every control of every page, panel and dialog has a name and can be reached by keyboard."""

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

from league_app.core.state import LeagueState
from league_app.gui.dialogs.messages import ConfirmDialog, ErrorDialog
from league_app.gui.main_window import DOCKS, PAGES, MainWindow

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
def window(hall: MainWindow, played: Path, qtbot: QtBot) -> Iterator[MainWindow]:
    """A window with a league in which an agent's name contains markup."""
    with LeagueState(played) as state:
        state.change_agent(state.league.agent("Lazy").id, name="<b>Bold</b> & <img src=x>")
    hall.leagues.open_path(played)
    qtbot.waitUntil(lambda: hall.context.state is not None)
    for name in DOCKS:
        hall.dock(name)
    yield hall
    hall.leagues.close_without_asking(lambda: None)
    qtbot.waitUntil(lambda: not hall.leagues.switching)


def nameless(over: QWidget) -> list[str]:
    """Controls with neither a text nor an accessible name."""
    found = []
    for widget in [over, *over.findChildren(QWidget)]:
        if not isinstance(widget, CONTROLS) or isinstance(widget, QScrollBar) or _inner(widget) or widget.isHidden():
            continue
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        if not (text.strip() or widget.accessibleName().strip()):
            parents = []
            above = widget.parentWidget()
            while above is not None and len(parents) < 4:
                parents.append(type(above).__name__)
                above = above.parentWidget()
            found.append(f"{type(widget).__name__} {widget.objectName()!r} in {' in '.join(parents)}")
    return found


def ambiguous(over: QWidget) -> list[str]:
    """Labels and tooltips whose text format Qt would guess."""
    labels = [
        label
        for label in over.findChildren(QLabel)
        if label.textFormat() != Qt.TextFormat.PlainText and not _inner(label)
    ]
    found = [f"label {label.text()!r}" for label in labels if label.text()]
    tips = [widget.toolTip() for widget in over.findChildren(QWidget)]
    return found + [f"tooltip {tip!r}" for tip in tips if "<" in tip and not tip.startswith("<p style=")]


def _inner(widget: QWidget) -> bool:
    """Whether Qt created this widget as part of another control."""
    above = widget.parentWidget()
    while above is not None:
        if isinstance(above, QComboBox | QAbstractSpinBox | QLineEdit | QAbstractItemView | QTabBar):
            return True
        above = above.parentWidget()
    scrolls = isinstance(widget, QScrollArea) and widget.focusPolicy() == Qt.FocusPolicy.NoFocus
    return scrolls or (widget.objectName().startswith("qt_") and not isinstance(widget, QTabBar))


def reached(over: QWidget) -> set[QWidget]:
    """The widgets that Tab reaches in one round."""
    found, widget = set(), over.nextInFocusChain()
    while widget is not over and widget not in found:
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible() and widget.isEnabled():
            found.add(widget)
        widget = widget.nextInFocusChain()
    return found


def dialogs(window: MainWindow) -> Iterator[tuple[str, QDialog]]:
    """Opens each dialog, and yields its name and widget."""
    opened = {
        "tournament": window.new,
        "session": window.page("training").new_session,
        "match": window.page("match").watch,
        "ready-made": window.dock("agents").add_ready_made,
        "enter": window.dock("agents").enter,
        "palette": window.help.palette,
        "about": window.help.about,
        "shortcuts": window.help.shortcuts,
        "trouble": lambda: ErrorDialog(window, ValueError("odd")).open(),
        "question": lambda: ConfirmDialog(window, "Really?", "", "Yes", lambda: None).open(),
    }
    for name, show in opened.items():
        show()
        yield name, _modal()
        found = QApplication.activeModalWidget()
        if found is not None:
            found.close()


def _modal() -> QDialog:
    """Waits for the dialog: some read the league first, in another thread."""
    until = time.monotonic() + 120.0
    while (found := QApplication.activeModalWidget()) is None and time.monotonic() < until:
        QApplication.processEvents()
        QApplication.sendPostedEvents()
        time.sleep(0.001)
    assert isinstance(found, QDialog)
    return found


def test_every_control_of_pages_and_panels_has_a_plain_text_name(window: MainWindow, qtbot: QtBot) -> None:
    agent = window.context.league.agents()[0].id
    window.show_page("welcome")
    wrong = [f"welcome: {text}" for text in nameless(window.welcome)]
    for name in PAGES:
        window.show_page(name, agent if name == "agent" else "1.1" if name == "match" else None)
        qtbot.waitUntil(lambda: not window.context.read_queue.waiting)
        wrong += [f"{name}: {text}" for text in [*nameless(window.page(name)), *ambiguous(window.page(name))]]
    for name, dock in window.docks.items():
        wrong += [f"{name}: {text}" for text in [*nameless(dock.widget()), *ambiguous(dock.widget())]]
    wrong += [f"toolbar: {text}" for text in nameless(window.toolbar)]
    assert not wrong, "\n".join(sorted(set(wrong)))


def test_every_control_of_dialogs_has_a_name_and_escape_closes_them(window: MainWindow, qtbot: QtBot) -> None:
    wrong = []
    for name, dialog in dialogs(window):
        qtbot.waitUntil(lambda: not window.context.read_queue.waiting and not window.context.slow_queue.waiting)
        wrong += [f"{name}: {text}" for text in [*nameless(dialog), *ambiguous(dialog)]]
        if not dialog.windowTitle():
            wrong.append(f"{name}: the dialog has no title")
        if not reached(dialog):
            wrong.append(f"{name}: Tab comes to nothing")
        qtbot.keyClick(dialog.focusWidget() or dialog, Qt.Key.Key_Escape)
        if QApplication.activeModalWidget() is not None:
            wrong.append(f"{name}: Escape does not close it")
    assert not wrong, "\n".join(wrong)


def test_tab_reaches_every_control_of_pages_and_panels(window: MainWindow, qtbot: QtBot) -> None:
    wrong = []
    for name in ("dashboard", "standings", "match", "training", "history"):
        window.show_page(name, "1.1" if name == "match" else None)
        qtbot.waitUntil(lambda: not window.context.read_queue.waiting)
        ring = reached(window)
        for widget in window.findChildren(QWidget):
            control = isinstance(widget, CONTROLS) and not isinstance(widget, QScrollBar) and not _inner(widget)
            if control and widget.isVisible() and widget.isEnabled() and widget not in ring:
                text = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
                wrong.append(f"{name}: {type(widget).__name__} {text!r}")
    assert not wrong, "\n".join(sorted(set(wrong)))
