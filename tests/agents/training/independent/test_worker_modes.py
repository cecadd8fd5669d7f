"""Experiments whose agents learn in processes: in step with the actor, and while it plays."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import psutil
import pytest

from agents.training.events import Checkpoint, Ended, Event, How, Level, Log, Metrics, Spans, Workers
from agents.training.independent import learner_processes
from agents.training.independent.asynchronous import AsynchronousLearners
from agents.training.independent.config import IndependentConfig
from agents.training.independent.environment import ParallelEnvironment
from agents.training.independent.learner_processes import LearnersFailed
from agents.training.independent.learner_records import LearnerLimits
from agents.training.independent.learning import FreeLearning, StepLearning
from agents.training.independent.state import read
from tests.agents.training.fake_context import FakeContext, of
from tests.agents.training.independent.test_environment import HUNT, experiment, outcome, run
from tests.agents.training.independent.test_trainer import ROLES, independent, session
from tests.faults.league import within
from tests.waiting import until

FREE = {"async_learning": True, "num_workers": 2}


class Session(FakeContext):
    """Kills the first learner in the second update of its three agents, when the first one may be published, and shows
    what was sent."""

    victim: int | None = None  # the process that was killed

    def send(self, event: Event) -> None:
        super().send(event)
        for worker in event.workers if isinstance(event, Workers) else ():
            updates = worker.name == "learner 1" and int(worker.done.partition(" ")[0].replace(",", ""))
            if worker.pid and updates > len(ROLES) and self.victim is None:
                self.victim = worker.pid
                os.kill(worker.pid, signal.SIGKILL)

    @property
    def shows_the_fault(self) -> bool:
        logs = [event.text for event in of(Log, self.events) if event.level is Level.WARNING]
        workers = [worker for event in of(Workers, self.events) for worker in event.workers]
        return any("learner 1" in text for text in logs) and any(worker.restarts for worker in workers)


def send_all(settings: IndependentConfig, context: FakeContext) -> None:
    for event in settings.train(context):
        context.send(event)


def test_processes_in_step_have_the_same_results_to_the_bit() -> None:
    result, saved = run()
    other, again = run({"training_mode": "processes", "num_workers": 2})
    assert other.mode == "processes"
    assert outcome(other) == outcome(result)
    assert again == saved


@pytest.mark.parametrize(("first", "second"), [(None, FREE), (FREE, FREE), (FREE, None)])
def test_an_agent_that_was_frozen_makes_only_the_updates_of_later_turns(first: Any, second: Any) -> None:
    """As in synchronous modes: 5 updates are due after each epoch."""
    result, saved = run(first, frozen="agent 2", evaluate_every=0)
    assert result.updates == (40, 0, 40)
    result, _ = run(second, saved=saved, epochs=10, evaluate_every=0)
    assert result.updates == (50, 10, 50)


def test_an_agent_that_learned_no_more_is_not_trained_too_much_after_a_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if its process had been given up."""
    with experiment(FREE, evaluate_every=0) as environment:
        environment.run_experiment()
        states = environment.population.states()
        states[1][-2] = 12  # updates
        monkeypatch.setattr(environment.population, "states", lambda: states)
        monkeypatch.setattr(environment.population, "updates", lambda seat: 12 if seat == 1 else 40)
        monkeypatch.setattr(FreeLearning, "stopped", lambda _: {1: "it was given up"})
        monkeypatch.setattr(FreeLearning, "save", lambda *_: None)
        saved = environment.save()
        monkeypatch.undo()
    assert run(FREE, saved=saved, epochs=10, evaluate_every=0)[0].updates == (50, 22, 50)


@pytest.mark.slow
def test_free_learners_make_the_updates_later_that_were_due_at_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_processes, "STOP", 2.0)  # the other learner must have published its states by then
    stopping: list[bool] = []
    with experiment(FREE, epochs=10**6, evaluate_every=0, stopping=lambda: bool(stopping)) as environment:
        while not min(map(environment.updates_of, range(3))):
            environment.advance()
        pid = environment.learning.states()[0].pid  # type: ignore[union-attr]
        os.kill(pid or 0, signal.SIGSTOP)
        before = environment.updates_of(0)
        while environment.updates_of(1) < before + 20:  # agent 2 is in the other process
            environment.advance()
        stopping.append(True)
        until(environment.stopping)
        saved, epoch = environment.save(), environment.epoch
    assert environment.updates_of(0) == environment.updates_of(2) < environment.updates_of(1)
    result, _ = run(FREE, saved=saved, epochs=epoch + 2, evaluate_every=0)
    assert result.updates == ((epoch + 2) * 5,) * 3


