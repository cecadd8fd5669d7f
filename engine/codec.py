"""Strict conversion of frozen dataclasses to and from JSON; errors name the field."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import json
import math
import types
from enum import Enum
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from engine.errors import BadValue

T = TypeVar("T")
_type_hints = functools.cache(get_type_hints)  # they compile each annotation: 0.1 ms for a small dataclass
MAX_BYTES = 16 * 1024 * 1024  # most bytes of JSON that are read


def dump(value: object) -> str:
    """The dataclass as JSON: bytes as base64, enums by value, tuples as lists."""
    return json.dumps(_plain(value), allow_nan=False, sort_keys=True, separators=(",", ":"))


def load(kind: type[T], text: str | bytes, /, limit: int = MAX_BYTES, **header: object) -> T:
    """The dataclass that `dump` wrote. Raises BadValue for anything else; fields in `header` are checked first."""
    raw = read(text, limit)
    for name, expected in header.items():
        found = raw.get(name) if isinstance(raw, dict) else None
        if type(found) is not type(expected) or found != expected:
            raise BadValue(f"file.{name}", found, f"{expected!r}, the only one that this version can read")
    return cast(T, _typed(kind, raw, "file"))


def read(text: str | bytes, limit: int = MAX_BYTES) -> Any:
    """Parsed JSON; duplicate keys and numbers that are not finite are errors."""
    if len(text) > limit:
        raise BadValue("file", f"{len(text)} bytes", f"at most {limit} bytes")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise BadValue("file", str(error), "JSON") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"duplicate key {name!r}")
        found[name] = value
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is not a finite number")


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _typed(kind: Any, raw: Any, where: str) -> object:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _union(get_args(kind), raw, where)
    if origin is tuple:
        return _tuple(get_args(kind), raw, where)
    if dataclasses.is_dataclass(kind):
        return _dataclass(cast(type, kind), raw, where)
    if kind is bytes:
        try:
            return base64.b64decode(raw, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise BadValue(where, raw, "base64") from None
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(raw)
        except ValueError:
            raise BadValue(where, raw, f"one of {', '.join(one.value for one in kind)}") from None
    if kind is float and type(raw) is int and abs(raw) < 2**53:
        return float(raw)
    if type(raw) is not kind or (kind is float and not math.isfinite(raw)):
        raise BadValue(where, raw, f"of type {kind.__name__}")
    if kind is str and any("\ud800" <= letter <= "\udfff" for letter in raw):
        raise BadValue(where, raw, "text without lone surrogates")
    return raw


def _union(kinds: tuple[Any, ...], raw: Any, where: str) -> object:
    if raw is None and type(None) in kinds:
        return None
    plain = [kind for kind in kinds if kind is not type(None)]
    exact = [kind for kind in plain if type(raw) is kind]  # exact types: True is not an int
    return _typed(exact[0] if exact else plain[0], raw, where)


def _tuple(kinds: tuple[Any, ...], raw: Any, where: str) -> object:
    if type(raw) is not list:
        raise BadValue(where, raw, "a list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_typed(kinds[0], item, f"{where}[{i}]") for i, item in enumerate(raw))
    if len(raw) != len(kinds):
        raise BadValue(where, raw, f"a list of {len(kinds)}")
    return tuple(_typed(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(zip(kinds, raw, strict=True)))


def _dataclass(kind: type, raw: Any, where: str) -> object:
    if type(raw) is not dict:
        raise BadValue(where, raw, f"an object ({kind.__name__})")
    hints = _type_hints(kind)
    fields = dataclasses.fields(kind)
    names = [field.name for field in fields]
    for name in raw:
        if name not in names:
            raise BadValue(where, name, f"one of {', '.join(names)}")
    for field in fields:  # fields with a default may be absent: the file may be older than the field
        if field.name not in raw and field.default is field.default_factory is dataclasses.MISSING:
            raise BadValue(f"{where}.{field.name}", None, "given")
    return kind(**{name: _typed(hints[name], raw[name], f"{where}.{name}") for name in names if name in raw})
