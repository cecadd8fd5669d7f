"""Functions on bits and on eight elements give the same results as numpy."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from engine.bits import lowest_bit, popcount, where_between, where_not_zero, write_bits


@numba.njit
def between(cells: Any, at: int, low: int, high: int) -> Any:
    return where_between(cells, at, low, high)


@numba.njit
def not_zero(floats: Any, at: int) -> Any:
    return where_not_zero(floats, at)


@numba.njit
def write(floats: Any, at: int, bits: int) -> None:
    write_bits(floats, at, bits)


@numba.njit
def count_and_lowest(word: Any) -> Any:
    return popcount(word), lowest_bit(word)


def packed(flags: Any) -> int:
    return sum(1 << k for k, flag in enumerate(flags) if flag)


@pytest.mark.parametrize(("low", "high"), [(2, 2), (3, 255), (0, 0), (1, 2), (0, 255), (255, 255)])
def test_cells_in_a_range_are_found_at_any_index(low: int, high: int) -> None:
    cells = np.random.default_rng(1).choice(np.array([0, 1, 2, 3, 9, 127, 128, 255], np.uint8), 60)
    for at in range(len(cells) - 7):
        eight = cells[at : at + 8]
        assert between(cells, at, low, high) == packed((eight >= low) & (eight <= high))


def test_floats_that_are_not_zero_are_found_by_their_flat_index() -> None:
    floats = np.random.default_rng(2).choice(np.array([0, 1, -0.0, 0.5, np.nan], np.float32), (3, 5, 5))
    for at in range(floats.size - 7):
        assert not_zero(floats, at) == packed(floats.ravel()[at : at + 8] != 0)


def test_bits_are_written_to_eight_floats_and_no_others() -> None:
    for bits in range(512):
        floats = np.full((3, 4), 7, np.float32)
        write(floats, 3, bits)
        assert floats.ravel().tolist() == [7] * 3 + [float(bits >> k & 1) for k in range(8)] + [7]


def test_bits_of_a_word_are_counted() -> None:
    assert count_and_lowest(np.uint64(1 << 63 | 1 << 5)) == (2, 5)


@pytest.mark.parametrize("array", [np.zeros((9, 9), np.uint8).T, np.zeros(9, np.int64)])
def test_an_array_of_another_type_or_order_is_refused(array: Any) -> None:
    with pytest.raises(TypingError, match="in C order"):
        between(array, 0, 1, 2)
