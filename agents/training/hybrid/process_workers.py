"""Processes that train models, as the search sees them: started, watched, and started again when they end."""

from __future__ import annotations

import dataclasses
import logging
import math
import selectors
import time
from collections.abc import Callable, Sequence
from typing import Any

from agents.training.hybrid.arrays import SharedTask
from agents.training.hybrid.memory import own_memory
from agents.training.hybrid.model_process import FIT, RUN, Activity, ModelStatus
from agents.training.hybrid.outcome import Failure, LearningPlan, Outcome
from agents.training.hybrid.workers import Finished, Job, Stop, Worker, Workers
from engine import codec
from engine.errors import RingsideError
from engine.processes.bootstrap import NICE_PROGRAM, OUT_OF_MEMORY, ChildSetup
from engine.processes.channel import Disconnected, ProtocolError
from engine.processes.child import PULSE, ChildProcess, Selector

logger = logging.getLogger(__name__)

SERVER = "agents.training.hybrid.model_preload"
LIBRARIES = ("torch", "agents.training.hybrid.fitting")
MOST_STARTS = 3  # failed starts in a row
NUMBERS = {"fitness": float, "loss": float, "train_loss": float, "seconds": float}
WHOLE = {"parameters": int, "epochs": int, "attempts": int, "peak_bytes": int}
TEXTS = {"key": str, "error": str}


class ModelsFailed(RingsideError):  # noqa: N818
    """No process that trains models can be started."""


@dataclasses.dataclass(frozen=True)
class ProcessLimits:
    """When a model process counts as stalled and is ended, and how much memory it may use."""

    timeout: float = 120.0  # seconds without a heartbeat, at most: one minibatch of a large model may take long
    first: float = 600.0  # the same until it has started: it may import torch from a slow disk
    memory: int | None = None  # bytes beyond what it uses at its start
    clock: Callable[[], float] = time.monotonic  # by which `timeout` and `first` are measured


