"""Trajectories and agents as messages between a trainer and its rollout processes: in columns, without pickle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.game import GameInfo
from engine.play.match import AgentSpec, GameSpec, MatchResult, MatchSpec
from engine.play.results import ResultBatch
from engine.play.rollout_columns import Trajectories
from engine.play.workers.messages import ReceivedResults, pack_results
from engine.processes.channel import Message, ProtocolError

ARRAYS = Trajectories._fields[:-1]  # all but the results
TYPES: dict[str, type[np.generic]] = {"actions": np.int64, "legal": np.bool_, "acted": np.bool_, "ends": np.int8}
# In a message: wide numbers first, so that all columns are aligned.
ORDER = sorted(ARRAYS, key=lambda name: -np.dtype(TYPES.get(name, np.float32)).itemsize)
PIECE = 32 << 20  # bytes of a column in one message: a segment may be larger than the largest frame


def pack_agent(agent: AgentSpec) -> Message:
    """The fields of a message after its name, and its body."""
    return [agent.id, agent.kind, agent.version], agent.payload


def unpack_agent(fields: Sequence[Any], body: bytes) -> AgentSpec:
    id, kind, version = fields
    return AgentSpec(id, kind, body, version)


def pack_trajectories(segment: Trajectories) -> Message:
    """The fields of a message after its name, and its body: the arrays one after the other, then the results."""
    fields, columns = split_trajectories(segment)
    return fields, b"".join(columns)


def split_trajectories(segment: Trajectories) -> tuple[list[Any], list[memoryview]]:
    """As `pack_trajectories`, with the parts of the body, which are not copied."""
    streams, steps, _ = segment.acted.shape
    arrays = [np.ascontiguousarray(array) for name in ORDER if (array := getattr(segment, name)) is not None]
    columns = [array.reshape(-1).view(np.uint8).data for array in arrays]
    labels = [[result.id, *result.players] for result in segment.results]
    fields: list[Any] = []
    if segment.results:
        specs = [MatchSpec(str(index), GameSpec("", 0), (), 0) for index in range(len(segment.results))]
        fields, results = pack_results(ResultBatch.of(specs, segment.results))
        columns.append(memoryview(results))
    return [streams, steps, len(segment.obs), segment.legal is not None, labels, fields], columns


def pieces_of(columns: Iterable[memoryview]) -> Iterator[memoryview]:
    """Bytes for messages of a limited size."""
    for column in columns:
        for at in range(0, len(column), PIECE):
            yield column[at : at + PIECE]


def unpack_trajectories(fields: Sequence[Any], body: bytes | bytearray, info: GameInfo) -> Trajectories:
    """The trajectories of a message; raises ProtocolError if they do not fit the game. A bytearray is not copied."""
    try:
        streams, steps, rows, masked, labels, results = fields
        if not all(type(count) is int and count >= least for count, least in ((streams, 1), (steps, 1), (rows, 0))):
            raise ValueError
        data = body if isinstance(body, bytearray) else bytearray(body)  # so that the arrays can be changed
        arrays: dict[str, NDArray[Any] | None] = {"legal": None}
        at = 0
        for name in ORDER:
            if name != "legal" or masked:
                shape, kind = _shape(name, streams, steps, rows, info), TYPES.get(name, np.float32)
                arrays[name] = np.frombuffer(data, kind, prod(shape), at).reshape(shape)
                at += prod(shape) * np.dtype(kind).itemsize
        found = _unpack_results(labels, results, bytes(memoryview(data)[at:]), info)
        segment = Trajectories(**arrays, results=found)  # type: ignore[arg-type]
        if not _is_valid(segment, info):
            raise ValueError
        return segment
    except (TypeError, ValueError, OverflowError):
        raise ProtocolError("sent invalid trajectories") from None


def _shape(name: str, streams: int, steps: int, rows: int, info: GameInfo) -> tuple[int, ...]:
    by_row = {"obs": (rows, *info.observation), "legal": (rows, info.actions), "ends": (streams, steps)}
    return by_row.get(name, (streams, steps, info.seats))


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
        and np.count_nonzero(segment.acted) == len(segment.obs)
        and ((segment.ends >= 0) & (segment.ends <= 3)).all()
        and ((segment.actions >= 0) & (segment.actions < info.actions)).all()
    )
