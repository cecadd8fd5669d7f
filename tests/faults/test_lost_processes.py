"""Processes that end unexpectedly: busy and idle workers, all of them, the parent, and workers that never start."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from engine.errors import WorkersFailed
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import Clock, Limits, MatchSpec, run_digest
from engine.play.workers import handle
from engine.registry import KINDS, new_game
from engine.seeding import derive
from tests.faults.league import make_executor, sick, sick_matches, well_matches, within, worker_pids
from tests.waiting import until

GAME = new_game("pong", points=3)


def matches(count: int) -> list[MatchSpec]:
    bots = list(KINDS.get("pong-bot").samples(GAME))
    pairs = [(a, b) for a in bots for b in bots if a is not b]
    return [MatchSpec(f"m{n}", GAME.spec, pairs[n % len(pairs)], derive("lost", n)) for n in range(count)]


@pytest.fixture(scope="module")
def expected() -> str:
    with SequentialMatchExecutor() as executor:
        return run_digest(executor.execute_matches(matches(3000)))


def kill_one() -> None:
    os.kill(worker_pids(patience=0)[0], signal.SIGKILL)


def kill_all() -> None:
    for pid in worker_pids(patience=0):
        os.kill(pid, signal.SIGKILL)


def kill_server() -> None:
    """Kill the fork server, and with it all workers."""
    for child in psutil.Process().children():
        with suppress(psutil.ZombieProcess):  # it was killed before
            if "forkserver" in " ".join(child.cmdline()):
                child.kill()


@pytest.mark.parametrize("strike", [kill_one, kill_all, kill_server])
def test_killed_workers_cost_no_match(strike: Callable[[], None], expected: str) -> None:
    specs = matches(3000)
    results = []
    with within(120), make_executor(2, lanes=256) as executor:
        for result in executor.run(specs):
            results.append(result)
            if len(results) == 500:
                strike()
        restarts = sum(worker.restarts for worker in executor.status().workers)
    assert len(results) == 3000
    assert run_digest(results) == expected
    assert restarts >= 1, "a worker was killed"
    assert not worker_pids()


@pytest.mark.parametrize("strike", [kill_all, kill_server])
def test_workers_that_are_killed_twice_are_replaced_by_few(strike: Callable[[], None]) -> None:
    """Hundreds of matches are interrupted twice; they are not played one by one."""
    specs = well_matches(1000)
    with SequentialMatchExecutor() as executor:
        expected = run_digest(executor.execute_matches(specs))
    results = []
    with within(120), make_executor(2, lanes=1024, batch_size=250) as executor:

        def plays_again() -> bool:
            return any(worker.restarts and worker.state == "playing" for worker in executor.status().workers)

        for result in executor.run(specs):
            results.append(result)
            if len(results) == 10:
                strike()
                until(plays_again)
                strike()
        events = [event.what for event in executor.events()[1]]
    assert run_digest(results) == expected
    assert events.count("died") >= 2
    assert events.count("start") <= 20
    assert events.count("alone") <= 20


@pytest.mark.parametrize("strike", [kill_all, kill_server])
def test_no_agent_is_blamed_for_a_kill_from_outside(
    strike: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while it is called in a match that is played alone."""
    monkeypatch.setenv("RINGSIDE_HANGS", str(tmp_path / "hangs"))
    clock = Limits(clock=Clock(move=600.0))
    [spec] = (dataclasses.replace(spec, limits=clock) for spec in sick_matches(sick("hang-once"), 1))
    with within(60), make_executor(1) as executor:

        def kill_it_once() -> None:
            until((tmp_path / "hangs").exists)
            strike()

        with ThreadPoolExecutor(1) as thread:
            killing = thread.submit(kill_it_once)
            result = executor.execute_match(spec)
            killing.result()
        assert [event.what for event in executor.events()[1]].count("alone") == 2
    with SequentialMatchExecutor() as here:
        assert result.digest() == here.execute_match(spec).digest()
    assert not result.ending.kind.failure


def test_an_idle_worker_that_is_killed_is_replaced(expected: str) -> None:
    specs = matches(3000)
    with within(120), make_executor(2) as executor:
        executor.execute_matches(specs[:100])
        kill_all()
        assert run_digest(executor.execute_matches(specs)) == expected


def test_workers_that_cannot_start_are_reported_after_a_few_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle, "RUN", "ringside_broken:work")
    with within(60), make_executor(2) as executor:
        with pytest.raises(WorkersFailed, match=r"3 worker processes in a row .*: ImportError: not on this machine\."):
            executor.execute_matches(matches(50))
        starts = sum(event.what == "start" for event in executor.events()[1])
    assert 3 <= starts <= 6, "a limited number of attempts"
    assert not worker_pids()


