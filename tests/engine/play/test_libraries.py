"""Heavy libraries: only workers that play a kind which declares them have them imported."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, MatchSpec, run_digest
from engine.registry import KINDS, libraries_of, new_game
from engine.seeding import derive
from tests.faults.league import within
from tests.plugins import heavy

GAME = new_game("pong", points=1, step_limit=200)
PLUGINS = ["tests.plugins.heavy"]
BOTS = list(KINDS.get("pong-bot").samples(GAME))
SPY, TELLING = AgentSpec("spy", "spy"), AgentSpec("telling", "spy", b"tell")
TORCH, TELLING_TORCH = AgentSpec("torch", "torch-bot"), AgentSpec("telling torch", "torch-bot", b"tell")


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    for kind in (heavy.SPY, heavy.TORCH):
        KINDS.add(kind.name, kind)
    yield
    for kind in (heavy.SPY, heavy.TORCH):
        KINDS.remove(kind.name)


def match(n: int, *players: AgentSpec) -> MatchSpec:
    return MatchSpec(f"m{n}", GAME.spec, players, derive("heavy", n))


def make_executor(workers: int = 1, visual: bool = False) -> ConcurrentMatchExecutor:
    return ConcurrentMatchExecutor(workers, visual_mode=visual, plugins=PLUGINS)


def maps_torch(pid: int) -> bool:
    return "libtorch" in Path(f"/proc/{pid}/maps").read_text()


def test_a_kind_declares_its_libraries() -> None:
    assert libraries_of(["pong-bot", "spy", "unknown"]) == ()
    assert libraries_of(["pong-bot", "torch-bot"]) == ("torch",)


def test_a_worker_of_scripted_bots_never_imports_torch() -> None:
    """Not even after torch has played in another worker of the same executor."""
    with within(60), make_executor() as executor:
        executor.execute_matches([match(0, TORCH, BOTS[0])])
        executor.execute_matches([match(n, *pair) for n, pair in enumerate([BOTS[:2], BOTS[2:4], (SPY, BOTS[4])])])
        (worker,) = [worker for worker in executor.status().workers if worker.state == "idle"]
        if sys.platform == "linux":
            assert not maps_torch(worker.pid)
        result = executor.execute_match(match(9, TELLING, BOTS[0]))
    assert result.ending.kind is EndingKind.EXCEPTION
    assert "torch was imported: False, now: False" in result.ending.reason


@pytest.mark.parametrize("opponent", [BOTS[0], SPY])
def test_a_worker_of_a_kind_with_libraries_has_them_from_its_start(opponent: AgentSpec) -> None:
    with within(60), make_executor() as executor:
        result = executor.execute_match(match(1, TELLING_TORCH, opponent))
    assert "torch was imported: True, now: True" in result.ending.reason


def test_a_live_match_has_the_libraries_of_its_players() -> None:
    with within(60), make_executor() as executor, executor.watch(match(1, TELLING_TORCH, BOTS[0])) as live:
        result = live.wait(300)
    assert result is not None
    assert "torch was imported: True" in result.ending.reason


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_mixed_matches_have_the_same_results_on_any_number_of_workers(workers: int) -> None:
    pairs = [(BOTS[0], BOTS[1]), (TORCH, BOTS[2]), (SPY, BOTS[3]), (BOTS[4], TORCH), (TORCH, SPY)]
    specs = [match(n, *pairs[n % len(pairs)]) for n in range(100)]
    with SequentialMatchExecutor(16) as here:
        results = here.execute_matches(specs)
    assert not any(result.ending.kind.failure for result in results)
    expected = run_digest(results)
    with within(120), make_executor(workers) as executor:
        assert run_digest(executor.run(specs)) == expected
        assert run_digest(executor.run(specs[::-1])) == expected


def test_matches_one_by_one_are_played_in_order_whatever_they_need() -> None:
    specs = [match(n, TORCH if n % 2 else SPY, BOTS[n]) for n in range(4)]
    with within(120), make_executor(visual=True) as executor:
        assert [result.id for result in executor.run(specs)] == [spec.id for spec in specs]


def test_a_worker_with_libraries_that_is_killed_costs_no_match() -> None:
    specs = [match(n, TORCH, BOTS[n % 6]) for n in range(60)]
    with SequentialMatchExecutor(16) as here:
        expected = run_digest(here.execute_matches(specs))
    with within(120), make_executor() as executor:
        stream = executor.run(specs)
        first = next(stream)
        (worker,) = executor.status().workers
        os.kill(worker.pid, signal.SIGKILL)
        rest = list(stream)
    assert run_digest([first, *rest]) == expected
