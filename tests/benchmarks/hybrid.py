"""The models of a hybrid search: two at a time beside one, in processes, threads and stacks; the cost of each model."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import psutil
import torch
from torch import nn
from torch.nn import functional

from agents.training.hybrid.arrays import local_arrays
from agents.training.hybrid.data import Examples, Task
from agents.training.hybrid.descent import new_step
from agents.training.hybrid.evaluation import Evaluator
from agents.training.hybrid.evaluators import PROCESSES, SEQUENTIAL, THREADS, ConcurrencySettings, new_evaluator
from agents.training.hybrid.fitting import TaskTensors, tensors_of
from agents.training.hybrid.genome import ConvGene, DenseGene, Genome
from agents.training.hybrid.module import Model
from agents.training.hybrid.outcome import LearningPlan, Outcome
from tests.benchmarks.measure import Figure, in_turns, ratio
from tests.benchmarks.stacked_models import StackedModels

WAYS: Mapping[str, tuple[str, int]] = {
    "one at a time": (SEQUENTIAL, 1),
    "one at a time, in a process": (PROCESSES, 1),
    "2 at a time, in processes": (PROCESSES, 2),
    "2 at a time, in threads": (THREADS, 2),
}
FIRST = "one at a time"
POPULATIONS: Mapping[str, Sequence[Genome]] = {
    "fully connected": [
        Genome((), tuple(DenseGene(48 + 16 * (k % 4), normalised=k % 3 == 0) for _ in range(1 + k % 3)))
        for k in range(12)
    ],
    "convolutional": [
        Genome((ConvGene(16 + 4 * (k % 6)), ConvGene(32, 3, 1 + k // 6)), (DenseGene(64),)) for k in range(12)
    ],
}
DENSE = Genome((), (DenseGene(64), DenseGene(64)))
CONVOLUTIONAL = Genome((ConvGene(16), ConvGene(32, 3, 2)), (DenseGene(64),))
ROWS = 128  # of a minibatch
OUTPUTS = 10
TOLERANCE = 1e-4  # of losses after few updates by another order of sums
PLAIN = "torch's modules, autograd and Adam"


def figures(quick: bool) -> Iterator[Figure]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield from _concurrency(quick)
        yield from _overhead(quick)
        yield from _updates(quick)
        yield from _stacks(quick)
    finally:
        torch.set_num_threads(before)


def _task(rows: int) -> Task:
    """Images of 8 x 8, and what a random network answers to them."""
    draws = np.random.default_rng(1)
    inputs = draws.normal(size=(rows, 1, 8, 8)).astype(np.float32)
    hidden = np.tanh(inputs.reshape(rows, -1) @ draws.normal(size=(64, 32)) / 8)
    labels = np.argmax(hidden @ draws.normal(size=(32, OUTPUTS)), 1)
    cut = rows * 4 // 5
    train, select = (
        Examples(inputs[part], labels[part], np.ones(len(labels[part]), np.float32), OUTPUTS)
        for part in (slice(cut), slice(cut, None))
    )
    return Task(train, select)


def _evaluator(task: Task, plan: LearningPlan, mode: str, models: int) -> Evaluator:
    settings = ConcurrencySettings(mode=mode, concurrent_models=models)
    return new_evaluator(task, plan, settings, cores=2, note=lambda text, warning: None)


class Ways:
    """All ways to train the same models, in turns."""

    def __init__(self, task: Task, plan: LearningPlan, genomes: Sequence[Genome]) -> None:
        self._genomes = genomes
        self._evaluators = {name: _evaluator(task, plan, *way) for name, way in WAYS.items()}
        self._found: dict[str, list[Outcome]] = {}
        self.used: dict[str, list[float]] = {name: [] for name in WAYS}  # seconds of processors

    def measure(self, rounds: int) -> dict[str, list[float]]:
        """Seconds of each way in each round."""
        try:
            for name in WAYS:
                self._train(name)  # starts its processes
                self.used[name].clear()
            return in_turns({name: partial(self._train, name) for name in WAYS}, rounds)
        finally:
            for evaluator in self._evaluators.values():
                evaluator.close()

    def _train(self, name: str) -> None:
        evaluator = self._evaluators[name]
        before = _processor_seconds(evaluator)
        outcomes = list(evaluator.evaluate(self._genomes, lambda: False))
        self.used[name].append(_processor_seconds(evaluator) - before)
        self._found[name] = sorted(outcomes, key=lambda outcome: outcome.key)
        if self._found[name] != self._found[FIRST] or any(outcome.error for outcome in outcomes):
            raise AssertionError(f"{name}: other outcomes, so the figures would mean nothing")


def _concurrency(quick: bool) -> Iterator[Figure]:
    """All models of a population, with equal outcomes."""
    task = _task(500 if quick else 4000)
    for what, genomes in POPULATIONS.items():
        ways = Ways(task, LearningPlan(epochs=1 if quick else 5 if genomes[0].convs else 20, patience=0), genomes)
        taken = ways.measure(1 if quick else 5)
        for name in WAYS:
            seconds, used = statistics.median(taken[name]), statistics.median(ways.used[name])
            against = ratio(taken, name, FIRST) if name != FIRST else None
            note = f"{used:.2f} s of processors in {seconds:.2f} s"
            what_way = f"{len(genomes)} {what} models, {name}"
            yield Figure(what_way, 60 * len(genomes) / seconds, "models/min", against, FIRST, note)


def _processor_seconds(evaluator: Evaluator) -> float:
    """Of this process and of those of an evaluator."""
    pids = [state.pid for state in evaluator.states() if state.pid is not None]
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in (None, *pids))


def _overhead(quick: bool) -> Iterator[Figure]:
    """Models that are trained for one minibatch only."""
    task, plan = _task(160), LearningPlan(epochs=1, batch_size=ROWS, patience=0)
    genomes = [Genome((), (DenseGene(8),), learning_rate=0.001 * (k + 1)) for k in range(5 if quick else 50)]
    taken = Ways(task, plan, genomes).measure(1 if quick else 7)
    for name in WAYS:
        against = ratio(taken, name, FIRST) if name != FIRST else None
        value = 1e3 * statistics.median(taken[name]) / len(genomes)
        yield Figure(f"a model of one minibatch, {name}", value, "ms", against, FIRST)


# Updates


class PlainModel:
    """A model as it is usually written in torch, with the weights of another one."""

    def __init__(self, model: Model) -> None:
        genome, planes = model.genome, model.shape[0]
        layers: list[nn.Module] = []
        for gene in genome.convs:
            layers += [nn.Conv2d(planes, gene.channels, gene.kernel, gene.stride, gene.kernel // 2), nn.ReLU()]
            planes = gene.channels
        layers.append(nn.Flatten())
        names = [name for name in model.names if not name.startswith("convs.")]
        for k, name in enumerate(names):
            outputs, inputs = model.parameters.values[f"{name}.weight"].shape
            layers += [nn.Linear(inputs, outputs), nn.ReLU()][: 1 if k == len(names) - 1 else 2]
        self._net, self._shape = nn.Sequential(*layers), model.shape
        known = [torch.from_numpy(tensor) for name, tensor in model.tensors().items() if not name.startswith("value.")]
        with torch.no_grad():
            for parameter, tensor in zip(self._net.parameters(), known, strict=True):
                parameter.copy_(tensor)
        self._optimiser = torch.optim.Adam(self._net.parameters(), genome.learning_rate)

    def update(self, task: TaskTensors, rows: torch.Tensor) -> float:
        inputs = task.train.inputs[rows].view(-1, *self._shape)  # of one plane, which is first and last
        loss = functional.cross_entropy(self._net(inputs), task.train.targets[rows])
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        return loss.item()


class OwnModel:
    """A model as a search trains it."""

    def __init__(self, model: Model) -> None:
        self._model, self._step = model, new_step(model.genome, model.parameters)
        self._total = torch.zeros((), dtype=torch.float64)

    def update(self, task: TaskTensors, rows: torch.Tensor) -> None:
        logits = self._model.forward(task.train.inputs_of(rows))
        self._model.backward(task.train.loss(logits, rows, self._total))
        self._step()

    def take_loss(self, rows: int) -> float:
        """The mean loss of so many rows since the last call."""
        found = float(self._total) / rows
        self._total.zero_()
        return found


def _drawn(genome: Genome, task: TaskTensors, seed: int) -> Model:
    model = Model(genome, task.arrays.shape, OUTPUTS, task.device)
    model.draw(torch.Generator().manual_seed(seed))
    return model


def _updates(quick: bool) -> Iterator[Figure]:
    """One model on one core, beside the same one as it is usually written."""
    task, count = tensors_of(local_arrays(_task(2000)), "cpu"), 3 if quick else 200
    rows = torch.randperm(len(task.arrays.train), generator=torch.Generator().manual_seed(1))[:ROWS]
    for what, genome in (("64-64", DENSE), ("16 and 32 channels, 64", CONVOLUTIONAL)):
        with torch.inference_mode():
            own = OwnModel(_drawn(genome, task, 1))
            own_losses = []
            for _ in range(3):
                own.update(task, rows)
                own_losses.append(own.take_loss(ROWS))
        plain = PlainModel(_drawn(genome, task, 1))
        if not np.allclose([plain.update(task, rows) for _ in range(3)], own_losses, rtol=TOLERANCE):
            raise AssertionError("the two models learn differently: the figures would mean nothing")

        jobs: dict[str, Callable[[], object]] = {
            PLAIN: partial(_repeat, count, partial(plain.update, task, rows)),
            "gradients written out": partial(_repeat_here, count, [partial(own.update, task, rows)]),
        }
        taken = in_turns(jobs, 1 if quick else 9)
        for name in jobs:
            against = ratio(taken, name, PLAIN) if name != PLAIN else None
            value = 1e6 * statistics.median(taken[name]) / count
            yield Figure(f"an update of {what}, {name}", value, "us", against, PLAIN)


def _repeat(count: int, update: Callable[[], object]) -> None:
    for _ in range(count):
        update()


def _repeat_here(count: int, updates: Sequence[Callable[[], object]]) -> None:
    """Updates without autograd."""
    with torch.inference_mode():
        for _ in range(count):
            for update in updates:
                update()


def _stacks(quick: bool) -> Iterator[Figure]:
    """Eight models of one genome: one after the other, and stacked by torch.func."""
    task, models = tensors_of(local_arrays(_task(2000)), "cpu"), 8
    single = "one after the other"
    for what, genome, count in (("64-64", DENSE, 50), ("16 and 32 channels, 64", CONVOLUTIONAL, 5)):
        count = 2 if quick else count
        draws = torch.Generator().manual_seed(1)
        rows = [torch.randperm(len(task.arrays.train), generator=draws)[:ROWS] for _ in range(models)]
        inputs = torch.stack([task.train.inputs[part] for part in rows])
        labels = torch.stack([task.train.targets[part] for part in rows])
        drawn = [_drawn(genome, task, seed) for seed in range(models)]
        stack, singles = StackedModels(drawn), [OwnModel(model) for model in drawn]
        updates = [partial(own.update, task, part) for own, part in zip(singles, rows, strict=True)]
        for _ in range(3):
            losses = stack.update(inputs, labels)
            _repeat_here(1, updates)
            expected = [own.take_loss(ROWS) for own in singles]
            if not np.allclose(losses.numpy(), expected, rtol=TOLERANCE):
                raise AssertionError(f"stacked models learn differently: {losses}, not {expected}")
        equal = sum(
            all(torch.equal(stack.weights[name][k], own) for name, own in model.parameters.values.items())
            for k, model in enumerate(drawn)
        )

        jobs: dict[str, Callable[[], object]] = {
            single: partial(_repeat_here, count, updates),
            "stacked by torch.func": partial(_repeat, count, partial(stack.update, inputs, labels)),
        }
        taken = in_turns(jobs, 1 if quick else 9)
        for name in jobs:
            against = ratio(taken, name, single) if name != single else None
            note = "" if name == single else f"{equal} of {models} models have the same bits after 3 updates"
            value = 1e6 * statistics.median(taken[name]) / count / models
            yield Figure(
                f"an update of each of {models} models of {what}, {name}", value, "us a model", against, single, note
            )
