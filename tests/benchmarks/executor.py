"""The executor: scaling, no-op tasks compared with standard pools, start-up, memory, crashes, monitoring."""

from __future__ import annotations

import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import psutil

from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, Limits, MatchResult, MatchSpec, run_digest
from tests.benchmarks import registered
from tests.benchmarks.engine import GAME, matches
from tests.benchmarks.measure import Figure, in_turns, ratio
from tests.benchmarks.players import SIX_NODES

PLUGINS = (registered.__name__,)


def figures(quick: bool) -> Iterator[Figure]:
    yield from more_workers(quick)
    yield from no_ops(quick)
    yield from parent(quick)
    yield from first_result(quick)
    yield from memory_and_looking(quick)
    yield from crash(quick)


def spin(seconds: float) -> int:
    """Iterations of an empty loop in this time: the processor time that a process really gets."""
    until, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        rounds += 1
    return rounds


def two_cores() -> float:
    """Throughput of two independent processes relative to one: the current limit of this machine."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("forkserver")) as pool:
        list(pool.map(spin, [0.1, 0.1]))
        ratios = []
        for _ in range(5):
            alone = pool.submit(spin, 0.3).result()
            ratios.append(sum(pool.map(spin, [0.3, 0.3])) / alone)
    return statistics.median(ratios)


def more_workers(quick: bool) -> Iterator[Figure]:
    """Pong with network players, from spec to MatchResult in this process; all records equal, which is not timed."""
    specs = matches(list(SIX_NODES.samples(GAME)), 1200 if quick else 8000)
    results: dict[str, list[MatchResult]] = {}
    with (
        SequentialMatchExecutor() as here,
        ConcurrentMatchExecutor(1, plugins=PLUGINS) as executor,
        ConcurrentMatchExecutor(2, plugins=PLUGINS) as two,
    ):

        def job(name: str, execute: Callable[[Sequence[MatchSpec]], list[MatchResult]]) -> Callable[[], None]:
            def play() -> None:
                results[name] = execute(specs)

            return play

        jobs = {
            "this process": job("this process", here.execute_matches),
            "1 worker": job("1 worker", executor.execute_matches),
            "2 workers": job("2 workers", two.execute_matches),
        }
        for play in jobs.values():
            play()
        taken = in_turns(jobs, 1 if quick else 5)
    digests = {name: run_digest(played) for name, played in results.items()}
    steps = sum(result.steps for result in results["1 worker"])
    if len(set(digests.values())) != 1:
        raise AssertionError(f"the records differ, so the figures would mean nothing: {digests}")
    for name in jobs:
        rate = steps / statistics.median(taken[name]) / 1e6
        against = ratio(taken, name, "1 worker")
        note = f"{ratio(taken, name, 'this process'):.2f} of this process"
        yield Figure(f"network players, {name}", rate, "million steps/s", against, "1 worker", note)
    if not quick:
        yield Figure("two processes that share nothing", two_cores(), "times one", note="this machine's limit")


def nothing(number: int) -> int:
    return number


def one_step_matches(count: int) -> list[MatchSpec]:
    dice, limits = AgentSpec("Dice", "dice"), Limits(1)
    return [MatchSpec(f"m{n}", GAME.spec, (dice, dice), n, None, limits) for n in range(count)]


def no_ops(quick: bool) -> Iterator[Figure]:
    """Empty tasks, two workers, ten per message; ours are whole matches of one step."""
    count = 2000 if quick else 20_000
    specs = one_step_matches(count)
    context = multiprocessing.get_context("forkserver")
    with (
        ConcurrentMatchExecutor(2) as ours,
        context.Pool(2) as pool,
        ProcessPoolExecutor(2, context) as futures,
    ):
        jobs: dict[str, Callable[[], object]] = {
            "ours": lambda: sum(1 for _ in ours.run(specs)),
            "Pool": lambda: sum(1 for _ in pool.imap_unordered(nothing, range(count), 10)),
            "ProcessPoolExecutor": lambda: sum(1 for _ in futures.map(nothing, range(count), chunksize=10)),
        }
        for job in jobs.values():
            job()
        taken = in_turns(jobs, 1 if quick else 5)
    for name in jobs:
        rate = count / statistics.median(taken[name]) / 1e3
        note = "matches, with their records" if name == "ours" else "function calls"
        yield Figure(f"no-op tasks, {name}", rate, "thousand/s", ratio(taken, name, "ours"), "ours", note)


def parent(quick: bool) -> Iterator[Figure]:
    """Processor time of this process per match while a worker plays at full speed: checking, sending and receiving,
    with results as columns and as objects."""
    count = 2000 if quick else 20_000
    specs = one_step_matches(count)
    spent: dict[str, list[float]] = {"in columns": [], "as objects": []}
    with ConcurrentMatchExecutor(1) as executor:
        jobs: dict[str, Callable[[], int]] = {
            "in columns": lambda: sum(len(batch) for batch in executor.batches(specs)),
            "as objects": lambda: sum(1 for _ in executor.run(specs)),
        }
        for turn in range(2 if quick else 6):
            for name, job in jobs.items():
                since = time.process_time()
                if job() != count:
                    raise AssertionError("a result is missing, so the figures would mean nothing")
                if turn:  # the first run starts the worker
                    spent[name].append((time.process_time() - since) / count * 1e6)
    for name, taken in spent.items():
        note = "all its threads, one-step matches"
        yield Figure(f"processor time of the parent, results {name}", statistics.median(taken), "us/match", note=note)


FIRST = """
import time
since = time.perf_counter()
from engine.play.concurrent import ConcurrentMatchExecutor
from tests.benchmarks.executor import a_match
imported = time.perf_counter()
with ConcurrentMatchExecutor(1) as executor:
    executor.execute_match(a_match())
    print(time.perf_counter() - imported)
