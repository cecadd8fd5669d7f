"""Passes weights to workers: with a version and a checksum, whole or not at all.

Weights that differ from the last ones get a new version. Every batch of experience names the version that played it.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.errors import RingsideError
from engine.processes.channel import MAX_FRAME, Message

logger = logging.getLogger(__name__)

LEVEL = 1  # of zlib: of random weights level 6 saves 0.3 % more
SAMPLE = 1 << 16  # bytes that are compressed on trial
WORTHWHILE = 0.5  # weights are compressed if the sample shrinks to this share


class WeightsRefused(RingsideError):  # noqa: N818
    """Weights that did not arrive as they were sent, or do not fit. The earlier version stays in use."""


class Weights(NamedTuple):
    """One version of the weights: an agent's payload."""

    version: int
    payload: bytes


class ModelSynchronizer:
    """Numbers the versions of the weights, decides when they are due, and makes messages of them.

    With `compression_enabled`, weights that shrink to half or less are compressed. Trained weights do not shrink: zlib
    saves 7 % of 13 MB. Between processes of one machine compression saves memory at best, never time, even of zeros,
    which shrink to 0.4 %: `assets/guide/figures.md` has the measurements.
    """

    def __init__(self, compression_enabled: bool = True, interval: int = 0, worthwhile: float = WORTHWHILE) -> None:
        """`interval`: steps between two synchronisations; 0 if only `publish` starts one. `worthwhile`: the share to
        which weights must shrink to be compressed."""
        self._compress, self._interval, self._worthwhile = compression_enabled, interval, worthwhile
        self._current: Weights | None = None
        self._message: Message | None = None
        self._synced = 0  # the step of the last synchronisation

    @property
    def version(self) -> int:
        """The number of the newest weights; 0 before the first."""
        return 0 if self._current is None else self._current.version

    def due(self, step: int) -> bool:
        """Whether the interval has passed since the last synchronisation."""
        return bool(self._interval) and step - self._synced >= self._interval

    def publish(self, payload: bytes, step: int = 0) -> bool:
        """Make these the newest weights; returns False if they are those that it has."""
        self._synced = step
        if self._current is not None and self._current.payload == payload:
            return False
        self._current, self._message = Weights(self.version + 1, payload), None
        return True

    def message(self) -> Message:
        """The newest weights: the fields of a message after its name, and its body."""
        if self._current is None:
            raise RingsideError("there are no weights yet: call `publish` first")
        if self._message is None:
            version, payload = self._current
            body = self._compressed(payload)
            fields = [version, len(payload), zlib.crc32(payload), body is not payload]
            logger.debug("model version %d: %d bytes, sent as %d", version, len(payload), len(body))
            self._message = fields, body
        return self._message

    def _compressed(self, payload: bytes) -> bytes:
        middle = max(len(payload) - SAMPLE, 0) // 2
        sample = payload[middle : middle + SAMPLE]
        if not self._compress or len(zlib.compress(sample, LEVEL)) > self._worthwhile * len(sample):
            return payload
        return zlib.compress(payload, LEVEL)

    @staticmethod
    def read(fields: Sequence[Any], body: bytes) -> Weights:
        """The weights of a message; raises WeightsRefused unless they are complete and unchanged."""
        match fields:
            case [int(version), int(size), int(checksum), bool(compressed)] if 0 <= size <= MAX_FRAME and version > 0:
                pass
            case _:
                raise WeightsRefused(f"weights with an invalid header: {fields!r:.200}")
        payload = _decompressed(body, size, version) if compressed else body
        if len(payload) != size:
            raise WeightsRefused(f"model version {version}: {len(payload):,} of {size:,} bytes arrived")
        if zlib.crc32(payload) != checksum:  # against damage, not against intent: 2 ms for 13 MB, blake2b takes 10
            raise WeightsRefused(f"model version {version}: the checksum does not match")
        return Weights(version, payload)


def _decompressed(body: bytes, size: int, version: int) -> bytes:
    """At most one byte more than announced."""
    try:
        return zlib.decompressobj().decompress(body, size + 1)
    except zlib.error as error:
        raise WeightsRefused(f"model version {version} cannot be decompressed: {error}") from None