def test_workers_that_are_killed_while_they_start_are_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice, and all of them at once, which are more starts than one worker is given."""
    monkeypatch.setenv("RINGSIDE_HANGS", str(tmp_path / "begin"))
    specs, killed = well_matches(100), set[int]()

    def kill_twice() -> None:
        for _ in range(2):
            until(lambda: len(set(worker_pids(patience=0)) - killed) == 2)
            killed.update(worker_pids(patience=0))
            kill_server()
        (tmp_path / "begin").touch()

    with within(60), make_executor(2, plugins=["ringside_late"]) as executor, ThreadPoolExecutor(1) as thread:
        killing = thread.submit(kill_twice)
        results = executor.execute_matches(specs)
        killing.result()
    with SequentialMatchExecutor() as here:
        assert run_digest(results) == run_digest(here.execute_matches(specs))


PARENT = """
import threading, time
from engine.play.concurrent import ConcurrentMatchExecutor, stopping_on_signals
from tests.engine.play.test_concurrent import endless
from tests.faults.test_lost_processes import matches
print("begun", flush=True)
with ConcurrentMatchExecutor(2, lanes={lanes}) as executor, stopping_on_signals(executor) as signals:
    results = []
    def report():
        while len([worker for worker in executor.status().workers if worker.state == "playing"]) < 2:
            time.sleep(0.05)
        print("playing", flush=True)
        while not any(event.what == "stop" for event in executor.events()[1]):
            time.sleep(0.05)
        print("finishing", flush=True)
    if not {done}:
        threading.Thread(target=report, daemon=True).start()
    for result in executor.run({plan}):
        results.append(result)
        if len(results) == {done}:  # here rather than in a thread, which a fast run could starve until its end
            print("playing", flush=True)
kinds = [result.ending.kind.value for result in results]
print(len(results), kinds.count("cancelled"), len(signals), flush=True)
"""


@contextmanager
def parent_at_work(
    lanes: int, plan: str = "matches(200_000)", done: int = 100
) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A program during a long run, and all processes that it has started; they must end with the block."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PARENT.format(lanes=lanes, plan=plan, done=done)]
    with (
        within(60),
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, start_new_session=True) as parent,
    ):
        try:
            assert parent.stdout is not None
            assert [parent.stdout.readline() for _ in range(2)] == ["begun\n", "playing\n"]
            family = psutil.Process(parent.pid).children(recursive=True)
            assert len(family) >= 3, "the server and its workers"
            yield parent, family
            assert not psutil.wait_procs(family, timeout=120)[1], "processes are left"
        finally:
            parent.kill()


def test_nothing_outlives_a_parent_that_is_killed() -> None:
    with parent_at_work(1024) as (parent, _):
        parent.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_parent_finishes_running_matches(number: signal.Signals) -> None:
    """The signal goes to all processes, as Ctrl-C in a terminal does; only the parent reacts."""
    with parent_at_work(64) as (parent, _):
        os.killpg(parent.pid, number)
        played, cancelled, signals = map(int, parent.stdout.readline().split())
        assert parent.wait() == 0
        assert (signals, played > cancelled > 0) == (1, True), "some were finished, the rest was cancelled"


def test_a_second_interrupt_ends_the_run_now() -> None:
    """After the first interrupt it waits for matches that never end."""
    with parent_at_work(1024, "endless(100)", done=0) as (parent, _):
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.stdout.readline() == "finishing\n"
        os.killpg(parent.pid, signal.SIGTERM)
        assert list(map(int, parent.stdout.readline().split())) == [100, 100, 2], "all cancelled"
        assert parent.wait() == 0


def test_a_script_that_ends_without_closing_leaves_no_processes(tmp_path: Path) -> None:
    """It needs no `if __name__ == "__main__"`: workers do not import it."""
    script = tmp_path / "script.py"
    script.write_text(
        "from engine.play.concurrent import ConcurrentMatchExecutor\n"
        "from tests.faults.test_lost_processes import matches\n"
        "import psutil\n"
        "executor = ConcurrentMatchExecutor(2)\n"
        "print(len(executor.execute_matches(matches(50))))\n"
        "print(*[process.pid for process in psutil.Process().children(recursive=True)])\n"
        "stream = executor.run(matches(5000))\n"
        "next(stream)\n"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with within(60):
        done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)
    count, pids = done.stdout.splitlines()
    assert (done.returncode, count, done.stderr) == (0, "50", "")
    until = time.monotonic() + 120
    while any(psutil.pid_exists(int(pid)) for pid in pids.split()) and time.monotonic() < until:
        time.sleep(0.02)
    assert not [pid for pid in pids.split() if psutil.pid_exists(int(pid))]


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system without free space."""
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a file system can be mounted by root only")
    try:
        with suppress(OSError), (tmp_path / "filler").open("wb") as filler:
            while True:
                filler.write(bytes(4096))
        yield tmp_path
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


@pytest.mark.slow  # the program and the server of its workers each compile all kernels
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_does_not_stop_workers(full_disk: Path) -> None:
    """No space for kernels, temporary files and printed output."""
    script = (
        "from engine.play.concurrent import ConcurrentMatchExecutor\n"
        "from engine.play.match import run_digest\n"
        "from tests.faults.test_lost_processes import matches\n"
        "with ConcurrentMatchExecutor(2) as executor:\n"
        "    print(run_digest(executor.execute_matches(matches(40))))\n"
    )
    environment = {**os.environ, "RINGSIDE_CACHE": str(full_disk), "TMPDIR": str(full_disk)}
    with within(100), open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            cwd=Path(__file__).parents[2],
        )
    with SequentialMatchExecutor() as executor:
        assert done.stdout.strip() == run_digest(executor.execute_matches(matches(40)))
