"""Encodes training events as frames of `engine.processes.channel`, without pickle.

Encoding is lenient (numpy numbers are accepted). Decoding is strict: plug-ins run in the trainer's process, so it may
send anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from agents.training.events import Champion, Checkpoint, Ended, Event, How, Level, Log, Metrics, Player, Progress
from engine.errors import BadValue
from engine.processes.channel import ProtocolError

MOST = 2**63  # integers are smaller, as in the league file


def encode(event: object) -> tuple[list[object], bytes]:
    """Returns the words and the body of a frame; raises BadValue with the field's name if this is not an event."""
    match event:
        case Metrics(step, values):
            return ["metrics", _index("Metrics.step", step), _pairs(values)], b""
        case Progress(step, total, text, left):
            seconds = None if left is None else _real("Progress.seconds_left", left)
            if seconds is not None and not math.isfinite(seconds):
                seconds = None  # unknown
            numbers = [_index("Progress.step", step), _index("Progress.total", total)]
            return ["progress", *numbers, _text_of("Progress.text", text), seconds], b""
        case Checkpoint(step, state, best):
            data = _bytes("Checkpoint.state", state)
            row, payload = (None, b"") if best is None else _row("Checkpoint.best", best)
            return ["checkpoint", _index("Checkpoint.step", step), len(data), row], data + payload
        case Champion(step, player):
            row, payload = _row("Champion.player", player)
            return ["champion", _index("Champion.step", step), row], payload
        case Log(text, Level() as level):
            return ["log", _text_of("Log.text", text), level.value], b""
        case Ended(How() as how, reason):
            return ["ended", how.value, _text_of("Ended.reason", reason)], b""
    raise BadValue("yielded by the trainer", event, "an event of agents.training.events")


def _pairs(values: object) -> list[list[object]]:
    if not isinstance(values, tuple | list) or not all(
        isinstance(pair, tuple | list) and len(pair) == 2 for pair in values
    ):
        raise BadValue("Metrics.values", values, "pairs of a name and a number")
    return [[_text_of("name of a metric", name), _real(f"metric {name}", value)] for name, value in values]


def _row(field: str, player: object) -> tuple[list[object], bytes]:
    if not isinstance(player, Player):
        raise BadValue(field, player, "a Player")
    about = _text_of(f"{field}.about", player.about)
    row: list[object] = [_text_of(f"{field}.kind", player.kind), _index(f"{field}.version", player.version), about]
    return row, _bytes(f"{field}.payload", player.payload)


def _index(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < MOST:
        raise BadValue(field, value, "an integer from 0")
    return int(value)


def _real(field: str, value: object) -> float:
    if not isinstance(value, Real):
        raise BadValue(field, value, "a number")
    return float(value)


def _text_of(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadValue(field, value, "a text")
    return value.encode(errors="backslashreplace").decode()  # file names may hold bytes that are not text


def _bytes(field: str, value: object) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise BadValue(field, value, "bytes")
    return bytes(value)


def decode(words: Sequence[Any], body: bytes) -> Event:
    """Returns the event of a frame; raises ProtocolError unless `encode` could have written it."""
    match words:
        case ["checkpoint", step, size, row]:
            if _int(size) > len(body) or (row is None and size != len(body)):
                raise ProtocolError(f"sent a checkpoint of {size:,} bytes in {len(body):,}")
            return Checkpoint(_int(step), body[:size], None if row is None else _player(row, body[size:]))
        case ["champion", step, row]:
            return Champion(_int(step), _player(row, body))
    if body:
        raise ProtocolError("sent bytes after an event that has none")
    match words:
        case ["metrics", step, [*pairs]]:
            return Metrics(_int(step), tuple([_pair(pair) for pair in pairs]))
        case ["progress", step, total, text, left]:
            if left is not None and not math.isfinite(_float(left)):
                raise ProtocolError("sent an invalid time")
            return Progress(_int(step), _int(total), _text(text), left)
        case ["log", text, str(level)] if level in _LEVELS:
            return Log(_text(text), Level(level))
        case ["ended", str(how), reason] if how in _HOWS:
            return Ended(How(how), _text(reason))
    raise ProtocolError("sent an invalid event")


_LEVELS = {level.value for level in Level}
_HOWS = {how.value for how in How}


def _pair(raw: object) -> tuple[str, float]:
    match raw:
        case [name, value]:
            return _text(name), _float(value)
    raise ProtocolError("sent an invalid metric")


def _player(raw: object, payload: bytes) -> Player:
    match raw:
        case [kind, version, about]:
            return Player(_text(kind), _int(version), payload, _text(about))
    raise ProtocolError("sent an invalid player")


def _int(raw: object) -> int:
    if type(raw) is not int or not 0 <= raw < MOST:
        raise ProtocolError("sent an invalid integer")
    return raw


def _float(raw: object) -> float:
    if type(raw) is not float:  # NaN and infinity are allowed: a diverging loss should be visible
        raise ProtocolError("sent an invalid number")
    return raw


def _text(raw: object) -> str:
    if type(raw) is not str or any("\ud800" <= letter <= "\udfff" for letter in raw):
        raise ProtocolError("sent invalid text")
    return raw
