"""Sessions of `ppo` in a league whose disk is full, or that is closed: nothing is lost, and no process is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from agents.training.selfplay.config import ASYNCHRONOUS, MODE_NAMES
from engine.league.records import RunState
from league_app.core.state import LeagueState
from league_app.core.training_job import TrainingJob
from tests.agents.training.session_helpers import PLUGINS, assert_gone
from tests.league_app.core.test_training_job import fill
from tests.league_app.core.test_training_manager import (  # noqa: F401 - fixtures
    EASY,
    Patch,
    league_path,
    league_state,
    trainers,
)
from tests.waiting import until

TINY: dict[str, Any] = {
    "updates": 3, "streams": 4, "steps": 8, "hidden": "4", "minibatch": 32, "epochs": 1, "checkpoint_every": 1,
    "validate_every": 1000, "validate_pairs": 1, "validate_bots": "Still", "seed": 4,
}  # fmt: skip
ENDLESS = {**TINY, "updates": 1_000_000}


def metrics(state: LeagueState, number: int) -> dict[str, list[tuple[int, float]]]:
    """Those that do not depend on how fast the machine is."""
    series = state.training.sessions.metrics(number)
    return {
        name: list(zip(values.steps.tolist(), values.values.tolist(), strict=True))
        for name, values in series.items()
        if not name.startswith(("speed/", "queue/"))
    }


@pytest.mark.parametrize("mode", MODE_NAMES)
def test_a_full_disk_at_a_checkpoint_is_waited_for(state: LeagueState, mode: str, monkeypatch: Patch) -> None:
    full = fill(monkeypatch, "add_checkpoint")
    job = state.training.start("ppo", {**TINY, "mode": mode}, game=EASY)
    until(lambda: job.trouble)
    assert job.trouble == "cannot write one.league: the disk is full. Training is paused until it can be saved"
    assert not state.training.sessions.checkpoints(1)
    full.clear()
    ended = job.wait()
    assert (ended.state, ended.note, job.trouble) == (RunState.FINISHED, "3 updates", "")
    assert [checkpoint.step for checkpoint in state.training.sessions.checkpoints(1)] == [1, 2, 3]
    assert [step for step, _ in metrics(state, 1)["loss/policy"]] == [1, 2, 3], "each of them once"
    if mode != ASYNCHRONOUS:
        assert state.training.start("ppo", {**TINY, "mode": mode}, game=EASY).wait().state is RunState.FINISHED
        assert metrics(state, 1) == metrics(state, 2)


@pytest.mark.parametrize("mode", MODE_NAMES)
def test_a_league_that_is_closed_stops_its_session_and_leaves_no_process(
    state: LeagueState, path: Path, mode: str, monkeypatch: Patch
) -> None:
    """As when the window is closed, but without its time limit."""
    monkeypatch.setattr(TrainingJob, "wait_until", lambda job, deadline: job.wait())
    job = state.training.start("ppo", {**ENDLESS, "mode": mode}, game=EASY)
    until(lambda: job.latest.get("loss/policy") is not None and state.training.sessions.checkpoints(1))
    trainer = psutil.Process(job._live.pid)
    family = [trainer.pid, *(process.pid for process in trainer.children(recursive=True))]
    assert mode != ASYNCHRONOUS or len(family) >= 3, "a server and its workers"
    state.close()
    assert_gone(*family)
    with LeagueState(path, plugins=PLUGINS) as again:
        last = again.training.sessions.checkpoints(1)[-1].step
        assert [step for step, _ in metrics(again, 1)["loss/policy"]] == list(range(1, last + 1)), "all is saved"
        resumed = again.training.resume(1, {"updates": last + 2})
        assert resumed.wait().state is RunState.FINISHED
        assert [step for step, _ in metrics(again, 1)["loss/policy"]] == list(range(1, last + 3))
