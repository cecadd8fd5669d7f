"""Trajectories: they equal the same matches in an arena, and depend only on the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from agents.neat.pilot import KIND as NEAT
from agents.scripted.pong import KIND as PONG_BOTS
from engine.errors import BadSpec, BadValue, PolicyFailed
from engine.game import AgentKind, Game
from engine.kernels import row
from engine.play.arena import Arena
from engine.play.match import AgentSpec, Clock, EndingKind, Limits, MatchSpec
from engine.play.rollout import Plan, Rollout, Trajectories
from engine.registry import GAMES, KINDS, new_game
from engine.seeding import derive
from tests.engine.play.dense import spread
from tests.plugins import nets, stones
from tests.plugins.nets import NetPilot

ARRAYS = ("obs", "actions", "log_probs", "values", "rewards", "acted", "ends")  # all that segments do not decide


@row
def odd_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """Legal actions until step 3, then an invalid one made from the number of the agent."""
    return np.int64(0) if ply < 3 else -np.int64(agent)


class OddPilot(nets.NetPilot):
    """A compiled player that answers invalid actions; agent 2 resigns and agent 5 returns BROKEN."""

    act_row = staticmethod(odd_row)
    policy_row = value_row = decide = property()  # type: ignore[assignment] # no policy: hasattr() is False
    numbers = np.zeros(0)

    @property
    def arrays(self):  # type: ignore[no-untyped-def]
        return (self.numbers,)

    def load(self, agent: AgentSpec) -> int:
        return int(agent.payload)


class LimitedPilot(nets.NetPilot):
    capacity = 4  # type: ignore[assignment]


ODD = AgentKind("odd-rows", 1, OddPilot, lambda game: True, lambda game: [])
LIMITED = AgentKind("limited", 1, LimitedPilot, lambda game: True, lambda game: [])


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    GAMES.add("stones", stones.Stones)  # not removed: other test modules use it too
    for kind in (nets.KIND, ODD, LIMITED):
        KINDS.add(kind.name, kind)
    yield
    for kind in (nets.KIND, ODD, LIMITED):
        KINDS.remove(kind.name)


def small_game(name: str) -> Game:
    options = {"pong": {"points": 1, "step_limit": 120}, "treasure-hunt": {"seats": 3, "turns": 25, "frames": 2}}
    return new_game(name, **options.get(name, {}))


def dice(game: Game) -> AgentSpec:
    return AgentSpec("Dice", "dice")


def plan_for(game: Game) -> Plan:
    """Matches in which the network plays one seat or all, dice the others; some have limits."""
    me, seats = nets.agent("me", game, [12, 20], 7), game.info.seats

    def plan(stream: int, k: int) -> MatchSpec:
        own = 1 + (stream + k) % seats
        players = [me] * own + [dice(game)] * (seats - own)
        turned = players[k % seats :] + players[: k % seats]
        limits = Limits(steps=4 + stream if k % 3 == 1 else None)
        start = "7" if game.spec.name == "stones" and k % 2 else None
        return MatchSpec(f"{stream}.{k}", game.spec, tuple(turned), derive("rollout", stream, k), start, limits)

    return plan


def rolled(game: Game, plan: Plan, streams: Sequence[int], steps: Sequence[int]) -> Trajectories:
    """Segments of these lengths, concatenated; observations are by stream, step and seat."""
    with Rollout(game, streams, plan) as rollout:
        parts = [spread(rollout.collect(count)) for count in steps]
    joined = {name: np.concatenate([getattr(part, name) for part in parts], axis=1) for name in (*ARRAYS, "bootstrap")}
    results = sorted(
        (result for part in parts for result in part.results), key=lambda result: int(result.id.split(".")[0])
    )
    return parts[0]._replace(results=tuple(results), **joined)


def check_equal(trajectories: Trajectories, other: Trajectories) -> None:
    for name in ARRAYS:
        assert np.array_equal(getattr(trajectories, name), getattr(other, name)), name
    assert [result.digest() for result in trajectories.results] == [result.digest() for result in other.results]


def ticked(game: Game, plan: Plan, stream: int, steps: int) -> tuple[dict[str, np.ndarray], list[object]]:
    """The same from an arena of one lane, tick by tick."""
    seats = game.info.seats
    shape = (steps, seats)
    found = {name: np.zeros(shape) for name in ("actions", "rewards", "acted")}
    found |= {"obs": np.zeros((*shape, *game.info.observation), np.float32), "ends": np.zeros(steps)}
    results, k = [], 0
    with Arena(1, rewards=True, record=False) as arena:
        for step in range(steps):
            if not arena.playing:
                results += arena.take_results()
                arena.add(plan(stream, k))
                k += 1
            NetPilot.seen = []
            (tick,) = arena.tick()
            for slots, obs, answers in NetPilot.seen:
                found["obs"][step, slots], found["actions"][step, slots] = obs, answers
                found["acted"][step, slots] = True
            assert tick.rewards is not None
            found["rewards"][step] = tick.rewards[0]
            if tick.ended.size:
                found["ends"][step] = tick.group.boards.over()[0] or 2
        results += arena.take_results()
    NetPilot.seen = None
    return found, [result.digest() for result in results]


@pytest.mark.parametrize("name", ["pong", "treasure-hunt", "stones"])
def test_a_rollout_equals_the_matches_of_an_arena(name: str) -> None:
    game = small_game(name)
    plan, steps, streams = plan_for(game), 400 if name == "pong" else 90, (0, 1, 2, 5)
    rollout = rolled(game, plan, streams, [steps])
    by_stream: list[bytes] = []
    for at, stream in enumerate(streams):
        found, digests = ticked(game, plan, stream, steps)
        by_stream += digests
        for key, expected in found.items():
            assert np.array_equal(getattr(rollout, key)[at], expected), f"{key} of stream {stream}"
    assert [result.digest() for result in rollout.results] == by_stream
    assert set(np.unique(rollout.ends)) == ({0, 1, 2, 3} if name == "stones" else {0, 1, 2})


@pytest.mark.parametrize("name", ["pong", "treasure-hunt", "stones"])
def test_log_probabilities_and_values_belong_to_the_observations(name: str) -> None:
    game = small_game(name)
    plan = plan_for(game)
    rollout = rolled(game, plan, range(4), [60])
    acted = np.nonzero(rollout.acted)
    legal = np.ones((len(acted[0]), game.info.actions), np.bool_) if rollout.legal is None else rollout.legal[acted]
    chances, values = nets.exact(nets.read(plan(0, 0).players[0].payload), rollout.obs[acted], legal)
    chosen = chances[np.arange(len(legal)), rollout.actions[acted]]
    np.testing.assert_allclose(rollout.log_probs[acted], chosen, atol=5e-6)
    np.testing.assert_allclose(rollout.values[acted], values, atol=5e-6)
    for array in (rollout.actions, rollout.log_probs, rollout.values, rollout.obs):
        assert not array[~rollout.acted].any(), "nothing else is recorded"


@pytest.mark.parametrize("name", ["pong", "treasure-hunt", "stones"])
def test_segment_lengths_and_other_streams_change_nothing(name: str) -> None:
    game = small_game(name)
    plan = plan_for(game)
    whole = rolled(game, plan, range(5), [96])
    check_equal(whole, rolled(game, plan, range(5), [1, 2, 29, 64]))
    backwards = rolled(game, plan, [4, 3, 2, 1, 0], [50, 46])
    for at in range(5):
        alone = rolled(game, plan, [at], [96])
        for key in ARRAYS:
            assert np.array_equal(getattr(alone, key)[0], getattr(whole, key)[at]), key
            assert np.array_equal(getattr(alone, key)[0], getattr(backwards, key)[4 - at]), key
        own = [result.digest() for result in whole.results if result.id.startswith(f"{at}.")]
        assert [result.digest() for result in alone.results] == own


def test_the_observation_after_a_truncated_step_is_valued() -> None:
    game = small_game("stones")
    plan = plan_for(game)
    whole, split = rolled(game, plan, range(4), [60]), rolled(game, plan, range(4), [30, 30])
    learns = np.zeros_like(whole.acted)
    for stream in range(4):
        k = 0
        for step in range(60):
            learns[stream, step] = [player.id == "me" for player in plan(stream, k).players]
            k += whole.ends[stream, step] != 0
    truncated = (whole.ends == 2)[:, :, None] & learns
    assert truncated.any()
    last = np.arange(60) == 59
    wanted = truncated | (last[None, :] & (whole.ends == 0))[:, :, None] & learns
    assert np.array_equal(whole.bootstrap != 0, wanted)
    running = np.flatnonzero(split.ends[:, 29] == 0)
    assert running.size
    following = split.acted[running, 30]
    assert np.array_equal(split.bootstrap[running, 29][following], split.values[running, 30][following])


def test_only_learners_are_recorded() -> None:
    game = small_game("pong")
    me, frozen = nets.agent("me", game, [16], 1), nets.agent("frozen", game, [16], 2)
    (evolved,) = NEAT.samples(game)
    tracker = next(agent for agent in PONG_BOTS.samples(game) if agent.id == "Tracker")

    def plan(stream: int, k: int) -> MatchSpec:
        return MatchSpec(f"{stream}.{k}", game.spec, (me, (frozen, tracker, evolved)[stream]), derive(stream, k))

    with Rollout(game, [0, 1, 2], plan, learners=["me"]) as rollout:
        own = spread(rollout.collect(200))
    assert own.acted[:, :, 0].all()
    assert not own.acted[:, :, 1].any()
    assert not own.obs[:, :, 1].any()
    assert not own.bootstrap[:, :, 1].any()
    everyone = rolled(game, plan, [0, 1, 2], [200])
    assert everyone.acted[0].all()
    assert not everyone.acted[1:, :, 1].any()
    assert np.array_equal(everyone.obs[:, :, 0], own.obs[:, :, 0]), "recording changes no match"
    for at in range(3):
        found, _ = ticked(game, plan, at, 200)
        assert np.array_equal(found["rewards"], own.rewards[at])
        assert np.array_equal(found["ends"], own.ends[at])


@pytest.mark.parametrize("compiled", [True, False])
def test_learners_that_never_play_are_refused_with_the_ids_of_those_who_do(compiled: bool) -> None:
    game = small_game("pong")
    me = nets.agent("me", game, [8], 1)

    def plan(stream: int, k: int) -> MatchSpec:
        return MatchSpec(f"{stream}.{k}", game.spec, (me, dice(game)), derive(stream, k))

    with Rollout(game, [0, 1], plan, learners=["mee"], compiled=compiled) as rollout:
        for _ in range(2):
            with pytest.raises(BadSpec, match="learners: 'mee' never played; the players were 'Dice', 'me'"):
                rollout.collect(8)
    with Rollout(game, [0], plan, learners=["me", "later"], compiled=compiled) as rollout:
        assert rollout.collect(8).acted.any(), "the other one may play later"
    with Rollout(game, [0], plan, learners=["elsewhere"], agents={"elsewhere": me}, compiled=compiled) as rollout:
        assert not rollout.collect(8).acted.any(), "of a given agent, other streams may have the matches"
    with Rollout(game, [0], plan, learners=[], compiled=compiled) as rollout:
        assert not rollout.collect(8).acted.any(), "none is wanted"


def test_legal_actions_are_recorded_where_a_game_masks() -> None:
    rollout = rolled(small_game("stones"), plan_for(small_game("stones")), range(4), [60])
    assert rollout.legal is not None
    acted = np.nonzero(rollout.acted)
    assert rollout.legal[(*acted, rollout.actions[acted])].all()
    assert not rollout.legal[acted].all()
    assert rolled(small_game("pong"), plan_for(small_game("pong")), [0], [1]).legal is None


def test_matches_continue_with_replaced_weights() -> None:
    game = small_game("treasure-hunt")
    before, after = nets.agent("me", game, [16], 1), nets.agent("me", game, [16], 2)
    current = before

    def plan(stream: int, k: int) -> MatchSpec:
        return MatchSpec(f"{stream}.{k}", game.spec, (current,) * 3, derive(stream, k))

    with Rollout(game, [0], plan) as rollout:
        rollout.collect(10)
        rollout.replace(after)
        second = spread(rollout.collect(10))
        current = after
        rollout.collect(30)  # in which a match begins
        with pytest.raises(BadSpec, match="'you', of kind 'drawn-net', cannot be replaced"):
            rollout.replace(replace(after, id="you"))
    pilot = NetPilot(game, 1)
    number = pilot.load(after)
    values = [pilot.value_row(pilot.arrays, number, value) for value in second.obs[0, :, 0]]
    assert values == second.values[0, :, 0].tolist()


def test_a_match_that_is_over_at_its_start_is_skipped() -> None:
    game = small_game("stones")
    me = nets.agent("me", game, [8], 1)

    def plan(stream: int, k: int) -> MatchSpec:
        empty = stream == 9 or k % 2 == 0
        return MatchSpec(f"{stream}.{k}", game.spec, (me, me), k, start="0" if empty else "2")

    rollouts = rolled(game, plan, [0], [6])
    assert [(result.id, result.steps > 0) for result in rollouts.results[:4]] == [
        ("0.0", False),
        ("0.1", True),
        ("0.2", False),
        ("0.3", True),
    ]
    with Rollout(game, [9], plan) as rollout, pytest.raises(BadSpec, match="stream 9: 100 matches in a row are over"):
        rollout.collect(1)


def test_results_are_those_of_an_arena_without_actions() -> None:
    game = small_game("pong")
    (first, *_) = rolled(game, plan_for(game), [1], [300]).results
    with Arena(1, record=False) as arena:
        arena.add(plan_for(game)(1, 0))
        while arena.playing:
            arena.tick()
        (same,) = arena.take_results()
    assert first == replace(same, duration=first.duration)
    assert first.actions == b""
    assert rolled(game, plan_for(game), [0], [300]).results[1].ending.kind is EndingKind.STEP_LIMIT


@pytest.mark.parametrize(("number", "message"), [(0, ""), (2, "resigned"), (5, "has no answer"), (7, "answered -7; ")])
def test_an_answer_that_is_not_legal_names_agent_and_stream(number: int, message: str) -> None:
    game = small_game("pong")
    me, odd = nets.agent("me", game, [8], 1), AgentSpec("Odd", ODD.name, str(number).encode())

    def plan(stream: int, k: int) -> MatchSpec:
        return MatchSpec(f"{stream}.{k}", game.spec, (me, odd if stream == 31 else me), k)

    with Rollout(game, [30, 31], plan) as rollout:
        if not message:
            assert rollout.collect(20).acted.any()
            return
        with pytest.raises(PolicyFailed, match=f"stream 31, match '31.0', step 3: 'Odd' {message}"):
            rollout.collect(20)


def test_a_network_that_is_broken_can_be_replaced() -> None:
    game = small_game("pong")
    good, bad = nets.agent("me", game, [8], 1), nets.agent("me", game, [8], 1, nan=True)
    with Rollout(game, [0], lambda stream, k: MatchSpec(f"{k}", game.spec, (good, good), k)) as rollout:
        rollout.collect(5)
        rollout.replace(bad)
        with pytest.raises(PolicyFailed, match="'me' has no answer"):
            rollout.collect(5)
        rollout.replace(good)
        rest = spread(rollout.collect(5))
    with Rollout(game, [0], lambda stream, k: MatchSpec(f"{k}", game.spec, (good, good), k)) as rollout:
        whole = spread(rollout.collect(10))
    assert np.array_equal(rest.obs, whole.obs[:, 5:]), "no step was played with the broken network"


def test_a_match_that_cannot_be_rolled_out_is_refused() -> None:
    game = small_game("pong")
    me = nets.agent("me", game, [8], 1)
    good, limited = MatchSpec("m", game.spec, (me, me), 0), replace(me, kind=LIMITED.name)
    bad: dict[str, MatchSpec] = {
        "'me', of kind 'limited', cannot be rolled out: its pilot plays only 4": replace(good, players=(limited,) * 2),
        "a match with a clock": replace(good, limits=Limits(clock=Clock(1.0))),
        "it is a match of": replace(good, game=small_game("stones").spec),
        "needs 2 players": replace(good, players=(me,)),
        "'Dice', of kind 'dice', cannot learn": replace(good, players=(me, dice(game))),
    }
    for message, spec in bad.items():
        learners = ["me", "Dice"] if "learn" in message else None
        rollout = Rollout(game, [0], lambda stream, k, spec=spec: spec, learners)
        with rollout, pytest.raises(BadSpec, match=message):
            rollout.collect(4)
    with Rollout(game, [0], lambda stream, k: good) as rollout, pytest.raises(BadValue, match="steps = 0"):
        rollout.collect(0)


@pytest.mark.parametrize("other", [LIMITED.name, ""])
def test_a_refused_match_leaves_streams_where_they_are(other: str) -> None:
    game = small_game("pong")
    plan, refused = plan_for(game), [True]

    def at_first_wrong(stream: int, k: int) -> MatchSpec:
        spec = plan(stream, k)
        limited = nets.agent("limited", game, [8], 1)
        players = (spec.players[0], replace(limited, kind=other)) if other else spec.players[:1]
        return replace(spec, players=players) if stream == 2 and refused[0] else spec

    with Rollout(game, range(3), at_first_wrong) as rollout:
        with pytest.raises(BadSpec, match=r"match '2\.0'"):
            rollout.collect(8)
        refused[0] = False
        check_equal(spread(rollout.collect(300)), rolled(game, plan, range(3), [300]))
