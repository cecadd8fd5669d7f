"""A league whose file is deleted, moved or replaced while it is played."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import LeagueGone, LeagueHeld
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.rescue import rescue
from engine.play.match import AgentSpec
from engine.registry import new_game
from league_app.core.doctor import check_league
from league_app.core.state import LeagueState
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved there")
LASTING = {"game": new_game("pong", points=3).spec, "options": {"rounds": 30_000}}
GONE = "was deleted, moved or replaced while it was open, so nothing more is saved in it"


def delete(path: Path) -> None:
    path.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("moved.league"))


def replace(path: Path) -> None:
    League.new(path.with_name("other.league")).close()
    path.with_name("other.league").rename(path)


def delete_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


EVENTS = (delete, move, replace, delete_folder)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))
    (tmp_path / "leagues").mkdir()
    with LeagueState.new(tmp_path / "leagues" / "x.league") as state:
        state.add_samples("pong", ["Dice", "Lazy", "Tracker"])
    return tmp_path / "leagues" / "x.league"


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.exists() else []


def played(path: Path) -> int:
    with League(path, read_only=True) as league:
        return sum(tournament.played for tournament in league.tournaments())


@pytest.mark.parametrize("event", EVENTS)
def test_a_run_whose_league_is_gone_stops_and_what_was_saved_can_be_copied(
    path: Path, event: Callable[[Path], None]
) -> None:
    with LeagueState(path) as state:
        state.budget.cores = 1
        job = state.start_tournament(**LASTING)
        until(lambda: job.progress().played > 100)
        event(path)
        with pytest.raises(LeagueGone, match=GONE):
            job.wait(600)
        count = state.league.tournament(1).played
        copy = rescue(state.league.file)
    check_league(str(copy))
    assert played(copy) == count > 100
    if event is move:
        check_league(str(path.with_name("moved.league")))
        assert played(path.with_name("moved.league")) == count
    if event is replace:
        check_league(str(path))
        assert played(path) == 0
    assert copy.parent == (path.parents[1] / "home" if event is delete_folder else path.parent)
    side_files = [name for name in names(path.parent) if name.endswith(("-wal", "-shm", "-lock"))]
    assert side_files == [], "a log would be applied to the next file of that name"


def test_a_run_without_results_notices_it_too(path: Path) -> None:
    """Here because its only match is paused."""
    with LeagueState(path) as state:
        state.show_visuals = True
        job = state.start_tournament(**LASTING)
        until(lambda: job.run.live is not None)
        job.pause()
        until(lambda: job.progress().paused)
        path.unlink()
        with pytest.raises(LeagueGone, match=GONE):
            job.wait(600)


def test_a_copy_is_not_written_over_another_one(path: Path) -> None:
    with League(path) as league:
        path.unlink()
        found = [rescue(league.file).name for _ in range(3)]
    assert found == ["x.rescued.league", "x.rescued2.league", "x.rescued3.league"]


@pytest.mark.slow
@pytest.mark.parametrize("event", EVENTS[1:])
def test_the_command_line_saves_a_copy_and_says_where(path: Path, event: Callable[[Path], None]) -> None:
    options = ["--rounds", "30000", "--option", "points=3", "--workers", "1"]
    command = [sys.executable, "-m", "league_app", "tournament", "run", str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: played(path) > 50 or process.poll() is not None)
        event(path)
        _, error = process.communicate()
    assert process.returncode == 2
    assert GONE in error
    copy = Path(error.partition("Everything that was saved before is in ")[2].partition(": continue there")[0])
    assert played(copy) > 50
    with League(copy, read_only=True) as league:
        assert league.tournament(1).state is RunState.STOPPED


@pytest.mark.slow
def test_training_on_the_command_line_saves_a_copy_too(path: Path) -> None:
    command = [sys.executable, "-m", "league_app", "train", "neat", str(path), "--generations", "100000"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:

        def has_started() -> bool:
            with League(path, read_only=True) as league:
                return bool(league.file.read("SELECT 1 FROM metrics LIMIT 1")) or process.poll() is not None

        until(has_started)
        path.unlink()
        _, error = process.communicate()
    assert process.returncode == 2
    assert f"Everything that was saved before is in {path.with_name('x.rescued.league')}: continue there" in error


# Logs that a killed program left

KILLED = """
import os, signal, sys
from engine.league.storage.league import League
from engine.play.match import AgentSpec
league = League(sys.argv[1])
for n in range(20):
    league.add_agent(f"Old {n}", "pong", AgentSpec("x", "dice", b"", 1), notes="long" * 1000)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_new_league_has_nothing_of_a_deleted_one_whose_program_was_killed(path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.with_name("x.league-wal").stat().st_size > 0
    path.unlink()
    with League.new(path) as league:
        league.add_agent("New", "pong", AgentSpec("x", "dice", b"", 1))
    check_league(str(path))
    with League(path, read_only=True) as league:
        assert list(league.names()) == ["New"]


def test_a_new_league_does_not_take_the_place_of_one_that_is_still_open(path: Path) -> None:
    with League(path):
        path.unlink()
        with pytest.raises(LeagueHeld, match=r"a program still has .* open, which was deleted or moved: close"):
            League.new(path)
    League.new(path).close()
