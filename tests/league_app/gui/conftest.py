"""A league that has been played in, and a desk to look at it from; on no screen at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.registry import new_game
from league_app.gui import theme
from league_app.gui.garbage_collection import Collector
from league_app.gui.context import Desk
from league_app.core.preferences import Settings
from league_app.core.state import LeagueState

if TYPE_CHECKING:
    from league_app.gui.main_window import Window

QUICK = new_game("pong", points=2, step_limit=2000).spec
BOTS = ("Tracker", "Shaky", "Predictor", "Lazy", "Random", "Still")
SAMPLES = (*BOTS, "Evolved", "Dice")


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    """Not by a variable: other tests start programs, which would take that for a display."""
    return ["ringside", "-platform", "offscreen"]


@pytest.fixture(scope="session", autouse=True)
def collector(qapp: QApplication) -> Iterator[Collector]:
    """As in the program: widgets of an earlier test must not be taken apart by the threads of this one."""
    made = Collector(qapp)
    yield made
    made.end()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tournaments, all of their matches played; made once, copied for each test."""
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
def hall(tmp_path_factory: pytest.TempPathFactory, qapp: QApplication) -> Iterator[Window]:
    """One window for a whole file of tests, at home in a folder of its own; no league is open in it."""
    from league_app.gui.main_window import Window

    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGSIDE_HOME", str(folder))
        theme.load_fonts()
        theme.apply("light")
        made = Window(Desk(Settings(folder / "window.json")))
        made.show()
        yield made
        made.close()
        made.deleteLater()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "home" / "window.json")


@pytest.fixture
def bare(qtbot: QtBot, settings: Settings) -> Iterator[Desk]:
    """With no league open."""
    theme.load_fonts()
    theme.apply("light")
    one = Desk(settings)
    one.failed.connect(_raise)
    yield one
    one.close()


@pytest.fixture
def desk(bare: Desk, played: Path) -> Desk:
    """With the league that has been played in."""
    state = LeagueState(played, lanes=4)
    state.budget.cores, state.batch_size = 2, 4
    bare.adopt(state)
    return bare


def _raise(error: Exception) -> None:
    raise error
