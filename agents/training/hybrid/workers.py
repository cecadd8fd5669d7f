"""Workers, each of which trains one model at a time: this process or its threads; `process_workers` has processes.

A group of workers (`Workers`) has the same methods whatever they are, so there is one loop that distributes models.
"""

from __future__ import annotations

import queue
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from agents.training.events import WorkerState
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.outcome import Failure, LearningPlan, Outcome, Result
from engine.clock import now
from engine.closing import Closing

if TYPE_CHECKING:
    from agents.training.hybrid.fitting import Fit, TaskTensors

Stop = Callable[[], bool]

GRACE = 5.0  # seconds that threads may take to stop when they are closed


@dataclass(frozen=True)
class Job:
    """A model to be trained."""

    number: int  # different from all others
    genome: Genome
    parameters: int
    work: int  # multiplications for one example
    need: int  # bytes of memory, estimated
    failures: tuple[Failure, ...] = ()  # of the attempts before

    @property
    def alone(self) -> bool:
        """Whether no other model may be trained meanwhile, because that may have been the cause of a failure."""
        return any(failure.by_others for failure in self.failures)


class Finished(NamedTuple):
    """A job that has ended."""

    worker: Worker
    job: Job
    result: Result
    began: float  # seconds since 1970
    seconds: float  # of training, without pauses


class Worker:
    """What is known of a worker, whatever it is."""

    def __init__(self, index: int, device: str) -> None:
        self.index, self.device = index, device
        self.job: Job | None = None
        self.done = self.restarts = 0
        self.epoch = 0
        self._began = 0.0

    @property
    def name(self) -> str:
        return f"model {self.index + 1}"

    @property
    def ready(self) -> bool:
        """Whether it can begin a job."""
        return self.job is None

    @property
    def pid(self) -> int | None:
        return None

    @property
    def grown(self) -> int | None:
        """By how many bytes its memory has grown since its job began; None if that is unknown."""
        return None

    def begin(self, job: Job) -> None:
        self.job, self.epoch, self._began = job, 0, now()

    def stop(self) -> None:
        """Its job is not wanted any more. It is not ready before it has noticed that."""

    def finish(self, result: Result, seconds: float) -> Finished:
        assert self.job is not None
        job, self.job = self.job, None
        self.done += isinstance(result, Outcome)
        return Finished(self, job, result, self._began, seconds)

    def state(self, epochs: int) -> WorkerState:
        """For the panels."""
        state, task, job = "idle", "", self.job
        if job is not None:
            state = "training"
            task = f"epoch {max(self.epoch, 1)} of {epochs}, {job.parameters:,} parameters"
        elif not self.ready:
            state = "starting"
        return WorkerState(self.name, state, task, f"{self.done:,} models", self.restarts, self.pid)


class Workers(Closing):
    """Some workers of one sort."""

    workers: Sequence[Worker]
    max_count = 1 << 16  # of workers

    @abstractmethod
    def resize(self, count: int) -> None:
        """Have so many workers; models in training continue."""

    @abstractmethod
    def wait(self, seconds: float, stop: Stop) -> None:
        """Wait until a job has ended, about so long. If jobs are done in this call, `stop` can end them."""

    @abstractmethod
    def take(self) -> list[Finished]:
        """The jobs that have ended since the last call."""


class SequentialWorker(Worker):
    """This process."""

    def stop(self) -> None:
        self.job = None  # a KeyboardInterrupt has ended its training


class SequentialWorkers(Workers):
    """This process: a job is done while `wait` waits."""

    max_count = 1

    def __init__(self, task: TaskTensors, plan: LearningPlan, fit: Fit) -> None:
        self._task, self._plan, self._fit = task, plan, fit
        self._worker = SequentialWorker(0, str(task.device))
        self.workers = [self._worker]
        self._finished: list[Finished] = []

    def resize(self, count: int) -> None:
        pass

    def wait(self, seconds: float, stop: Stop) -> None:
        from agents.training.hybrid.fitting import attempt, torch_threads

        def watch(epoch: int) -> bool:
            self._worker.epoch = epoch
            return stop()

        if (job := self._worker.job) is not None:
            with torch_threads(self._plan.threads):
                result, seconds = attempt(self._fit, job.genome, self._task, self._plan, watch)
            self._finished.append(self._worker.finish(result, seconds))

    def take(self) -> list[Finished]:
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        pass


class ThreadWorkers(Workers):
    """Threads of this process: torch releases the interpreter lock while it computes."""

    def __init__(self, tasks: Sequence[TaskTensors], plan: LearningPlan, fit: Fit) -> None:
        """`tasks`: the examples on each device."""
        import torch

        self._tasks, self._plan, self._fit = tasks, plan, fit
        self.workers: list[ThreadWorker] = []
        self._ended: queue.Queue[tuple[ThreadWorker, Result, float]] = queue.Queue()
        self._finished: list[Finished] = []
        self._closed = False
        self._threads_before = torch.get_num_threads()
        torch.set_num_threads(plan.threads)  # a part of this setting is the same for all threads

    def resize(self, count: int) -> None:
        while len(self.workers) > count and self.workers[-1].job is None:
            self.workers.pop().close()
        for index in range(len(self.workers), count):
            task = self._tasks[index % len(self._tasks)]
            self.workers.append(ThreadWorker(index, task, self._plan, self._fit, self._ended))

    def wait(self, seconds: float, stop: Stop) -> None:
        try:
            ended = self._ended.get(timeout=seconds)
            while True:
                worker, result, seconds_taken = ended
                self._finished.append(worker.finish(result, seconds_taken))
                ended = self._ended.get_nowait()
        except queue.Empty:
            pass

    def take(self) -> list[Finished]:
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Idempotent. A thread cannot be killed: one in a long minibatch ends after it, and has no effect any more."""
        import torch

        if self._closed:
            return
        self._closed = True
        for worker in self.workers:
            worker.close()
        until = time.monotonic() + GRACE
        for worker in self.workers:
            worker.thread.join(max(until - time.monotonic(), 0.0))
        self.workers.clear()
        torch.set_num_threads(self._threads_before)


class ThreadWorker(Worker):
    """One thread."""

    def __init__(
        self, index: int, task: TaskTensors, plan: LearningPlan, fit: Fit,
        ended: queue.Queue[tuple[ThreadWorker, Result, float]],
    ) -> None:  # fmt: skip
        super().__init__(index, str(task.device))
        self._task, self._plan, self._fit, self._ended = task, plan, fit, ended
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        self._unwanted = threading.Event()
        self.thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self.thread.start()

    def begin(self, job: Job) -> None:
        super().begin(job)
        self._unwanted.clear()
        self._jobs.put(job)

    def stop(self) -> None:
        self._unwanted.set()

    def close(self) -> None:
        self.stop()
        self._jobs.put(None)

    def _run(self) -> None:
        import torch

        from agents.training.hybrid.fitting import attempt

        torch.set_num_threads(self._plan.threads)  # another part belongs to each thread
        while (job := self._jobs.get()) is not None:
            result, seconds = attempt(self._fit, job.genome, self._task, self._plan, self._watch)
            if isinstance(result, Outcome):  # the memory of this process grows by other models too
                result = replace(result, peak_bytes=0)
            self._ended.put((self, result, seconds))

    def _watch(self, epoch: int) -> bool:
        self.epoch = epoch
        return self._unwanted.is_set()
