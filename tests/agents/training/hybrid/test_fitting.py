"""Training one model: what it learns, when it ends, and what its outcome says."""

from __future__ import annotations

import random
import weakref
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load
from torch.nn import functional

from agents.training.hybrid import fitting, neuroevolution
from agents.training.hybrid.arrays import NAMES, ExampleArrays, local_arrays, shared_task
from agents.training.hybrid.data import Task
from agents.training.hybrid.fitting import Stopped, TaskTensors, Watch, attempt, fit, tensors_of, torch_threads
from agents.training.hybrid.genome import SGD, ConvGene, DenseGene, Genome
from agents.training.hybrid.outcome import LearningPlan, Outcome
from agents.training.hybrid.search_state import network_of
from tests.agents.training.hybrid.model_tasks import (
    examples,
    image_genomes,
    logits_of,
    spiral_task,
    stripe_task,
)

PLAN = LearningPlan(epochs=4, batch_size=32, patience=0)
SMALL = Genome((), (DenseGene(8),), learning_rate=0.01)


def never(epoch: int) -> bool:
    return False


def trained(genome: Genome, task: Task, plan: LearningPlan = PLAN, watch: Watch = never) -> Outcome:
    with torch_threads(1):
        return fit(genome, tensors_of(local_arrays(task), "cpu"), plan, watch)


def test_a_model_learns_two_spirals() -> None:
    genome = Genome((), (DenseGene(64, "tanh"), DenseGene(64, "relu")), learning_rate=0.01)
    outcome = trained(genome, spiral_task(), LearningPlan(epochs=150, batch_size=64, patience=30))
    assert outcome.fitness is not None
    assert outcome.fitness > 0.95
    assert outcome.error == ""


@pytest.mark.parametrize("genome", image_genomes(), ids=lambda genome: genome.key[:6])
def test_an_outcome_says_what_the_network_of_its_best_epoch_answers(genome: Genome) -> None:
    task = stripe_task()
    outcome = trained(genome, task)
    logits = logits_of(load(outcome.tensors), genome, task.select.inputs)
    targets = torch.from_numpy(task.select.targets)
    assert outcome.loss == pytest.approx(float(functional.cross_entropy(logits, targets)), rel=1e-4)
    assert outcome.fitness == pytest.approx(float((logits.argmax(1) == targets).float().mean()), abs=0.011)
    assert (outcome.fitness or 0) > 0.5
    assert outcome.parameters == genome.parameters(task.shape, task.outputs)
    assert (outcome.key, outcome.epochs, outcome.attempts) == (genome.key, 4, 1)


@pytest.mark.parametrize("genome", image_genomes(), ids=lambda genome: genome.key[:6])
def test_a_trained_network_plays_as_it_was_judged(genome: Genome) -> None:
    task = stripe_task()
    outcome = trained(genome, task)
    network = network_of(genome, outcome.tensors, task.shape, task.outputs)
    played = neuroevolution.logits_of(network, task.select.inputs)
    judged = logits_of(load(outcome.tensors), genome, task.select.inputs).numpy()
    assert np.abs(played - judged).max() < 1e-4
    first, second = np.sort(judged, 1)[:, -1], np.sort(judged, 1)[:, -2]
    clear = first - second > 1e-3
    assert clear.sum() > 90
    assert np.array_equal(played.argmax(1)[clear], judged.argmax(1)[clear])
    right = (played.argmax(1) == task.select.targets).mean()
    assert outcome.fitness == pytest.approx(right, abs=0.011)


def test_a_model_depends_on_its_genome_and_the_seed_alone() -> None:
    torch_state, numpy_state, state = torch.random.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # type: ignore[index]
    genome, task = replace(SMALL, dropout=0.2), stripe_task()
    first = trained(genome, task)
    torch.manual_seed(99)
    assert trained(genome, task) == first
    others = [trained(genome, task, replace(PLAN, seed=1)), trained(replace(genome, weight_decay=0.01), task)]
    assert len({first.tensors, *(other.tensors for other in others)}) == 3
    torch.random.set_rng_state(torch_state)
    trained(genome, task)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # type: ignore[index]
    assert random.getstate() == state


def test_shared_memory_gives_the_same_outcome() -> None:
    for task in (stripe_task(), spiral_task()):
        with torch_threads(1):
            shared = fit(SMALL, tensors_of(shared_task(task).arrays(), "cpu"), PLAN, never)
        assert shared == trained(SMALL, task)


