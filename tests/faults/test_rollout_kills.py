"""Rollout processes that are killed are started again, and the trajectories stay the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from agents.training.rollouts import RolloutPool
from engine.errors import PolicyFailed
from engine.play.match import AgentSpec
from engine.play.rollout import Trajectories
from engine.play.rollout_process import RolloutFailed
from engine.play.rollout_worker import RolloutWorker
from engine.registry import KINDS, game_of
from tests.agents.training.session_helpers import runs
from tests.plugins import opponents, plans, policies

GAME = game_of(plans.game_spec("pong"))
PLAN = "tests.plugins.opponents:killed"
PLUGINS = ["tests.plugins.opponents"]
OTHERS = ["remembering", "Recurrent", "frozen"]
STEPS = (30, 60, 60)
STREAMS = 5

KINDS_HERE = (*policies.ALL, opponents.REMEMBERING)


for kind in KINDS_HERE:  # importing them registers them for rollout processes; here they are for these tests alone
    KINDS.remove(kind.name)


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    for kind in KINDS_HERE:
        KINDS.add(kind.name, kind)
    yield
    for kind in KINDS_HERE:
        KINDS.remove(kind.name)


def pool_of(marks: Path, kills: Sequence[str], on_restart: Callable[[str], None] = lambda text: None) -> RolloutPool:
    """A pool whose processes are killed in mid-segment: when they begin these matches, once for each name."""
    marks.mkdir()
    for number, name in enumerate(kills):
        (marks / f"{name}-{number}").touch()
    agents = opponents.agents_of("pong", policies.PYTHON.name).values()
    settings = {"game": "pong", "seats": 2, "others": OTHERS, "marks": str(marks)}
    return RolloutPool(
        GAME, range(STREAMS), PLAN, agents, lambda: 2, settings=settings, learners=["me"], plugins=PLUGINS,
        on_restart=on_restart,
    )  # fmt: skip


def collected(pool: RolloutPool) -> list[Trajectories]:
    return [pool.collect(steps) for steps in STEPS]


def assert_equal(first: list[Trajectories], other: list[Trajectories]) -> None:
    for left, right in zip(first, other, strict=True):
        for name, a, b in zip(left._fields[:-1], left, right, strict=False):
            assert a is b is None or np.array_equal(a, b), name
        assert [result.digest() for result in left.results] == [result.digest() for result in right.results]


def test_a_killed_process_is_started_again_and_changes_no_bit(tmp_path: Path) -> None:
    with pool_of(tmp_path / "none", []) as pool:
        assert pool.processes == 2
        expected, saved = collected(pool), pool.save()
        assert pool.restarts == 0
    said: list[str] = []
    with pool_of(tmp_path / "kills", ["0.1", "0.1", "4.1"], said.append) as pool:
        assert_equal(collected(pool), expected)
        assert pool.restarts == 3
        assert pool.save() == saved
    assert len(said) == 3
    text = "rollout process {} was killed by SIGKILL. It was started again and repeats its segment"
    assert set(said) == {text.format(1), text.format(2)}


def test_a_process_that_dies_too_often_ends_the_segment_with_a_sentence(tmp_path: Path) -> None:
    with pool_of(tmp_path / "kills", ["0.1"] * 9) as pool:
        reason = r"killed by SIGKILL\. It was started again 3 times for this segment, and died each time"
        with pytest.raises(RolloutFailed, match=reason):
            pool.collect(400)
        assert pool.restarts == 3


def worker() -> RolloutWorker:
    agents = opponents.agents_of("pong", policies.PYTHON.name).values()
    return RolloutWorker(
        GAME.spec, range(3), "tests.plugins.opponents:against", agents, learners=["me"], plugins=PLUGINS,
        settings={"game": "pong", "seats": 2, "others": OTHERS},
    )  # fmt: skip


def kill(rollout: RolloutWorker) -> None:
    pid = rollout.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def test_a_process_may_die_between_two_calls() -> None:
    with worker() as whole, worker() as killed:
        assert_equal([killed.collect(40)], [whole.collect(40)])
        kill(killed)
        assert killed.save() == whole.save()
        kill(killed)
        for rollout in (whole, killed):
            rollout.configure({"game": "pong", "seats": 2, "others": ["Dice"]})
        assert_equal([killed.collect(150)], [whole.collect(150)])
        assert killed.save() == whole.save()
        assert len(killed.restarts) == 2
        pid = killed.pid
    assert pid is not None
    assert not runs(pid)


def test_a_process_that_dies_after_an_error_continues_where_the_error_was() -> None:
    broken, good = (AgentSpec("me", policies.PYTHON.name, payload) for payload in (b"raise", b""))
    with worker() as whole, worker() as killed:
        for rollout in (whole, killed):
            rollout.collect(2)
            rollout.replace(broken)
            with pytest.raises(PolicyFailed, match=r"'me' .*failed: ZeroDivisionError"):
                rollout.collect(20)
            rollout.replace(good)
        kill(killed)
        assert_equal([killed.collect(90)], [whole.collect(90)])
