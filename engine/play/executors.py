"""Who plays matches: one seam, `run(specs) -> results`, whatever is behind it."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self, cast

from engine.errors import BadSpec, RingsideError
from engine.play.arena import DEFAULT_LANES, Arena
from engine.play.failures import STRIKES, Conduct
from engine.play.lane_group import ABREAST
from engine.play.march import Marching
from engine.play.match import MatchResult, MatchSpec
from engine.play.results import ResultBatch

SLICE = 0.002  # seconds of play between two looks at what has ended


class Executor(Protocol):
    """Plays matches. Every spec that is taken from `specs` gives exactly one result, in order of completion."""

    def run(self, specs: Iterable[MatchSpec]) -> Iterator[MatchResult]: ...
    def batches(self, specs: Iterable[MatchSpec]) -> Iterator[ResultBatch]:
        """The same in columns: results are made into objects when they are looked at."""

    def recall(self) -> list[MatchSpec]:
        """Take back what is not being played yet; what is being played still gives its results."""

    def close(self) -> None: ...


class MatchExecutor(ABC):
    """What both of ours have: lists of matches, and an end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def execute_match(self, spec: MatchSpec) -> MatchResult:
        return self.execute_matches([spec])[0]

    @abstractmethod
    def execute_matches(self, specs: Sequence[MatchSpec]) -> list[MatchResult]:
        """Results in the order of the specs; all of them are checked before the first match is played."""

    @abstractmethod
    def close(self) -> None: ...


class SequentialMatchExecutor(MatchExecutor):
    """In this process, on this core. The reference for all others: they give the same records."""

    def __init__(
        self,
        lanes: int = DEFAULT_LANES,
        *,
        record: bool = True,
        quarantine_after: int | None = STRIKES,
        marching: Marching = Marching.WHEN_READY,
    ) -> None:
        self._arena = Arena(lanes, record=record, marching=marching)
        self._ahead = max(
            lanes, 2 * ABREAST
        )  # matches in the queue: while there are any, results are collected together
        self._record, self._quarantine_after = record, quarantine_after
        self._suspects: deque[MatchSpec] = deque()
        self._conduct = Conduct(quarantine_after)
        self._retried: set[str] = set()  # matches that were suspect once and went back into company
        self._recalled = False
        self._open = False

    def execute_matches(self, specs: Sequence[MatchSpec]) -> list[MatchResult]:
        self._arena.new_run()
        for spec in distinct(specs):
            self._arena.check(spec)
        found = {result.id: result for batch in self._batches(iter(specs), checked=True) for result in batch}
        return [found[spec.id] for spec in specs]

    def run(self, specs: Iterable[MatchSpec]) -> Iterator[MatchResult]:
        return one_by_one(self.batches(specs))

    def batches(self, specs: Iterable[MatchSpec]) -> Iterator[ResultBatch]:
        return self._batches(distinct(specs), checked=False)

    def _batches(self, coming: Iterator[MatchSpec], checked: bool) -> Iterator[ResultBatch]:
        if self._open:
            raise RingsideError("this executor is in the middle of another run: finish or close that one first")
        self._open, self._recalled = True, False
        self._conduct = Conduct(self._quarantine_after)
        self._retried.clear()
        if not checked:
            self._arena.new_run()
        try:
            while True:
                if not self._recalled:
                    for spec in itertools.islice(coming, max(self._ahead - self._arena.queued, 0)):
                        self._enter(spec, checked)
                if self._arena.idle and not self._suspects:
                    return
                self._arena.advance(SLICE)
                yield from self._arena.take_batches()
                self._suspects += self._arena.take_suspects()
                if self._suspects:
                    yield self._play_alone(self._suspects.popleft())
        finally:
            self._open = False
            self._arena.drop()
            self._suspects.clear()

    def recall(self) -> list[MatchSpec]:
        """Take back what was taken from `specs` and is not being played; call it between two results."""
        self._recalled = True
        back = [*self._arena.recall(), *self._suspects]
        self._suspects.clear()
        return back

    def close(self) -> None:
        self._arena.close()

    def _enter(self, spec: MatchSpec, checked: bool = False) -> None:
        """Into the arena, or among those that play alone: by the clock, or because one of them has failed before."""
        if not checked:
            self._arena.check(spec)
        if self._conduct.timed(spec) or (self._conduct.failed and self._conduct.suspicious(spec)):
            self._suspects.append(spec)
        else:
            self._arena.queue(spec)

    def _play_alone(self, spec: MatchSpec) -> ResultBatch:
        refusal = self._conduct.refusal(spec)
        if refusal is not None:
            return ResultBatch.of([spec], [refusal])
        with Arena(lanes=1, alone=True, record=self._record) as arena:
            arena.add(spec)
            while not arena.idle:
                arena.advance(SLICE)
            [batch] = arena.take_batches()
        if self._conduct.note(spec, batch[0]):
            self._sort_out()
        return batch

    def _sort_out(self) -> None:
        """A guilty one is found: matches without it may go on in company, once; those with it play alone."""
        suspects, waiting = list(self._suspects), self._arena.recall()
        self._suspects.clear()
        for spec in suspects:
            if spec.id in self._retried:
                self._suspects.append(spec)
            else:
                self._retried.add(spec.id)
                self._enter(spec)
        for spec in waiting:
            self._enter(spec)


def one_by_one(batches: Iterator[ResultBatch]) -> Iterator[MatchResult]:
    """The results of batches, one by one. Closing this iterator ends the run."""
    try:
        for batch in batches:
            yield from batch
    finally:
        cast(Generator[ResultBatch, None, None], batches).close()


def distinct(specs: Iterable[MatchSpec]) -> Iterator[MatchSpec]:
    seen: set[str] = set()
    for spec in specs:
        if not isinstance(spec, MatchSpec):
            raise BadSpec(f"{spec!r:.200} is no MatchSpec")
        if spec.id in seen:
            raise BadSpec(f"match id {spec.id!r} stands for two matches of one run")
        seen.add(spec.id)
        yield spec
