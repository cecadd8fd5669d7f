"""Status and trace of a run agree with what happened."""

from __future__ import annotations

import os

import psutil

from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.match import MatchSpec
from engine.registry import KINDS, new_game
from engine.telemetry import RunView, Trace

GAME = new_game("pong", points=3)
TOTAL = 20_000  # takes a second or two


def matches(count: int) -> list[MatchSpec]:
    bots = list(KINDS.get("pong-bot").samples(GAME))
    return [MatchSpec(f"m{n}", GAME.spec, (bots[n % 6], bots[(n + 1) % 6]), n) for n in range(count)]


def test_the_status_of_a_run_adds_up() -> None:
    with ConcurrentMatchExecutor(2, lanes=32) as executor:
        stream = executor.run(matches(TOTAL))
        results = [next(stream) for _ in range(300)]
        status = executor.status()
        results += [next(stream) for _ in range(4000)]
        later = executor.status()
        results += stream
        final = executor.status()
    assert status.run.total == TOTAL
    assert 300 <= status.run.done < later.run.done < TOTAL
    assert status.run.done + status.run.playing + status.run.waiting <= TOTAL
    assert later.rate > 0
    assert later.seconds_left == (TOTAL - later.run.done) / later.rate
    assert final.run == RunView(total=TOTAL, done=TOTAL)
    assert sum(worker.done for worker in final.workers) == TOTAL
    assert {worker.state for worker in status.workers} <= {"playing", "starting", "idle"}
    assert {worker.state for worker in final.workers} == {"idle"}
    for busy in (worker for worker in (*status.workers, *later.workers) if worker.state == "playing"):
        assert " - " in busy.playing
    assert {worker.restarts for worker in final.workers} == {0}


def test_the_memory_of_a_worker_is_that_of_its_process() -> None:
    with ConcurrentMatchExecutor(1) as executor:
        executor.execute_matches(matches(50))
        worker = executor.status().workers[0]
        process = psutil.Process(worker.pid)
        assert worker.memory == process.memory_info().rss
        assert process.ppid() != os.getpid(), "forked from a warm server, not from this program"
        machine = executor.status().machine
    assert len(machine.cpu) == psutil.cpu_count()
    assert 0 < machine.memory < machine.memory_total == psutil.virtual_memory().total


def test_the_trace_lists_events_in_order() -> None:
    with ConcurrentMatchExecutor(1) as executor:
        executor.execute_matches(matches(100))
        count, events = executor.events()
        executor.execute_matches(matches(100))
        later, new = executor.events(count)
    assert [event.what for event in events if event.worker == 0][:2] == ["start", "play"]
    assert sum(int(event.detail) for event in events if event.what == "results") == 100
    assert sum(int(event.detail) for event in events if event.what == "play") == 100
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert later - count == len(new)
    assert "start" not in {event.what for event in new}, "the worker is reused"


def test_a_trace_keeps_the_last_events_only() -> None:
    trace = Trace(capacity=3)
    for n in range(5):
        trace.add(0, "play", str(n))
    assert (trace.count, [event.detail for event in trace.since(0)]) == (5, ["2", "3", "4"])
    assert [event.detail for event in trace.since(4)] == ["4"]
    assert trace.since(5) == []
