"""Marched and ticked matches are the same to the bit; both sorts of lanes may be in one group."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from agents.neat.pilot import KIND as NEAT
from agents.nets.network import dump
from agents.scripted.pong import KIND as PONG_BOTS
from agents.scripted.treasure_hunt import KIND as HUNTERS
from engine.errors import DriverRefused
from engine.game import AgentKind, Game
from engine.play import march
from engine.play.arena import Arena
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.heartbeat import private_heartbeat
from engine.play.march import Driver, Marching
from engine.play.match import AgentSpec, EndingKind, Limits, MatchResult, MatchSpec, run_digest
from engine.play.workers.main import CompilerListener
from engine.registry import KINDS, new_game
from tests.faults.league import SHORT_WATCHDOG
from tests.plugins import pilots
from tests.plugins.marchers import marcher
from tests.plugins.networks import SMALL, drawn
from tests.plugins.pilots import agent

PLUGINS = ("tests.plugins.everyone",)
PONG = new_game("pong")
DICE = AgentSpec("Dice", "dice")
NET = AgentSpec("Net", "net", dump(drawn(SMALL, PONG)))
PONG_PLAYERS = (*PONG_BOTS.samples(PONG), *NEAT.samples(PONG), DICE, NET, agent("fast"), agent("remembering"))
HARMLESS = ("play", "resign", "illegal", "forbidden", "broken", "pending", "raise")  # and none that never returns
HUNTER_NAMES = [hunter.id for hunter in HUNTERS.samples(new_game("treasure-hunt"))]


def play(specs: Sequence[MatchSpec], lanes: int, marching: Marching, record: bool = True) -> list[MatchResult]:
    with SequentialMatchExecutor(lanes, record=record, quarantine_after=None, marching=marching) as executor:
        return executor.execute_matches(specs)


def check_both_ways(specs: Sequence[MatchSpec], lanes: int = 4) -> list[MatchResult]:
    """The results, which must be equal by ticks and by marches."""
    ticked, marched = (play(specs, lanes, how) for how in (Marching.NEVER, Marching.AT_ONCE))
    for result, other in zip(ticked, marched, strict=True):
        assert result.digest() == other.digest(), (result, other)
        assert result.ending == other.ending
    return marched


def test_the_last_matches_of_a_queue_are_started_in_small_groups() -> None:
    """The others can still be recalled for a worker that has no matches left."""
    with Arena(64, marching=Marching.AT_ONCE) as arena:
        for number in range(40):
            arena.add(MatchSpec(str(number), PONG.spec, (DICE, DICE), number))
        arena.advance(0.0)
        assert arena.queued == 20
        assert len(arena.recall()) == 20


def pong_matches(game: Game, players: Sequence[AgentSpec], count: int, limits: Limits = Limits()) -> list[MatchSpec]:  # noqa: B008
    n = len(players)
    return [
        MatchSpec(f"m{k}", game.spec, (players[k % n], players[(k // n + k) % n]), k, None, limits)
        for k in range(count)
    ]


@settings(max_examples=15)
@given(
    points=st.integers(1, 3),
    paddle=st.sampled_from([40.0, 100.0, 300.0]),
    rules_limit=st.integers(60, 2000),
    steps=st.none() | st.integers(1, 600),
    lanes=st.sampled_from([1, 2, 7, 64]),
    record=st.booleans(),
    players=st.lists(st.sampled_from(PONG_PLAYERS), min_size=1, max_size=5, unique=True),
    seed=st.integers(0, 2**64 - 1),
)
def test_pong_is_the_same_marched_and_ticked(
    points: int, paddle: float, rules_limit: int, steps: int | None, lanes: int, record: bool,
    players: list[AgentSpec], seed: int,
) -> None:  # fmt: skip
    game = new_game("pong", points=points, paddle_height=paddle, step_limit=rules_limit)
    limits, many = Limits(steps), len(players)
    specs = [
        MatchSpec(f"m{n}", game.spec, (players[n % many], players[n // 2 % many]), seed ^ n, None, limits)
        for n in range(8)
    ]
    ticked, marched = (play(specs, lanes, how, record) for how in (Marching.NEVER, Marching.AT_ONCE))
    assert run_digest(ticked) == run_digest(marched)


@settings(max_examples=10)
@given(
    seats=st.integers(2, 6),
    frames=st.integers(1, 3),
    radius=st.integers(1, 3),
    turns=st.integers(1, 60),
    steps=st.none() | st.integers(1, 80),
    names=st.lists(st.sampled_from([*HUNTER_NAMES, "Dice", "Net", "fast"]), min_size=1, max_size=4),
    seed=st.integers(0, 2**64 - 1),
)
def test_treasure_hunt_is_the_same_marched_and_ticked(
    seats: int, frames: int, radius: int, turns: int, steps: int | None, names: list[str], seed: int
) -> None:
    game = new_game("treasure-hunt", seats=seats, frames=frames, radius=radius, turns=turns)
    net = AgentSpec("Net", "net", dump(drawn(SMALL, game)))  # its inputs depend on the options
    known = {player.id: player for player in (*HUNTERS.samples(game), DICE, net, agent("fast"))}
    players = tuple(known[names[seat % len(names)]] for seat in range(seats))
    results = check_both_ways([MatchSpec(f"m{n}", game.spec, players, seed ^ n, None, Limits(steps)) for n in range(4)])
    assert {result.steps for result in results} == {min(turns, steps or turns)}


@settings(max_examples=15)
@given(
    seats=st.integers(1, 4),
    stones=st.integers(4, 80),
    deeds=st.lists(st.tuples(st.sampled_from(HARMLESS), st.integers(0, 30)), min_size=1, max_size=4),
    seed=st.integers(0, 2**64 - 1),
)
def test_a_masked_game_of_turns_with_failing_players_is_the_same_marched_and_ticked(
    seats: int, stones: int, deeds: list[tuple[str, int]], seed: int
) -> None:
    game = new_game("stones", seats=seats, stones=stones, step_limit=100)
    players = tuple(marcher(*deeds[seat % len(deeds)]) for seat in range(seats))
    check_both_ways([MatchSpec(f"m{n}", game.spec, players, seed ^ n) for n in range(3)])


ENDINGS = {
    "resign": (EndingKind.RESIGNED, ""),
    "illegal": (EndingKind.ILLEGAL_ACTION, "answered 1000000; actions are 0 to 2"),
    "broken": (EndingKind.EXCEPTION, "OverflowError: too large for a number"),
    "raise": (EndingKind.EXCEPTION, "ValueError: a row function gives up"),
}


@pytest.mark.parametrize("deed", ENDINGS)
def test_a_failing_row_function_forfeits_its_own_match_and_no_other(deed: str) -> None:
    good = pong_matches(PONG, [marcher(), DICE], 6, Limits(200))
    bad = MatchSpec("bad", PONG.spec, (marcher(), marcher(deed, 7)), 1)
    results = {result.id: result for result in check_both_ways([*good[:3], bad, *good[3:]])}
    kind, reason = ENDINGS[deed]
    assert (results["bad"].ending.kind, results["bad"].ending.seats, results["bad"].steps) == (kind, (1,), 7)
    assert results["bad"].ending.reason.startswith(reason)
    alone = {result.id: result for result in play(good, 4, Marching.AT_ONCE)}
    assert all(results[id].digest() == alone[id].digest() for id in alone)


def test_an_action_that_is_masked_is_illegal_in_a_march_too() -> None:
    game = new_game("stones", stones=4)
    players = (marcher("forbidden", 0, "a"), marcher("forbidden", 0, "b"))
    results = check_both_ways([MatchSpec(f"m{seed}", game.spec, players, seed) for seed in range(8)])
    forfeits = [result for result in results if result.ending.kind is EndingKind.ILLEGAL_ACTION]
    assert len(forfeits) in range(1, 8), "the third stone is legal in some positions only"
    assert {result.ending.reason for result in forfeits} == {"answered 2, which was not legal"}


def test_marched_and_ticked_lanes_are_played_side_by_side() -> None:
    players = (*PONG_BOTS.samples(PONG), agent("slow"), agent("fast"))
    specs = pong_matches(PONG, players, 40, Limits(150))
    check_both_ways(specs, lanes=16)


def test_a_match_longer_than_its_row_of_the_log_keeps_all_actions() -> None:
    predictor = next(bot for bot in PONG_BOTS.samples(PONG) if bot.id == "Predictor")
    game = new_game("pong", paddle_height=300.0)
    [result] = check_both_ways([MatchSpec("m", game.spec, (predictor, predictor), 3)])
    assert result.steps == 20_000
    assert len(result.actions) == 10_000


def test_a_call_with_no_time_left_plays_one_step_of_one_lane() -> None:
    play(pong_matches(PONG, [DICE], 1, Limits(3)), 1, Marching.AT_ONCE)  # the driver is compiled
    with Arena(2, marching=Marching.AT_ONCE) as arena:
        for spec in pong_matches(PONG, [DICE], 2, Limits(6)):
            arena.add(spec)
        for call in range(1, 12):  # the call that ends the first lane plays a step of the second, too
            arena.advance(0.0)
            assert len(arena.take_results()) == (call in (6, 11)), "lane after lane, each to its end"
        assert arena.idle


def test_ticks_move_marched_lanes_too() -> None:
    """`tick` moves every lane by one step, with or without a driver."""
    with Arena(2, marching=Marching.AT_ONCE) as arena:
        for spec in pong_matches(PONG, [DICE], 2, Limits(50)):
            arena.add(spec)
        arena.advance(0.0)
        [tick] = arena.tick()
        assert tick.moved.tolist() == [0, 1]


class Reluctant(Driver):
    """Is compiled when the test calls for it."""

    allowed = False

    def compile(self, signature: tuple[object, ...]) -> None:
        if self.allowed:
            super().compile(signature)


def test_a_new_combination_is_ticked_until_its_driver_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = pong_matches(PONG, [DICE], 30, Limits(400))
    wanted = run_digest(play(specs, 8, Marching.NEVER))
    drivers: list[Reluctant] = []

    def new_driver(*arguments: object) -> Driver:
        drivers.append(Reluctant(march.driver(*arguments)))  # type: ignore[arg-type]
        return drivers[-1]

    monkeypatch.setattr(march, "_driver", new_driver)
    results = []
    with Arena(8, marching=Marching.AT_ONCE) as arena:
        for spec in specs:
            arena.add(spec)
        for _ in range(3):
            assert arena.advance(0.0) > 0, "ticks, because the driver is not compiled"
            results += arena.take_results()
        drivers[0].allowed = True
        while not arena.idle:
            assert arena.advance(0.002) == 0, "no more ticks"
            results += arena.take_results()
    assert run_digest(results) == wanted


def test_a_driver_that_cannot_be_compiled_leaves_its_lanes_to_ticks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Refused:
        overloads: ClassVar[dict[object, object]] = {}

        def compile(self, signature: object) -> None:
            raise TypeError("numba does not know this")

        def typeof_pyval(self, value: object) -> None:
            return None

    compiler, driver = march.Compiler(), Driver(Refused())
    monkeypatch.setattr(march, "COMPILE_AFTER", -1.0)  # at the first march: play may end before a second one
    monkeypatch.setattr(march, "COMPILER", compiler)
    monkeypatch.setattr(march, "_driver", lambda *arguments: driver)
    monkeypatch.setattr(march, "compiled_once", lambda call: contextlib.nullcontext())
    specs = pong_matches(PONG, [DICE], 6, Limits(100))
    wanted = run_digest(play(specs, 3, Marching.NEVER))
    assert run_digest(play(specs, 3, Marching.WHEN_READY)) == wanted
    if (thread := compiler.thread) is not None:  # else it has ended already
        thread.join()
    assert "could not be compiled" in caplog.text
    assert run_digest(play(specs, 3, Marching.WHEN_READY)) == wanted
    monkeypatch.setattr(march, "_driver", lambda *arguments: Driver(Refused()))
    with pytest.raises(DriverRefused, match="numba does not know this"):
        play(specs, 3, Marching.AT_ONCE)


def test_a_row_function_that_never_returns_forfeits() -> None:
    """The heartbeat has the current lane, so one match is a suspect, and not all of its worker."""
    good = pong_matches(PONG, [marcher(), DICE], 40, Limits(300))
    bad = MatchSpec("bad", PONG.spec, (marcher("loop", 20), marcher()), 1)
    expected = {result.id: result.digest() for result in play(good, 16, Marching.AT_ONCE)}  # and the drivers are cached
    play([MatchSpec("m", PONG.spec, (marcher(), marcher()), 1, None, Limits(3))], 1, Marching.AT_ONCE)
    with ConcurrentMatchExecutor(1, watchdog=SHORT_WATCHDOG, plugins=PLUGINS) as executor:
        results = {result.id: result for result in executor.run([*good[:20], bad, *good[20:]])}
        suspects = [event.detail for event in executor.events()[1] if event.what == "alone"]
    assert (results["bad"].ending.kind, results["bad"].ending.seats) == (EndingKind.TIMEOUT, (0,))
    assert {id: results[id].digest() for id in expected} == expected
    assert suspects == ["1"], "only that match was played alone"


def test_any_number_of_workers_gives_the_results_of_ticks() -> None:
    specs = pong_matches(PONG, PONG_PLAYERS, 60, Limits(400))
    wanted = run_digest(play(specs, 32, Marching.NEVER))
    for workers in (1, 2):
        with ConcurrentMatchExecutor(workers, plugins=PLUGINS) as executor:
            assert run_digest(executor.run(specs)) == wanted


COUNT = """
from tests.engine.play.test_march import DICE, PONG, PONG_PLAYERS, Limits, Marching, play, pong_matches
for players in ([DICE], [PONG_PLAYERS[0]], [DICE, PONG_PLAYERS[0]]):  # each after the one before it was compiled
    play(pong_matches(PONG, players, 4, Limits(3)), 2, Marching.AT_ONCE)
