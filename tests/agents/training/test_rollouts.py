"""Trajectories on several threads or processes are those of one rollout."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.training.rollouts import RolloutPool
from agents.training.trainer_main import TrainerContext
from engine.errors import BadSpec, BadValue, PolicyFailed
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.play.rollout import Rollout, Trajectories
from engine.registry import KINDS, game_of
from tests.plugins import nets, opponents, plans, policies

GAME = game_of(plans.game_spec("pong"))
OTHER = AgentSpec("other", "dice")

HERE = (*policies.ALL, opponents.REMEMBERING)

for kind in HERE:  # importing them registers them for rollout processes; here they are for these tests alone
    KINDS.remove(kind.name)


@pytest.fixture(autouse=True, scope="module")
def kinds() -> Iterator[None]:
    for kind in HERE:
        KINDS.add(kind.name, kind)
    yield
    for kind in HERE:
        KINDS.remove(kind.name)


def pool_of(me: AgentSpec, streams: Sequence[int], workers: Callable[[], int] = lambda: 2) -> RolloutPool:
    plan, plugins = "tests.plugins.plans:two", ["tests.plugins.plans", "tests.plugins.policies"]
    return RolloutPool(GAME, streams, plan, [me, OTHER], workers, settings={"game": "pong"}, plugins=plugins)


def assert_same(trajectories: Trajectories, other: Trajectories) -> None:
    for name, left, right in zip(trajectories._fields[:-1], trajectories, other, strict=False):
        assert left is right is None or np.array_equal(left, right), name
    assert list(map(outcome, trajectories.results)) == list(map(outcome, other.results))


def outcome(result: MatchResult) -> tuple[object, ...]:
    """All but how long it took."""
    return result.id, result.players, result.scores, result.ranks, result.steps, result.stats


def whole(first: AgentSpec, second: AgentSpec, streams: Sequence[int]) -> list[Trajectories]:
    """A segment of one rollout with the first agent, and one with the second in its place."""
    agents = {"me": first, "other": OTHER}

    def plan(stream: int, k: int) -> MatchSpec:
        return plans.two(agents, stream, k, "pong")

    with Rollout(GAME, streams, plan) as rollout:
        before = rollout.collect(90)
        agents["me"] = second
        rollout.replace(second)
        return [before, rollout.collect(60)]


@pytest.mark.parametrize(("streams", "threads"), [(1, 1), (5, 3), (5, 0), (37, 1), (37, 4)])
def test_the_number_of_threads_changes_nothing(streams: int, threads: int) -> None:
    first, second = (nets.agent("me", GAME, [12], seed) for seed in (7, 8))
    with pool_of(first, range(streams), lambda: threads) as pool:
        assert pool.processes == 0
        parted = [pool.collect(90)]
        pool.replace(second)
        parted.append(pool.collect(60))
    expected = whole(first, second, range(streams))
    assert len(expected[0].results) + len(expected[1].results) >= streams, "matches have ended"
    for trajectories, other in zip(expected, parted, strict=True):
        assert_same(trajectories, other)


def test_a_closed_pool_is_freed() -> None:
    job, channel = SimpleNamespace(game=GAME.spec, workers=1, plugins=()), SimpleNamespace(get=list)
    context = TrainerContext(channel, job)  # type: ignore[arg-type]
    agents = [nets.agent("me", GAME, [12], 7), OTHER]
    pool, other = (
        context.rollouts(range(2), "tests.plugins.plans:two", agents, settings={"game": "pong"}) for _ in range(2)
    )
    closed, open_one = weakref.ref(pool), weakref.ref(other)
    pool.close()
    del pool, other
    gc.collect()
    assert closed() is None
    assert open_one() is not None, "the context closes it"
    context.close()
    gc.collect()
    assert open_one() is None


def test_agents_that_are_not_compiled_are_played_by_processes() -> None:
    me = AgentSpec("me", policies.PYTHON.name)
    workers = [2]
    with pool_of(me, range(5), lambda: workers[0]) as pool:
        assert pool.processes == 2
        parted = [pool.collect(90)]
        workers[0] = 1  # one process after the other
        pool.replace(me)
        parted.append(pool.collect(60))
    for trajectories, other in zip(whole(me, me, range(5)), parted, strict=True):
        assert_same(trajectories, other)


@pytest.mark.parametrize("name", ["drawn-net", "python-policy"])
def test_an_error_in_a_part_is_raised(name: str) -> None:
    broken = nets.agent("me", GAME, [12], 7, nan=True) if name == "drawn-net" else AgentSpec("me", name, b"raise")
    with pool_of(broken, range(20)) as pool, pytest.raises(PolicyFailed, match=r"'me' (has no answer|failed)"):
        pool.collect(10)


def test_a_plan_is_named_by_module_and_function() -> None:
    with pytest.raises(BadValue, match="plan = 'two': must be module:function"):
        RolloutPool(GAME, [0], "two", [OTHER], lambda: 1)


SETTINGS = [{"game": "pong", "seats": 2, "others": others} for others in (["frozen", "Recurrent"], ["me"], ["Dice"])]


def pool_against(
    agents: dict[str, AgentSpec], settings: dict[str, Any], workers: int, saved: bytes | None
) -> RolloutPool:
    plan, plugins = "tests.plugins.opponents:against", ["tests.plugins.opponents"]
    return RolloutPool(
        GAME, range(9), plan, agents.values(), lambda: workers, settings=settings, learners=["me"], plugins=plugins,
        saved=saved,
    )  # fmt: skip


@pytest.mark.parametrize("kind", [nets.KIND.name, policies.PYTHON.name])
def test_a_pool_is_saved_and_restored_with_another_number_of_workers(kind: str) -> None:
    """After each segment, the agent has new weights and the plan other settings."""

    def agents_at(step: int) -> dict[str, AgentSpec]:
        found = opponents.agents_of("pong", kind, 7 + step)
        return {id: agent for id, agent in found.items() if kind != nets.KIND.name or id != "remembering"}

    expected, saves = [], []
    with pool_against(agents_at(0), SETTINGS[0], 2, None) as pool:
        assert (pool.processes == 0) is (kind == nets.KIND.name)
        for step in (1, 2, 3):
            expected.append(pool.collect(70))
            pool.replace(agents_at(step)["me"])
            pool.configure(SETTINGS[step % 3])
            saves.append(pool.save())
    assert {player for result in expected[2].results for player in result.players} >= {"Dice", "me"}
    for step, workers in ((1, 1), (2, 3)):
        with pool_against(agents_at(step), SETTINGS[step], workers, saves[step - 1]) as pool:
            assert pool.save() == saves[step - 1]
            assert_same(pool.collect(70), expected[step])


def test_a_pool_that_cannot_be_restored_says_so() -> None:
    agents = opponents.agents_of("pong")
    with pool_against(agents, SETTINGS[0], 2, None) as pool:
        pool.collect(20)
        saved = pool.save()
    del agents["Recurrent"]
    with (
        pytest.raises(BadSpec, match="its player 'Recurrent', of kind 'neat', is not among the agents"),
        pool_against(agents, SETTINGS[0], 2, saved) as pool,
    ):
        pool.collect(5)
