"""The floor: what each worker is given, what it has to say, and what becomes of its matches when it dies.

Nothing here knows of threads: the dispatcher calls it with its lock held.
"""

from __future__ import annotations

import itertools
import selectors
import time
from typing import Any

from engine.errors import GameFailed, RingsideError, WorkersFailed
from engine.play.failures import CutShort, unplayed
from engine.play.live import LiveMatch
from engine.play.heartbeat import Call
from engine.play.match import EndingKind, MatchResult
from engine.processes.bootstrap import WorkerSettings, cores
from engine.play.results import ResultBatch
from engine.play.workers.run import Run
from engine.play.workers.pool import Staff
from engine.processes.channel import Arrived, Broken, Gone
from engine.play.workers.handle import Directory, Isolated, Job, Watch, Worker
from engine.telemetry import Trace

STARTS = 3  # workers in a row that may fail to start
AGAIN = 0.2  # seconds before another try
COUNT = 0.5  # seconds between two counts of the living
LAST_GASP = 0.5  # seconds between the end of a worker's socket and its own
BACKLOG = 100_000  # results that wait to be taken, beyond which no more matches are begun
LARGE = 64  # matches in a message to a worker that is short of many more: each message costs some 50 us
CORES = cores()


class Floor:
    """One run at a time, and any number of live matches beside it."""

    def __init__(self, wanted: int, settings: WorkerSettings, watch: Watch, selector: selectors.BaseSelector) -> None:
        self.wanted = wanted
        self.one_by_one = False  # one match at a time, in the order of the plan
        self.holding = False  # nothing more is begun, for the time being
        self.trace = Trace()
        self.staff = Staff(settings, selector, self.trace)
        self.run: Run | None = None
        self.last: Run | None = None  # the same, and still when it has ended
        self.lives: dict[int, LiveMatch] = {}  # by slot
        self.recalled: list[Job] | None = None  # collects what workers give back, while somebody asks for it
        self._settings, self._watch = settings, watch
        self._numbers = (number & 0xFFFFFFFF for number in itertools.count(1))
        self._failed_starts, self._start_again, self._count_again = 0, 0.0, 0.0

    @property
    def playing(self) -> bool:
        return any(worker.held for worker in self.staff.workers.values())

    # Runs

    def begin(self, total: int | None) -> Run:
        self.run = self.last = Run(self._numbers, self._watch.failures, total)
        self._failed_starts = 0
        for worker in self.staff.players:
            self.staff.tell(worker, worker.new_run)
        self.trace.add(-1, "run", "" if total is None else str(total))
        return self.run

    def end(self, run: Run) -> None:
        """Break off what is left of it."""
        if self.run is run:
            run.take_waiting()
            self._break_off_all()
            self.run = None

    def stop(self, now: bool) -> None:
        """Finish what is being played, or break it off too; the rest is cancelled."""
        run = self.run
        if run is None:
            return
        run.stopping = True
        for job in run.take_waiting():
            run.cancel(job)
        if now:
            for worker in self.staff.players:
                for job in worker.held.values():
                    run.cancel(job)
            self._break_off_all()
        else:
            self._recall_all()
        self.trace.add(-1, "stop now" if now else "stop")

    def recall(self) -> None:
        """Collect in `recalled` what is not being played; complete when no worker is `recalling`."""
        if self.run is not None:
            self.recalled = self.run.take_waiting()
            self._recall_all()

    def hold(self, yes: bool) -> None:
        """Begin nothing more, and have workers give back what they have not begun; or go on."""
        self.holding = yes
        if yes:
            self._recall_all()

    def _recall_all(self) -> None:
        for worker in self.staff.players:
            if worker.isolated is None:
                self.staff.tell(worker, worker.recall)

    def _break_off_all(self) -> None:
        for worker in self.staff.players:
            if worker.held:
                self.staff.break_off(worker)

    def _fail(self, error: RingsideError) -> None:
        run = self.run
        if run is not None and run.error is None:
            run.error = error
            self.trace.add(-1, "failed", str(error))
            run.take_waiting()
            self._break_off_all()

    # Live matches

    def watch_live(self, live: LiveMatch, pace: float, skip: int) -> None:
        slot = self.staff.free_live_slot()
        self.lives[slot] = live
        worker = self.staff.start(slot)
        job = Job(next(self._numbers), live.spec)
        self.staff.tell(worker, lambda: worker.play_live(job, Directory(), pace, skip))

    def tell_live(self, live: LiveMatch, words: list[object]) -> None:
        worker = next((self.staff.workers.get(slot) for slot, one in self.lives.items() if one is live), None)
        if worker is not None:
            self.staff.tell(worker, lambda: worker.channel.put(words))

    def end_live(self, live: LiveMatch, kind: EndingKind, reason: str) -> None:
        for slot in [slot for slot, one in self.lives.items() if one is live]:
            del self.lives[slot]
            live.end(unplayed(live.spec, kind, reason))
            if slot in self.staff.workers:
                self.staff.break_off(self.staff.workers[slot])

    def close(self) -> None:
        for worker in self.staff.everybody():
            self.staff.bury(worker)
        for live in list(self.lives.values()):
            self.end_live(live, EndingKind.CANCELLED, "the executor was closed")

    # What workers say

    def attend(self, worker: Worker, mask: int, printed: bool) -> None:
        """Something has come from a worker, or can be sent to it."""
        if printed:
            if not worker.read_output():
                self.staff.deaf_to(worker.output)
            return
        try:
            if mask & selectors.EVENT_WRITE:
                worker.channel.flush()
            if mask & selectors.EVENT_READ:
                for words, body in worker.channel.get():
                    self._hear(worker, words, body)
                if worker.channel.nonsense is not None:
                    raise worker.channel.nonsense
            self.staff.mind(worker)
        except Broken as error:
            if isinstance(error, Gone) and worker.process is not None:
                worker.process.join(LAST_GASP)
            if not worker.gone:
                worker.kill(EndingKind.CRASH, f"its process {error}")
            self._died(worker)

    def _hear(self, worker: Worker, words: list[Any], body: bytes) -> None:
        match words:
            case ["results", *rest]:
                self._hear_results(worker, Arrived(rest, body))
            case ["want", int(count)]:
                worker.want = count
            case ["suspects", [*numbers]]:
                jobs = self._let_go(worker, numbers)
                if self.run is not None:
                    self.run.suspect(jobs)
                self.trace.add(worker.slot, "suspects", str(len(jobs)))
            case ["recalled", [*numbers]]:
                worker.recalling = False
                self._come_back(self._let_go(worker, numbers))
            case ["moves", [*actions]]:
                if worker.slot in self.lives:
                    self.lives[worker.slot].add(actions)
            case ["failed", str(text), bool(rules)]:
                if worker.slot in self.lives:
                    self.end_live(self.lives[worker.slot], EndingKind.VOID, text)
                elif worker.slot >= 0:
                    self._fail(GameFailed.retold(text) if rules else RingsideError(text))
            case ["ready", int(pid)]:
                worker.ready, self._failed_starts = True, 0
                self.trace.add(worker.slot, "ready", str(pid))
            case _:
                raise Broken("sent what is no message")

    def _hear_results(self, worker: Worker, arrived: Arrived) -> None:
        held, numbers = worker.held, arrived.numbers
        if {len(held[number].spec.players) for number in numbers if number in held} - {arrived.seats}:
            raise Broken("sent results that are none")
        jobs = [held.pop(number, None) for number in numbers]  # None: it was broken off in the meantime
        known = [job for job in jobs if job is not None]
        worker.done += len(known)
        batch = arrived.batch([None if job is None else job.spec for job in jobs], worker.slot)
        self._finish_batch(worker, known, batch)
        self.trace.add(worker.slot, "results", str(len(jobs)))
        if worker.idle:
            self._rest(worker)

    def _let_go(self, worker: Worker, numbers: list[Any]) -> list[Job]:
        if not all(isinstance(number, int) for number in numbers):
            raise Broken("sent what is no message")
        jobs = [worker.held.pop(number) for number in numbers if number in worker.held]
        if worker.idle:
            self._rest(worker)
        return jobs

    def _come_back(self, jobs: list[Job]) -> None:
        run = self.run
        if run is None:
            return
        if self.recalled is not None:
            self.recalled += jobs
        else:
            run.put_back(jobs)

    def _finish_batch(self, worker: Worker, jobs: list[Job], batch: ResultBatch) -> None:
        if worker.slot < 0 or (worker.isolated is not None and worker.isolated.alone):
            for job, result in zip(jobs, batch, strict=True):
                self._finish(worker, job, result)
        elif self.run is not None and jobs:
            self.run.finish_batch(batch)

    def _finish(self, worker: Worker, job: Job, result: MatchResult | CutShort) -> None:
        """The result of a match that was played alone, or watched."""
        if worker.slot < 0:
            live = self.lives.pop(worker.slot, None)
            if live is not None:
                live.end(result.record() if isinstance(result, CutShort) else result)
        elif self.run is not None:
            self.run.judge(job, result)

    def _rest(self, worker: Worker) -> None:
        """It has nothing left."""
        worker.isolated, worker.draining = None, False
        if worker.retiring or worker.slot < 0:
            self.staff.dismiss(worker)

    # Dealing

    def deal(self) -> None:
        run = self.run
        if run is None or run.error is not None:
            return
        if run.stopping:
            for job in run.take_waiting():
                run.cancel(job)
        self.trim()
        if self.holding:
            return
        self._hire(run)
        self._deal_isolated(run)
        if run.untaken < BACKLOG:
            self._deal_company(run)

    def trim(self) -> None:
        """Let those go that are more than wanted."""
        for worker in self.staff.players:
            if worker.slot >= self.wanted and not worker.retiring:
                worker.retiring = True
                if worker.idle:
                    self.staff.dismiss(worker)
                elif worker.isolated is None:
                    self.staff.tell(worker, worker.recall)

    def _hire(self, run: Run) -> None:
        """As many workers as are wanted, and not more than there is work for."""
        wanted = 1 if self.one_by_one else min(self.wanted, CORES) if run.clocked else self.wanted
        players = self.staff.players
        needed = -(-len(run.queue) // self._settings.batch) + len(run.isolated) - sum(one.idle for one in players)
        room = wanted - len(players)
        if needed > 0 and room > 0 and time.monotonic() >= self._start_again:
            for slot in [slot for slot in range(self.wanted) if slot not in self.staff.workers][: min(needed, room)]:
                self.staff.start(slot)

    def _deal_isolated(self, run: Run) -> None:
        while (isolated := run.next_isolated()) is not None:
            busy = sum(not worker.idle for worker in self.staff.players)
            if busy >= (1 if self.one_by_one else CORES if run.clocked else busy + 1):
                return
            free = [worker for worker in self.staff.players if worker.idle and not worker.retiring]
            worker = next((one for one in free if one.fresh or not isolated.fresh), None)
            if worker is None and free:
                self.staff.dismiss(free[0])  # what has played is not fresh any more
                worker = self.staff.start(free[0].slot)
            if worker is None:
                self._drain()
                return
            run.take_isolated()
            self._give(worker, isolated.jobs, run.directory, isolated)

    def _drain(self) -> None:
        """All are busy and somebody must play apart: have the one with the least to do come to an end."""
        company = [worker for worker in self.staff.players if worker.isolated is None]
        if company and not any(worker.draining for worker in company):
            least = min(company, key=lambda worker: len(worker.held))
            least.draining = True
            self.staff.tell(least, least.recall)

    def _deal_company(self, run: Run) -> None:
        while run.queue:
            players = self.staff.players
            takers = [one for one in players if one.open_to_company() and len(one.held) < one.want]
            most = self._settings.batch
            if self.one_by_one:
                if any(worker.held for worker in players):
                    return
                takers, most = takers[:1], 1
            if not takers:
                return
            taker = min(takers, key=lambda worker: len(worker.held))
            if not self.one_by_one:
                most = max(most, min((taker.want - len(taker.held)) // 2, LARGE))
            jobs = run.company(most)
            if jobs:
                self._give(taker, jobs, run.directory)
            elif run.isolated:
                return

    def _share(self, run: Run) -> None:
        """Somebody could play what another holds and has not begun, because its players are slow: have it back."""
        players = [one for one in self.staff.players if one.open_to_company()]
        spare = len(players) < self.wanted or any(worker.idle for worker in players)
        if spare and players and not (run.queue or run.isolated or self.one_by_one or self.holding):
            fullest = max(players, key=lambda worker: len(worker.held))
            if fullest.ready and len(fullest.held) > 1:
                self.staff.tell(fullest, fullest.recall)

    def _give(self, worker: Worker, jobs: list[Job], directory: Directory, apart: Isolated | None = None) -> None:
        self.trace.add(worker.slot, "alone" if apart else "play", str(len(jobs)))
        self.staff.tell(worker, lambda: worker.play(jobs, directory, apart))

    # Looking after them

    def look(self, now: float) -> None:
        """Who hangs, who takes too much, who is gone without a word."""
        self.staff.sweep(now)
        thorough = now >= self._count_again  # the end of its socket tells as a rule that a worker has died
        self._count_again = now + COUNT if thorough else self._count_again
        if thorough and self.run is not None:
            self._share(self.run)
        for worker in list(self.staff.workers.values()):
            if (thorough or not worker.ready) and worker.gone:
                self.attend(worker, selectors.EVENT_READ, False)  # its last words first
                if self.staff.employs(worker):
                    self._died(worker)
                continue
            if (mark := worker.overdue(now, self._watch.call, self._watch.row)) is not None:
                what = "its rules" if mark.call is Call.NONE else f"its call of {mark.call.name.lower()}()"
                worker.kill(EndingKind.TIMEOUT, f"{what} did not come back within {mark.allowed:.3g} s")
            if self._watch.memory is not None and (taken := worker.overweight(self._watch.memory)):
                worker.kill(EndingKind.MEMORY, taken)

    def _died(self, worker: Worker) -> None:
        if self.staff.employs(worker):  # else it had nothing left to do
            kind, reason = worker.cause_of_death()
            self.trace.add(worker.slot, "died", reason)
            if not worker.ready:
                self._never_started(worker, reason)
            elif worker.held and worker.isolated is not None and worker.isolated.alone:
                self._died_alone(worker, kind, reason)
            elif worker.held and self.run is not None:
                self._died_in_company(worker, kind, self.run)
        self.staff.bury(worker)

    def _died_alone(self, worker: Worker, kind: EndingKind, reason: str) -> None:
        [job] = worker.held.values()
        verdict = worker.verdict(job.spec, kind, reason)
        doubtful = verdict.ending.kind is EndingKind.VOID or worker.shot
        if doubtful and worker.slot >= 0 and self.run is not None and job.starts < 2:
            self.run.interrupted([job])  # it has another try
        else:
            self._finish(worker, job, verdict)

    def _died_in_company(self, worker: Worker, kind: EndingKind, run: Run) -> None:
        mark, held = worker.marks.read(), list(worker.held.values())
        if kind is EndingKind.MEMORY or (mark.call is not Call.NONE and mark.matches is None):
            inside = {job.number for job in held}
        else:
            inside = set(mark.matches or ()) if mark.call is not Call.NONE else set()
        run.suspect([job for job in held if job.number in inside])
        innocent = [job for job in held if job.number not in inside]
        if self.recalled is None:
            run.interrupted(innocent)
        else:
            self.recalled += innocent

    def _never_started(self, worker: Worker, reason: str) -> None:
        self._failed_starts += 1
        self._start_again = time.monotonic() + AGAIN * self._failed_starts
        if worker.slot in self.lives:
            why = f"no worker process could be started: {reason}"
            self.end_live(self.lives[worker.slot], EndingKind.VOID, why)
        elif self._failed_starts >= STARTS:
            self._fail(WorkersFailed(self._failed_starts, reason))
        elif self.run is not None:
            if worker.isolated is not None:
                self.run.isolated.appendleft(worker.isolated)
            else:
                self._come_back(list(worker.held.values()))
