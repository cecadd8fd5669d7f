"""Processes of training that end again and again are started again later each time, and given up in the end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from agents.training.independent.learner_records import ProcessRecord
from agents.training.selfplay.records import WorkerRecord

DELAYS = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]  # seconds, after the first to tenth end in a row


def ended(received: int = 0) -> Any:
    """The connection to a worker that has ended, after so many batches."""
    slots = SimpleNamespace(resets=0)
    return SimpleNamespace(ended="was killed", next_games=(3,), received=received, slots=slots)


def test_a_worker_without_a_batch_waits_twice_as_long_each_time() -> None:
    record = WorkerRecord(0, "worker 0", (0,))
    delays = []
    for _ in DELAYS:
        record.on_end(ended(), most=len(DELAYS) - 1, now=100.0)
        delays.append(round(record.restart_at - 100.0, 6))
    assert delays == DELAYS
    assert record.given_up, "after more ends in a row than restarts are allowed"
    assert (record.first, record.failure) == ((3,), "was killed")


def test_a_batch_makes_a_worker_start_again_soon() -> None:
    record = WorkerRecord(0, "worker 0", (0,))
    for received in (0, 0, 0, 1):
        record.on_end(ended(received), most=2, now=100.0)
        assert record.given_up == (record.in_a_row == 3)
    assert (record.in_a_row, record.restart_at) == (1, 100.0 + DELAYS[0])


def test_a_learner_without_progress_waits_twice_as_long_each_time() -> None:
    record = ProcessRecord(0, (), (0,))
    delays = []
    for _ in DELAYS:
        record.on_end("was killed", published=0, most=len(DELAYS) - 1, now=100.0)
        delays.append(round(record.restart_at - 100.0, 6))
    assert delays == DELAYS
    assert record.given_up


def test_only_updates_beyond_those_before_count_as_progress_of_a_learner() -> None:
    record = ProcessRecord(0, (), (0,))
    for published, in_a_row in ((0, 1), (0, 2), (7, 1), (7, 2), (5, 3), (8, 1)):
        record.on_end("was killed", published, most=5, now=100.0)
        assert (published, record.in_a_row) == (published, in_a_row)
    assert record.restart_at == 100.0 + DELAYS[0]