def test_a_session_stops_while_a_learner_in_step_does_not_react_and_continues_with_the_same_bits() -> None:
    _, whole = run()
    stalled: list[int] = []

    def stopping() -> bool:
        """While the learner of agent 2 has gone on, and the other one has not."""
        learning = environment.learning
        return bool(stalled) and isinstance(learning, StepLearning) and learning.processes.updates(1) > 10  # type: ignore[union-attr]

    with experiment({"training_mode": "processes", "num_workers": 2}, stopping=stopping) as environment:
        environment.advance()
        stalled.append(environment.learning.states()[0].pid or 0)  # type: ignore[union-attr]
        os.kill(stalled[0], signal.SIGSTOP)
        assert environment.advance() is None
        saved = environment.save()
        assert [environment.updates_of(seat) for seat in range(3)] == [10] * 3
    until(lambda: not psutil.pid_exists(stalled[0]))
    assert run(saved=saved)[1] == whole


def test_free_learners_keep_to_the_bounds_and_the_actor_takes_their_weights() -> None:
    with experiment(FREE, epochs=24, max_lag=6, publish_every=3) as environment:
        first = {seat: player.payload for seat, player in environment.population.players.items()}
        result = environment.run_experiment()
        assert result.mode == "asynchronous"
        due = environment.turns // 16
        assert all(due - 6 <= made <= due for made in result.updates)
        assert all(0 < version <= due for version in environment.population.versions.values())
        assert all(player.payload != first[seat] for seat, player in environment.population.players.items())
        saved, updates = environment.save(), [environment.updates_of(seat) for seat in range(3)]
    with experiment(saved=saved, epochs=26) as environment:  # and on in another mode
        assert [environment.updates_of(seat) for seat in range(3)] == updates
        assert environment.epoch == 24
        result = environment.run_experiment()
        new = 26 * 80 // 16 - max(updates)  # of each agent: those that were behind stay behind
        assert result.updates == tuple(made + new for made in updates)


def test_a_free_learner_that_is_killed_is_started_again_and_shown() -> None:
    with experiment(FREE, epochs=1_000_000, max_lag=6, publish_every=3) as environment:
        while not isinstance(environment.learning, FreeLearning):
            environment.advance()
        victim = None
        while victim is None or not environment.learning.restarts:
            environment.advance()
            pid = environment.learning.states()[0].pid
            if victim is None and pid is not None and environment.updates_of(0):
                victim = pid
                os.kill(pid, signal.SIGKILL)
        report = environment.advance()
        assert report is not None
        [text] = [note.text for note in environment.notes if note.warning and "learner 1" in note.text]
        assert text.endswith("; it is started again")
        environment.finish_learning()
        due = environment.settings.bounds.due(environment.turns)
        assert [environment.updates_of(seat) for seat in range(3)] == [due] * 3, "none is lost or made twice"
        assert environment.still_learning


def test_updates_that_a_killed_learner_loses_are_not_reported_as_a_negative_number() -> None:
    every = {"turns_per_update": 1, "max_lag": 10**6, "publish_every": 10**6}  # learners are always behind
    with experiment(FREE, epochs=10**6, evaluate_every=0, **every) as environment:
        reports = [environment.advance()]
        while not isinstance(environment.learning, FreeLearning) or environment.updates_of(0) < 100:
            reports.append(environment.advance())
        processes = environment.learning.processes
        os.kill(processes.workers()[0].pid or 0, signal.SIGKILL)
        made = environment.updates_of(0)
        until(lambda: (processes.pump(), processes.ends)[1])
        assert environment.updates_of(0) < made
        reports.append(environment._report())
    assert min(report.made for report in reports if report is not None) >= 0


def test_a_learner_that_dies_while_the_actor_waits_is_shown_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.training.independent.trainer.EVERY", 0.0)
    context = Session(HUNT.spec)
    real = AsynchronousLearners.wait_for_learners

    def wait(learners: AsynchronousLearners, stop: Callable[[], bool]) -> float:
        """This wait ends only when the fault was shown."""
        while not context.shows_the_fault:
            stop()
            learners.supervise()
            real(learners, stop)
            if context.victim is None:
                return 0.0
        return real(learners, stop)

    monkeypatch.setattr(AsynchronousLearners, "wait_for_learners", wait)
    settings = independent(async_learning=True, training_mode="auto", max_lag=4, epochs=1000, references="none")
    with within(120), closing(context):
        for event in settings.train(context):
            context.send(event)
            if context.shows_the_fault:
                break
    assert context.victim is not None


