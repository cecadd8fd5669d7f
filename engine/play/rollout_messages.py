"""Trajectories and agents as messages between a trainer and its rollout processes: in columns, without pickle."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.game import GameInfo
from engine.play.match import AgentSpec, GameSpec, MatchResult, MatchSpec
from engine.play.results import ResultBatch
from engine.play.rollout import Trajectories
from engine.play.workers.messages import ReceivedResults, pack_results
from engine.processes.channel import Message, ProtocolError

ARRAYS = Trajectories._fields[:-1]  # all but the results
TYPES: dict[str, type[np.generic]] = {"actions": np.int64, "legal": np.bool_, "acted": np.bool_, "ends": np.int8}


def pack_agent(agent: AgentSpec) -> Message:
    """The fields of a message after its name, and its body."""
    return [agent.id, agent.kind, agent.version], agent.payload


def unpack_agent(fields: Sequence[Any], body: bytes) -> AgentSpec:
    id, kind, version = fields
    return AgentSpec(id, kind, body, version)


def pack_trajectories(segment: Trajectories) -> Message:
    """The fields of a message after its name, and its body: the arrays one after the other, then the results."""
    streams, steps, _ = segment.acted.shape
    columns = [array.tobytes() for name in ARRAYS if (array := getattr(segment, name)) is not None]
    labels = [[result.id, *result.players] for result in segment.results]
    fields: list[Any] = []
    if segment.results:
        specs = [MatchSpec(str(index), GameSpec("", 0), (), 0) for index in range(len(segment.results))]
        fields, results = pack_results(ResultBatch.of(specs, segment.results))
        columns.append(results)
    return [streams, steps, segment.legal is not None, labels, fields], b"".join(columns)


def unpack_trajectories(fields: Sequence[Any], body: bytes, info: GameInfo) -> Trajectories:
    """The trajectories of a message; raises ProtocolError if they do not fit the game."""
    try:
        streams, steps, masked, labels, results = fields
        if not all(type(count) is int and count > 0 for count in (streams, steps)):
            raise ValueError
        arrays: dict[str, NDArray[Any] | None] = {}
        at = 0
        for name in ARRAYS:
            if name == "legal" and not masked:
                arrays[name] = None
                continue
            shape, kind = _shape(name, streams, steps, info), TYPES.get(name, np.float32)
            arrays[name] = np.frombuffer(body, kind, prod(shape), at).reshape(shape).copy()  # of its own, to be changed
            at += prod(shape) * np.dtype(kind).itemsize
        segment = Trajectories(**arrays, results=_unpack_results(labels, results, body[at:], info))  # type: ignore[arg-type]
        if not _is_valid(segment, info):
            raise ValueError
        return segment
    except (TypeError, ValueError, OverflowError):
        raise ProtocolError("sent invalid trajectories") from None


def _shape(name: str, streams: int, steps: int, info: GameInfo) -> tuple[int, ...]:
    if name == "ends":
        return streams, steps
    more = {"obs": info.observation, "legal": (info.actions,)}.get(name, ())
    return streams, steps, info.seats, *more


def _unpack_results(labels: Any, fields: Any, body: bytes, info: GameInfo) -> tuple[MatchResult, ...]:
    if not labels:
        if body:
            raise ValueError
        return ()
    received = ReceivedResults(fields, body)
    if received.numbers != list(range(len(labels))) or received.seats != info.seats:
        raise ValueError
    specs = []
    for id, *players in labels:
        if not isinstance(id, str) or len(players) != info.seats:
            raise ValueError
        specs.append(MatchSpec(id, GameSpec("", 0), tuple(AgentSpec(str(player), "") for player in players), 0))
    return tuple(received.batch(specs, -1))


def _is_valid(segment: Trajectories, info: GameInfo) -> bool:
    flags = [segment.acted] if segment.legal is None else [segment.acted, segment.legal]
    return bool(
        all((one.view(np.uint8) <= 1).all() for one in flags)
        and ((segment.ends >= 0) & (segment.ends <= 3)).all()
        and ((segment.actions >= 0) & (segment.actions < info.actions)).all()
    )


def joined(segments: Sequence[Trajectories]) -> Trajectories:
    """The trajectories of several processes, stream by stream in this order."""
    first = segments[0]
    arrays: Any = {
        name: None if getattr(first, name) is None else np.concatenate([getattr(one, name) for one in segments])
        for name in ARRAYS
    }
    return first._replace(**arrays, results=tuple(result for one in segments for result in one.results))
