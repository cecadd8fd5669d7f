"""Managers of small games for the tests of self-play, and what their workers must send."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from agents.training.selfplay.link import ExperienceBatch
from agents.training.selfplay.manager import ParallelManager
from agents.training.selfplay.worker import self_play
from engine.play.match import MatchSpec
from engine.play.rollout import Rollout, Trajectories
from engine.play.rollout_messages import ARRAYS
from engine.registry import KINDS
from tests.faults.league import within, worker_pids
from tests.plugins import policies
from tests.plugins.self_play import GAME

PONG = {"game": "pong", "options": GAME}
NET = {"hidden_dim": 8, "num_layers": 1}
QUIET = {"games_per_worker": 0, "max_game_length": 0, "model_sync_interval": 0, "worker_reset_interval": 0}
SMALL = {"num_workers": 2, "experience_batch_size": 32, "boards": 4, "timeout": 600.0, **QUIET}
PLUGINS = ("tests.plugins.self_play", "tests.plugins.policies")
PLAN = {"plan": "tests.plugins.self_play:match", "plugins": PLUGINS}

for kind in policies.ALL:  # importing them registers them for workers; here they are for single tests
    KINDS.remove(kind.name)


@contextmanager
def python_policy() -> Iterator[None]:
    """With a kind of agents that fail as their payload says."""
    KINDS.add(policies.PYTHON.name, policies.PYTHON)
    yield
    KINDS.remove(policies.PYTHON.name)


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    """A time limit, a kind of agents that fail, and no process that is left."""
    with within(120), python_policy():
        yield
    assert not worker_pids()


def wait_for(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not condition():
        pause.wait(0.005)


def new_manager(env: dict[str, Any] | None = None, more: dict[str, Any] | None = None, **parallel: object) -> Any:
    return ParallelManager(env or PONG, NET, {**SMALL, **parallel}, **(more or {}))


def collect(manager: ParallelManager, count: int, worker: int | None = None) -> list[ExperienceBatch]:
    """At least so many batches, of this worker or of all."""
    return collect_until(manager, lambda batches: len(of(batches, worker)) >= count)


def collect_until(manager: ParallelManager, done: Callable[[list[ExperienceBatch]], bool]) -> list[ExperienceBatch]:
    batches: list[ExperienceBatch] = []
    while not done(batches):
        batches += manager.collect_experiences()
    return batches


def of(batches: Iterable[ExperienceBatch], worker: int | None) -> list[ExperienceBatch]:
    return [batch for batch in batches if worker is None or batch.worker == worker]


def rollout_here(
    manager: ParallelManager, streams: Iterable[int], first: int = 0, rewards: dict[str, float] | None = None
) -> Rollout:
    """What a worker plays with these streams, in this process."""
    spec, learner = manager.game.spec, manager.learner()
    settings = {
        "options": spec.options,
        "seats": manager.game.info.seats,
        "seed": manager.config.seed,
        "learner": "learner",
    }

    def plan(stream: int, k: int) -> MatchSpec:
        agents = {"learner": learner}
        return self_play(agents, stream, first + k, game=spec.name, version=spec.version, **settings)

    return Rollout(manager.game, tuple(streams), plan, ["learner"], rewards=rewards)


def check_equal(first: Trajectories, second: Trajectories) -> None:
    for name in ARRAYS:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert [result.digest() for result in first.results] == [result.digest() for result in second.results]
