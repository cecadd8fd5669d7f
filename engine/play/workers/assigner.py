"""Decides how many workers run and which matches of a run each of them gets."""

from __future__ import annotations

import time

from engine.play.workers.entry import WorkerSettings
from engine.play.workers.handle import IsolatedBatch, Job, WorkerHandle
from engine.play.workers.job_queue import Libraries
from engine.play.workers.pool import WorkerPool
from engine.play.workers.run import Run
from engine.processes.bootstrap import cores
from engine.telemetry import Trace

BACKLOG = 100_000  # undelivered results beyond which no more matches are started
LARGE_MESSAGE = 512  # matches in a message to a worker that lacks many: each message costs some 50 us
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
        if not players or run.queue or run.isolated or self.one_by_one or self.holding:
            return
        fullest = max(players, key=lambda worker: len(worker.held))
        spare = len(players) < self.max_workers or any(worker.idle for worker in players)
        if spare and fullest.ready and len(fullest.held) > 1:
            self._pool.send(fullest, fullest.recall)

    def _start_workers(self, run: Run) -> None:
        """Start as many workers as are allowed, but not more than there is work for."""
        needs = self._needs(run)
        wanted = [libraries for libraries, count in needs.items() if count > 0]
        if not wanted or time.monotonic() < self.start_after:
            return
        limit = 1 if self.one_by_one else min(self.max_workers, CORES) if run.timed else self.max_workers
        room = limit - len(self._pool.players)
        free = [slot for slot in range(self.max_workers) if slot not in self._pool.workers]
        for slot in free[: max(room, 0)]:
            if not wanted:
                return
            libraries = wanted.pop(0)
            self._pool.start(slot, libraries)
            needs[libraries] -= 1
            wanted += [libraries] if needs[libraries] > 0 else []  # in turn: every kind of match gets a worker
        self._replace_idle(wanted, needs)

    def _needs(self, run: Run) -> dict[Libraries, int]:
        """How many workers are missing, by the libraries of the matches that wait."""
        counts = run.queue.counts()
        if self.one_by_one:
            counts = dict(list(counts.items())[:1])
        needs = {libraries: -(-count // self._settings.batch) for libraries, count in counts.items()}
        for batch in run.isolated:
            needs[batch.libraries] = needs.get(batch.libraries, 0) + 1
        for worker in self._pool.players if needs else ():
            if worker.idle and worker.libraries in needs:
                needs[worker.libraries] -= 1
        return needs

    def _replace_idle(self, wanted: list[Libraries], needs: dict[Libraries, int]) -> None:
        """There is no room for more workers: replace idle ones whose libraries no waiting match needs."""
        for libraries in dict.fromkeys(wanted):
            idle = [worker for worker in self._pool.players if worker.idle and not worker.retiring]
            useless = next((worker for worker in idle if worker.libraries not in needs), None)
            if useless is not None:
                self._pool.retire(useless)
                self._pool.start(useless.slot, libraries)

    def _assign_isolated(self, run: Run) -> None:
        while (isolated := run.next_isolated()) is not None:
            busy = sum(not worker.idle for worker in self._pool.players)
            if busy >= (1 if self.one_by_one else CORES if run.timed else busy + 1):
                return
            free = [worker for worker in self._pool.players if worker.idle and not worker.retiring]
            alike = [worker for worker in free if worker.libraries == isolated.libraries]
            worker = next((worker for worker in alike if worker.fresh or not isolated.fresh), None)
            if worker is None and free:
                self._pool.retire(free[0])  # replaced by a process that has not played yet
                worker = self._pool.start(free[0].slot, isolated.libraries)
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
        while counts := run.queue.counts():
            players = self._pool.players
            open_workers = [
                worker
                for worker in players
                if worker.accepts_shared() and worker.lacks > 0 and worker.libraries in counts
            ]
            most = self._settings.batch
            if self.one_by_one:
                if any(worker.held for worker in players):
                    return
                first = next(iter(counts))
                open_workers, most = [worker for worker in open_workers if worker.libraries == first][:1], 1
            if not open_workers:
                return
            worker = min(open_workers, key=lambda worker: len(worker.held))
            if not self.one_by_one:  # all that it lacks, unless the rest of the queue is shared with others
                sharing = sum(other.libraries == worker.libraries for other in open_workers)
                share = -(-counts[worker.libraries] // sharing)
                most = max(most, min(worker.lacks, share, LARGE_MESSAGE))
            jobs = run.next_shared(most, worker.libraries)
            if jobs:
                self._send_jobs(run, worker, jobs)
            elif run.isolated:
                return

    def _send_jobs(
        self, run: Run, worker: WorkerHandle, jobs: list[Job], isolated: IsolatedBatch | None = None
    ) -> None:
        alone = isolated is not None and isolated.alone
        self._trace.add(worker.slot, "alone" if alone else "play", str(len(jobs)))
        self._pool.send(worker, lambda: worker.play(jobs, run.wire_ids, isolated))
