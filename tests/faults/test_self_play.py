"""Faults in experience collection: killed processes, damaged weights, hanging and dying workers."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import psutil
import pytest

from agents.nets.architecture import Architecture
from agents.training.selfplay.communicator import ControlRefused
from agents.training.selfplay.manager import ParallelManager
from agents.training.selfplay.slots import Activity
from agents.training.selfplay.supervision import CollectionFailed
from engine.play.match import AgentSpec
from engine.processes.channel import frame
from tests.agents.training.selfplay.helpers import (  # noqa: F401 - a fixture
    PLAN,
    PLUGINS,
    PONG,
    SMALL,
    check_equal,
    collect,
    collect_until,
    new_manager,
    nothing_is_left,
    of,
    rollout_here,
    wait_for,
)

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def pid_of(manager: ParallelManager, worker: int) -> int:
    link = manager.communicator[worker]
    assert link is not None
    wait_for(lambda: link.child.pid is not None)
    assert link.child.pid is not None
    return link.child.pid


def kill(manager: ParallelManager, worker: int) -> None:
    os.kill(pid_of(manager, worker), signal.SIGKILL)


def check_continues(manager: ParallelManager, worker: int) -> None:
    """It plays again, with the current weights."""
    batches = collect(manager, 3, worker)
    status = manager.get_status()
    assert of(batches, worker)[-1].version == manager.synchronizer.version
    assert (status["workers"][worker]["restarts"], status["restarts"]) == (1, 1)


def test_a_worker_that_is_killed_in_mid_game_is_started_again(tmp_path: Path) -> None:
    """It is killed when the first game ends, in the middle of a batch."""
    settings = {"marker": str(tmp_path / "killed")}
    more = {"plan": "tests.plugins.self_play:killed_once", "settings": settings, "plugins": PLUGINS}
    with new_manager(num_workers=1, more=more) as manager:
        manager.start_workers()
        batches = collect_until(
            manager,
            lambda found: manager.get_status()["restarts"] == 1 and bool(found and found[-1].trajectories.results),
        )
        status = manager.get_status()
        assert status["restarts"] == 1
        assert status["lost"] == {"batches": 1, "games": 4}
        failure = status["workers"][0]["last_failure"]
    assert failure.startswith("was killed by SIGKILL")
    numbers = [batch.number for batch in batches]
    again = numbers.index(1, 1)
    assert numbers == [*range(1, again + 1), *range(1, len(numbers) - again + 1)], "none is missing"
    assert f"it was playing batch {again + 1}" in failure


def test_a_worker_that_is_killed_while_it_is_paused_is_still_paused() -> None:
    with new_manager() as manager:
        manager.start_workers()
        collect_until(manager, lambda found: {batch.worker for batch in found} == {0, 1})
        manager.pause_workers([0])
        collect(manager, 1, worker=1)
        kill(manager, 0)
        wait_for(lambda: manager.get_status()["restarts"] == 1)
        manager.model.value.bias.data += 1.0
        manager.sync_model_to_workers()
        others = collect(manager, 20, worker=1)
        assert not of(others, 0)
        assert manager.get_status()["workers"][0]["state"] == "paused"
        assert manager.get_status()["lost"] == {"batches": 0, "games": 4}
        manager.resume_workers([0])
        check_continues(manager, 0)


def test_a_worker_that_is_killed_while_it_sends_loses_only_that_batch() -> None:
    """Every step ends a game, so the message does not fit into the socket, and nothing reads it."""
    with new_manager(num_workers=1, boards=64, experience_batch_size=4096, max_game_length=1, queue_size=2) as manager:
        manager.start_workers()
        link = manager.communicator[0]
        assert link is not None
        wait_for(lambda: (link.receive(), link.ready and not link.pending)[1])
        wait_for(lambda: link.slots.batch > link.received and link.slots.activity is Activity.WAITING)
        kill(manager, 0)
        wait_for(lambda: link.child.has_ended)
        collect(manager, 2)
        status = manager.get_status()
    assert status["restarts"] == 1
    assert status["lost"]["batches"] == 1
    assert status["lost"]["games"] == 64


def test_batches_that_wait_survive_their_worker() -> None:
    with new_manager(num_workers=1, queue_size=3) as manager:
        manager.start_workers()
        wait_for(lambda: manager.get_status()["queue_info"]["experience"] == [3])
        kill(manager, 0)
        wait_for(lambda: manager.get_status()["workers"][0]["state"] == "restarting")
        batches = manager.collect_experiences()
        assert [batch.number for batch in batches] == [1, 2, 3]
        assert manager.get_status()["lost"] == {"batches": 0, "games": 4}
        check_continues(manager, 0)
    with rollout_here(manager, range(4)) as rollout:
        for batch in batches:
            check_equal(batch.trajectories, rollout.collect(8))


def test_a_call_sleeps_while_the_batches_of_an_ended_worker_fill_its_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not started again before they are collected, so there is nothing to do at once."""
    waits: list[float] = []
    with new_manager(num_workers=1, queue_size=3) as manager:
        manager.start_workers()
        wait_for(lambda: manager.get_status()["queue_info"]["experience"] == [3])
        kill(manager, 0)
        wait_for(lambda: manager.get_status()["workers"][0]["state"] == "restarting")
        manager._records[0].restart_at = 0.0  # long ago
        monkeypatch.setattr(manager.communicator, "poll", lambda seconds: waits.append(seconds) or [])
        manager._supervisor.pump(0.5)
        assert waits == [0.5]
        monkeypatch.undo()
        manager.collect_experiences()
        check_continues(manager, 0)


