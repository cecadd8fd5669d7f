"""The parent process: checks matches, sends them to workers and returns their results."""

from __future__ import annotations

import dataclasses
import selectors
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.errors import BadSpec, RingsideError
from engine.play.by_players import MOST, ByPlayers
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, Clock, Ending, EndingKind, Limits, MatchResult, MatchSpec, run_digest
from engine.play.match_validator import MatchValidator
from engine.play.results import ResultBatch
from engine.play.workers.entry import WorkerSettings
from engine.play.workers.handle import Job, WorkerHandle, WorkerLimits
from engine.play.workers.messages import ReceivedResults, pack_results
from engine.play.workers.run import Run
from engine.play.workers.scheduler import Scheduler
from engine.processes.channel import ProtocolError
from engine.registry import KINDS, new_game

GAME, HUNT = new_game("pong"), new_game("treasure-hunt")
DICE, OTHER = AgentSpec("Dice", "dice"), AgentSpec("Other", "dice")
SHORT = Limits(5)
GOOD = MatchSpec("good", GAME.spec, (DICE, OTHER), 1, None, SHORT)


# Checking

BAD: dict[str, dict[str, Any]] = {
    "a seed below 0": {"seed": -1},
    "a seed that is too large": {"seed": 2**64},
    "a seed that is no number": {"seed": True},
    "too few players": {"players": (DICE,)},
    "too many players": {"players": (DICE, OTHER, DICE)},
    "no steps": {"limits": Limits(0)},
    "a clock without time": {"limits": Limits(5, Clock())},
    "a start that Pong does not have": {"start": "nowhere"},
    "an agent of an unknown kind": {"players": (DICE, AgentSpec("New", "nothing"))},
    "an agent that cannot play this game": {"players": (DICE, AgentSpec("New", "shogi-bot"))},
    "another agent of the same id": {"players": (DICE, AgentSpec("Other", "dice", b"x"))},
    "another game with other seats": {"game": new_game("treasure-hunt", seats=3).spec},
}


def test_what_is_known_of_players_is_found_by_their_tuple_and_by_their_agents() -> None:
    asked: list[tuple[AgentSpec, ...]] = []

    def count(players: tuple[AgentSpec, ...]) -> int:
        asked.append(players)
        return len(asked)

    known, pair = ByPlayers(count), (DICE, OTHER)
    assert [known[pair], known[pair], known[(OTHER, DICE)]] == [1, 1, 2]
    for _ in range(2 * MOST):  # each of them a new tuple, as trainers make them
        assert known[tuple(iter(pair))] == 1
    assert known[pair] == 1
    for _ in range(MOST):  # each with a new agent: the cache starts again when it is full
        known[(DICE, AgentSpec("New", "dice"))]
    assert known[tuple(iter(pair))] == len(asked) == MOST + 3
    known.clear()
    assert known[pair] == MOST + 4


def test_what_is_known_of_players_never_belongs_to_others_with_the_same_addresses() -> None:
    known = ByPlayers(lambda players: "-".join([player.id for player in players]))
    for number in range(3 * MOST):  # nothing here keeps them: each may get the address of one that was freed
        players = (DICE, AgentSpec(str(number % 7), "dice"))
        assert known[players] == f"Dice-{number % 7}"
        assert known[players[::-1]] == f"{number % 7}-Dice"
        assert known[players[:1]] == "Dice"


def test_an_error_of_what_is_computed_for_players_is_raised_again() -> None:
    def fail(players: tuple[AgentSpec, ...]) -> int:
        raise ValueError(players[0].id)

    known, pair = ByPlayers(fail), (DICE, OTHER)
    for _ in range(2):
        with pytest.raises(ValueError, match="Dice"):
            known[pair]


@pytest.mark.parametrize("what", BAD)
def test_an_invalid_match_is_refused_after_valid_ones(what: str) -> None:
    bad = dataclasses.replace(GOOD, id="bad", **BAD[what])
    with pytest.raises(RingsideError) as first:
        MatchValidator().check([GOOD, bad]) if "same id" in what else MatchValidator().check([bad])
    later = [dataclasses.replace(GOOD, id=f"m{n}", seed=n) for n in range(5)]
    with pytest.raises(RingsideError) as after:
        MatchValidator().check([*later, bad])
    assert (type(after.value), str(after.value)) == (type(first.value), str(first.value))


def test_an_agent_is_checked_for_every_game_it_plays() -> None:
    bot = AgentSpec("Lazy", "pong-bot", next(iter(_bots())).payload)
    entry = MatchValidator()
    entry.check([dataclasses.replace(GOOD, players=(bot, bot))] * 2)
    hunt = MatchSpec("hunt", HUNT.spec, (bot,) * HUNT.info.seats, 1, None, SHORT)
    with pytest.raises(BadSpec, match="cannot play treasure-hunt"):
        entry.check([GOOD, hunt])


def _bots() -> Iterator[AgentSpec]:
    return iter(KINDS.get("pong-bot").samples(GAME))


