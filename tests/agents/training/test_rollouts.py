"""Trajectories on several threads or processes are those of one rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from agents.training.rollouts import RolloutPool
from engine.errors import BadValue, PolicyFailed
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.play.rollout import Rollout, Trajectories
from engine.registry import KINDS, game_of
from tests.plugins import nets, plans, policies

GAME = game_of(plans.game_spec("pong"))
OTHER = AgentSpec("other", "dice")

for kind in policies.ALL:  # importing them registers them for rollout processes; here they are for these tests alone
    KINDS.remove(kind.name)


@pytest.fixture(autouse=True, scope="module")
def kinds() -> Iterator[None]:
    for kind in policies.ALL:
        KINDS.add(kind.name, kind)
    yield
    for kind in policies.ALL:
        KINDS.remove(kind.name)


def pool_of(me: AgentSpec, streams: Sequence[int], workers: Callable[[], int] = lambda: 2) -> RolloutPool:
    plan, plugins = "tests.plugins.plans:two", ["tests.plugins.plans", "tests.plugins.policies"]
    return RolloutPool(GAME, streams, plan, [me, OTHER], workers, settings={"game": "pong"}, plugins=plugins)


def assert_same(one: Trajectories, other: Trajectories) -> None:
    for name, left, right in zip(one._fields[:-1], one, other, strict=False):
        assert left is right is None or np.array_equal(left, right), name
    assert list(map(outcome, one.results)) == list(map(outcome, other.results))


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


@pytest.mark.parametrize(("streams", "threads"), [(1, 1), (5, 3), (37, 1), (37, 4)])
def test_the_number_of_threads_changes_nothing(streams: int, threads: int) -> None:
    first, second = (nets.agent("me", GAME, [12], seed) for seed in (7, 8))
    with pool_of(first, range(streams), lambda: threads) as pool:
        assert pool.processes == 0
        parted = [pool.collect(90)]
        pool.replace(second)
        parted.append(pool.collect(60))
    expected = whole(first, second, range(streams))
    assert len(expected[0].results) + len(expected[1].results) >= streams, "matches have ended"
    for one, other in zip(expected, parted, strict=True):
        assert_same(one, other)


def test_agents_that_are_not_compiled_are_played_by_processes() -> None:
    me = AgentSpec("me", policies.PYTHON.name)
    workers = [2]
    with pool_of(me, range(5), lambda: workers[0]) as pool:
        assert pool.processes == 2
        parted = [pool.collect(90)]
        workers[0] = 1  # one process after the other
        pool.replace(me)
        parted.append(pool.collect(60))
    for one, other in zip(whole(me, me, range(5)), parted, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("name", ["drawn-net", "python-policy"])
def test_an_error_in_a_part_is_raised(name: str) -> None:
    broken = nets.agent("me", GAME, [12], 7, nan=True) if name == "drawn-net" else AgentSpec("me", name, b"raise")
    with pool_of(broken, range(20)) as pool, pytest.raises(PolicyFailed, match=r"'me' (has no answer|failed)"):
        pool.collect(10)


def test_a_plan_is_named_by_module_and_function() -> None:
    with pytest.raises(BadValue, match="plan = 'two': must be module:function"):
        RolloutPool(GAME, [0], "two", [OTHER], lambda: 1)
