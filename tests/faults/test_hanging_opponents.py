"""An opponent that never answers: training can be stopped, and the reason names the process and the agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents.training.events import Ended, Event, How
from agents.training.selfplay.config import PpoConfig
from engine.play.match import AgentSpec
from tests.agents.training.fake_context import FakeContext, last_state, stay_in_process
from tests.agents.training.selfplay.helpers import PLUGINS, python_policy
from tests.faults.league import within, worker_pids

QUICK: dict[str, Any] = {
    "updates": 3, "streams": 4, "steps": 2, "hidden": "8", "minibatch": 16, "epochs": 1, "seed": 3, "snapshots": 0,
    "self_share": 0.0, "bot_share": 0.0, "opponents": "Hal", "validate_pairs": 1, "validate_bots": "Lazy",
    "validate_every": 9, "checkpoint_every": 9,
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("agents.training.selfplay.collector.PATIENCE", 0.0)
    stay_in_process(monkeypatch)
    with within(240), python_policy():
        yield
    assert not worker_pids()


class StoppedContext(FakeContext):
    """The session is stopped once this file exists."""

    mark = Path()

    def attend(self) -> bool:
        return self.mark.exists()


def trained(kind: type[FakeContext], mark: Path, state: bytes | None = None, **settings: object) -> list[Event]:
    """Hal does not answer at step 3, in the second segment, if the file does not exist; then he makes it."""
    hal = AgentSpec("Hal", "python-policy", b"once " + str(mark).encode())
    context = kind(workers=2, state=state, agents=() if state else (hal,), plugins=PLUGINS)
    if isinstance(context, StoppedContext):
        context.mark = mark
    with closing(context):
        return list(PpoConfig(**{**QUICK, **settings}).train(context))


def test_stop_ends_a_process_whose_opponent_hangs(tmp_path: Path) -> None:
    events = trained(StoppedContext, tmp_path / "mark")
    assert isinstance(ended := events[-1], Ended)
    assert ended.how is How.STOPPED
    text = r"stopped after 1 update: (.*; )?rollout process [12] \(process \d+\) was ended; it was asking 'league Hal'"
    assert re.match(text, ended.reason), ended.reason


def test_a_stopped_segment_is_played_again_and_changes_no_bit(tmp_path: Path) -> None:
    stopped = trained(StoppedContext, tmp_path / "mark")
    assert (tmp_path / "mark").exists(), "so that Hal answers from now on"
    resumed = trained(FakeContext, tmp_path / "mark", last_state(stopped))
    assert last_state(resumed) == last_state(trained(FakeContext, tmp_path / "mark"))


def test_the_first_segment_can_be_stopped_too(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    stopped = trained(StoppedContext, mark, steps=8)
    assert isinstance(ended := stopped[-1], Ended)
    assert ended.reason.startswith("stopped after 0 updates: rollout process ")
    mark.unlink()
    again = trained(StoppedContext, mark, last_state(stopped), steps=8)
    assert last_state(again) == last_state(stopped)
    resumed = trained(FakeContext, mark, last_state(again), steps=8)
    assert last_state(resumed) == last_state(trained(FakeContext, mark, steps=8))


def test_stop_ends_an_asynchronous_worker_whose_opponent_hangs(tmp_path: Path) -> None:
    ended = trained(StoppedContext, tmp_path / "mark", mode="asynchronous")[-1]
    assert isinstance(ended, Ended)
    assert ended.how is How.STOPPED
    assert re.search(r": rollout 1 did not stop in time, so it was killed; it was playing batch \d+ for ", ended.reason)
    assert ended.reason.endswith("; it was asking 'league Hal'"), ended.reason
