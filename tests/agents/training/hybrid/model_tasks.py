"""Small tasks for models, genomes, and what a network answers by its tensors alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from agents.nets.architecture import ACTIVATIONS, ELU, LEAKY_RELU, RELU, SILU, TANH
from agents.training.hybrid.data import Examples, Task
from agents.training.hybrid.genome import ADAM, ADAMW, SGD, ConvGene, DenseGene, Genome

BY_NAME: Mapping[str, Callable[[Tensor], Tensor]] = {
    RELU: functional.relu,
    LEAKY_RELU: functional.leaky_relu,
    ELU: functional.elu,
    SILU: functional.silu,
    TANH: torch.tanh,
}


def examples(inputs: Any, targets: Any, outputs: int, **more: Any) -> Examples:
    weights = more.pop("weights", np.ones(len(inputs), np.float32))
    return Examples(np.asarray(inputs, np.float32), np.asarray(targets), weights, outputs, **more)


def spirals(rows: int, seed: int) -> Examples:
    """Two spirals that turn around each other."""
    draws = np.random.default_rng(seed)
    labels = draws.integers(0, 2, rows)
    radius = draws.uniform(0.2, 2.0, rows)
    angle = 2.5 * radius + np.pi * labels
    points = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    return examples(points + draws.normal(0, 0.03, points.shape), labels.astype(np.int64), 2)


def spiral_task() -> Task:
    return Task(spirals(600, 1), spirals(300, 2))


def stripes(rows: int, seed: int, planes: int = 2) -> Examples:
    """Images of 6 x 5 with a bright row or column at one of several places."""
    draws = np.random.default_rng(seed)
    labels = draws.integers(0, 4, rows)
    images = draws.normal(0, 0.3, (rows, planes, 6, 5))
    for k, label in enumerate(labels):
        if label < 2:
            images[k, 0, 1 + 3 * label, :] += 1
        else:
            images[k, -1, :, 1 + 2 * (label - 2)] += 1
    return examples(images, labels.astype(np.int64), 4)


def stripe_task(rows: int = 200) -> Task:
    return Task(stripes(rows, 1), stripes(100, 2))


def image_genomes() -> list[Genome]:
    """Different models of images: with all optimisers, activations, strides and kinds of layers."""
    found = [
        Genome(
            (ConvGene(4 + 3 * k, (1, 3, 5)[k % 3], 1 + k % 2, name, k % 2 == 0),),
            (DenseGene(9 + k, name, k % 3 == 0),),
            0.1 * (k % 3),
            (ADAM, ADAMW, SGD)[k % 3],
            0.01,
            0.01 * (k % 2),
        )
        for k, name in enumerate(ACTIVATIONS)
    ]
    plain = [Genome((), (DenseGene(16), DenseGene(8, TANH)), 0.2), Genome((ConvGene(5),), (), learning_rate=0.01)]
    return [*found, *plain]


def plane_genomes() -> list[Genome]:
    """Models whose last layer is a convolution, if outputs are planes of the image."""
    return [
        Genome((ConvGene(4, 3, 1, ELU, True), ConvGene(7, 5, 1, SILU, True))),
        Genome((ConvGene(9, 1, 1, TANH),), (), 0.2, SGD, 0.1),
    ]


def logits_of(tensors: Mapping[str, NDArray[np.float32]], genome: Genome, inputs: NDArray[np.float32]) -> Tensor:
    """What the network with these tensors answers, written with torch's functions."""
    x = torch.from_numpy(inputs)
    parts = {name: torch.from_numpy(np.array(tensor)) for name, tensor in tensors.items()}
    for k, conv in enumerate(genome.convs):
        x = functional.conv2d(x, parts[f"convs.{k}.weight"], parts[f"convs.{k}.bias"], conv.stride, conv.kernel // 2)
        x = BY_NAME[conv.activation](x)
    if parts["policy.weight"].ndim == 4:
        return functional.conv2d(x, parts["policy.weight"], parts["policy.bias"]).flatten(1)
    x = x.flatten(1)
    for k, gene in enumerate(genome.dense):
        x = BY_NAME[gene.activation](functional.linear(x, parts[f"layers.{k}.weight"], parts[f"layers.{k}.bias"]))
    return functional.linear(x, parts["policy.weight"], parts["policy.bias"])
