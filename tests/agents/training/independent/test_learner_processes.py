"""Learner processes: in step with the trainer, free, and what they report."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import psutil
import pytest

from agents.training.independent import learner_processes
from agents.training.independent.buffer import ReplayBuffer
from agents.training.independent.learner_link import LearnerLink
from agents.training.independent.learner_process import SpanRecorder
from agents.training.independent.learner_processes import LearnersFailed
from agents.training.independent.learner_specs import GroupSpec, UpdateBounds, divide
from engine.errors import BadValue
from tests.agents.training.independent.stand_in import (
    LANES,
    WIDTH,
    add_rows,
    new_buffers,
    new_group,
    new_processes,
    train_here,
)
from tests.waiting import until

BOUNDS = UpdateBounds(turns_per_update=8, learn_after=40, burst=3)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_updates_in_step_are_those_of_the_same_group_in_this_process(workers: int) -> None:
    agents = (0, 1, 4)
    buffers, here, there = new_buffers(agents, turns=30), new_group(agents), new_group(agents)
    with new_processes([there], buffers, workers) as processes:
        processes.start()
        for updates in (5, 1, 7):
            assert processes.train(updates) == train_here(here, buffers, updates)
            add_rows(buffers, 9)
        processes.take_states()
        versions = [processes.playing[agent].version for agent in agents]
    assert there.updates == here.updates == versions == [13, 13, 13]
    assert np.array_equal(there.weights, here.weights)


def test_processes_continue_with_the_states_of_the_groups() -> None:
    buffers, group, other = new_buffers([0, 1], turns=30), new_group([0, 1]), new_group([0, 1])
    train_here(group, buffers, 4)
    train_here(other, buffers, 7)
    with new_processes([group], buffers, 2) as processes:
        processes.start()
        processes.train(3)
        processes.take_states()
    assert np.array_equal(group.weights, other.weights)


def test_a_process_without_enough_turns_refuses_to_train_and_says_why() -> None:
    buffers = new_buffers([0])
    with new_processes([new_group([0])], buffers, 1) as processes:
        processes.start()
        with pytest.raises(LearnersFailed, match="learner 1 cannot learn: found only 0 of 8 turns"):
            processes.train(1)
        add_rows(buffers, 10)
        assert len(processes.train(2)[0]) == 2


def test_free_learners_make_exactly_the_updates_that_the_turns_allow() -> None:
    buffers = new_buffers([0, 1], turns=9)  # 36 turns: less than `learn_after`
    with new_processes([new_group([0, 1])], buffers, 2, bounds=BOUNDS, publish_every=2) as processes:
        processes.start()
        processes.free()
        for count, most in ((0, 0), (1, 40 // 8 + 3), (30, 160 // 8 + 3)):
            add_rows(buffers, count)
            versions = [processes.playing[agent] for agent in (0, 1)]
            until(lambda most=most, versions=versions: _pumped(processes) and all(v.version == most for v in versions))
            processes.pause()  # would publish more, if there were more
            assert [processes.updates(agent) for agent in (0, 1)] == [most, most]
            processes.free()


def _pumped(processes: object) -> bool:
    processes.pump()  # type: ignore[attr-defined]
    return True


def test_a_paused_learner_has_published_all_its_updates_and_makes_no_more() -> None:
    buffers, group = new_buffers([0], turns=60), new_group([0])
    with new_processes([group], buffers, 1, bounds=UpdateBounds(1, burst=10**6), publish_every=50) as processes:
        processes.start()
        processes.free()
        until(lambda: _pumped(processes) and processes.updates(0) > 60)
        processes.pause()
        processes.take_states()
        paused = group.updates[0]
        assert paused == processes.updates(0) == processes.playing[0].version > 60
        assert len(processes.train(3)[0]) == 3  # it made no other update meanwhile
        assert processes.updates(0) == paused + 3
        reference = new_group([0])
        train_here(reference, buffers, paused + 3)
        assert np.array_equal(group.weights, reference.weights)


def test_a_loss_that_is_not_finite_stops_one_agent_and_no_other() -> None:
    buffers, group = new_buffers([0, 1, 2], turns=30), new_group([0, 1, 2])
    with new_processes([group], buffers, 1) as processes:
        processes.start()
        processes.train(4)
        good = processes.playing[1].read()
        add_rows({1: buffers[1]}, 64, reward=math.nan)
        losses = processes.train(5)
        assert [len(losses[agent]) for agent in (0, 1, 2)] == [5, 0, 5]
        assert processes.stopped == {1: "its loss was not finite"}
        assert [processes.learns(agent) for agent in (0, 1, 2)] == [True, False, True]
        assert [processes.playing[agent].version for agent in (0, 1, 2)] == [9, 4, 9]
        assert np.array_equal(processes.playing[1].read()[1], good[1])
        assert processes.take_notes() == [], "`stopped` says it"
        processes.take_states()
    assert group.diverged == [False, True, False]


def test_losses_and_spans_are_reported_with_the_state_of_each_process() -> None:
    buffers = new_buffers([0, 1], turns=30)
    with new_processes([new_group([0, 1])], buffers, 2, bounds=BOUNDS) as processes:
        processes.start()
        processes.free()
        until(lambda: _pumped(processes) and processes.updates(0) == processes.updates(1) == 120 // 8 + 3)
        until(lambda: _pumped(processes) and all(worker.state == "waiting" for worker in processes.workers()))
        states = processes.workers()
        assert [state.name for state in states] == ["learner 1", "learner 2"]
        assert [state.done for state in states] == ["18 updates", "18 updates"]
        assert all(psutil.pid_exists(state.pid) and state.pid != os.getpid() for state in states)
    losses, spans = processes.take_mean_losses(), processes.take_spans()
    assert losses[0] == pytest.approx(1.5, abs=0.5)  # rewards of two turns, the second at half, or of the last one
    assert {span.track for span in spans} == {"learner 1", "learner 2"}
    assert {span.name for span in spans} == {"learn", "publish", "wait"}
    assert all(span.seconds >= 0 for span in spans)
    assert math.isnan(processes.take_mean_losses()[0])
    assert processes.take_spans() == ()
    assert [state.state for state in processes.workers()] == ["stopped", "stopped"]


def test_spans_of_one_name_without_a_gap_become_one() -> None:
    recorder = SpanRecorder()
    for name, start, end in (("learn", 1.0, 2.0), ("learn", 2.0, 3.0), ("publish", 3.0, 3.5), ("learn", 4.0, 5.0)):
        recorder.add(name, start, end)
    found = recorder.take()
    assert [(name, pytest.approx(seconds)) for name, _, seconds in found] == [
        ("learn", 2),
        ("publish", 0.5),
        ("learn", 1),
    ]
    assert recorder.take() == []


def test_processes_end_with_the_trainer_and_leave_what_they_published() -> None:
    buffers = new_buffers([0, 1], turns=30)
    with new_processes([new_group([0, 1])], buffers, 2) as processes:
        processes.start()
        processes.train(6)
        pids = [state.pid for state in processes.workers()]
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert [processes.playing[agent].version for agent in (0, 1)] == [6, 6]
    processes.close()


def test_processes_that_have_started_end_if_another_one_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    links: list[LearnerLink] = []

    def link(*arguments: Any) -> LearnerLink:
        if links:
            raise OSError("no more processes")
        links.append(LearnerLink(*arguments))
        until(lambda: links[0].child.pid)
        return links[0]

    monkeypatch.setattr(learner_processes, "LearnerLink", link)
    processes = new_processes([new_group([0, 1])], new_buffers([0, 1]), 2)
    with pytest.raises(OSError, match="no more processes"):
        processes.start()
    assert not psutil.pid_exists(links[0].child.pid or 0)


def test_agents_are_divided_evenly_and_groups_stay_together() -> None:
    groups = [GroupSpec("a", (0, 2, 4)), GroupSpec("b", (1, 3))]  # type: ignore[arg-type]
    assert divide(groups, 1) == [tuple(groups)]
    assert divide(groups, 2) == [(groups[0],), (groups[1],)]
    assert [[group.agents for group in part] for part in divide(groups, 3)] == [[(0, 2)], [(4,), (1,)], [(3,)]]
    assert len(divide(groups, 9)) == 5


def test_a_buffer_of_one_process_is_refused() -> None:
    with pytest.raises(BadValue, match="share"):
        new_processes([new_group([0])], {0: ReplayBuffer(8, LANES, (WIDTH,))}, 1)
