"""Learner processes that are killed, stall, fail or diverge: the others go on, and no weights are damaged."""

from __future__ import annotations

import itertools
import math
import os
import re
import signal
import socket
from typing import Any

import numpy as np
import psutil
import pytest

from agents.training.independent import learner_processes, learner_records
from agents.training.independent.asynchronous import AsynchronousLearners
from agents.training.independent.learner_processes import LearnerProcesses, LearnersFailed, TrainingInterrupted
from agents.training.independent.learner_records import LearnerLimits
from agents.training.independent.learner_settings import LearnerSettings
from agents.training.independent.learner_specs import UpdateBounds
from agents.training.independent.learner_status import LearnerActivity
from engine.processes.bootstrap import ChildSetup
from engine.processes.channel import Channel
from engine.processes.child import ChildProcess
from tests.agents.training.independent.stand_in import (
    ROWS,
    SIZE,
    STAND_IN,
    WIDTH,
    add_rows,
    new_buffers,
    new_group,
    new_processes,
    train_here,
)
from tests.waiting import until

PATIENT = LearnerLimits(timeout=300.0, restarts=1000)
ANY_NUMBER = UpdateBounds(turns_per_update=1, burst=10**9, max_lag=10**9)


class References:
    """The weights of one agent after any number of updates with the same buffer."""

    def __init__(self, agent: int, buffers: Any) -> None:
        self._group, self._buffers = new_group([agent]), buffers
        self._weights = [self._group.weights[0].copy()]

    def __getitem__(self, updates: int) -> Any:
        while len(self._weights) <= updates:
            train_here(self._group, self._buffers, 1)
            self._weights.append(self._group.weights[0].copy())
        return self._weights[updates]


def pid_of(processes: Any, index: int = 0) -> int:
    link = processes.records[index].link
    until(lambda: link.child.pid)
    return int(link.child.pid)


def pumped(processes: Any) -> bool:
    processes.pump()
    return True


def kill_when(processes: Any, index: int, activity: LearnerActivity | None) -> None:
    """Kills a process as soon as it is seen doing this, or at once, and waits until that is noticed."""
    record = processes.records[index]
    wanted = list(LearnerActivity) if activity is None else [activity]
    until(lambda: pumped(processes) and record.link is not None and record.link.status.activity in wanted, 0.001)
    restarts = record.restarts
    os.kill(pid_of(processes, index), signal.SIGKILL)
    until(lambda: pumped(processes) and record.restarts > restarts)


# Kills


@pytest.mark.parametrize(
    "activity", [None, LearnerActivity.LEARNING, LearnerActivity.PUBLISHING, LearnerActivity.AHEAD]
)
def test_a_learner_that_is_killed_continues_from_its_last_published_state(
    activity: LearnerActivity | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner_records, "FIRST_DELAY", 0.001)
    buffers = new_buffers([0, 1], turns=40)
    references = {agent: References(agent, buffers) for agent in (0, 1)}
    bounds = UpdateBounds(turns_per_update=2) if activity is LearnerActivity.AHEAD else ANY_NUMBER
    group = new_group([0, 1], seconds=0.002, publishing=0.002)
    options: Any = {"publish_every": 4, "limits": PATIENT, **STAND_IN}
    with AsynchronousLearners([group], buffers, 2, bounds, **options) as learners:
        processes = learners.processes
        learners.start()
        for _ in range(6):
            kill_when(processes, 0, activity)
            for agent, (version, numbers) in learners.take_weights().items():
                assert np.array_equal(numbers, references[agent][version])
        made = processes.updates(1)
        wanted = 80 if activity is LearnerActivity.AHEAD else made + 20
        until(lambda: pumped(processes) and min(processes.updates(agent) for agent in (0, 1)) >= wanted)
        learners.save_states()
        assert [record.restarts for record in processes.records] == [6, 0]
        assert sum("learner 1 was killed by SIGKILL; it was" in note for note in processes.take_notes()) == 6
        for k in (0, 1):
            assert np.array_equal(group.weights[k], references[k][group.updates[k]])


