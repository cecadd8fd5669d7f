"""The state of a dispatcher: its run, its workers and its live matches, and what happens when a worker dies.

Nothing here knows threads: the dispatcher calls it with its lock held.
"""

from __future__ import annotations

import itertools
import selectors
import time
from collections import Counter
from typing import Any

from engine.errors import GameFailed, RingsideError, WorkersFailed
from engine.foreign_code import LONGEST_MESSAGE, clean_text
from engine.play.failures import InterruptedMatch, unplayed_result
from engine.play.heartbeat import PilotCall
from engine.play.live import LiveMatch
from engine.play.match import EndingKind, MatchResult
from engine.play.results import ResultBatch
from engine.play.workers.assigner import JobAssigner
from engine.play.workers.entry import WorkerSettings
from engine.play.workers.handle import Job, WorkerHandle, WorkerLimits
from engine.play.workers.messages import ReceivedResults, WireIds
from engine.play.workers.pool import WorkerPool
from engine.play.workers.run import Run
from engine.processes.channel import Disconnected, ProtocolError
from engine.registry import libraries_of
from engine.telemetry import Trace

START_ATTEMPTS = 3  # workers in a row that may fail to start in one slot
RESTART_DELAY = 0.2  # seconds before the next attempt, times the number of failures
FULL_CHECK_EVERY = 0.5  # seconds between two checks whether each process is alive
EXIT_TIMEOUT = 0.5  # seconds that a worker may take to exit after it has closed its socket


