"""The base class of executors, and helpers that they share."""

from __future__ import annotations

import functools
import threading
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, cast

from engine.closing import Closing
from engine.errors import BadSpec, BrokenPlugin, RingsideError
from engine.foreign_code import name_and_text
from engine.play.failures import unplayed_result
from engine.play.live import LiveMatch
from engine.play.match import EndingKind, MatchResult, MatchSpec
from engine.play.match_validator import MatchValidator
from engine.play.play_settings import MOST_WORKERS, PlaySettings
from engine.play.results import ResultBatch
from engine.registry import EXECUTORS
from engine.telemetry import Event, Monitor, RunView, Status, WorkerStatus, WorkerView

T = TypeVar("T")
LIVE = "local"  # the executor that plays live matches for the others


@dataclass(frozen=True)
class NoOptions:
    """The options of an executor that has none."""


class MatchExecutor(Closing):
    """What executors have in common. A new one implements `create`, `batches`, `recall`, `hold`, `stop`, `waiting`,
    `workers`, `view` and `close`, which calls `close_live`; see `engine.play.executors.Executor` for what they do."""

    name: ClassVar[str]
    about: ClassVar[str]
    isolated: ClassVar[bool] = True
    most_workers: ClassVar[int] = MOST_WORKERS
    Options: ClassVar[type[Any]] = NoOptions

    def __init_subclass__(cls, **given: Any) -> None:
        """An executor may be a plug-in and fail in any way: its `batches` raise errors that are meant for the user."""
        super().__init_subclass__(**given)
        if "batches" in vars(cls):
            cls.batches = _reporting(cls.batches)  # type: ignore[method-assign]

    def __init__(self, plugins: Sequence[str] = ()) -> None:
        self._plugins = tuple(plugins)
        self._live_executor: MatchExecutor | None = None
        self._live_closed = False
        self._live_lock, self._status_lock = threading.Lock(), threading.Lock()
        self._monitor: Monitor | None = None

    @classmethod
    @abstractmethod
    def create(cls, settings: PlaySettings, options: Any) -> Self:
        """The executor with these settings, and with its own `Options`."""

    # Playing

    @abstractmethod
    def batches(
        self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None
    ) -> Iterator[ResultBatch]: ...

    def run(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[MatchResult]:
        """The results of `batches`, one by one."""
        return one_by_one(self.batches(specs, stopping))

    def execute_match(self, spec: MatchSpec) -> MatchResult:
        return self.execute_matches([spec])[0]

    def execute_matches(self, specs: Sequence[MatchSpec]) -> list[MatchResult]:
        """Results in the order of the specs; all of them are checked before the first match is played."""
        MatchValidator().check(check_distinct(specs))
        return in_order(specs, self.batches(specs))

    # While it plays

    @abstractmethod
    def recall(self) -> list[MatchSpec]: ...
    @abstractmethod
    def hold(self, yes: bool) -> None: ...
    @abstractmethod
    def stop(self, now: bool = False) -> None: ...
    @property
    @abstractmethod
    def waiting(self) -> int: ...
    @property
    @abstractmethod
    def workers(self) -> int: ...
    @workers.setter
    @abstractmethod
    def workers(self, count: int) -> None: ...

    # Live matches, for executors that play elsewhere or in this thread

    def watch(self, spec: MatchSpec, pace: float = 0.0, skip: int = 0) -> LiveMatch:
        """Play one live match in a worker process of this machine, where its actions arrive without delay."""
        with self._live_lock:
            if self._live_closed:
                raise RingsideError("this executor is closed")
            if self._live_executor is None:
                kind = EXECUTORS.get(LIVE)
                self._live_executor = kind.create(PlaySettings(workers=1, plugins=self._plugins), kind.Options())
            live = self._live_executor
        return live.watch(spec, pace, skip)

    def live_workers(self) -> tuple[WorkerStatus, ...]:
        """The worker processes of live matches."""
        with self._live_lock:
            live = self._live_executor
        return live.status().workers if live is not None else ()

    def close_live(self) -> None:
        """End the live matches, for good."""
        with self._live_lock:
            live, self._live_executor, self._live_closed = self._live_executor, None, True
        if live is not None:
            live.close()

    # Status

    @abstractmethod
    def view(self) -> tuple[Sequence[WorkerView], RunView]:
        """The workers, and the current run or the last one."""

    def status(self) -> Status:
        """Workers, run and machine. It may be called from any thread."""
        with self._status_lock:
            self._monitor = self._monitor or Monitor()
            return self._monitor.sample(*self.view())

    def events(self, since: int = 0) -> tuple[int, list[Event]]:
        """The number of events so far, and the events after the first `since`; none unless an executor traces them."""
        return 0, []


class _ReportedBatches(Iterator[ResultBatch]):
    """The batches of an executor. Its errors become BrokenPlugin, except those that its specs raise."""

    def __init__(self, name: str, start: Callable[[], Iterator[ResultBatch]], specs: _Specs) -> None:
        self._name, self._specs = name, specs
        self._batches = self._reported(start)

    def __next__(self) -> ResultBatch:
        return self._reported(lambda: next(self._batches))

    def close(self) -> None:
        """Ends the run."""
        if hasattr(self._batches, "close"):
            self._reported(self._batches.close)

    def _reported(self, step: Callable[[], T]) -> T:
        try:
            return step()
        except (RingsideError, StopIteration):
            raise
        except Exception as error:
            if error is self._specs.error:
                raise
            reason = name_and_text(error)
            raise BrokenPlugin(f"executor {self._name!r} failed ({reason}): choose another, or try again") from error


class _Specs:
    """Specs that an executor takes one by one; keeps the error that they raise."""

    def __init__(self, specs: Iterable[MatchSpec]) -> None:
        self.error: Exception | None = None
        self.coming = self._each(specs)  # a generator, because it is the fastest iterator

    def _each(self, specs: Iterable[MatchSpec]) -> Iterator[MatchSpec]:
        try:
            yield from specs
        except Exception as error:
            self.error = error
            raise


def _reporting(batches: Callable[..., Iterator[ResultBatch]]) -> Callable[..., Iterator[ResultBatch]]:
    @functools.wraps(batches)
    def reported(
        self: MatchExecutor, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None
    ) -> Iterator[ResultBatch]:
        watched = _Specs(specs)
        given = specs if isinstance(specs, Sized) else watched.coming  # an executor may ask how many there are
        return _ReportedBatches(self.name, lambda: batches(self, given, stopping), watched)

    return reported


def in_order(specs: Sequence[MatchSpec], batches: Iterable[ResultBatch]) -> list[MatchResult]:
    """All results in the order of the specs; matches without a result are `cancelled`."""
    found = {result.id: result for batch in batches for result in batch}
    reason = "the run was stopped"
    return [found.get(spec.id) or unplayed_result(spec, EndingKind.CANCELLED, reason) for spec in specs]


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
