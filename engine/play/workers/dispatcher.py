"""The dispatcher: one thread that sends matches to workers, receives results, and detects workers that die or hang.

The thread waits for all sockets at once and for the next check. It never waits for one worker, except briefly for one
that has just died. It knows the matches that each worker holds, so those of a worker that dies are played again.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from engine.errors import RingsideError
from engine.play.live import LiveMatch
from engine.play.match import EndingKind, MatchSpec
from engine.play.results import ResultBatch
from engine.play.workers.entry import WorkerSettings
from engine.play.workers.handle import WorkerLimits
from engine.play.workers.run import Run, in_batches
from engine.play.workers.scheduler import Scheduler
from engine.telemetry import Event, RunView, WorkerView

CHECK_EVERY = 0.05  # seconds between two checks of heartbeats, memory and processes
NOTIFY_EVERY = 0.01  # seconds between two notifications of new results: waking a thread costs more than a result


class Dispatcher:
    """A scheduler and the thread that runs it. All public methods are thread-safe."""

    def __init__(self, workers: int, settings: WorkerSettings, limits: WorkerLimits) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._recall_lock = threading.RLock()
        self._closed = False
        self._selector = selectors.DefaultSelector()
        self._scheduler = Scheduler(workers, settings, limits, self._selector)
        self._wakeup_send, self._wakeup_receive = socket.socketpair()
        self._wakeup_send.setblocking(False)
        self._wakeup_receive.setblocking(False)
        self._selector.register(self._wakeup_receive, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._loop, name="ringside-dispatcher", daemon=True)
        self._thread.start()

    def events(self, since: int) -> tuple[int, list[Event]]:
        """The number of events so far, and the events after the first `since`."""
        with self._lock:
            return self._scheduler.trace.count, self._scheduler.trace.since(since)

    def begin(self, total: int | None) -> Run:
        with self._lock:
            self._check_open()
            return self._scheduler.begin(total)

    def end(self, run: Run) -> None:
        """Cancel what is left of it."""
        with self._lock:
            if not self._closed:
                self._scheduler.end(run)

    def submit(self, run: Run, specs: Sequence[MatchSpec]) -> None:
        with self._lock:
            run.add(specs)
        self._wake()

    def take(self, run: Run, timeout: float | None = None) -> tuple[Iterator[ResultBatch], bool]:
        """New results, and whether the run is over; waits for results as long as more can come."""
        with self._lock:
            self._changed.wait_for(
                lambda: run.results or run.error or self._closed or run.over or self._is_drained(run), timeout
            )
            taken = run.take_results()
            if not taken and run.error is not None:
                raise run.error
            if not taken and self._closed and not run.over:
                raise RingsideError("the executor was closed during this run")
            over = run.over
        return in_batches(taken), over

    def stop(self, now: bool) -> None:
        """Cancel the matches that wait; running matches are finished, or cancelled too if `now`."""
        with self._lock:
            self._scheduler.stop(now)
            self._changed.notify_all()
        self._wake()

    def recall(self) -> list[MatchSpec]:
        """Remove and return the matches that have not started."""
        with self._recall_lock, self._lock:  # one recall at a time
            scheduler, run = self._scheduler, self._scheduler.run
            if run is None:
                return []
            scheduler.recall()
            self._wake()
            # A worker that is in a long call does not answer in time: it keeps its matches and plays them.
            self._changed.wait_for(lambda: not any(worker.recalling for worker in scheduler.pool.players), 1.0)
            back, scheduler.recalled = scheduler.recalled or [], None
            return run.withdraw(back)

    def resize(self, workers: int) -> None:
        with self._lock:
            self._scheduler.assigner.max_workers = workers
            self._scheduler.assigner.trim()
        self._wake()

    def one_by_one(self, yes: bool) -> None:
        with self._lock:
            self._scheduler.assigner.one_by_one = yes
        self._wake()

    def hold(self, yes: bool) -> None:
        """Start no more matches, or continue."""
        with self._recall_lock, self._lock:
            scheduler = self._scheduler
            scheduler.hold(yes)
            self._wake()
            if yes:  # a worker in a long call does not answer in time
                self._changed.wait_for(lambda: not any(worker.recalling for worker in scheduler.pool.players), 1.0)

    def drained(self, run: Run) -> bool:
        """Whether no match of a run is being played while the rest is on hold."""
        with self._lock:
            return self._is_drained(run)

    def _is_drained(self, run: Run) -> bool:
        scheduler = self._scheduler
        return (
            scheduler.assigner.holding and not run.results and not any(worker.held for worker in scheduler.pool.players)
        )

    def watch_live(self, spec: MatchSpec, pace: float, skip: int) -> LiveMatch:
        """Play one live match in a worker of its own."""
        live = LiveMatch(spec, pace, self._send_live, self._stop_live)
        with self._lock:
            self._check_open()
            self._scheduler.watch_live(live, skip)
        self._wake()
        return live

    def waiting(self, run: Run) -> int:
        """Matches of a run that no worker holds."""
        with self._lock:
            return run.waiting

    def view(self) -> tuple[list[WorkerView], RunView]:
        """All workers, and the current run or the last one."""
        with self._lock:
            scheduler, run = self._scheduler, self._scheduler.last_run
            workers = [worker.view() for worker in scheduler.pool.all_workers()]
            if run is None:
                return workers, RunView()
            return workers, RunView(
                run.total,
                run.done,
                run.failures,
                playing=sum(len(worker.held) for worker in scheduler.pool.players),
                waiting=run.waiting,
                suspects=sum(len(batch.jobs) for batch in run.isolated),
                quarantined=tuple(sorted(run.failure_tracker.quarantined)),
            )

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._changed.notify_all()
        self._wake()
        self._thread.join(5.0)

    def _send_live(self, live: LiveMatch, fields: list[object]) -> None:
        with self._lock:
            self._scheduler.send_live(live, fields)

    def _stop_live(self, live: LiveMatch) -> None:
        with self._lock:
            if not self._closed:
                self._scheduler.end_live(live, EndingKind.CANCELLED, "closed before its end")

    def _check_open(self) -> None:
        if self._closed:
            raise RingsideError("this executor is closed")

    def _wake(self) -> None:
        with suppress(OSError):  # a wake-up is already pending, or the thread has ended
            self._wakeup_send.send(b"!")

    # The thread

    def _loop(self) -> None:
        try:
            self._serve()
        except Exception as error:  # an error in this program: threads that wait for results must not wait forever
            with self._lock:
                if self._scheduler.run is not None:
                    self._scheduler.run.error = RingsideError(f"the dispatcher failed: {type(error).__name__}: {error}")
            raise
        finally:
            with self._lock:
                self._closed = True
                self._scheduler.close()
                for resource in (self._selector, self._wakeup_send, self._wakeup_receive):
                    resource.close()
                self._changed.notify_all()

    def _serve(self) -> None:
        next_check = notified = pause = 0.0
        while not self._closed:
            events = self._selector.select(pause)
            with self._lock:
                for key, mask in events:
                    if key.data is None:
                        self._wakeup_receive.recv(4096)
                    elif key.fileobj.fileno() >= 0:  # type: ignore[union-attr]  # released while handling this batch of events
                        self._scheduler.handle_io(key.data[0], mask, key.data[1])
                now = time.monotonic()
                if now >= next_check:
                    self._scheduler.check_health(now)
                    next_check = now + CHECK_EVERY
                self._scheduler.assign()
                if now - notified > NOTIFY_EVERY or not self._scheduler.playing:
                    self._changed.notify_all()
                    notified = now
                pause = self._pause()

    def _pause(self) -> float:
        """Seconds until the next check, unless a socket becomes ready."""
        scheduler = self._scheduler
        if scheduler.run is not None:
            return NOTIFY_EVERY if scheduler.run.results else CHECK_EVERY
        return CHECK_EVERY if scheduler.live_matches or scheduler.pool.stopping else 10 * CHECK_EVERY
