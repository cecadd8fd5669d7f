"""What is left of a session of `ppo` after an error, and checkpoints that are too large."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from agents.training.events import Checkpoint, Event, How, Level, Log
from agents.training.selfplay import state as ppo_state
from agents.training.selfplay.asynchronous import AsynchronousCollector
from agents.training.selfplay.collector import Collected, SynchronousCollector
from agents.training.selfplay.config import ASYNCHRONOUS, SYNCHRONOUS, PpoConfig
from agents.training.selfplay.loss import Batch
from agents.training.selfplay.mlp_step import MlpStep
from agents.training.selfplay.state import PpoRun
from engine.errors import BadValue, PolicyFailed, RingsideError
from engine.play.match import AgentSpec
from engine.play.rollout_process import RolloutFailed
from engine.play.rollout_worker import RolloutWorker
from tests.agents.training.fake_context import GAME, FakeContext, last_state, of, stay_in_process, trained
from tests.agents.training.selfplay.helpers import PLUGINS, python_policy
from tests.agents.training.selfplay.test_ppo import QUICK, measured, one_thread  # noqa: F401 - a fixture

RARELY = {**QUICK, "checkpoint_every": 1000}


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)


def trained_until(error: type[RingsideError], settings: PpoConfig, text: str, **given: Any) -> list[Event]:
    """The events before this error."""
    with closing(FakeContext(**given)) as context:
        stream, events = settings.train(context), list[Event]()
        with pytest.raises(error, match=text):
            events.extend(stream)
    return events


@pytest.mark.parametrize("mode", [SYNCHRONOUS, ASYNCHRONOUS])
def test_an_agent_that_fails_costs_no_completed_update(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = SynchronousCollector if mode == SYNCHRONOUS else AsynchronousCollector
    collect, calls = kind.collect, []

    def fail_later(self: Any) -> Collected:
        calls.append(1)
        if len(calls) == 5:
            raise PolicyFailed("'Eve' failed")
        return collect(self)

    with monkeypatch.context() as patch:
        patch.setattr(kind, "collect", fail_later)
        part = trained_until(PolicyFailed, PpoConfig(**{**RARELY, "mode": mode}), "'Eve' failed")
    [checkpoint] = of(Checkpoint, part)
    assert checkpoint.step == 4
    rest = trained(PpoConfig(**{**RARELY, "mode": mode}), state=checkpoint.state)
    assert max(measured(rest)) == 6
    if mode == SYNCHRONOUS:
        whole = trained(PpoConfig(**RARELY))
        assert measured([*part, *rest]) == measured(whole)
        assert last_state(rest) == last_state(whole)


def test_processes_that_fail_in_mid_segment_are_resumed_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two processes has played the segment, the other has not."""
    settings, more = PpoConfig(**{**RARELY, "updates": 3}), {"workers": 2, "plugins": PLUGINS}
    me = AgentSpec("Eve", "python-policy", b"")
    collect, calls = RolloutWorker.collect, []

    def fail_later(self: RolloutWorker, steps: int) -> Any:
        if self.name.endswith("2"):
            calls.append(1)
            if len(calls) == 3:
                raise RolloutFailed("it has died four times")
        return collect(self, steps)

    with python_policy():
        whole = trained(settings, agents=(me,), **more)
        with monkeypatch.context() as patch:
            patch.setattr(RolloutWorker, "collect", fail_later)
            part = trained_until(RolloutFailed, settings, "died four times", agents=(me,), **more)
        rest = trained(settings, state=last_state(part), **more)
    assert of(Checkpoint, part)[-1].step == 2
    assert measured([*part, *rest]) == measured(whole)
    assert last_state(rest) == last_state(whole)


def test_a_loss_that_is_not_finite_costs_no_completed_update(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, calls = MlpStep.begin, []

    def break_later(step: MlpStep, batch: Batch, learning_rate: float) -> None:
        calls.append(1)
        if len(calls) == 4:
            batch.returns[-1] = float("nan")  # only one of several minibatches
        begin(step, batch, learning_rate)

    with monkeypatch.context() as patch:
        patch.setattr(MlpStep, "begin", break_later)
        part = trained(PpoConfig(**RARELY))
    assert part[-1].how is How.FAILED
    assert "update 4: the loss became nan" in part[-1].reason
    assert "the last checkpoint is that of update 3: lower learning_rate" in part[-1].reason
    whole = of(Checkpoint, trained(PpoConfig(**{**RARELY, "checkpoint_every": 3})))[0]
    found, expected = (
        PpoRun.from_checkpoint(state, PpoConfig(**QUICK), GAME) for state in (last_state(part), whole.state)
    )
    assert (found.update, found.samples, found.pool) == (3, expected.samples, expected.pool)
    mine, other = found.learner.tensors(), expected.learner.tensors()
    assert all((mine[name] == other[name]).all() for name in other), "also what Adam remembers"
    assert of(Checkpoint, trained(PpoConfig(**RARELY), state=last_state(part)))[-1].step == 6


def test_an_error_before_the_first_update_of_a_session_makes_no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object) -> Collected:
        raise PolicyFailed("'Eve' failed")

    state = last_state(trained(PpoConfig(**{**QUICK, "updates": 2})))
    monkeypatch.setattr(SynchronousCollector, "collect", fail)
    assert not of(Checkpoint, trained_until(PolicyFailed, PpoConfig(**QUICK), "Eve"))
    assert not of(Checkpoint, trained_until(PolicyFailed, PpoConfig(**QUICK), "Eve", state=state))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(("column", "what"), [("rewards", "scores"), ("obs", "observations")])
def test_numbers_that_are_not_finite_are_blamed_on_the_game(
    column: str, what: str, bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect = SynchronousCollector.collect

    def damaged(self: SynchronousCollector) -> Collected:
        collected = collect(self)
        getattr(collected.played, column).reshape(-1)[5] = bad
        return collected

    monkeypatch.setattr(SynchronousCollector, "collect", damaged)
    trained_until(BadValue, PpoConfig(**QUICK), f"'nan or inf': must be finite numbers: check the {what} of pong")


def test_a_checkpoint_that_would_be_too_large_goes_without_running_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = PpoConfig(**{**QUICK, "snapshots": 1, "snapshot_every": 1})
    whole = trained(settings)
    large, small = (of(Checkpoint, whole)[k] for k in (-1, 0))
    run = PpoRun.from_checkpoint(large.state, settings, GAME)
    assert run.pool.retired
    without = run.dump(b"")
    assert len(without) < len(large.state)
    limit = len(without) + len(large.players[0].payload)
    monkeypatch.setattr(ppo_state, "LARGEST_CHECKPOINT", limit)
    events = trained(settings)
    assert measured(events) == measured(whole), "the session itself goes on as usual"
    logs = [event.text for event in of(Log, events) if event.level is Level.WARNING]
    assert logs
    assert logs[-1].startswith("the checkpoint of update 6 goes without its running matches: with them it would have ")
    last = of(Checkpoint, events)[-1]
    assert len(last.state) + len(last.players[0].payload) <= limit
    assert small.step == of(Checkpoint, events)[0].step
    resumed = PpoRun.from_checkpoint(last.state, settings, GAME)
    assert not resumed.pool.retired
    assert list(resumed.pool.members) == list(run.pool.members)
    more = trained(PpoConfig(**{**QUICK, "snapshots": 1, "snapshot_every": 1, "updates": 8}), state=last.state)
    assert more[-1].how is How.FINISHED
