"""Asynchronous PPO: workers play while the network learns, with weights of bounded age."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from agents.training.events import Champion, Checkpoint, Event, How, Level, Log, Metrics, Workers
from agents.training.selfplay.asynchronous import AsynchronousCollector
from agents.training.selfplay.collector import Collected
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.link import Failure
from agents.training.selfplay.loss import Batch
from agents.training.selfplay.ppo import batch_of
from agents.training.selfplay.supervision import Supervisor
from engine.play.rollout import Trajectories
from tests.agents.training.fake_context import FakeContext, last_state, of, stay_in_process, trained
from tests.agents.training.selfplay.helpers import wait_for
from tests.faults.league import within

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
    assert all(state.pid for state in of(Workers, events)[-1].workers)
    assert {"starting", "playing"} <= {state.state for event in of(Workers, events) for state in event.workers}


def test_a_session_goes_on_without_a_worker_that_is_killed_and_the_log_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    monkeypatch.setattr("agents.training.selfplay.timing.EVERY", 0.0)
    events: list[Event] = []
    killed: int | None = None
    with within(300), closing(FakeContext(workers=3)) as context:
        for event in PpoConfig(**{**QUICK, "updates": 1_000_000, "validate_every": 1_000_000}).train(context):
            events.append(event)
            if not isinstance(event, Workers):
                continue
            worker = next(state for state in event.workers if state.name == "rollout 1")
            if killed is None and worker.done != "0 batches":  # it has matches to lose
                killed = worker.pid
                os.kill(killed, signal.SIGKILL)
            elif worker.restarts and worker.state == "playing":
                context.stop()
    assert events[-1].how is How.STOPPED
    warnings = [event.text for event in of(Log, events) if event.level is Level.WARNING]
    assert warnings[0].startswith("rollout 1 was killed by SIGKILL"), warnings
    assert warnings[0].endswith(". It is started again")
    assert any(text.startswith("lost with their workers: ") and text.endswith(", 3 matches") for text in warnings)
    assert {"queue/lost", "queue/refused"} <= {name for event in of(Metrics, events) for name, _ in event.values}


def test_refused_and_lost_batches_are_counted_by_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are published three times before each collection, and only those of the last update may play."""
    collect = AsynchronousCollector.collect

    def collect_late(self: AsynchronousCollector) -> Collected:
        wait_for(lambda: self._manager.get_status()["queue_info"]["experience_total"] == 2)
        for _ in range(2):
            self._run.learner.net.value.bias.data += 1.0
            self.publish()
        return collect(self)

    stay_in_process(monkeypatch)
    monkeypatch.setattr(AsynchronousCollector, "collect", collect_late)
    with within(300):
        events = trained(PpoConfig(**{**QUICK, "updates": 2, "max_staleness": 1}), workers=3)
    values = [dict(event.values) for event in of(Metrics, events) if "queue/refused" in dict(event.values)]
    assert [value["queue/lost"] for value in values] == [0.0, 0.0]
    assert all(value["queue/refused"] >= 2.0 for value in values), values


def test_batches_that_are_left_at_the_end_are_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    look_at_the_end(monkeypatch, lambda collector: wait_for(lambda: waiting_batches(collector) > 0))
    events = trained(PpoConfig(**{**QUICK, "updates": 2, "max_staleness": 1000}), workers=3)
    [text] = [event.text for event in of(Log, events) if "not learned from" in event.text]
    assert text.startswith("played, but not learned from, because training ended: ")
    assert text.endswith(" steps")


def test_streams_that_the_processes_cannot_share_equally_are_named_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    events = trained(PpoConfig(**{**QUICK, "updates": 1, "streams": 7}), workers=4)
    assert "3 processes play 2 streams each: 1 of 7 streams is not played" in [event.text for event in of(Log, events)]


