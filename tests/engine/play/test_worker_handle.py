"""What is sent to a worker: each payload once, by content, with a limit on what the worker keeps."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import Future

import numpy as np
import pytest

from engine.play import lane_log
from engine.play.executors import SequentialMatchExecutor
from engine.play.failures import InterruptedMatch
from engine.play.heartbeat import PilotCall
from engine.play.match import AgentSpec, Ending, EndingKind, Limits, MatchSpec
from engine.play.replay import verified
from engine.play.workers import handle
from engine.play.workers.entry import WorkerSettings
from engine.play.workers.handle import Job, WireIds, WorkerHandle, WorkerLimits
from engine.processes import launcher
from engine.registry import new_game

GAME = new_game("pong")


class Recorder:
    """A fake channel that records messages."""

    def __init__(self) -> None:
        self.sent: list[tuple[list[object], bytes]] = []

    def put(self, fields: list[object], body: bytes = b"", now: bool = True) -> None:
        self.sent.append((fields, body))

    def count(self, name: str) -> int:
        return sum(fields[0] == name for fields, _ in self.sent)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerHandle]:
    """A handle without a process."""

    def start(run: str, arguments: object, setup: object, end: socket.socket, output: socket.socket) -> Future[object]:
        end.close()
        output.close()
        return Future()

    monkeypatch.setattr(launcher, "start", start)
    settings = WorkerSettings(lanes=4, record=True, batch=10, memory=None)
    worker = WorkerHandle(0, settings, handle.memory_for(settings))
    worker.channel = Recorder()
    yield worker
    worker.release()


def jobs(payloads: list[bytes]) -> list[Job]:
    players = [AgentSpec(f"a{n}", "dice", payload) for n, payload in enumerate(payloads)]
    return [Job(n, MatchSpec(f"m{n}", GAME.spec, (player, players[0]), n)) for n, player in enumerate(players)]


def test_a_worker_reports_its_state(worker: WorkerHandle) -> None:
    assert worker.view().state == "starting"
    worker.restarts = 1
    assert worker.view().state == "restarting"
    worker.ready = True
    assert worker.view().state == "idle"
    worker.play(jobs([b"x", b"y", b"z"]), WireIds())
    assert (worker.view().state, worker.view().playing) == ("playing", "a0 - a0 and 2 more")
    worker.retiring = True
    assert worker.view().state == "retiring"


def test_a_process_that_is_not_ready_in_time_is_late(worker: WorkerHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time counts from its start; until then a fork server may have to import and compile first."""
    begun = worker._begun
    assert not worker.late_start(begun + 299.0, 30.0)
    late = "its process was not started within 300 s: the import of Ringside and torch may hang"
    worker.libraries = ("torch",)
    assert worker.late_start(begun + 301.0, 30.0) == late
    monkeypatch.setattr(WorkerHandle, "pid", 7)
    assert not worker.late_start(begun + 301.0, 30.0), "it has just started"
    assert not worker.late_start(begun + 330.0, 30.0)
    assert worker.late_start(begun + 332.0, 30.0) == "its process was not ready 30 s after its start"
    worker.ready = True
    assert not worker.late_start(begun + 332.0, 30.0)


def test_the_import_of_a_kind_may_take_three_times_as_long_as_a_call(worker: WorkerHandle) -> None:
    worker.ready = True
    worker.play(jobs([b""]), WireIds())
    numbers, lanes = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    for call, seconds in ((PilotCall.LOAD, 10.0), (PilotCall.IMPORT, 30.0)):
        worker.heartbeat.begin_call(call, numbers, lanes)
        assert worker.overdue(100.0, WorkerLimits()) is None, "it has just begun"
        assert worker.overdue(100.0 + seconds - 0.1, WorkerLimits()) is None
        found = worker.overdue(100.0 + seconds + 0.1, WorkerLimits())
        assert found is not None
        assert (found.call, found.time_limit) == (call, seconds)
        worker.heartbeat.end_call()


