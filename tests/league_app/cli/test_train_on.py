"""`ringside train --on NAME`: the executor that plays the matches of a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import UnknownName
from league_app.core.state import LeagueState
from tests.agents.training.session_helpers import PLUGINS, registered_trainers
from tests.faults.league import within
from tests.league_app.cli.commands import Capture, run_json, run_rejected

SMALL = ["--population", "12", "--steps", "200", "--validate-pairs", "1", "--checkpoint-every", "1", "--workers", "2"]
GAME = ["-o", "points=1", "-o", "step_limit=200"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with within(150):
        yield


@pytest.fixture
def trainers() -> Iterator[None]:
    with registered_trainers():
        yield


def train(capsys: Capture, on: str, resumed_on: str) -> Any:
    """A session in a league of its own, begun on one executor and resumed on another."""
    path = f"{on} {resumed_on}.league"
    with LeagueState.new(path) as state:
        state.add_samples("pong", ("Lazy", "Tracker"))
    run_json(capsys, "train", "neat", path, "--generations", "1", "--seed", "3", "--on", on, *SMALL, *GAME)
    resumed = ["train", "resume", path, "1", "--set", "generations=2", "--workers", "2", "--on", resumed_on]
    answer = run_json(capsys, *resumed)
    assert answer["session"]["note"] == "2 generations"
    with LeagueState(path, read_only=True) as state:
        assert state.executor == "local", "the league keeps its own choice"
        saved = state.training.sessions.state(1)
    curves = {name: series["values"] for name, series in answer["metrics"].items() if not name.startswith("speed/")}
    return curves, saved


def test_a_session_is_the_same_to_the_bit_on_every_executor(capsys: Capture) -> None:
    assert train(capsys, "local", "sequential") == train(capsys, "sequential", "local")


@pytest.mark.parametrize("command", [["neat"], ["neat", "missing.league"], ["resume", "missing.league"]])
def test_an_unknown_executor_is_refused_before_anything_is_created(command: list[str], capsys: Capture) -> None:
    text = run_rejected(capsys, "train", *command, "--on", "locla")
    assert "unknown executor 'locla': did you mean 'local'" in text
    assert list(Path().iterdir()) == []


@pytest.mark.usefixtures("trainers")
def test_training_plays_on_the_executor_of_the_league() -> None:
    with LeagueState.new("my.league", plugins=PLUGINS) as state:
        state.add_samples("pong", ("Lazy", "Tracker"))
        job = state.training.start("counting", {"does": "where", "steps": 3})
        job.wait()
        state.executor = "sequential"
        other = state.training.start("counting", {"does": "where", "steps": 3})
        other.wait()
        resumed = state.training.resume(1, {"steps": 6, "at": 5})
        resumed.wait()
        found = [[log.text for log in started.logs if log.text.startswith("on ")] for started in (job, other, resumed)]
    assert found == [["on local"], ["on sequential"], ["on sequential"]]


@pytest.mark.usefixtures("trainers")
def test_no_session_is_saved_if_the_executor_of_the_league_is_missing() -> None:
    with LeagueState.new("my.league", plugins=PLUGINS) as state:
        state.league.save_setting("play", {"executor": "cluster"})
    with LeagueState("my.league", plugins=PLUGINS) as state:
        with pytest.raises(UnknownName, match="unknown executor 'cluster'"):
            state.training.start("counting", {}, game="pong")
        assert state.training.sessions.all() == []