"""


def a_match() -> MatchSpec:
    dice = AgentSpec("Dice", "dice")
    return MatchSpec("m", GAME.spec, (dice, dice), 1, None, Limits(10))


def first_result(quick: bool) -> Iterator[Figure]:
    """Time to the first record: from a cold start, with a running fork server, and with a running worker."""
    rounds = 1 if quick else 5
    cold = [
        float(subprocess.run([sys.executable, "-c", FIRST], check=True, capture_output=True, text=True).stdout)
        for _ in range(rounds)
    ]
    server, worker = [], []
    for _ in range(4 * rounds):
        with ConcurrentMatchExecutor(1) as executor:
            for times in (server, worker):
                since = time.perf_counter()
                executor.execute_match(a_match())
                times.append(time.perf_counter() - since)
    yield Figure("first record, nothing started yet", statistics.median(cold), "s")
    yield Figure("first record, a worker to be forked", 1e3 * statistics.median(server[1:]), "ms")
    yield Figure("first record, a worker at hand", 1e3 * statistics.median(worker), "ms")


def memory_and_looking(quick: bool) -> Iterator[Figure]:
    """Private memory of a worker after a batch, and the cost of reading its status."""
    specs = matches(list(SIX_NODES.samples(GAME)), 2000)
    with ConcurrentMatchExecutor(2, plugins=PLUGINS) as executor:
        stream = executor.run(specs)
        for _ in range(1000):
            next(stream)
        own = [psutil.Process(worker.pid).memory_full_info().uss for worker in executor.status().workers]
        looks = []
        for _ in range(20 if quick else 200):
            since = time.thread_time()
            executor.status()
            executor.events(executor.events()[0] - 100)
            looks.append(time.thread_time() - since)
        stream.close()
    yield Figure(
        "memory of its own, per worker", statistics.median(own) / 2**20, "MB", note="1,024 lanes of Pong in it"
    )
    share = 2 * statistics.mean(looks) * 100
    yield Figure("status and events, twice a second", share, "% of a core")


def crash(quick: bool) -> Iterator[Figure]:
    """A worker is killed during a run: time until its replacement is ready, and the delay of the whole run."""
    specs = matches(list(SIX_NODES.samples(GAME)), 1000 if quick else 8000)
    with ConcurrentMatchExecutor(2, plugins=PLUGINS) as executor:
        executor.execute_matches(specs[:500])
        back = []

        def play(kill: bool) -> None:
            start, killed = executor.events()[0], 0.0
            for n, _ in enumerate(executor.run(specs)):
                if kill and n == len(specs) // 4:
                    pid = executor.status().workers[0].pid
                    assert pid is not None
                    killed = time.monotonic()
                    os.kill(pid, signal.SIGKILL)
            if kill:
                ready = [event.at for event in executor.events(start)[1] if event.what == "ready" and event.at > killed]
                back.append(min(ready) - killed)

        taken = in_turns({"undisturbed": lambda: play(False), "killed": lambda: play(True)}, 1 if quick else 5)
    yield Figure("a worker is killed: another one is ready", 1e3 * statistics.median(back), "ms later")
    yield Figure(
        "a run in which that happens",
        statistics.median(taken["killed"]),
        "s",
        ratio(taken, "undisturbed", "killed"),
        "the same run undisturbed",
    )
