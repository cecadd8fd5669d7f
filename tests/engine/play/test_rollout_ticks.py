"""Rollouts by ticks: the trajectories of compiled players to the bit, and those of players of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from engine.checks import check_kind
from engine.errors import BadSpec, PolicyFailed
from engine.game import Decisions, Game, Views
from engine.play.arena import Arena
from engine.play.match import AgentSpec, MatchSpec
from engine.play.rollout import Plan, Rollout, Trajectories
from engine.registry import GAMES, KINDS, game_of, new_game
from engine.seeding import derive
from tests.engine.play.dense import spread
from tests.plugins import nets, plans, policies, tictactoe

NAMES = ["pong", "treasure-hunt", "stones"]
STEPS = (40, 1, 150)
PYTHON, DICE = AgentSpec("me", policies.PYTHON.name), AgentSpec("Dice", "dice")

for kind in policies.ALL:  # importing them registers them for rollout processes; here they are for these tests alone
    KINDS.remove(kind.name)


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    GAMES.add("stones", plans.stones.Stones)
    for kind in policies.ALL:
        KINDS.add(kind.name, kind)
    yield
    for kind in policies.ALL:
        KINDS.remove(kind.name)


def mixed(game: Game, me: AgentSpec) -> Plan:
    return lambda stream, k: plans.mixed({"me": me}, stream, k, game.spec.name, game.info.seats)


def rolled(game: Game, plan: Plan, streams: Sequence[int] = range(5), **options: bool) -> list[Trajectories]:
    with Rollout(game, streams, plan, **options) as rollout:  # type: ignore[arg-type]
        return [rollout.collect(steps) for steps in STEPS]


def assert_same(first: Sequence[Trajectories], other: Sequence[Trajectories]) -> None:
    """The same bytes in every column."""
    for left, right in zip(first, other, strict=True):
        for name, a, b in zip(left._fields[:-1], left[:-1], right[:-1], strict=True):
            if a is None or b is None:
                assert a is b, name
            else:
                assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), name
        assert [result.digest() for result in left.results] == [result.digest() for result in right.results]
        assert [result.stats for result in left.results] == [result.stats for result in right.results]


@pytest.mark.parametrize("name", NAMES)
def test_compiled_policies_give_the_same_columns_by_ticks(name: str) -> None:
    game = game_of(plans.game_spec(name))
    plan = mixed(game, nets.agent("me", game, [12, 20], 7))
    ticked = rolled(game, plan, compiled=False)
    assert_same(ticked, rolled(game, plan))
    assert ticked[-1].bootstrap.any()
    assert {0, 1, 2} <= {int(end) for segment in ticked for end in np.unique(segment.ends)}


def test_compiled_rules_and_ticks_agree_on_the_seats_that_have_left() -> None:
    """As if all seats of stones acted together, and those whose turn it is not had left."""
    game = cast(Any, game_of(plans.game_spec("stones")))
    game = type(game)(game.options)
    game.info = replace(game.info, together=True)
    plan = mixed(game, nets.agent("me", game, [12, 20], 7))
    ticked = rolled(game, plan, compiled=False)
    assert_same(ticked, rolled(game, plan))
    values = np.concatenate([segment.bootstrap[segment.ends == 0] for segment in ticked])
    assert values.any()
    assert ((values != 0).sum(axis=1) <= 1).all()


@pytest.mark.parametrize("steps", [1, 3])
def test_observations_that_are_not_finite_are_blamed_on_the_game(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the second step, or as the future after the first one."""
    observe, asked = tictactoe.TicTacToeBoard.observe, []

    def damaged(board: tictactoe.TicTacToeBoard, seat: int) -> Any:
        asked.append(seat)
        row = np.array(observe(board, seat), np.float32)
        row[0] = np.nan if len(asked) == 2 else row[0]
        return row

    monkeypatch.setattr(tictactoe.TicTacToeBoard, "observe", damaged)
    game = tictactoe.TicTacToe(tictactoe.NoOptions())
    plan = lambda stream, k: MatchSpec(f"{stream}.{k}", game.spec, (PYTHON, PYTHON), k)  # noqa: E731
    with (
        Rollout(game, [0], plan) as rollout,
        pytest.raises(PolicyFailed, match="the observation has nan or inf: check"),
    ):
        rollout.collect(steps)


@pytest.mark.parametrize("name", NAMES)
def test_a_rollout_may_have_compiled_matches_and_others(name: str) -> None:
    game = game_of(plans.game_spec(name))
    net = nets.agent("net", game, [12], 3)

    def plan(stream: int, k: int) -> MatchSpec:
        spec = plans.mixed({"me": net}, stream, k, name, game.info.seats)
        return spec if (stream + k) % 2 else replace(spec, players=(PYTHON, *spec.players[1:]))

    assert_same(rolled(game, plan), rolled(game, plan, compiled=False))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [policies.PYTHON.name, policies.SLOW.name])
def test_any_number_of_lanes_gives_the_same_trajectories(name: str, kind: str) -> None:
    """Also if some players need several ticks for an answer."""
    game = game_of(plans.game_spec(name))
    whole = rolled(game, mixed(game, PYTHON))
    for stream in range(5):
        alone = rolled(game, mixed(game, AgentSpec("me", kind)), [stream])
        for trajectories, other in zip(whole, alone, strict=True):
            own = trajectories.part(slice(stream, stream + 1))
            for column, a, b in zip(own._fields[:-1], own[:-1], other[:-1], strict=True):
                assert a is b is None or np.array_equal(a, b), column
            results = [result.digest() for result in trajectories.results if result.id.startswith(f"{stream}.")]
            assert [result.digest() for result in other.results] == results


