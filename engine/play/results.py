"""Results of many matches in columns, as they pass from a group of lanes through a worker to the league file.

A MatchResult is created only when it is accessed, and most never are: creating, packing and unpacking an object for
each match costs more than playing a short match.
"""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from engine.play.match import UNRATED, AgentSpec, Ending, EndingKind, MatchResult, MatchSpec, length_prefixed

ENDINGS = tuple(EndingKind)
CODES = {kind: code for code, kind in enumerate(ENDINGS)}  # in `Columns.kinds`
VALUES = tuple(kind.value for kind in ENDINGS)  # reading them from an Enum is slow
ENDING_BYTES = tuple(length_prefixed((value,)) for value in VALUES)  # in digests
UNRATED_CODES = [CODES[kind] for kind in UNRATED]
PLAIN_ENDINGS = tuple(Ending(kind) for kind in ENDINGS)  # endings without seats and reason
Slices = TypeVar("Slices", bytes, bytearray)
IndexArray = Sequence[int] | NDArray[np.integer]


class Columns(NamedTuple):
    """Results of n matches with s seats and k statistics a seat. Messages have the columns in this order."""

    steps: NDArray[np.uint32]  # [n]
    sizes: NDArray[np.uint32]  # [n], bytes of actions
    kinds: NDArray[np.uint8]  # [n], indices into ENDINGS
    repeatable: NDArray[np.bool_]  # [n]
    ranks: NDArray[np.uint8]  # [n, s]
    durations: NDArray[np.float64]  # [n]
    scores: NDArray[np.float64]  # [n, s]
    stats: NDArray[np.float64]  # [n, s, k]


SMALL, WHOLE, REAL = np.uint8, np.uint32, np.float64
TYPES: tuple[type[np.generic], ...] = (WHOLE, WHOLE, SMALL, np.bool_, SMALL, REAL, REAL, REAL)  # of the columns


def shapes(n: int, seats: int, stats: int) -> tuple[tuple[int, ...], ...]:
    """The shapes of the columns."""
    return (n,), (n,), (n,), (n,), (n, seats), (n,), (n, seats), (n, seats, stats)


