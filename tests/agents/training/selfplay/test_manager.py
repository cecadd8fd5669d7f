"""Experience from worker processes: what they send, their weights, pauses, resets and ends."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

import numpy as np
import psutil
import pytest

from agents.training.selfplay.link import WorkerLink
from agents.training.selfplay.manager import ParallelManager
from engine.errors import BadValue, RingsideError
from engine.play.match import EndingKind
from tests.agents.training.selfplay.helpers import (  # noqa: F401 - a fixture
    NET,
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


def test_batches_are_those_of_a_rollout_to_the_bit() -> None:
    """Two workers with queues of two batches each: slots are written again and again while others are read."""
    with new_manager(queue_size=2) as manager:
        manager.start_workers()
        batches = collect_until(manager, lambda found: min(len(of(found, worker)) for worker in (0, 1)) >= 40)
    for worker in (0, 1):
        mine = of(batches, worker)
        assert [batch.number for batch in mine] == list(range(1, len(mine) + 1))
        with rollout_here(manager, range(4 * worker, 4 * worker + 4)) as rollout:
            for batch in mine:
                assert (batch.version, batch.staleness, batch.streams, len(batch)) == (1, 0, rollout._streams, 32)
                check_equal(batch.trajectories, rollout.collect(8))
    assert sum(len(batch.trajectories.results) for batch in batches) > 20


def test_games_with_illegal_actions_are_collected() -> None:
    with new_manager({"game": "stones"}, {"plugins": PLUGINS}, num_workers=1) as manager:
        manager.start_workers()
        batches = collect(manager, 5)
    assert batches[0].trajectories.legal is not None
    with rollout_here(manager, range(4)) as rollout:
        for batch in batches:
            check_equal(batch.trajectories, rollout.collect(8))


def test_new_weights_are_used_from_the_next_batch_on() -> None:
    with new_manager(num_workers=1) as manager:
        manager.start_workers()
        collect(manager, 2)
        assert manager.sync_model_to_workers() == 1, "they have not changed"
        manager.model.value.bias.data += 1.0
        assert manager.sync_model_to_workers() == 2
        batches = collect_until(manager, lambda found: any(batch.version == 2 for batch in found))
        assert manager.get_status()["workers"][0]["model_version"] == 2
        manager.load({name: 0 * tensor for name, tensor in manager.model.tensors().items()})
        assert manager.sync_model_to_workers() == 3
        last = collect_until(manager, lambda found: any(batch.version == 3 for batch in found))
    versions = [batch.version for batch in batches + last]
    assert versions == sorted(versions), "they never go back"
    newest = last[-1].trajectories
    assert not newest.values.any()
    np.testing.assert_allclose(newest.log_probs[newest.acted], -np.log(3), rtol=1e-6)


def test_weights_pass_through_shared_memory_unless_a_worker_still_reads_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    send = WorkerLink.send

    def spy(link: WorkerLink, name: str, fields: Sequence[object] = (), body: bytes = b"") -> int:
        sizes.extend([len(body)] * (name == "weights"))
        return send(link, name, fields, body)

    monkeypatch.setattr(WorkerLink, "send", spy)
    with new_manager() as manager:
        manager.start_workers()
        collect_until(manager, lambda found: {batch.worker for batch in found} == {0, 1})
        manager.model.value.bias.data += 1.0
        assert manager.sync_model_to_workers() == 2
        assert sizes == [0] * 4
        pid = manager.get_status()["workers"][0]["pid"]
        os.kill(pid, signal.SIGSTOP)  # so that it does not answer
        for _ in range(2):
            manager.model.value.bias.data += 1.0
            manager.sync_model_to_workers(wait=False)
        os.kill(pid, signal.SIGCONT)
        assert sizes[4:] == [0, 0] + [len(manager.learner().payload)] * 2
        batches = collect_until(manager, lambda found: {0, 1} <= {b.worker for b in found if b.version == 4})
        assert {batch.version for batch in batches} <= {1, 2, 3, 4}
        assert manager.get_status()["restarts"] == 0


@pytest.mark.parametrize("compressed", [True, False])
def test_weights_that_shrink_are_compressed_if_the_settings_say_so(compressed: bool) -> None:
    """Equal numbers shrink, drawn ones do not. Either way the worker plays with the same weights."""
    with new_manager(num_workers=1, compression_enabled=compressed) as manager:
        manager.start_workers()
        drawn = manager.synchronizer.message()[1]
        manager.load({name: np.ones_like(tensor) for name, tensor in manager.model.tensors().items()})
        manager.sync_model_to_workers()
        fields, body = manager.synchronizer.message()
        payload = manager.learner().payload
        assert fields[3] is compressed
        assert len(body) < len(payload) / 2 if compressed else body == payload
        assert len(drawn) == len(payload), "weights that do not shrink are sent as they are"
        [*_, batch] = collect_until(manager, lambda found: bool(found) and found[-1].version == 2)
    acted = batch.trajectories
    np.testing.assert_allclose(acted.log_probs[acted.acted], -np.log(3), rtol=1e-6)
    assert acted.values[acted.acted].all()


def test_weights_that_do_not_fit_are_refused_before_they_are_sent() -> None:
    manager = new_manager()
    tensors = manager.model.tensors()
    with pytest.raises(BadValue, match=r"value.bias.shape = \(2,\)"):
        manager.load({**tensors, "value.bias": np.zeros(2, np.float32)})
    manager.model.value.bias.data += np.nan
    with pytest.raises(BadValue, match=r"value\.bias = 'nan or inf'"):
        manager.start_workers()


def test_batches_that_are_too_old_are_refused_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    with new_manager(num_workers=1, queue_size=3, max_staleness=1) as manager:
        manager.start_workers()
        wait_until_full(manager, 3)
        for _ in range(2):
            manager.model.value.bias.data += 1.0
            manager.sync_model_to_workers()
        with caplog.at_level(logging.WARNING, "agents.training.selfplay"):
            [first, *_] = collect(manager, 1)
        status = manager.get_status()
    assert (first.version, first.staleness, first.number) == (3, 0, 4)
    assert status["refused"] == {"batches": 3, "experiences": 96}
    assert "batch 1 was played by model version 1, 2 versions ago, and is refused" in caplog.text
    assert status["staleness"] == {"last": 0, "mean": 0.0, "max": 0, "limit": 1}


def test_staleness_is_measured() -> None:
    with new_manager(num_workers=1, queue_size=2) as manager:
        manager.start_workers()
        wait_until_full(manager, 2)
        manager.model.value.bias.data += 1.0
        manager.sync_model_to_workers()
        batches = collect_until(manager, lambda found: len(found) > 2)
        assert [batch.staleness for batch in batches[:3]] == [1, 1, 0]
        assert manager.get_status()["staleness"]["max"] == 1


def wait_until_full(manager: ParallelManager, size: int) -> None:
    wait_for(lambda: manager.get_status()["queue_info"]["experience"] == [size] * manager.config.num_workers)


def test_a_full_queue_makes_its_worker_wait_and_drops_nothing() -> None:
    with new_manager(num_workers=1, queue_size=2) as manager:
        manager.start_workers()
        wait_until_full(manager, 2)
        status = manager.get_status()
        assert (status["workers"][0]["state"], status["queue_info"]["full"]) == ("waiting", 1)
        assert status["queue_info"] == manager.communicator.get_queue_info()
        manager.pause_workers()  # it still answers
        manager.resume_workers()
        batches = collect(manager, 6)
    assert [batch.number for batch in batches] == list(range(1, len(batches) + 1))
    with rollout_here(manager, range(4)) as rollout:
        for batch in batches:
            check_equal(batch.trajectories, rollout.collect(8))


def test_a_worker_that_had_to_wait_is_not_taken_for_one_that_hangs() -> None:
    with new_manager(num_workers=1, queue_size=1) as manager:
        manager.start_workers()
        wait_until_full(manager, 1)
        link = manager.communicator[0]
        assert link is not None
        link.heard -= 1e6  # the trainer was busy for days
        collect(manager, 3)
        manager.pause_workers()
        link.heard -= 1e6
        manager.resume_workers()
        collect(manager, 3)
        assert manager.get_status()["restarts"] == 0


def cpu_time(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def test_a_paused_worker_uses_no_processor_and_resumes_where_it_was() -> None:
    with new_manager() as manager:
        manager.start_workers()
        batches = collect_until(manager, lambda found: {batch.worker for batch in found} == {0, 1})
        manager.pause_workers([0])
        batches += manager.collect_experiences()
        status = manager.get_status()
        assert [worker["state"] for worker in status["workers"]] == ["paused", status["workers"][1]["state"]]
        assert status["active_workers"] == 1
        pid = status["workers"][0]["pid"]
        wait_for(lambda: psutil.Process(pid).status() == psutil.STATUS_SLEEPING)
        before = cpu_time(pid)
        others = collect(manager, 50, worker=1)
        assert cpu_time(pid) == before
        batches += of(others, 0)
        assert len(of(others, 0)) <= manager.config.queue_size, "those that were waiting"
        manager.resume_workers([0])
        batches += collect(manager, 3, worker=0)
    mine = of(batches, 0)
    assert [batch.number for batch in mine] == list(range(1, len(mine) + 1))
    with rollout_here(manager, range(4)) as rollout:
        for batch in mine:
            check_equal(batch.trajectories, rollout.collect(8))


def test_a_reset_begins_new_games() -> None:
    with new_manager(num_workers=1) as manager:
        manager.start_workers()
        collect(manager, 2)
        manager.pause_workers()
        while manager.get_status()["queue_info"]["experience_total"]:
            manager.collect_experiences()
        link = manager.communicator[0]
        assert link is not None
        begun = link.next_games
        manager.reset_workers([0])
        status = manager.get_status()
        assert (status["abandoned_games"], status["workers"][0]["resets"]) == (4, 1)
        manager.resume_workers()
        [batch, *_] = collect(manager, 1)
    assert set(begun) == {begun[0]}, "all boards are in the same game"
    with rollout_here(manager, range(4), first=begun[0]) as rollout:
        check_equal(batch.trajectories, rollout.collect(8))


def test_workers_set_their_players_up_again_after_some_games_without_losing_any() -> None:
    """The status counts it, also over several processes of a worker."""

    def resets() -> int:
        found: int = manager.get_status()["workers"][0]["resets"]
        return found

    with new_manager(num_workers=1, games_per_worker=20) as manager:
        manager.start_workers()
        assert resets() == 0
        batches = collect_until(manager, lambda found: resets() >= 2)
        batches += collect(manager, manager.config.queue_size + 1)
        manager.stop_workers()
        batches += manager.collect_experiences()
        assert sum(len(batch.trajectories.results) for batch in batches) >= 40
        before = resets()
        manager.start_workers()
        collect_until(manager, lambda found: resets() > before)
    with rollout_here(manager, range(4)) as rollout:
        for batch in batches:
            check_equal(batch.trajectories, rollout.collect(8))


def test_long_games_are_truncated() -> None:
    with new_manager(num_workers=1, max_game_length=5) as manager:
        manager.start_workers()
        [batch, *_] = collect(manager, 1)
    assert {result.steps for result in batch.trajectories.results} == {5}
    assert {result.ending.kind for result in batch.trajectories.results} == {EndingKind.STEP_LIMIT}
    assert (batch.trajectories.ends[:, 4] == 2).all()
    assert batch.trajectories.bootstrap[:, 4].all(), "truncation is not termination"


def test_weights_are_passed_on_and_workers_reset_at_their_intervals() -> None:
    with new_manager(num_workers=1, model_sync_interval=2, worker_reset_interval=3) as manager:
        manager.start_workers()
        versions = []
        for _ in range(7):
            while not manager.collect_experiences():
                pass
            manager.model.value.bias.data += 1.0
            versions.append(manager.synchronizer.version)
        assert versions == [1, 1, 2, 2, 3, 3, 4]
        assert manager.get_status()["abandoned_games"] == 2 * 4
        assert manager.get_status()["steps"] == 7


def test_statistics_are_rewarded_as_in_a_rollout() -> None:
    with new_manager(more={"rewards": {"hits": 0.25}}, num_workers=1) as manager:
        manager.start_workers()
        batches = collect_until(
            manager, lambda found: any((batch.trajectories.rewards % 1 != 0).any() for batch in found)
        )
    with rollout_here(manager, range(4), rewards={"hits": 0.25}) as rollout:
        for batch in batches:
            check_equal(batch.trajectories, rollout.collect(8))


def test_rewards_are_those_of_the_settings() -> None:
    with new_manager({**PONG, "reward_structure": {"score": 0.0, "step": 0.5}}, num_workers=1) as manager:
        manager.start_workers()
        [batch, *_] = collect(manager, 1)
    assert (batch.trajectories.rewards == 0.5).all()


def test_calls_in_the_wrong_order_and_unknown_workers_are_refused() -> None:
    manager = new_manager()
    with pytest.raises(RingsideError, match="call `start_workers` first"):
        manager.collect_experiences(0.0)
    with pytest.raises(RingsideError, match="call `start_workers` first"):
        manager.pause_workers()
    with manager:
        manager.start_workers()
        with pytest.raises(RingsideError, match="run already"):
            manager.start_workers()
        with pytest.raises(BadValue, match="worker = 2: must be from 0 to 1"):
            manager.pause_workers([0, 2])
        for call in (manager.pause_workers, manager.resume_workers, manager.reset_workers):
            for workers in (0, "0", iter([0])):
                with pytest.raises(BadValue, match=r"workers = .*: must be a list of numbers of workers"):
                    call(workers)
        manager.pause_workers()
        manager.collect_experiences(timeout=0.0)
        assert manager.collect_experiences(timeout=0.0) == [], "it does not wait"


def test_what_was_finished_can_be_collected_after_the_stop_and_games_continue_at_the_next_start() -> None:
    manager = new_manager(num_workers=1, queue_size=2)
    manager.start_workers()
    wait_until_full(manager, 2)
    manager.stop_workers()
    manager.stop_workers()
    batches = manager.collect_experiences()
    assert [batch.number for batch in batches] == [1, 2]
    assert manager.collect_experiences() == []
    assert manager.get_status()["lost"] == {"batches": 0, "games": 0}
    first = manager._records[0].first
    manager.start_workers()
    [batch, *_] = collect(manager, 1)
    manager.stop_workers()
    with rollout_here(manager, range(4), first=first[0]) as rollout:
        check_equal(batch.trajectories, rollout.collect(8))


@pytest.mark.parametrize("state", ["paused", "full", "starting"])
def test_workers_stop_in_every_state(state: str) -> None:
    manager = new_manager(queue_size=1)
    manager.start_workers()
    if state == "paused":
        manager.pause_workers()
    elif state == "full":
        wait_until_full(manager, 1)
    manager.stop_workers()
    assert {worker["state"] for worker in manager.get_status()["workers"]} == {"stopped"}
    assert manager.get_status()["lost"]["batches"] == 0


def test_status_can_be_read_by_another_thread_while_one_waits() -> None:
    with new_manager() as manager:
        manager.start_workers()
        manager.pause_workers()
        manager.collect_experiences(timeout=0.0)
        ended = threading.Event()
        waiting = threading.Thread(target=lambda: (manager.collect_experiences(timeout=1.0), ended.set()))
        waiting.start()
        while not ended.is_set():
            assert manager.get_status()["active_workers"] == 0
        waiting.join()


def test_components_log_under_the_name_of_their_package(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "agents.training.selfplay"), new_manager(num_workers=1) as manager:
        manager.start_workers()
        collect(manager, 1)
    levels = {(record.levelname, record.getMessage().partition(":")[0]) for record in caplog.records}
    assert {("INFO", "started 1 workers for pong"), ("INFO", "stopped all workers")} <= levels
    assert ("DEBUG", "worker 0") in levels
    assert {record.name for record in caplog.records} <= {
        f"agents.training.selfplay.{name}" for name in ("manager", "communicator", "supervision", "synchronizer")
    }


def test_torch_is_not_needed_for_given_weights() -> None:
    """In a fresh interpreter; the worker plays a small network in compiled code."""
    code = f"""
import sys
import numpy as np
from agents.training.selfplay import ParallelManager
with ParallelManager({PONG!r}, {NET!r}, {SMALL!r}) as manager:
    shapes = manager.model_config.architecture.shapes(manager.game.info.observation, manager.game.info.actions)
    manager.load({{name: np.zeros(shape, np.float32) for name, shape in shapes.items()}})
    manager.start_workers()
    batches = manager.collect_experiences()
    pid = manager.get_status()["workers"][0]["pid"]
    print(bool(batches), "torch" in sys.modules, "libtorch" in open(f"/proc/{{pid}}/maps").read())
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert child.stdout == "True False False\n", child.stderr
