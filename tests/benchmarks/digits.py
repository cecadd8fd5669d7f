"""`python -m tests.benchmarks.digits`: what the search finds on scikit-learn's digits, beside random search.

For each seed, three models are compared on images that neither training nor selection has seen: the best one of the
search, the best one of its first generation, and the best one of as many models as the search has trained, drawn at
random. All are trained by the same plan, and chosen by the same examples.

The last third of the images is the test, the same for all seeds: in the order of the data set, its images are probably
by other writers than the first ones. The rest is divided into images for training and for selection by each seed.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

from agents.training.hybrid.evaluators import ConcurrencySettings, new_evaluator
from agents.training.hybrid.individuals import layers_text
from agents.training.hybrid.members import Member
from agents.training.hybrid.neuroevolution import HybridNeuroevolution, logits_of
from agents.training.hybrid.search_state import network_of
from engine.league.statistics import Z, interval
from engine.processes.bootstrap import cores

SEARCH, FIRST, RANDOM = KINDS = ("search", "first generation", "random search")
TEST = 598  # images
TRAIN = 799  # images; the other 400 are for selection
CONFIG: Mapping[str, Any] = {
    "population_size": 24, "max_generations": 50, "search_patience": 0, "max_parameters": 1000, "num_epochs": 5,
    "batch_size": 32,
}  # fmt: skip
QUICK: Mapping[str, Any] = {**CONFIG, "population_size": 8, "max_generations": 4, "max_parameters": 5000}
Right = NDArray[np.bool_]  # [images]


@dataclass(frozen=True, eq=False)
class Trial:
    """One seed."""

    seed: int
    models: int  # that the search has trained, and the random search too
    right: Mapping[str, Right]  # by kind: which test images were answered correctly
    fitness: Mapping[str, float]
    layers: Mapping[str, str]
    seconds: float


def data(seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any], tuple[Any, Any]]:
    """Inputs and labels for training, selection and the test."""
    digits = load_digits()
    inputs, labels = (digits.images[:, None] / 16).astype(np.float32), digits.target.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(inputs) - TEST)
    train, select, test = order[:TRAIN], order[TRAIN:], np.arange(len(inputs) - TEST, len(inputs))
    return (inputs[train], labels[train]), (inputs[select], labels[select]), (inputs[test], labels[test])


def run_trial(seed: int, config: Mapping[str, Any]) -> Trial:
    train, select, (inputs, labels) = data(seed)
    began = time.perf_counter()
    search = HybridNeuroevolution({**config, "seed": seed}, train, select)
    search.evolve()
    models = sum(generation.evaluated for generation in search.history)
    drawn = {**config, "seed": seed, "population_size": models, "max_generations": 1}
    random = HybridNeuroevolution(drawn, train, select)
    random.evolve()
    first = min(
        (member for member in search.individuals if member.candidate.generation == 1),
        key=lambda member: member.standing,
    )
    assert search.best is not None
    assert random.best is not None
    best = {SEARCH: search.best, FIRST: first, RANDOM: random.best}
    right = {
        SEARCH: search.predict(inputs).argmax(axis=1) == labels,
        FIRST: _answers(first, search, inputs) == labels,
        RANDOM: random.predict(inputs).argmax(axis=1) == labels,
    }
    fitness = {name: member.fitness or 0.0 for name, member in best.items()}
    layers = {name: layers_text(member.genome) for name, member in best.items()}
    return Trial(seed, models, right, fitness, layers, time.perf_counter() - began)


def _answers(member: Member, search: HybridNeuroevolution, inputs: NDArray[np.float32]) -> NDArray[np.int64]:
    """Of a model whose weights were not kept: it is trained again, to the same bits."""
    plan, settings = search.config.plan, ConcurrencySettings(mode="sequential")
    with new_evaluator(search.task, plan, settings, cores=1, note=lambda text, warning: None) as evaluator:
        [outcome] = evaluator.evaluate([member.genome], lambda: False)
    assert outcome == member.outcome or outcome.fitness == member.fitness
    network = network_of(member.genome, outcome.tensors, search.task.shape, search.task.outputs)
    found: NDArray[np.int64] = logits_of(network, inputs).argmax(axis=1)
    return found


@dataclass(frozen=True)
class Difference:
    """Of the shares of correct answers of two models to the same images."""

    mean: float
    low: float
    high: float
    gained: int  # answers that only the first one gives correctly
    lost: int
    p: float  # McNemar's exact test; of several seeds: only as if they were of different images


def difference(pairs: Sequence[tuple[Right, Right]]) -> Difference:
    """For each image, the mean over seeds of the difference of two answers is one value; the 95 % interval follows from
    the standard error of these values over the images. So seeds that err on the same images do not count twice."""
    values = np.mean([first.astype(float) - second for first, second in pairs], axis=0)
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    gained = sum(int((first & ~second).sum()) for first, second in pairs)
    lost = sum(int((second & ~first).sum()) for first, second in pairs)
    p = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return Difference(mean, mean - Z * error, mean + Z * error, gained, lost, p)


def trial_lines(trial: Trial) -> Iterator[str]:
    yield f"seed {trial.seed}: {trial.models} models by each search, {trial.seconds:.0f} s"
    for name in KINDS:
        right = trial.right[name]
        low, high = interval(float(right.sum()), len(right))
        text = f"test {right.mean():.4f} ({low:.4f} to {high:.4f}), selection {trial.fitness[name]:.4f}"
        yield f"  {name:16} {text}: {trial.layers[name]}"
    for other in (FIRST, RANDOM):
        yield f"  search - {other}: {_text(difference([(trial.right[SEARCH], trial.right[other])]))}"


def all_lines(trials: Sequence[Trial]) -> Iterator[str]:
    yield f"all {len(trials)} seeds"
    for name in KINDS:
        shares = [float(trial.right[name].mean()) for trial in trials]
        yield f"  {name:16} test {statistics.mean(shares):.4f}, by seed {', '.join(f'{share:.4f}' for share in shares)}"
    for other in (FIRST, RANDOM):
        pairs = [(trial.right[SEARCH], trial.right[other]) for trial in trials]
        yield f"  search - {other}: {_text(difference(pairs))}"


def _text(found: Difference) -> str:
    interval_text = f"{100 * found.mean:+.2f} points ({100 * found.low:+.2f} to {100 * found.high:+.2f})"
    return f"{interval_text}, +{found.gained} -{found.lost} answers, McNemar p = {found.p:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.digits", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works; not to be quoted")
    options = parser.parse_args()
    began, load = time.perf_counter(), os.getloadavg()[0]
    trials = []
    for seed in options.seeds:
        trials.append(run_trial(seed, QUICK if options.quick else CONFIG))
        print("\n".join(trial_lines(trials[-1])), flush=True)
    print("\n".join(all_lines(trials)))
    seconds = time.perf_counter() - began
    print(f"{seconds:.0f} s on {cores()} cores, load {load:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
