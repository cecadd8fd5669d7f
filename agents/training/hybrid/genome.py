"""Genomes of networks: the layers of a model, and how it is trained. They are valid for the shape of their inputs."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

from agents.nets.architecture import STACK, Architecture
from engine import codec
from engine.errors import BadValue, UnknownName

OPTIMISERS = ADAM, ADAMW, SGD = ("adam", "adamw", "sgd")


@dataclass(frozen=True)
class ConvGene:
    """A convolution: padded so that only its stride makes the image smaller."""

    channels: int
    kernel: int = 3
    stride: int = 1
    activation: str = "relu"
    normalised: bool = False  # batch normalisation before the activation


@dataclass(frozen=True)
class DenseGene:
    """A fully connected layer."""

    width: int
    activation: str = "relu"
    normalised: bool = False


@dataclass(frozen=True)
class Genome:
    """A model: convolutions, then fully connected layers, then one output for each class or action."""

    convs: tuple[ConvGene, ...] = ()
    dense: tuple[DenseGene, ...] = ()
    dropout: float = 0.0  # after each fully connected layer
    optimiser: str = ADAM
    learning_rate: float = 1e-3
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            raise UnknownName("optimiser", self.optimiser, OPTIMISERS)
        for name, value, low, high in (
            ("dropout", self.dropout, 0.0, 0.9),
            ("learning_rate", self.learning_rate, 1e-6, 10.0),
            ("weight_decay", self.weight_decay, 0.0, 1.0),
        ):
            if not (isinstance(value, float) and math.isfinite(value) and low <= value <= high):
                raise BadValue(name, value, f"from {low:g} to {high:g}")
        _ = self.architecture  # raises unless its layers are valid

    @cached_property
    def architecture(self) -> Architecture:
        """Its layers as a network that plays: without normalisation, which becomes a part of the weights."""
        layers: tuple[ConvGene | DenseGene, ...] = (*self.convs, *self.dense)
        return Architecture(
            STACK,
            tuple(gene.width for gene in self.dense),
            tuple(gene.channels for gene in self.convs),
            kernels=tuple(gene.kernel for gene in self.convs),
            strides=tuple(gene.stride for gene in self.convs),
            activations=tuple(gene.activation for gene in layers),
        )

    @property
    def normalised(self) -> bool:
        """Whether it has batch normalisation."""
        return any(gene.normalised for gene in self.convs) or any(gene.normalised for gene in self.dense)

    def parameters(self, inputs: tuple[int, ...], outputs: int) -> int:
        """Number of trained parameters for inputs of this shape. Raises BadValue if it does not fit them."""
        shapes = self.architecture.shapes(inputs, outputs)
        scales = sum(gene.channels for gene in self.convs if gene.normalised)  # and a shift instead of a bias
        scales += sum(gene.width for gene in self.dense if gene.normalised)
        return scales + sum(math.prod(shape) for name, shape in shapes.items() if not name.startswith("value."))

    @cached_property
    def key(self) -> str:
        """The same for equal genomes only."""
        return hashlib.blake2b(codec.dump(self).encode(), digest_size=16).hexdigest()
