"""Observations and legal actions have a row only where a learning agent acted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from engine.game import Game
from engine.games.pong.game import Pong, PongOptions
from engine.games.shogi.game import Shogi, ShogiOptions
from engine.play.match import AgentSpec, MatchSpec
from engine.play.rollout import Plan, Rollout, Trajectories
from engine.play.rollout_columns import Columns, joined
from engine.registry import KINDS
from engine.seeding import derive
from tests.engine.play.dense import spread
from tests.engine.play.test_rollout_ticks import assert_same
from tests.plugins import nets, policies

SHOGI = Shogi(ShogiOptions(move_limit=40))
PYTHON = AgentSpec("python", policies.PYTHON.name)


for kind in policies.ALL:  # importing them registers them for rollout processes; here they are for these tests alone
    KINDS.remove(kind.name)


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    for kind in policies.ALL:
        KINDS.add(kind.name, kind)
    yield
    for kind in policies.ALL:
        KINDS.remove(kind.name)


def shogi_plan(*others: AgentSpec) -> Plan:
    """A small network against itself, dice and others, on both sides."""
    me = nets.agent("me", SHOGI, [8], 5)
    known = (me, AgentSpec("Dice", "dice"), *others)

    def plan(stream: int, k: int) -> MatchSpec:
        players = (me, known[(stream + k) % len(known)])
        return MatchSpec(f"{stream}.{k}", SHOGI.spec, players if k % 2 else players[::-1], derive(stream, k))

    return plan


def rolled(game: Game, plan: Plan, compiled: bool = True, learners: list[str] | None = None) -> list[Trajectories]:
    with Rollout(game, range(3), plan, learners, compiled=compiled) as rollout:
        assert rollout._compiled is compiled
        return [rollout.collect(steps) for steps in (30, 1, 45)]


def test_shogi_is_played_by_the_compiled_driver_as_by_ticks() -> None:
    marched, ticked = rolled(SHOGI, shogi_plan()), rolled(SHOGI, shogi_plan(), compiled=False)
    assert_same(marched, ticked)
    assert {0, 2} <= {int(end) for segment in marched for end in np.unique(segment.ends)}
    for segment in marched:
        assert segment.legal is not None
        actions = segment.actions[segment.acted]
        assert segment.legal[np.arange(len(actions)), actions].all()
        assert len(segment.obs) == len(actions) == np.count_nonzero(segment.acted)
        assert segment.acted.sum(axis=2).max() == 1, "one side moves at a time"


def test_shogi_is_saved_and_restored() -> None:
    plan = shogi_plan(PYTHON)
    with Rollout(SHOGI, range(3), plan) as rollout:
        rollout.collect(25)
        saved, expected = rollout.save(), rollout.collect(40)
    with Rollout(SHOGI, range(3), plan, saved=saved, compiled=False) as rollout:
        assert rollout.save() == saved
        assert_same([rollout.collect(40)], [expected])


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("learners", [None, ["me"]])
def test_several_seats_may_act_in_a_game_that_does_not_say_so(compiled: bool, learners: list[str] | None) -> None:
    """Then there is not enough room for their rows at first."""
    usual, unusual = Pong(PongOptions(points=1, step_limit=60)), Pong(PongOptions(points=1, step_limit=60))
    unusual.info = replace(unusual.info, simultaneous=False)
    me, other = nets.agent("me", usual, [8], 1), nets.agent("other", usual, [8], 2)

    def plan(stream: int, k: int) -> MatchSpec:
        players = (me, other if stream == 2 else me)
        return MatchSpec(f"{stream}.{k}", usual.spec, players, derive(stream, k))

    expected = rolled(usual, plan, compiled, learners)
    assert_same(rolled(unusual, plan, compiled, learners), expected)
    assert len(expected[0].obs) == 3 * 30 * 2 - (30 if learners else 0)


def test_room_is_made_once_and_keeps_what_is_there() -> None:
    columns = Columns(SHOGI.info, 2, 4)
    assert columns.obs.shape[:2] == columns.legal.shape[:2] == (2, 4)
    columns.obs[1, 3], columns.legal[0, 2] = 1, True
    columns.widen()
    assert columns.obs.shape[:2] == columns.legal.shape[:2] == (2, 8)
    assert columns.obs[1, 3].all()
    assert columns.legal[0, 2].all()
    assert not columns.obs[:, 4:].any()


def test_parts_of_a_segment_can_be_joined_again() -> None:
    for segment in rolled(SHOGI, shogi_plan()):
        parts = [segment.part(slice(0, 1)), segment.part(slice(1, 3))]
        again = joined(parts)._replace(results=segment.results)
        assert_same([again], [segment])
        whole, first = spread(segment), spread(parts[1])
        assert np.array_equal(whole.obs[1:], first.obs)
        assert joined([segment]) is segment
