"""The concurrent executor: its documented interface, the same results as the sequential one, control during a run."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import psutil
import pytest

from engine.errors import BadSpec, BadValue, RingsideError, UnknownName
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, Limits, MatchResult, MatchSpec, run_digest
from engine.play.play_settings import default_workers
from engine.processes import launcher
from engine.registry import KINDS, new_game
from engine.seeding import derive
from engine.telemetry import WorkerStatus
from tests.plugins.pilots import agent

PLUGINS = ("tests.plugins.everyone",)
QUICK = new_game("pong", points=1, step_limit=300)
ENDLESS = new_game("pong", step_limit=2_000_000_000, paddle_height=300.0, top_speed=7.0)


def all_sorts(count: int) -> list[MatchSpec]:
    """Four games, sequential and simultaneous, and many kinds of players: compiled, slow, stateful, resigning."""
    row_kinds = [agent(name) for name in ("fast", "slow", "remembering", "resigning", "vandal", "illegal")]
    pong = [*KINDS.get("pong-bot").samples(QUICK), *row_kinds, AgentSpec("Dice", "dice")]
    bids, mixed = new_game("bids", seats=4), new_game("mixed")
    toe = new_game("tictactoe")
    specs = []
    for n in range(count):
        game, players = [(QUICK, pong), (toe, row_kinds[:4]), (bids, row_kinds[:3]), (mixed, row_kinds[:2])][n % 4]
        seats = tuple(players[(n // 4 + 5 * seat) % len(players)] for seat in range(game.info.seats))
        limits = Limits(steps=7) if n % 11 == 0 else Limits()
        specs.append(MatchSpec(f"match {n}", game.spec, seats, derive("sorts", n), None, limits))
    return specs


def endless(count: int, players: tuple[str, str] = ("Predictor", "Predictor")) -> list[MatchSpec]:
    """Matches that take long: no player misses the ball."""
    bots = {agent.id: agent for agent in KINDS.get("pong-bot").samples(ENDLESS)}
    return [MatchSpec(f"e{n}", ENDLESS.spec, tuple(bots[name] for name in players), n) for n in range(count)]


@pytest.fixture(scope="module")
def two() -> Iterator[ConcurrentMatchExecutor]:
    with ConcurrentMatchExecutor(2, plugins=PLUGINS) as executor:
        yield executor


@pytest.fixture(scope="module")
def expected() -> list[MatchResult]:
    with SequentialMatchExecutor(16) as executor:
        return executor.execute_matches(all_sorts(400))


# As documented


def test_the_executor_works_as_documented(expected: list[MatchResult]) -> None:
    match_configs = all_sorts(400)
    with ConcurrentMatchExecutor(max_workers=4, plugins=PLUGINS) as executor:
        results = executor.execute_matches(match_configs)
        single = executor.execute_match(match_configs[3])
    assert [result.id for result in results] == [spec.id for spec in match_configs], "in the order given"
    assert [result.digest() for result in results] == [result.digest() for result in expected]
    assert single.digest() == expected[3].digest()
    assert results[0].duration > 0


def test_the_defaults_are_the_documented_ones() -> None:
    assert default_workers() == max(len(os.sched_getaffinity(0)) - 1, 1)
    with ConcurrentMatchExecutor() as executor:
        assert executor.workers == default_workers()
        assert not executor.visual_mode


def test_processes_are_kept_for_the_next_batch(two: ConcurrentMatchExecutor) -> None:
    two.execute_matches(all_sorts(100))
    before = {worker.pid for worker in two.status().workers}
    two.execute_matches(all_sorts(100))
    assert {worker.pid for worker in two.status().workers} == before


def test_visual_mode_plays_one_match_at_a_time(expected: list[MatchResult]) -> None:
    """One at a time, in order; switched during a run."""
    specs = all_sorts(60)
    with ConcurrentMatchExecutor(2, visual_mode=True, plugins=PLUGINS) as executor:
        stream = executor.run(specs)
        first = [next(stream) for _ in range(30)]
        assert [result.id for result in first] == [spec.id for spec in specs[:30]]
        assert len(executor.status().workers) == 1
        executor.visual_mode = False
        rest = list(stream)
        assert len(rest) == 30
    assert run_digest([*first, *rest]) == run_digest(expected[:60])


def test_workers_import_no_heavy_modules(two: ConcurrentMatchExecutor) -> None:
    """Neither Qt nor pygame nor torch, and not the program's own main module."""
    two.execute_matches(all_sorts(50))
    for worker in two.status().workers:
        mapped = {os.path.basename(mapped.path) for mapped in psutil.Process(worker.pid).memory_maps(grouped=True)}
        assert any("multiarray" in name for name in mapped), "numpy is mapped, so the check sees libraries"
        assert not [name for name in mapped if "Qt6" in name or "pygame" in name or "SDL" in name or "torch" in name]
        assert psutil.Process(worker.pid).nice() == min(os.nice(0) + 10, 19)
        until = time.monotonic() + 120
        while psutil.Process(worker.pid).num_threads() > 1 and time.monotonic() < until:
            time.sleep(0.05)  # a driver may just be compiled in the background
        assert psutil.Process(worker.pid).num_threads() == 1, "no thread pool of a numeric library"


