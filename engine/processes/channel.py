"""What goes between a dispatcher and its workers: frames of a JSON line and raw columns. Nothing is unpickled.

A worker may be talked into writing anything by the agents it plays; whatever does not parse is an error of that worker.
"""

from __future__ import annotations

import json
import socket
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from engine.errors import RingsideError
from engine.play.match import AgentSpec, Clock, Ending, EndingKind, GameSpec, Limits, MatchSpec
from engine.play.results import CODES, ENDINGS, TYPES, Columns, ResultBatch, shapes

HEADER = struct.Struct("<II")  # bytes of the JSON line, bytes of the body
LARGEST = 256 << 20  # bytes of a frame
CHUNK = 1 << 18

Message = tuple[list[Any], bytes]


class Broken(RingsideError):  # noqa: N818 - reads as what it is
    """The other side talks nonsense."""


class Gone(Broken):
    """The other side is not there any more."""


def _words(text: bytearray) -> list[Any]:
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        raise Broken("sent what is no message") from None
    if not isinstance(words, list) or not words or not isinstance(words[0], str):
        raise Broken("sent what is no message")
    return words


def frame(words: Sequence[object], body: bytes = b"") -> bytes:
    line = json.dumps(words, separators=(",", ":")).encode()
    return HEADER.pack(len(line), len(body)) + line + body