def at_offset(array: NDArray[Any] | None, size: int) -> NDArray[Any] | None:
    """A copy that begins so many bytes after a cache line, or the next place that its type allows."""
    if array is None:
        return None
    memory = np.zeros(array.nbytes + 256, np.uint8)
    first = -memory.ctypes.data % 64 + -(-size // array.itemsize) * array.itemsize
    copy = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def test_the_place_of_examples_in_memory_makes_no_difference() -> None:
    draws = np.random.default_rng(1)
    shares = draws.dirichlet(np.ones(5), 301).astype(np.float32)
    weights = draws.uniform(0.1, 3.0, 301).astype(np.float32)
    legal = np.ones((301, 5), np.uint8)
    for targets in (shares, shares.argmax(1)):
        part = examples(draws.normal(size=(301, 7)), targets, 5, weights=weights, legal=legal)
        local = local_arrays(Task(part, part))
        found = []
        for size in range(0, 64, 4):
            parts = [
                ExampleArrays(*(at_offset(getattr(side, name), size) for name in NAMES))  # type: ignore[arg-type]
                for side in (local.train, local.select)
            ]
            with torch_threads(1):
                found.append(
                    fit(SMALL, tensors_of(replace(local, train=parts[0], select=parts[1]), "cpu"), PLAN, never)
                )
        assert all(outcome == found[0] for outcome in found)


def test_training_ends_after_epochs_without_a_smaller_loss_and_keeps_the_best_one() -> None:
    draws = np.random.default_rng(1)
    noise = examples(draws.normal(size=(60, 5)), draws.integers(0, 2, 60), 2)
    other = examples(draws.normal(size=(60, 5)), draws.integers(0, 2, 60), 2)
    genome, plan = Genome((), (DenseGene(64),), learning_rate=0.01), LearningPlan(epochs=40, batch_size=20)
    outcome = trained(genome, Task(noise, other), replace(plan, patience=3))
    best = outcome.epochs - 3
    assert 0 < best < 37
    assert trained(genome, Task(noise, other), replace(plan, epochs=best, patience=0)) == replace(outcome, epochs=best)
    assert trained(genome, Task(noise, other), replace(plan, patience=0)).epochs == 40


def test_examples_count_as_much_as_their_weights() -> None:
    inputs = np.repeat(np.eye(2, dtype=np.float32), 50, axis=0)
    labels = np.tile(np.array([0, 1], np.int64), 50)  # both answers to both inputs
    weights = np.where(labels == np.repeat([0, 1], 50), 3.0, 1.0).astype(np.float32)
    weighted = examples(inputs, labels, 2, weights=weights)
    outcome = trained(Genome((), (), learning_rate=0.1), Task(weighted, weighted), replace(PLAN, epochs=60))
    logits = logits_of(load(outcome.tensors), Genome(), np.eye(2, dtype=np.float32))
    assert torch.softmax(logits, 1).numpy() == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]), abs=0.04)
    assert outcome.fitness == pytest.approx(0.75)


def test_outputs_that_are_not_legal_are_neither_learned_nor_chosen() -> None:
    draws = np.random.default_rng(1)
    inputs = draws.normal(size=(200, 3)).astype(np.float32)
    legal = np.ones((200, 3), np.uint8)
    legal[:, 2] = 0
    labels = (inputs[:, 0] > 0).astype(np.int64)
    masked = examples(inputs, labels, 3, legal=legal)
    outcome = trained(SMALL, Task(masked, masked), replace(PLAN, epochs=20))
    assert outcome.fitness is not None
    assert outcome.fitness > 0.95
    tensors = load(outcome.tensors)
    assert not tensors["policy.bias"][2]  # it has never had a gradient
    open_task = examples(inputs, np.full(200, 2, np.int64), 3)
    assert trained(SMALL, Task(open_task, masked)).fitness == pytest.approx(0.5, abs=0.2), "it would choose 2"


def test_probabilities_are_learned_and_each_of_the_largest_is_correct() -> None:
    inputs = np.repeat(np.eye(3, dtype=np.float32), 40, axis=0)
    shares = np.repeat(np.array([[0.5, 0.5, 0], [0.1, 0.2, 0.7], [0.2, 0.8, 0]], np.float32), 40, axis=0)
    known = examples(inputs, shares, 3)
    outcome = trained(Genome((), (), learning_rate=0.1), Task(known, known), replace(PLAN, epochs=100))
    logits = logits_of(load(outcome.tensors), Genome(), np.eye(3, dtype=np.float32))
    assert torch.softmax(logits, 1).numpy() == pytest.approx(shares[::40], abs=0.03)
    assert outcome.fitness == 1.0
    legal = (shares > 0).astype(np.uint8)
    masked = examples(inputs, shares, 3, legal=legal)
    assert trained(Genome((), (), learning_rate=0.1), Task(masked, masked), replace(PLAN, epochs=40)).fitness == 1.0


