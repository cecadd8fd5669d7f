"""Memory, files and threads do not grow over a hundred thousand tiny matches."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import psutil

from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.match import AgentSpec, Limits, MatchSpec
from engine.registry import new_game

GAME = new_game("pong")
DICE = AgentSpec("Dice", "dice")
MEGABYTE = 1 << 20


def tiny(count: int) -> Iterator[MatchSpec]:
    limits = Limits(1)
    return (MatchSpec(f"m{n}", GAME.spec, (DICE, DICE), n, None, limits) for n in range(count))


def used(executor: ConcurrentMatchExecutor) -> dict[str, list[int]]:
    """Resources by name: of this process first, then of each worker."""
    gc.collect()
    family = [psutil.Process(), *(psutil.Process(worker.pid) for worker in executor.status().workers)]
    return {
        "memory": [process.memory_info().rss for process in family],
        "files": [process.num_fds() for process in family],
        "threads": [process.num_threads() for process in family],
    }


def more(after: dict[str, list[int]], before: dict[str, list[int]], *names: str) -> list[str]:
    """What grew in any process. Less is no leak: threads of earlier tests may end meanwhile."""
    pairs = [(name, *counts) for name in names for counts in zip(before[name], after[name], strict=True)]
    return [f"{name}: {late}, before {early}" for name, early, late in pairs if late > early]


def test_a_hundred_thousand_tiny_matches_leak_no_resources() -> None:
    with ConcurrentMatchExecutor(2) as executor:
        assert sum(1 for _ in executor.run(tiny(20_000))) == 20_000
        before = used(executor)
        assert sum(1 for _ in executor.run(tiny(100_000))) == 100_000
        after = used(executor)
    assert not more(after, before, "files", "threads")
    grown = [(late - early) / MEGABYTE for early, late in zip(before["memory"], after["memory"], strict=True)]
    assert max(grown) < 40, f"MB more in this process and in each worker: {grown}"


def test_a_thousand_runs_leak_no_resources() -> None:
    """The data of a run is freed with it, in the workers too: agents, games and payloads are new each time."""

    def run(number: int) -> None:
        players = tuple(AgentSpec(f"dice {seat}", "dice", bytes(5000) + number.to_bytes(4, "big")) for seat in (0, 1))
        specs = [MatchSpec(f"m{n}", GAME.spec, players, n, None, Limits(1)) for n in range(10)]
        assert len(executor.execute_matches(specs)) == 10

    with ConcurrentMatchExecutor(1) as executor:
        for number in range(200):
            run(number)
        before = used(executor)
        for number in range(200, 1000):
            run(number)
        after = used(executor)
    assert not more(after, before, "files", "threads")
    grown = [(late - early) / MEGABYTE for early, late in zip(before["memory"], after["memory"], strict=True)]
    assert max(grown) < 40, f"MB more in this process and in the worker: {grown}"


def test_starting_and_stopping_workers_leaks_no_resources() -> None:
    with ConcurrentMatchExecutor(1) as executor:
        assert len(executor.execute_matches(list(tiny(10)))) == 10
        before = used(executor)
        for _ in range(30):
            executor.workers = 2
            assert sum(1 for _ in executor.run(tiny(200))) == 200
            stream = executor.run(tiny(2000))
            next(stream)
            stream.close()  # cancels the running matches and kills their processes
            executor.workers = 1
        assert len(executor.execute_matches(list(tiny(10)))) == 10
        after = used(executor)
    assert after["threads"][0] <= before["threads"][0]
    assert after["files"][0] <= before["files"][0] + 4, "a second worker may be stopping"
