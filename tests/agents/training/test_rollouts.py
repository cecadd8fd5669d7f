"""Trajectories on several threads are those of one rollout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from agents.training.rollouts import RolloutPool
from engine.errors import PolicyFailed
from engine.game import Game
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.play.rollout import Plan, Rollout, Trajectories
from engine.registry import KINDS, new_game
from engine.seeding import derive
from tests.plugins import nets

GAME = new_game("pong", points=1, step_limit=120)


@pytest.fixture(autouse=True, scope="module")
def kind() -> Iterator[None]:
    KINDS.add(nets.KIND.name, nets.KIND)
    yield
    KINDS.remove(nets.KIND.name)


def plan_of(me: AgentSpec, game: Game = GAME) -> Plan:
    def plan(stream: int, k: int) -> MatchSpec:
        return MatchSpec(f"{stream}.{k}", game.spec, (me, AgentSpec("Dice", "dice")), derive("test", stream, k))

    return plan


def assert_same(one: Trajectories, other: Trajectories) -> None:
    for name, left, right in zip(one._fields[:-1], one, other, strict=False):
        assert left is right is None or np.array_equal(left, right), name
    assert list(map(outcome, one.results)) == list(map(outcome, other.results))


def outcome(result: MatchResult) -> tuple[object, ...]:
    """All but how long it took."""
    return result.id, result.players, result.scores, result.ranks, result.steps, result.stats


@pytest.mark.parametrize(("streams", "threads"), [(1, 1), (5, 3), (37, 1), (37, 4)])
def test_the_number_of_threads_changes_nothing(streams: int, threads: int) -> None:
    first, second = (nets.agent("me", GAME, [12], seed) for seed in (7, 8))
    current = [first]

    def plan(stream: int, k: int) -> MatchSpec:
        return plan_of(current[0])(stream, k)

    def collected(pool: Rollout | RolloutPool) -> list[Trajectories]:
        current[0] = first
        with pool:
            segments = [pool.collect(90)]
            current[0] = second
            pool.replace(second)
            return [*segments, pool.collect(60)]

    whole = collected(Rollout(GAME, range(streams), plan))
    parted = collected(RolloutPool(GAME, range(streams), plan, None, lambda: threads))
    assert len(whole[0].results) + len(whole[1].results) >= streams, "matches have ended"
    for one, other in zip(whole, parted, strict=True):
        assert_same(one, other)


def test_an_error_in_a_thread_is_raised() -> None:
    broken = nets.agent("me", GAME, [12], 7, nan=True)
    with RolloutPool(GAME, range(20), plan_of(broken), None, lambda: 2) as pool, pytest.raises(PolicyFailed):
        pool.collect(10)
