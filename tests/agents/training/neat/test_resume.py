"""Stopped at any moment and resumed, with any number of workers: generation by generation the same run."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.training.events import Checkpoint, Ended, Event, How
from agents.training.neat.modes import MODES
from agents.training.neat.trainer import Neuroevolution
from tests.agents.training import Pretended, last_state, measured, of, stay_in_process, trained, trainer, written


@pytest.fixture
def one_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """A trainer of a mode that plays in this process."""
    stay_in_process(monkeypatch)
    crowd = written(tmp_path / "crowd.txt")
    return lambda mode, **settings: trainer(crowd, mode=mode, mastery=0.3, **settings)


def looks_of(one: Neuroevolution) -> int:
    """How often a whole run looks up."""
    context = Pretended()
    assert list(one.train(context))[-1].how is How.FINISHED
    return context.looks


@pytest.mark.parametrize("mode", sorted(MODES))
def test_stopped_at_any_moment_and_resumed_it_is_the_same_run(mode: str, one_of) -> None:
    one = one_of(mode)
    whole = trained(one)
    wanted, looks = measured(whole), looks_of(one)
    moments = sorted({0, 1, looks // 7, looks // 3, looks // 2, looks - 1, *range(5, looks, looks // 4)})
    for moment in moments:
        begun = trained(one, stop_after=moment)
        assert begun[-1].how is How.STOPPED
        assert len(of(Checkpoint, begun)) == 1
        rest = trained(one, state=last_state(begun))
        assert {**measured(begun), **measured(rest)} == wanted
        assert not set(measured(begun)) & set(measured(rest)), "what was finished is not done again"
        assert rest[-1] == Ended(How.FINISHED, "5 generations")
        assert last_state(rest) == last_state(whole), "to the byte"
        assert rest[-2] == whole[-2], "the same champion"


@pytest.mark.parametrize("mode", sorted(MODES))
def test_stopped_again_and_again_it_gets_there_all_the_same(mode: str, one_of) -> None:
    one = one_of(mode)
    wanted, looks = measured(trained(one)), looks_of(one)
    found: dict[int, dict[str, float]] = {}
    state, stops = None, 0
    events: list[Event] = []
    while not events or events[-1].how is How.STOPPED:
        events = trained(one, state=state, stop_after=looks // 2 if stops < 4 else None)
        found |= measured(events)
        state, stops = last_state(events), stops + 1
    assert stops >= 2
    assert found == wanted


@pytest.mark.parametrize("mode", sorted(MODES))
def test_every_checkpoint_leads_to_the_same_end(mode: str, one_of) -> None:
    one = one_of(mode, checkpoint_every=1)
    events = trained(one)
    wanted = measured(events)
    checkpoints = of(Checkpoint, events)
    assert [each.step for each in checkpoints] == [1, 2, 3, 4, 5]
    for checkpoint in checkpoints:
        rest = measured(trained(one, state=checkpoint.state))
        assert rest == {step: values for step, values in wanted.items() if step > checkpoint.step}


def test_a_finished_run_goes_on_with_more_generations(one_of) -> None:
    short, long = one_of("self-play", generations=4), one_of("self-play", generations=6)
    wanted = measured(trained(long))
    first = trained(short)
    rest = measured(trained(long, state=last_state(first)))
    assert list(rest) == [5, 6]
    names = ("fitness/best", "fitness/mean", "hall/share", "population/hall", "population/species")
    for step, values in rest.items():
        assert {name: values.get(name) for name in names} == {name: wanted[step].get(name) for name in names}


def test_a_checkpoint_is_the_same_for_the_same_run(one_of) -> None:
    one = one_of("competitive")
    assert last_state(trained(one)) == last_state(trained(one))


@pytest.mark.parametrize("mode", sorted(MODES))
def test_one_worker_two_workers_and_none_give_the_same_run(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = trainer(written(tmp_path / "crowd.txt"), mode=mode, generations=3, mastery=0.3)
    runs = [trained(one, workers=workers) for workers in (1, 2)]
    stopped = trained(one, workers=2, stop_after=2)
    assert stopped[-1].how is How.STOPPED
    stay_in_process(monkeypatch)
    runs.append(trained(one))
    assert measured(runs[0]) == measured(runs[1]) == measured(runs[2])
    assert last_state(runs[0]) == last_state(runs[1]) == last_state(runs[2])
    rest = trained(one, state=last_state(stopped))
    assert {**measured(stopped), **measured(rest)} == measured(runs[0])
