"""Weights reach a worker whole and unchanged, or not at all."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import pytest

from agents.training.selfplay.shared_weights import SharedWeights
from agents.training.selfplay.synchronizer import ModelSynchronizer, Weights, WeightsRefused
from engine.errors import RingsideError
from engine.processes.channel import ProtocolError

RANDOM = np.random.default_rng(1).standard_normal(40_000).astype(np.float32).tobytes()
SPARSE = np.where(np.arange(40_000) % 16 == 0, 0.5, 0.0).astype(np.float32).tobytes()


def test_equal_weights_keep_their_version() -> None:
    synchronizer = ModelSynchronizer()
    assert synchronizer.version == 0
    with pytest.raises(RingsideError, match="no weights yet"):
        synchronizer.message()
    assert synchronizer.publish(RANDOM)
    assert not synchronizer.publish(bytes(bytearray(RANDOM)))
    assert synchronizer.version == 1
    assert synchronizer.publish(SPARSE)
    assert ModelSynchronizer.read(*synchronizer.message()) == Weights(2, SPARSE)


def test_the_interval_counts_from_the_last_synchronisation() -> None:
    synchronizer = ModelSynchronizer(interval=10)
    synchronizer.publish(RANDOM, step=3)
    assert [synchronizer.due(step) for step in (3, 12, 13, 14)] == [False, False, True, True]
    synchronizer.publish(RANDOM, step=13)  # also if they have not changed
    assert [synchronizer.due(step) for step in (22, 23)] == [False, True]
    assert not ModelSynchronizer(interval=0).due(10**9)


@pytest.mark.parametrize(("payload", "shrinks"), [(RANDOM, False), (SPARSE, True), (b"", False)])
def test_only_weights_that_shrink_are_compressed(payload: bytes, shrinks: bool) -> None:
    for enabled in (True, False):
        synchronizer = ModelSynchronizer(compression_enabled=enabled)
        synchronizer.publish(payload)
        fields, body = synchronizer.message()
        assert fields[3] == (shrinks and enabled)
        assert (len(body) < len(payload) / 2) == (shrinks and enabled)
        assert ModelSynchronizer.read(fields, body).payload == payload


def test_compression_can_be_forced_to_be_measured() -> None:
    synchronizer = ModelSynchronizer(worthwhile=math.inf)
    synchronizer.publish(RANDOM)
    fields, body = synchronizer.message()
    assert fields[3]
    assert ModelSynchronizer.read(fields, body).payload == RANDOM


def test_shared_memory_passes_weights_to_any_number_of_workers() -> None:
    memory = SharedWeights.new_memory(len(RANDOM))
    trainer, workers = SharedWeights(memory), [SharedWeights(memory), SharedWeights(memory)]
    for version, payload in ((1, RANDOM), (2, RANDOM[::-1])):
        message = [version, len(payload), zlib.crc32(payload), False], payload
        for worker in workers:
            fields, body = trainer.write(message, in_use=worker is not workers[0])  # the first reads the same weights
            assert body == b""
            assert worker.read(fields, body) == message
        assert ModelSynchronizer.read(*workers[0].read(fields, body)) == Weights(version, payload)


def test_weights_pass_through_the_socket_while_the_memory_is_read_or_too_small() -> None:
    shared = SharedWeights(SharedWeights.new_memory(4))
    first, second = [([version, 4, version, False], bytes([version] * 4)) for version in (1, 2)]
    written = shared.write(first, in_use=False)
    assert shared.write(second, in_use=True) == second
    assert shared.read(*written) == first, "it was not overwritten"
    assert shared.read(*second) == second
    large = [3, 1 << 16, 3, False], bytes(1 << 16)
    assert shared.write(large, in_use=False) == large


@pytest.mark.parametrize("fields", [[], [1, 4, 5, False, -1], [1, 4, 5, False, 1 << 30], [1, 4, 5, False, "x"]])
def test_invalid_messages_about_shared_memory_are_refused(fields: list[Any]) -> None:
    shared = SharedWeights(SharedWeights.new_memory(4))
    with pytest.raises(ProtocolError, match="invalid message"):
        shared.read(fields, b"")


@pytest.mark.parametrize("payload", [RANDOM, SPARSE], ids=["plain", "compressed"])
def test_weights_that_were_changed_on_the_way_are_refused(payload: bytes) -> None:
    """Unless the change has no effect, as in the checksum of zlib, which is not needed."""
    synchronizer, refused = ModelSynchronizer(), 0
    synchronizer.publish(payload)
    fields, body = synchronizer.message()
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
    synchronizer = ModelSynchronizer()
    synchronizer.publish(payload)
    fields, body = synchronizer.message()
    for part in (b"", body[: len(body) // 2]):
        with pytest.raises(WeightsRefused, match=r"model version 1: [\d,]+ of 160,000 bytes arrived"):
            ModelSynchronizer.read(fields, part)


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [1, 2, 3],
        [0, 4, 5, False],
        [1, -4, 5, False],
        [1, 1 << 40, 5, True],
        ["1", 4, 5, False],
        [1, 4, "x", False],
    ],
)
def test_an_invalid_header_is_refused(fields: list[Any]) -> None:
    with pytest.raises(WeightsRefused, match="invalid header"):
        ModelSynchronizer.read(fields, b"1234")


def test_what_expands_beyond_its_announced_size_is_not_expanded_further() -> None:
    synchronizer = ModelSynchronizer()
    synchronizer.publish(bytes(1 << 24))
    fields, body = synchronizer.message()
    with pytest.raises(WeightsRefused, match="model version 1: 1,001 of 1,000 bytes arrived"):
        ModelSynchronizer.read([1, 1000, fields[2], True], body)