def test_a_note_counts_the_updates_that_a_killed_learner_had_not_published() -> None:
    buffers = new_buffers([0], turns=40)
    options: Any = {"publish_every": 10**6, "limits": PATIENT, **STAND_IN}
    with AsynchronousLearners([new_group([0], seconds=0.01)], buffers, 1, ANY_NUMBER, **options) as learners:
        processes = learners.processes
        learners.start()
        until(lambda: pumped(processes) and processes.updates(0) >= 5)
        os.kill(pid_of(processes), signal.SIGKILL)
        until(lambda: pumped(processes) and processes.records[0].restarts)
        (note,) = processes.take_notes()
        text = r"was learning \(update \d+\) for .* s; ([5-9]|\d\d+) updates were not published; it is started again$"
        assert re.search(text, note)


def test_updates_in_step_are_the_same_after_a_kill() -> None:
    buffers, group, reference = (
        new_buffers([0, 1, 2], turns=30),
        new_group([0, 1, 2], seconds=0.01),
        new_group([0, 1, 2]),
    )
    with new_processes([group], buffers, 2, limits=PATIENT) as processes:
        processes.start()
        assert processes.train(3) == train_here(reference, buffers, 3)
        victims = iter([0, 1, 1])

        def kill_one() -> bool:
            if (index := next(victims, None)) is not None and processes.records[index].link is not None:
                os.kill(pid_of(processes, index), signal.SIGKILL)
            return False

        assert processes.train(60, kill_one) == train_here(reference, buffers, 60)
        assert sum(record.restarts for record in processes.records) >= 2
        processes.take_states()
    assert np.array_equal(group.weights, reference.weights)


def test_a_learner_that_is_killed_after_its_updates_in_step_keeps_them_while_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(learner_records, "FIRST_DELAY", 3.0)  # the other is done before it is started again
    buffers, reference = new_buffers([0, 1], turns=30), new_group([0, 1])
    groups = [new_group([0]), new_group([1])]
    with new_processes(groups, buffers, 2, limits=PATIENT) as processes:
        processes.start()
        until(lambda: pumped(processes) and all(record.link.ready for record in processes.records))
        first, other, steps = processes.records[0].link, pid_of(processes, 1), []
        os.kill(other, signal.SIGSTOP)

        def kill_the_first() -> bool:
            if not first.pending and not steps:
                steps.append("answered")
            elif steps == ["answered"]:  # and its losses have been taken
                os.kill(pid_of(processes), signal.SIGKILL)
                steps.append("killed")
            elif processes.ends and steps[-1] == "killed":
                os.kill(other, signal.SIGCONT)
                steps.append("noticed")
            return False

        assert processes.train(40, kill_the_first) == train_here(reference, buffers, 40)
        assert steps == ["answered", "killed", "noticed"]
        assert [group.updates for group in groups] == [[40], [40]]
        assert processes.train(3) == train_here(reference, buffers, 3)
        assert processes.records[0].restarts == 1
    assert np.array_equal(np.concatenate([group.weights for group in groups]), reference.weights)


def test_a_learner_that_is_killed_between_the_states_of_its_agents_loses_neither_weights_nor_losses() -> None:
    buffers, group, reference = new_buffers([0, 1], turns=30), new_group([0, 1], publishing=0.1), new_group([0, 1])
    with new_processes([group], buffers, 1, limits=PATIENT) as processes:
        processes.start()
        states, killed, made = processes.states, [], 0

        def kill_between() -> bool:
            if states[0].version > states[1].version and not killed:
                killed.append(pid_of(processes))
                os.kill(killed[0], signal.SIGKILL)
            return False

        while not killed:
            assert processes.train(5, kill_between) == train_here(reference, buffers, 5)
            made += 5
        assert processes.records[0].restarts == 1
    assert group.updates == [made, made]
    assert np.array_equal(group.weights, reference.weights)


