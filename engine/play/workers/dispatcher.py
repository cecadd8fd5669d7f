"""The dispatcher: one thread that keeps workers busy, notices when one dies or hangs, and loses nothing.

It waits on all its sockets and for the next look at the clock, not on any worker: only for one that has just died or
been killed, and then for a moment. What a worker holds is always known, so what is lost with it is known too.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from engine.errors import RingsideError
from engine.play.workers.scheduler import Floor
from engine.play.live import LiveMatch
from engine.play.match import EndingKind, MatchSpec
from engine.processes.bootstrap import WorkerSettings
from engine.play.results import ResultBatch
from engine.play.workers.run import Run, in_batches
from engine.play.workers.handle import Watch
from engine.telemetry import Event, RunView, WorkerView

LOOK = 0.05  # seconds between two looks at marks, memory and the dead
NEWS = 0.01  # seconds between two times that whoever waits for results is woken: that costs more than the results


class Dispatcher:
    """A floor of workers and the thread that runs it. Everything public may be called from any thread."""

    def __init__(self, workers: int, settings: WorkerSettings, watch: Watch) -> None:
        self._lock = threading.RLock()
        self._news = threading.Condition(self._lock)
        self._recalling = threading.RLock()
        self._closed = False
        self._selector = selectors.DefaultSelector()
        self._floor = Floor(workers, settings, watch, self._selector)
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._loop, name="ringside-dispatcher", daemon=True)
        self._thread.start()

    def events(self, since: int) -> tuple[int, list[Event]]:
        """What happened after the first so many events, and how many there have been by now."""
        with self._lock:
            return self._floor.trace.count, self._floor.trace.since(since)

    def begin(self, total: int | None) -> Run:
        with self._lock:
            self._check_open()
            return self._floor.begin(total)

    def end(self, run: Run) -> None:
        """Break off what is left of it."""
        with self._lock:
            if not self._closed:
                self._floor.end(run)

    def submit(self, run: Run, specs: Sequence[MatchSpec]) -> None:
        with self._lock:
            run.add(specs)
        self._ring()

    def take(self, run: Run, timeout: float | None = None) -> tuple[Iterator[ResultBatch], bool]:
        """Results that have come, and whether they are the last; waits for some unless there is nothing to wait for."""
        with self._lock:
            self._news.wait_for(
                lambda: run.results or run.error or self._closed or run.over or self._spent(run), timeout
            )
            taken = run.take_results()
            if not taken and run.error is not None:
                raise run.error
            if not taken and self._closed and not run.over:
                raise RingsideError("the executor was closed in the middle of this run")
            over = run.over
        return in_batches(taken), over

    def stop(self, now: bool) -> None:
        """Finish what is being played, or break it off too; the rest is cancelled."""
        with self._lock:
            self._floor.stop(now)
            self._news.notify_all()
        self._ring()

    def recall(self) -> list[MatchSpec]:
        """Take back what is not being played."""
        with self._recalling, self._lock:  # one at a time
            floor, run = self._floor, self._floor.run
            if run is None:
                return []
            floor.recall()
            self._ring()
            # A worker that is in the middle of a long call keeps what it has, and plays it.
            self._news.wait_for(lambda: not any(worker.recalling for worker in floor.staff.players), 1.0)
            back, floor.recalled = floor.recalled or [], None
            return run.forget(back)

    def resize(self, workers: int) -> None:
        with self._lock:
            self._floor.wanted = workers
            self._floor.trim()
        self._ring()

    def one_by_one(self, yes: bool) -> None:
        with self._lock:
            self._floor.one_by_one = yes
        self._ring()

    def hold(self, yes: bool) -> None:
        """Keep back what is not being played, or let go of it."""
        with self._recalling, self._lock:
            floor = self._floor
            floor.hold(yes)
            self._ring()
            if yes:  # one that is in the middle of a long call is not waited for
                self._news.wait_for(lambda: not any(worker.recalling for worker in floor.staff.players), 1.0)

    def spent(self, run: Run) -> bool:
        """Whether nothing of a run is being played any more while the rest is held back."""
        with self._lock:
            return self._spent(run)

    def _spent(self, run: Run) -> bool:
        floor = self._floor
        return floor.holding and not run.results and not any(worker.held for worker in floor.staff.players)

    def watch_live(self, spec: MatchSpec, pace: float, skip: int) -> LiveMatch:
        """Play one match in a worker of its own, to be watched."""
        live = LiveMatch(spec, pace, self._tell_live, self._stop_live)
        with self._lock:
            self._check_open()
            self._floor.watch_live(live, pace, skip)
        self._ring()
        return live

    def waiting(self, run: Run) -> int:
        """Matches of a run that no worker has."""
        with self._lock:
            return run.waiting

    def view(self) -> tuple[list[WorkerView], RunView]:
        """The workers there are, and the run they work on, or last worked on."""
        with self._lock:
            floor, run = self._floor, self._floor.last
            workers = [worker.view() for worker in floor.staff.everybody()]
            if run is None:
                return workers, RunView()
            return workers, RunView(
                run.total,
                run.done,
                run.failures,
                playing=sum(len(worker.held) for worker in floor.staff.players),
                waiting=run.waiting,
                suspects=sum(len(one.jobs) for one in run.isolated),
                quarantined=tuple(sorted(run.conduct.quarantined)),
            )

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._news.notify_all()
        self._ring()
        self._thread.join(5.0)

    def _tell_live(self, live: LiveMatch, words: list[object]) -> None:
        with self._lock:
            self._floor.tell_live(live, words)

    def _stop_live(self, live: LiveMatch) -> None:
        with self._lock:
            if not self._closed:
                self._floor.end_live(live, EndingKind.CANCELLED, "nobody watched it to the end")

    def _check_open(self) -> None:
        if self._closed:
            raise RingsideError("this executor is closed")

    def _ring(self) -> None:
        with suppress(OSError):  # it rings already, or nobody is there any more
            self._bell.send(b"!")

    # The thread

    def _loop(self) -> None:
        try:
            self._serve()
        except Exception as error:  # a mistake of ours: it is reported, and whoever waits must not wait for ever
            with self._lock:
                if self._floor.run is not None:
                    self._floor.run.error = RingsideError(f"the dispatcher failed: {type(error).__name__}: {error}")
            raise
        finally:
            with self._lock:
                self._closed = True
                self._floor.close()
                for one in (self._selector, self._bell, self._ear):
                    one.close()
                self._news.notify_all()

    def _serve(self) -> None:
        look = told = pause = 0.0
        while not self._closed:
            events = self._selector.select(pause)
            with self._lock:
                for key, mask in events:
                    if key.data is None:
                        self._ear.recv(4096)
                    elif key.fileobj.fileno() >= 0:  # type: ignore[union-attr]  # it may have been buried just now
                        self._floor.attend(key.data[0], mask, key.data[1])
                now = time.monotonic()
                if now >= look:
                    self._floor.look(now)
                    look = now + LOOK
                self._floor.deal()
                if now - told > NEWS or not self._floor.playing:
                    self._news.notify_all()
                    told = now
                pause = self._pause()

    def _pause(self) -> float:
        """How long nothing needs to be looked at, unless something comes."""
        floor = self._floor
        if floor.run is not None:
            return NEWS if floor.run.results else LOOK
        return LOOK if floor.lives or floor.staff.leaving else 10 * LOOK