def test_a_call_that_fills_the_memory_is_not_overdue_before_it_reaches_the_limit(
    worker: WorkerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its match would end as a timeout on a busy machine, and as out of memory on another."""
    limits, taken = WorkerLimits(), 1 << 20
    monkeypatch.setattr(handle, "resident_memory", lambda pid: taken)
    monkeypatch.setattr(WorkerHandle, "pid", 7)
    worker.ready = True
    worker.play(jobs([b""]), WireIds())

    def overdue(now: float) -> bool:
        assert limits.memory is not None
        found = worker.overdue(now, limits)
        assert not worker.memory_excess(limits.memory)
        return found is not None

    worker.heartbeat.begin_call(PilotCall.ACT, np.zeros(1, np.uint32), np.zeros(1, np.uint32))
    assert not overdue(100.0)
    taken += 500 << 20
    assert not overdue(105.0)
    assert not overdue(111.0), "it has taken 500 MB"
    taken += 200 << 20
    assert not overdue(120.0)
    assert not overdue(122.0), "and 200 MB"
    taken += 100 << 20
    assert not overdue(131.0)
    assert overdue(133.0), "100 MB in a call are not much"
    worker.heartbeat.begin_call(PilotCall.ACT, np.zeros(1, np.uint32), np.zeros(1, np.uint32))
    assert not overdue(134.0)
    assert not overdue(143.0)
    assert overdue(144.1), "what earlier calls have taken does not count"


def test_a_payload_is_sent_once_for_all_agents_that_have_it(worker: WorkerHandle) -> None:
    wire_ids = WireIds()
    for _ in range(3):
        worker.play(jobs([b"x" * 1000, b"y", b"x" * 1000]), wire_ids)
    assert worker.channel.count("payload") == 2, "by content"
    assert worker.channel.count("agent") == 3
    assert worker.channel.count("game") == 1
    worker.new_run()
    worker.play(jobs([b"x" * 1000]), WireIds())
    assert worker.channel.count("payload") == 2, "it is kept for the next run"
    assert worker.channel.count("agent") == 4


def test_the_least_recently_used_payloads_are_dropped_first(
    worker: WorkerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "PAYLOAD_BYTES", 2500)
    worker.play(jobs([bytes([n]) * 1000 for n in range(4)]), WireIds())
    worker.new_run()
    worker.play(jobs([bytes([3]) * 1000, bytes([0]) * 1000]), WireIds())
    assert worker.channel.count("forget") == 1
    forgotten = next(fields[1] for fields, _ in worker.channel.sent if fields[0] == "forget")
    assert len(forgotten) == 2
    assert worker.channel.count("payload") == 5, "the third was kept, the first had to be sent again"


def test_equal_agents_get_the_same_number(worker: WorkerHandle) -> None:
    """And they are not kept: a long run would fill the memory with equal ones."""
    wire_ids = WireIds()
    numbers = {wire_ids.number(AgentSpec("a", "dice", b"x" * 1000)) for _ in range(100)}
    numbers |= {wire_ids.number(new_game("pong").spec) for _ in range(100)}
    assert len(numbers) == 2
    assert len(wire_ids._by_identity) == 2


def test_a_result_that_is_too_large_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = AgentSpec("Dice", "dice")
    with SequentialMatchExecutor(1) as executor:
        result = executor.execute_match(MatchSpec("m", GAME.spec, (dice, dice), 1, None, Limits(100)))
        monkeypatch.setattr(lane_log, "RESULT_CAP", 40)
        capped = executor.execute_match(MatchSpec("m", GAME.spec, (dice, dice), 1, None, Limits(100)))
    assert result.ending.kind is EndingKind.STEP_LIMIT
    assert (capped.ending.kind, capped.actions, capped.scores) == (EndingKind.VOID, b"", result.scores)
    assert "its actions take" in capped.ending.reason


def test_the_result_of_an_interrupted_match_can_be_replayed() -> None:
    """A match interrupted at step 30 has 30 steps; if its log is corrupt, nothing is known of it."""
    dice = AgentSpec("Dice", "dice")
    spec = MatchSpec("m", GAME.spec, (dice, dice), 1, None, Limits(30))
    with SequentialMatchExecutor(1) as executor:
        whole = executor.execute_match(spec)
    free = MatchSpec("m", GAME.spec, (dice, dice), 1)
    cut = InterruptedMatch(free, Ending(EndingKind.CRASH, (1,), "it died"), 30, whole.actions).to_result()
    assert (cut.steps, cut.scores, cut.stats, cut.ranks) == (30, whole.scores, whole.stats, (1, 2))
    assert verified(free, cut).steps == 30
    nonsense = InterruptedMatch(free, Ending(EndingKind.CRASH, (0,), "it died"), 30, b"\xff" * 100).to_result()
    assert (nonsense.steps, nonsense.ranks, nonsense.ending.seats) == (0, (2, 1), (0,))