def test_a_game_in_plain_python_can_be_rolled_out() -> None:
    GAMES.add("tictactoe", tictactoe.TicTacToe)
    game = new_game("tictactoe")

    def plan(stream: int, k: int) -> MatchSpec:
        return MatchSpec(f"{stream}.{k}", game.spec, (PYTHON, DICE), derive(stream, k))

    *_, segment = rolled(game, plan)
    acted = np.nonzero(segment.acted)
    assert segment.legal is not None
    assert segment.legal[np.arange(len(segment.legal)), segment.actions[acted]].all()
    assert segment.acted[:, :, 0].any()
    assert not segment.acted[:, :, 1].any(), "dice do not learn"
    free = segment.legal.sum(axis=1)
    np.testing.assert_allclose(segment.log_probs[acted], -np.log(free), rtol=1e-6)
    means = segment.obs.reshape(len(free), -1).mean(axis=1, dtype=np.float64)
    assert np.array_equal(segment.values[acted], means.astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_results_and_rewards_are_those_of_an_arena(name: str) -> None:
    game = game_of(plans.game_spec(name))
    plan = mixed(game, PYTHON)
    with Rollout(game, [2], plan) as rollout:
        segment = rollout.collect(300)
    with Arena(8, record=False) as arena:
        for k in range(len(segment.results)):
            arena.add(plan(2, k))
        while arena.playing:
            arena.tick()
        expected = {result.id: result.digest() for result in arena.take_results()}
    assert len(segment.results) > 1
    assert {result.id: result.digest() for result in segment.results} == expected
    last = np.flatnonzero(segment.ends[0])
    for rewards, result in zip(np.split(segment.rewards[0], last + 1), segment.results, strict=False):
        np.testing.assert_allclose(rewards.sum(axis=0), result.scores, atol=1e-4)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raise", r"failed: ZeroDivisionError: no way on \(policies.py, line \d+\)"),
        ("illegal", "answered 99; actions are 0 to 2"),
        ("resign", "resigned"),
        ("nan", "answered with log-probability .* and value nan; both must be finite"),
        ("shape", r"failed: decide\(\) must return a float32 for each of 1 rows, not float32 of shape \(0,\)"),
    ],
)
def test_a_policy_that_fails_is_named_and_can_be_replaced(how: str, message: str) -> None:
    game = game_of(plans.game_spec("pong"))
    agents = {"me": PYTHON, "other": DICE}

    def plan(stream: int, k: int) -> MatchSpec:
        return plans.two(agents, stream, k, "pong")

    with Rollout(game, [4], plan) as rollout:
        whole = spread(rollout.collect(10))
    with Rollout(game, [4], plan) as rollout:
        rollout.collect(3)
        rollout.replace(replace(PYTHON, payload=how.encode()))
        with pytest.raises(PolicyFailed, match=f"stream 4, match '4.0', step 3: 'me' {message}"):
            rollout.collect(7)
        rollout.replace(PYTHON)
        rest = spread(rollout.collect(7))
    assert np.array_equal(rest.obs, whole.obs[:, 3:]), "no step was played with the broken policy"
    assert np.array_equal(rest.actions, whole.actions[:, 3:])


def test_a_policy_that_cannot_be_loaded_is_named() -> None:
    game = game_of(plans.game_spec("pong"))
    agents = {"me": replace(PYTHON, payload=b"broken"), "other": DICE}
    with (
        Rollout(game, [0], lambda stream, k: plans.two(agents, stream, k, "pong")) as rollout,
        pytest.raises(PolicyFailed, match="'me', of kind 'python-policy', failed: ValueError: the file is broken"),
    ):
        rollout.collect(1)


def test_an_agent_without_decisions_cannot_learn() -> None:
    game = game_of(plans.game_spec("pong"))
    agents = {"me": PYTHON, "other": DICE}
    with (
        Rollout(game, [0], lambda stream, k: plans.two(agents, stream, k, "pong"), ["Dice"]) as rollout,
        pytest.raises(BadSpec, match="'Dice', of kind 'dice', cannot learn: its pilot has no method `decide`"),
    ):
        rollout.collect(1)


def test_the_check_of_kinds_notices_wrong_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    game, pilot = game_of(plans.game_spec("stones")), policies.PythonPilot
    check_kind(policies.PYTHON, game, matches=3, agents=[PYTHON])
    check_kind(nets.KIND, game, matches=3, agents=[nets.agent("me", game, [8], 1)])
    right = pilot.decide

    def crowded(self: policies.PythonPilot, views: Views) -> Decisions:
        decided = right(self, views)
        return decided._replace(values=decided.values + np.float32(len(views)))

    monkeypatch.setattr(pilot, "decide", crowded)
    with pytest.raises(AssertionError, match=r"\('me', 'me'\): `values` depends on the other rows of a call"):
        check_kind(policies.PYTHON, game, matches=3, agents=[PYTHON])
    monkeypatch.setattr(pilot, "decide", right)
    monkeypatch.setattr(pilot, "act", lambda self, views: views.legal.argmax(axis=1))
    with pytest.raises(AssertionError, match=r"decide\(\) and act\(\) answer differently"):
        check_kind(policies.PYTHON, game, matches=3, agents=[PYTHON])
