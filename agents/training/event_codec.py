"""Encodes training events as frames of `engine.processes.channel`, without pickle.

Encoding is lenient (numpy numbers are accepted). Decoding is strict: plug-ins run in the trainer's process, so it may
send anything.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from agents.training.events import (
    Champion,
    Checkpoint,
    Current,
    Ended,
    Event,
    How,
    Level,
    Log,
    Metrics,
    Player,
    Progress,
    Resolved,
    Span,
    Spans,
    Workers,
    WorkerState,
)
from engine.errors import BadValue
from engine.options import Value
from engine.processes.channel import ProtocolError

MOST = 2**63  # integers are smaller, as in the league file


def encode(event: object) -> tuple[list[object], bytes]:
    """Returns the words and the body of a frame; raises BadValue with the field's name if this is not an event."""
    match event:
        case Metrics(step, values):
            return ["metrics", _index("Metrics.step", step), _pairs(values)], b""
        case Progress(step, total, text, left, done):
            numbers = [_index("Progress.step", step), _index("Progress.total", total)]
            known = [_known("Progress.seconds_left", left), _known("Progress.done", done)]
            return ["progress", *numbers, _text_of("Progress.text", text), *known], b""
        case Checkpoint(step, state, players):
            bodies, rows = [_bytes("Checkpoint.state", state)], []
            for player in _tuple("Checkpoint.players", players):
                row, payload = _row("Checkpoint.players", player)
                rows.append([*row, len(payload)])
                bodies.append(payload)
            roles = [row[3] for row in rows]
            if len(set(roles)) < len(roles):
                raise BadValue("Checkpoint.players", roles, "players with different roles")
            return ["checkpoint", _index("Checkpoint.step", step), len(bodies[0]), rows], b"".join(bodies)
        case Champion(step, player):
            row, payload = _row("Champion.player", player)
            return ["champion", _index("Champion.step", step), row], payload
        case Current(step, player):
            row, payload = _row("Current.player", player)
            return ["current", _index("Current.step", step), row], payload
        case Resolved(settings):
            return ["resolved", [[_text_of("setting", name), value] for name, value in settings]], b""
        case Workers(workers):
            return ["workers", [_worker_row(state) for state in _tuple("Workers.workers", workers)]], b""
        case Spans(spans):
            return ["spans", [_span_row(span) for span in _tuple("Spans.spans", spans)]], b""
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
    texts = [_text_of(f"{field}.about", player.about), _text_of(f"{field}.role", player.role)]
    row: list[object] = [_text_of(f"{field}.kind", player.kind), _index(f"{field}.version", player.version), *texts]
    return row, _bytes(f"{field}.payload", player.payload)


def _worker_row(state: object) -> list[object]:
    if not isinstance(state, WorkerState):
        raise BadValue("Workers.workers", state, "a WorkerState")
    texts = [_text_of(f"WorkerState.{name}", getattr(state, name)) for name in ("name", "state", "task", "done")]
    pid = None if state.pid is None else _index("WorkerState.pid", state.pid)
    return [*texts, _index("WorkerState.restarts", state.restarts), pid]


def _span_row(span: object) -> list[object]:
    if not isinstance(span, Span):
        raise BadValue("Spans.spans", span, "a Span")
    numbers = [_real("Span.start", span.start), _real("Span.seconds", span.seconds)]
    if not all(map(math.isfinite, numbers)):
        raise BadValue("Span", numbers, "finite numbers of seconds")
    return [_text_of("Span.track", span.track), _text_of("Span.name", span.name), *numbers]


def _tuple(field: str, value: object) -> tuple[object, ...]:
    if not isinstance(value, tuple | list):
        raise BadValue(field, value, "a tuple")
    return tuple(value)


def _index(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < MOST:
        raise BadValue(field, value, "an integer from 0")
    return int(value)


def _real(field: str, value: object) -> float:
    if not isinstance(value, Real):
        raise BadValue(field, value, "a number")
    return float(value)


def _known(field: str, value: object) -> float | None:
    """A finite number; None if it is unknown."""
    number = None if value is None else _real(field, value)
    return number if number is not None and math.isfinite(number) else None


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
        case ["checkpoint", step, size, [*rows]]:
            sizes = [_int(size), *(_int(row[-1]) if isinstance(row, list) and row else 0 for row in rows)]
            if sum(sizes) != len(body):
                raise ProtocolError(f"sent a checkpoint of {sum(sizes):,} bytes in {len(body):,}")
            ends = list(itertools.accumulate(sizes))
            parts = [body[start:end] for start, end in itertools.pairwise(ends)]
            players = tuple([_player(row[:-1], part) for row, part in zip(rows, parts, strict=True)])
            return Checkpoint(_int(step), body[:size], players)
        case ["champion", step, row]:
            return Champion(_int(step), _player(row, body))
        case ["current", step, row]:
            return Current(_int(step), _player(row, body))
    if body:
        raise ProtocolError("sent bytes after an event that has none")
    match words:
        case ["metrics", step, [*pairs]]:
            return Metrics(_int(step), tuple([_pair(pair) for pair in pairs]))
        case ["progress", step, total, text, left, done]:
            if any(value is not None and not math.isfinite(_float(value)) for value in (left, done)):
                raise ProtocolError("sent an invalid time or share")
            return Progress(_int(step), _int(total), _text(text), left, done)
        case ["resolved", [*rows]]:
            return Resolved(tuple([_setting(row) for row in rows]))
        case ["workers", [*rows]]:
            return Workers(tuple([_worker(row) for row in rows]))
        case ["spans", [*rows]]:
            return Spans(tuple([_span(row) for row in rows]))
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
        case [kind, version, about, role]:
            return Player(_text(kind), _int(version), payload, _text(about), _text(role))
    raise ProtocolError("sent an invalid player")


def _setting(raw: object) -> tuple[str, Value]:
    match raw:
        case [name, bool() | int() | float() | str() as value]:
            return _text(name), _text(value) if isinstance(value, str) else value
    raise ProtocolError("sent an invalid setting")


def _worker(raw: object) -> WorkerState:
    match raw:
        case [name, state, task, done, restarts, pid]:
            texts = _text(name), _text(state), _text(task), _text(done)
            return WorkerState(*texts, _int(restarts), None if pid is None else _int(pid))
    raise ProtocolError("sent an invalid worker")


def _span(raw: object) -> Span:
    match raw:
        case [track, name, start, seconds] if math.isfinite(_float(start)) and math.isfinite(_float(seconds)):
            return Span(_text(track), _text(name), _float(start), _float(seconds))
    raise ProtocolError("sent an invalid span")


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
