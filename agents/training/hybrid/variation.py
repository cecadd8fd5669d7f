"""Makes genomes: at random, from one genome by mutation, and from two by crossover. All of them fit their space."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from agents.nets.architecture import ACTIVATIONS
from agents.training.hybrid.draws import Draws, three_digits
from agents.training.hybrid.genome import OPTIMISERS, ConvGene, DenseGene, Genome
from agents.training.hybrid.space import DROPOUTS, LEARNING_RATES, WEIGHT_DECAYS, Space

T = TypeVar("T")
Layer = TypeVar("Layer", ConvGene, DenseGene)

TRIES = 20  # until a genome is within the budget, or differs from those before; then the simpler way is taken
TRAINING_GENES = 4  # dropout, optimiser, learning rate, weight decay
REDRAWN = 0.2  # share of changed sizes and rates that are drawn anew; the others move a little
RATE_STEP = 3.0  # by which factor a learning rate or weight decay moves at most


def random_genome(space: Space, draws: Draws) -> Genome:
    """Any number of layers that the space allows, at least one; sizes and rates by order of magnitude.

    Fully connected heads for the actions of a board game can be larger than the budget: of the genomes that have too
    many parameters, those with convolutions keep them alone where the head can be a convolution too."""
    genome = _random(space, draws)
    for _ in range(TRIES):
        for found in (genome, space.with_planes(genome)):
            if space.fits(found):
                return found
        genome = _random(space, draws)
    return space.repaired(genome)


def _random(space: Space, draws: Draws) -> Genome:
    layers = draws.below(space.most_convs + 1), draws.below(space.max_dense + 1)
    if not any(layers):
        layers = (0, 1) if space.max_dense else (1, 0)
    convs: tuple[ConvGene, ...] = ()
    for _ in range(layers[0]):
        convs = (*convs, _random_conv(space, convs, len(convs), draws))
    dense = tuple(_random_dense(space, draws) for _ in range(layers[1]))
    dropout = draws.one_of(DROPOUTS) if draws.happens(0.5) else 0.0
    optimiser = draws.one_of(OPTIMISERS)
    rate = draws.scaled(*LEARNING_RATES[optimiser])
    return Genome(convs, dense, dropout, optimiser, rate, draws.scaled(*WEIGHT_DECAYS) if draws.happens(0.5) else 0.0)


def _random_conv(space: Space, convs: Sequence[ConvGene], place: int, draws: Draws) -> ConvGene:
    kernels, strides = space.kernels(convs, place)
    stride = strides[-1] if draws.happens(1 / 3) else strides[0]
    kernel, channels = draws.one_of(kernels), draws.one_of(space.channels)
    return ConvGene(channels, kernel, stride, draws.one_of(ACTIVATIONS), draws.happens(0.5))


def _random_dense(space: Space, draws: Draws) -> DenseGene:
    return DenseGene(draws.one_of(space.widths), draws.one_of(ACTIVATIONS), draws.happens(0.5))


def vary(genome: Genome, rate: float, space: Space, draws: Draws) -> Genome:
    """With probability `rate` each: a layer is added or removed, a property of a layer changes (for every layer), and
    dropout, optimiser, learning rate and weight decay change. By chance it may be the same genome."""
    return space.repaired(_changed(genome, lambda: draws.happens(rate), space, draws))


def mutate(genome: Genome, rate: float, space: Space, draws: Draws) -> Genome:
    """As `vary`, but something changes in any case: one thing, if chance has chosen none."""
    for _ in range(TRIES):
        if (changed := vary(genome, rate, space, draws)) != genome:
            return changed
        only = draws.below(1 + len(genome.convs) + len(genome.dense) + TRAINING_GENES)
        if (changed := space.repaired(_changed(genome, _only(only), space, draws))) != genome:
            return changed
    low, high = LEARNING_RATES[genome.optimiser]  # in a space of one architecture, the learning rate still differs
    return replace(genome, learning_rate=low if genome.learning_rate != low else high)


def _only(place: int) -> Callable[[], bool]:
    """True for this call only."""
    places = itertools.count()
    return lambda: next(places) == place


def _changed(genome: Genome, chosen: Callable[[], bool], space: Space, draws: Draws) -> Genome:
    """`chosen` is asked once for each place where a genome can change, in this order."""
    layers_change = chosen()
    convs = tuple(
        _changed_conv(genome.convs, k, space, draws) if chosen() else gene for k, gene in enumerate(genome.convs)
    )
    dense = tuple(_changed_dense(gene, space, draws) if chosen() else gene for gene in genome.dense)
    dropout = _neighbour(DROPOUTS, genome.dropout, draws) if chosen() else genome.dropout
    optimiser, rate = genome.optimiser, genome.learning_rate
    if chosen():
        optimiser = _another(OPTIMISERS, optimiser, draws)
        rate = _moved_range(rate, LEARNING_RATES[genome.optimiser], LEARNING_RATES[optimiser])
    if chosen():
        rate = _changed_rate(rate, LEARNING_RATES[optimiser], draws)
    decay = genome.weight_decay
    if chosen():
        decay = 0.0 if decay and draws.happens(0.3) else _changed_rate(decay, WEIGHT_DECAYS, draws)
    changed = Genome(convs, dense, dropout, optimiser, rate, decay)
    return _with_other_layers(changed, space, draws) if layers_change else changed


def _with_other_layers(genome: Genome, space: Space, draws: Draws) -> Genome:
    """With one layer more or less."""
    convs, dense = genome.convs, genome.dense
    ways = ["add conv"] * (len(convs) < space.most_convs) + ["add dense"] * (len(dense) < space.max_dense)
    if len(convs) + len(dense) > 1:
        ways += ["remove conv"] * bool(convs) + ["remove dense"] * bool(dense)
    if not ways:
        return genome
    way = draws.one_of(ways)
    if way == "add conv":
        place = draws.below(len(convs) + 1)
        convs = space.fitted((*convs[:place], _random_conv(space, convs, place, draws), *convs[place:]))
    elif way == "add dense":
        place = draws.below(len(dense) + 1)
        dense = (*dense[:place], _random_dense(space, draws), *dense[place:])
    elif way == "remove conv":
        convs = _without(convs, draws)
    else:
        dense = _without(dense, draws)
    return replace(genome, convs=convs, dense=dense)


def _without(layers: tuple[Layer, ...], draws: Draws) -> tuple[Layer, ...]:
    place = draws.below(len(layers))
    return layers[:place] + layers[place + 1 :]


def _changed_conv(convs: Sequence[ConvGene], place: int, space: Space, draws: Draws) -> ConvGene:
    gene, (kernels, strides) = convs[place], space.kernels(convs, place)
    what = draws.one_of(("channels", "channels", "kernel", "stride", "activation", "normalised"))
    if what == "channels":
        return replace(gene, channels=_other_size(space.channels, gene.channels, draws))
    if what == "kernel":
        return replace(gene, kernel=_another(kernels, gene.kernel, draws))
    if what == "stride":
        return replace(gene, stride=_another(strides, gene.stride, draws))
    return _changed_layer(gene, what, draws)


def _changed_dense(gene: DenseGene, space: Space, draws: Draws) -> DenseGene:
    what = draws.one_of(("width", "width", "activation", "normalised"))
    if what == "width":
        return replace(gene, width=_other_size(space.widths, gene.width, draws))
    return _changed_layer(gene, what, draws)


def _changed_layer(gene: Layer, what: str, draws: Draws) -> Layer:
    if what == "activation":
        return replace(gene, activation=_another(ACTIVATIONS, gene.activation, draws))
    return replace(gene, normalised=not gene.normalised)


def _other_size(sizes: Sequence[int], size: int, draws: Draws) -> int:
    """One or two steps larger or smaller, seldom any."""
    return _another(sizes, size, draws) if draws.happens(REDRAWN) else _neighbour(sizes, size, draws, 2)


def _changed_rate(value: float, limits: tuple[float, float], draws: Draws) -> float:
    low, high = limits
    if not value or draws.happens(REDRAWN):
        return draws.scaled(low, high)
    return min(max(three_digits(value * draws.scaled(1 / RATE_STEP, RATE_STEP)), low), high)


def _moved_range(value: float, before: tuple[float, float], after: tuple[float, float]) -> float:
    """A learning rate at the same place in the range of another optimiser; the ranges are whole factors apart."""
    return min(max(three_digits(value * after[0] / before[0]), after[0]), after[1])


def _another(values: Sequence[T], value: T, draws: Draws) -> T:
    """One of the other values; the same one if there is no other."""
    others = [other for other in values if other != value]
    return draws.one_of(others) if others else value


def _neighbour(values: Sequence[T], value: T, draws: Draws, reach: int = 1) -> T:
    """Another value of a scale, at most `reach` steps away."""
    place = values.index(value) if value in values else len(values) // 2
    return _another(values[max(place - reach, 0) : place + reach + 1], value, draws)


def crossover(first: Genome, second: Genome, space: Space, draws: Draws) -> Genome:
    """A genome whose genes are all from its parents. Layers are aligned by position, convolutions and fully connected
    layers each for themselves; there are as many as in one of the parents. Optimiser and learning rate stay together:
    what is a good rate for one optimiser is none for another. The first parent, if no such genome fits the space."""
    for _ in range(TRIES):
        parents = first, second
        trained = draws.one_of(parents)
        child = Genome(
            _crossed(first.convs, second.convs, draws),
            _crossed(first.dense, second.dense, draws),
            draws.one_of(parents).dropout,
            trained.optimiser,
            trained.learning_rate,
            draws.one_of(parents).weight_decay,
        )
        if space.fits(child):
            return child
    return first


def _crossed(first: tuple[Layer, ...], second: tuple[Layer, ...], draws: Draws) -> tuple[Layer, ...]:
    count = len(draws.one_of((first, second)))
    return tuple(draws.one_of([layers[k] for layers in (first, second) if k < len(layers)]) for k in range(count))
