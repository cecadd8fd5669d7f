"""Options and configurations: frozen dataclasses whose fields declare type, range and help text.

    @dataclass(frozen=True)
    class Options:
        points: int = option(5, low=1, high=99, help="points that win the match")

`build(Options, {"points": 7})` returns the dataclass, or raises an error that names the field, the value and its range.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar, get_type_hints

from engine.errors import BadValue, UnknownName

T = TypeVar("T")
Value = bool | int | float | str


def option(
    default: Value,
    *,
    help: str,  # named as in argparse
    low: float | None = None,
    high: float | None = None,
    choices: tuple[Value, ...] | None = None,
    bare: str | None = None,
) -> Any:
    """A dataclass field with a default, a help text, and a range or choices. `bare`: the value if the command line
    names the option alone."""
    rules = {"help": help, "low": low, "high": high, "choices": choices, "bare": bare}
    return dataclasses.field(default=default, metadata=rules)


def build(kind: type[T], values: Mapping[str, object], noun: str = "option") -> T:
    """The dataclass with these values. Unknown names, wrong types and values out of range are errors."""
    known = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    for name in values:
        if name not in known:
            raise UnknownName(noun, name, known)
    converted = {name: _float(name, value) if hints[name] is float else value for name, value in values.items()}
    options = kind(**converted)
    validate(options)
    return options


def validate(options: object) -> None:
    """Raise BadValue unless every field has the right type and is in range. Call it in `__post_init__`."""
    hints = get_type_hints(type(options))
    for field in dataclasses.fields(options):  # type: ignore[arg-type]
        _check(field.name, getattr(options, field.name), hints[field.name], field.metadata)


def parse(
    kind: type[T], texts: Mapping[str, str], noun: str = "option", others: Mapping[str, object] | None = None
) -> T:
    """The dataclass from texts, as on the command line; `others`: values of fields that no text names."""
    hints = get_type_hints(kind)
    values = {name: _parse_text(name, text, hints.get(name, str)) for name, text in texts.items()}
    return build(kind, {**(others or {}), **values}, noun)


def read_json(kind: type[T], payload: bytes, noun: str = "option") -> T:
    """The dataclass from a JSON object, such as an agent's payload; an empty payload means all defaults."""
    try:
        values = json.loads(payload or b"{}")
    except (ValueError, RecursionError):
        raise BadValue("payload", payload, "JSON") from None
    if not isinstance(values, dict):
        raise BadValue("payload", payload, "a JSON object")
    return build(kind, values, noun)


def items(options: object) -> tuple[tuple[str, Value], ...]:
    """Names and values in alphabetical order, so that equal options give equal tuples."""
    return tuple(sorted(dataclasses.asdict(options).items()))  # type: ignore[call-overload]


def _float(name: str, value: object) -> object:
    """Convert an int to float for a float option."""
    if type(value) is not int:
        return value
    try:
        return float(value)
    except OverflowError:
        raise BadValue(name, value, "a finite number") from None


def _check(name: str, value: object, kind: type, rules: Mapping[str, Any]) -> None:
    if kind not in (bool, int, float, str):
        raise TypeError(f"option {name!r} is declared as {kind}; only bool, int, float and str are supported")
    if type(value) is not kind:
        raise BadValue(name, value, f"of type {kind.__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadValue(name, value, "a finite number")
    low, high, choices = rules.get("low"), rules.get("high"), rules.get("choices")
    if isinstance(value, int | float) and not _within(value, low, high):
        raise BadValue(name, value, _range(low, high))
    if choices is not None and value not in choices:
        raise BadValue(name, value, f"one of {', '.join(map(repr, choices))}")


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"at least {low}" if high is None else f"at most {high}"
    return f"from {low} to {high}"


def _parse_text(name: str, text: str, kind: type) -> object:
    if kind is bool:
        words = {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }
        if text.lower() not in words:
            raise BadValue(name, text, "yes or no")
        return words[text.lower()]
    try:
        return kind(text)
    except ValueError:
        needed = {int: "a whole number", float: "a number"}.get(kind, f"of type {kind.__name__}")
        raise BadValue(name, text, needed) from None
