"""Shogi marched, many moves in one compiled call, is the Shogi of ticks."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.nets.network import dump
from agents.scripted.shogi import SAMPLES, Bot, agent
from engine.play.arena import Arena
from engine.play.executors import SequentialMatchExecutor
from engine.play.march import Marching
from engine.play.match import AgentSpec, EndingKind, Limits, MatchResult, MatchSpec
from engine.registry import new_game
from engine.seeding import derive
from tests.plugins import pilots
from tests.plugins.networks import SMALL, drawn

DICE, FAST = AgentSpec("Dice", "dice"), pilots.agent("fast")  # the second one is played by ticks alone
NET = AgentSpec("Net", "net", dump(drawn(SMALL, new_game("shogi"))))
QUICK = [DICE, *(agent(name, SAMPLES[name]) for name in ("Pebble", "Magpie", "Merchant", "Apprentice"))]
GAMES = (
    new_game("shogi"),
    new_game("shogi", opening="random", random_plies=30, declaration=False),
    new_game("shogi", opening="none", move_limit=40),
)
STARTS = (
    None,
    "startpos moves 7g7f 3c3d 8h2b+",
    "4k4/9/9/9/9/9/9/9/K4R3 b - 1",
    "4K4/PPPPPPPPP/9/9/9/9/9/9/4k4 b 2R2B4G4S4N4L9P 1",  # nearly an entered king's win
)


def specs() -> list[MatchSpec]:
    """Each style against each, and against dice, by all options, with and without limits and starts."""
    pairs = [(agent, other) for agent in QUICK for other in QUICK]
    return [
        MatchSpec(
            f"{place}-{number}",
            game.spec,
            pair,
            derive(place, number),
            STARTS[(number + place) % len(STARTS)],
            Limits((None, 37)[number % 2]),
        )
        for place, game in enumerate(GAMES)
        for number, pair in enumerate(pairs)
    ]


def results(lanes: int, marching: Marching, matches: list[MatchSpec]) -> list[MatchResult]:
    with SequentialMatchExecutor(lanes, marching=marching) as executor:
        return executor.execute_matches(matches)


@functools.cache
def ticked() -> list[MatchResult]:
    return results(64, Marching.NEVER, specs())


@pytest.mark.parametrize("lanes", [1, 3, 64])
def test_marches_and_ticks_give_the_same_matches(lanes: int) -> None:
    marched = results(lanes, Marching.AT_ONCE, specs())
    assert [result.digest() for result in marched] == [result.digest() for result in ticked()]


@settings(max_examples=12)
@given(
    opening=st.sampled_from(["set", "random", "none"]),
    random_plies=st.integers(1, 60),
    move_limit=st.integers(2, 80),
    declaration=st.booleans(),
    steps=st.none() | st.integers(1, 100),
    lanes=st.sampled_from([1, 2, 7, 64]),
    starts=st.lists(st.sampled_from(STARTS), min_size=1, max_size=3),
    players=st.lists(st.sampled_from([*QUICK, NET, FAST]), min_size=1, max_size=4),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_mix_of_kinds_and_options_is_the_same_marched_and_ticked(
    opening: str, random_plies: int, move_limit: int, declaration: bool, steps: int | None, lanes: int,
    starts: list[str | None], players: list[AgentSpec], seed: int,
) -> None:  # fmt: skip
    game = new_game("shogi", opening=opening, random_plies=random_plies, move_limit=move_limit, declaration=declaration)
    matches = [
        MatchSpec(
            f"m{number}",
            game.spec,
            (players[number % len(players)], players[number // 2 % len(players)]),
            seed ^ number,
            starts[number % len(starts)],
            Limits(steps),
        )
        for number in range(8)
    ]
    ticks, marches = (results(lanes, marching, matches) for marching in (Marching.NEVER, Marching.AT_ONCE))
    assert [result.digest() for result in ticks] == [result.digest() for result in marches]


def test_the_compared_matches_cover_all_endings() -> None:
    kinds = {result.ending.kind for result in ticked()}
    assert kinds == {EndingKind.FINISHED, EndingKind.STEP_LIMIT, EndingKind.NO_CONTEST}
    assert {result.scores for result in ticked()} >= {(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)}


def test_deeper_searches_give_the_same_moves_in_a_march() -> None:
    players = [agent(f"depth {depth}", Bot("search", depth=depth)) for depth in (2, 3)]
    matches = [
        MatchSpec(str(seed), GAMES[1].spec, (players[seed % 2], players[1 - seed % 2]), seed, None, Limits(12))
        for seed in range(4)
    ]
    first, second = (results(4, marching, matches) for marching in (Marching.NEVER, Marching.AT_ONCE))
    assert [result.actions for result in first] == [result.actions for result in second]
    assert all(result.steps == 12 for result in first)


def test_a_march_without_time_left_ends_after_one_move() -> None:
    """So slow players do not keep an executor from stopping: the clock is read after each of their moves."""
    master = agent("Master", SAMPLES["Master"])
    matches = [MatchSpec(str(seed), GAMES[0].spec, (master, master), seed, None, Limits(4)) for seed in range(3)]
    with Arena(1, marching=Marching.AT_ONCE) as arena:
        for spec in matches:
            arena.add(spec)
        for moves in range(1, 4):
            arena.advance(0.0)
            assert len(arena.actions_since(0)) == moves
            assert not arena.take_results()
        assert arena.recall() == matches[1:], "what was not begun"
        arena.advance(0.0)
        [result] = arena.take_results()
        assert arena.idle
    assert result.digest() == results(1, Marching.NEVER, matches[:1])[0].digest()


def test_an_interrupted_marched_match_restarts_from_its_beginning() -> None:
    merchant = agent("Merchant", SAMPLES["Merchant"])
    matches = [MatchSpec(str(seed), GAMES[0].spec, (merchant, DICE), seed) for seed in range(5)]
    with Arena(2, marching=Marching.AT_ONCE) as arena:
        for spec in matches:
            arena.add(spec)
        arena.advance(0.0)
        dropped = arena.drop()
        assert sorted(spec.id for spec in dropped) == [spec.id for spec in matches]
        for spec in dropped:
            arena.add(spec)
        found = {}
        while not arena.idle:
            arena.advance(0.002)
            found |= {result.id: result.digest() for result in arena.take_results()}
    assert found == {result.id: result.digest() for result in results(5, Marching.NEVER, matches)}
