"""What goes between a dispatcher and its workers: frames of a JSON line and raw columns. Nothing is unpickled.

A worker may be talked into writing anything by the agents it plays; whatever does not parse is an error of that worker.
"""

from __future__ import annotations

import json
import socket
import struct
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.errors import RingsideError
from engine.play.match import Clock, Ending, EndingKind, Limits, MatchResult, MatchSpec

HEADER = struct.Struct("<II")  # bytes of the JSON line, bytes of the body
LARGEST = 256 << 20  # bytes of a frame
ENDINGS = tuple(EndingKind)
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

    def put(self, words: Sequence[object], body: bytes = b"") -> None:
        """Send what the other side can take now; `flush` sends the rest."""
        self._out.append(memoryview(frame(words, body)))
        self.flush()

    def flush(self) -> None:
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


# Matches, by the numbers that a dispatcher gives to them, to games and to agents


def spec_row(number: int, spec: MatchSpec, game: int, players: Sequence[int]) -> list[object]:
    clock = spec.limits.clock
    times = [clock.base, clock.increment, clock.move] if clock else None
    return [number, game, players, spec.seed, spec.start, spec.limits.steps, times]


def spec_of_row(row: list[Any], games: dict[int, Any], agents: dict[int, Any]) -> MatchSpec:
    number, game, players, seed, start, steps, times = row
    limits = Limits(steps, Clock(*times) if times else None) if steps is not None or times else NO_LIMITS
    return MatchSpec(str(number), games[game], tuple([agents[player] for player in players]), seed, start, limits)


NO_LIMITS = Limits()


# Results, in columns


def pack_results(results: Sequence[MatchResult]) -> tuple[list[object], bytes]:
    """Results of one game: the words of a message without its name, and the columns."""
    seats, stats = len(results[0].scores), len(results[0].stats[0])
    n = len(results)
    told: dict[str, list[object]] = {}  # by place: endings that say more than their kind
    sizes = np.empty(n, np.uint32)
    for place, result in enumerate(results):
        sizes[place] = len(result.actions)
        if result.ending.seats or result.ending.reason:
            told[str(place)] = [list(result.ending.seats), result.ending.reason]
    columns = (
        np.array([int(result.id) for result in results], np.uint32),
        np.array([result.steps for result in results], np.uint32),
        sizes,
        np.array([ENDINGS.index(result.ending.kind) for result in results], np.uint8),
        np.array([result.repeatable for result in results], np.uint8),
        np.array([result.ranks for result in results], np.uint8),
        np.array([result.duration for result in results], np.float64),
        np.array([result.scores for result in results], np.float64),
        np.array([result.stats for result in results], np.float64),
    )
    body = b"".join([*(column.tobytes() for column in columns), *(result.actions for result in results)])
    return [n, seats, stats, told], body


class Columns:
    """Results as they arrive: `numbers` first, so that each can be given its match."""

    def __init__(self, words: Sequence[Any], body: bytes) -> None:
        try:
            n, seats, stats, told = words
            self._told = {
                int(place): (tuple(map(int, blamed)), str(reason)) for place, (blamed, reason) in told.items()
            }
            self._at, self._body = 0, body
            self.numbers: list[int] = self._take(n, np.uint32).tolist()
            self._steps = self._take(n, np.uint32).tolist()
            sizes = self._take(n, np.uint32).tolist()
            self._kinds = self._take(n, np.uint8).tolist()
            self._repeatable = self._take(n, np.bool_).tolist()
            self._ranks = self._take(n * seats, np.uint8).reshape(n, seats).tolist()
            self._durations = self._take(n, np.float64).tolist()
            self._scores = self._take(n * seats, np.float64).reshape(n, seats).tolist()
            self._stats = self._take(n * seats * stats, np.float64).reshape(n, seats, stats).tolist()
            ends = self._at + np.cumsum([0, *sizes])
            self._ends = ends.tolist()
            if self._ends[-1] != len(body) or max(self._kinds) >= len(ENDINGS):
                raise ValueError
        except (TypeError, ValueError, IndexError, AttributeError):
            raise Broken("sent results that are none") from None

    def _take(self, n: int, kind: type) -> np.ndarray[Any, Any]:
        column: np.ndarray[Any, Any] = np.frombuffer(self._body, kind, n, self._at)
        self._at += column.nbytes
        return column

    def result(self, place: int, spec: MatchSpec, worker: int = -1) -> MatchResult:
        """The result at this place, which is that of this match."""
        kind = self._kinds[place]
        told = self._told.get(place) if self._told else None
        return MatchResult(
            spec.id,
            tuple([player.id for player in spec.players]),
            tuple(self._scores[place]),
            tuple(self._ranks[place]),
            self._steps[place],
            PLAIN[kind] if told is None else Ending(ENDINGS[kind], *told),
            tuple(map(tuple, self._stats[place])),
            self._body[self._ends[place] : self._ends[place + 1]],
            self._repeatable[place],
            self._durations[place],
            worker,
        )


PLAIN = tuple(Ending(kind) for kind in ENDINGS)
