"""The wire format of protobuf: what is written is read again, and damaged messages are refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadValue
from engine.protobuf import BYTES, FIXED32, VARINT, Reader, field, varint

TYPES = {1: (VARINT,), 2: (BYTES,), 3: (FIXED32,)}


@given(st.integers(-(2**63), 2**63 - 1), st.text(), st.floats(width=32, allow_nan=False))
def test_fields_are_read_as_they_were_written(integer: int, text: str, number: float) -> None:
    data = field(1, integer) + field(9, b"not asked for") + field(2, text) + field(3, number)
    first, two, three = Reader("a test").fields(data, TYPES)
    assert (first.integer(), two.text(), bytes(three.content)) == (integer, text, field(3, number)[1:])
    assert data[two.start : two.end] == field(2, text)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(BadValue):
        assert list(Reader("a test").fields(data, {})) == []


@pytest.mark.parametrize("length", range(1, 12))
def test_a_truncated_message_is_refused(length: int) -> None:
    data = field(1, 300) + field(2, "text") + field(3, 1.5)
    ends = {3, 9}  # where a field ends
    if length in ends:
        assert list(Reader("a test").fields(data[:length], TYPES))
    else:
        with pytest.raises(BadValue, match="complete and undamaged"):
            list(Reader("a test").fields(data[:length], TYPES))


@pytest.mark.parametrize(
    "data",
    [field(2, 7), varint(0 << 3 | VARINT) + b"\1", varint(1 << 3 | 3), b"\xff" * 12, varint(2**30 << 3) + b"\1"],
    ids=["another wire type", "number 0", "a group", "an endless integer", "a number that is too large"],
)
def test_what_other_readers_would_read_differently_is_refused(data: bytes) -> None:
    with pytest.raises(BadValue, match="damaged at byte"):
        list(Reader("a test").fields(data, TYPES))


def test_fields_are_counted_over_all_messages_of_a_file() -> None:
    reader = Reader("a test", most=5)
    assert len(list(reader.fields(field(1, 1) * 3, TYPES))) == 3
    with pytest.raises(BadValue, match="more than 5 fields"):
        list(reader.fields(field(1, 1) * 3, TYPES))


def test_integers_are_packed_or_single() -> None:
    reader = Reader("a test")
    packed, single = reader.fields(field(1, varint(-1) + varint(300)) + field(1, 7), {1: (VARINT, BYTES)})
    assert (reader.integers(packed, 8), reader.integers(single, 8)) == ([-1, 300], [7])
    with pytest.raises(BadValue, match="more than 1 integers"):
        reader.integers(packed, 1)
