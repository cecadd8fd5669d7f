"""The rates in the status of a manager are those of the last seconds."""

from __future__ import annotations

import pytest

from agents.training.selfplay.records import WINDOW, Meter


def test_rates_are_those_since_the_start_and_at_most_of_the_last_seconds() -> None:
    now = [100.0]
    meter = Meter(clock=lambda: now[0])
    assert meter.rates() == {"batches_per_second": 0.0, "experiences_per_second": 0.0, "games_per_second": 0.0}
    meter.start()
    for _ in range(4):
        now[0] += 2.0
        meter.add(experiences=64, games=3)
    assert meter.rates() == {"batches_per_second": 0.5, "experiences_per_second": 32.0, "games_per_second": 1.5}
    now[0] = 100.0 + WINDOW + 5.0  # two of the batches came before the last WINDOW seconds
    assert meter.rates()["experiences_per_second"] == pytest.approx(2 * 64 / WINDOW)
    now[0] += WINDOW
    assert not any(meter.rates().values())
    meter.add(experiences=64, games=3)
    meter.start()
    assert not any(meter.rates().values()), "they begin anew"
