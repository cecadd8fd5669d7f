"""Interruptions: closing while saving, files that disappear, repeated errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.errors import NotNow, ReadOnly, StorageFailed
from engine.league.records import RunState
from engine.registry import KINDS
from league_app.core.state import LeagueState
from league_app.gui import context, league_files
from league_app.gui.dialogs.messages import ErrorDialog
from league_app.gui.dialogs.tournament import TournamentDialog
from league_app.gui.main_window import MainWindow
from tests.faults.league import worker_pids
from tests.league_app.gui.conftest import BOTS, LASTING, QUICK


class Gate:
    """Leagues that are being opened wait here."""

    def __init__(self) -> None:
        self.reached: list[Path] = []
        self._open = threading.Event()

    def pass_through(self, path: Path) -> None:
        self.reached.append(path)
        self._open.wait()

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Opening a league takes until the gate is opened."""
    real: Callable[..., LeagueState] = league_files.open_league
    gate = Gate()

    def opened(path: Path) -> LeagueState:
        gate.pass_through(path)
        return real(path)

    monkeypatch.setattr(league_files, "open_league", opened)
    yield gate
    gate.open()


def free(path: Path) -> bool:
    """Whether no process has locked it."""
    with LeagueState(path) as state:
        return not state.league.read_only


# Closing


def test_closing_twice_while_saving_still_stops_the_run(playing: MainWindow, qtbot: QtBot) -> None:
    """The second close neither cancels the first nor blocks the window."""
    state = playing.context.league
    job = state.start_tournament(game=QUICK, agents=BOTS, options=LASTING, seed=5)
    qtbot.waitUntil(lambda: job.progress().played > 20)
    playing.close_without_asking()
    playing.close()
    assert playing.isVisible(), "it is still being saved"
    qtbot.waitUntil(lambda: not playing.isVisible())
    assert not worker_pids()
    with LeagueState(state.league.path) as again:
        assert again.league.tournament(job.number).state is RunState.STOPPED


def test_a_league_that_is_opening_when_the_window_closes_is_closed(
    window: MainWindow,
    played: Path,
    gate: Gate,
    qtbot: QtBot,
) -> None:
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: gate.reached == [played])
    window.close()
    gate.open()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert free(played)


def test_of_two_leagues_opened_at_once_the_second_is_shown_and_the_first_closed(
    window: MainWindow,
    played: Path,
    tmp_path: Path,
    gate: Gate,
    qtbot: QtBot,
) -> None:
    other = tmp_path / "other.league"
    LeagueState.new(other).close()
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: gate.reached == [played])
    window.leagues.open_path(other)
    gate.open()
    qtbot.waitUntil(lambda: window.context.state is not None)
    assert window.context.league.league.path == other
    assert free(played)


# Files


def test_a_deleted_league_file_is_reported_and_no_match_starts(
    playing: MainWindow,
    played: Path,
) -> None:
    playing.context.failed.disconnect()
    played.rename(played.with_name("elsewhere.league"))
    with pytest.raises(NotNow, match="no longer exists: restore it"):
        playing.context.league.start_tournament(game=QUICK, agents=BOTS, seed=5)
    playing._show_error(StorageFailed("unable to open database file"))
    assert playing.toasts.shown[-1].text == f"{played} was moved or deleted: restore it, or close the league"


def test_a_write_protected_league_opens_read_only(
    window: MainWindow,
    played: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def open_state(path: Path, read_only: bool = False, **more: object) -> LeagueState:
        if not read_only:
            raise ReadOnly(f"{path} cannot be written")
        return LeagueState(path, read_only=True)

    monkeypatch.setattr(context, "LeagueState", open_state)
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: window.context.state is not None)
    assert "is open read-only: the file is write-protected" in window.toasts.shown[-1].text
    window.show_page("dashboard")
    qtbot.waitUntil(lambda: window.toolbar.status_text.text() == "read-only")
    window.new()
    assert QApplication.activeModalWidget() is None
    assert "no tournament can be started" in window.toasts.shown[-1].text


def test_agents_of_missing_kinds_cannot_be_entrants(
    playing: MainWindow,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(KINDS, "names", lambda: ["human", "neat", "pong-bot"])
    playing.new()
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, TournamentDialog)
    [left] = [agent for agent in dialog.picks.model.all_rows if agent.agent.id not in dialog.picks.chosen]
    assert left.agent.kind == "dice"
    assert "dice, not installed" in str(dialog.picks.model.columns[1].value(left))
    dialog.picks.all_button.click()
    assert left.agent.id not in dialog.picks.chosen
    qtbot.waitUntil(dialog.start.isEnabled)
    dialog.close()


# Errors and cancelling


def test_an_error_on_every_frame_is_reported_once(window: MainWindow) -> None:
    window.context.failed.disconnect()
    for _ in range(5):
        window._show_error(ZeroDivisionError("by nothing"))
    [report] = window.findChildren(ErrorDialog)
    report.close()


def test_ctrl_z_undoes_and_shows_what_was_undone(playing: MainWindow) -> None:
    assert playing.context.push_undo("archive Lazy", lambda: playing.context.league.archive("Lazy"), _restored(playing))
    assert playing.context.league.league.agent("Lazy").archived is not None
    playing.menu_actions.find("context.undo_change").trigger()
    assert playing.context.league.league.agent("Lazy").archived is None
    assert playing.toasts.shown[-1].text == "Undone: archive Lazy"
    playing.toasts.shown[-1].action_button.click()
    assert playing.context.league.league.agent("Lazy").archived is not None
    assert playing.toasts.shown[-1].text == "Redone: archive Lazy"


def _restored(window: MainWindow) -> Callable[[], object]:
    return lambda: window.context.league.archive("Lazy", undo=True)
