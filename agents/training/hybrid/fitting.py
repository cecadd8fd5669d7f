"""Trains one model. All ways to train several of them call `fit`, so their outcomes are the same to the bit.

`attempt` is the boundary of what a genome can cause: an error becomes a `Failure`, and other models go on.

A model draws all its random numbers from its own streams: initial weights, the order of the examples in each epoch, and
dropout are functions of the plan's seed and the genome. Of all epochs, the one with the smallest cross-entropy on the
examples for selection counts. The share of correct answers would be the wrong guide: of a hundred examples it has steps
of 1 %, so epochs tie, and the largest of several measured shares is larger than that of any network in truth.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import torch
from safetensors.numpy import save

from agents.training.hybrid.answers import ExampleTensors
from agents.training.hybrid.arrays import TaskArrays
from agents.training.hybrid.descent import new_step
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.memory import PeakMemory
from agents.training.hybrid.module import Model
from agents.training.hybrid.outcome import LearningPlan, Outcome, Result, failure_of
from engine.errors import BadValue
from engine.seeding import derive

CHUNK = 256  # rows that are evaluated at once
INTERVAL = 0.1  # seconds between two calls of `watch`

Watch = Callable[[int], bool]  # gets the current epoch, from 1; returns whether training should stop
Fit = Callable[[Genome, "TaskTensors", LearningPlan, Watch], Outcome]


class Stopped(Exception):  # noqa: N818
    """Training was stopped before its end; there is no outcome."""


class Diverged(Exception):  # noqa: N818
    """The loss or the weights of a model are not finite."""


@dataclass(frozen=True, eq=False)
class TaskTensors:
    """The examples of a task on a device."""

    arrays: TaskArrays
    device: torch.device
    train: ExampleTensors
    select: ExampleTensors


def tensors_of(arrays: TaskArrays, device: str) -> TaskTensors:
    place = torch.device(device)
    return TaskTensors(arrays, place, ExampleTensors(arrays.train, place), ExampleTensors(arrays.select, place))


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Uses so many threads of torch: with other numbers it adds up in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def attempt(fit: Fit, genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> tuple[Result, float]:
    """What `fit` returns, a failure, or None if it was stopped; and the seconds that it took, without those in `watch`,
    which blocks while a session is paused."""
    began, waited = time.perf_counter(), 0.0

    def timed_watch(epoch: int) -> bool:
        nonlocal waited
        since = time.perf_counter()
        try:
            return watch(epoch)
        finally:
            waited += time.perf_counter() - since

    result: Result = None
    try:
        result = fit(genome, task, plan, timed_watch)
    except Stopped:
        pass
    except Exception as error:
        result = failure_of(error)
    if task.device.type == "cuda":  # only now: the error referred to the model's tensors
        with suppress(RuntimeError):  # the device has failed, as the next model will say
            torch.cuda.empty_cache()
    seconds = time.perf_counter() - began - waited
    return (replace(result, seconds=seconds) if isinstance(result, Outcome) else result), seconds


def fit(genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> Outcome:
    """Trains a model on as many threads as torch uses at the moment: set `plan.threads` before. `watch` is called
    before every epoch, and every tenth of a second between two minibatches; this raises Stopped once it returns True.
    A model that diverges, or cannot be trained with this plan, has an outcome with an error; anything else that fails
    raises."""
    parameters = genome.parameters(task.arrays.shape, task.arrays.outputs)
    with PeakMemory() as memory:
        try:
            with torch.inference_mode():
                found = Fitting(genome, task, plan, watch).run()
            outcome = Outcome(genome.key, parameters, *found)
        except (Diverged, BadValue) as error:
            outcome = Outcome(genome.key, parameters, error=str(error))
    return replace(outcome, peak_bytes=memory.peak)


class Fitting:
    """The training of one model."""

    def __init__(self, genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> None:
        self._genome, self._task, self._plan, self._watch = genome, task, plan, watch
        self._key = genome.key
        self._batches = -(-task.train.rows // plan.batch_size)
        self._size = task.train.rows // self._batches  # of equal minibatches, which leave out less than one row of each
        if genome.normalised and self._size < 2:
            raise BadValue("batch_size", self._size, "at least 2 for a model with batch normalisation")
        shape, outputs, device = task.arrays.shape, task.arrays.outputs, task.device
        self._model = Model(genome, shape, outputs, device, self._generator("dropout", device=device))
        self._model.draw(self._generator("weights"))
        self._plain = self._model.plain()
        self._step = new_step(genome, self._model.parameters)
        self._rows = torch.empty(0, dtype=torch.int64)  # of the current epoch, in their order
        self._next_look = 0.0

    def _generator(self, *purpose: str | int, device: torch.device | None = None) -> torch.Generator:
        seed = derive(self._plan.seed, self._key, *purpose)
        return torch.Generator(device or torch.device("cpu")).manual_seed(seed)

    def run(self) -> tuple[float, float, float, int, bytes]:
        """Fitness, loss and training loss of the best epoch, the number of epochs, and the weights."""
        best = kept = None
        best_epoch = epoch = 0
        while epoch < self._plan.epochs and not (self._plan.patience and epoch - best_epoch >= self._plan.patience):
            epoch += 1
            train_loss = self._train(epoch)
            self._model.fold_into(self._plain)
            loss, fitness = self._evaluate(epoch)
            self._look(epoch, train_loss + loss)
            if best is None or loss < best[1]:
                best, best_epoch = (fitness, loss, train_loss), epoch
                kept = self._plain.parameters.flat.clone()
        assert best is not None
        assert kept is not None
        self._plain.parameters.flat.copy_(kept)
        return (*best, epoch, save(self._plain.tensors()))

    def _look(self, epoch: int, loss: float = 0.0) -> None:
        """`loss` may be any part of the loss of this epoch."""
        self._next_look = time.monotonic() + INTERVAL
        if self._watch(epoch):
            raise Stopped
        if not math.isfinite(loss):
            raise Diverged(f"its loss was not finite in epoch {epoch}: a lower learning rate may help")

    def _train(self, epoch: int) -> float:
        """One pass over the examples in a new order; returns the mean loss."""
        train, model, size = self._task.train, self._model, self._size
        order = torch.randperm(train.rows, generator=self._generator("order", epoch)).to(self._task.device)
        total = torch.zeros((), dtype=torch.float64, device=self._task.device)
        self._look(epoch)
        for at in range(0, self._batches * size, size):
            rows = order[at : at + size]
            logits = model.forward(train.inputs_of(rows))
            model.backward(train.loss(logits, rows, total))
            self._step()
            if time.monotonic() >= self._next_look:
                self._look(epoch, float(total))
        return float(total) / (self._batches * size)

    def _evaluate(self, epoch: int) -> tuple[float, float]:
        """Mean cross-entropy and the share of correct answers of the network that plays, on the examples for
        selection."""
        select, totals = self._task.select, torch.zeros(3, dtype=torch.float64, device=self._task.device)
        chunk = torch.zeros(CHUNK, select.inputs.shape[1], device=self._task.device)
        for at in range(0, select.rows, CHUNK):
            rows = slice(at, min(at + CHUNK, select.rows))
            count = rows.stop - at
            chunk[:count] = select.inputs[rows]
            select.score(self._plain.forward(chunk)[:count], rows, totals)
            if time.monotonic() >= self._next_look:
                self._look(epoch)
        loss, right, weights = totals.tolist()
        return loss / weights, min(right / weights, 1.0)  # sums of weights are rounded