class ResultBatch(Sequence[MatchResult]):
    """Results of matches with equal numbers of seats and statistics; immutable."""

    def __init__(
        self,
        specs: Sequence[MatchSpec],
        columns: Columns,
        log: bytes,
        detailed_endings: Mapping[int, Ending] | None = None,
        worker: int = -1,
    ) -> None:
        """`log`: the actions of all matches, concatenated. `detailed_endings`: by index, the endings with seats or a
        reason. `worker`: slot of the worker that played them, -1 for this process."""
        self.specs, self.columns, self.log = specs, columns, log
        self.detailed_endings: Mapping[int, Ending] = detailed_endings or {}
        self.worker = worker

    @classmethod
    def of(cls, specs: Sequence[MatchSpec], results: Sequence[MatchResult]) -> Self:
        """A batch of existing results, which have the same shape and worker."""
        n, seats, stats = len(results), *shape_of(results[0])
        endings = [result.ending for result in results]
        columns = Columns(
            np.array([result.steps for result in results], np.uint32),
            np.array([len(result.actions) for result in results], np.uint32),
            np.array([CODES[ending.kind] for ending in endings], np.uint8),
            np.array([result.repeatable for result in results], np.bool_),
            np.array([result.ranks for result in results], np.uint8).reshape(n, seats),
            np.array([result.duration for result in results], np.float64),
            np.array([result.scores for result in results], np.float64).reshape(n, seats),
            np.array([result.stats for result in results], np.float64).reshape(n, seats, stats),
        )
        detailed_endings = {index: ending for index, ending in enumerate(endings) if ending.seats or ending.reason}
        return cls(
            specs, columns, b"".join([result.actions for result in results]), detailed_endings, results[0].worker
        )

    @classmethod
    def empty(cls, seats: int, stats: int) -> Self:
        columns: list[NDArray[Any]] = [
            np.zeros(shape, kind) for kind, shape in zip(TYPES, shapes(0, seats, stats), strict=True)
        ]
        return cls((), Columns._make(columns), b"")

    @classmethod
    def joined(cls, batches: Sequence[ResultBatch]) -> ResultBatch:
        """Concatenate batches of one shape; the worker is -1 if theirs differ."""
        if len(batches) == 1:
            return batches[0]
        workers = {batch.worker for batch in batches if batch}
        firsts = itertools.accumulate((len(batch) for batch in batches), initial=0)
        return cls(
            [spec for batch in batches for spec in batch.specs],
            Columns._make(map(np.concatenate, zip(*[batch.columns for batch in batches], strict=True))),
            b"".join([batch.log for batch in batches]),
            {
                first + at: one
                for first, batch in zip(firsts, batches, strict=False)
                for at, one in batch.detailed_endings.items()
            },
            workers.pop() if len(workers) == 1 else -1,
        )

    def __len__(self) -> int:
        return len(self.specs)

    @overload
    def __getitem__(self, at: int) -> MatchResult: ...
    @overload
    def __getitem__(self, at: slice) -> ResultBatch: ...
    def __getitem__(self, at: int | slice) -> MatchResult | ResultBatch:
        places = range(len(self))[at]
        return self.select(places) if isinstance(places, range) else next(iter(self.select([places])))

    def __iter__(self) -> Iterator[MatchResult]:
        steps, _, kinds, repeatable, ranks, durations, scores, stats = [column.tolist() for column in self.columns]
        endings = [PLAIN_ENDINGS[kind] for kind in kinds]
        for index, ending in self.detailed_endings.items():
            endings[index] = ending
        rows = zip(self.specs, scores, ranks, steps, endings, stats, self.actions(), repeatable, durations, strict=True)
        for spec, score, rank, step, ending, stat, actions, repeats, duration in rows:
            yield MatchResult(
                spec.id,
                tuple([player.id for player in spec.players]),
                tuple(score),
                tuple(rank),
                step,
                ending,
                tuple([tuple(row) for row in stat]),
                actions,
                repeats,
                duration,
                self.worker,
            )

    @property
    def shape(self) -> tuple[int, int]:
        """The number of seats, and of statistics a seat."""
        return self.columns.stats.shape[1], self.columns.stats.shape[2]

    def select(self, places: IndexArray) -> ResultBatch:
        """The results at these indices, in this order."""
        chosen = np.asarray(places, np.int64)
        indices = chosen.tolist()
        log = b""
        if self.log:
            log = b"".join([self.log[self._ends[index] : self._ends[index + 1]] for index in indices])
        detailed_endings = (
            {at: self.detailed_endings[index] for at, index in enumerate(indices) if index in self.detailed_endings}
            if self.detailed_endings
            else None
        )
        columns = Columns._make(column[chosen] for column in self.columns)
        return ResultBatch([self.specs[index] for index in indices], columns, log, detailed_endings, self.worker)

    def in_order(self, specs: Sequence[MatchSpec]) -> ResultBatch:
        """The results of these matches, one for each."""
        places = {spec.id: index for index, spec in enumerate(self.specs)}
        return self.select([places[spec.id] for spec in specs])

    def without_stats(self, stats: int) -> ResultBatch:
        """The same results with `stats` zeros a seat as statistics."""
        columns = self.columns._replace(stats=np.zeros((len(self), self.shape[0], stats)))
        return ResultBatch(self.specs, columns, self.log, self.detailed_endings, self.worker)

    def without_actions(self) -> ResultBatch:
        columns = self.columns._replace(sizes=np.zeros_like(self.columns.sizes))
        return ResultBatch(self.specs, columns, b"", self.detailed_endings, self.worker)

    def actions(self) -> list[bytes]:
        """The packed actions of each match."""
        return self._actions

    @functools.cached_property
    def _actions(self) -> list[bytes]:
        if not self.log:
            return [b""] * len(self)
        return [self.log[start:end] for start, end in itertools.pairwise(self._ends)]

    @functools.cached_property
    def _ends(self) -> list[int]:
        """Where the actions of each match begin and end in the log."""
        return list(itertools.accumulate(self.columns.sizes.tolist(), initial=0))

    def ending(self, index: int) -> Ending:
        return self.detailed_endings.get(index) or PLAIN_ENDINGS[self.columns.kinds[index]]

    # `MatchResult.numbers` and `MatchResult.digest` of all matches at once

    def numbers(self) -> list[bytes]:
        """By index: scores, then statistics by seat, as raw 64-bit floats."""
        return rows_of(self._floats())

    def _floats(self) -> NDArray[np.float64]:
        stats = self.columns.stats
        return np.concatenate([self.columns.scores, stats.reshape(len(stats), -1)], axis=1).astype("<f8", copy=False)

    def digests(self) -> list[bytes]:
        """The digest of each match."""
        ids = [spec.id.encode() for spec in self.specs]
        lengths = {length: length.to_bytes(4, "little") for length in set(map(len, ids))}
        seated = [spec.players for spec in self.specs]
        names = {
            id(players): length_prefixed(tuple([player.id for player in players])) for players in _distinct(seated)
        }
        parts = zip(
            [lengths[len(text)] for text in ids],
            ids,
            [names[id(players)] for players in seated],
            [ENDING_BYTES[kind] for kind in self.columns.kinds.tolist()],
            self._figures(),
            self.actions(),
            strict=True,
        )
        return [blake2b(b"".join(part), digest_size=16).digest() for part in parts]

    def _figures(self) -> list[bytes]:
        """By index, for a digest: how many reals and integers follow; `numbers`; ranks, steps and count of forfeits."""
        floats, seats = self._floats(), self.shape[0]
        whole = np.zeros((len(self), seats + 2), "<i8")
        whole[:, :seats] = self.columns.ranks
        whole[:, seats] = self.columns.steps
        counts = np.empty((len(self), 2), "<u4")
        counts[:] = floats.shape[1], whole.shape[1]
        found = rows_of(np.concatenate([part.view(np.uint8) for part in (counts, floats, whole)], axis=1))
        for index, ending in self.detailed_endings.items():
            if blamed := ending.seats:
                sizes = struct.pack("<II", floats.shape[1], whole.shape[1] + len(blamed))
                found[index] = sizes + found[index][8:-8] + struct.pack(f"<{1 + len(blamed)}q", len(blamed), *blamed)
        return found


