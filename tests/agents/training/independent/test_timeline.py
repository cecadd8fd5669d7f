"""The timeline of the actor, and the speed-up over the sequential reference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agents.training.events import Span
from agents.training.independent import learning_log
from agents.training.independent.calibration import Calibration, acting_gain
from agents.training.independent.learning_log import LearningLog
from agents.training.independent.speedup import Costs, Resources, measured, predicted
from agents.training.independent.timeline import WINDOW, Timeline
from tests.agents.training.independent.test_environment import experiment


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def played(turns: int, clock: Clock, timeline: Timeline) -> None:
    """Turns of 1 ms, of which 0.25 ms are spent on acting."""
    for _ in range(turns):
        began, clock.now = clock.now, clock.now + 0.001
        timeline.add_turn(began, 0.00025)


def test_short_turns_become_one_span_for_each_part() -> None:
    clock = Clock()
    timeline = Timeline(clock, clock)
    played(200, clock, timeline)
    spans = timeline.take()
    assert len(spans) <= 2 * (0.2 / WINDOW + 1), "not two for each turn"
    assert {span.track for span in spans} == {"actor"}
    sums = {name: sum(span.seconds for span in spans if span.name == name) for name in ("act", "collect")}
    assert sums == pytest.approx({"act": 0.05, "collect": 0.15})
    end = 100.0
    for span in spans:
        assert span.start == pytest.approx(end), "they follow each other"
        end = span.start + span.seconds
    assert end == pytest.approx(100.2)
    assert timeline.take() == ()


def test_longer_work_is_a_span_of_its_own_after_the_turns_before_it() -> None:
    clock = Clock()
    timeline = Timeline(clock, clock)
    played(3, clock, timeline)
    with timeline.span("learn"):
        clock.now += 2.0
    names = [(span.track, span.name) for span in timeline.take()]
    assert names == [("actor", "act"), ("actor", "collect"), ("actor", "learn")]
    assert timeline.restart() == pytest.approx({"act": 0.00075, "collect": 0.00225, "learn": 2.0})
    played(1, clock, timeline)
    assert timeline.restart() == pytest.approx({"act": 0.00025, "collect": 0.00075, "learn": 0.0})


def test_a_block_that_fails_is_a_span_too() -> None:
    clock = Clock()
    timeline = Timeline(clock, clock)
    with pytest.raises(ZeroDivisionError), timeline.span("publish"):
        raise ZeroDivisionError
    assert [span.name for span in timeline.take()] == ["publish"]


REFERENCE = Costs(collect=1.0, act=2.0, learn=7.0)


def test_the_speedup_is_measured_by_the_time_of_an_epoch() -> None:
    assert measured(REFERENCE, Costs(1.0, 1.0, 3.0)) == pytest.approx(2.0)
    assert REFERENCE.shares() == pytest.approx({"collect": 0.1, "act": 0.2, "learn": 0.7, "wait": 0, "publish": 0})


@pytest.mark.parametrize(
    ("resources", "speedup"),
    [
        (Resources(), 1.0),
        (Resources(workers=7), 10 / 4),
        (Resources(acting_gain=4.0, learning_gain=2.0), 10 / 5),
        (Resources(workers=2, cores=2, asynchronous=True), 2.0),  # two cores cannot do more
        (Resources(workers=1, cores=2, asynchronous=True), 10 / 7),  # the learner decides
        (Resources(workers=99, cores=99, asynchronous=True), 10 / 3),  # the actor decides
    ],
)
def test_amdahl_predicts_the_speedup_from_the_shares(resources: Resources, speedup: float) -> None:
    assert predicted(REFERENCE, resources) == pytest.approx(speedup)


def calibration(*updates: tuple[int, float], epochs: int = Calibration.EPOCHS) -> Calibration:
    """With epochs that were played and updates that were made; the first update does not count."""
    found = Calibration(running=True)
    for _ in range(epochs):
        found.add_epoch({})
    for count, seconds in ((1, 99.0), *updates):
        found.add_updates(count, seconds)
    return found


def test_the_calibration_ends_after_epochs_and_updates_that_were_measured() -> None:
    assert not calibration((1, 9.0), epochs=0).is_enough(0), "no epoch was played"
    assert calibration((1, 0.1)).is_enough(0)
    assert calibration((1, Calibration.SECONDS)).is_enough(5)
    assert not calibration((1, 0.1)).is_enough(5)
    assert not calibration().is_enough(0), "the first update, which may compile code, was the only one"


def test_the_calibration_leaves_out_the_first_epoch_and_the_first_update() -> None:
    found = calibration((20, 14.0), epochs=0)
    assert found.compare(REFERENCE) is None
    for totals in ({"collect": 50.0, "act": 50.0}, {"collect": 51.0, "act": 52.0}, {"collect": 52.0, "act": 54.0}):
        found.add_epoch(totals)
    found.finish(publishing=0.0, updates_per_epoch=10.0)
    assert not found.running
    assert found.compare(REFERENCE) is None, "these epochs belong to both"
    found.mixed = False
    assert found.compare(REFERENCE) is None, "what makes the mode faster is not known yet"
    found.set_resources(Resources(workers=7))
    assert found.compare(Costs(1.0, 2.0, 2.0)) == pytest.approx((2.0, 2.5))


def test_the_prediction_does_not_depend_on_the_epochs_that_it_is_compared_with() -> None:
    found = calibration((20, 14.0), epochs=0)
    for totals in ({}, {"collect": 1.0, "act": 2.0}):
        found.add_epoch(totals)
    found.finish(publishing=0.0, updates_per_epoch=10.0)
    found.mixed = False
    found.set_resources(Resources(acting_gain=2.0))
    compared = [found.compare(Costs(1.0, act, 7.0)) for act in (0.5, 1.0, 2.0)]
    assert [speedup[1] for speedup in compared if speedup is not None] == pytest.approx([10 / 9] * 3)


def test_how_much_faster_agents_act_all_at_once_is_measured_in_matches_of_their_own() -> None:
    with experiment() as environment:
        assert acting_gain(environment.population, environment.settings) > 0
        assert environment.rows == 0


def test_spans_do_not_run_backwards_when_the_calendar_is_set_back() -> None:
    clock, dates = Clock(), iter([5000.0, 1000.0, 1.0])
    timeline = Timeline(clock, lambda: next(dates))
    played(3, clock, timeline)
    with timeline.span("learn"):
        clock.now += 2.0
    spans = timeline.take()
    assert [span.start for span in spans] == sorted(span.start for span in spans)
    assert all(span.seconds > 0 for span in spans)
    assert spans[0].start == 5000.0


def test_spans_that_are_not_taken_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `run_experiment`, which takes none."""
    monkeypatch.setattr(learning_log, "MOST_WAITING", 5)
    two = (Span("learner 1", "learn", 0.0, 1.0),) * 2
    learning: Any = SimpleNamespace(spans=lambda: two, notes=list, stopped=dict)
    log = LearningLog({})
    for _ in range(4):
        log.collect(learning)
    assert len(log.take_spans(learning)) == 5
    assert len(log.take_spans(learning)) == 2