def test_damaged_weights_are_refused_whole_and_the_old_ones_stay() -> None:
    with new_manager() as manager:
        manager.start_workers()
        before = collect(manager, 1)
        version, size, digest, compressed = manager.synchronizer.message()[0]
        damaged = bytearray(manager.synchronizer.message()[1])
        damaged[len(damaged) // 2] ^= 1
        sent = manager.communicator.send("weights", [1], [version + 1, size, digest, compressed], bytes(damaged))
        text = (
            "worker 1 refused 'weights', and still plays model version 1: model version 2: the checksum does not match"
        )
        with pytest.raises(ControlRefused, match=text):
            manager._supervisor.wait_for(sent)
        batches = before + collect(manager, 10, worker=1)
        assert {batch.version for batch in batches} == {1}
        manager.model.value.bias.data += 1.0
        assert manager.sync_model_to_workers() == 2, "the next ones are accepted"
        assert manager.get_status()["restarts"] == 0
    with rollout_here(manager, range(4, 8)) as rollout:  # the bias of the value changes no action
        for batch in of(batches, 1):
            assert (batch.trajectories.actions == rollout.collect(8).actions).all()


def test_a_refusal_is_not_raised_after_the_workers_were_started_again() -> None:
    with new_manager(num_workers=1) as manager:
        manager.start_workers()
        collect(manager, 1)
        manager.communicator.send("weights", [0], [2, 1, 1, False], b"?")
        wait_for(lambda: bool(manager.get_status() and manager._supervisor._refused))
        manager.stop_workers()
        manager.start_workers()
        assert collect(manager, 1)


def test_weights_of_another_network_are_refused_by_the_worker() -> None:
    other = ParallelManager(PONG, {"architecture": Architecture("mlp", (9,))}, SMALL).learner().payload
    with new_manager(num_workers=1) as manager:
        manager.start_workers()
        header = [2, len(other), zlib.crc32(other), False]
        sent = manager.communicator.send("weights", [0], header, other)
        with pytest.raises(ControlRefused, match=r"worker 0 refused 'weights', .* model version 2: architecture = "):
            manager._supervisor.wait_for(sent)
        assert collect(manager, 3)[-1].version == 1


def test_a_worker_that_hangs_is_ended_with_what_it_was_doing() -> None:
    """The opponent hangs at its fourth step, in the second batch, which begins within the limit."""
    settings, agents = {"opponent": "it"}, [AgentSpec("it", "python-policy", b"hang")]
    more = {**PLAN, "settings": settings, "agents": agents}
    with new_manager(num_workers=1, boards=2, experience_batch_size=4, timeout=5.0, more=more) as manager:
        manager.start_workers()
        collect_until(manager, lambda _: manager.get_status()["restarts"] > 0)
        failure = manager.get_status()["workers"][0]["last_failure"]
        assert failure.startswith("sent no batch within 5 s, so it was ended; it was playing batch 2 for ")


def test_a_wait_without_a_batch_names_the_workers_and_what_they_are_doing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Worker 1 is paused, and the opponent in worker 0 hangs in its second batch."""
    settings, agents = {"opponent": "it"}, [AgentSpec("it", "python-policy", b"hang")]
    more = {**PLAN, "settings": settings, "agents": agents}
    with new_manager(boards=2, experience_batch_size=4, more=more) as manager:
        manager.start_workers()
        manager.pause_workers([1])
        collect(manager, 1, worker=0)
        wait_for(lambda: manager.communicator[0].slots.batch == 2)
        while manager.collect_experiences(timeout=0.0):
            pass
        monkeypatch.setattr("agents.training.selfplay.manager.LONG_WAIT", 0.01)
        with caplog.at_level(logging.WARNING, "agents.training.selfplay"):
            assert not manager.collect_experiences(timeout=0.0)
            assert not caplog.records, "a loop that does not wait needs no warning"
            assert not manager.collect_experiences(timeout=0.01)
        [text] = [record.getMessage() for record in caplog.records]
        words = r"no batch within 0\.01 s\. worker 0: it was playing batch 2 for .* s; it was asking 'it'\. "
        assert re.fullmatch(words + r"worker 1: it was paused for .* s", text), text
        kill(manager, 0)


def test_a_worker_that_does_not_answer_is_named_with_the_message() -> None:
    settings, agents = {"opponent": "it"}, [AgentSpec("it", "python-policy", b"hang")]
    more = {**PLAN, "settings": settings, "agents": agents}
    with new_manager(num_workers=1, boards=2, experience_batch_size=4, timeout=1.0, more=more) as manager:
        manager.start_workers()
        link = manager.communicator[0]
        assert link is not None
        wait_for(lambda: link.slots.batch == 2)
        while not link.received:
            link.receive()
        manager.pause_workers()
        failure = manager.get_status()["workers"][0]["last_failure"]
        assert failure.startswith("sent no answer to 'pause' within 1 s, so it was ended; it was playing batch 2 for ")
        manager.stop_workers()


def test_workers_that_always_end_are_given_up() -> None:
    more = {"plan": "tests.plugins.self_play:exits", "plugins": PLUGINS}
    with new_manager(max_restarts=1, more=more) as manager:
        manager.start_workers()
        with pytest.raises(
            CollectionFailed, match=r"each ended 2 times in a row .* exited with status 3; it was starting"
        ):
            collect(manager, 1)
        status = manager.get_status()
        assert (status["active_workers"], status["restarts"]) == (0, 2)
        assert {worker["state"] for worker in status["workers"]} == {"given up"}


@pytest.mark.parametrize("message", [["batch", 1, 1, [0], 0, 10], ["nonsense"], ["batch", 1, 1, [0, 0, 0, 0], 9, 1]])
def test_a_worker_that_sends_something_invalid_is_ended(message: list[object]) -> None:
    with new_manager(num_workers=1) as manager:
        manager.start_workers()
        link = manager.communicator[0]
        assert link is not None
        wait_for(lambda: (link.receive(), link.ready)[1])
        link.child.channel._in += frame(message)  # as if it had sent it
        batches = collect_until(manager, lambda found: manager.get_status()["restarts"] > 0)
        assert "so it was ended" in manager.get_status()["workers"][0]["last_failure"]
        assert batches or collect(manager, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_shared_memory_has_no_name_that_could_be_left() -> None:
    """It is freed by the system when the last process that has it ends, however it ends."""
    with new_manager(num_workers=1) as manager:
        manager.start_workers()
        collect(manager, 1)
        for pid in (os.getpid(), pid_of(manager, 0)):
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
            shared = [line for line in lines if "/pym-" in line]
            assert shared
            assert all(line.endswith("(deleted)") for line in shared)


PARENT = """
from tests.agents.training.selfplay.helpers import new_manager
manager = new_manager()
manager.start_workers()
manager.collect_experiences()
if {paused}:
    manager.pause_workers()
print("playing", flush=True)
while True:
    manager.collect_experiences(timeout=1.0)
"""


@pytest.mark.parametrize("paused", [False, True])
def test_nothing_outlives_a_parent_that_is_killed(paused: bool) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PARENT.format(paused=paused)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, start_new_session=True) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == "playing\n"
            family = psutil.Process(parent.pid).children(recursive=True)
            assert len(family) >= 3, "the server and its workers"
        finally:
            parent.kill()
        assert not psutil.wait_procs(family, timeout=120)[1], "processes are left"


def test_a_worker_that_is_killed_while_it_should_stop_is_reported_as_such(caplog: pytest.LogCaptureFixture) -> None:
    with new_manager(num_workers=1) as manager:
        manager.start_workers()
        collect(manager, 1)
        manager.pause_workers()
        kill(manager, 0)
        with caplog.at_level(logging.WARNING, "agents.training.selfplay"):
            manager.stop_workers()
    [text] = [record.getMessage() for record in caplog.records]
    assert text.startswith("worker 0 was killed by SIGKILL"), text


def test_a_worker_that_does_not_stop_is_killed(caplog: pytest.LogCaptureFixture) -> None:
    with new_manager(num_workers=1) as manager:
        manager.start_workers()
        manager.pause_workers()
        os.kill(pid_of(manager, 0), signal.SIGSTOP)
        manager.communicator._timeout = 0.5  # not before: a healthy worker may need longer to pause
        with caplog.at_level(logging.WARNING, "agents.training.selfplay"):
            manager.stop_workers()
    [text] = [record.getMessage() for record in caplog.records]
    assert text.startswith("worker 0 did not stop in time, so it was killed; it was "), text


def damage(manager: ParallelManager, place: int) -> None:
    """The message about a batch that waits names a slot that there is not."""
    link = manager.communicator[0]
    assert link is not None
    notice = link.batches[place]
    link.batches[place] = notice._replace(fields=[99, *notice.fields[1:]])


@pytest.mark.parametrize("end", ["killed", "read", "stopped", "read and stopped"])
def test_a_damaged_batch_is_counted_and_those_after_it_survive(end: str) -> None:
    manager = new_manager(num_workers=1, queue_size=4)
    with manager:
        manager.start_workers()
        wait_for(lambda: manager.get_status()["queue_info"]["experience"] == [4])
        damage(manager, place=1)
        batches = []
        if end == "killed":
            kill(manager, 0)
            wait_for(lambda: manager.get_status()["workers"][0]["state"] == "restarting")
        if end.startswith("read"):
            batches += manager.collect_experiences()
        if end.endswith("stopped"):
            manager.stop_workers()
        else:
            wait_for(lambda: manager.get_status()["workers"][0]["state"] != "waiting")
        batches += manager.collect_experiences()
        assert [batch.number for batch in batches[:3]] == [1, 3, 4]
        assert manager.get_status()["lost"]["batches"] == 1