def test_labels_and_probabilities_of_one_are_the_same_task() -> None:
    task = stripe_task()
    parts = [examples(part.inputs, np.eye(4, dtype=np.float32)[part.targets], 4) for part in (task.train, task.select)]
    first, second = trained(SMALL, task), trained(SMALL, Task(*parts))
    assert second.fitness == first.fitness
    assert second.loss == pytest.approx(first.loss, rel=1e-4)


def test_a_loss_that_is_not_finite_is_an_error_and_no_fitness() -> None:
    task = spiral_task()
    large = Task(replace(task.train, inputs=task.train.inputs * np.float32(1e18)), task.select)
    outcome = trained(Genome((), (DenseGene(8),), optimiser=SGD, learning_rate=10.0), large)
    assert outcome.error == "its loss was not finite in epoch 1: a lower learning rate may help"
    assert (outcome.fitness, outcome.loss, outcome.epochs, outcome.tensors) == (None, None, 0, b"")


def test_a_model_with_normalisation_cannot_learn_from_single_examples() -> None:
    normalised = Genome((ConvGene(3, normalised=True),), ())
    assert trained(normalised, stripe_task(), replace(PLAN, batch_size=1)).error.startswith("batch_size = 1: must be")
    assert trained(Genome((ConvGene(3),), ()), stripe_task(20), replace(PLAN, batch_size=1)).fitness is not None


def test_minibatches_are_of_equal_size_and_leave_out_hardly_any_example() -> None:
    seen: list[int] = []
    task = tensors_of(local_arrays(stripe_task(103)), "cpu")
    inputs_of = task.train.inputs_of
    task.train.inputs_of = lambda rows: seen.append(len(set(rows.tolist()))) or inputs_of(rows)  # type: ignore[method-assign, func-returns-value]
    with torch_threads(1):
        fit(SMALL, task, replace(PLAN, epochs=2, batch_size=20), never)
    assert seen == [17] * 6 * 2


def test_training_stops_in_the_middle_of_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "INTERVAL", 0.0)
    calls = count(1)
    epochs: list[int] = []

    def watch(epoch: int) -> bool:
        epochs.append(epoch)
        return next(calls) == 12

    with pytest.raises(Stopped):
        trained(SMALL, stripe_task(), replace(PLAN, batch_size=20), watch)
    assert epochs[-1] == 1, "there are ten minibatches, and a look before each epoch"
    assert len(epochs) == 12


class Kept:
    """What a model keeps in memory."""


@pytest.mark.parametrize("error", [None, ValueError, RuntimeError, Stopped])
def test_the_memory_of_a_gpu_is_given_back_after_each_model(
    error: type[Exception] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a GPU: a model that has nothing there, and what is called after it."""
    alive: list[weakref.ref[Kept]] = []
    seen: list[bool] = []

    def fit_on_gpu(genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> Outcome:
        kept = Kept()
        alive.append(weakref.ref(kept))
        if error is not None:
            raise error("it broke")
        return Outcome(genome.key, 1, 0.5)

    def empty_cache() -> None:
        seen.append(alive[-1]() is not None)
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(torch.cuda, "empty_cache", empty_cache)
    local = tensors_of(local_arrays(spiral_task()), "cpu")
    attempt(fit_on_gpu, SMALL, replace(local, device=torch.device("cuda:1")), PLAN, never)
    assert seen == [False], "after the model's tensors are gone, also those that an error refers to"
    attempt(fit_on_gpu, SMALL, local, PLAN, never)
    assert len(seen) == 1, "there is nothing to give back"


def test_more_memory_is_needed_for_larger_models() -> None:
    small = trained(SMALL, stripe_task()).peak_bytes
    large = trained(Genome((), (DenseGene(4000), DenseGene(1000))), stripe_task(), replace(PLAN, epochs=1))
    assert large.parameters > 4_000_000
    assert small < 32 << 20
    assert large.peak_bytes == 0 or 4 * large.parameters < large.peak_bytes < 60 * large.parameters