def test_networks_learn_the_same_to_the_bit_after_a_kill() -> None:
    from agents.training.independent.learner import LearnerGroup  # imports torch

    settings = LearnerSettings(hidden=(16,), batch=32)
    group, reference = (LearnerGroup(settings, (WIDTH,), 4, [0, 1], 5) for _ in range(2))
    buffers = new_buffers([0, 1], turns=60)
    with LearnerProcesses([group], buffers, 1, limits=PATIENT) as processes:
        processes.start()
        losses = processes.train(40)
        os.kill(pid_of(processes), signal.SIGKILL)
        more = processes.train(40)
        assert processes.records[0].restarts == 1
        processes.take_states()
    expected = train_here(reference, buffers, 80)
    assert {agent: losses[agent] + more[agent] for agent in (0, 1)} == expected
    states = np.zeros((2, group.state_size), np.float32)
    for k in (0, 1):
        group.write_state(k, states[0])
        reference.write_state(k, states[1])
        assert np.array_equal(states[0], states[1])


def test_no_learner_outlives_a_trainer_that_is_killed() -> None:
    with ChildProcess(
        f"{__name__}:run_trainer", setup=ChildSetup(server=learner_processes.SERVER, children=True)
    ) as trainer:
        fields, _ = trainer.receive(600.0)[0]
        pids = fields[1:]
        assert len(pids) == 2
        assert all(psutil.pid_exists(pid) for pid in pids)
        os.kill(trainer.pid or 0, signal.SIGKILL)
        until(lambda: not any(_runs(pid) for pid in pids))


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def run_trainer(end: socket.socket) -> None:
    """A trainer that learns until it is killed."""
    buffers = new_buffers([0, 1], turns=40)
    with AsynchronousLearners([new_group([0, 1])], buffers, 2, ANY_NUMBER, **STAND_IN) as learners:
        learners.start()
        until(lambda: pumped(learners.processes) and min(map(learners.processes.updates, (0, 1))) > 5)
        Channel(end).send(["pids", *(state.pid for state in learners.processes.workers())])
        until(lambda: pumped(learners.processes) and False)


# Stalls and failures


def test_a_learner_that_stalls_is_named_ended_and_started_again() -> None:
    buffers = new_buffers([0, 1], turns=40)
    options: Any = {"limits": PATIENT, **STAND_IN}
    with AsynchronousLearners([new_group([0, 1], seconds=0.01)], buffers, 2, ANY_NUMBER, **options) as all_:
        processes = all_.processes
        all_.start()
        until(lambda: pumped(processes) and processes.updates(0) > 3)
        stalled = pid_of(processes)
        os.kill(stalled, signal.SIGSTOP)
        processes._limits = LearnerLimits(timeout=2.0, restarts=1000)  # not before: a healthy one may need longer
        until(lambda: pumped(processes) and not _runs(stalled))
        processes._limits = PATIENT
        notes = processes.take_notes()
        assert any(n.startswith("learner 1 did not react for 2 s, so it was ended; it was") for n in notes)
        made = processes.updates(0)
        until(lambda: pumped(processes) and processes.updates(0) > made)


@pytest.mark.parametrize("ready", [True, False], ids=["stalled", "starting"])
def test_updates_in_step_can_be_interrupted_while_a_learner_does_not_react(ready: bool) -> None:
    """The agents are as before these updates, whose results are the same when they are made later."""
    buffers, group, reference = new_buffers([0, 1], turns=30), new_group([0, 1]), new_group([0, 1])
    with new_processes([group], buffers, 2, limits=PATIENT) as processes:
        processes.start()
        if ready:
            assert processes.train(3) == train_here(reference, buffers, 3)
        stalled = pid_of(processes)
        os.kill(stalled, signal.SIGSTOP)
        with pytest.raises(TrainingInterrupted):
            processes.train(40, lambda: processes.updates(1) == processes.updates(0) + 40)
        until(lambda: not _runs(stalled))
        assert group.updates == reference.updates
        assert np.array_equal(group.weights, reference.weights)
        assert processes.train(40) == train_here(reference, buffers, 40)
        assert [record.restarts for record in processes.records] == [0, 0]
    assert np.array_equal(group.weights, reference.weights)


