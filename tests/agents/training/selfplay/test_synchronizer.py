"""Weights reach a worker whole and unchanged, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents.training.selfplay.synchronizer import ModelSynchronizer, Weights, WeightsRefused
from engine.errors import RingsideError

RANDOM = np.random.default_rng(1).standard_normal(40_000).astype(np.float32).tobytes()
SPARSE = np.where(np.arange(40_000) % 16 == 0, 0.5, 0.0).astype(np.float32).tobytes()


def test_equal_weights_keep_their_version() -> None:
    one = ModelSynchronizer()
    assert one.version == 0
    with pytest.raises(RingsideError, match="no weights yet"):
        one.message()
    assert one.publish(RANDOM)
    assert not one.publish(bytes(bytearray(RANDOM)))
    assert one.version == 1
    assert one.publish(SPARSE)
    assert ModelSynchronizer.read(*one.message()) == Weights(2, SPARSE)


def test_the_interval_counts_from_the_last_synchronisation() -> None:
    one = ModelSynchronizer(interval=10)
    one.publish(RANDOM, step=3)
    assert [one.due(step) for step in (3, 12, 13, 14)] == [False, False, True, True]
    one.publish(RANDOM, step=13)  # also if they have not changed
    assert [one.due(step) for step in (22, 23)] == [False, True]
    assert not ModelSynchronizer(interval=0).due(10**9)


@pytest.mark.parametrize(("payload", "shrinks"), [(RANDOM, False), (SPARSE, True), (b"", False)])
def test_only_weights_that_shrink_are_compressed(payload: bytes, shrinks: bool) -> None:
    for enabled in (True, False):
        one = ModelSynchronizer(compression_enabled=enabled)
        one.publish(payload)
        fields, body = one.message()
        assert fields[3] == (shrinks and enabled)
        assert (len(body) < len(payload) / 2) == (shrinks and enabled)
        assert ModelSynchronizer.read(fields, body).payload == payload


@pytest.mark.parametrize("payload", [RANDOM, SPARSE], ids=["plain", "compressed"])
def test_weights_that_were_changed_on_the_way_are_refused(payload: bytes) -> None:
    """Unless the change has no effect, as in the checksum of zlib, which is not needed."""
    one, refused = ModelSynchronizer(), 0
    one.publish(payload)
    fields, body = one.message()
    places = np.linspace(0, len(body) - 1, 40).astype(int).tolist()
    for place in places:
        changed = bytearray(body)
        changed[place] ^= 16
        try:
            assert ModelSynchronizer.read(fields, bytes(changed)).payload == payload
        except WeightsRefused:
            refused += 1
    assert refused >= (len(places) if payload is RANDOM else 30)


@pytest.mark.parametrize("payload", [RANDOM, SPARSE], ids=["plain", "compressed"])
def test_weights_that_are_incomplete_are_refused(payload: bytes) -> None:
    one = ModelSynchronizer()
    one.publish(payload)
    fields, body = one.message()
    for part in (b"", body[: len(body) // 2]):
        with pytest.raises(WeightsRefused, match=r"model version 1: [\d,]+ of 160,000 bytes arrived"):
            ModelSynchronizer.read(fields, part)


@pytest.mark.parametrize(
    "fields", [[], [1, 2, "x"], [0, 4, "x", False], [1, -4, "x", False], [1, 1 << 40, "x", True], ["1", 4, "x", False]]
)
def test_an_invalid_header_is_refused(fields: list[Any]) -> None:
    with pytest.raises(WeightsRefused, match="invalid header"):
        ModelSynchronizer.read(fields, b"1234")


def test_what_expands_beyond_its_announced_size_is_not_expanded_further() -> None:
    one = ModelSynchronizer()
    one.publish(bytes(1 << 24))
    fields, body = one.message()
    with pytest.raises(WeightsRefused, match="model version 1: 1,001 of 1,000 bytes arrived"):
        ModelSynchronizer.read([1, 1000, fields[2], True], body)
