"""The concurrent executor: plays matches on worker processes, with the same results as the sequential one."""

from __future__ import annotations

import itertools
import signal
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from types import FrameType
from typing import Protocol, Self

from engine.errors import RingsideError
from engine.play.arena import DEFAULT_LANES, MOST_LANES
from engine.play.failures import STRIKES
from engine.play.live import LiveMatch, check_pace
from engine.play.match import MatchResult, MatchSpec
from engine.play.match_executor import MatchExecutor, NoOptions, check_distinct, in_order
from engine.play.match_validator import MatchValidator
from engine.play.play_settings import MOST_WORKERS, PlaySettings, check_number, check_plugins, default_workers
from engine.play.results import ResultBatch
from engine.play.workers.dispatcher import Dispatcher
from engine.play.workers.entry import WorkerSettings
from engine.play.workers.handle import WorkerLimits
from engine.play.workers.run import Run
from engine.telemetry import Event, RunView, WorkerView

FEED = 256  # matches taken from `specs` at once
POLL = 0.2  # seconds to wait for results before more matches are fed


class ConcurrentMatchExecutor(MatchExecutor):
    """Plays matches on worker processes, which are started when needed and kept for the next run.

    A failed match gives a result that says how it failed and which seat failed; the other matches continue. `stop`,
    `workers`, `watch` and the like may be called from any thread.
    """

    name = "local"
    about = "worker processes on this machine"

    def __init__(
        self,
        max_workers: int | None = None,
        batch_size: int = 10,
        visual_mode: bool = False,
        *,
        lanes: int = DEFAULT_LANES,
        record: bool = True,
        watchdog: float = 10.0,
        memory_mb: int | None = 2048,
        quarantine_after: int | None = STRIKES,
        plugins: Sequence[str] = (),
    ) -> None:
        """`max_workers`: default is one less than the number of cores. `batch_size`: matches in a message; more if they
        are short. `visual_mode`: one match at a time, in order. `lanes`: matches at once in one worker.
        `record`: keep the actions. `watchdog`: seconds that one call of an agent may take. `memory_mb`: memory that the
        agents of a worker may take. `quarantine_after`: failures after which an agent plays no more in this run.
        `plugins`: modules that workers import, for games and agents that are registered but not installed.
        """
        super().__init__()
        check_number("batch_size", batch_size, 1, 10_000)
        check_number("lanes", lanes, 1, MOST_LANES)
        check_number("watchdog", watchdog, 0.05, 1_000_000, whole=False)
        if memory_mb is not None:
            check_number("memory_mb", memory_mb, 16, 1 << 24)
        if quarantine_after is not None:
            check_number("quarantine_after", quarantine_after, 1, 1_000_000)
        workers = default_workers() if max_workers is None else max_workers
        check_number("max_workers", workers, 1, MOST_WORKERS)
        memory = None if memory_mb is None else memory_mb << 20
        settings = WorkerSettings(lanes, record, batch_size, memory, watchdog, check_plugins(plugins), rows=4 * lanes)
        self._dispatcher = Dispatcher(
            workers, settings, WorkerLimits(watchdog, memory=memory, failures=quarantine_after)
        )
        self._workers, self._ahead = workers, 2 * lanes
        self._visual = False
        self.visual_mode = visual_mode
        self._run: Run | None = None
        self._recalled = self._held = False
        self._feed_lock = threading.RLock()
        self._end = weakref.finalize(self, self._dispatcher.close)  # called when the program ends, if not before

    @classmethod
    def create(cls, settings: PlaySettings, options: NoOptions) -> Self:
        return cls(
            settings.workers,
            settings.batch_size,
            lanes=settings.lanes,
            record=settings.record,
            watchdog=settings.watchdog,
            memory_mb=settings.memory_mb,
            quarantine_after=settings.quarantine_after,
            plugins=settings.plugins,
        )

    # Playing

    def execute_matches(self, specs: Sequence[MatchSpec]) -> list[MatchResult]:
        MatchValidator().check(check_distinct(specs))
        return in_order(specs, self._play(specs, None))

    def batches(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[ResultBatch]:
        """Yield results in order of completion; every spec that is taken gives exactly one. `stopping` is called
        several times a second: when it returns True, the run is cancelled and gives no more results."""
        return self._play(specs, MatchValidator(), stopping)

    def _play(
        self, specs: Iterable[MatchSpec], validator: MatchValidator | None, stopping: Callable[[], bool] | None = None
    ) -> Iterator[ResultBatch]:
        """Play one run; `validator` checks each match as it is taken."""
        if self._run is not None:
            raise RingsideError("this executor already has a run: finish or close it first")
        run = self._run = self._dispatcher.begin(len(specs) if isinstance(specs, Sized) else None)
        self._recalled = False
        coming = check_distinct(specs) if validator is not None else iter(specs)
        try:
            more = over = True
            while more or not over:
                short = more and not self._held and self._dispatcher.waiting(run) < self._ahead * self._workers
                if short:  # do not wait for results: workers may play as fast as matches are fed
                    more = self._feed(run, coming, validator)
                batches, over = self._dispatcher.take(run, 0.0 if short else POLL)
                yield from batches
                if self._held and self._dispatcher.drained(run):
                    return
                if stopping is not None and stopping():
                    self._dispatcher.stop(now=True)
                    return
        finally:
            self._run = None
            self._dispatcher.end(run)

    def _feed(self, run: Run, coming: Iterator[MatchSpec], validator: MatchValidator | None) -> bool:
        """Take some more matches from `specs`; returns whether there may be more."""
        with self._feed_lock:  # no feeding during a recall
            if self._recalled or run.stopping:
                return False
            if self._held:
                return True
            batch = list(itertools.islice(coming, FEED))
            if validator is not None:
                validator.check(batch)
            self._dispatcher.submit(run, batch)
            return len(batch) == FEED

    # While it runs

    def recall(self) -> list[MatchSpec]:
        """Remove and return the matches that were taken from `specs` and have not started; running ones are finished.

        No more matches are taken from `specs`.
        """
        with self._feed_lock:
            self._recalled = True
            return self._dispatcher.recall()

    def hold(self, yes: bool) -> None:
        """Start no more matches, or continue.

        A run ends when it is on hold and none of its matches is being played, as if the rest had been recalled.
        """
        with self._feed_lock:
            self._held = yes
            self._dispatcher.hold(yes)

    @property
    def waiting(self) -> int:
        """Matches that were taken from `specs` and have not started."""
        run = self._run
        return run.waiting if run is not None else 0

    def stop(self, now: bool = False) -> None:
        """End the run when the running matches are over, or `now`; the rest gets results of kind `cancelled`."""
        self._dispatcher.stop(now)

    @property
    def workers(self) -> int:
        """The largest number of worker processes; it can be changed during a run."""
        return self._workers

    @workers.setter
    def workers(self, count: int) -> None:
        check_number("workers", count, 1, MOST_WORKERS)
        self._workers = count
        self._dispatcher.resize(count)

    @property
    def visual_mode(self) -> bool:
        return self._visual

    @visual_mode.setter
    def visual_mode(self, on: bool) -> None:
        self._visual = on
        self._dispatcher.one_by_one(on)

    def watch(self, spec: MatchSpec, pace: float = 0.0, skip: int = 0) -> LiveMatch:
        """Play one live match in a worker of its own, also during a run. `pace` is in steps a second, 0 for full speed;
        the first `skip` steps are played at full speed. Only live matches can have human players."""
        MatchValidator(humans=True).check([spec])
        check_number("skip", skip, 0, 2**32 - 1)
        return self._dispatcher.watch_live(spec, check_pace(pace), skip)

    def view(self) -> tuple[list[WorkerView], RunView]:
        return self._dispatcher.view()

    def events(self, since: int = 0) -> tuple[int, list[Event]]:
        """The number of events so far, and the events after the first `since`."""
        return self._dispatcher.events(since)

    def close(self) -> None:
        """Kill all workers, also during a run."""
        self._end()


class Stoppable(Protocol):
    def stop(self, now: bool = False) -> None: ...


@contextmanager
def stopping_on_signals(executor: Stoppable) -> Iterator[list[int]]:
    """Handle Ctrl-C and SIGTERM: the first finishes running matches and ends the run, the second ends it now.

    For the main thread. Yields a list to which received signals are added.
    """
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        executor.stop(now=len(received) > 1)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