def _distinct(seated: Iterable[tuple[AgentSpec, ...]]) -> Iterable[tuple[AgentSpec, ...]]:
    """Each object once: comparing them by value costs far more, and a schedule repeats the same few."""
    return {id(players): players for players in seated}.values()


def rows_of(table: NDArray[Any]) -> list[bytes]:
    """The bytes of each row."""
    return slices(table.tobytes(), table.strides[0])


def slices(whole: Slices, width: int) -> list[Slices]:
    """Parts of so many bytes, of the same type."""
    return [whole[at : at + width] for at in range(0, len(whole), width)]


class ResultSelection(Sequence[MatchResult]):
    """Some results of a batch, created when they are accessed; pilots get it at the end of their matches."""

    def __init__(self, batch: ResultBatch, places: Sequence[int]) -> None:
        self._batch, self._places = batch, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> MatchResult: ...
    @overload
    def __getitem__(self, at: slice) -> ResultSelection: ...
    def __getitem__(self, at: int | slice) -> MatchResult | ResultSelection:
        places = self._places[at]
        return ResultSelection(self._batch, places) if isinstance(places, Sequence) else self._batch[places]

    def __iter__(self) -> Iterator[MatchResult]:
        return iter(self._batch.select(self._places))


def shape_of(result: MatchResult) -> tuple[int, int]:
    return len(result.scores), len(result.stats[0]) if result.stats else 0


def batches_of(pairs: Iterable[tuple[MatchSpec, MatchResult]]) -> list[ResultBatch]:
    """Single results as batches, in the same order; a new batch starts where the shape or the worker changes."""
    groups = itertools.groupby(pairs, lambda pair: (shape_of(pair[1]), pair[1].worker))
    return [ResultBatch.of(*zip(*group, strict=True)) for _, group in groups]