# The same results in every configuration


# Other tests have 1,024 lanes on 2 and on 4 workers.
@pytest.mark.parametrize(("workers", "lanes"), [(1, 1), (1, 1024), (2, 7), (4, 1)])
def test_any_number_of_workers_and_lanes_gives_the_same_results(
    workers: int, lanes: int, expected: list[MatchResult]
) -> None:
    with ConcurrentMatchExecutor(workers, batch_size=1 + lanes % 10, lanes=lanes, plugins=PLUGINS) as executor:
        cold = executor.execute_matches(all_sorts(400))
        warm = executor.execute_matches(all_sorts(400))
    assert run_digest(cold) == run_digest(warm) == run_digest(expected)


def test_any_order_gives_the_same_results(two: ConcurrentMatchExecutor, expected: list[MatchResult]) -> None:
    specs = all_sorts(400)
    random.Random(5).shuffle(specs)
    assert run_digest(two.run(iter(specs))) == run_digest(expected)


def test_without_recording_only_the_actions_are_missing(expected: list[MatchResult]) -> None:
    with ConcurrentMatchExecutor(2, record=False, plugins=PLUGINS) as executor:
        results = executor.execute_matches(all_sorts(40))
    for result, full in zip(results, expected, strict=False):
        assert (result.scores, result.stats, result.steps, result.ending) == (
            full.scores,
            full.stats,
            full.steps,
            full.ending,
        )
        assert result.actions == b""


def test_a_payload_is_sent_once_and_identified_by_its_content(two: ConcurrentMatchExecutor) -> None:
    """In the next run an id may stand for another agent; the cache of a worker must not confuse them."""
    bots = {agent.id: agent for agent in KINDS.get("pong-bot").samples(QUICK)}
    for name in ("Predictor", "Still", "Predictor"):
        probe = replace(bots[name], id="probe")
        specs = [MatchSpec(f"m{n}", QUICK.spec, (probe, bots["Lazy"]), n) for n in range(30)]
        with SequentialMatchExecutor(4) as executor:
            alone = executor.execute_matches(specs)
        assert {result.ending.kind.failure for result in alone} == {False}
        assert run_digest(two.execute_matches(specs)) == run_digest(alone)


# Refused before anything is played


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_workers": 0}, "max_workers = 0: must be a whole number from 1 to 256"),
        ({"max_workers": 1.5}, "max_workers = 1.5: must be a whole number"),
        ({"max_workers": "2"}, "max_workers = '2': must be a whole number"),
        ({"plugins": "my_mod"}, "plugins = 'my_mod': must be a list"),
        ({"plugins": ["no_such_module"]}, "plugins = 'no_such_module': must be the name of a module"),
        ({"batch_size": 0}, "batch_size = 0"),
        ({"lanes": 0}, "lanes = 0"),
        ({"watchdog": 0}, "watchdog = 0"),
        ({"memory_mb": 1}, "memory_mb = 1"),
        ({"quarantine_after": 0}, "quarantine_after = 0"),
    ],
)
def test_an_invalid_setting_is_refused_by_name(settings: dict[str, float], message: str) -> None:
    with pytest.raises(BadValue, match=message):
        ConcurrentMatchExecutor(**settings)


def test_an_impossible_match_is_refused_before_any_is_played(two: ConcurrentMatchExecutor) -> None:
    good = all_sorts(5)
    done = two.status().run.done
    wrong = MatchSpec("wrong", QUICK.spec, (agent("fast"), agent("fasst")), 1)
    with pytest.raises(UnknownName, match="did you mean 'fast'"):
        two.execute_matches([*good, wrong])
    with pytest.raises(BadSpec, match="'match 0' is used twice"):
        two.execute_matches([*good, good[0]])
    toe = new_game("tictactoe")
    clash = MatchSpec("clash", toe.spec, (AgentSpec("fast", "slow"), agent("fast", "other")), 1)
    with pytest.raises(BadSpec, match="two different agents have the id 'fast'"):
        two.execute_matches([MatchSpec("first", QUICK.spec, (agent("fast"), agent("slow")), 1), clash])
    assert two.status().run.done == done


