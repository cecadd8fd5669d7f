"""What happens in the middle of something else: closing while it saves, files that go away, errors that rain."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.errors import NotNow, ReadOnly, StorageFailed
from engine.league.records import State
from engine.registry import KINDS
from league_app.gui import context as desks
from league_app.gui import league_files as leagues
from league_app.gui.dialogs.messages import Trouble
from league_app.gui.dialogs.tournament import TournamentSheet
from league_app.core.state import LeagueState
from league_app.gui.main_window import Window
from tests.faults.league import worker_pids
from tests.gui.conftest import BOTS, QUICK
from tests.gui.test_window import home, playing, window  # noqa: F401 - fixtures


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leagues are opened, but not at once."""
    real: Callable[..., LeagueState] = leagues.open_league

    def opened(path: Path) -> LeagueState:
        time.sleep(0.3)
        return real(path)

    monkeypatch.setattr(leagues, "open_league", opened)


def free(path: Path) -> bool:
    """Whether nobody holds it."""
    with LeagueState(path) as state:
        return not state.league.read_only


# Closing


def test_closing_again_while_it_saves_forgets_nothing(playing: Window, qtbot: QtBot) -> None:  # noqa: F811
    """Whoever is impatient closes twice: the run is stopped all the same, and the window is not held up."""
    state = playing.desk.league
    job = state.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 1000}, seed=5)
    qtbot.waitUntil(lambda: job.progress().played > 20, timeout=30_000)
    playing.close_unasked()
    playing.close()
    assert playing.isVisible(), "it is still being saved"
    qtbot.waitUntil(lambda: not playing.isVisible(), timeout=30_000)
    assert not worker_pids()
    with LeagueState(state.league.path) as again:
        assert again.league.tournament(job.number).state is State.STOPPED


@pytest.mark.usefixtures("slowly")
def test_a_league_that_is_being_opened_when_the_window_closes_is_closed_again(
    window: Window,  # noqa: F811
    played: Path,
    qtbot: QtBot,
) -> None:
    window.leagues.open_path(played)
    window.close()
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=10_000)
    assert free(played)


@pytest.mark.usefixtures("slowly")
def test_of_two_leagues_opened_in_a_hurry_the_second_is_shown_and_the_first_let_go(
    window: Window,  # noqa: F811
    played: Path,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    other = tmp_path / "other.league"
    LeagueState.new(other).close()
    window.leagues.open_path(played)
    qtbot.wait(50)  # it has begun
    window.leagues.open_path(other)
    qtbot.waitUntil(lambda: window.desk.state is not None, timeout=10_000)
    assert window.desk.league.league.path == other
    assert free(played)


# Files


def test_a_league_that_has_gone_is_told_and_nothing_is_played_into_the_void(
    playing: Window,  # noqa: F811
    played: Path,
) -> None:
    playing.desk.failed.disconnect()
    played.rename(played.with_name("elsewhere.league"))
    with pytest.raises(NotNow, match="is not there any more: put it back"):
        playing.desk.league.start_tournament(game=QUICK, agents=BOTS, seed=5)
    playing._fail(StorageFailed("unable to open database file"))
    assert playing.toasts.shown[-1].text == f"{played} is not there any more: put it back, or close the league"


def test_a_league_that_cannot_be_written_is_opened_for_looking(
    window: Window,  # noqa: F811
    played: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def made(path: Path, read_only: bool = False, **more: object) -> LeagueState:
        if not read_only:
            raise ReadOnly(f"{path} cannot be written")
        return LeagueState(path, read_only=True)

    monkeypatch.setattr(desks, "LeagueState", made)
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: window.desk.state is not None, timeout=10_000)
    assert "cannot be written where it is: you can look" in window.toasts.shown[-1].text
    window.show_page("dashboard")
    qtbot.waitUntil(lambda: window.bar.words.text() == "open for looking only", timeout=10_000)
    window.new()
    assert QApplication.activeModalWidget() is None
    assert "nothing can be played in it" in window.toasts.shown[-1].text


def test_agents_of_a_kind_that_is_not_installed_are_left_out_and_said_to_be(
    playing: Window,  # noqa: F811
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(KINDS, "names", lambda: ["human", "neat", "pong-bot"])
    playing.new()
    sheet = QApplication.activeModalWidget()
    assert isinstance(sheet, TournamentSheet)
    [left] = [one for one in sheet.picks.model.every if one.agent.id not in sheet.picks.chosen]
    assert left.agent.kind == "dice"
    assert "dice, not installed" in str(sheet.picks.model.columns[1].value(left))
    sheet.picks.everybody.click()
    assert left.agent.id not in sheet.picks.chosen
    qtbot.waitUntil(sheet.start.isEnabled, timeout=10_000)
    sheet.close()


# Errors and second thoughts


def test_what_breaks_on_every_frame_is_reported_once(window: Window) -> None:  # noqa: F811
    window.desk.failed.disconnect()
    for _ in range(5):
        window._fail(ZeroDivisionError("by nothing"))
    [report] = window.findChildren(Trouble)
    report.close()


def test_ctrl_z_takes_back_and_says_what(playing: Window) -> None:  # noqa: F811
    assert playing.desk.do("archive Lazy", lambda: playing.desk.league.archive("Lazy"), _restored(playing))
    assert playing.desk.league.league.agent("Lazy").archived is not None
    playing.acts.named("desk.take_back").trigger()
    assert playing.desk.league.league.agent("Lazy").archived is None
    assert playing.toasts.shown[-1].text == "Undone: archive Lazy"
    playing.toasts.shown[-1].offered.click()
    assert playing.desk.league.league.agent("Lazy").archived is not None
    assert playing.toasts.shown[-1].text == "Done again: archive Lazy"


def _restored(window: Window) -> Callable[[], object]:  # noqa: F811
    return lambda: window.desk.league.archive("Lazy", undo=True)
