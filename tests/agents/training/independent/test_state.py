"""Checkpoints: arrays are packed without loss, and damaged files are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from agents.training.independent.state import BITS, BYTES, RAW, SavedArray, pack, read, unpack
from engine.errors import BadValue
from engine.registry import new_game
from tests.agents.training.independent.test_environment import HUNT, run

ZEROS = np.zeros((3, 5), np.float32)
ARRAYS: list[tuple[Any, str]] = [
    ((np.arange(15).reshape(3, 5) % 2).astype(np.float32), BITS),
    (np.arange(15, dtype=np.float32).reshape(3, 5), BYTES),
    (ZEROS + 0.5, RAW),
    (ZEROS - 1.0, RAW),
    (ZEROS + np.float32("nan"), RAW),
    (-ZEROS, RAW),  # minus zero has other bits than zero
    (np.arange(-7, 8, dtype=np.int32).reshape(3, 5), RAW),
    (np.zeros((0, 4), np.float32), BITS),
]


@pytest.mark.parametrize(("array", "packing"), ARRAYS)
def test_arrays_are_the_same_to_the_bit_after_packing(array: Any, packing: str) -> None:
    how, data = pack(array)
    assert how == packing
    found = unpack(SavedArray("x", array.dtype.str, array.shape, how), data)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "wrong",
    [
        SavedArray("x", "<f4", (3, 6), BITS),
        SavedArray("x", "<f4", (3, 5), "other"),
        SavedArray("x", "O", (3, 5), RAW),
        SavedArray("x", "nonsense", (3, 5), RAW),
        SavedArray("x", "<f4", (2**20, 2**20, 2**20), RAW),
        SavedArray("x", "<f4", (2**32, 2**32), RAW),  # no number of 64 bits
        SavedArray("x", "<f4", (-3, -5), BITS),
    ],
)
def test_arrays_that_are_not_what_they_should_be_are_refused(wrong: SavedArray) -> None:
    with pytest.raises(BadValue, match=r"checkpoint\.x"):
        unpack(wrong, pack(ARRAYS[0][0])[1])


def test_damaged_checkpoints_are_refused() -> None:
    _, saved = run(epochs=2)
    with pytest.raises(BadValue, match="safetensors"):
        read(saved[:100], HUNT.spec)
    with pytest.raises(BadValue, match="pong"):
        read(saved, new_game("pong").spec)
    for name in ("about", "state.0", "buffer.1.obs", "best"):
        rest = {key: value for key, value in load(saved).items() if key != name}
        with pytest.raises(BadValue, match=name):
            read(save(rest), HUNT.spec)
    about = json.loads(load(saved)["about"].tobytes())
    about["agents"][1]["arrays"].pop()
    with pytest.raises(BadValue, match=r"agents\[1\]\.arrays"):
        read(save(load(saved) | {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}), HUNT.spec)
    broken = load(saved) | {"buffer.1.obs": np.frombuffer(b"not compressed", np.uint8)}
    with pytest.raises(BadValue, match="zlib"):
        read(save(broken), HUNT.spec)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rows": 10**18}, r"checkpoint\.rows"),  # would ask for as many updates
        ({"updates": -3}, r"checkpoint\.updates"),
        ({"skipped": [0, 0]}, r"checkpoint\.skipped"),
        ({"skipped": [0, -1, 0]}, r"checkpoint\.skipped"),
        ({"tally": {"epochs": 1, "scores": [1.0], "losses": [], "updates": []}}, r"tally\.scores.*3 numbers, or none"),
    ],
)
def test_counters_that_do_not_fit_the_rest_are_refused(change: Any, match: str) -> None:
    _, saved = run(epochs=2)
    about = json.loads(load(saved)["about"].tobytes()) | change
    with pytest.raises(BadValue, match=match):
        read(save(load(saved) | {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}), HUNT.spec)


def test_a_state_whose_counters_are_no_numbers_is_refused() -> None:
    _, saved = run(epochs=2)
    state = load(saved)["state.0"].copy()
    state[-3] = np.nan
    with pytest.raises(BadValue, match="number of updates"):
        run(saved=save(load(saved) | {"state.0": state}))
