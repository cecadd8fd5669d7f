"""Event files for TensorBoard, read back by an independent decoder of the formats."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadValue
from engine.league.storage.session_rows import MOST_STEPS, Series
from league_app.core.tensorboard import crc32c, events, export, record

BEGUN = 1_700_000_000.25
LARGEST = float(np.finfo(np.float32).max)


class Scalar(NamedTuple):
    tag: str
    step: int
    at: float
    value: float


# The decoder


def checksum(data: bytes) -> int:
    """CRC-32C bit by bit, and masked as TFRecord requires."""
    value = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            low = (value ^ byte >> bit) & 1
            value = value >> 1 ^ (0x82F63B78 if low else 0)
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17 & 0xFFFFFFFF) + 0xA282EAD8) % 2**32


def records(data: bytes) -> Iterator[bytes]:
    """The records of a TFRecord file; wrong checksums and trailing bytes are errors."""
    at = 0
    while at < len(data):
        size, check = struct.unpack_from("<QI", data, at)
        assert check == checksum(data[at : at + 8])
        body = data[at + 12 : at + 12 + size]
        assert len(body) == size
        assert struct.unpack_from("<I", data, at + 12 + size) == (checksum(body),)
        yield body
        at += 16 + size


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            assert value < 2**64
            return value, at


def fields(data: bytes) -> dict[int, object]:
    """A protocol buffer message with each field once."""
    found: dict[int, object] = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        assert number not in found
        if wire == 0:
            found[number], at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            found[number], at = data[at : at + size], at + size
        else:
            code, size = {1: ("<d", 8), 5: ("<f", 4)}[wire]
            [found[number]], at = struct.unpack_from(code, data, at), at + size
    assert at == len(data)
    return found


def scalars(data: bytes) -> list[Scalar]:
    """Event: wall_time = 1, step = 2, file_version = 3, summary = 5; Summary: value = 1; Value: tag = 1, simple = 2."""
    first, *others = map(fields, records(data))
    assert first == {1: BEGUN, 3: b"brain.Event:2"}, "the start of every event file"
    found = []
    for event in others:
        assert sorted(event) == [1, 2, 5]
        value = fields(fields(event[5])[1])
        found.append(Scalar(value[1].decode(), event[2], event[1], value[2]))
    return found


def series(*values: tuple[int, float]) -> Series:
    steps = np.array([step for step, _ in values], dtype=np.int64)
    return Series(steps, BEGUN + np.arange(len(values)), np.array([value for _, value in values], dtype=np.float64))


def expected(metrics: dict[str, Series]) -> list[Scalar]:
    return [
        Scalar(name, step, at, struct.unpack("<f", struct.pack("<f", value))[0])
        for name, series in metrics.items()
        for step, at, value in zip(series.steps.tolist(), series.at.tolist(), series.values.tolist(), strict=True)
    ]


# Tests


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"123456789", 0xE3069283),
        (b"", 0),
    ],
)
def test_the_checksum_is_that_of_rfc_3720(data: bytes, value: int) -> None:
    assert crc32c(data) == value


@settings(max_examples=50)
@given(st.binary(max_size=300))
def test_any_record_is_read_back(data: bytes) -> None:
    assert list(records(record(data) * 2)) == [data] * 2


def test_every_value_is_read_back_with_its_tag_step_and_time(tmp_path: Path) -> None:
    metrics = {
        "fitness/best": series((0, 1200.0), (1, 1399.125), (2, -0.1)),
        "validation/Größe 競技者 🏓": series((0, 0.25), (127, 0.5), (128, 0.75)),
        "odd/steps": series((MOST_STEPS - 1, 1.0)),
        "odd/numbers": series((3, 0.0), (4, 5e-324), (5, LARGEST), (6, -LARGEST), (7, 1e-45)),
    }
    file = export(metrics, BEGUN, tmp_path / "runs" / "first")
    assert file.parent == tmp_path / "runs" / "first", "the folder is created"
    assert "tfevents" in file.name, "TensorBoard searches for it"
    assert scalars(file.read_bytes()) == expected(metrics)


def test_nan_and_infinities_are_read_back(tmp_path: Path) -> None:
    values = [math.nan, math.inf, -math.inf, -0.0]
    found = scalars(export({"a/b": series(*enumerate(values))}, BEGUN, tmp_path).read_bytes())
    assert math.isnan(found[0].value)
    assert [scalar.value for scalar in found[1:]] == [math.inf, -math.inf, 0.0]
    assert math.copysign(1, found[-1].value) == -1


@pytest.mark.parametrize("value", [1e39, -1e300, 3.4028236e38])
def test_a_number_beyond_what_tensorboard_can_hold_is_infinite(tmp_path: Path, value: float) -> None:
    [scalar] = scalars(export({"a/b": series((0, value))}, BEGUN, tmp_path).read_bytes())
    assert scalar.value == math.copysign(math.inf, value)


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=120),
        st.lists(st.tuples(st.integers(0, MOST_STEPS - 1), st.floats(width=32, allow_nan=False)), max_size=4),
        max_size=3,
    )
)
def test_all_metrics_are_read_back(measured: dict[str, list[tuple[int, float]]]) -> None:
    metrics = {name: series(*values) for name, values in measured.items()}
    assert scalars(b"".join(events(metrics, BEGUN))) == expected(metrics)


def test_a_second_export_replaces_the_first_and_leaves_nothing_else(tmp_path: Path) -> None:
    first = export({"a/b": series((0, 1.0), (1, 2.0))}, BEGUN, tmp_path)
    second = export({"a/b": series((0, 3.0))}, BEGUN, str(tmp_path))
    assert first == second
    assert [scalar.value for scalar in scalars(second.read_bytes())] == [3.0]
    assert list(tmp_path.iterdir()) == [second]
    other = export({"a/b": series((0, 3.0))}, BEGUN + 10, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([second, other]), "another session has its own file"


def test_a_folder_that_is_a_file_or_below_one_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(BadValue, match=r"folder = .*file.*: must be a folder that can be written"):
            export({"a/b": series((0, 1.0))}, BEGUN, place)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="this system has no folder that even root cannot write")
def test_a_folder_that_cannot_be_written_is_an_error_that_names_it() -> None:
    with pytest.raises(BadValue, match=r"folder = '/proc/self/.+': must be a file that can be written \(.+\)"):
        export({"a/b": series((0, 1.0))}, BEGUN, "/proc/self")


def test_a_name_that_no_folder_can_have_is_an_error(tmp_path: Path) -> None:
    for name in ("a\0b", "n" * 300, os.path.join("x" * 300, "y")):
        with pytest.raises(BadValue, match="folder"):
            export({"a/b": series((0, 1.0))}, BEGUN, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