def test_a_session_that_is_resumed_with_other_workers_keeps_no_snapshot_for_streams_that_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two workers have three streams each, four have one each. Streams 4 and 5 would never end a match."""
    seen: list[tuple[range, list[set[int]]]] = []

    def look(collector: AsynchronousCollector) -> None:
        seen.append((collector.streams, [retired.streams for retired in collector._run.pool.retired.values()]))

    stay_in_process(monkeypatch)
    look_at_the_end(monkeypatch, look)
    many = {**QUICK, "steps": 4, "snapshots": 1, "snapshot_every": 1}
    first = trained(PpoConfig(**{**many, "updates": 4}), workers=3)
    trained(PpoConfig(**{**many, "updates": 8}), workers=5, state=last_state(first))
    assert [streams for streams, _ in seen] == [range(6), range(4)]
    assert seen[0][1], "matches are longer than four updates"
    assert all(streams <= {0, 1, 2, 3} for streams in seen[1][1])


def test_a_stopped_session_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    first = trained(PpoConfig(**{**QUICK, "updates": 2}), workers=2)
    rest = trained(PpoConfig(**QUICK), workers=2, state=last_state(first))
    assert [event.step for event in of(Checkpoint, rest)] == [4, 6]


def waiting_batches(collector: AsynchronousCollector) -> int:
    """That workers have sent, and nothing has learned from."""
    found: int = collector._manager.get_status()["queue_info"]["experience_total"]
    return found


def look_at_the_end(monkeypatch: pytest.MonkeyPatch, look: Callable[[AsynchronousCollector], None]) -> None:
    """Call `look` while the workers still play."""
    close = AsynchronousCollector.close

    def look_and_close(collector: AsynchronousCollector) -> None:
        try:
            look(collector)
        finally:
            close(collector)

    monkeypatch.setattr(AsynchronousCollector, "close", look_and_close)


def test_a_batch_may_take_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is stopped, and two minutes are simulated."""
    ended = []

    def look(collector: AsynchronousCollector) -> None:
        link = collector._manager.communicator[0]
        assert link is not None
        assert link.child.pid is not None
        os.kill(link.child.pid, signal.SIGSTOP)
        while collector._manager.collect_experiences(0.0):
            pass
        assert link.busy
        link.heard -= 120.0
        collector._manager.collect_experiences(0.0)
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
    look_at_the_end(monkeypatch, lambda collector: known.append(set(collector._manager._agents)))
    events = trained(PpoConfig(**{**QUICK, "updates": 10, "snapshot_every": 1, "match_steps": 8}), workers=2)
    assert events[-1].how is How.FINISHED, events[-1].reason
    assert len([id for id in known[0] if id.startswith("snapshot")]) < 6, "of 10"


def test_batches_that_are_left_are_logged_although_a_worker_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(collector: AsynchronousCollector) -> None:
        manager = collector._manager
        wait_for(lambda: manager.get_status()["queue_info"]["experience_total"] == 2)
        for link in manager.communicator.links:
            link.failures.append(Failure("PolicyFailed", "'Eve' failed"))

    stay_in_process(monkeypatch)
    look_at_the_end(monkeypatch, look)
    with within(300):
        events = trained(PpoConfig(**{**QUICK, "updates": 2, "max_staleness": 1000}), workers=3)
    texts = [event.text for event in of(Log, events)]
    assert {"rollout 1: 'Eve' failed", "rollout 2: 'Eve' failed"} <= set(texts)
    assert any(text.startswith("played, but not learned from, because training ended: 2 batches") for text in texts)


def test_its_workers_reward_what_the_settings_name(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    seen: list[float] = []

    def rewards(played: Trajectories, *others: Any) -> Batch:
        seen.extend(np.unique(played.rewards).tolist())
        return batch_of(played, *others)

    monkeypatch.setattr("agents.training.selfplay.ppo.batch_of", rewards)
    trained(PpoConfig(**{**QUICK, "steps": 256, "rewards": "hits=0.25"}), workers=2)
    assert any(value % 1 for value in seen), "points are whole"
