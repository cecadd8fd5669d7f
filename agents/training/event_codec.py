"""Events as frames of `engine.processes.channel`: how a trainer's process tells its session what happened. Nothing is pickled.

Encoding is kind to trainers (a numpy number will do), decoding is strict: plug-ins run in that process, and it may send
anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from agents.training.events import Champion, Checkpoint, Ended, Event, How, Level, Log, Metrics, Player, Progress
from engine.errors import BadValue
from engine.processes.channel import Broken

MOST = 2**63  # whole numbers are below, as in the league's file


# Telling


def encode(event: object) -> tuple[list[object], bytes]:
    """The words and the body of a frame; an error that names the field if this is no event."""
    match event:
        case Metrics(step, values):
            return ["metrics", _index("Metrics.step", step), _pairs(values)], b""
        case Progress(step, total, text, left):
            seconds = None if left is None else _real("Progress.seconds_left", left)
            if seconds is not None and not math.isfinite(seconds):
                seconds = None  # nobody can tell
            numbers = [_index("Progress.step", step), _index("Progress.total", total)]
            return ["progress", *numbers, _words("Progress.text", text), seconds], b""
        case Checkpoint(step, state, best):
            data = _bytes("Checkpoint.state", state)
            row, payload = (None, b"") if best is None else _row("Checkpoint.best", best)
            return ["checkpoint", _index("Checkpoint.step", step), len(data), row], data + payload
        case Champion(step, player):
            row, payload = _row("Champion.player", player)
            return ["champion", _index("Champion.step", step), row], payload
        case Log(text, Level() as level):
            return ["log", _words("Log.text", text), level.value], b""
        case Ended(How() as how, reason):
            return ["ended", how.value, _words("Ended.reason", reason)], b""
    raise BadValue("what the trainer yielded", event, "an event of agents.training.events")


def _pairs(values: object) -> list[list[object]]:
    if not isinstance(values, tuple | list) or not all(
        isinstance(one, tuple | list) and len(one) == 2 for one in values
    ):
        raise BadValue("Metrics.values", values, "pairs of a name and a number")
    return [[_words("name of a metric", name), _real(f"metric {name}", value)] for name, value in values]


def _row(field: str, player: object) -> tuple[list[object], bytes]:
    if not isinstance(player, Player):
        raise BadValue(field, player, "a Player")
    about = _words(f"{field}.about", player.about)
    row: list[object] = [_words(f"{field}.kind", player.kind), _index(f"{field}.version", player.version), about]
    return row, _bytes(f"{field}.payload", player.payload)


def _index(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < MOST:
        raise BadValue(field, value, "a whole number from 0")
    return int(value)


def _real(field: str, value: object) -> float:
    if not isinstance(value, Real):
        raise BadValue(field, value, "a number")
    return float(value)


def _words(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadValue(field, value, "a text")
    return value.encode(errors="backslashreplace").decode()  # such as names of files that are no text


def _bytes(field: str, value: object) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise BadValue(field, value, "bytes")
    return bytes(value)


# Hearing


def decode(words: Sequence[Any], body: bytes) -> Event:
    """The event of a frame; Broken unless it is exactly what `encode` makes."""
    match words:
        case ["checkpoint", step, size, row]:
            if _whole(size) > len(body) or (row is None and size != len(body)):
                raise Broken(f"sent a checkpoint of {size:,} bytes in {len(body):,}")
            return Checkpoint(_whole(step), body[:size], None if row is None else _player(row, body[size:]))
        case ["champion", step, row]:
            return Champion(_whole(step), _player(row, body))
    if body:
        raise Broken("sent bytes that belong to nothing")
    match words:
        case ["metrics", step, [*pairs]]:
            return Metrics(_whole(step), tuple([_pair(pair) for pair in pairs]))
        case ["progress", step, total, text, left]:
            if left is not None and not math.isfinite(_fraction(left)):
                raise Broken("sent what is no time")
            return Progress(_whole(step), _whole(total), _text(text), left)
        case ["log", text, str(level)] if level in _LEVELS:
            return Log(_text(text), Level(level))
        case ["ended", str(how), reason] if how in _HOWS:
            return Ended(How(how), _text(reason))
    raise Broken("sent what is no event")


_LEVELS = {level.value for level in Level}
_HOWS = {how.value for how in How}


def _pair(raw: object) -> tuple[str, float]:
    match raw:
        case [name, value]:
            return _text(name), _fraction(value)
    raise Broken("sent what is no metric")


def _player(raw: object, payload: bytes) -> Player:
    match raw:
        case [kind, version, about]:
            return Player(_text(kind), _whole(version), payload, _text(about))
    raise Broken("sent what is no player")


def _whole(raw: object) -> int:
    if type(raw) is not int or not 0 <= raw < MOST:
        raise Broken("sent what is no whole number")
    return raw


def _fraction(raw: object) -> float:
    if type(raw) is not float:  # not a number, and without end, are numbers here: a diverging loss is worth a look
        raise Broken("sent what is no number")
    return raw


def _text(raw: object) -> str:
    if type(raw) is not str or any("\ud800" <= letter <= "\udfff" for letter in raw):
        raise Broken("sent what is no text")
    return raw