class ProcessWorkers(Workers):
    """Processes that share the memory of the examples."""

    def __init__(
        self,
        task: SharedTask,
        plan: LearningPlan,
        devices: Sequence[str],
        limits: ProcessLimits = ProcessLimits(),
        fit: str = FIT,
        plugins: Sequence[str] = (),
    ) -> None:
        self._task, self._plan, self._devices, self._limits, self._fit = task, plan, devices, limits, fit
        self._setup = ChildSetup(
            server=SERVER,
            libraries=LIBRARIES,
            nice=NICE_PROGRAM,  # as nice as the trainer, with which they share the work
            one_thread=plan.threads == 1,
            memory=limits.memory,
            plugins=tuple(plugins),
        )
        self.workers: list[ProcessWorker] = []
        self._finished: list[Finished] = []
        self._failed_starts = 0

    def resize(self, count: int) -> None:
        while len(self.workers) > count and self.workers[-1].job is None:
            self.workers.pop().close()
        for index in range(len(self.workers), count):
            worker = ProcessWorker(index, self._devices[index % len(self._devices)], self._limits.clock)
            self._connect(worker)
            self.workers.append(worker)

    def _connect(self, worker: ProcessWorker) -> None:
        worker.connect(self._task, self._plan, self._fit, self._setup)

    def wait(self, seconds: float, stop: Stop) -> None:
        with Selector() as selector:
            for worker in self.workers:
                worker.register(selector)
            if selector.get_map() and not self._finished:
                selector.select(min(seconds, PULSE))
            elif not self._finished:
                time.sleep(min(seconds, PULSE))
        for worker in self.workers:
            self._finished += worker.receive()
            worker.check_alive(self._limits)
            if worker.ended:
                self._on_end(worker)

    def _on_end(self, worker: ProcessWorker) -> None:
        """Its model has failed; the process is started again."""
        self._failed_starts = 0 if worker.started else self._failed_starts + 1
        reason = worker.ended
        if worker.job is not None:
            self._finished.append(worker.finish(worker.failure(), worker.trained_seconds))
        worker.disconnect()
        if self._failed_starts >= MOST_STARTS:
            raise ModelsFailed(
                f"{MOST_STARTS} processes that train models could not be started in a row, the last because it "
                f"{reason}. Fix the cause, or train the models in this process: mode sequential or threads"
            )
        logger.info("%s %s; it is started again", worker.name, reason)
        worker.restarts += 1
        self._connect(worker)

    def take(self) -> list[Finished]:
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Idempotent: kill all processes, also in the middle of a model, and wait until they are gone."""
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.close()
        self.workers.clear()


class ProcessWorker(Worker):
    """One process over all its restarts."""

    def __init__(self, index: int, device: str, clock: Callable[[], float]) -> None:
        super().__init__(index, device)
        self._clock = clock
        self._child: ChildProcess | None = None
        self.started = False  # whether it has sent that it is ready
        self.ended = ""  # why its process has ended
        self._status = ModelStatus()
        self._begun = 0.0  # when its job began, by the monotonic clock, which all processes share
        self._held = 0  # bytes of memory, when its job began
        self._pulse, self._pulse_seen = 0, clock()

    def connect(self, task: SharedTask, plan: LearningPlan, fit: str, setup: ChildSetup) -> None:
        """Start its process, in the background."""
        self.started, self.ended, self._status = False, "", ModelStatus()
        self._pulse, self._pulse_seen = 0, self._clock()
        self._child = ChildProcess(RUN, task, plan, self.device, self._status.memory, fit, setup=setup)

    @property
    def ready(self) -> bool:
        return self.started and self.job is None and not self.ended

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    @property
    def grown(self) -> int | None:
        held = own_memory(self.pid) if self.pid else None
        return None if held is None else max(held - self._held, 0)

    def begin(self, job: Job) -> None:
        super().begin(job)
        self._begun = time.monotonic()
        self._held = (own_memory(self.pid) if self.pid else None) or 0
        self._send(["train", job.number], codec.dump(job.genome).encode())

    def stop(self) -> None:
        if self.job is not None:
            self._send(["stop", self.job.number])

    def _send(self, fields: list[object], body: bytes = b"") -> None:
        if self._child is not None:
            self._child.send(fields, body)

    def register(self, selector: Any) -> None:
        if self._child is not None and not self.ended:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._child.channel.waiting else 0)
            selector.register(self._child.channel.socket, events)

    def receive(self) -> list[Finished]:
        """Read what has arrived; returns the jobs that have ended."""
        finished: list[Finished] = []
        self.epoch = self._status.epoch
        while self._child is not None and not self.ended:
            try:
                messages = self._child.receive(0.0)
                for fields, body in messages:
                    finished += self._handle(fields, body)
            except Disconnected as error:
                self.ended = str(error)
            except ProtocolError as error:
                self._end(f"{error}, so it was ended")
            else:
                if not messages:
                    break
        return finished

    def _handle(self, fields: Sequence[Any], body: bytes) -> list[Finished]:
        number = self.job.number if self.job is not None else None
        match fields:
            case ["ready"]:
                self.started = True
                return []
            case ["outcome", int(k), dict(values)] if k == number:
                outcome = self._outcome(values, body)
                return [self.finish(outcome, outcome.seconds)]
            case ["failed", int(k), str(text), bool(memory), float(seconds)] if k == number:
                if memory:  # it exits
                    self._end("ran out of memory")
                return [self.finish(Failure(text, memory), seconds)]
            case ["stopped", int(k), float(seconds)] if k == number:
                return [self.finish(None, seconds)]
        raise ProtocolError("sent an invalid message")

    def _outcome(self, values: dict[str, Any], body: bytes) -> Outcome:
        kinds = NUMBERS | WHOLE | TEXTS
        for name, kind in kinds.items():
            value = values.get(name)
            missing = value is None and name in ("fitness", "loss", "train_loss")
            if not missing and (type(value) is not kind or (isinstance(value, float) and not math.isfinite(value))):
                raise ProtocolError("sent an invalid outcome")
        assert self.job is not None
        if len(values) != len(kinds) or values["key"] != self.job.genome.key:
            raise ProtocolError("sent an invalid outcome")
        return Outcome(**values, tensors=body)

    def check_alive(self, limits: ProcessLimits) -> None:
        """End its process if its last heartbeat is too long ago."""
        pulse, now = self._status.pulse, self._clock()
        if pulse != self._pulse:
            self._pulse, self._pulse_seen = pulse, now
        limit = limits.timeout if self.started else max(limits.first, limits.timeout)
        if not self.ended and now - self._pulse_seen > limit:
            self._end(f"did not react for {limit:g} s, so it was ended")

    def _end(self, reason: str) -> None:
        self.kill()
        self.ended = reason

    @property
    def trained_seconds(self) -> float:
        """From the begin of its job to its last heartbeat."""
        return max(self._status.pulse * 1e-9 - self._begun, 0.0)

    def failure(self) -> Failure:
        """Why its model has failed: its process has ended."""
        memory = self._child is not None and self._child.exit_code == OUT_OF_MEMORY
        training = self._status.activity is Activity.TRAINING
        place = f"in epoch {self._status.epoch} " if training and self._status.epoch else ""
        return Failure("it ran out of memory" if memory else f"{place}its process {self.ended}", memory, died=True)

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    def disconnect(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close(wait_for_start=self.started)

    def close(self) -> None:
        self.disconnect()
