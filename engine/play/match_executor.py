"""The base class of executors, and helpers that they share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import cast

from engine.closing import Closing
from engine.errors import BadSpec
from engine.play.match import MatchResult, MatchSpec
from engine.play.results import ResultBatch


class MatchExecutor(Closing):
    """An executor that plays lists of matches and is a context manager."""

    def execute_match(self, spec: MatchSpec) -> MatchResult:
        return self.execute_matches([spec])[0]

    @abstractmethod
    def execute_matches(self, specs: Sequence[MatchSpec]) -> list[MatchResult]:
        """Results in the order of the specs; all of them are checked before the first match is played."""


def one_by_one(batches: Iterator[ResultBatch]) -> Iterator[MatchResult]:
    """Yield the results of batches one by one. Closing this iterator ends the run."""
    try:
        for batch in batches:
            yield from batch
    finally:
        cast(Generator[ResultBatch, None, None], batches).close()


def check_distinct(specs: Iterable[MatchSpec]) -> Iterator[MatchSpec]:
    """Yield the specs; raise BadSpec if two have the same id."""
    seen: set[str] = set()
    for spec in specs:
        if not isinstance(spec, MatchSpec):
            raise BadSpec(f"{spec!r:.200} is not a MatchSpec")
        if spec.id in seen:
            raise BadSpec(f"match id {spec.id!r} is used twice in one run")
        seen.add(spec.id)
        yield spec