found = [driver.call.stats for driver in made if driver.ready]
print(len(found), sum(stats.cache_hits.total() for stats in found), sum(stats.cache_misses.total() for stats in found))
"""
KEEP = """
from engine.play import march
made = []
class Kept(march.Driver):
    def __init__(self, function):
        super().__init__(function)
        made.append(self)
march.Driver = Kept
"""


def test_a_driver_is_cached_for_the_next_process(tmp_path: Path) -> None:
    environment = {**os.environ, "RINGSIDE_CACHE": str(tmp_path)}

    def counts() -> str:
        command = [sys.executable, "-c", KEEP + COUNT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert counts() == "3 0 3"
    assert counts() == "3 3 0"


def test_a_driver_is_compiled_in_the_background_while_play_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an empty cache no match waits: lanes are ticked until the thread has compiled the driver."""
    compiler, drivers = march.Compiler(), dict[str, Driver]()
    monkeypatch.setattr(march, "COMPILE_AFTER", -1.0)  # at the first march: play may end before a second one
    monkeypatch.setattr(march, "COMPILER", compiler)
    monkeypatch.setattr(march, "is_cached", lambda *arguments: False)
    monkeypatch.setattr(march, "_driver", lambda *arguments: drivers.setdefault("it", Driver(march.driver(*arguments))))
    specs = pong_matches(PONG, [DICE], 8, Limits(50))
    wanted = run_digest(play(specs, 4, Marching.NEVER))
    assert run_digest(play(specs, 4, Marching.WHEN_READY)) == wanted
    if (thread := compiler.thread) is not None:  # else it has ended already
        thread.join()
    assert drivers["it"].ready
    assert run_digest(play(specs, 4, Marching.WHEN_READY)) == wanted


