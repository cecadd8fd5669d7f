"""Learning while the actor plays: the bounds on updates, and weights that the actor takes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agents.training.independent import asynchronous
from agents.training.independent.asynchronous import AsynchronousLearners
from agents.training.independent.buffer import IDLE, ReplayBuffer
from agents.training.independent.ends import End
from agents.training.independent.learner_processes import LearnersFailed
from agents.training.independent.learner_records import LearnerLimits
from agents.training.independent.learner_specs import UpdateBounds
from engine.processes import launcher
from tests.agents.training.independent.stand_in import (
    LANES,
    ROWS,
    STAND_IN,
    WIDTH,
    EndlessStart,
    add_rows,
    new_buffers,
    new_group,
    train_here,
)
from tests.waiting import until

BOUNDS = UpdateBounds(turns_per_update=4, learn_after=40, burst=2, max_lag=12)


def new_learners(agents: list[int], buffers: Any, bounds: UpdateBounds = BOUNDS, **settings: Any) -> Any:
    return AsynchronousLearners([new_group(agents, **settings)], buffers, 2, bounds, publish_every=3, **STAND_IN)


def new_learners_after(skipped: dict[int, int], buffers: Any, bounds: UpdateBounds) -> Any:
    """Some agents have skipped updates."""
    return AsynchronousLearners([new_group([0, 1])], buffers, 2, bounds, publish_every=3, skipped=skipped, **STAND_IN)


@pytest.fixture
def buffers() -> Iterator[Any]:
    return new_buffers([0, 1])


def supervised(learners: Any) -> bool:
    learners.supervise()
    return True


def test_updates_stay_within_both_bounds_at_every_turn(buffers: Any) -> None:
    with new_learners([0, 1], buffers, seconds=0.001) as learners:
        learners.start()
        waited = 0.0
        for _ in range(300):
            add_rows(buffers, 1)
            waited += learners.wait_for_learners()
            made = [learners.processes.updates(agent) for agent in (0, 1)]
            turns = buffers[0].added * LANES
            due = turns // 4 if turns >= 40 else 0
            assert min(made) >= due - 12
            assert max(made) <= due + 2
        assert waited > 0  # it plays faster than they learn
        assert learners.behind() == []


def test_all_updates_that_are_due_are_made_at_the_end(buffers: Any) -> None:
    with new_learners([0, 1], buffers, UpdateBounds(turns_per_update=4, max_lag=10_000), seconds=0.001) as learners:
        learners.start()
        add_rows(buffers, 50)
        assert learners.wait_for_learners() == 0, "none is too far behind"
        assert learners.finish() > 0
        assert [learners.processes.updates(agent) for agent in (0, 1)] == [50 * LANES // 4] * 2


def test_updates_at_the_end_that_a_learner_loses_are_made_again(buffers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed when it has made them, before it has published them."""
    group, reference, killed = new_group([0, 1], publishing=0.1), new_group([0, 1]), []
    bounds = UpdateBounds(turns_per_update=4, max_lag=10_000)
    with AsynchronousLearners([group], buffers, 1, bounds, publish_every=10**6, **STAND_IN) as learners:
        processes = learners.processes
        pause = processes.pause

        def kill_and_pause(stop: Any) -> None:
            if not killed:
                killed.append(processes.records[0].link.child.pid)  # type: ignore[union-attr]
                os.kill(killed[0], signal.SIGKILL)
            pause(stop)

        monkeypatch.setattr(processes, "pause", kill_and_pause)
        learners.start()
        add_rows(buffers, 50)
        learners.finish()
        learners.save_states()
        assert processes.ends == 1
    train_here(reference, buffers, 50 * LANES // 4)
    assert group.updates == reference.updates
    assert np.array_equal(group.weights, reference.weights)


def test_the_actor_gets_whole_weights_of_growing_versions(buffers: Any) -> None:
    versions: dict[int, list[int]] = {0: [], 1: []}
    reference = new_group([0, 1])
    with new_learners([0, 1], buffers) as learners:
        learners.start()
        until(lambda: supervised(learners) and all(learners.processes.playing[a].read() for a in (0, 1)))
        for agent, (version, numbers) in learners.take_weights().items():
            assert version == 0
            assert np.array_equal(numbers, reference.weights[agent])
        assert learners.take_weights() == {}
        add_rows(buffers, 60)
        for _ in range(200):
            add_rows(buffers, 1)
            learners.wait_for_learners()
            for agent, (version, _) in learners.take_weights().items():
                versions[agent].append(version)
        assert all(taken == sorted(set(taken)) and taken[-1] > 100 for taken in versions.values())


def test_updates_that_an_agent_has_skipped_are_not_made_later(buffers: Any) -> None:
    bounds = UpdateBounds(turns_per_update=4, max_lag=5)
    with new_learners_after({1: 45}, buffers, bounds) as learners:
        learners.start()
        add_rows(buffers, 40)
        learners.finish()
        assert [learners.processes.updates(agent) for agent in (0, 1)] == [40, 0]
        assert learners.behind() == []
        add_rows(buffers, 10)
        learners.wait_for_learners()
        made = [learners.processes.updates(agent) for agent in (0, 1)]
        assert 45 <= made[0] <= 50
        assert 0 <= made[1] <= 5
        learners.finish()
        assert [learners.processes.updates(agent) for agent in (0, 1)] == [50, 5]


def test_the_lower_bound_holds_after_a_death_that_a_checkpoint_notices(buffers: Any, monkeypatch: Any) -> None:
    """Updates that were not published are lost with the process, so the actor has to wait for them again."""
    monkeypatch.setattr(asynchronous, "SUPERVISE", 0.0)
    add_rows(buffers, 60)
    bounds, made = UpdateBounds(turns_per_update=4, max_lag=12), 60
    options: Any = {"publish_every": 10**6, **STAND_IN}
    with AsynchronousLearners([new_group([0, 1], seconds=0.005)], buffers, 1, bounds, **options) as learners:
        processes = learners.processes
        learners.start()
        until(lambda: supervised(learners) and min(map(processes.updates, (0, 1))) >= made - 12)
        assert learners.wait_for_learners() == 0
        os.kill(processes.records[0].link.child.pid, signal.SIGKILL)  # type: ignore[union-attr, arg-type]
        until(lambda: processes.records[0].link.child.has_ended)  # type: ignore[union-attr]
        learners.save_states()
        assert processes.ends == 1
        lost = min(map(processes.updates, (0, 1)))
        assert lost < made - 12, "nothing was published"
        learners.wait_for_learners()
        assert min(map(processes.updates, (0, 1))) >= made - 12


def test_a_checkpoint_does_not_wait_for_learners_that_are_starting(buffers: Any) -> None:
    """They may import torch and compile: a session that is stopped meanwhile ends at once."""
    options: Any = STAND_IN | {"group": f"{EndlessStart.__module__}:{EndlessStart.__name__}"}
    limits = LearnerLimits(timeout=600.0, restarts=0)
    with AsynchronousLearners([new_group([0, 1])], buffers, 2, BOUNDS, limits=limits, **options) as learners:
        learners.start()
        learners.save_states()
        assert not any(record.link and record.link.ready for record in learners.processes.records)
        assert learners.processes._groups[0].updates == [0, 0]


def test_a_checkpoint_has_the_states_after_all_updates_made_so_far(buffers: Any) -> None:
    add_rows(buffers, 30)
    with new_learners([0, 1], buffers) as learners:
        learners.start()
        until(lambda: supervised(learners) and learners.processes.updates(0) > 10)
        learners.save_states()
        group = learners.processes._groups[0]
        reference = new_group([0, 1])
        for k in (0, 1):
            alone = new_group([k])
            train_here(alone, buffers, group.updates[k])
            reference.weights[k] = alone.weights[0]
        assert np.array_equal(group.weights, reference.weights)
        until(lambda: supervised(learners) and learners.processes.updates(0) == 32)  # it learns again


def test_the_actor_does_not_wait_for_a_learner_that_has_nothing_to_learn_from(buffers: Any) -> None:
    bounds = UpdateBounds(turns_per_update=1, max_lag=4)
    with new_learners([0, 1], buffers, bounds, batch=200) as learners:  # 50 rows at least
        learners.start()
        until(lambda: supervised(learners) and all(learners.processes.playing[a].read() for a in (0, 1)))
        add_rows(buffers, 3)
        assert bounds.late(3 * LANES, 0)
        assert learners.behind() == []
        assert learners.wait_for_learners() == 0.0, "it has 12 turns, and needs 200 for a minibatch"
        add_rows(buffers, 60)
        learners.wait_for_learners()
        assert min(learners.processes.updates(agent) for agent in (0, 1)) >= 63 * LANES - 4


def test_the_actor_plays_on_while_a_learner_finds_too_few_turns(buffers: Any) -> None:
    """As if the agents had left all matches at their beginning for a while."""
    with new_learners([0, 1], buffers) as learners:
        learners.start()
        add_rows(buffers, 200)
        learners.wait_for_learners()
        for buffer in buffers.values():
            for _ in range(2 * ROWS):
                buffer.add(np.zeros((LANES, WIDTH), np.float32), IDLE, 0.0, 0)
        learners.wait_for_learners()
        made = max(learners.processes.updates(agent) for agent in (0, 1))
        assert made <= 200 + ROWS + 2, "none after the last turn was overwritten"
        add_rows(buffers, 20)
        learners.wait_for_learners()
        assert min(learners.processes.updates(agent) for agent in (0, 1)) >= 200 + 2 * ROWS + 20 - 12
        assert learners.processes.ends == 0


def test_the_actor_does_not_wait_for_ever_if_turns_are_too_rare_to_be_found() -> None:
    """An agent that acted in 8 of 8,000 turns, with minibatches of 8."""
    size = 2000, LANES, (WIDTH,)
    buffer = ReplayBuffer(*size, launcher.shared_memory(ReplayBuffer.bytes_needed(*size)))
    for number in range(2000):
        buffer.add(np.zeros((LANES, WIDTH), np.float32), 0 if number < 2 else IDLE, 1.0, End.TERMINATED)
    options: Any = {"limits": LearnerLimits(timeout=120.0, restarts=1), **STAND_IN}
    with AsynchronousLearners([new_group([0])], {0: buffer}, 1, BOUNDS, **options) as learners:
        learners.start()
        with pytest.raises(LearnersFailed, match=r"found only \d of 8 turns to learn from"):
            learners.wait_for_learners()


def test_a_wait_ends_when_the_actor_should_stop(buffers: Any) -> None:
    with new_learners([0, 1], buffers, seconds=0.05) as learners:
        learners.start()
        add_rows(buffers, 500)
        asked = iter([False, False, True])
        assert learners.wait_for_learners(lambda: next(asked)) > 0
        assert learners.behind() == [0, 1]
