"""One run of a dispatcher: its matches, where each of them stands, and who is under suspicion.

A failure in company proves nothing. The matches that were in the failing call are *suspects*: they are played again
from the start, alone in a fresh process, and that is their record. Where they are many, they first play in small
companies; so nothing starts more than three times. What was merely in the same process goes back to the queue.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import cast

from engine.errors import RingsideError
from engine.play.failures import Conduct, CutShort, unplayed
from engine.play.match import Ending, EndingKind, MatchResult, MatchSpec
from engine.play.results import ResultBatch, batches_of
from engine.play.workers.handle import Directory, Isolated, Job

FEW = 32  # suspects that are played alone at once; more go into companies of this size first

Single = tuple[MatchSpec, MatchResult | CutShort]  # a result that did not come in a batch


def in_batches(results: Iterable[ResultBatch | Single]) -> Iterator[ResultBatch]:
    """All of them, in order; matches that were cut short are played again up to that step, which takes time."""
    for single, some in itertools.groupby(results, lambda one: not isinstance(one, ResultBatch)):
        if single:
            pairs = cast(Iterable[Single], some)
            yield from batches_of([(spec, one.record() if isinstance(one, CutShort) else one) for spec, one in pairs])
        else:
            yield from cast(Iterable[ResultBatch], some)


class Run:
    """The books of a run. The dispatcher holds its lock whenever it touches them."""

    def __init__(self, numbers: Iterable[int], quarantine: int | None, total: int | None = None) -> None:
        self._numbers = iter(numbers)
        self.total = total  # how many matches there will be, where that is known
        self.conduct = Conduct(quarantine)
        self.directory = Directory()
        self.queue: deque[Job] = deque()
        self.isolated: deque[Isolated] = deque()
        self.results: list[ResultBatch | Single] = []  # not yet taken
        self.untaken = 0  # how many matches they are
        self.clocked = False  # whether real time matters to some of them
        self.taken = self.done = self.failures = 0
        self.error: RingsideError | None = None
        self.stopping = False

    @property
    def waiting(self) -> int:
        """Matches that no worker has; it may be looked at without the lock, for the copy is made in one go."""
        return len(self.queue) + sum(len(one.jobs) for one in list(self.isolated))

    def add(self, specs: Iterable[MatchSpec]) -> None:
        jobs = [Job(number, spec) for spec, number in zip(specs, self._numbers, strict=False)]
        self.taken += len(jobs)
        if self.stopping:
            for job in jobs:
                self.cancel(job)
        else:
            self.queue.extend(jobs)

    # Whom to play next

    def company(self, most: int) -> list[Job]:
        """The next matches that may be played in company."""
        jobs: list[Job] = []
        while self.queue and len(jobs) < most:
            job = self.queue.popleft()
            if self.conduct.failed and self._refused(job):
                continue
            if self.conduct.failed and self.conduct.suspicious(job.spec):
                self.isolated.append(Isolated([job]))
            elif self.conduct.timed(job.spec):
                self.clocked = True
                self.isolated.append(Isolated([job], fresh=False))
            else:
                jobs.append(job)
        return jobs

    def next_isolated(self) -> Isolated | None:
        """The next matches that must be played apart; they stay until `take_isolated`."""
        while self.isolated:
            first = self.isolated[0]
            first.jobs = [job for job in first.jobs if not self._refused(job)]
            if not first.alone:
                guilty = [job for job in first.jobs if self.conduct.suspicious(job.spec)]
                first.jobs = [job for job in first.jobs if job not in guilty]
                self.isolated.extend(Isolated([job]) for job in guilty)
            if first.jobs:
                return first
            self.isolated.popleft()
        return None

    def take_isolated(self) -> Isolated:
        return self.isolated.popleft()

    def _refused(self, job: Job) -> bool:
        refusal = self.conduct.refusal(job.spec)
        if refusal is not None:
            self.finish(job, refusal)
        return refusal is not None

    # What came of it

    @property
    def over(self) -> bool:
        """Whether everything that was taken has its result, and that has been taken too."""
        return self.done == self.taken and not self.results

    def finish(self, job: Job, result: MatchResult | CutShort) -> None:
        self._count(1, [result.ending])
        self.results.append((job.spec, result))

    def finish_batch(self, batch: ResultBatch) -> None:
        self._count(len(batch), batch.told.values())
        self.results.append(batch)

    def _count(self, matches: int, endings: Iterable[Ending]) -> None:
        self.done += matches
        self.untaken += matches
        self.failures += sum(bool(ending.seats) and ending.kind.failure for ending in endings)

    def take_results(self) -> list[ResultBatch | Single]:
        taken, self.results, self.untaken = self.results, [], 0
        return taken

    def judge(self, job: Job, result: MatchResult | CutShort) -> None:
        """The record of a match that was played alone: its failures count."""
        self.finish(job, result)
        if self.conduct.note(job.spec, result):
            self._sort_out()

    def suspect(self, jobs: list[Job]) -> None:
        """These were in the call that failed."""
        crowd = []
        for job in jobs:
            job.starts += 1
            if len(jobs) > FEW and job.starts == 1 and not self.conduct.suspicious(job.spec):
                crowd.append(job)
            else:
                self.isolated.appendleft(Isolated([job]))
        for first in range(0, len(crowd), FEW):
            self.isolated.append(Isolated(crowd[first : first + FEW], alone=False))

    def interrupted(self, jobs: list[Job]) -> None:
        """These were merely there, or nobody can tell."""
        for job in reversed(jobs):
            job.starts += 1
            if job.starts >= 2 or self.conduct.suspicious(job.spec):
                self.isolated.append(Isolated([job]))
            else:
                self.queue.appendleft(job)

    def put_back(self, jobs: list[Job]) -> None:
        """These were not begun."""
        self.queue.extendleft(reversed(jobs))

    def _sort_out(self) -> None:
        """A guilty one is found: suspects that have nothing to do with it may go back into company, once."""
        kept: deque[Isolated] = deque()
        for one in self.isolated:
            stay = []
            for job in one.jobs:
                if job.starts > 1 or self.conduct.timed(job.spec) or self.conduct.suspicious(job.spec):
                    stay.append(job)
                else:
                    self.queue.appendleft(job)
            kept.extend(Isolated([job], fresh=one.fresh) for job in stay)
        self.isolated = kept

    # Stopping

    def cancel(self, job: Job) -> None:
        self.finish(job, unplayed(job.spec, EndingKind.CANCELLED, "the run was stopped"))

    def take_waiting(self) -> list[Job]:
        """All that no worker has."""
        jobs = [*self.queue, *(job for one in self.isolated for job in one.jobs)]
        self.queue.clear()
        self.isolated.clear()
        return jobs

    def forget(self, jobs: Iterable[Job]) -> list[MatchSpec]:
        """These are taken back: they give no result."""
        back = [job.spec for job in jobs]
        self.taken -= len(back)
        self.total = self.taken if self.total is not None else None  # nothing more will be taken from the plan
        return back
