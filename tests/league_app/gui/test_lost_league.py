"""A league whose file is deleted, moved or replaced while the window has it open."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from engine.league.storage.league import League
from league_app.gui.dialogs.messages import FailureDialog, LostLeagueDialog
from league_app.gui.main_window import MainWindow
from tests.league_app.gui.conftest import BOTS, LASTING, QUICK

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved there")


@pytest.fixture(autouse=True)
def errors_are_shown(playing: MainWindow) -> None:
    """Queries of other pages fail too."""
    playing.context.failed.disconnect()
    playing.context.failed.connect(playing._show_error)


def asked(qtbot: QtBot) -> LostLeagueDialog:
    qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), LostLeagueDialog))
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, LostLeagueDialog)
    return dialog


def save_as(window: MainWindow, path: Path, qtbot: QtBot) -> None:
    asked(qtbot).save_button.click()
    [dialog] = window.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(path))
    dialog.close()


def test_a_league_that_is_deleted_while_it_is_played_can_be_saved_elsewhere(
    playing: MainWindow, played: Path, qtbot: QtBot
) -> None:
    state = playing.context.league
    job = state.start_tournament(game=QUICK, agents=BOTS, options=LASTING, seed=5)
    qtbot.waitUntil(lambda: job.progress().played > 20)
    played.unlink()
    asked(qtbot)
    qtbot.waitUntil(lambda: not state.running)
    count = state.league.tournament(job.number).played
    assert count > 20
    save_as(playing, played.with_name("saved.league"), qtbot)
    qtbot.waitUntil(lambda: playing.context.state not in (None, state))
    league = playing.context.league.league
    assert league.path == played.with_name("saved.league")
    assert league.tournament(job.number).played == count
    assert not playing.findChildren(FailureDialog)


def test_a_league_that_was_moved_can_be_closed_and_opened_at_its_new_place(
    playing: MainWindow, played: Path, qtbot: QtBot
) -> None:
    playing.context.league.league.change_agent(BOTS[0], notes="the latest change")
    moved = played.rename(played.with_name("moved.league"))
    asked(qtbot).close_button.click()
    qtbot.waitUntil(lambda: playing.context.state is None and not playing.leagues.switching)
    with League(moved) as league:
        assert league.agent(BOTS[0]).notes == "the latest change"
    assert [file.name for file in played.parent.glob("*.league*")] == ["moved.league"]


def test_it_is_asked_once_until_the_file_is_back(playing: MainWindow, played: Path, qtbot: QtBot) -> None:
    for _ in range(2):
        moved = played.rename(played.with_name("moved.league"))
        asked(qtbot).reject()
        with qtbot.waitSignals([playing.context.monitor.sampled] * 2):
            pass
        assert QApplication.activeModalWidget() is None
        moved.rename(played)
        qtbot.waitUntil(lambda: not playing.context.monitor.latest.gone)
    playing.context.league.league.change_agent(BOTS[0], notes="saved again")


def test_a_copy_that_cannot_be_saved_is_asked_for_again(playing: MainWindow, played: Path, qtbot: QtBot) -> None:
    played.unlink()
    save_as(playing, played.with_name("missing") / "saved.league", qtbot)
    qtbot.waitUntil(lambda: bool(playing.findChildren(FailureDialog)))
    save_as(playing, played.with_name("saved.league"), qtbot)
    qtbot.waitUntil(lambda: playing.context.league.league.path == played.with_name("saved.league"))
