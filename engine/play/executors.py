"""Executors: everything that plays matches. `new_executor("local")` makes one by name.

To add one, subclass `MatchExecutor` and register the class under the entry point `ringside.executors`.
`engine.checks.check_executor` checks that it does what `Executor` promises.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self

from engine.errors import BadValue, BrokenPlugin, RingsideError
from engine.foreign_code import name_and_text
from engine.options import parse
from engine.play.live import LiveMatch
from engine.play.match import MatchResult, MatchSpec
from engine.play.match_executor import MatchExecutor
from engine.play.play_settings import PlaySettings
from engine.play.results import ResultBatch
from engine.play.sequential import SequentialMatchExecutor
from engine.registry import EXECUTORS
from engine.telemetry import Event, Status

__all__ = ["DEFAULT", "Executor", "MatchExecutor", "SequentialMatchExecutor", "check_executor_name", "new_executor"]

DEFAULT = "local"


class Executor(Protocol):
    """Plays matches: every spec that is taken from `specs` gives exactly one result, in order of completion.

    One thread iterates over the results of a run. All other methods may be called from any thread at any time.
    """

    name: ClassVar[str]
    about: ClassVar[str]  # where it plays, in a few words
    most_workers: ClassVar[int]  # the largest number that it can use
    isolated: ClassVar[bool]  # agents play in other processes: one that crashes or hangs is a result

    @property
    def workers(self) -> int:
        """The number of workers that it may use, at most `most_workers`. It can be changed during a run."""

    @workers.setter
    def workers(self, count: int) -> None: ...

    @property
    def waiting(self) -> int:
        """Matches that were taken from `specs` and have not started."""

    def batches(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[ResultBatch]:
        """The results in columns; a MatchResult is created when it is accessed. Closing the iterator ends the run.

        `stopping` is called several times a second, also when no results arrive: when it returns True, the run is
        cancelled and gives no more results.
        """

    def run(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[MatchResult]:
        """The results of `batches`, one by one."""

    def execute_match(self, spec: MatchSpec) -> MatchResult: ...
    def execute_matches(self, specs: Sequence[MatchSpec]) -> list[MatchResult]:
        """Results in the order of the specs; all of them are checked before the first match is played."""

    def recall(self) -> list[MatchSpec]:
        """Remove and return the matches that have not started; no more are taken. Running ones still give results."""

    def hold(self, yes: bool) -> None:
        """Start no more matches, or continue. A run ends when it is on hold and none of its matches is being played,
        as if the rest had been recalled."""

    def stop(self, now: bool = False) -> None:
        """End the run when the running matches are over, or `now`; the rest gets results of kind `cancelled`."""

    def watch(self, spec: MatchSpec, pace: float = 0.0, skip: int = 0) -> LiveMatch:
        """Play one live match, also during a run. `pace` is in steps a second, 0 for full speed; the first `skip` steps
        are played at full speed. Only live matches can have human players."""

    def status(self) -> Status:
        """Machines, workers and the current or last run."""

    def events(self, since: int = 0) -> tuple[int, list[Event]]:
        """The number of events so far, and the events after the first `since`."""

    def close(self) -> None:
        """Free everything. A run that is not over raises RingsideError in its thread."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def new_executor(on: str = DEFAULT, settings: PlaySettings | None = None, **changes: Any) -> Executor:
    """The executor of this name, with these settings: `new_executor("local", workers=4)`.

    Options of the executor follow a colon: `cluster:address=host,size=3`. A text without `=` is its first option, so
    that an address such as `ray://host:port` is a choice too.
    """
    kind, options = check_executor_name(on)
    settings = dataclasses.replace(settings or PlaySettings(), **changes)
    try:
        return kind.create(settings, options)
    except RingsideError:
        raise
    except Exception as error:  # a plug-in may fail in any way, such as a cluster that cannot be reached
        raise BrokenPlugin(f"executor {on!r} cannot be started: {name_and_text(error)}") from error


def check_executor_name(on: str) -> tuple[type[MatchExecutor], Any]:
    """The class and the options that a text such as `local` stands for; raises an error that says what is wrong."""
    if not isinstance(on, str):
        raise BadValue("executor", on, "a name")
    name, _, text = on.partition(":")
    kind = EXECUTORS.get(name)
    fields = [field.name for field in dataclasses.fields(kind.Options)]
    given: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, equals, value = part.partition("=")
        if not equals and not given and fields:
            key, value = fields[0], part
        elif not equals:
            raise BadValue("executor", on, f"{name}, or {name}:NAME=VALUE" if fields else f"{name}, without options")
        given[key] = value
    return kind, parse(kind.Options, given, f"option of {name}")
