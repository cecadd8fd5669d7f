"""Reads and writes the wire format of protobuf, without message classes: a message is a sequence of numbered fields.

The format: https://protobuf.dev/programming-guides/encoding. Nothing is copied while reading: the content of a field is
a view of the message. Messages are untrusted: every length is compared with what is left, and fields are counted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from engine.errors import BadValue

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types; 3 and 4, groups, are obsolete
LONGEST_VARINT = 10  # bytes
MOST_FIELDS = 200_000  # of a file
MASK = (1 << 64) - 1


class Field(NamedTuple):
    """One field of a message. `number` identifies it; `value` is that of a varint, `content` that of other types."""

    number: int
    type: int
    value: int
    content: memoryview
    start: int  # where it begins in its message
    end: int

    def text(self) -> str:
        """The content as text; bytes that are not UTF-8 are replaced."""
        return bytes(self.content).decode(errors="replace")

    def integer(self) -> int:
        """The value as a signed integer of 64 bits."""
        return self.value - (1 << 64) if self.value >> 63 else self.value


class Reader:
    """Reads messages of one file, and counts their fields."""

    def __init__(self, noun: str, most: int = MOST_FIELDS) -> None:
        self._noun, self._most, self._count = noun, most, 0

    def fields(self, message: memoryview | bytes, types: Mapping[int, Sequence[int]]) -> Iterator[Field]:
        """The fields of a message that have these numbers, in their order. Raises BadValue if the message is malformed,
        or if a field has none of the wire types of its number: other readers would skip it."""
        data, at = memoryview(message), 0
        while at < len(data):
            start = at
            self._count += 1
            if self._count > self._most:
                raise BadValue("file", f"more than {self._most:,} fields", f"{self._noun} of at most that many")
            key, at = self._varint(data, at)
            number, kind, value = key >> 3, key & 7, 0
            length = {VARINT: 0, FIXED64: 8, FIXED32: 4}.get(kind, -1)
            if kind == VARINT:
                value, at = self._varint(data, at)
            elif kind == BYTES:
                length, at = self._varint(data, at)
            expected = types.get(number)
            if not 0 < number < 1 << 29 or not 0 <= length <= len(data) - at:
                raise self._malformed(at)
            if expected is not None:
                if kind not in expected:
                    raise self._malformed(at)
                yield Field(number, kind, value, data[at : at + length], start, at + length)
            at += length

    def integers(self, field: Field, most: int) -> list[int]:
        """The integers of a repeated field, of which this one is a single element or a packed sequence."""
        if field.type == VARINT:
            return [field.integer()]
        found: list[int] = []
        at = 0
        while at < len(field.content):
            if len(found) == most:
                raise BadValue("file", f"more than {most} integers in a list", self._noun)
            value, at = self._varint(field.content, at)
            found.append(field._replace(value=value).integer())
        return found

    def _varint(self, data: memoryview, at: int) -> tuple[int, int]:
        """The integer that begins here, and where it ends."""
        value = 0
        for k, byte in enumerate(data[at : at + LONGEST_VARINT]):
            value |= (byte & 0x7F) << (7 * k)
            if byte < 0x80:
                return value & MASK, at + k + 1
        raise self._malformed(at)

    def _malformed(self, at: int) -> BadValue:
        return BadValue("file", f"damaged at byte {at:,} of a message", f"{self._noun}, complete and undamaged")


def varint(value: int) -> bytes:
    """An integer as its bytes."""
    value &= MASK
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def field(number: int, value: int | float | str | bytes) -> bytes:
    """A field with an integer, a number of 32 bits, a text, or bytes such as another message."""
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | FIXED32) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(content)) + content