def test_a_raising_row_function_restarts_the_other_lanes() -> None:
    """Lanes of the same call start again: some of their players answered for a step that was not made."""
    players = [marcher(), marcher("illegal", 9), marcher("raise", 12)]
    specs = [MatchSpec(f"m{n}", PONG.spec, (players[n % 3], players[0]), n, None, Limits(40)) for n in range(12)]
    check_both_ways(specs, lanes=12)


def test_combinations_beyond_the_limit_are_ticked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(march, "WAYS", 4)  # room for two combinations
    specs = pong_matches(PONG, PONG_PLAYERS, 40, Limits(60))
    check_both_ways(specs, lanes=8)


def test_matches_of_many_games_are_as_repeatable_as_their_players() -> None:
    """More games than an arena keeps idle groups for: their matches are checked again."""
    kind = AgentKind(
        "moody", 1, lambda game, slots: pilots.RowPilot(pilots.choose), lambda _: True, lambda _: [], False
    )
    KINDS.add("moody", kind)
    try:
        games = [new_game("pong", points=1, step_limit=60 + n) for n in range(12)]
        specs = [MatchSpec(f"m{n}", game.spec, (AgentSpec("A", "moody"), DICE), n) for n, game in enumerate(games)]
        assert [result.repeatable for result in play(specs, 4, Marching.NEVER)] == [False] * 12
    finally:
        KINDS.remove("moody")


def test_only_compilation_in_the_playing_thread_stops_the_watchdog() -> None:
    """An agent that hangs while a driver is compiled in the background must still be detected."""
    marks = private_heartbeat(4)
    listener = CompilerListener(marks)
    event.register("numba:compiler_lock", listener)
    try:
        with global_compiler_lock:
            assert marks.read().compiling
        seen = []

        def compile_in_the_background() -> None:
            with global_compiler_lock:
                seen.append(marks.read().compiling)

        thread = threading.Thread(target=compile_in_the_background)
        thread.start()
        thread.join()
    finally:
        event.unregister("numba:compiler_lock", listener)
    assert seen == [False]
    assert not marks.read().compiling
