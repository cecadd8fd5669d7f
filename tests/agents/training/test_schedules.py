"""Schedules of settings: their ends, their shapes, and unknown shapes."""

from __future__ import annotations

import itertools

import pytest

from agents.training.schedules import CONSTANT, COSINE, LINEAR, Schedule
from engine.errors import UnknownName


@pytest.mark.parametrize("shape", [LINEAR, COSINE])
def test_the_last_value_follows_the_last_step_and_stays(shape: str) -> None:
    schedule = Schedule(1.0, 0.2, 10, shape)
    values = [schedule.at(step) for step in range(13)]
    assert values[0] == 1.0
    assert values[5] == pytest.approx(0.6)
    assert all(later < earlier for earlier, later in itertools.pairwise(values[:11]))
    assert values[10:] == pytest.approx([0.2, 0.2, 0.2])


def test_a_constant_has_its_first_value_and_an_unknown_shape_is_refused() -> None:
    assert Schedule(1.0, 0.2, 10, CONSTANT).at(10) == 1.0
    with pytest.raises(UnknownName, match="cosine"):
        Schedule(1.0, 0.2, 10, "cosin")