def test_a_second_concurrent_run_is_refused_and_a_closed_one_leaves_no_trace(
    two: ConcurrentMatchExecutor, expected: list[MatchResult]
) -> None:
    stream = two.run(all_sorts(400))
    next(stream)
    with pytest.raises(RingsideError, match="already has a run"):
        next(two.run(all_sorts(5)))
    stream.close()
    assert run_digest(two.execute_matches(all_sorts(400))) == run_digest(expected)


def test_a_closed_executor_raises_an_error(expected: list[MatchResult]) -> None:
    executor = ConcurrentMatchExecutor(1, plugins=PLUGINS)
    executor.close()
    executor.close()
    with pytest.raises(RingsideError, match="closed"):
        executor.execute_matches(all_sorts(5))


# While it runs


def test_recalled_matches_are_not_played_and_the_others_are(expected: list[MatchResult]) -> None:
    specs = all_sorts(400)
    with ConcurrentMatchExecutor(2, lanes=4, plugins=PLUGINS) as executor:
        stream = executor.run(specs)
        results = [next(stream) for _ in range(20)]
        back = executor.recall()
        results += stream
        assert back
        played, recalled = {result.id for result in results}, {spec.id for spec in back}
        assert len(played) + len(recalled) == len(results) + len(back), "each match is played or recalled"
        taken = len(played) + len(recalled)
        assert played | recalled == {spec.id for spec in specs[:taken]}
        results += executor.run([*back, *specs[taken:]])
    assert run_digest(results) == run_digest(expected)


def test_stop_finishes_running_matches_and_cancels_the_rest() -> None:
    with ConcurrentMatchExecutor(2, lanes=8, plugins=PLUGINS) as executor:
        stream = executor.run(all_sorts(4000))
        results = [next(stream) for _ in range(50)]
        executor.stop()
        results += stream
        cancelled = [result for result in results if result.ending.kind is EndingKind.CANCELLED]
        assert 0 < len(cancelled) < len(results)
        assert not cancelled[0].ending.kind.rated
        assert len({result.id for result in results}) == len(results)
        assert len(executor.execute_matches(all_sorts(20))) == 20, "and it can be used again"


def test_stop_now_does_not_wait_for_running_matches() -> None:
    with ConcurrentMatchExecutor(2) as executor:
        stopper = threading.Timer(1.0, executor.stop, [True])
        stopper.start()
        results = executor.execute_matches(endless(100))
        stopper.join()
    assert {result.ending.kind for result in results} == {EndingKind.CANCELLED}
    assert len(results) == 100


def test_the_number_of_workers_can_change_while_they_play(expected: list[MatchResult]) -> None:
    with ConcurrentMatchExecutor(1, lanes=8, plugins=PLUGINS) as executor:
        stream = executor.run(all_sorts(400))
        results = [next(stream) for _ in range(50)]
        executor.workers = 3
        results += [next(stream) for _ in range(150)]
        assert len(executor.status().workers) == 3
        executor.workers = 1
        results += stream
        until = time.monotonic() + 120
        while len(executor.status().workers) > 1 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(executor.status().workers) == 1
    assert run_digest(results) == run_digest(expected)


