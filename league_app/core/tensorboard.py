"""Writes metrics as a TensorBoard event file. The format is small (records with a checksum around three fields), and
the package that writes it would add a hundred megabytes of dependencies, so it is implemented here.

A record is its length, a checksum of that, the data, and a checksum of the data (TFRecord); the data is a protocol
buffer `Event` with wall_time = 1, step = 2 and either file_version = 3 or summary = 5, whose values have tag = 1 and
simple_value = 2.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from engine.errors import BadValue
from engine.files import check_path, write_file
from engine.league.storage.session_rows import Series

POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected


def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
        found.append(value)
    return tuple(found)


TABLE = _table()


def crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _masked(data: bytes) -> bytes:
    """The checksum, rotated and shifted as TFRecord requires, so that data may itself contain checksums."""
    value = crc32c(data)
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def events(metrics: Mapping[str, Series], started: float) -> Iterator[bytes]:
    """All metrics as records, one metric after the other."""
    yield record(b"\x09" + struct.pack("<d", started) + _field(3, b"brain.Event:2"))
    for name, series in metrics.items():
        tag = _field(1, name.encode())
        with np.errstate(over="ignore"):  # values beyond 32-bit floats become infinite
            values = series.values.astype("<f4")
        for step, at, value in zip(series.steps.tolist(), series.at.tolist(), values, strict=True):
            summary = _field(1, tag + b"\x15" + value.tobytes())
            yield record(b"\x09" + struct.pack("<d", at) + b"\x10" + _varint(step) + _field(5, summary))


def export(metrics: Mapping[str, Series], started: float, folder: Path | str) -> Path:
    """Writes a file into this folder, which is created if necessary, and returns its path. A second export of the same
    session replaces the first."""
    place = check_path("folder", folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadValue("folder", str(folder), f"a folder that can be written ({error.strerror})") from None
    target = place / f"events.out.tfevents.{int(started):010d}.{socket.gethostname()}.ringside"
    return write_file(target, events(metrics, started), overwrite=True, field="folder")
