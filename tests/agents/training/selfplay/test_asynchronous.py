"""Asynchronous PPO: workers play while the network learns, with weights of bounded age."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from agents.training.events import Champion, Checkpoint, How, Metrics, Workers
from agents.training.selfplay.asynchronous import AsynchronousCollector
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.supervision import Supervisor
from tests.agents.training.fake_context import last_state, of, stay_in_process, trained

QUICK: dict[str, Any] = {
    "mode": "asynchronous", "updates": 6, "streams": 6, "steps": 16, "hidden": "8", "minibatch": 64, "epochs": 2,
    "snapshot_every": 2, "snapshots": 2, "self_share": 0.3, "bot_share": 0.3, "bots": "Lazy", "max_staleness": 1,
    "validate_every": 3, "validate_pairs": 1, "validate_bots": "Lazy", "checkpoint_every": 4,
}  # fmt: skip


def test_weights_are_never_older_than_the_settings_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    monkeypatch.setattr("agents.training.selfplay.timing.EVERY", 0.0)
    events = trained(PpoConfig(**QUICK), workers=3)
    assert events[-1].how is How.FINISHED, events[-1].reason
    measured = [dict(event.values) for event in of(Metrics, events)]
    stale = [values["queue/staleness"] for values in measured if "queue/staleness" in values]
    assert len(stale) == 6
    assert all(0.0 <= value <= 1.0 for value in stale)
    assert of(Champion, events)
    assert {state.name for event in of(Workers, events) for state in event.workers} == {
        "learner", "rollout 1", "rollout 2",
    }  # fmt: skip
    assert all(state.pid for event in of(Workers, events) for state in event.workers)


def test_a_stopped_session_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    first = trained(PpoConfig(**{**QUICK, "updates": 2}), workers=2)
    rest = trained(PpoConfig(**QUICK), workers=2, state=last_state(first))
    assert [event.step for event in of(Checkpoint, rest)] == [4, 6]


def look_at_the_end(monkeypatch: pytest.MonkeyPatch, look: Callable[[AsynchronousCollector], None]) -> None:
    """Call `look` while the workers still play."""
    close = AsynchronousCollector.close

    def look_and_close(one: AsynchronousCollector) -> None:
        try:
            look(one)
        finally:
            close(one)

    monkeypatch.setattr(AsynchronousCollector, "close", look_and_close)


def test_a_batch_may_take_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is stopped, and two minutes are simulated."""
    ended = []

    def look(one: AsynchronousCollector) -> None:
        link = one._manager.communicator[0]
        assert link is not None
        assert link.child.pid is not None
        os.kill(link.child.pid, signal.SIGSTOP)
        while one._manager.collect_experiences(0.0):
            pass
        assert link.busy
        link.heard -= 120.0
        one._manager.collect_experiences(0.0)
        ended.append(link.ended)
        if not link.ended:
            os.kill(link.child.pid, signal.SIGCONT)

    stay_in_process(monkeypatch)
    look_at_the_end(monkeypatch, look)
    trained(PpoConfig(**{**QUICK, "updates": 2}), workers=2)
    assert ended == [""]


def test_learning_never_waits_until_a_worker_has_finished_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait_for(*_: object) -> None:
        pytest.fail("it waits for a worker's answer")

    stay_in_process(monkeypatch)
    monkeypatch.setattr(Supervisor, "wait_for", wait_for)
    events = trained(PpoConfig(**QUICK), workers=2)
    assert events[-1].how is How.FINISHED, events[-1].reason


def test_snapshots_that_have_left_the_pool_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matches end in every batch, so a retired snapshot leaves the pool soon."""
    known: list[set[str]] = []
    stay_in_process(monkeypatch)
    monkeypatch.setattr("agents.training.selfplay.asynchronous.SPARE", 0)
    look_at_the_end(monkeypatch, lambda one: known.append(set(one._manager._agents)))
    events = trained(PpoConfig(**{**QUICK, "updates": 10, "snapshot_every": 1, "match_steps": 8}), workers=2)
    assert events[-1].how is How.FINISHED, events[-1].reason
    assert len([id for id in known[0] if id.startswith("snapshot")]) < 6, "of 10"
