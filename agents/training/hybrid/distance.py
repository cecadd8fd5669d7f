"""How different genomes are: for diversity, species and novelty."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agents.nets.architecture import SIDES
from agents.training.hybrid.genome import ConvGene, DenseGene, Genome
from agents.training.hybrid.space import DROPOUTS, LEARNING_RATES, SIZES, WEIGHT_DECAYS

LAYERS = 0.75  # share of the layers in a distance; the rest is how a model is trained
SIZE_RANGE = math.log(256 / SIZES[0])  # sizes that differ by this factor differ completely
RATE_RANGE = math.log(100)
DECAY_RANGE = math.log(WEIGHT_DECAYS[1] / WEIGHT_DECAYS[0])


def distance(first: Genome, second: Genome) -> float:
    """From 0 for equal genomes to 1. Layers are compared at the same position, and a missing one differs completely."""
    total = max(len(first.convs), len(second.convs)) + max(len(first.dense), len(second.dense))
    apart = _apart(first.convs, second.convs) + _apart(first.dense, second.dense)
    layers = apart / total if total else 0.0
    return LAYERS * layers + (1 - LAYERS) * _training(first, second)


def _apart(first: Sequence[ConvGene | DenseGene], second: Sequence[ConvGene | DenseGene]) -> float:
    """The sum of the distances of layers."""
    both = sum(_layer(gene, other) for gene, other in zip(first, second, strict=False))
    return both + abs(len(first) - len(second))


def _layer(first: ConvGene | DenseGene, second: ConvGene | DenseGene) -> float:
    parts = [float(first.activation != second.activation), float(first.normalised != second.normalised)]
    if isinstance(first, ConvGene) and isinstance(second, ConvGene):
        parts += [_ratio(first.channels, second.channels, SIZE_RANGE), float(first.stride != second.stride)]
        parts += [abs(first.kernel - second.kernel) / (SIDES[-1] - SIDES[0])]
    elif isinstance(first, DenseGene) and isinstance(second, DenseGene):
        parts += [_ratio(first.width, second.width, SIZE_RANGE)]
    return sum(parts) / len(parts)


def _training(first: Genome, second: Genome) -> float:
    dropout = min(abs(first.dropout - second.dropout) / DROPOUTS[-1], 1.0)
    rates = [_place(genome.learning_rate, LEARNING_RATES[genome.optimiser]) for genome in (first, second)]
    decay = float(first.weight_decay != second.weight_decay)
    if first.weight_decay and second.weight_decay:
        decay = _ratio(first.weight_decay, second.weight_decay, DECAY_RANGE)
    return (dropout + min(abs(rates[0] - rates[1]), 1.0) + float(first.optimiser != second.optimiser) + decay) / 4


def _place(rate: float, limits: tuple[float, float]) -> float:
    """Where a learning rate is in the range of its optimiser, in units of a factor of 100."""
    return math.log(rate / limits[0]) / RATE_RANGE


def _ratio(first: float, second: float, whole: float) -> float:
    """The logarithm of a ratio, as a share of `whole`, at most 1; the same to the bit in both directions."""
    return min(abs(math.log(first) - math.log(second)) / whole, 1.0)


def mean_distance(genomes: Sequence[Genome]) -> float:
    """Of all pairs: the diversity of a population."""
    apart = [distance(genome, other) for k, genome in enumerate(genomes) for other in genomes[:k]]
    return math.fsum(apart) / len(apart) if apart else 0.0