def test_a_checkpoint_of_a_stopped_session_does_not_wait_for_a_stalled_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_processes, "STOP", 0.1)
    buffers, group = new_buffers([0, 1], turns=40), new_group([0, 1])
    bounds = UpdateBounds(turns_per_update=2)  # 80 updates
    options: Any = {"publish_every": 8, "limits": PATIENT, **STAND_IN}
    with AsynchronousLearners([group], buffers, 2, bounds, **options) as learners:
        processes = learners.processes
        learners.start()
        until(lambda: pumped(processes) and min(state.version for state in processes.states.values()) == 80)
        stalled = pid_of(processes)
        os.kill(stalled, signal.SIGSTOP)
        add_rows(buffers, 20)
        until(lambda: pumped(processes) and processes.states[1].version == 120)
        learners.save_states(lambda: True)
        assert group.updates == [80, 120]
        assert [record.restarts for record in processes.records] == [0, 0]
        assert np.array_equal(group.weights[0], processes.states[0].read()[1][:SIZE])
    assert not _runs(stalled)


def test_a_learner_that_fails_again_and_again_is_given_up_and_the_others_go_on() -> None:
    buffers = new_buffers([0, 1, 2], turns=40)
    groups = [new_group([0, 2]), new_group([1], fails_at=7)]
    bounds = UpdateBounds(turns_per_update=1, max_lag=20)
    limits = LearnerLimits(timeout=300.0, restarts=2)
    options: Any = {"publish_every": 4, "limits": limits, **STAND_IN}
    with AsynchronousLearners(groups, buffers, 3, bounds, **options) as learners:
        processes = learners.processes
        learners.start()
        until(lambda: pumped(processes) and processes.records[2].given_up)
        assert processes.records[2].restarts == 2
        assert list(processes.stopped) == [1]
        assert "the update failed" in processes.stopped[1]
        assert processes.workers()[2].state == "given up"
        assert "its agents (agent 2) keep their last weights" in processes.take_notes()[-1]
        add_rows(buffers, 200)
        learners.wait_for_learners()  # for the others
        assert processes.updates(1) == 4  # the last that was published
        assert learners.take_weights()[1][0] == 4
        assert min(processes.updates(agent) for agent in (0, 2)) >= 240 * 4 - 20


def test_an_error_says_so_if_no_learner_is_left() -> None:
    buffers = new_buffers([0], turns=40)
    with new_processes([new_group([0], fails_at=0)], buffers, 1, limits=LearnerLimits(300.0, restarts=1)) as processes:
        processes.start()
        with pytest.raises(LearnersFailed, match=r"no learner process is left: each ended 2 times.*the update failed"):
            processes.train(1)


def test_a_loss_that_is_not_finite_stops_one_agent_also_after_a_kill() -> None:
    buffers = new_buffers([0, 1, 2], turns=40)
    options: Any = {"publish_every": 3, "limits": PATIENT, **STAND_IN}
    with AsynchronousLearners([new_group([0, 1, 2])], buffers, 1, ANY_NUMBER, **options) as learners:
        processes = learners.processes
        learners.start()
        until(lambda: pumped(processes) and processes.updates(1) > 10)
        add_rows({1: buffers[1]}, 8, reward=math.inf)
        until(lambda: pumped(processes) and processes.stopped)
        last, made = learners.take_weights()[1], processes.updates(0)
        assert np.isfinite(last[1]).all()
        kill_when(processes, 0, LearnerActivity.LEARNING)
        until(lambda: pumped(processes) and processes.updates(0) > made + 50)
        assert processes.stopped == {1: "its loss was not finite"}
        assert 1 not in learners.take_weights()


