"""Draws are repeatable, uniform and independent of each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kernels import kernel
from engine.seeding import bits, chance, derive, draw, pick, purpose, unit

WHAT = purpose("tests.seeding")
U64 = st.integers(0, 2**64 - 1)


@kernel
def many(seed, what, count, out):  # type: ignore[no-untyped-def]
    for ply in range(count):
        out[ply] = unit(draw(seed, what, 0, ply, 0))


def test_a_draw_never_changes_from_one_version_to_the_next() -> None:
    assert bits(1, purpose("a"), 2, 3, 4) == 0x3EA08E5679C3494D
    assert derive(1, "a", 2) == 5048239851660122845
    assert len({derive(1, "a", 2), derive("1", "a", 2), derive(1, "a', 2"), derive(1, "a"), derive(1, "a", "2")}) == 5


@kernel
def draw_once(seed, what, seat, ply, k):  # type: ignore[no-untyped-def]
    return draw(seed, what, seat, ply, k)


@given(st.tuples(U64, U64, U64, U64, U64))
def test_plain_python_and_kernels_draw_the_same_for_any_arguments(place: tuple[int, ...]) -> None:
    assert bits(*place) == int(draw_once(*map(np.uint64, place)))


def test_the_arguments_of_a_draw_may_be_numpy_numbers() -> None:
    expected = bits(2**64 - 1, WHAT, 1, 2, 3)
    assert bits(np.uint64(2**64 - 1), WHAT, np.int64(1), np.uint32(2), 3) == expected
    assert bits(2**64 - 1, WHAT, True, 2.0, np.float32(3)) == expected
    assert type(bits(np.uint64(1), WHAT)) is int


@pytest.mark.parametrize("place", [(-1, 0, 0, 0, 0), (0, 2**64, 0, 0, 0), (1, 1, 0, 0, -1), (1, 1, 0, 2**70, 0)])
def test_a_draw_refuses_numbers_of_more_than_64_bits(place: tuple[int, ...]) -> None:
    with pytest.raises(OverflowError):
        bits(*place)


def test_kernels_and_plain_python_draw_the_same() -> None:
    out = np.zeros(50)
    many(np.uint64(7), np.uint64(WHAT), 50, out)
    assert out.tolist() == [chance(7, WHAT, 0, ply) for ply in range(50)]


@given(U64, st.integers(1, 1000))
def test_a_pick_is_below_its_count(seed: int, count: int) -> None:
    assert 0 <= pick(count, seed, WHAT) < count


def test_draws_are_uniform() -> None:
    out = np.zeros(100_000)
    many(np.uint64(11), np.uint64(WHAT), out.size, out)
    counts = np.histogram(out, bins=100, range=(0, 1))[0]
    chi_square = ((counts - 1000) ** 2 / 1000).sum()
    assert 60 < chi_square < 150  # 99 degrees of freedom: 99.8 % lie between
    assert abs(np.corrcoef(out[:-1], out[1:])[0, 1]) < 0.012


def test_every_coordinate_of_a_draw_matters() -> None:
    places = [(seed, what, seat, ply, k) for seed in (1, 2) for what in (WHAT, purpose("b")) for seat in (0, 9)
              for ply in (0, 1, 2**32 - 1) for k in (0, 1, 65535)]  # fmt: skip
    assert len({bits(*place) for place in places}) == len(places)


@given(U64, st.integers(0, 63))
def test_one_bit_of_the_seed_changes_about_half_of_the_draw(seed: int, bit: int) -> None:
    changed = (bits(seed, WHAT) ^ bits(seed ^ (1 << bit), WHAT)).bit_count()
    assert 8 <= changed <= 56
