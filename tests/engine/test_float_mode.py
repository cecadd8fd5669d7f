"""The floating-point mode of a thread is read, restored and described, and no other thread has it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from engine import float_mode
from engine.float_mode import KNOWN, NORMAL, changes, read_mode, write_mode

UP, DOWN, TRUNCATE, FLUSH, TREAT_AS_ZERO = 0x4000, 0x2000, 0x6000, 0x8000, 0x0040
pytestmark = pytest.mark.skipif(not KNOWN, reason="the floating-point mode of this processor cannot be read")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    write_mode(NORMAL)


@pytest.mark.parametrize(
    ("bits", "what"),
    [
        (UP, "how numbers are rounded"),
        (DOWN, "how numbers are rounded"),
        (TRUNCATE, "how numbers are rounded"),
        (FLUSH, "how denormal numbers are treated"),
        (TREAT_AS_ZERO, "how denormal numbers are treated"),
        (UP | FLUSH, "how numbers are rounded and how denormal numbers are treated"),
    ],
)
def test_a_changed_mode_is_described_and_restored(bits: int, what: str) -> None:
    assert read_mode() == NORMAL
    write_mode(NORMAL | bits)
    changed = read_mode()
    write_mode(NORMAL)
    assert changed == NORMAL | bits
    assert changes(NORMAL, changed) == what
    assert read_mode() == NORMAL
    assert changes(NORMAL, NORMAL) == ""


def test_the_mode_is_the_one_by_which_numbers_are_computed() -> None:
    one, tiny, least = np.ones(1), np.full(1, 1e-30), np.full(1, 2e-308)
    assert (one + tiny)[0] == 1.0
    assert (least / 4)[0] > 0.0
    write_mode(NORMAL | UP | FLUSH)
    rounded, flushed = (one + tiny)[0], (least / 4)[0]
    write_mode(NORMAL)
    assert rounded > 1.0
    assert flushed == 0.0
    assert (one + tiny)[0] == 1.0


def test_what_was_computed_is_no_part_of_the_mode() -> None:
    with np.errstate(all="ignore"):
        np.ones(1) / np.zeros(1)
        np.full(1, 1e308) * 10
    assert read_mode() == NORMAL


def test_another_thread_has_a_mode_of_its_own() -> None:
    found = []

    def change() -> None:
        write_mode(NORMAL | UP)
        found.append(read_mode())

    thread = threading.Thread(target=change)
    thread.start()
    thread.join()
    assert found == [NORMAL | UP]
    assert read_mode() == NORMAL


def test_a_mode_that_cannot_be_read_never_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float_mode, "KNOWN", False)
    write_mode(NORMAL | UP)
    assert read_mode() == NORMAL, "it is not written either"
    assert float_mode._unknown() == NORMAL
