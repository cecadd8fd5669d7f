"""Progress and time left of training follow whichever of its limits comes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from agents.training.pace import Pace
from agents.training.trainer import Ends, Metric, Reading, Trainer


@dataclass(frozen=True)
class Limited(Trainer):
    name: ClassVar = "limited"
    about: ClassVar = ""
    metrics: ClassVar = {"error/value": Metric("", Reading.LOSS), "score/value": Metric("")}
    headline: ClassVar = "score/value"
    ends: ClassVar = Ends("updates", "minutes", "goal", "score/value")
    updates: int = 0
    minutes: float = 0.0
    goal: float = 0.0


@dataclass(frozen=True)
class Falling(Limited):
    ends: ClassVar = Ends(target="goal", metric="error/value")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_comes_before_the_number_of_steps() -> None:
    clock = Clock()
    pace = Pace(Limited(updates=100, minutes=1.0), 0, clock)
    clock.now = 30.0
    now = pace.progress(21, "on its way")
    assert (now.step, now.total, now.text) == (21, 0, "on its way"), "it will not reach 100"
    assert (now.seconds_left, now.fraction) == (30.0, 0.5)
    assert not pace.out_of_time
    clock.now = 60.5
    now = pace.progress(42, "done")
    assert (now.seconds_left, now.fraction) == (0.0, 1.0)
    assert pace.out_of_time


def test_the_number_of_steps_comes_before_the_time() -> None:
    clock = Clock()
    pace = Pace(Limited(updates=100, minutes=10.0), 50, clock)
    assert pace.progress(50, "").total == 0, "no step of this run was timed yet"
    clock.now = 10.0
    now = pace.progress(75, "")
    assert (now.total, now.seconds_left, now.fraction) == (100, 10.0, 0.75)


def test_a_target_counts_by_the_best_value_so_far() -> None:
    clock = Clock()
    pace = Pace(Limited(updates=1_000_000, goal=10.0), 0, clock)
    clock.now = 1.0
    assert pace.progress(1, "", 2.0).total == 1_000_000, "no way to the target yet"
    clock.now = 2.0
    now = pace.progress(2, "", 4.0)
    assert (now.total, now.fraction, now.seconds_left) == (0, 0.25, 6.0)
    clock.now = 3.0
    assert pace.progress(3, "", 3.0).fraction == 0.25
    assert pace.progress(4, "", 11.0).fraction == 1.0


def test_a_target_of_a_loss_is_below() -> None:
    clock = Clock()
    pace = Pace(Falling(goal=1.0), 0, clock)
    pace.progress(1, "", 5.0)
    clock.now = 4.0
    now = pace.progress(2, "", 2.0)
    assert (now.fraction, now.seconds_left) == (0.75, pytest.approx(4.0 / 3))
    assert pace.progress(3, "", float("nan")).fraction == 0.75


def test_without_limits_the_end_is_unknown() -> None:
    now = Pace(Limited(), 0, Clock()).progress(7, "going on")
    assert (now.total, now.seconds_left, now.fraction) == (0, None, None)
