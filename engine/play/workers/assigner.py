"""Decides how many workers run and which matches of a run each of them gets."""

from __future__ import annotations

import time

from engine.play.workers.entry import WorkerSettings
from engine.play.workers.handle import IsolatedBatch, Job, WorkerHandle
from engine.play.workers.pool import WorkerPool
from engine.play.workers.run import Run
from engine.processes.bootstrap import cores
from engine.telemetry import Trace

BACKLOG = 100_000  # undelivered results beyond which no more matches are started
LARGE_MESSAGE = 64  # matches in a message to a worker that lacks many: each message costs some 50 us
CORES = cores()


class JobAssigner:
    """Starts workers, sends them matches, and retires workers that are too many."""

    def __init__(self, max_workers: int, settings: WorkerSettings, pool: WorkerPool, trace: Trace) -> None:
        self.max_workers = max_workers
        self.one_by_one = False  # one match at a time, in the order of the plan
        self.holding = False  # start no more matches for now
        self.start_after = 0.0  # time before which no worker is started
        self._settings, self._pool, self._trace = settings, pool, trace

    def assign(self, run: Run) -> None:
        """Start the workers that this run needs, and send them matches."""
        self.trim()
        if self.holding:
            return
        self._start_workers(run)
        self._assign_isolated(run)
        if run.undelivered < BACKLOG:
            self._assign_shared(run)

    def trim(self) -> None:
        """Retire the workers beyond `max_workers`."""
        for worker in self._pool.players:
            if worker.slot >= self.max_workers and not worker.retiring:
                worker.retiring = True
                if worker.idle:
                    self._pool.retire(worker)
                elif worker.isolated is None:
                    self._pool.send(worker, worker.recall)

    def rebalance(self, run: Run) -> None:
        """If a worker is idle or could be started, recall matches that the fullest worker has not started."""
        players = [worker for worker in self._pool.players if worker.accepts_shared()]
        spare = len(players) < self.max_workers or any(worker.idle for worker in players)
        if spare and players and not (run.queue or run.isolated or self.one_by_one or self.holding):
            fullest = max(players, key=lambda worker: len(worker.held))
            if fullest.ready and len(fullest.held) > 1:
                self._pool.send(fullest, fullest.recall)

    def _start_workers(self, run: Run) -> None:
        """Start as many workers as are allowed, but not more than there is work for."""
        limit = 1 if self.one_by_one else min(self.max_workers, CORES) if run.timed else self.max_workers
        players = self._pool.players
        idle = sum(worker.idle for worker in players)
        needed = -(-len(run.queue) // self._settings.batch) + len(run.isolated) - idle
        room = limit - len(players)
        if needed > 0 and room > 0 and time.monotonic() >= self.start_after:
            free = [slot for slot in range(self.max_workers) if slot not in self._pool.workers]
            for slot in free[: min(needed, room)]:
                self._pool.start(slot)

    def _assign_isolated(self, run: Run) -> None:
        while (isolated := run.next_isolated()) is not None:
            busy = sum(not worker.idle for worker in self._pool.players)
            if busy >= (1 if self.one_by_one else CORES if run.timed else busy + 1):
                return
            free = [worker for worker in self._pool.players if worker.idle and not worker.retiring]
            worker = next((worker for worker in free if worker.fresh or not isolated.fresh), None)
            if worker is None and free:
                self._pool.retire(free[0])  # replaced by a process that has not played yet
                worker = self._pool.start(free[0].slot)
            if worker is None:
                self._drain()
                return
            run.take_isolated()
            self._send_jobs(run, worker, isolated.jobs, isolated)

    def _drain(self) -> None:
        """All workers are busy and isolated matches wait: stop filling the worker that holds the fewest matches."""
        shared = [worker for worker in self._pool.players if worker.isolated is None]
        if shared and not any(worker.draining for worker in shared):
            least = min(shared, key=lambda worker: len(worker.held))
            least.draining = True
            self._pool.send(least, least.recall)

    def _assign_shared(self, run: Run) -> None:
        while run.queue:
            players = self._pool.players
            open_workers = [worker for worker in players if worker.accepts_shared() and worker.lacks > 0]
            most = self._settings.batch
            if self.one_by_one:
                if any(worker.held for worker in players):
                    return
                open_workers, most = open_workers[:1], 1
            if not open_workers:
                return
            worker = min(open_workers, key=lambda worker: len(worker.held))
            if not self.one_by_one:
                most = max(most, min(worker.lacks // 2, LARGE_MESSAGE))
            jobs = run.next_shared(most)
            if jobs:
                self._send_jobs(run, worker, jobs)
            elif run.isolated:
                return

    def _send_jobs(
        self, run: Run, worker: WorkerHandle, jobs: list[Job], isolated: IsolatedBatch | None = None
    ) -> None:
        self._trace.add(worker.slot, "alone" if isolated else "play", str(len(jobs)))
        self._pool.send(worker, lambda: worker.play(jobs, run.wire_ids, isolated))
