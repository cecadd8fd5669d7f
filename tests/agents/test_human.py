"""Human players: they never block a worker, a wrong key is no forfeit, and they play only in watched matches."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator

import pytest

from agents import human
from agents.human import person
from engine.checks import check_kind
from engine.errors import BadSpec, BadValue
from engine.game import RESIGN
from engine.play.arena import Arena
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.live import LiveMatch
from engine.play.match import AgentSpec, EndingKind, MatchSpec
from engine.play.replay import Playback, verified
from engine.registry import KINDS, new_game
from tests.faults.league import within
from tests.live_worker import commands_handled
from tests.waiting import until

PONG = new_game("pong", points=1, step_limit=400)
LONG = new_game("pong", step_limit=3000, paddle_height=300.0, top_speed=7.0)
CROSSES = new_game("tictactoe")
ANYHOW = AgentSpec("Anyhow", "tictactoe-bot", b"anyhow")
BOTS = {agent.id: agent for agent in KINDS.get("pong-bot").samples(PONG)}
LAZY, TRACKER = BOTS["Lazy"], BOTS["Tracker"]


@pytest.fixture(scope="module")
def executor() -> Iterator[ConcurrentMatchExecutor]:
    with ConcurrentMatchExecutor(1, plugins=["tests.plugins.everyone"]) as executor:
        yield executor


@pytest.fixture(autouse=True)
def no_hanging() -> Iterator[None]:
    with within(12):
        yield


def followed(live: LiveMatch) -> tuple[Playback, Callable[[int], bool]]:
    """A playback, and a function that tells whether it has reached a step."""
    playback = Playback(live.spec)

    def reached(step: int) -> bool:
        playback.feed(live.actions_since(playback.received))
        playback.seek(playback.steps)
        return playback.steps >= step

    return playback, reached


# In the arena


def crosses(*, script: tuple[int, ...] = ()) -> Arena:
    arena = Arena(1, alone=True)
    arena.add(MatchSpec("m", CROSSES.spec, (person(script=script), person("Her")), 1))
    return arena


def moved(arena: Arena) -> int:
    """How many steps a tick makes."""
    [tick] = arena.tick()
    return int(tick.moved.size)


def test_in_turn_based_games_the_match_waits_and_an_action_counts_once() -> None:
    with crosses() as arena:
        assert [moved(arena) for _ in range(3)] == [0, 0, 0]
        assert arena.waits_for_humans()
        assert arena.act(0, 4)
        assert [moved(arena) for _ in range(3)] == [1, 0, 0], "and the other person is waited for"
        arena.act(1, 0)
        assert [moved(arena) for _ in range(2)] == [1, 0], "the four was played once"
        assert arena.actions_since(0) == [4, 0]


def test_an_illegal_action_is_not_a_forfeit() -> None:
    with crosses() as arena:
        moved(arena)
        arena.act(0, 4)
        moved(arena)
        for slip in (4, 9, -1, 1 << 40):
            arena.act(1, slip)
            assert moved(arena) == 0
        arena.act(1, 8)
        assert moved(arena) == 1
        assert arena.actions_since(0) == [4, 8]


def test_a_human_can_resign() -> None:
    with crosses() as arena:
        moved(arena)
        arena.act(0, RESIGN)
        arena.tick()
        [result] = arena.take_results()
    assert (result.ending.kind, result.ending.seats, result.ranks) == (EndingKind.RESIGNED, (0,), (2, 1))
    assert not result.repeatable


def test_in_simultaneous_games_the_held_action_repeats_and_none_is_idle() -> None:
    with Arena(1, alone=True) as arena:
        arena.add(MatchSpec("m", PONG.spec, (person(), person("Her")), 1))
        assert [moved(arena) for _ in range(2)] == [1, 1]
        arena.act(0, 2)
        assert [moved(arena) for _ in range(3)] == [1, 1, 1]
        arena.act(0, 1)
        arena.act(1, 2)
        assert moved(arena) == 1
        assert arena.actions_since(0) == [0, 0, 0, 0, 2, 0, 2, 0, 2, 0, 1, 2]


def test_a_script_is_played_before_the_users_actions() -> None:
    with crosses(script=(4, 8)) as arena:
        assert [moved(arena), moved(arena)] == [1, 0]
        arena.act(1, 0)
        assert [moved(arena), moved(arena)] == [1, 1], "the second of the script"
        arena.act(1, 2)
        assert [moved(arena), moved(arena)] == [1, 0], "from here on it is the person's"
        arena.act(0, 1)
        moved(arena)
        assert arena.actions_since(0) == [4, 0, 8, 2, 1]


def test_a_script_with_an_illegal_action_is_abandoned() -> None:
    with crosses(script=(4, 0, 8)) as arena:
        moved(arena)
        arena.act(1, 0)
        assert [moved(arena), moved(arena)] == [1, 0]
        arena.act(0, 1)
        assert moved(arena) == 1
        assert arena.actions_since(0) == [4, 0, 1]


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"no json", "JSON"),
        (b"{}", r"file\.script"),
        (b"[]", "file = "),
        (b'{"script": 3}', "a list"),
        (b'{"script": [0, true]}', r"script\[1\] = True"),
        (b'{"script": [1.0]}', r"script\[0\] = 1\.0"),
        (b'{"script": [0, 3]}', r"script\[1\] = 3: must be an action of pong, from 0 to 2"),
        (b'{"script": [-1]}', r"script\[0\] = -1"),
        (b'{"script": [], "script": []}', "duplicate key"),
        (b'{"script": [], "more": 1}', "more"),
        (json.dumps({"script": [0] * 6}).encode(), "6 actions.*at most 5"),
        (b'{"script": [' + b" " * 200 + b"]}", "at most 100 bytes"),
    ],
)
def test_an_invalid_script_is_refused(payload: bytes, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(human, "MOST_ACTIONS", 5)
    monkeypatch.setattr(human, "SIZE", 100)
    with pytest.raises(BadValue, match=message):
        human.HumanPilot(PONG, 2).load(AgentSpec("You", "human", payload))


def test_a_live_kind_that_acts_without_input_fails_the_checks() -> None:
    class Eager(human.HumanPilot):
        def _answer(self, slot: int, legal: object) -> int:
            return max(super()._answer(slot, legal), 0)

    check_kind(human.KIND, CROSSES)
    eager = dataclasses.replace(human.KIND, name="eager", pilot=Eager)
    KINDS.add("eager", eager)
    try:
        with pytest.raises(AssertionError, match="acts before the human player"):
            check_kind(eager, CROSSES)
    finally:
        KINDS.remove("eager")


# In batches


def test_batches_refuse_human_players(executor: ConcurrentMatchExecutor) -> None:
    spec = MatchSpec("m7", PONG.spec, (person(), LAZY), 1)
    message = "match 'm7': 'You' is a human player, so it must be played live"
    with SequentialMatchExecutor(2) as here:
        for chosen in (executor, here):
            for played in (
                lambda executor=chosen: list(executor.run([spec])),
                lambda executor=chosen: executor.execute_matches([spec]),
            ):
                with pytest.raises(BadSpec, match=message):
                    played()
    other = MatchSpec("m8", PONG.spec, (LAZY, LAZY), 1)
    assert executor.execute_match(other).steps > 0, "and go on with others"


# Live


def test_a_held_action_is_played(executor: ConcurrentMatchExecutor) -> None:
    with executor.watch(MatchSpec("m", LONG.spec, (TRACKER, person()), 1), pace=200) as live:
        playback, reached = followed(live)
        until(lambda: reached(10))
        assert set(playback.actions_of(1)) == {0}, "nothing pressed yet"
        live.act(1, 2)
        until(lambda: 2 in playback.actions_of(1) or reached(10**6))
        live.act(1, 1)
        live.finish()
        live.wait()
        reached(0)
        done = playback.actions_of(1)
    assert [done[0], *[b for a, b in itertools.pairwise(done) if a != b]] == [0, 2, 1], "each until the next"
    assert set(playback.actions_of(0)) > {0}, "the other one plays by itself"


def test_a_match_waiting_for_a_human_reacts_to_an_action(executor: ConcurrentMatchExecutor) -> None:
    with executor.watch(MatchSpec("m", CROSSES.spec, (person(), ANYHOW), 1), pace=1000) as live:
        until(commands_handled(executor, live))
        assert live.actions_since(0) == []
        live.pace(500)
        live.pause()
        live.finish()
        live.act(0, 0)
        playback, reached = followed(live)
        until(lambda: reached(2))
        assert playback.actions_of(0) == [0]
        live.act(0, 0)  # that cell is taken: it goes on waiting
        live.act(0, RESIGN)
        result = live.wait()
    reached(0)
    assert playback.steps == 2
    assert (result.ending.kind, result.ending.seats) == (EndingKind.RESIGNED, (0,))
    verified(live.spec, result)


def test_closing_a_match_that_waits_for_a_human_ends_it(executor: ConcurrentMatchExecutor) -> None:
    live = executor.watch(MatchSpec("m", CROSSES.spec, (person(), ANYHOW), 1))
    live.close()
    assert live.wait().ending.kind is EndingKind.CANCELLED


def test_skipping_to_the_result_plays_on_with_the_held_action(executor: ConcurrentMatchExecutor) -> None:
    with executor.watch(MatchSpec("m", PONG.spec, (person(), LAZY), 1), pace=1) as live:
        live.finish()
        result = live.wait()
    assert not result.ending.seats
    assert not result.repeatable
    assert verified(live.spec, result).steps == result.steps


def test_the_first_steps_can_be_played_at_full_speed(executor: ConcurrentMatchExecutor) -> None:
    with executor.watch(MatchSpec("m", LONG.spec, (TRACKER, LAZY), 1), pace=2, skip=150) as live:
        _, reached = followed(live)
        until(lambda: reached(150))  # 75 seconds at its pace
    with pytest.raises(BadValue, match="skip = -1"):
        executor.watch(live.spec, skip=-1)


def test_only_human_seats_accept_actions(executor: ConcurrentMatchExecutor) -> None:
    with executor.watch(MatchSpec("m", PONG.spec, (TRACKER, person()), 1), pace=1) as live:
        for seat, action, message in (
            (0, 1, "seat = 0: must be the seat of a human; 'Tracker' is not one"),
            (2, 1, "seat = 2"),
            (-1, 1, "seat = -1"),
            (True, 1, "seat = True"),
            (1, 3, "action = 3: must be a whole number from 0 to 2, or -2 to resign"),
            (1, -1, "action = -1"),
            (1, 1.0, r"action = 1\.0"),
        ):
            with pytest.raises(BadValue, match=message):
                live.act(seat, action)