@pytest.mark.parametrize("mode", [{"training_mode": "processes"}, {"async_learning": True, "training_mode": "auto"}])
def test_a_learner_that_dies_while_the_actor_plays_is_shown_at_once(
    mode: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.training.independent.trainer.EVERY", 0.0)
    context = Session(HUNT.spec)
    context.victim = 0  # it is chosen here
    real = ParallelEnvironment.take_turn

    def take_turn(environment: ParallelEnvironment) -> bool:
        """This turn ends only when the fault was shown."""
        pid = environment.learning.states()[0].pid if environment.learning is not None else None
        if pid is not None and not context.victim:
            context.victim = pid
            os.kill(pid, signal.SIGKILL)
            until(lambda: environment.stopping() or context.shows_the_fault)
        return real(environment)

    monkeypatch.setattr(ParallelEnvironment, "take_turn", take_turn)
    with within(120), closing(context):
        send_all(independent(**mode, references="none"), context)
    assert context.shows_the_fault


def test_learners_that_fail_for_good_leave_a_checkpoint_of_what_they_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.training.independent.trainer.EVERY", 0.0)
    limits = partial(LearnerLimits, restarts=0)
    monkeypatch.setattr("agents.training.independent.learner_processes.LearnerLimits", limits)
    context = Session(HUNT.spec)
    settings = independent(
        async_learning=True, training_mode="auto", max_lag=4, epochs=1_000_000, references="none",
        checkpoint_every=1_000_000, evaluate_every=0, publish_every=1, num_workers=1,
    )  # fmt: skip
    with within(120), closing(context), pytest.raises(LearnersFailed):
        send_all(settings, context)
    [checkpoint] = of(Checkpoint, context.events)
    assert len(checkpoint.players) == 3
    about = read(checkpoint.state, HUNT.spec).about
    assert about.updates > 0
    assert about.epoch > 0
    with experiment(FREE, agents=[settings.learner(HUNT)] * 3, saved=checkpoint.state) as environment:
        assert max(environment.updates_of(seat) for seat in range(3)) == about.updates
        players = [environment.population.players[seat].payload for seat in range(3)]
    assert players == [player.payload for player in checkpoint.players]


def test_a_checkpoint_of_free_learners_has_the_networks_that_act() -> None:
    with experiment(FREE, epochs=1_000_000, max_lag=6, publish_every=100_000) as environment:
        while not isinstance(environment.learning, FreeLearning) or not all(map(environment.updates_of, range(3))):
            environment.advance()
        saved = environment.save()
        acting = {seat: player.payload for seat, player in environment.population.players.items()}
    with experiment(saved=saved) as environment:
        assert {seat: player.payload for seat, player in environment.population.players.items()} == acting
        assert all(version > 0 for version in environment.population.versions.values())


def test_the_networks_of_the_last_evaluation_are_those_of_the_checkpoint() -> None:
    with experiment(FREE, publish_every=100_000) as environment:
        last = environment.run_experiment().evaluations[-1]
        acting = {seat: player.payload for seat, player in environment.population.players.items()}
        saved = environment.save()
        assert {seat: player.payload for seat, player in environment.population.players.items()} == acting
    with experiment(saved=saved) as environment:
        assert environment.evaluate() == last


def test_a_session_with_free_learners_reports_its_processes_and_can_be_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agents.training.independent.trainer.EVERY", math.inf)  # however fast the machine is
    events = session(independent(async_learning=True, training_mode="auto", max_lag=4, calibrate=True), workers=3)
    [end] = of(Ended, events)
    assert (end.how, end.reason.partition(";")[0]) == (How.FINISHED, "8 epochs")
    names = {worker.name for event in of(Workers, events) for worker in event.workers}
    assert {"actor", "learner 1"} <= names
    tracks = {span.track for event in of(Spans, events) for span in event.spans}
    assert {"actor", "learner 1"} <= tracks, "also what learners reported until their end"
    values = {name for event in of(Metrics, events) for name, _ in event.values}
    assert {f"staleness/{role}" for role in ROLES} | {"speedup/measured", "speedup/predicted"} <= values
    rest = session(
        independent(async_learning=True, training_mode="auto", epochs=12), state=of(Checkpoint, events)[-1].state
    )
    [end] = of(Ended, rest)
    assert (end.how, end.reason.partition(";")[0]) == (How.FINISHED, "12 epochs")
    assert not [event for event in of(Log, rest) if "has stopped learning" in event.text]
