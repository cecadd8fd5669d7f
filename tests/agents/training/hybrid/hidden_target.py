"""Outcomes without training: fitness is the nearness to a hidden genome, so a search can be tested in a moment."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from safetensors.numpy import save

from agents.training.hybrid.distance import distance
from agents.training.hybrid.genome import ConvGene, DenseGene, Genome
from agents.training.hybrid.outcome import LearningPlan, Outcome
from agents.training.hybrid.search import Search
from agents.training.hybrid.search_settings import SearchSettings

SHAPE, OUTPUTS = (1, 8, 8), 10
CONVS = (ConvGene(24, 5, 1, "silu", True), ConvGene(48, 3, 2, "relu", True))
TARGET = Genome(CONVS, (DenseGene(96, "elu"),), 0.2, "adamw", 2e-3, 1e-4)


def outcome_of(genome: Genome, failing: bool = False) -> Outcome:
    parameters = genome.parameters(SHAPE, OUTPUTS)
    if failing:
        return Outcome(genome.key, parameters, error="its loss was not finite", attempts=2)
    fitness = 1.0 - distance(genome, TARGET)
    return Outcome(genome.key, parameters, fitness, 1.0 - fitness, 0.5, 3, tensors_of(genome), seconds=0.5)


def tensors_of(genome: Genome) -> bytes:
    """Tensors of the right shapes, different for every genome."""
    (number,) = struct.unpack("<I", bytes.fromhex(genome.key)[:4])
    shapes = genome.architecture.shapes(SHAPE, OUTPUTS)
    return save({name: np.full(shape, number % 1000, np.float32) for name, shape in shapes.items()})


class HiddenTarget:
    """A model evaluator that trains nothing, and counts. `order` changes the order of the outcomes."""

    def __init__(
        self,
        failing: Callable[[Genome], bool] = lambda genome: False,
        order: Callable[[Sequence[Genome]], Sequence[Genome]] = lambda genomes: genomes,
    ) -> None:
        self.trained: list[Genome] = []
        self._failing, self._order = failing, order

    def evaluate(self, genomes: Sequence[Genome], stop: Callable[[], bool]) -> Iterator[Outcome]:
        for genome in self._order(genomes):
            if stop():
                return
            self.trained.append(genome)
            yield outcome_of(genome, self._failing(genome))

    def close(self) -> None:
        pass


def new_search(seed: int = 1, **settings: object) -> Search:
    return Search(SearchSettings(seed=seed, **settings), SHAPE, OUTPUTS, LearningPlan())  # type: ignore[arg-type]


def run(search: Search, evaluator: HiddenTarget | None = None) -> Search:
    """To its end."""
    evaluator = evaluator or HiddenTarget()
    while search.end_reason() is None:
        for outcome in evaluator.evaluate(search.pending(), lambda: False):
            search.tell(outcome)
        search.advance()
    return search
