"""Learners with real networks whose processes are killed at random times, whose session is killed, or that diverge."""

from __future__ import annotations

import math
import os
import random
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from agents.nets import network as networks
from agents.training.independent import LearnerSettings, ParallelEnvironment, learner_processes, learner_records
from agents.training.independent.learner_status import LearnerActivity
from agents.training.independent.state import read
from engine.processes.bootstrap import ChildSetup
from engine.processes.channel import Channel
from engine.processes.child import ChildProcess
from engine.registry import new_game
from tests.agents.training.independent.test_environment import experiment
from tests.waiting import until

HUNT = new_game("treasure-hunt", seats=2, turns=20)  # 5 updates of each agent are due after each epoch
SMALL = LearnerSettings(hidden=(8,), batch=32)
IN_STEP = {"training_mode": "processes", "num_workers": 2}
FREE = {"async_learning": True, "num_workers": 2}
KILLS = 4  # fewer than ends in a row after which a process is given up


def two_agents(parallel: Any, **settings: Any) -> ParallelEnvironment:
    rest = {"epochs": 10**6, "evaluate_every": 0, "max_lag": 8, "publish_every": 3} | settings
    return experiment(parallel, game=HUNT, agents=[SMALL] * 2, **rest)


class Killer:
    """Kills learner processes in a thread, each a random time after it was seen learning."""

    def __init__(self, environment: ParallelEnvironment, seed: int) -> None:
        self._environment, self._random = environment, random.Random(seed)
        self._stop = threading.Event()
        self.kills = 0

    @property
    def done(self) -> bool:
        return self.kills >= KILLS

    def run(self) -> None:
        while not self.done and not self._stop.is_set():
            processes: Any = getattr(self._environment.learning, "processes", None)
            link: Any = self._random.choice(processes.records).link if processes else None
            pid = link.child.pid if link is not None and link.status.activity is LearnerActivity.LEARNING else None
            if pid is None:
                self._stop.wait(0.0005)
                continue
            self._stop.wait(self._random.random() * 0.01)
            os.kill(pid, signal.SIGKILL)
            self.kills += 1
            while processes.records[link.index].link is link and not self._stop.is_set():
                self._stop.wait(0.001)  # until its end is noticed: then its id may belong to another process

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_networks_in_step_are_the_same_to_the_bit_after_kills_at_random_times(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner_records, "FIRST_DELAY", 0.001)
    with two_agents(IN_STEP) as environment:
        killer = Killer(environment, seed)
        reports: list[Any] = []
        with killer.running():
            while not killer.done or len(reports) < 4:
                reports.append(environment.advance())
        assert killer.kills == KILLS
        saved = environment.save()
    with two_agents(None) as environment:
        expected = [environment.advance() for _ in reports]
        assert saved == environment.save()
    assert [(report.updates, report.losses) for report in reports if report] == [
        (report.updates, report.losses) for report in expected if report
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_free_networks_make_all_updates_after_kills_at_random_times(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_records, "FIRST_DELAY", 0.001)
    with two_agents(FREE) as environment:
        killer = Killer(environment, seed)
        with killer.running():
            while not killer.done:
                environment.advance()
        assert killer.kills == KILLS
        environment.finish_learning()
        assert [environment.population.updates(seat) for seat in (0, 1)] == [5 * environment.epoch] * 2
        assert environment.still_learning
        for state in environment.population.states().values():
            assert np.isfinite(state).all()


# The session


def run_session(end: socket.socket, path: str) -> None:
    """Learns until it is killed; sends the ids of its learners after each checkpoint, which it writes to `path`."""
    channel = Channel(end)
    with two_agents(FREE) as environment:
        while True:
            environment.advance()
            Path(f"{path}.new").write_bytes(environment.save())
            Path(f"{path}.new").replace(path)
            pids = [worker.pid for worker in environment.learning.states()] if environment.learning else []
            channel.send(["saved", min(map(environment.updates_of, (0, 1))), [pid for pid in pids if pid]])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_session_leaves_no_learner_and_continues_from_its_checkpoint(seed: int, tmp_path: Path) -> None:
    path, setup = tmp_path / "checkpoint", ChildSetup(server=learner_processes.SERVER, children=True)
    draws = random.Random(seed)
    with ChildProcess(f"{__name__}:run_session", str(path), setup=setup) as session:
        wanted = draws.randint(1, 8)
        pids: set[int] = set()
        while wanted > 0 or len(pids) < 2:
            for (_, updates, running), _ in session.receive(600.0):
                pids |= set(running)
                wanted -= updates > 0
        threading.Event().wait(draws.random() * 0.05)
        os.kill(session.pid or 0, signal.SIGKILL)
        until(lambda: not any(map(_runs, pids)))
    saved = path.read_bytes()
    about, states = (contents := read(saved, HUNT.spec)).about, contents.states
    made = [math.prod((1 << 24, states[seat][-3])) + states[seat][-2] for seat in (0, 1)]
    assert min(made) > 0
    with two_agents(FREE, saved=saved, epochs=about.epoch + 4) as environment:
        assert environment.epoch == about.epoch
        assert [environment.updates_of(seat) for seat in (0, 1)] == made
        result = environment.run_experiment()
        assert result.updates == (5 * (about.epoch + 4),) * 2


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


# Losses that are not finite


@pytest.mark.parametrize("reward", [math.nan, math.inf])
@pytest.mark.parametrize("parallel", [IN_STEP, FREE], ids=["in step", "free"])
def test_a_network_whose_loss_is_not_finite_keeps_its_last_good_weights_and_the_other_goes_on(
    parallel: Any, reward: float
) -> None:
    with two_agents(parallel, max_lag=1) as environment:
        while not min(map(environment.updates_of, (0, 1))):
            environment.advance()
        buffer = environment.population.buffers[1]
        rewards = buffer.tensors()["rewards"]
        buffer.set_tensors(buffer.tensors() | {"rewards": np.full_like(rewards, reward)})
        while environment.learning_seats != [0]:
            environment.advance()
        before = environment.updates_of(0)
        while environment.updates_of(0) < before + 20:
            environment.advance()
        environment.take_latest()
        population = environment.population
        stopped, going = environment.updates_of(1), environment.updates_of(0)
        assert 0 < stopped < going
        assert population.versions[1] == stopped
        assert before + 20 <= population.versions[0] <= going, "a free learner may have gone on meanwhile"
        for seat in (0, 1):
            tensors = networks.load(population.players[seat].payload).tensors
            assert all(np.isfinite(numbers).all() for numbers in tensors.values())
        [note] = [note.text for note in environment.log.take_notes(environment.learning) if "agent 2" in note.text]
        assert note == "agent 2 has stopped learning; it keeps its last good weights: its loss was not finite"
        assert [report.updates for report in [environment.advance()] if report] != [(going, stopped)]
        assert environment.updates_of(1) == stopped
