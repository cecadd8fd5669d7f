"""The arena gives exactly one result for every match, whatever players are on its lanes."""

from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadSpec, RingsideError
from engine.game import AgentKind, Game, GameInfo
from engine.play.arena import GROUP_BYTES, Arena, lanes_for
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, Limits, MatchSpec, run_digest
from engine.registry import KINDS, new_game
from tests.engine.play.play_matches import QUICK, run, specs_of
from tests.plugins import pilots
from tests.plugins.pilots import RowPilot, agent

FAIR = ("fast", "slow", "remembering", "vandal", "resigning", "illegal")
CASES = st.lists(st.tuples(st.sampled_from(FAIR), st.sampled_from(FAIR), st.integers(0, 5)), min_size=1, max_size=25)


@given(CASES, st.integers(1, 30), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_a_match_gives_the_same_result_beside_any_others(cases: list, lanes: int, order: random.Random) -> None:
    specs = specs_of(new_game("pong", **QUICK), cases)
    reference = {spec.id: run([spec], 1)[spec.id] for spec in specs}
    shuffled = order.sample(specs, len(specs))
    assert run_digest(run(shuffled, lanes).values()) == run_digest(reference.values())


@given(CASES, st.integers(1, 12))
@settings(max_examples=25)
def test_every_slot_begins_and_ends_exactly_once(cases: list, lanes: int) -> None:
    created: list[pilots.RowPilot] = []
    for name in FAIR:
        KINDS.add(name, pilots.row_kind(name, created))
    try:
        specs = specs_of(new_game("pong", **QUICK), cases)
        run(specs, lanes)
    finally:
        for name in FAIR:
            KINDS.add(name, pilots.row_kind(name))
    begun = sum(event == "begin" for pilot in created for event, _ in pilot.log)
    ended = sum(event == "end" for pilot in created for event, _ in pilot.log)
    assert begun == ended == 2 * len(specs)  # RowPilot itself refuses a slot that begins twice or ends unbegun
    assert [pilot.log[-1] for pilot in created] == [("close", 0)] * len(created), "closed while idle"


@pytest.mark.parametrize("lanes", [1, 7, 256])
def test_a_league_of_bots_has_one_digest(lanes: int, pong: Game) -> None:
    bots = list(KINDS.get("pong-bot").samples(pong))
    others = [agent("remembering"), agent("slow"), agent("vandal")]
    specs = [
        MatchSpec(f"{a.id}-{b.id}", pong.spec, (a, b), n, None, Limits(1500))
        for n, (a, b) in enumerate((a, b) for a in bots + others for b in bots + others)
    ]
    random.Random(lanes).shuffle(specs)
    assert run_digest(run(specs, lanes).values()) == "b07036022dffffe122b2a2dc662871d4"


def test_an_agent_that_reseeds_every_generator_changes_no_other_match(pong: Game) -> None:
    specs = specs_of(pong, [("remembering", "fast", n) for n in range(6)])
    alone = run(specs, 6)
    with_vandal = run([*specs, *(MatchSpec(f"v{n}", pong.spec, (agent("vandal"),) * 2, n) for n in range(6))], 4)
    assert run_digest(alone.values()) == run_digest(with_vandal[spec.id] for spec in specs)


def test_an_agent_may_play_itself_and_its_two_seats_differ(pong: Game) -> None:
    result = run([MatchSpec("m", pong.spec, (agent("fast"), agent("fast")), 3, None, Limits(50))], 1)["m"]
    actions = np.unpackbits(np.frombuffer(result.actions, np.uint8), bitorder="little").reshape(-1, 2, 2)
    assert actions[:, 0].tolist() != actions[:, 1].tolist()


@pytest.mark.parametrize("capacity", [2, 3, 5])
def test_a_pilot_never_holds_more_slots_than_its_capacity(capacity: int) -> None:
    created: list[pilots.RowPilot] = []
    KINDS.add("narrow", pilots.row_kind("narrow", created, capacity, "fast"))
    try:
        game = new_game("pong", **QUICK)
        specs = [MatchSpec(f"m{n}", game.spec, (agent("narrow"), agent("narrow")), n) for n in range(9)]
        run(specs, 8)
        KINDS.add("narrow", pilots.row_kind("narrow", created, 1, "fast"))
        with pytest.raises(BadSpec, match="'m0' seats more players of one kind"):
            run(specs, 8)
    finally:
        KINDS.remove("narrow")
    held, most = 0, 0
    for event, _ in created[0].log:
        held += {"begin": 1, "end": -1, "close": 0}[event]
        most = max(most, held)
    assert most == capacity - capacity % 2


def test_a_step_limit_ends_a_match(pong: Game) -> None:
    result = run([MatchSpec("m", pong.spec, (agent("fast"), agent("fast")), 1, None, Limits(17))], 3)["m"]
    assert (result.steps, result.ending.kind) == (17, EndingKind.STEP_LIMIT)


def test_options_and_starts_may_differ_from_match_to_match() -> None:
    short, long = new_game("pong", points=1), new_game("pong", points=3)
    specs = [
        MatchSpec(f"{game.options.points}{start}{n}", game.spec, (agent("fast"), agent("fast")), n, start)
        for game in (short, long)
        for start in (None, "left", "right")
        for n in range(3)
    ]
    results = run(specs, 4)
    assert {max(results[spec.id].scores) for spec in specs if spec.game == short.spec} == {1}
    assert {max(results[spec.id].scores) for spec in specs if spec.game == long.spec} == {3}
    assert (
        results["1left0"].actions != results["1right0"].actions or results["1left0"].scores != results["1right0"].scores
    )


def test_many_games_in_one_arena_give_all_their_results() -> None:
    games = [new_game("pong", points=1, paddle_speed=float(n)) for n in range(1, 15)]
    specs = [MatchSpec(f"g{n}", game.spec, (agent("fast"), agent("fast")), n) for n, game in enumerate(games)]
    assert len(run(specs, 2)) == 14


def test_rewards_add_up_to_the_scores() -> None:
    game = new_game("pong", points=2)
    with Arena(2, rewards=True) as arena:
        arena.add(MatchSpec("m", game.spec, (agent("fast"), agent("fast")), 1))
        total = np.zeros(2)
        while not arena.idle:
            for tick in arena.tick():
                assert tick.rewards is not None
                total += tick.rewards[tick.moved].sum(axis=0)
                if tick.ended.size:
                    assert tick.group.boards.scores()[tick.ended[0]].tolist() == total.tolist(), "readable at the end"
            results = arena.take_results()
    assert results[0].scores == tuple(total)


def test_without_recording_only_the_actions_are_missing(pong: Game) -> None:
    spec = MatchSpec("m", pong.spec, (agent("fast"), agent("fast")), 1, None, Limits(99))
    with SequentialMatchExecutor(1, record=False) as bare, SequentialMatchExecutor(1) as full:
        result, other = bare.execute_match(spec), full.execute_match(spec)
    assert result.actions == b""
    assert len(other.actions) == (99 * 4 + 7) // 8
    assert (result.scores, result.stats, result.steps) == (other.scores, other.stats, other.steps)


def test_recalled_matches_are_the_ones_without_a_result(pong: Game) -> None:
    specs = specs_of(new_game("pong", **QUICK), [("fast", "fast", n) for n in range(50)])
    with SequentialMatchExecutor(4) as executor:
        coming = iter(specs)
        results = executor.run(coming)
        done = [next(results)]
        back = executor.recall()
        done += results
        left = list(coming)
        again = list(executor.run([*back, *left]))
    assert {result.id for result in done}.isdisjoint(spec.id for spec in [*back, *left])
    assert sorted(result.id for result in [*done, *again]) == sorted(spec.id for spec in specs)


def test_a_run_that_is_closed_early_leaves_no_matches(pong: Game) -> None:
    specs = specs_of(new_game("pong", **QUICK), [("fast", "slow", n) for n in range(20)])
    with SequentialMatchExecutor(4) as executor:
        results = executor.run(specs)
        next(results)
        results.close()
        assert len(list(executor.run(specs))) == 20


def test_an_arena_needs_a_lane() -> None:
    with pytest.raises(BadSpec, match="lanes = 0"):
        Arena(0)


def test_a_match_that_is_over_at_its_start_gives_its_result() -> None:
    game = new_game("mixed")
    specs = [
        MatchSpec(f"m{n}", game.spec, (agent("fast"), agent("slow")), n, start)
        for n, start in enumerate(("0", "8") * 3)
    ]
    results = run(specs, 2)
    assert {results[f"m{n}"].steps for n in (0, 2, 4)} == {0}
    assert all(results[f"m{n}"].steps > 1 for n in (1, 3, 5))


def test_a_match_without_a_result_is_no_contest() -> None:
    game = new_game("mixed")
    specs = [MatchSpec(f"m{n}", game.spec, (agent("fast"), agent("fast")), n) for n in range(40)]
    kinds = {result.ending.kind for result in run(specs, 8).values()}
    assert kinds == {EndingKind.FINISHED, EndingKind.NO_CONTEST}


def test_steps_of_all_seats_and_of_one_seat_may_alternate() -> None:
    """A match in which all seats act only at times goes the same way alone and beside a slow match."""
    game = new_game("mixed")
    specs = [MatchSpec(f"m{n}", game.spec, (agent("remembering"), agent("fast")), n) for n in range(12)]
    slow = [MatchSpec(f"s{n}", game.spec, (agent("slow"), agent("fast")), n) for n in range(6)]
    together = run([*specs, *slow], 18)
    assert run_digest(together[spec.id] for spec in specs) == run_digest(run(specs, 1).values())
    assert not any(result.ending.seats for result in together.values())


def test_fast_matches_do_not_wait_for_slow_ones() -> None:
    game = new_game("pong", **QUICK)
    KINDS.add("asleep", AgentKind("asleep", 1, lambda g, s: RowPilot(lambda *_: -1), lambda g: True, lambda g: []))
    try:
        with Arena(64) as arena:
            for n in range(60):
                arena.add(MatchSpec(f"s{n}", game.spec, (agent("asleep"), agent("fast")), n))
            for n in range(20):
                arena.add(MatchSpec(f"f{n}", game.spec, (agent("fast"), agent("fast")), n, None, Limits(5)))
            done: set[str] = set()
            for _ in range(300):
                arena.tick()
                done |= {result.id for result in arena.take_results()}
    finally:
        KINDS.remove("asleep")
    assert done == {f"f{n}" for n in range(20)}


def test_an_id_may_stand_for_another_agent_in_the_next_run(pong: Game) -> None:
    bots = {style: AgentSpec("x", "pong-bot", f'{{"style": "{style}"}}'.encode()) for style in ("still", "tracker")}
    still = next(agent for agent in KINDS.get("pong-bot").samples(pong) if agent.id == "Still")
    with SequentialMatchExecutor(4) as executor:
        distances = [
            executor.execute_match(MatchSpec("m", pong.spec, (bot, still), 1)).stats[0][2] for bot in bots.values()
        ]
    assert distances[0] == 0
    assert distances[1] > 0


def test_results_of_a_closed_run_do_not_appear_in_the_next(pong: Game) -> None:
    quick = new_game("pong", **QUICK)
    with SequentialMatchExecutor(8) as executor:
        first = executor.run(specs_of(quick, [("fast", "fast", n) for n in range(30)]))
        next(first)
        with pytest.raises(RingsideError, match="already has a run"):
            next(executor.run([]))
        first.close()
        again = [result.id for result in executor.run([MatchSpec("z", quick.spec, (agent("fast"), agent("fast")), 1)])]
    assert again == ["z"]


def test_results_say_whether_a_match_is_repeatable(pong: Game) -> None:
    KINDS.add("moody", dataclasses.replace(pilots.row_kind("fast"), name="moody", repeatable=False))
    try:
        specs = [MatchSpec(n, pong.spec, (agent("fast"), agent(n)), 1, None, Limits(5)) for n in ("fast", "moody")]
        assert {name: result.repeatable for name, result in run(specs, 2).items()} == {"fast": True, "moody": False}
    finally:
        KINDS.remove("moody")


@pytest.mark.parametrize(
    ("info", "lanes"),
    [
        (GameInfo("", seats=2, actions=3, observation=(8,)), 1024),
        (GameInfo("", seats=2, actions=3, observation=(8,), lanes=32), 32),
        (GameInfo("", seats=2, actions=3, observation=(8,), lanes=4096), 1024),
        (GameInfo("", seats=2, actions=3, observation=(280, 480, 3)), 83),
        (GameInfo("", seats=10, actions=10_000, observation=(500_000,), masked=True), 13),
        (GameInfo("", seats=10, actions=3, observation=(50_000_000,)), 1),
    ],
)
def test_the_number_of_lanes_is_limited_by_memory(info: GameInfo, lanes: int) -> None:
    assert lanes_for(info, 1024) == lanes
    assert lanes_for(info, 1) == 1
    assert (
        lanes == 1 or lanes * info.seats * (4 * math.prod(info.observation) + info.masked * info.actions) <= GROUP_BYTES
    )


def test_a_group_plays_all_matches_on_its_lanes() -> None:
    spec = new_game("pettingzoo:cooperative_pong_v6", max_cycles=2).spec
    dice = (AgentSpec("A", "dice"), AgentSpec("B", "dice"))
    with Arena(1024) as arena:
        for n in range(40):
            arena.add(MatchSpec(f"m{n}", spec, dice, n))
        arena.tick()
        group = arena._group(spec)
        assert group.table.running == group.info.lanes
        assert group._pending._obs.nbytes + group._pending._legal.nbytes <= GROUP_BYTES
        while not arena.idle:
            arena.tick()
        assert len(arena.take_results()) == 40


def test_a_lane_does_not_leak_actions_into_its_next_match(pong: Game) -> None:
    """A lane is freed with a full log and stays empty while others continue."""
    players = (agent("fast"), agent("fast"))
    full, long, next_one = (
        MatchSpec(name, new_game("pong", points=99).spec, players, seed, None, Limits(steps))
        for seed, (name, steps) in enumerate((("full", 8192), ("long", 9000), ("next", 50)))
    )
    with Arena(2) as arena:
        arena.add(full)
        arena.add(long)
        results = []
        while not results:
            arena.tick()
            results = arena.take_results()
        for _ in range(3):
            arena.tick()
        arena.add(next_one)
        while not arena.idle:
            arena.tick()
        results += arena.take_results()
    expected = run([full, long, next_one], 1)
    assert {result.id: result.digest() for result in results} == {
        id_: result.digest() for id_, result in expected.items()
    }