# Handing on


def test_batches_hold_the_results_that_run_gives() -> None:
    specs = [dataclasses.replace(GOOD, id=f"p{n}", seed=n) for n in range(300)]
    specs += [MatchSpec(f"h{n}", HUNT.spec, (DICE,) * HUNT.info.seats, n, None, SHORT) for n in range(100)]
    with SequentialMatchExecutor(32) as here, ConcurrentMatchExecutor(2) as workers:
        wanted = run_digest(here.run(specs))
        for executor in (here, workers):
            batches = list(executor.batches(specs))
            assert sorted(spec.id for batch in batches for spec in batch.specs) == sorted(spec.id for spec in specs)
            assert run_digest(result for batch in batches for result in batch) == wanted
            assert {digest for batch in batches for digest in batch.digests()} == {
                result.digest() for batch in batches for result in batch
            }


def test_a_run_that_is_closed_early_can_be_followed_by_another() -> None:
    specs = [dataclasses.replace(GOOD, id=f"p{n}", seed=n) for n in range(100)]
    with SequentialMatchExecutor(8) as here, ConcurrentMatchExecutor(1) as workers:
        for executor in (here, workers):
            results = executor.run(specs)
            next(results)
            results.close()  # type: ignore[attr-defined]
            assert len(executor.execute_matches(specs)) == 100


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    settings = WorkerSettings(lanes=4, record=True, batch=10, memory=None)
    with selectors.DefaultSelector() as selector:
        yield Scheduler(0, settings, WorkerLimits(), selector)


def received(numbers: list[int], ending: Ending = Ending(EndingKind.FINISHED), seats: int = 2) -> ReceivedResults:  # noqa: B008
    result = MatchResult("", (), (0.0,) * seats, (1,) * seats, 3, ending, ((),) * seats, b"x")
    specs = [dataclasses.replace(GOOD, id=str(number)) for number in numbers]
    return ReceivedResults(*pack_results(ResultBatch.of(specs, [result] * len(numbers))))


def playing(scheduler: Scheduler, numbers: list[int]) -> tuple[Run, WorkerHandle]:
    run = scheduler.begin(None)
    run.submitted = len(numbers)
    jobs = {number: Job(number, dataclasses.replace(GOOD, id=f"m{number}")) for number in numbers}
    worker = SimpleNamespace(held=jobs, isolated=None, slot=0, done=0, idle=False, retiring=False, draining=False)
    return run, cast(WorkerHandle, worker)


def test_a_result_counts_once_and_only_if_its_match_is_held(scheduler: Scheduler) -> None:
    run, worker = playing(scheduler, [1, 2, 3])
    scheduler._on_results(worker, received([2, 9, 2, 1]))
    scheduler._on_results(worker, received([1, 2]))
    assert [spec.id for batch in run.take_results() for spec in cast(ResultBatch, batch).specs] == ["m2", "m1"]
    assert (list(worker.held), worker.done, run.done) == ([3], 2, 2)


def test_failures_in_a_batch_are_counted(scheduler: Scheduler) -> None:
    run, worker = playing(scheduler, [1, 2])
    scheduler._on_results(worker, received([1, 2], Ending(EndingKind.EXCEPTION, (0,), "why")))
    assert (run.done, run.undelivered, run.failures) == (2, 2, 2)


def test_results_with_a_wrong_number_of_seats_are_refused_and_lose_no_match(scheduler: Scheduler) -> None:
    run, worker = playing(scheduler, [1, 2])
    with pytest.raises(ProtocolError):
        scheduler._on_results(worker, received([1, 2], seats=3))
    assert (list(worker.held), run.done) == ([1, 2], 0)


@pytest.mark.parametrize(("waiting", "held", "recalled"), [(0, 30, True), (0, 1, False), (5, 30, False)])
def test_an_idle_worker_gets_matches_that_another_has_not_started(
    scheduler: Scheduler, waiting: int, held: int, recalled: bool
) -> None:
    run, worker = playing(scheduler, [1])
    run.add([dataclasses.replace(GOOD, id=f"w{n}") for n in range(waiting)])
    asked: list[str] = []
    scheduler.assigner.max_workers = 2
    for slot, numbers in enumerate((1, held)):
        stand_in = SimpleNamespace(
            slot=slot,
            held=dict.fromkeys(range(numbers)),
            isolated=None,
            done=0,
            idle=slot == 0,
            ready=True,
            retiring=False,
            draining=False,
            accepts_shared=lambda: True,
            recall=lambda slot=slot: asked.append(f"recall {slot}"),
            channel=SimpleNamespace(socket=SimpleNamespace(fileno=lambda: -1)),
        )
        scheduler.pool.workers[slot] = cast(WorkerHandle, stand_in)
    idle = scheduler.pool.workers[0]
    idle.held = worker.held
    scheduler._on_results(idle, received([1]))
    assert asked == (["recall 1"] if recalled else [])
    assert run.done == 1
