"""The comparison with random search on scikit-learn's digits, in a small version, and its statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.benchmarks.digits import (
    FIRST,
    KINDS,
    QUICK,
    RANDOM,
    SEARCH,
    TEST,
    Trial,
    all_lines,
    data,
    difference,
    run_trial,
)
from tests.benchmarks.digits import trial_lines as lines_of


@pytest.fixture(scope="module")
def trial() -> Trial:
    return run_trial(1, QUICK)


def test_a_small_search_learns_digits(trial: Trial) -> None:
    assert trial.models == 8 + 3 * 6
    assert trial.fitness[SEARCH] >= trial.fitness[FIRST]
    assert trial.fitness[SEARCH] > 0.7
    assert trial.right[SEARCH].mean() > 0.6, "one of ten answers would be right by chance"
    assert all(len(right) == TEST for right in trial.right.values())


def test_a_small_search_is_repeatable(trial: Trial) -> None:
    again = run_trial(1, QUICK)
    assert again.layers == trial.layers
    for name in KINDS:
        np.testing.assert_array_equal(again.right[name], trial.right[name])


def test_test_images_are_never_used_for_selection() -> None:
    parts = [data(seed) for seed in (1, 2)]
    for train, select, test in parts:
        rows = [{image.tobytes() for image in inputs} for inputs, _ in (train, select, test)]
        assert rows[2].isdisjoint(rows[0] | rows[1])
        assert rows[0].isdisjoint(rows[1])
    np.testing.assert_array_equal(parts[0][2][0], parts[1][2][0])


def test_differences_are_paired() -> None:
    first, second = np.ones(100, bool), np.ones(100, bool)
    second[:10] = False
    first[10:14] = False
    found = difference([(first, second)])
    assert (found.gained, found.lost) == (10, 4)
    assert found.mean == pytest.approx(0.06)
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt((0.14 - 0.06**2) / 99), rel=1e-3)
    assert found.p == pytest.approx(0.1796, abs=1e-4)
    assert difference([(first, first)]).p == 1.0


def test_seeds_that_err_on_the_same_images_do_not_count_twice() -> None:
    draws = np.random.default_rng(1)
    first, second = draws.random(200) < 0.9, draws.random(200) < 0.8
    once, twice = difference([(first, second)]), difference([(first, second)] * 2)
    assert (twice.mean, twice.low, twice.high) == (once.mean, once.low, once.high)
    assert twice.gained == 2 * once.gained


def test_the_report_names_what_was_compared(trial: Trial) -> None:
    text = "\n".join([*lines_of(trial), *all_lines([trial, trial])])
    assert "26 models by each search" in text
    assert text.count(f"search - {FIRST}") == text.count(f"search - {RANDOM}") == 2
    assert "all 2 seeds" in text
