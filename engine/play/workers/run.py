"""One run of a dispatcher: its matches, the state of each, and the agents that have failed.

When a process fails that plays many matches, the failing agent is not known. The matches in the failing call are
*suspects*: they are divided into parts, each is played by a process that plays nothing else, and a part that fails is
divided again. A suspect that is left alone is played in a new process, and that result counts. So one culprit among
1,000 matches ends six processes, and the others cost none.

The other matches of the process go back to the queue; those that were interrupted twice are suspects too. A process
that was killed from outside makes no suspects the first time.

No match starts more than three times from the queue or alone. In between it may start in batches of suspects, each at
most half as large as the one before.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import cast

from engine.errors import RingsideError
from engine.play.by_players import ByPlayers
from engine.play.failures import FailureTracker, InterruptedMatch, unplayed_result
from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult, MatchSpec
from engine.play.results import ResultBatch, batches_of
from engine.play.workers.handle import IsolatedBatch, Job
from engine.play.workers.job_queue import JobQueue
from engine.play.workers.messages import WireIds
from engine.registry import import_problem, libraries_of

PARTS = 4  # into which suspects are divided: as many batches as with halves, but half as many failing ones

Single = tuple[MatchSpec, MatchResult | InterruptedMatch]  # a result outside any batch


def in_batches(results: Iterable[ResultBatch | Single]) -> Iterator[ResultBatch]:
    """All results as batches, in order. Interrupted matches are replayed up to their last step, which takes time."""
    for single, some in itertools.groupby(results, lambda result: not isinstance(result, ResultBatch)):
        if single:
            pairs = cast(Iterable[Single], some)
            yield from batches_of(
                [
                    (spec, result.to_result() if isinstance(result, InterruptedMatch) else result)
                    for spec, result in pairs
                ]
            )
        else:
            yield from cast(Iterable[ResultBatch], some)


class Run:
    """The matches and results of a run. The dispatcher holds its lock while it uses it."""

    def __init__(self, numbers: Iterable[int], quarantine: int | None, total: int | None = None) -> None:
        self._numbers = iter(numbers)
        self.total = total  # number of matches, if known
        self.failure_tracker = FailureTracker(quarantine)
        self.wire_ids = WireIds()
        self._needs = ByPlayers(self._needs_of)
        self.queue = JobQueue()
        self.isolated: deque[IsolatedBatch] = deque()
        self.results: list[ResultBatch | Single] = []  # not delivered yet
        self.undelivered = 0  # matches in `results`
        self.timed = False  # some matches depend on real time
        self.submitted = self.done = self.failures = 0
        self.error: RingsideError | None = None
        self.stopping = False

    @property
    def waiting(self) -> int:
        """Matches that no worker holds. It may be read without the lock, because the copies are atomic."""
        return len(self.queue) + sum(len(batch.jobs) for batch in list(self.isolated))

    def add(self, specs: Iterable[MatchSpec]) -> None:
        needs = self._needs
        jobs = [
            Job(number, spec, *needs[spec.players])
            if spec.limits.clock is None
            else Job(number, spec, True, needs[spec.players][1])
            for spec, number in zip(specs, self._numbers, strict=False)
        ]
        self.submitted += len(jobs)
        if self.stopping:
            for job in jobs:
                self.cancel(job)
        else:
            self.queue.extend(jobs)

    def _needs_of(self, players: tuple[AgentSpec, ...]) -> tuple[bool, tuple[str, ...]]:
        """Whether a player needs a core of its own, and the heavy libraries of their kinds."""
        for kind in {player.kind for player in players}:
            if problem := import_problem(kind):
                self.failure_tracker.broken_kinds[kind] = problem
        timed = any(self.failure_tracker.needs_a_core(player) for player in players)
        return timed, libraries_of(player.kind for player in players)

    # The next matches

    def next_shared(self, most: int, libraries: tuple[str, ...]) -> list[Job]:
        """Pop the next matches that may share a process with these libraries."""
        jobs: list[Job] = []
        queue = self.queue.of(libraries)
        while queue and len(jobs) < most:
            job = queue.popleft()
            if self.failure_tracker.any_failed and self._quarantined(job):
                continue
            if self.failure_tracker.any_failed and self.failure_tracker.has_failed_player(job.spec):
                self.isolated.append(IsolatedBatch([job]))
            elif job.timed:
                self.timed = True
                self.isolated.append(IsolatedBatch([job], fresh=False))
            else:
                jobs.append(job)
        return jobs

    def next_isolated(self) -> IsolatedBatch | None:
        """The next matches that need a process of their own; they stay until `take_isolated`."""
        while self.isolated:
            first = self.isolated[0]
            first.jobs = [job for job in first.jobs if not self._quarantined(job)]
            if not first.alone:
                blamed = [job for job in first.jobs if self.failure_tracker.has_failed_player(job.spec)]
                first.jobs = [job for job in first.jobs if job not in blamed]
                self.isolated.extend(IsolatedBatch([job]) for job in blamed)
            if first.jobs:
                return first
            self.isolated.popleft()
        return None

    def take_isolated(self) -> IsolatedBatch:
        return self.isolated.popleft()

    def _quarantined(self, job: Job) -> bool:
        tracker = self.failure_tracker
        refusal = tracker.quarantine_result(job.spec) or tracker.broken_start(job.spec)
        if refusal is not None:
            self.finish(job, refusal)
        return refusal is not None

    # Results

    @property
    def over(self) -> bool:
        """Whether all submitted matches have results and all results have been taken."""
        return self.done == self.submitted and not self.results

    def finish(self, job: Job, result: MatchResult | InterruptedMatch) -> None:
        self._count(1, [result.ending])
        self.results.append((job.spec, result))

    def finish_batch(self, batch: ResultBatch) -> None:
        self._count(len(batch), batch.detailed_endings.values())
        self.results.append(batch)

    def _count(self, matches: int, endings: Iterable[Ending]) -> None:
        self.done += matches
        self.undelivered += matches
        self.failures += sum(bool(ending.seats) and ending.kind.failure for ending in endings)

    def take_results(self) -> list[ResultBatch | Single]:
        taken, self.results, self.undelivered = self.results, [], 0
        return taken

    def finish_isolated(self, job: Job, result: MatchResult | InterruptedMatch) -> None:
        """Store the result of a match that was played alone; a failure in it counts against the agent."""
        self.finish(job, result)
        if self.failure_tracker.record(job.spec, result):
            self._requeue_unrelated()

    def add_suspects(self, jobs: list[Job], divided: bool = False) -> None:
        """Isolate these matches: they were in the call that failed. `divided`: they were suspects before."""
        for job in jobs:
            job.starts += not divided
        size = max(-(-len(jobs) // PARTS), 1)
        parts = [jobs[first : first + size] for first in range(0, len(jobs), size)]
        # Before larger ones: the sooner a failing agent is known, the fewer matches are divided.
        self.isolated.extendleft(IsolatedBatch(part, len(part) == 1, len(part) == 1) for part in reversed(parts))

    def requeue_interrupted(self, jobs: list[Job]) -> None:
        """Play these matches again: their process died, but they were not known to be in the failing call."""
        again: list[Job] = []
        twice: list[Job] = []
        for job in jobs:
            (twice if job.starts or self.failure_tracker.has_failed_player(job.spec) else again).append(job)
        self.add_suspects(twice)
        for job in again:
            job.starts += 1
        self.queue.put_back(again)

    def requeue(self, jobs: list[Job]) -> None:
        """Put matches that were not started back to the front of the queue."""
        self.queue.put_back(jobs)

    def _requeue_unrelated(self) -> None:
        """A failing agent has been found: suspects without it may share a process with others again, once."""
        isolated, self.isolated = self.isolated, deque()
        unrelated: list[Job] = []
        for batch in isolated:
            stay: list[Job] = []
            for job in batch.jobs:
                related = job.starts > 1 or job.timed or self.failure_tracker.has_failed_player(job.spec)
                (stay if related else unrelated).append(job)
            if stay:
                self.isolated.append(IsolatedBatch(stay, batch.alone, batch.fresh))
        self.queue.put_back(unrelated)

    # Stopping

    def cancel(self, job: Job) -> None:
        self.finish(job, unplayed_result(job.spec, EndingKind.CANCELLED, "the run was stopped"))

    def take_waiting(self) -> list[Job]:
        """Remove and return the matches that no worker holds."""
        jobs = [*self.queue, *(job for batch in self.isolated for job in batch.jobs)]
        self.queue.clear()
        self.isolated.clear()
        return jobs

    def withdraw(self, jobs: Iterable[Job]) -> list[MatchSpec]:
        """Remove these matches from the run: they give no result."""
        back = [job.spec for job in jobs]
        self.submitted -= len(back)
        self.total = self.submitted if self.total is not None else None  # no more matches follow
        return back
