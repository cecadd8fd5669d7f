"""The dialogs that create a league or a backup: an existing league is refused without asking to replace it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QLabel, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.dialogs.messages import FailureDialog
from league_app.gui.league_files import LeagueFileActions


@pytest.fixture
def leagues(bare: AppContext, played: Path, qtbot: QtBot) -> LeagueFileActions:
    """Actions on files in an otherwise empty window, with a league that is open."""
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    bare.adopt(LeagueState(played))
    return LeagueFileActions(bare, window)


Kind = TypeVar("Kind", bound=QDialog)


def open_dialog(kind: type[Kind]) -> Kind | None:
    return next(
        (widget for widget in QApplication.topLevelWidgets() if isinstance(widget, kind) and widget.isVisible()), None
    )


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (LeagueFileActions.new, "other.league could not be created"),
        (LeagueFileActions.backup, "The backup other.league could not be written"),
    ],
)
def test_an_existing_league_is_refused_with_the_reason_and_without_a_question(
    leagues: LeagueFileActions,
    bare: AppContext,
    tmp_path: Path,
    qtbot: QtBot,
    ask: Callable[[LeagueFileActions], None],
    sentence: str,
) -> None:
    other, state = tmp_path / "other.league", bare.league
    LeagueState.new(other).close()
    before = other.read_bytes()
    ask(leagues)
    chooser = open_dialog(QFileDialog)
    assert chooser is not None
    chooser.setDirectory(str(tmp_path))
    chooser.selectFile(str(other))
    chooser.accept()  # would wait for an answer here
    assert open_dialog(QMessageBox) is None
    qtbot.waitUntil(lambda: open_dialog(FailureDialog) is not None)
    dialog = open_dialog(FailureDialog)
    assert dialog is not None
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    dialog.accept()
    assert sentence in texts
    assert any("already exists: choose another name" in text for text in texts)
    assert other.read_bytes() == before
    assert bare.state is state


def test_a_new_name_is_accepted(leagues: LeagueFileActions, bare: AppContext, tmp_path: Path, qtbot: QtBot) -> None:
    leagues.backup()
    chooser = open_dialog(QFileDialog)
    assert chooser is not None
    chooser.setDirectory(str(tmp_path))
    chooser.selectFile("copy")
    chooser.accept()
    qtbot.waitUntil((tmp_path / "copy.league").exists)
    qtbot.waitUntil(lambda: not bare.slow_queue.waiting)
    with LeagueState(tmp_path / "copy.league", read_only=True) as copy:
        assert copy.league.names() == bare.league.league.names()
