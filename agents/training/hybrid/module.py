"""A model: the layers of a genome for inputs of one shape, and the network that it becomes once it has learned."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.nets.architecture import TANH
from agents.training.hybrid.genome import ConvGene, DenseGene, Genome
from agents.training.hybrid.layers import (
    Activation,
    Convolution,
    Dense,
    Dropout,
    Flatten,
    Image,
    Normalisation,
    Parameters,
    Planes,
    Transform,
)

GAINS = {TANH: 5 / 3}  # of initial weights, as in torch; of all other activations that of ReLU (He et al. 2015)
GAIN = math.sqrt(2)
POLICY = "policy"  # the last layer
IMAGES = 4  # dimensions of the weights of convolutions


class Model:
    """The layers of a genome. It computes with gradients of its own: call it within `torch.inference_mode`."""

    def __init__(
        self,
        genome: Genome,
        shape: tuple[int, ...],
        outputs: int,
        device: torch.device,
        dropout: torch.Generator | None = None,
    ) -> None:
        """`dropout`: the random numbers of dropout; without it there is none."""
        self.genome, self.shape, self.outputs = genome, shape, outputs
        self._network = genome.architecture.shapes(shape, outputs)
        genes: dict[str, ConvGene | DenseGene] = {f"convs.{k}": gene for k, gene in enumerate(genome.convs)}
        genes |= {f"layers.{k}": gene for k, gene in enumerate(genome.dense)}
        normalised = {name for name, gene in genes.items() if gene.normalised}
        self.names = [*genes, POLICY]
        self.parameters = Parameters(self._shapes(normalised), device)
        self.normalisations: dict[str, Normalisation] = {}
        self._layers: list[Transform] = [Image(shape)] if genome.convs else []
        for k, name in enumerate(self.names):
            gene, convolved = genes.get(name), len(self._network[f"{name}.weight"]) == IMAGES
            if genome.convs and k == len(genome.convs) and not convolved:
                self._layers.append(Flatten())
            stride = gene.stride if isinstance(gene, ConvGene) else 1
            self._layers.append(
                Convolution(self.parameters, name, k == 0, stride)
                if convolved
                else Dense(self.parameters, name, k == 0)
            )
            if gene is None:
                if convolved:  # actions are planes
                    self._layers.append(Planes())
                continue
            if gene.normalised:
                self.normalisations[name] = Normalisation(self.parameters, name)
                self._layers.append(self.normalisations[name])
            self._layers.append(Activation(gene.activation))
            if isinstance(gene, DenseGene) and genome.dropout and dropout is not None:
                self._layers.append(Dropout(genome.dropout, dropout))
        self._gains = {name: GAINS.get(gene.activation, GAIN) for name, gene in genes.items()}

    def _shapes(self, normalised: set[str]) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters: those of the network, but convolutions have their inputs last, and normalised
        layers have a scale and a shift instead of a bias."""
        found: dict[str, tuple[int, ...]] = {}
        for name in self.names:
            outputs, *inner = self._network[f"{name}.weight"]
            found[f"{name}.weight"] = (outputs, *inner[1:], inner[0])
            for part in ("scale", "shift") if name in normalised else ("bias",):
                found[f"{name}.{part}"] = (outputs,)
        return found

    def draw(self, generator: torch.Generator) -> None:
        """Sets initial weights. They are drawn on the CPU: so they are the same on every device."""
        for name, values in self.parameters.values.items():
            layer, part = name.rsplit(".", 1)
            if part == "weight":
                fan_in = math.prod(values.shape[1:])
                drawn = torch.empty(values.shape).normal_(
                    0.0, self._gains.get(layer, 1.0) / math.sqrt(fan_in), generator=generator
                )
                values.copy_(drawn)
            else:
                values.fill_(1.0 if part == "scale" else 0.0)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits as [rows, outputs], for inputs as [rows, values] with the channels of images last."""
        x = inputs
        for layer in self._layers:
            x = layer.forward(x)
        return x

    def backward(self, slope: Tensor) -> None:
        """Sets the gradient of all parameters, given that of the loss by the logits of the last `forward`."""
        found: Tensor | None = slope
        for layer in reversed(self._layers):
            if found is None:
                return
            found = layer.backward(found)

    def plain(self) -> Model:
        """The network that plays, as a model: without normalisation and dropout. `fold_into` gives it its weights."""
        convs = tuple(replace(gene, normalised=False) for gene in self.genome.convs)
        dense = tuple(replace(gene, normalised=False) for gene in self.genome.dense)
        genome = replace(self.genome, convs=convs, dense=dense, dropout=0.0)
        return Model(genome, self.shape, self.outputs, self.parameters.flat.device)

    def fold_into(self, plain: Model) -> None:
        """Gives the network that plays its weights: normalisation becomes a part of them."""
        ours, theirs = self.parameters.values, plain.parameters.values
        for name in self.names:
            weight, bias = theirs[f"{name}.weight"], theirs[f"{name}.bias"]
            weight.copy_(ours[f"{name}.weight"])
            if name in self.normalisations:
                factor, shift = self.normalisations[name].folded()
                weight.mul_(factor.view(-1, *[1] * (weight.ndim - 1)))
                bias.copy_(shift)
            else:
                bias.copy_(ours[f"{name}.bias"])

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """The tensors of a network of type `stack`, by name; its value head is zeros. For `plain` models only."""
        found = {name: np.zeros(shape, np.float32) for name, shape in self._network.items()}
        image = self._last_image()
        for name, values in self.parameters.values.items():
            array = values.cpu().numpy()
            if array.ndim == IMAGES:
                array = array.transpose(0, 3, 1, 2)
            elif name == f"{self.names[len(self.genome.convs)]}.weight" and len(image) == 3:
                channels, height, width = image  # it reads an image, from its rows, columns and channels
                array = array.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
            found[name][...] = array.reshape(found[name].shape)
        return found

    def _last_image(self) -> tuple[int, ...]:
        """The shape of what the first fully connected layer reads."""
        sizes = self.shape
        for gene in self.genome.convs:
            sizes = (gene.channels, *(-(-size // gene.stride) for size in sizes[1:]))
        return sizes
