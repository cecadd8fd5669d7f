"""A run that is stopped at any moment and resumed, with any number of workers, is identical."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.training.events import Checkpoint, Ended, Event, How
from agents.training.neat.config import NeatConfig
from agents.training.neat.modes import MODES
from tests.agents.training.fake_context import (
    FakeContext,
    last_state,
    measured,
    of,
    stay_in_process,
    trained,
    trainer,
    write_config,
)


@pytest.fixture
def trainer_in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """A trainer of a mode that plays in this process."""
    stay_in_process(monkeypatch)
    crowd = write_config(tmp_path / "crowd.txt")
    return lambda mode, **settings: trainer(crowd, mode=mode, mastery=0.3, **settings)


def attend_calls(config: NeatConfig) -> int:
    """Number of calls of `attend` in a whole run."""
    context = FakeContext()
    assert list(config.train(context))[-1].how is How.FINISHED
    return context.calls


@pytest.mark.parametrize("mode", sorted(MODES))
def test_a_run_stopped_at_any_moment_resumes_identically(mode: str, trainer_in_process) -> None:
    trainer = trainer_in_process(mode)
    whole = trained(trainer)
    wanted, looks = measured(whole), attend_calls(trainer)
    moments = sorted({0, 1, looks // 7, looks // 3, looks // 2, looks - 1, *range(5, looks, looks // 4)})
    for moment in moments:
        begun = trained(trainer, stop_after=moment)
        assert begun[-1].how is How.STOPPED
        assert len(of(Checkpoint, begun)) == 1
        rest = trained(trainer, state=last_state(begun))
        assert {**measured(begun), **measured(rest)} == wanted
        assert not set(measured(begun)) & set(measured(rest)), "what was finished is not done again"
        assert rest[-1] == Ended(How.FINISHED, "5 generations")
        assert last_state(rest) == last_state(whole), "to the byte"
        assert rest[-2] == whole[-2], "the same champion"


@pytest.mark.parametrize("mode", sorted(MODES))
def test_a_run_stopped_many_times_has_the_same_end(mode: str, trainer_in_process) -> None:
    trainer = trainer_in_process(mode)
    wanted, looks = measured(trained(trainer)), attend_calls(trainer)
    found: dict[int, dict[str, float]] = {}
    state, stops = None, 0
    events: list[Event] = []
    while not events or events[-1].how is How.STOPPED:
        events = trained(trainer, state=state, stop_after=looks // 2 if stops < 4 else None)
        found |= measured(events)
        state, stops = last_state(events), stops + 1
    assert stops >= 2
    assert found == wanted


@pytest.mark.parametrize("mode", sorted(MODES))
def test_every_checkpoint_leads_to_the_same_end(mode: str, trainer_in_process) -> None:
    trainer = trainer_in_process(mode, checkpoint_every=1)
    events = trained(trainer)
    wanted = measured(events)
    checkpoints = of(Checkpoint, events)
    assert [each.step for each in checkpoints] == [1, 2, 3, 4, 5]
    for checkpoint in checkpoints:
        rest = measured(trained(trainer, state=checkpoint.state))
        assert rest == {step: values for step, values in wanted.items() if step > checkpoint.step}


def test_a_finished_run_can_be_resumed_with_more_generations(trainer_in_process) -> None:
    short, long = trainer_in_process("self-play", generations=4), trainer_in_process("self-play", generations=6)
    wanted = measured(trained(long))
    first = trained(short)
    rest = measured(trained(long, state=last_state(first)))
    assert list(rest) == [5, 6]
    names = ("fitness/best", "fitness/mean", "hall/share", "population/hall", "population/species")
    for step, values in rest.items():
        assert {name: values.get(name) for name in names} == {name: wanted[step].get(name) for name in names}


def test_a_checkpoint_is_the_same_for_the_same_run(trainer_in_process) -> None:
    trainer = trainer_in_process("competitive")
    assert last_state(trained(trainer)) == last_state(trained(trainer))


@pytest.mark.parametrize("mode", sorted(MODES))
def test_the_number_of_workers_does_not_change_a_run(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = trainer(write_config(tmp_path / "crowd.txt"), mode=mode, generations=3, mastery=0.3)
    runs = [trained(config, workers=workers) for workers in (1, 2)]
    stopped = trained(config, workers=2, stop_after=2)
    assert stopped[-1].how is How.STOPPED
    stay_in_process(monkeypatch)
    runs.append(trained(config))
    assert measured(runs[0]) == measured(runs[1]) == measured(runs[2])
    assert last_state(runs[0]) == last_state(runs[1]) == last_state(runs[2])
    rest = trained(config, state=last_state(stopped))
    assert {**measured(stopped), **measured(rest)} == measured(runs[0])
