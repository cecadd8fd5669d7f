"""Leagues that are opened again, and leagues whose opening fails half-way: neither stays locked."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.errors import BrokenPlugin
from league_app.core.state import LeagueState
from league_app.gui import league_files
from league_app.gui.dialogs.messages import FailureDialog
from league_app.gui.main_window import MainWindow
from tests.league_app.gui.test_main_window import find_dialog, texts


def test_a_league_that_is_open_read_only_is_opened_again_for_writing(
    window: MainWindow,
    played: Path,
    qtbot: QtBot,
) -> None:
    with LeagueState(played):  # as another program
        window.leagues.open_path(played)
        qtbot.waitUntil(lambda: window.context.state is not None)
        assert window.context.league.league.read_only
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: window.context.state is not None and not window.context.league.league.read_only)


def test_a_league_whose_game_fails_while_it_is_opened_is_closed_again(
    window: MainWindow,
    played: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> None:
        raise BrokenPlugin(f"{name} cannot be used as a game")

    monkeypatch.setattr(league_files, "usual_game", fail)
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: find_dialog(FailureDialog) is not None)
    dialog = find_dialog(FailureDialog)
    assert isinstance(dialog, FailureDialog)
    assert "cannot be used as a game" in texts(dialog)
    dialog.accept()
    with LeagueState(played) as state:
        assert not state.league.read_only, "it is not locked"
