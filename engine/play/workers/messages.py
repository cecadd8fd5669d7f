"""The messages between a dispatcher and its workers: matches and results in columns, by number."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from engine.foreign_code import LONGEST_MESSAGE, clean_text
from engine.play.by_players import MOST, ByPlayers
from engine.play.match import AgentSpec, Clock, Ending, EndingKind, GameSpec, Limits, MatchSpec
from engine.play.results import CODES, ENDINGS, TYPES, Columns, ResultBatch, shapes
from engine.processes.channel import Message, ProtocolError


@dataclass
class SentCache:
    """The games, agents and payloads that a worker has received, so that each is sent once."""

    games: set[int] = field(default_factory=set)
    agents: set[int] = field(default_factory=set)
    payloads: OrderedDict[str, int] = field(default_factory=OrderedDict)  # sizes in bytes, least recently used first


class WireIds:
    """The numbers that stand for the games and agents of a run in messages."""

    def __init__(self) -> None:
        self._numbers: dict[GameSpec | AgentSpec, int] = {}
        self._by_identity: dict[int, int] = {}  # by id() of the keys of `_numbers`: hashing a spec costs far more
        self.digests: dict[int, str] = {}  # of an agent's payload
        self.players = ByPlayers(lambda players: tuple([self.number(player) for player in players]))

    def number(self, spec: GameSpec | AgentSpec) -> int:
        number = self._by_identity.get(id(spec))
        return self._assign(spec) if number is None else number

    def _assign(self, spec: GameSpec | AgentSpec) -> int:
        number = self._numbers.get(spec)
        if number is None:  # `_numbers` keeps the spec, so that its id() stays unique
            number = self._numbers[spec] = self._by_identity[id(spec)] = len(self._numbers)
            if isinstance(spec, AgentSpec):
                self.digests[number] = hashlib.blake2b(spec.payload, digest_size=16).hexdigest()
        return number


# Matches: the dispatcher numbers matches and agents


def pack_matches(numbers: Sequence[int], specs: Sequence[MatchSpec], players: Sequence[int]) -> Message:
    """Pack matches of one game; `players` are the numbers of the agents of all matches, seat by seat.

    Returns the fields of a message after its name and its game, and its body. Starts and clocks are rare, so they are
    in the fields, by index.
    """
    extras: dict[str, list[object]] = {}
    for index in [at for at, spec in enumerate(specs) if spec.start is not None or spec.limits.clock is not None]:
        start, clock = specs[index].start, specs[index].limits.clock
        extras[str(index)] = [start, [clock.base, clock.increment, clock.move] if clock else None]
    columns = (
        np.array(numbers, np.uint32),
        np.array([spec.limits.steps or 0 for spec in specs], np.uint32),
        np.array(players, np.uint32),
        np.array([spec.seed for spec in specs], np.uint64),
    )
    return [len(specs), len(specs[0].players), extras], b"".join([column.tobytes() for column in columns])


class AgentNumbers(dict[int, AgentSpec]):
    """The agents of a run by their number in messages, and the players of matches by those of the seats."""

    def __init__(self) -> None:
        super().__init__()
        self.seated: dict[bytes, tuple[AgentSpec, ...]] = {}  # the same tuple for the same numbers
        self.limits: dict[int, Limits] = {}  # the same object for the same number of steps

    def players(self, numbers: bytes) -> tuple[AgentSpec, ...]:
        """The players with these numbers, each of 32 bits."""
        known = self.seated.get(numbers)
        if known is None:
            if len(self.seated) >= MOST:
                self.seated.clear()
            known = tuple([self[number] for number in np.frombuffer(numbers, np.uint32).tolist()])
            self.seated[numbers] = known
        return known

    def clear(self) -> None:
        super().clear()
        self.seated.clear()
        self.limits.clear()


def unpack_matches(fields: Sequence[Any], body: bytes, game: GameSpec, agents: AgentNumbers) -> list[MatchSpec]:
    """The matches of a message; the id of a match is its number."""
    n, seats, extras = fields
    numbers, steps = np.frombuffer(body, np.uint32, 2 * n).reshape(2, n).tolist()
    width, first = 4 * seats, 8 * n
    seeds = np.frombuffer(body, np.uint64, n, first + n * width).tolist()
    limits = {limit: agents.limits.setdefault(limit, Limits(limit or None)) for limit in set(steps)}
    found = [
        MatchSpec(str(number), game, agents.players(body[at : at + width]), seed, None, limits[limit])
        for number, at, seed, limit in zip(numbers, range(first, first + n * width, width), seeds, steps, strict=True)
    ]
    for index, (start, times) in extras.items():
        spec = found[int(index)]
        timed = Limits(spec.limits.steps, Clock(*times)) if times else spec.limits
        found[int(index)] = replace(spec, start=start, limits=timed)
    return found


# Results, in columns


def pack_results(batch: ResultBatch) -> Message:
    """The fields of a message after its name, and its body. Only endings with seats or a reason are in the fields."""
    endings = {str(index): [list(ending.seats), ending.reason] for index, ending in batch.detailed_endings.items()}
    numbers = np.array([int(spec.id) for spec in batch.specs], np.uint32)
    columns = [column.tobytes() for column in batch.columns]
    return [len(batch), *batch.shape, endings], b"".join([numbers.tobytes(), *columns, batch.log])


NOT_PLAYED = [CODES[kind] for kind in (EndingKind.CANCELLED, EndingKind.QUARANTINED)]  # set by the executor only


def is_valid(columns: Columns) -> bool:
    """Whether these can be results of matches; a league file could not hold anything else."""
    ranks, durations = columns.ranks, columns.durations
    return not (
        np.isnan(columns.scores).any()
        or not np.isfinite(durations).all()
        or (durations < 0.0).any()
        or (ranks < 1).any()
        or (ranks > ranks.shape[1]).any()
        or np.isin(columns.kinds, NOT_PLAYED).any()
    )


class ReceivedResults:
    """Results as a worker sent them: the numbers of their matches, and validated columns."""

    def __init__(self, fields: Sequence[Any], body: bytes) -> None:
        try:
            n, seats, stats, endings = fields
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
            self._endings: dict[int, Ending] = {}
            for index, (blamed, told) in endings.items():
                reason = clean_text(told, LONGEST_MESSAGE)
                ending = Ending(ENDINGS[self._columns.kinds[int(index)]], tuple(map(int, blamed)), reason)
                distinct = len(set(ending.seats)) == len(ending.seats)
                if int(index) < 0 or not distinct or not all(0 <= seat < seats for seat in ending.seats):
                    raise ValueError
                self._endings[int(index)] = ending
            if not n or self._columns.kinds.max() >= len(ENDINGS) or not is_valid(self._columns):
                raise ValueError
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError):
            raise ProtocolError("sent invalid results") from None

    @property
    def seats(self) -> int:
        return int(self._columns.ranks.shape[1])

    def batch(self, specs: Sequence[MatchSpec | None], worker: int) -> ResultBatch:
        """`specs`: the matches with these numbers; None for one that was cancelled, which is left out."""
        whole = ResultBatch(cast(Sequence[MatchSpec], specs), self._columns, self._log, self._endings, worker)
        known = [index for index, spec in enumerate(specs) if spec is not None]
        return whole if len(known) == len(specs) else whole.select(known)