class Channel:
    """One side's end: frames in, frames out. Neither direction ever waits."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        end.setblocking(False)
        self.nonsense: Broken | None = None  # what comes after the messages that `get` gave last
        self._in = bytearray()
        self._out: deque[memoryview] = deque()

    @property
    def waiting(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._out)

    def put(self, words: Sequence[object], body: bytes = b"", now: bool = True) -> None:
        """Send what the other side can take now; `flush` sends the rest. Not `now`: together with the next message."""
        self._out.append(memoryview(frame(words, body)))
        if now:
            self.flush()

    def flush(self) -> None:
        if len(self._out) > 2 and sum(map(len, self._out)) < CHUNK:  # one call for each frame costs more than a copy
            self._out = deque([memoryview(b"".join(self._out))])
        while self._out:
            try:
                sent = self.socket.send(self._out[0])
            except BlockingIOError:
                return
            except OSError as error:
                self._out.clear()
                raise Gone(f"cannot be written to: {error.strerror}") from None
            if sent == len(self._out[0]):
                self._out.popleft()
            else:
                self._out[0] = self._out[0][sent:]

    def get(self) -> list[Message]:
        """What has arrived; Gone at the end of it, once everything before has been read."""
        while True:
            try:
                piece = self.socket.recv(CHUNK)
            except BlockingIOError:
                break
            except OSError as error:
                raise Gone(f"cannot be read: {error.strerror}") from None
            if not piece:
                messages = self._parse()
                if messages:
                    return messages  # the next call finds the end again
                raise Gone("is gone")
            self._in += piece
            if len(piece) < CHUNK:
                break
        return self._parse()

    def _parse(self) -> list[Message]:
        """Whole messages. Nonsense is an error once all that came before it has been taken."""
        messages: list[Message] = []
        at, data = 0, self._in
        while len(data) - at >= HEADER.size:
            line, body = HEADER.unpack_from(data, at)
            end = at + HEADER.size + line + body
            if line + body <= LARGEST and end > len(data):
                break
            try:
                if line + body > LARGEST:
                    raise Broken(f"sent a frame of {line + body:,} bytes")
                words = _words(data[at + HEADER.size : end - body])
            except Broken as error:
                if not messages:
                    raise
                self.nonsense = error
                break
            messages.append((words, bytes(data[end - body : end])))
            at = end
        del data[:at]
        return messages


# Matches, by the numbers that a dispatcher gives to them and to agents


def pack_matches(numbers: Sequence[int], specs: Sequence[MatchSpec], players: Sequence[int]) -> Message:
    """Matches of one game; `players` are the agents of all of them, seat by seat. The words of a message without its
    name and its game, and the columns. Starts and clocks are rare: they go with the words, by place."""
    rare: dict[str, list[object]] = {}
    for place, spec in enumerate(specs):
        clock = spec.limits.clock
        if spec.start is not None or clock is not None:
            times = [clock.base, clock.increment, clock.move] if clock else None
            rare[str(place)] = [spec.start, times]
    columns = (
        np.array(numbers, np.uint32),
        np.array([spec.limits.steps or 0 for spec in specs], np.uint32),
        np.array(players, np.uint32),
        np.array([spec.seed for spec in specs], np.uint64),
    )
    return [len(specs), len(specs[0].players), rare], b"".join([column.tobytes() for column in columns])


def unpack_matches(
    words: Sequence[Any], body: bytes, game: GameSpec, agents: Mapping[int, AgentSpec]
) -> list[MatchSpec]:
    """The matches of a message; their ids are their numbers."""
    n, seats, rare = words
    numbers, steps = np.frombuffer(body, np.uint32, 2 * n).reshape(2, n).tolist()
    players = np.frombuffer(body, np.uint32, n * seats, 8 * n).reshape(n, seats).tolist()
    seeds = np.frombuffer(body, np.uint64, n, 8 * n + 4 * n * seats).tolist()
    limits = {most: Limits(most or None) for most in set(steps)}
    found = [
        MatchSpec(str(number), game, tuple([agents[player] for player in seated]), seed, None, limits[most])
        for number, seated, seed, most in zip(numbers, players, seeds, steps, strict=True)
    ]
    for place, (start, times) in rare.items():
        spec = found[int(place)]
        limit = Limits(spec.limits.steps, Clock(*times)) if times else spec.limits
        found[int(place)] = replace(spec, start=start, limits=limit)
    return found


# Results, in columns


def pack_results(batch: ResultBatch) -> Message:
    """The words of a message without its name, and the columns. Endings that say more than their kind are rare."""
    told = {str(place): [list(ending.seats), ending.reason] for place, ending in batch.told.items()}
    numbers = np.array([int(spec.id) for spec in batch.specs], np.uint32)
    columns = [column.tobytes() for column in batch.columns]
    return [len(batch), *batch.shape, told], b"".join([numbers.tobytes(), *columns, batch.log])


NOT_PLAYED = [CODES[kind] for kind in (EndingKind.CANCELLED, EndingKind.QUARANTINED)]  # no worker decides that


def sound(columns: Columns) -> bool:
    """Whether these could be results of matches: all that a league file could not hold is refused."""
    ranks, durations = columns.ranks, columns.durations
    return not (
        np.isnan(columns.scores).any()
        or not np.isfinite(durations).all()
        or (durations < 0.0).any()
        or (ranks < 1).any()
        or (ranks > ranks.shape[1]).any()
        or np.isin(columns.kinds, NOT_PLAYED).any()
    )


class Arrived:
    """Results as a worker sent them: the numbers of their matches, and columns that are checked."""

    def __init__(self, words: Sequence[Any], body: bytes) -> None:
        try:
            n, seats, stats, told = words
            if not all(type(count) is int and count >= 0 for count in (n, seats, stats)):
                raise ValueError
            self.numbers: list[int] = np.frombuffer(body, np.uint32, n).tolist()
            columns: list[NDArray[Any]] = []
            at = 4 * n
            for kind, shape in zip(TYPES, shapes(n, seats, stats), strict=True):
                columns.append(np.frombuffer(body, kind, prod(shape), at).reshape(shape))
                at += columns[-1].nbytes
            self._columns, self._log = Columns._make(columns), body[at:]
            if int(self._columns.sizes.sum(dtype=np.int64)) != len(self._log):
                raise ValueError
            self._told = {}
            for place, (blamed, reason) in told.items():
                ending = Ending(ENDINGS[self._columns.kinds[int(place)]], tuple(map(int, blamed)), str(reason))
                distinct = len(set(ending.seats)) == len(ending.seats)
                if int(place) < 0 or not distinct or not all(0 <= seat < seats for seat in ending.seats):
                    raise ValueError
                self._told[int(place)] = ending
            if not n or self._columns.kinds.max() >= len(ENDINGS) or not sound(self._columns):
                raise ValueError
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError):
            raise Broken("sent results that are none") from None

    @property
    def seats(self) -> int:
        return int(self._columns.ranks.shape[1])

    def batch(self, specs: Sequence[MatchSpec | None], worker: int) -> ResultBatch:
        """`specs`: the matches with these numbers. Those without one were broken off, and are left out."""
        whole = ResultBatch(cast(Sequence[MatchSpec], specs), self._columns, self._log, self._told, worker)
        known = [place for place, spec in enumerate(specs) if spec is not None]
        return whole if len(known) == len(specs) else whole.select(known)
