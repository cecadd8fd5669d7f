"""The genomes that a search may try: limits of layers, sizes and parameters for inputs of one shape."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agents.nets.architecture import MOST_CHANNELS, MOST_LAYERS, SIDES, STRIDES, WIDEST
from agents.training.hybrid.genome import ADAM, ADAMW, SGD, ConvGene, DenseGene, Genome
from engine.errors import BadValue

# Sizes of layers, each about 1.4 times the one before: smaller steps rarely change a result by more than chance.
SIZES = tuple(size for power in range(2, 13) for size in (2**power, 3 * 2 ** (power - 1)) if size <= WIDEST)
DROPOUTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
LEARNING_RATES = {ADAM: (1e-4, 3e-2), ADAMW: (1e-4, 3e-2), SGD: (1e-3, 0.5)}
WEIGHT_DECAYS = (1e-6, 1e-2)  # or none
LARGEST_INPUT = 1 << 24  # numbers
MOST_OUTPUTS = 1 << 20


@dataclass(frozen=True)
class Space:
    """Every genome that is drawn, bred or read is checked by `fits`."""

    shape: tuple[int, ...]  # of an input: planes, rows and columns of an image, or the length of a vector
    outputs: int
    max_parameters: int = 200_000
    max_convs: int = 3  # no effect on vectors
    max_dense: int = 3
    max_channels: int = 64
    max_width: int = 256

    def __post_init__(self) -> None:
        if len(self.shape) not in (1, 3) or not all(1 <= size <= LARGEST_INPUT for size in self.shape):
            raise BadValue("shape of inputs", self.shape, "a length, or planes, height and width")
        if math.prod(self.shape) > LARGEST_INPUT:
            raise BadValue("shape of inputs", self.shape, f"at most {LARGEST_INPUT:,} numbers")
        if not 1 <= self.outputs <= MOST_OUTPUTS:
            raise BadValue("outputs", self.outputs, f"from 1 to {MOST_OUTPUTS:,}")
        for name, value, low, high in (
            ("max_convs", self.max_convs, 0, MOST_LAYERS),
            ("max_dense", self.max_dense, 0, MOST_LAYERS),
            ("max_channels", self.max_channels, SIZES[0], MOST_CHANNELS),
            ("max_width", self.max_width, SIZES[0], WIDEST),
        ):
            if not low <= value <= high:
                raise BadValue(name, value, f"from {low} to {high}")
        if not self.most_convs and not self.max_dense:
            raise BadValue("max_dense", 0, "at least 1: otherwise no model has a layer")
        if (fewest := self.parameters(self.smallest)) > self.max_parameters:
            sizes = " x ".join(map(str, self.shape))
            needed = f"at least {fewest:,}, for the smallest model with {sizes} inputs and {self.outputs:,} outputs"
            raise BadValue("max_parameters", self.max_parameters, needed)

    @property
    def most_convs(self) -> int:
        return self.max_convs if len(self.shape) == 3 else 0

    @cached_property
    def channels(self) -> tuple[int, ...]:
        return tuple(size for size in SIZES if size <= self.max_channels)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        return tuple(size for size in SIZES if size <= self.max_width)

    @cached_property
    def smallest(self) -> Genome:
        """A genome with the fewest parameters, or nearly so."""
        dense = [(), (DenseGene(SIZES[0]),)][: self.max_dense + 1]
        convs = [(ConvGene(SIZES[0], 1, stride),) * n for stride in STRIDES[::-1] for n in range(self.most_convs + 1)]
        genomes = [Genome(self.fitted(first), second) for first in convs for second in dense if first or second]
        return min(genomes, key=self._count)

    def parameters(self, genome: Genome) -> int:
        """Number of trained parameters; raises BadValue if the network would be far too large."""
        return genome.parameters(self.shape, self.outputs)

    def fits(self, genome: Genome) -> bool:
        if not genome.convs and not genome.dense:
            return False
        if len(genome.convs) > self.most_convs or len(genome.dense) > self.max_dense:
            return False
        if any(gene.channels > self.max_channels for gene in genome.convs) or genome.convs != self.fitted(genome.convs):
            return False
        if any(gene.width > self.max_width for gene in genome.dense):
            return False
        low, high = LEARNING_RATES[genome.optimiser]
        in_range = low <= genome.learning_rate <= high and genome.dropout <= DROPOUTS[-1]
        return in_range and genome.weight_decay <= WEIGHT_DECAYS[1] and self._affordable(genome)

    def fitted(self, convs: Sequence[ConvGene]) -> tuple[ConvGene, ...]:
        """Convolutions without kernels that are larger than what any place of the image can see, and without strides
        over single rows and columns."""
        found = []
        side = max(self.shape[1:]) if convs else 0
        for gene in convs:
            kernel = min(gene.kernel, max(size for size in SIDES if size < 2 * side))
            stride = gene.stride if side > 1 else 1
            found.append(replace(gene, kernel=kernel, stride=stride))
            side = -(-side // stride)
        return tuple(found)

    def kernels(self, convs: Sequence[ConvGene], place: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The kernels and strides that a convolution can have at this place."""
        side = max(self.shape[1:])
        for gene in convs[:place]:
            side = -(-side // gene.stride)
        return tuple(size for size in SIDES if size < 2 * side), STRIDES if side > 1 else STRIDES[:1]

    def with_planes(self, genome: Genome) -> Genome:
        """Its convolutions with stride 1 and no fully connected layers, if actions are planes of the image that they
        make: the policy head has far fewer parameters then. Else the genome itself."""
        plain = replace(genome, convs=tuple(replace(gene, stride=1) for gene in genome.convs), dense=())
        plain = replace(plain, convs=self.fitted(plain.convs))
        found = plain.convs and plain.architecture.policy_planes(self.shape, self.outputs)
        return plain if found else genome

    def repaired(self, genome: Genome) -> Genome:
        """The genome itself if it fits, else one with smaller layers: until it has few enough parameters, the step
        that saves most of them is taken. Strides, which make most heads smaller, are removed instead if the head would
        be a convolution without them."""
        genome = replace(
            genome, convs=self.fitted(genome.convs[: self.most_convs]), dense=genome.dense[: self.max_dense]
        )
        if not genome.convs and not genome.dense:
            genome = replace(genome, convs=self.smallest.convs, dense=self.smallest.dense)
        if not genome.dense and not self._affordable(genome):
            genome = self.with_planes(genome)
        while not self._affordable(genome):
            options = list(self._smaller(genome))
            if not options:
                return replace(genome, convs=self.smallest.convs, dense=self.smallest.dense)
            genome = min(options, key=self._count)
        return genome

    def _smaller(self, genome: Genome) -> Iterator[Genome]:
        """Genomes with one layer that is a step smaller, or a convolution with a larger stride."""
        for k, conv in enumerate(genome.convs):
            narrower = _next_below(self.channels, conv.channels)
            options = [replace(conv, channels=narrower)] if narrower else []
            options += [replace(conv, stride=2)] if conv.stride == 1 else []
            for smaller in options:
                convs = self.fitted((*genome.convs[:k], smaller, *genome.convs[k + 1 :]))
                if convs != genome.convs:
                    yield replace(genome, convs=convs)
        for k, layer in enumerate(genome.dense):
            if narrower := _next_below(self.widths, layer.width):
                thinner = replace(layer, width=narrower)
                yield replace(genome, dense=(*genome.dense[:k], thinner, *genome.dense[k + 1 :]))

    def _affordable(self, genome: Genome) -> bool:
        return 0 < self._count(genome) <= self.max_parameters

    def _count(self, genome: Genome) -> int:
        """Its parameters; a number above every budget if no network can have so many."""
        try:
            return self.parameters(genome)
        except BadValue:
            return 1 << 62


def _next_below(sizes: Sequence[int], size: int) -> int:
    """The next smaller size; 0 if there is none."""
    return max((other for other in sizes if other < size), default=0)
