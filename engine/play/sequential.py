"""The sequential executor: plays matches in this process, on one core, in the thread that takes the results."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from enum import IntEnum
from typing import Self

from engine.errors import RingsideError
from engine.play.arena import DEFAULT_LANES, Arena
from engine.play.failures import STRIKES, FailureTracker, unplayed_result
from engine.play.lane_group import MARCHED_TOGETHER
from engine.play.march import Marching
from engine.play.match import EndingKind, MatchResult, MatchSpec
from engine.play.match_executor import MatchExecutor, NoOptions, check_distinct, in_order
from engine.play.play_settings import MOST_WORKERS, PlaySettings, check_number
from engine.play.results import ResultBatch, batches_of
from engine.telemetry import Event, RunView, Trace, WorkerView

SLICE = 0.002  # seconds of play between two checks for ended matches and for calls of other threads


class Stop(IntEnum):
    NO = 0
    AFTER_RUNNING = 1
    NOW = 2


class SequentialMatchExecutor(MatchExecutor):
    """Plays matches in this process. It is the reference: all other executors give the same results."""

    name = "sequential"
    about = "this process, on one core, unprotected: for debugging"
    isolated = False
    most_workers = 1

    def __init__(
        self,
        lanes: int = DEFAULT_LANES,
        *,
        record: bool = True,
        quarantine_after: int | None = STRIKES,
        marching: Marching = Marching.WHEN_READY,
        plugins: Sequence[str] = (),
    ) -> None:
        """`plugins`: modules that the worker process of a live match imports."""
        super().__init__(plugins)
        self._arena = Arena(lanes, record=record, marching=marching)
        self._alone: tuple[MatchSpec, Arena] | None = None  # a match that is played alone
        self._ahead = max(lanes, 2 * MARCHED_TOGETHER)  # queued matches, so that results are batched
        self._record, self._quarantine_after = record, quarantine_after
        self._suspects: deque[MatchSpec] = deque()
        self._withheld: list[MatchSpec] = []  # taken, and not to be started while on hold
        self._failures = FailureTracker(quarantine_after)
        self._retried: set[str] = set()  # former suspects that share the arena again
        self._recalled = self._held = self._open = self._closed = False
        self._stop = Stop.NO
        self._gate, self._turn = threading.RLock(), threading.RLock()
        self._run = RunView()
        self._total = 0  # matches played in all runs
        self._trace = Trace()

    @classmethod
    def create(cls, settings: PlaySettings, options: NoOptions) -> Self:
        return cls(
            settings.lanes,
            record=settings.record,
            quarantine_after=settings.quarantine_after,
            plugins=settings.plugins,
        )

    # Playing

    def execute_matches(self, specs: Sequence[MatchSpec]) -> list[MatchResult]:
        self._check_free()
        self._arena.new_run()
        for spec in check_distinct(specs):
            self._arena.check(spec)
        return in_order(specs, self._batches(specs, iter(specs), checked=True))

    def batches(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[ResultBatch]:
        return self._batches(specs, check_distinct(specs), False, stopping)

    def _batches(
        self,
        specs: Iterable[MatchSpec],
        coming: Iterator[MatchSpec],
        checked: bool,
        stopping: Callable[[], bool] | None = None,
    ) -> Iterator[ResultBatch]:
        self._begin(len(specs) if isinstance(specs, Sized) else None, checked)
        try:
            while True:
                with self._my_turn():
                    ready = self._cancel() if self._stop else []
                    self._take(coming, checked)
                    if not self._idle:
                        ready += self._advance()
                    elif not ready:
                        return
                    self._note(ready)
                yield from ready
                if stopping is not None and stopping():
                    return
        finally:
            self._end()

    def _check_free(self) -> None:
        if self._closed:
            raise RingsideError("this executor is closed")
        if self._open:
            raise RingsideError("this executor already has a run: finish or close it first")

    def _begin(self, total: int | None, checked: bool) -> None:
        self._check_free()
        self._open, self._recalled, self._stop = True, False, Stop.NO
        self._failures = FailureTracker(self._quarantine_after)
        self._retried.clear()
        self._run = RunView(total)
        self._trace.add(-1, "run", "" if total is None else str(total))
        if not checked:
            self._arena.new_run()

    def _end(self) -> None:
        with self._turn:
            self._open = False
            self._end_alone()
            self._arena.drop()
            self._suspects.clear()
            self._withheld.clear()
            self._note([])

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        """Other threads pass the gate first, so that they wait for one slice of play at most."""
        with self._gate:
            self._turn.acquire()
        try:
            if self._closed:
                raise RingsideError("the executor was closed during this run")
            yield
        finally:
            self._turn.release()

    @property
    def _idle(self) -> bool:
        return self._arena.idle and not self._suspects and self._alone is None

    def _take(self, coming: Iterator[MatchSpec], checked: bool) -> None:
        """Take more matches, and withhold those that have not started while the run is on hold."""
        if self._held:
            self._withheld += self._take_back()
            return
        for spec in self._withheld:
            self._queue(spec, checked=True)
        self._withheld.clear()
        if not self._recalled and not self._stop:
            for spec in itertools.islice(coming, max(self._ahead - self._arena.queued, 0)):
                self._queue(spec, checked)

    def _queue(self, spec: MatchSpec, checked: bool = False) -> None:
        """Queue a match in the arena, or to be played alone if it is timed or a player has failed before."""
        if not checked:
            self._arena.check(spec)
        if self._failures.is_timed(spec) or (self._failures.any_failed and self._failures.has_failed_player(spec)):
            self._suspects.append(spec)
        else:
            self._arena.queue(spec)

    def _advance(self) -> list[ResultBatch]:
        """Play for a short time, and return the new results."""
        if self._alone is not None:
            return self._advance_alone(*self._alone)
        self._arena.advance(SLICE)
        ready = self._arena.take_batches()
        self._suspects += self._arena.take_suspects()
        if self._suspects and not self._held:
            ready += self._play_alone(self._suspects.popleft())
        return ready

    def _play_alone(self, spec: MatchSpec) -> list[ResultBatch]:
        """Begin a match in an arena of its own, unless a player is quarantined."""
        quarantined = self._failures.quarantine_result(spec)
        if quarantined is not None:
            return [ResultBatch.of([spec], [quarantined])]
        self._alone = spec, Arena(lanes=1, alone=True, record=self._record)
        self._alone[1].add(spec)
        return []

    def _advance_alone(self, spec: MatchSpec, arena: Arena) -> list[ResultBatch]:
        arena.advance(SLICE)
        if not arena.idle:
            return []
        [batch] = arena.take_batches()
        self._end_alone()
        if self._failures.record(spec, batch[0]):
            self._requeue_unrelated()
        return [batch]

    def _end_alone(self) -> list[MatchSpec]:
        """Close the arena of the match that is played alone; returns that match."""
        if self._alone is None:
            return []
        spec, arena = self._alone
        self._alone = None
        arena.close()
        return [spec]

    def _requeue_unrelated(self) -> None:
        """A failing agent has been found: suspects without it share the arena again, once; its matches play alone."""
        suspects, waiting = list(self._suspects), self._arena.recall()
        self._suspects.clear()
        for spec in suspects:
            if spec.id in self._retried:
                self._suspects.append(spec)
            else:
                self._retried.add(spec.id)
                self._queue(spec)
        for spec in waiting:
            self._queue(spec)

    def _take_back(self) -> list[MatchSpec]:
        """Remove and return the matches that have not started."""
        back = [*self._arena.recall(), *self._suspects]
        self._suspects.clear()
        return back

    def _cancel(self) -> list[ResultBatch]:
        """The results of matches that the stop cancels."""
        left = [*self._take_back(), *self._withheld]
        self._withheld.clear()
        ready = self._arena.take_batches()
        if self._stop is Stop.NOW:
            left += [*self._end_alone(), *self._arena.drop()]
        reason = "the run was stopped"
        return [
            *ready,
            *batches_of([(spec, unplayed_result(spec, EndingKind.CANCELLED, reason)) for spec in left]),
        ]

    # From any thread

    def recall(self) -> list[MatchSpec]:
        with self._gate, self._turn:
            self._recalled = True
            back = [*self._take_back(), *self._withheld]
            self._withheld.clear()
            return back

    def hold(self, yes: bool) -> None:
        self._held = yes

    def stop(self, now: bool = False) -> None:
        if self._open:
            self._stop = max(self._stop, Stop.NOW if now else Stop.AFTER_RUNNING)
            self._trace.add(-1, "stop now" if now else "stop")

    @property
    def waiting(self) -> int:
        return self._run.waiting

    @property
    def workers(self) -> int:
        """Always 1: more than `most_workers` cannot be used."""
        return 1

    @workers.setter
    def workers(self, count: int) -> None:
        check_number("workers", count, 1, MOST_WORKERS)

    def _note(self, ready: list[ResultBatch]) -> None:
        """Publish the state of the run for other threads."""
        run = self._run
        new = sum(map(len, ready))
        failures = sum(
            bool(ending.seats) and ending.kind.failure for batch in ready for ending in batch.detailed_endings.values()
        )
        self._total += new
        self._run = RunView(
            run.total,
            run.done + new,
            run.failures + failures,
            self._arena.running + (self._alone is not None),
            self._arena.queued + len(self._suspects) + len(self._withheld),
            len(self._suspects),
            tuple(sorted(self._failures.quarantined)),
        )

    def view(self) -> tuple[list[WorkerView], RunView]:
        run = self._run
        state = "playing" if self._open else "idle"
        playing = f"{run.playing} matches" if run.playing else ""
        here = WorkerView(0, os.getpid(), state, playing, self._total, 0)
        return [here, *self.live_workers()], run

    def events(self, since: int = 0) -> tuple[int, list[Event]]:
        return self._trace.count, self._trace.since(since)

    def close(self) -> None:
        with self._gate, self._turn:
            self._closed = True
            self._end_alone()
            self._arena.close()
        self.close_live()