def test_an_agent_that_is_reported_as_stopped_learns_no_more_if_its_learner_is_killed_at_once() -> None:
    """Its state says so by then, so the process that is started again does not train it either."""
    buffers = new_buffers([0, 1], turns=40)
    options: Any = {"publish_every": 3, "limits": PATIENT, **STAND_IN}
    with AsynchronousLearners([new_group([0, 1], publishing=0.05)], buffers, 1, ANY_NUMBER, **options) as learners:
        processes = learners.processes
        learners.start()
        until(lambda: pumped(processes) and processes.updates(1) > 6)
        add_rows({1: buffers[1]}, 8, reward=math.inf)
        status = processes.records[0].link.status  # type: ignore[union-attr]
        until(lambda: status.diverged(1), 0.0005)
        os.kill(pid_of(processes), signal.SIGKILL)
        assert processes.states[1].read()[1][-1]  # type: ignore[index]
        until(lambda: pumped(processes) and processes.records[0].restarts)
        add_rows({1: buffers[1]}, ROWS)
        stopped, going = processes.updates(1), processes.updates(0)
        until(lambda: pumped(processes) and processes.updates(0) > going + 20)
        assert processes.updates(1) == stopped
        assert processes.stopped == {1: "its loss was not finite"}


def test_a_buffer_may_wrap_many_times_while_learners_sample_it() -> None:
    buffers = new_buffers([0, 1])
    with AsynchronousLearners([new_group([0, 1])], buffers, 2, ANY_NUMBER, **STAND_IN) as learners:
        processes = learners.processes
        learners.start()
        add_rows(buffers, 20)
        until(lambda: pumped(processes) and min(map(processes.updates, (0, 1))) > 0)
        for _ in itertools.takewhile(lambda _: min(map(processes.updates, (0, 1))) < 2000, itertools.count()):
            add_rows(buffers, 10)  # the stand-in fails if a row is torn
            learners.supervise()
        assert buffers[0].added > 20 * ROWS
        assert [record.restarts for record in processes.records] == [0, 0]


# The end


def test_stopping_waits_for_a_busy_learner_and_keeps_its_last_update() -> None:
    buffers, group = new_buffers([0], turns=40), new_group([0], seconds=0.1)
    with AsynchronousLearners([group], buffers, 1, ANY_NUMBER, publish_every=10**6, **STAND_IN) as learners:
        processes = learners.processes
        learners.start()
        until(lambda: pumped(processes) and processes.updates(0) >= 2)
        pid = pid_of(processes)
    assert not _runs(pid)
    processes.take_states()
    assert group.updates[0] >= 2
    assert np.array_equal(group.weights[0], References(0, buffers)[group.updates[0]])
    assert processes.take_notes() == []


def test_stopping_kills_a_learner_that_does_not_finish_its_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_processes, "STOP", 0.2)
    buffers, group = new_buffers([0, 1], turns=40), new_group([0], seconds=10**6)
    with AsynchronousLearners([group, new_group([1])], buffers, 2, ANY_NUMBER, **STAND_IN) as learners:
        processes = learners.processes
        learners.start()
        status = processes.records[0].link.status  # type: ignore[union-attr]
        until(lambda: pumped(processes) and status.activity is LearnerActivity.LEARNING and processes.updates(1) > 10)
        pids = [state.pid for state in processes.workers()]
    assert not any(_runs(pid) for pid in pids if pid is not None)
    [note] = [note for note in processes.take_notes() if note.startswith("learner 1")]  # the other one may be slow
    assert note.startswith("learner 1 did not stop in time, so it was killed; it was learning (update 0)")
    assert processes.states[1].version > 10
    assert processes.states[0].read()[1].shape == (SIZE + 2,)  # type: ignore[index]
