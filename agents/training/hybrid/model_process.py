"""A process that trains models, one after the other: it gets genomes and sends outcomes, as frames without pickle.

What it is doing is in memory that it shares with the search, which can read that after its death.
"""

from __future__ import annotations

import dataclasses
import importlib
import select
import socket
import time
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from agents.training.hybrid.arrays import SharedTask
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.outcome import Failure, LearningPlan, Outcome, failure_of
from engine import codec
from engine.processes import launcher
from engine.processes.bootstrap import OUT_OF_MEMORY
from engine.processes.channel import Channel, ProtocolError

RUN = "agents.training.hybrid.model_process:serve"
FIT = "agents.training.hybrid.fitting:fit"
PULSE = 0.25  # seconds between two heartbeats while it waits for a message
ACTIVITY, EPOCH, HEARTBEAT = range(3)  # places of the status
WORDS = 8  # of the status, of 8 bytes each
WORD = 8


class Activity(IntEnum):
    """What a model process is doing."""

    STARTING = 0
    IDLE = 1
    TRAINING = 2


class ModelStatus:
    """What one process is doing; it and the search have such an object on the same memory. A processor reads and writes
    each number whole."""

    def __init__(self, memory: Any = None) -> None:
        self.memory = launcher.shared_memory(WORDS * WORD) if memory is None else memory
        self._words = memoryview(self.memory).cast("B").cast("Q")

    def set_activity(self, activity: Activity, epoch: int = 0) -> None:
        words = self._words
        words[EPOCH], words[ACTIVITY], words[HEARTBEAT] = epoch, activity, time.monotonic_ns()

    @property
    def activity(self) -> Activity:
        return Activity(min(self._words[ACTIVITY], max(Activity)))

    @property
    def epoch(self) -> int:
        return self._words[EPOCH]

    @property
    def pulse(self) -> int:
        """When it was set last, in nanoseconds of the monotonic clock: several times a second while it runs."""
        return self._words[HEARTBEAT]


def serve(end: socket.socket, task: SharedTask, plan: LearningPlan, device: str, status: Any, fit: str) -> int:
    """The main function of a model process; returns its exit status. `fit` is "module:function"."""
    try:
        return ModelProcess(Channel(end), task, plan, device, ModelStatus(status), fit).run()
    except ProtocolError:  # the search has closed the connection
        return 0
    except (MemoryError, RuntimeError) as error:  # outside of the training of a model, such as when it starts
        if failure_of(error).memory:
            return OUT_OF_MEMORY
        raise


class ModelProcess:
    """Trains models until the connection is closed."""

    def __init__(
        self, channel: Channel, task: SharedTask, plan: LearningPlan, device: str, status: ModelStatus, fit: str
    ) -> None:
        import torch

        from agents.training.hybrid.fitting import tensors_of

        self._channel, self._plan, self._status = channel, plan, status
        status.set_activity(Activity.STARTING)
        module, _, name = fit.partition(":")
        self._fit: Callable[..., Outcome] = getattr(importlib.import_module(module), name)
        torch.set_num_threads(plan.threads)
        self._task = tensors_of(task.arrays(), device)
        self._stopped: int | None = None  # the number of the model that is not wanted any more
        self._error: ProtocolError | None = None  # of the connection, while a model was trained
        self._next: tuple[int, Genome] | None = None

    def run(self) -> int:
        self._channel.put(["ready"])
        while True:
            self._status.set_activity(Activity.IDLE)
            self._exchange(PULSE)
            if self._next is not None:
                (number, genome), self._next = self._next, None
                if not self._train(number, genome):
                    return OUT_OF_MEMORY

    def _train(self, number: int, genome: Genome) -> bool:
        """Returns whether this process can train others: after it ran out of memory, its state is unknown."""
        from agents.training.hybrid.fitting import attempt

        self._status.set_activity(Activity.TRAINING)
        result, seconds = attempt(self._fit, genome, self._task, self._plan, self._watcher(number))
        if self._error is not None:
            raise self._error
        match result:
            case Outcome():
                self._send_outcome(number, result)
            case Failure():
                self._channel.send(["failed", number, result.text, result.memory, seconds])
                return not result.memory
            case None:
                self._channel.send(["stopped", number, seconds])
        return True

    def _watcher(self, number: int) -> Callable[[int], bool]:
        def watch(epoch: int) -> bool:
            self._status.set_activity(Activity.TRAINING, epoch)
            try:
                self._exchange(0.0)
            except ProtocolError as error:
                self._error = error
            return self._error is not None or self._stopped == number

        return watch

    def _send_outcome(self, number: int, outcome: Outcome) -> None:
        fields = {field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)}
        body = fields.pop("tensors")
        self._channel.send(["outcome", number, fields], body)

    def _exchange(self, seconds: float) -> None:
        """Handle the messages that have arrived; wait for them at most so long."""
        readable, _, _ = select.select([self._channel.socket], [], [], seconds)
        for fields, body in self._channel.get() if readable else ():
            match fields:
                case ["train", int(number)]:
                    self._next = number, codec.load(Genome, body)
                case ["stop", int(number)]:
                    self._stopped = number
                case _:
                    raise ProtocolError("sent an invalid message")