def test_two_concurrent_recalls_return_each_match_once(expected: list[MatchResult]) -> None:
    specs = all_sorts(400)
    with ConcurrentMatchExecutor(2, lanes=4, plugins=PLUGINS) as executor:
        stream = executor.run(specs)
        results = [next(stream)]
        back: list[MatchSpec] = []
        threads = [threading.Thread(target=lambda: back.extend(executor.recall())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        results += stream
        taken = len(results) + len(back)
        assert {result.id for result in (*results, *back)} == {spec.id for spec in specs[:taken]}
        assert executor.status().run.done == executor.status().run.total == len(results)


def test_a_worker_that_was_killed_is_counted_as_restarted() -> None:
    with ConcurrentMatchExecutor(1) as executor:
        thread = threading.Thread(target=lambda: list(executor.run(endless(100))))
        thread.start()

        def wait_for(seen: Callable[[WorkerStatus], bool]) -> WorkerStatus:
            until = time.monotonic() + 120
            while True:
                found = [worker for worker in executor.status().workers if seen(worker)]
                if found or time.monotonic() > until:
                    return found[0]

        worker = wait_for(lambda worker: worker.state == "playing" and worker.restarts == 0)
        os.kill(worker.pid, signal.SIGKILL)
        assert wait_for(lambda worker: worker.state == "playing" and worker.restarts == 1).pid != worker.pid
        executor.stop(now=True)
        thread.join()


def test_workers_can_be_reduced_between_runs() -> None:
    with ConcurrentMatchExecutor(3, plugins=PLUGINS) as executor:
        executor.execute_matches(all_sorts(200))
        assert len(executor.status().workers) == 3
        executor.workers = 1
        until = time.monotonic() + 120
        while len(executor.status().workers) > 1 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(executor.status().workers) == 1


def test_a_garbage_collected_executor_ends_its_workers() -> None:
    executor = ConcurrentMatchExecutor(1)
    executor.execute_matches(endless(1, ("Still", "Still")))
    process = psutil.Process(executor.status().workers[0].pid)
    del executor
    gc.collect()
    assert psutil.wait_procs([process], timeout=120)[0]


def test_a_kind_that_only_the_script_registers_is_an_error_with_a_remedy() -> None:
    KINDS.add("mine", replace(KINDS.get("dice"), name="mine"))
    try:
        with ConcurrentMatchExecutor(1) as executor:
            specs = [MatchSpec(f"m{n}", QUICK.spec, (AgentSpec("a", "mine"), agent("fast")), n) for n in range(50)]
            with pytest.raises(RingsideError, match=r"unknown agent kind 'mine'.*plugins=\[...\] must name it"):
                executor.execute_matches(specs)
            starts = sum(event.what == "start" for event in executor.events()[1])
    finally:
        KINDS.remove("mine")
    assert starts == 1


def test_a_program_with_a_fork_server_of_its_own_keeps_it(expected: list[MatchResult]) -> None:
    """The processes of that server still react to SIGTERM."""
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(1, context) as pool:
        assert pool.submit(abs, -3).result() == 3
        with ConcurrentMatchExecutor(2, plugins=PLUGINS) as executor:
            assert run_digest(executor.execute_matches(all_sorts(40))) == run_digest(expected[:40])
        sleeper = context.Process(target=time.sleep, args=[60])
        sleeper.start()
        sleeper.terminate()
        sleeper.join(120)
        assert sleeper.exitcode == -signal.SIGTERM


def test_two_executors_do_not_disturb_each_other(expected: list[MatchResult]) -> None:
    with ConcurrentMatchExecutor(1, plugins=PLUGINS) as executor, ConcurrentMatchExecutor(1, plugins=PLUGINS) as other:
        streams = executor.run(all_sorts(400)), other.run(all_sorts(400))
        pairs = list(zip(*streams, strict=True))
    for results in zip(*pairs, strict=True):
        assert run_digest(results) == run_digest(expected)


def test_a_run_may_be_started_from_another_thread(expected: list[MatchResult]) -> None:
    """Workers must not end with the thread that requested them."""
    results: list[MatchResult] = []
    with ConcurrentMatchExecutor(2, plugins=PLUGINS) as executor:
        thread = threading.Thread(target=lambda: results.extend(executor.execute_matches(all_sorts(400))))
        thread.start()
        thread.join()
        pids = {worker.pid for worker in executor.status().workers}
        again = executor.execute_matches(all_sorts(400))
        assert {worker.pid for worker in executor.status().workers} == pids
    assert run_digest(results) == run_digest(again) == run_digest(expected)


def test_workers_are_spawned_without_a_fork_server(
    monkeypatch: pytest.MonkeyPatch, expected: list[MatchResult]
) -> None:
    monkeypatch.setattr(launcher, "METHOD", "spawn")
    with ConcurrentMatchExecutor(2, plugins=PLUGINS) as executor:
        results = executor.execute_matches(all_sorts(400))
        parents = {psutil.Process(worker.pid).ppid() for worker in executor.status().workers}
    assert parents == {os.getpid()}, "directly"
    assert run_digest(results) == run_digest(expected)


def test_a_game_with_large_observations_is_played_without_suspects() -> None:
    game = new_game("pettingzoo:cooperative_pong_v6", max_cycles=3)
    dice = (AgentSpec("A", "dice"), AgentSpec("B", "dice"))
    specs = [MatchSpec(f"m{n}", game.spec, dice, n) for n in range(90)]
    with ConcurrentMatchExecutor(1) as executor:
        results = executor.execute_matches(specs)
        events = [event.what for event in executor.events()[1]]
    assert {result.ending.kind for result in results} == {EndingKind.STEP_LIMIT}
    assert events.count("start") == 1
    assert not {"suspects", "alone", "died"} & set(events)
