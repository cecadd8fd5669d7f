"""`ringside train hybrid`: a search that is stopped by Ctrl-C, resumed, and shown as a population."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.league.storage.league import League
from engine.league.storage.sessions import SessionStore
from league_app.cli import output
from league_app.cli.main import main
from tests.agents.training.session_helpers import runs
from tests.faults.league import within
from tests.league_app.cli.commands import Capture, run_json, run_rejected, run_text, start_process
from tests.league_app.cli.test_training import deterministic_metrics
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("only_ours")
SMALL = [
    "--from-league", "Tracker", "--bots", "Still,Lazy", "--examples", "400", "--matches", "30", "--seed", "5",
    "--population-size", "4", "--search-patience", "0", "--epochs", "2", "--max-width", "16",
    "--validate-bots", "Still", "--validate-pairs", "1", "--name", "Pupil", "-o", "points=1", "-o", "step_limit=200",
]  # fmt: skip


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    with within(600):
        yield


@pytest.fixture
def league(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> str:
    """A league with matches to learn from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(output.console, "width", 200)
    main(["new", "my.league", "--game", "pong"])
    options = ["-o", "points=1", "-o", "step_limit=200", "--agents", "Still", "Lazy", "Tracker"]
    main(["tournament", "run", "my.league", "--rounds", "2", *options])
    capsys.readouterr()
    return "my.league"


def generations(path: str) -> int:
    """Complete ones of the first session."""
    with League(path, read_only=True) as league:
        sessions = SessionStore(league)
        series = sessions.metrics(1).get("fitness/best") if sessions.all() else None
        return 0 if series is None else len(series.steps)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_search_that_is_stopped_and_resumed_ends_as_one_that_was_not(league: str, capsys: Capture) -> None:
    arguments = ["train", "hybrid", league, *SMALL, "--max-generations", "500"]
    with start_process("-m", "league_app", *arguments) as process:
        until(lambda: generations(league) >= 2 or process.poll() is not None)
        children = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert "`ringside train resume my.league 1` resumes from generation" in errors
    assert "Traceback" not in errors
    until(lambda: not any(map(runs, children)))
    reached = generations(league)

    stopped = run_json(capsys, "train", "population", league)
    assert stopped["generation"] == reached
    done = run_json(capsys, "train", "resume", league, "--set", f"max_generations={reached + 1}")
    assert (done["session"]["state"], done["session"]["note"]) == ("finished", f"{reached + 1} generations")
    found = run_json(capsys, "train", "population", league, "--all")
    assert (found["session"]["name"], found["generation"]) == ("Pupil", reached + 1)
    assert [column["title"] for column in found["columns"]][:2] == ["Layers", "Parameters"]
    known = {one["number"]: one["fitness"] for one in found["individuals"]}
    assert known.items() >= {one["number"]: one["fitness"] for one in stopped["individuals"] if one["fitness"]}.items()
    text = run_text(capsys, "train", "population", league)
    assert text.startswith(f"1: Pupil, generation {reached + 1}, {len(known)} individuals")

    again = run_json(capsys, *arguments[:-1], str(reached + 1), "--name", "Again")
    assert deterministic_metrics(again) == deterministic_metrics(done)


def test_settings_of_a_search_are_refused_by_name(league: str, capsys: Capture) -> None:
    for wrong, named in (
        (["--population-size", "1"], "population"),
        (["--devices", "toaster"], "toaster"),
        (["--mode", "stacked"], "sequential"),
        (["--from-league", "Trakcer"], "did you mean 'Tracker'"),
        (["--teacher", "Nobody"], "Nobody"),
        (["--from", "Tracker"], "--from"),
    ):
        assert named in run_rejected(capsys, "train", "hybrid", league, *SMALL, *wrong)
    assert run_json(capsys, "train", "list", league) == []
