"""Distributes the models of a search over workers, and trains a model that failed a second time.

Those that take longest begin first, so that none of them is left alone at the end. A model that fails is trained once
more, alone if others could have been the cause. If others could have been the cause of its second failure for the first
time, it is trained a third time, alone. Then it has an outcome with an error.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from agents.training.events import Span, WorkerState
from agents.training.hybrid.capacity import Capacity, Note, models
from agents.training.hybrid.estimates import memory_needed, multiplications
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.outcome import LearningPlan, Outcome, describe_failures
from agents.training.hybrid.workers import Finished, Job, Stop, Workers
from engine.closing import Closing
from engine.errors import BadValue

ATTEMPTS = 2
PULSE = 0.1  # seconds between two looks at `stop`


class Evaluator(Closing):
    """Distributes models over workers, which are made when they are needed first."""

    def __init__(
        self,
        plan: LearningPlan,
        shape: tuple[int, ...],
        outputs: int,
        capacity: Capacity,
        choose: Callable[[Sequence[Job], float], tuple[str, str]],
        make: Callable[[str], Workers],
        note: Note,
        span: Callable[[Span], None] | None = None,
    ) -> None:
        """`choose`: the mode for these jobs and the reason, given the seconds that all models have taken so far."""
        self._plan, self._shape, self._outputs = plan, shape, outputs
        self._capacity, self._choose, self._make, self._note, self._span = capacity, choose, make, note, span
        self.mode = ""  # in which models are trained, since the first one
        self._workers: Workers | None = None
        self._waiting: deque[Job] = deque()
        self._jobs, self._seconds = 0, 0.0
        self._lock = threading.RLock()  # held while this process is busy with workers
        self._closing = False

    # For the search

    def evaluate(self, genomes: Sequence[Genome], stop: Stop) -> Iterator[Outcome]:
        """The outcomes of different genomes, in the order in which they finish. Ends early once `stop` returns True, or
        when the evaluator is closed. Only one call may be in progress."""
        refused = self._queue(genomes)
        yield from refused
        mine = {job.number for job in self._waiting}
        stopped = False

        def stop_now() -> bool:
            nonlocal stopped
            stopped = stopped or self._closing or stop()
            return stopped

        try:
            while mine and not stop_now():
                with self._lock:
                    finished = [] if self._closing else self._advance(stop_now)
                for ended in finished:
                    outcome = self._settle(ended) if ended.job.number in mine else None
                    if outcome is not None:
                        mine.discard(ended.job.number)
                        yield outcome
        finally:
            self._waiting.clear()
            with self._lock:
                for worker in self._workers.workers if self._workers else ():
                    worker.stop()

    def states(self) -> tuple[WorkerState, ...]:
        """The workers, for the panels."""
        workers = self._workers.workers if self._workers else ()
        return tuple(worker.state(self._plan.epochs) for worker in tuple(workers))

    def set_cores(self, cores: int) -> None:
        """The cores that models may use together from now on; models in training continue."""
        self._capacity.set_cores(cores)

    def close(self) -> None:
        """Idempotent: ends models that train, and all processes and threads."""
        self._closing = True
        with self._lock:
            self._waiting.clear()
            if self._workers is not None:
                self._workers.close()
                self._workers = None

    # One step

    def _queue(self, genomes: Sequence[Genome]) -> list[Outcome]:
        """Queues jobs, the longest first; returns the outcomes of genomes that do not fit the inputs."""
        refused, jobs = [], []
        for genome in genomes:
            try:
                parameters = genome.parameters(self._shape, self._outputs)
                need = memory_needed(genome, self._shape, self._outputs, self._plan.batch_size)
            except BadValue as error:
                refused.append(Outcome(genome.key, 0, error=str(error)))
                continue
            self._jobs += 1
            work = multiplications(genome, self._shape, self._outputs)
            jobs.append(Job(self._jobs, genome, parameters, work, need))
        jobs.sort(key=lambda job: -job.work)
        self._waiting = deque(jobs)
        return refused

    def _advance(self, stop: Stop) -> list[Finished]:
        workers = self._chosen()
        busy = sum(worker.job is not None for worker in workers.workers)
        workers.resize(min(self._capacity.limit, max(len(workers.workers), busy + len(self._waiting))))
        self._begin(workers)
        workers.wait(PULSE, stop)
        return workers.take()

    def _chosen(self) -> Workers:
        """The workers of the mode that suits best; those of the mode before must be idle to be replaced."""
        idle = self._workers is None or all(worker.job is None for worker in self._workers.workers)
        if idle and self._waiting:
            mode, reason = self._choose(self._waiting, self._seconds)
            if mode != self.mode:
                if self._workers is not None:
                    self._workers.close()
                self.mode, self._workers = mode, self._make(mode)
                at_once = models(min(self._workers.max_count, self._capacity.limit))
                self._note(f"evaluation mode {mode}: {at_once} at a time{f', {reason}' if reason else ''}", False)
        assert self._workers is not None
        return self._workers

    def _begin(self, workers: Workers) -> None:
        """Begin as many jobs as possible, in their order."""
        while self._waiting:
            job = self._waiting[0]
            training = [worker for worker in workers.workers if worker.job is not None]
            alone = job.alone or any(worker.job.alone for worker in training if worker.job is not None)
            if training and (alone or len(training) >= self._capacity.models):
                return
            free = next((worker for worker in workers.workers if worker.ready), None)
            if free is None or not self._capacity.has_memory(job, training):
                return
            free.begin(self._waiting.popleft())

    def _settle(self, ended: Finished) -> Outcome | None:
        """The outcome of a job; None if the model is trained once more."""
        worker, job, result, began, seconds = ended
        self._seconds += seconds
        if self._span is not None:
            self._span(Span(worker.name, "train", began, seconds))
        attempts = len(job.failures) + 1
        if isinstance(result, Outcome):
            self._capacity.add_peak(job, result.peak_bytes)
            return replace(result, attempts=attempts)
        if result is None:
            return None
        failures = (*job.failures, result)
        again = replace(job, failures=failures)
        if attempts < ATTEMPTS or again.alone != job.alone:
            self._waiting.append(again)  # at the end: if it is trained alone, others need not wait for it
            text = f"a model of {job.parameters:,} parameters failed: {result.text}. It is trained once more"
            self._note(text + ", alone" * again.alone, True)
            return None
        error = describe_failures(failures)
        return Outcome(job.genome.key, job.parameters, error=error, seconds=seconds, attempts=attempts)
