"""The floor: the workers of a dispatcher, what each is given, and what becomes of it when one of them dies.

Nothing here waits, and nothing here knows of threads: the dispatcher calls it with its lock held.
"""

from __future__ import annotations

import itertools
import selectors
import time
from collections.abc import Callable
from typing import Any

from engine.errors import GameFailed, RingsideError, WorkersFailed
from engine.play.conduct import unplayed
from engine.play.live import LiveMatch
from engine.play.marks import Call
from engine.play.match import EndingKind, MatchResult
from engine.play.process import WorkerSettings
from engine.play.runs import Run
from engine.play.wire import Broken, Columns
from engine.play.workers import Directory, Isolated, Job, Watch, Worker, memory_for
from engine.telemetry import Trace

STARTS = 3  # workers in a row that may fail to start
COUNT = 0.5  # seconds between two counts of the living
LAST_GASP = 0.5  # seconds between the end of a worker's socket and its own
AGAIN = 0.2  # seconds before another try
FAREWELL = 2.0  # seconds that a worker with nothing left may take to end
BACKLOG = 100_000  # results that wait to be taken, beyond which no more matches are begun


class Floor:
    """By slot: 0 and above play a run, those below 0 play a live match each."""

    def __init__(self, wanted: int, settings: WorkerSettings, watch: Watch, selector: selectors.BaseSelector) -> None:
        self.wanted = wanted
        self.one_by_one = False  # one match at a time, in the order of the plan
        self.trace = Trace()
        self.run: Run | None = None
        self.last: Run | None = None  # the same, and still when it has ended
        self.workers: dict[int, Worker] = {}
        self.leaving: list[tuple[Worker, float]] = []  # with the time at which patience ends
        self.lives: dict[int, LiveMatch] = {}
        self.recalled: list[Job] | None = None  # collects what workers give back, while somebody asks for it
        self._settings, self._watch, self._selector = settings, watch, selector
        self._numbers = (number & 0xFFFFFFFF for number in itertools.count(1))
        self._memories: list[Any] = []  # of workers that are gone
        self._starts: dict[int, int] = {}  # by slot
        self._failed_starts, self._start_again, self._count_again = 0, 0.0, 0.0

    @property
    def players(self) -> list[Worker]:
        """The workers that play the run."""
        return [worker for slot, worker in self.workers.items() if slot >= 0]

    @property
    def playing(self) -> bool:
        return any(worker.held for worker in self.workers.values())

    # Runs

    def begin(self, total: int | None) -> Run:
        self.run = self.last = Run(self._numbers, self._watch.failures, total)
        self._failed_starts = 0
        for worker in self.players:
            self._tell(worker, worker.new_run)
        self.trace.add(-1, "run", "" if total is None else str(total))
        return self.run

    def end(self, run: Run) -> None:
        """Break off what is left of it."""
        if self.run is run:
            run.take_waiting()
            for worker in self.players:
                if worker.held:
                    self._break_off(worker)
            self.run = None

    def stop(self, now: bool) -> None:
        """Finish what is being played, or break it off too; the rest is cancelled."""
        run = self.run
        if run is None:
            return
        run.stopping = True
        for job in run.take_waiting():
            run.cancel(job)
        for worker in self.players:
            if now and worker.held:
                for job in worker.held.values():
                    run.cancel(job)
                self._break_off(worker)
            elif worker.isolated is None:
                self._tell(worker, worker.recall)
        self.trace.add(-1, "stop now" if now else "stop")

    def recall(self) -> None:
        """Collect in `recalled` what is not being played; complete when no worker is `recalling`."""
        if self.run is not None:
            self.recalled = self.run.take_waiting()
            for worker in self.players:
                if worker.isolated is None:
                    self._tell(worker, worker.recall)

    def watch_live(self, live: LiveMatch, pace: float) -> None:
        slot = min([0, *self.workers, *(worker.slot for worker, _ in self.leaving)]) - 1
        self.lives[slot] = live
        worker = self._start(slot)
        self._tell(worker, lambda: worker.play_live(Job(next(self._numbers), live.spec), Directory(), pace))

    def tell_live(self, live: LiveMatch, words: list[object]) -> None:
        worker = next((self.workers.get(slot) for slot, one in self.lives.items() if one is live), None)
        if worker is not None:
            self._tell(worker, lambda: worker.channel.put(words))

    def stop_live(self, live: LiveMatch, reason: str) -> None:
        for slot in [slot for slot, one in self.lives.items() if one is live]:
            del self.lives[slot]
            live.end(unplayed(live.spec, EndingKind.CANCELLED, reason))
            if slot in self.workers:
                self._break_off(self.workers[slot])

    # Messages

    def attend(self, worker: Worker, mask: int, printed: bool) -> None:
        """Something has come from a worker, or can be sent to it."""
        if printed:
            if not worker.read_output():
                self._unregister(worker.output)
            return
        try:
            if mask & selectors.EVENT_WRITE:
                worker.channel.flush()
            if mask & selectors.EVENT_READ:
                for words, body in worker.channel.get():
                    self._hear(worker, words, body)
            self._mind(worker)
        except Broken as error:
            if worker.process is not None:
                worker.process.join(LAST_GASP)
                if worker.process.is_alive():
                    worker.kill(EndingKind.CRASH, f"its process {error}")
            self._died(worker)

    def _hear(self, worker: Worker, words: list[Any], body: bytes) -> None:
        name, *rest = words
        if name == "results":
            columns = Columns(rest, body)
            for place, number in enumerate(columns.numbers):
                job = worker.held.pop(number, None)
                if job is not None:  # else it was broken off in the meantime
                    worker.done += 1
                    self._finish(worker, columns.result(place, job.spec))
            self.trace.add(worker.slot, "results", str(len(columns.numbers)))
            if worker.idle:
                self._rest(worker)
        elif name == "want":
            worker.want = int(rest[0])
        elif name == "suspects" and self.run is not None:
            self.run.suspect(self._let_go(worker, rest[0]))
            self.trace.add(worker.slot, "suspects", str(len(rest[0])))
        elif name == "recalled":
            worker.recalling = False
            self._come_back(self._let_go(worker, rest[0]))
        elif name == "moves" and worker.slot in self.lives:
            self.lives[worker.slot].add(rest[0])
        elif name == "failed" and self.run is not None:
            self._fail(GameFailed.retold(str(rest[0])) if rest[1] else RingsideError(str(rest[0])))
        elif name == "ready":
            worker.ready, self._failed_starts = True, 0
            self.trace.add(worker.slot, "ready", str(rest[0]))

    def _let_go(self, worker: Worker, numbers: list[int]) -> list[Job]:
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
        elif run.stopping:
            for job in jobs:
                run.cancel(job)
        else:
            run.put_back(jobs)

    def _finish(self, worker: Worker, result: MatchResult) -> None:
        if worker.slot < 0:
            live = self.lives.pop(worker.slot, None)
            if live is not None:
                live.end(result)
        elif self.run is not None:
            if worker.isolated is not None and worker.isolated.alone:
                self.run.judge(result)
            else:
                self.run.finish(result)

    def _rest(self, worker: Worker) -> None:
        """It has nothing left."""
        worker.isolated, worker.draining = None, False
        if worker.retiring or worker.slot < 0:
            self._dismiss(worker)

    def _fail(self, error: RingsideError) -> None:
        run = self.run
        if run is not None and run.error is None:
            run.error = error
            self.trace.add(-1, "failed", str(error))
            run.take_waiting()
            for worker in self.players:
                if worker.held:
                    self._break_off(worker)

    # Dealing

    def deal(self) -> None:
        run = self.run
        if run is None or run.error is not None:
            return
        if run.stopping:
            for job in run.take_waiting():
                run.cancel(job)
        self._staff(run)
        self._deal_isolated(run)
        if len(run.results) < BACKLOG:
            self._deal_company(run)

    def _staff(self, run: Run) -> None:
        """As many workers as are wanted, and not more than there is work for."""
        for slot, worker in list(self.workers.items()):
            if slot >= self.wanted and not worker.retiring:
                worker.retiring = True
                if worker.idle:
                    self._dismiss(worker)
                elif worker.isolated is None:
                    self._tell(worker, worker.recall)
        wanted = 1 if self.one_by_one else self.wanted
        idle = sum(worker.idle for worker in self.players)
        needed = -(-len(run.queue) // self._settings.batch) + len(run.isolated) - idle
        if needed > 0 and time.monotonic() >= self._start_again:
            for slot in [slot for slot in range(wanted) if slot not in self.workers][:needed]:
                self._start(slot)

    def _deal_isolated(self, run: Run) -> None:
        while (isolated := run.next_isolated()) is not None:
            if self.one_by_one and any(worker.held for worker in self.players):
                return
            free = [worker for worker in self.players if worker.idle and not worker.retiring]
            worker = next((one for one in free if one.fresh or not isolated.fresh), None)
            if worker is None and free:
                self._dismiss(free[0])  # what has played is not fresh any more
                worker = self._start(free[0].slot)
            if worker is None:
                self._drain()
                return
            run.take_isolated()
            self._give(worker, isolated.jobs, run.directory, isolated)

    def _drain(self) -> None:
        """All are busy and somebody must play apart: have the one with the least to do come to an end."""
        company = [worker for worker in self.players if worker.isolated is None]
        if company and not any(worker.draining for worker in company):
            least = min(company, key=lambda worker: len(worker.held))
            least.draining = True
            self._tell(least, least.recall)

    def _deal_company(self, run: Run) -> None:
        while run.queue:
            takers = [
                worker
                for worker in self.players
                if worker.open_to_company() and len(worker.held) < worker.want and not worker.channel.waiting
            ]
            most = self._settings.batch
            if self.one_by_one:
                if any(worker.held for worker in self.players):
                    return
                takers, most = takers[:1], 1
            if not takers:
                return
            taker = min(takers, key=lambda worker: len(worker.held))
            jobs = run.company(most)
            if jobs:
                self._give(taker, jobs, run.directory)
            elif run.isolated:
                return

    def _give(self, worker: Worker, jobs: list[Job], directory: Directory, apart: Isolated | None = None) -> None:
        self.trace.add(worker.slot, "alone" if apart else "play", str(len(jobs)))
        self._tell(worker, lambda: worker.play(jobs, directory, apart))

    def _tell(self, worker: Worker, call: Callable[[], None]) -> None:
        """Whatever is sent: if the worker is gone, that is noticed when it is attended to."""
        try:
            call()
        except Broken:
            return
        self._mind(worker)

    def _mind(self, worker: Worker) -> None:
        """Wait for a worker that cannot take more now."""
        if worker.channel.socket.fileno() >= 0:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.channel.waiting else 0)
            key = self._selector.get_map().get(worker.channel.socket)
            if key is not None and key.events != events:
                self._selector.modify(worker.channel.socket, events, key.data)

    # Coming and going

    def _start(self, slot: int) -> Worker:
        restarts = self._starts.get(slot, -1) + 1 if slot >= 0 else 0
        self._starts[slot] = restarts
        memory = self._memories.pop() if self._memories else memory_for(self._settings)
        worker = self.workers[slot] = Worker(slot, self._settings, memory, restarts)
        self._selector.register(worker.channel.socket, selectors.EVENT_READ, (worker, False))
        self._selector.register(worker.output, selectors.EVENT_READ, (worker, True))
        self.trace.add(slot, "start")
        return worker

    def _break_off(self, worker: Worker) -> None:
        """It is in the middle of something that nobody wants any more."""
        worker.held.clear()
        worker.kill()
        self.trace.add(worker.slot, "broken off")
        self._bury(worker)

    def _dismiss(self, worker: Worker) -> None:
        """It has nothing to do: let it end by itself, and take its slot away at once."""
        if self.workers.get(worker.slot) is worker:
            del self.workers[worker.slot]
            worker.leaving = True
            self.leaving.append((worker, time.monotonic() + FAREWELL))
            self.trace.add(worker.slot, "dismissed")
            self._tell(worker, lambda: worker.channel.put(["stop"]))

    def _bury(self, worker: Worker) -> None:
        if self.workers.get(worker.slot) is worker:
            del self.workers[worker.slot]
        self.leaving = [one for one in self.leaving if one[0] is not worker]
        self._unregister(worker.channel.socket)
        self._unregister(worker.output)
        worker.bury()
        if worker.process is not None and not worker.process.is_alive():
            self._memories.append(worker.memory)  # nobody writes to it any more

    def _unregister(self, end: Any) -> None:
        if end.fileno() >= 0 and end in self._selector.get_map():
            self._selector.unregister(end)

    def close(self) -> None:
        for worker in [*self.workers.values(), *(worker for worker, _ in self.leaving)]:
            self._bury(worker)
        for live in list(self.lives.values()):
            self.stop_live(live, "the executor was closed")

    # Looking after them

    def look(self, now: float) -> None:
        """Who hangs, who takes too much, who is gone without a word."""
        for worker, patience in list(self.leaving):
            if now > patience or worker.gone:
                self._bury(worker)
        thorough = now >= self._count_again  # the end of its socket tells as a rule that a worker has died
        self._count_again = now + COUNT if thorough else self._count_again
        for worker in list(self.workers.values()):
            if (thorough or not worker.ready) and worker.gone:
                self.attend(worker, selectors.EVENT_READ, False)  # its last words first
                if self.workers.get(worker.slot) is worker:
                    self._died(worker)
                continue
            if (mark := worker.overdue(now, self._watch.call, self._watch.row)) is not None:
                what = "its rules" if mark.call is Call.NONE else f"its call of {mark.call.name.lower()}()"
                worker.kill(EndingKind.TIMEOUT, f"{what} did not come back in time")
            if self._watch.memory is not None and (taken := worker.overweight(self._watch.memory)):
                worker.kill(EndingKind.MEMORY, taken)

    def _died(self, worker: Worker) -> None:
        if self.workers.get(worker.slot) is not worker:  # it had nothing left to do
            self._bury(worker)
            return
        kind, reason = worker.cause_of_death()
        self.trace.add(worker.slot, "died", reason)
        mark, held = worker.marks.read(), list(worker.held.values())
        if not worker.ready:
            self._never_started(worker, reason)
        elif held and worker.isolated is not None and worker.isolated.alone:
            verdict = worker.verdict(held[0].spec, kind, reason)
            doubtful = verdict.ending.kind is EndingKind.VOID or worker.shot
            if doubtful and self.run is not None and held[0].starts < 2:
                self.run.interrupted(held)  # it has another try
            else:
                self._finish(worker, verdict)
        elif held and self.run is not None:
            everyone = kind is EndingKind.MEMORY or mark.matches is None
            inside = {job.number for job in held} if everyone else mark.matches or set()
            inside = inside if mark.call is not Call.NONE or kind is EndingKind.MEMORY else set()
            self.run.suspect([job for job in held if job.number in inside])
            innocent = [job for job in held if job.number not in inside]
            self.run.interrupted(innocent) if self.recalled is None else self._come_back(innocent)
        self._bury(worker)

    def _never_started(self, worker: Worker, reason: str) -> None:
        self._failed_starts += 1
        self._start_again = time.monotonic() + AGAIN * self._failed_starts
        jobs = list(worker.held.values())
        if worker.slot in self.lives:
            self.stop_live(self.lives[worker.slot], f"no worker process could be started: {reason}")
        elif self._failed_starts >= STARTS:
            self._fail(WorkersFailed(self._failed_starts, reason))
        elif self.run is not None:
            if worker.isolated is not None:
                self.run.isolated.appendleft(worker.isolated)
            else:
                self._come_back(jobs)