class Scheduler:
    """Plays one run at a time, and any number of live matches beside it."""

    def __init__(
        self, max_workers: int, settings: WorkerSettings, limits: WorkerLimits, selector: selectors.BaseSelector
    ) -> None:
        self.trace = Trace()
        self.pool = WorkerPool(settings, selector, self.trace)
        self.assigner = JobAssigner(max_workers, settings, self.pool, self.trace)
        self.run: Run | None = None
        self.last_run: Run | None = None  # also after it has ended
        self.live_matches: dict[int, LiveMatch] = {}  # by slot
        self.recalled: list[Job] | None = None  # collects the matches that workers return during a recall
        self._limits = limits
        self._numbers = (number & 0xFFFFFFFF for number in itertools.count(1))
        self._failed_starts: Counter[int] = Counter()  # in a row, by slot
        self._next_full_check = 0.0

    @property
    def playing(self) -> bool:
        return any(worker.held for worker in self.pool.workers.values())

    # Runs

    def begin(self, total: int | None) -> Run:
        self.run = self.last_run = Run(self._numbers, self._limits.failures, total)
        self._failed_starts.clear()
        for worker in self.pool.players:
            self.pool.send(worker, worker.new_run)
        self.trace.add(-1, "run", "" if total is None else str(total))
        return self.run

    def end(self, run: Run) -> None:
        """Cancel what is left of it."""
        if self.run is run:
            run.take_waiting()
            self._cancel_all()
            self.run = None

    def stop(self, now: bool) -> None:
        """Cancel the matches that wait; running matches are finished, or cancelled too if `now`."""
        run = self.run
        if run is None:
            return
        run.stopping = True
        for job in run.take_waiting():
            run.cancel(job)
        if now:
            for worker in self.pool.players:
                for job in worker.held.values():
                    run.cancel(job)
            self._cancel_all()
        else:
            self._recall_all()
        self.trace.add(-1, "stop now" if now else "stop")

    def recall(self) -> None:
        """Collect in `recalled` the matches that have not started; complete when no worker is `recalling`."""
        if self.run is not None:
            self.recalled = self.run.take_waiting()
            self._recall_all()

    def hold(self, yes: bool) -> None:
        """Start no more matches, and recall those that workers have not started; or continue."""
        self.assigner.holding = yes
        if yes:
            self._recall_all()

    def _recall_all(self) -> None:
        for worker in self.pool.players:
            if worker.isolated is None:
                self.pool.send(worker, worker.recall)

    def _cancel_all(self) -> None:
        for worker in self.pool.players:
            if worker.held:
                self.pool.cancel(worker)

    def _fail(self, error: RingsideError) -> None:
        run = self.run
        if run is not None and run.error is None:
            run.error = error
            self.trace.add(-1, "failed", str(error))
            run.take_waiting()
            self._cancel_all()

    # Live matches

    def watch_live(self, live: LiveMatch, skip: int) -> None:
        slot = self.pool.free_live_slot()
        self.live_matches[slot] = live
        libraries = libraries_of(player.kind for player in live.spec.players)
        self._start_live(slot, live, Job(next(self._numbers), live.spec, skip=skip, libraries=libraries))

    def _start_live(self, slot: int, live: LiveMatch, job: Job) -> None:
        worker = self.pool.start(slot, job.libraries, job.starts)
        self.pool.send(worker, lambda: worker.play_live(job, WireIds(), live.current_pace, live.paused))

    def _play_live_again(self, worker: WorkerHandle, live: LiveMatch) -> bool:
        """Play a live match again from its start; False if it was started three times already.

        What was played before is played at full speed. A match with a person begins again, paused: at full speed, that
        person would lose points before they see anything.
        """
        [job] = worker.held.values()
        if job.starts >= 2:
            return False
        job.starts += 1
        if live.has_people:
            live.begin_again()
            job.skip = 0
        else:
            job.skip = max(job.skip, min(worker.steps_played, live.play_again()))
        self._start_live(worker.slot, live, job)
        return True

    def send_live(self, live: LiveMatch, fields: list[object]) -> None:
        worker = next((self.pool.workers.get(slot) for slot, match in self.live_matches.items() if match is live), None)
        if worker is not None:
            self.pool.send(worker, lambda: worker.channel.put(fields))

    def end_live(self, live: LiveMatch, kind: EndingKind, reason: str) -> None:
        for slot in [slot for slot, match in self.live_matches.items() if match is live]:
            del self.live_matches[slot]
            live.end(unplayed_result(live.spec, kind, reason))
            if slot in self.pool.workers:
                self.pool.cancel(self.pool.workers[slot])

    def close(self) -> None:
        for worker in self.pool.all_workers():
            self.pool.release(worker)
        for live in list(self.live_matches.values()):
            self.end_live(live, EndingKind.CANCELLED, "the executor was closed")

    # Messages from workers

    def handle_io(self, worker: WorkerHandle, mask: int, printed: bool) -> None:
        """Handle a socket of a worker that can be read or written; `printed`: it is the one with its output."""
        if printed:
            if not worker.child.read_output():
                self.pool.unregister(worker.child.output.socket)
            return
        try:
            if mask & selectors.EVENT_WRITE:
                worker.channel.flush()
            if mask & selectors.EVENT_READ:
                for fields, body in worker.channel.get():
                    self._on_message(worker, fields, body)
                if worker.channel.error is not None:
                    raise worker.channel.error
            self.pool.update_interest(worker)
        except ProtocolError as error:
            if isinstance(error, Disconnected):
                worker.child.join(EXIT_TIMEOUT)
            if not worker.has_ended:
                worker.kill(EndingKind.CRASH, f"its process {error}")
            self._on_death(worker)

    def _on_message(self, worker: WorkerHandle, fields: list[Any], body: bytes) -> None:
        match fields:
            case ["results", *rest]:
                self._on_results(worker, ReceivedResults(rest, body))
            case ["capacity", int(count)]:
                worker.capacity = count
            case ["suspects", [*numbers]]:
                divided = worker.isolated is not None
                jobs = self._pop_jobs(worker, numbers)
                if self.run is not None:
                    self.run.add_suspects(jobs, divided)
                self.trace.add(worker.slot, "suspects", str(len(jobs)))
            case ["recalled", [*numbers]]:
                worker.recalling = False
                self._return_jobs(self._pop_jobs(worker, numbers))
            case ["moves", [*actions]]:
                if worker.slot in self.live_matches:
                    self.live_matches[worker.slot].add(actions)
            case ["failed", str(told), bool(rules)]:
                text = clean_text(told, LONGEST_MESSAGE)
                if worker.slot in self.live_matches:
                    self.end_live(self.live_matches[worker.slot], EndingKind.VOID, text)
                elif worker.slot >= 0:
                    self._fail(GameFailed.from_text(text) if rules else RingsideError(text))
            case ["ready", int(pid)]:
                worker.ready = True
                self._failed_starts.clear()
                self.trace.add(worker.slot, "ready", str(pid))
            case _:
                raise ProtocolError("sent an invalid message")

    def _on_results(self, worker: WorkerHandle, received: ReceivedResults) -> None:
        held, numbers = worker.held, received.numbers
        if {len(held[number].spec.players) for number in numbers if number in held} - {received.seats}:
            raise ProtocolError("sent invalid results")
        jobs = [held.pop(number, None) for number in numbers]  # None: cancelled in the meantime
        known = [job for job in jobs if job is not None]
        worker.done += len(known)
        batch = received.batch([None if job is None else job.spec for job in jobs], worker.slot)
        self._finish_batch(worker, known, batch)
        self.trace.add(worker.slot, "results", str(len(jobs)))
        if worker.idle:
            self._on_idle(worker)

    def _pop_jobs(self, worker: WorkerHandle, numbers: list[Any]) -> list[Job]:
        if not all(isinstance(number, int) for number in numbers):
            raise ProtocolError("sent an invalid message")
        jobs = [worker.held.pop(number) for number in numbers if number in worker.held]
        if worker.idle:
            self._on_idle(worker)
        return jobs

    def _return_jobs(self, jobs: list[Job]) -> None:
        run = self.run
        if run is None:
            return
        if self.recalled is not None:
            self.recalled += jobs
        else:
            run.requeue(jobs)

    def _finish_batch(self, worker: WorkerHandle, jobs: list[Job], batch: ResultBatch) -> None:
        if worker.slot < 0 or (worker.isolated is not None and worker.isolated.alone):
            for job, result in zip(jobs, batch, strict=True):
                self._finish(worker, job, result)
        elif self.run is not None and jobs:
            self.run.finish_batch(batch)

    def _finish(self, worker: WorkerHandle, job: Job, result: MatchResult | InterruptedMatch) -> None:
        """Store the result of a match that was played alone or live."""
        if worker.slot < 0:
            live = self.live_matches.pop(worker.slot, None)
            if live is not None:
                live.end(result.to_result() if isinstance(result, InterruptedMatch) else result)
        elif self.run is not None:
            self.run.finish_isolated(job, result)

    def _on_idle(self, worker: WorkerHandle) -> None:
        """The worker holds no more matches."""
        worker.isolated, worker.draining = None, False
        if worker.retiring or worker.slot < 0:
            self.pool.retire(worker)
        elif self.run is not None:  # at once: a generation of a trainer is over before the next full check
            self.assigner.rebalance(self.run)

    def assign(self) -> None:
        """Send matches to workers that can take them."""
        run = self.run
        if run is None or run.error is not None:
            return
        if run.stopping:
            for job in run.take_waiting():
                run.cancel(job)
        self.assigner.assign(run)

    # Health of workers

    def check_health(self, now: float) -> None:
        """Kill workers that hang or take too much memory, and detect workers that have died."""
        self.pool.release_stopped(now)
        thorough = now >= self._next_full_check  # rarely needed: the closed socket shows that a worker has died
        self._next_full_check = now + FULL_CHECK_EVERY if thorough else self._next_full_check
        if thorough and self.run is not None:
            self.assigner.rebalance(self.run)
        for worker in list(self.pool.workers.values()):
            if (thorough or not worker.ready) and worker.has_ended:
                self.handle_io(worker, selectors.EVENT_READ, False)  # read its last messages first
                if self.pool.is_active(worker):
                    self._on_death(worker)
                continue
            if reason := worker.late_start(now, self._limits.start):
                worker.kill(EndingKind.CRASH, reason)
                self._on_death(worker)
                continue
            if (snapshot := worker.overdue(now, self._limits)) is not None:
                what = f"{snapshot.call.text} did not return within {snapshot.time_limit:.3g} s"
                worker.kill(EndingKind.TIMEOUT, what)
            if self._limits.memory is not None and (taken := worker.memory_excess(self._limits.memory)):
                worker.kill(EndingKind.MEMORY, taken)

    def _on_death(self, worker: WorkerHandle) -> None:
        if self.pool.is_active(worker):  # else it was stopping and held no matches
            kind, reason = worker.exit_reason()
            self.trace.add(worker.slot, "died", reason)
            if not worker.ready:
                self._on_failed_start(worker, reason)
            elif worker.held and worker.isolated is not None and worker.isolated.alone:
                self._died_alone(worker, kind, reason)
            elif worker.held and self.run is not None:
                self._died_shared(worker, kind, self.run)
        self.pool.release(worker)

    def _died_alone(self, worker: WorkerHandle, kind: EndingKind, reason: str) -> None:
        [job] = worker.held.values()
        result = worker.crash_result(job.spec, kind, reason)
        doubtful = result.ending.kind is EndingKind.VOID or worker.killed_externally
        live = self.live_matches.get(worker.slot)
        if doubtful and live is not None and self._play_live_again(worker, live):
            return
        if doubtful and live is None and self.run is not None and job.starts < 2:
            self.run.requeue_interrupted([job])  # played once more
            return
        if worker.heartbeat.read().call is PilotCall.IMPORT and result.ending.seats and self.run is not None:
            broken = job.spec.players[result.ending.seats[0]].kind
            self.run.failure_tracker.broken_kinds[broken] = result.ending.reason
        self._finish(worker, job, result)

    def _died_shared(self, worker: WorkerHandle, kind: EndingKind, run: Run) -> None:
        snapshot, held = worker.heartbeat.read(), list(worker.held.values())
        if kind is EndingKind.MEMORY or (snapshot.call is not PilotCall.NONE and snapshot.matches is None):
            inside = {job.number for job in held}
        else:
            inside = set(snapshot.matches or ()) if snapshot.call is not PilotCall.NONE else set()
        divided = worker.isolated is not None
        if worker.killed_externally and not divided:  # no match was the reason, unless it was interrupted before
            inside = {job.number for job in held if job.number in inside and job.starts}
        suspects = [job for job in held if job.number in inside]
        others = [job for job in held if job.number not in inside]
        if self.recalled is not None:
            self.recalled += others
        elif divided:
            run.add_suspects(others, divided)
        else:
            run.requeue_interrupted(others)
        run.add_suspects(suspects, divided)

    def _on_failed_start(self, worker: WorkerHandle, reason: str) -> None:
        self._failed_starts[worker.slot] += 1  # those of other slots may have been killed at once
        failed = self._failed_starts[worker.slot]
        self.assigner.start_after = time.monotonic() + RESTART_DELAY * failed
        if (live := self.live_matches.get(worker.slot)) is not None:
            if not self._play_live_again(worker, live):
                self.end_live(live, EndingKind.VOID, f"no worker process could be started: {reason}")
        elif failed >= START_ATTEMPTS:
            self._fail(WorkersFailed(failed, reason))
        elif self.run is not None:
            if worker.isolated is not None:
                self.run.isolated.appendleft(worker.isolated)
            else:
                self._return_jobs(list(worker.held.values()))
