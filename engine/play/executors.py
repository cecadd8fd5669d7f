"""Executors: everything that plays matches has `run(specs) -> results`.

To add one, implement the `Executor` protocol; `MatchExecutor` provides `execute_match` and `with`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from engine.play.match import MatchResult, MatchSpec
from engine.play.match_executor import MatchExecutor
from engine.play.results import ResultBatch
from engine.play.sequential import SequentialMatchExecutor

__all__ = ["Executor", "MatchExecutor", "SequentialMatchExecutor"]


class Executor(Protocol):
    """Plays matches. Every spec that is taken from `specs` gives exactly one result, in order of completion."""

    def run(self, specs: Iterable[MatchSpec]) -> Iterator[MatchResult]: ...
    def batches(self, specs: Iterable[MatchSpec]) -> Iterator[ResultBatch]:
        """The same results in columns; a MatchResult is created when it is accessed."""

    def recall(self) -> list[MatchSpec]:
        """Remove and return the matches that have not started; running matches still give results."""

    def close(self) -> None: ...
