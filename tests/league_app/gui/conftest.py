"""Fixtures of the window's tests: a league with matches, and a context; on Qt's offscreen platform."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.registry import new_game
from league_app.core.preferences import Preferences
from league_app.core.state import LeagueState
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.garbage_collection import GuiThreadCollector

if TYPE_CHECKING:
    from league_app.gui.main_window import MainWindow

QUICK = new_game("pong", points=2, step_limit=2000).spec
BOTS = ("Tracker", "Shaky", "Predictor", "Lazy", "Random", "Still")
SAMPLES = (*BOTS, "Evolved", "Dice")
LASTING = {"rounds": 20_000}  # 600,000 matches of BOTS: it is stopped long before its end, however slow the test is


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    """An argument instead of an environment variable, which child processes would inherit."""
    return ["ringside", "-platform", "offscreen"]


@pytest.fixture(scope="session", autouse=True)
def collector(qapp: QApplication) -> Iterator[GuiThreadCollector]:
    """As in the program: worker threads must not destroy widgets of an earlier test."""
    instance = GuiThreadCollector(qapp)
    yield instance
    instance.stop()


@pytest.fixture(autouse=True)
def deleted_widgets(qapp: QApplication) -> Iterator[None]:
    """Deletes the widgets of a test at its end: Qt itself does so only in the next event loop, and until then every
    change of the theme would style them again."""
    yield
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league with two finished tournaments, created once and copied for each test."""
    path = tmp_path_factory.mktemp("leagues") / "played.league"
    with LeagueState.new(path) as state:
        state.add_samples("pong", SAMPLES)
        state.use_concurrent = False
        for seed in (1, 2):
            state.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 2}, seed=seed).wait()
        state.use_concurrent = True
    return path


@pytest.fixture
def played(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(template, tmp_path / "played.league"))


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, qapp: QApplication) -> Iterator[MainWindow]:
    """One window per test module, with a home folder of its own and no open league."""
    from league_app.gui.main_window import MainWindow

    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGSIDE_HOME", str(folder))
        theme.load_fonts()
        theme.apply("light")
        window = MainWindow(AppContext(Preferences(folder / "window.json")))
        window.show()
        yield window
        window.close()
        window.deleteLater()


@pytest.fixture
def settings(tmp_path: Path) -> Preferences:
    return Preferences(tmp_path / "home" / "window.json")


@pytest.fixture
def bare(qtbot: QtBot, settings: Preferences) -> Iterator[AppContext]:
    """A context without an open league."""
    theme.load_fonts()
    theme.apply("light")
    context = AppContext(settings)
    context.failed.connect(_raise)
    yield context
    context.close()


@pytest.fixture
def context(bare: AppContext, played: Path) -> AppContext:
    """A context with the league of `played`."""
    state = LeagueState(played, lanes=4)
    state.budget.cores, state.batch_size = 2, 4
    bare.adopt(state)
    return bare


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def window(home: Path, bare: AppContext, qtbot: QtBot) -> Iterator[MainWindow]:
    """A window without a league; a reported error fails the test, unless the test handles it."""
    from league_app.gui.main_window import MainWindow

    window = MainWindow(bare)
    window.show()
    yield window
    close(window, qtbot)


@pytest.fixture
def playing(window: MainWindow, played: Path, qtbot: QtBot) -> MainWindow:
    """A window with the league of `played`."""
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: window.context.state is not None)
    window.context.league.budget.cores = 2
    return window


def close(window: MainWindow, qtbot: QtBot) -> None:
    window.close_without_asking()
    qtbot.waitUntil(lambda: not window.isVisible())
    window.deleteLater()


def _raise(error: Exception) -> None:
    raise error
