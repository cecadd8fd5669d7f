"""Networks of several agents as one stack: every array has the agents as its first dimension.

One call then computes a layer of all agents. Agents share nothing, and an agent's numbers are the same to the bit in a
stack of any size: torch's `bmm` multiplies each pair of matrices as if it were alone, at least if all of them begin at
a cache line, so the parameters of an agent and the rows of its matrices are padded; `kernels` does the rest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from agents.training.independent.kernels import LANES, back_through_tanh, tanh_layer
from agents.training.independent.learner_settings import IQN, LearnerSettings
from agents.training.independent.published import Numbers
from agents.training.independent.shared_words import padded
from engine.seeding import derive

Shapes = Mapping[str, tuple[int, ...]]

COSINES = 64  # of a quantile fraction, as in the paper
LINE = 16  # numbers in a cache line


def shapes_of(settings: LearnerSettings, observation: Sequence[int], actions: int) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters of one agent by name, in their order in memory. `heads` has the outputs of the
    actions and, with dueling, the value."""
    sizes = (settings.inputs(observation), *settings.hidden)
    layers = {f"layers.{k}": pair for k, pair in enumerate(itertools.pairwise(sizes))}
    layers["heads"] = (sizes[-1], actions + settings.dueling)
    if settings.method == IQN:
        layers["fractions"] = (COSINES, sizes[-1])
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (inputs, outputs) in layers.items():
        shapes |= {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
    return shapes


def draw_weights(shapes: Shapes, seed: int, agent: int) -> dict[str, Numbers]:
    """The initial parameters of an agent: uniform, up to one over the root of the inputs, as torch's layers begin."""
    generator = np.random.Generator(np.random.Philox(derive(seed, agent, "weights")))
    weights: dict[str, Numbers] = {}
    for name, shape in shapes.items():
        inputs = shapes[name.replace(".bias", ".weight")][1]
        weights[name] = ((2.0 * generator.random(shape) - 1.0) / math.sqrt(inputs)).astype(np.float32)
    return weights


class StackParameters:
    """Parameters of a stack of agents, or their gradients: `flat` has a row for each agent."""

    def __init__(self, shapes: Shapes, flat: Tensor) -> None:
        self.flat, self.array = flat, flat.numpy()
        self.at: dict[str, int] = {}  # where each parameter begins in a row
        self.parts: dict[str, Tensor] = {}  # weights as [agents, outputs, inputs], biases as [agents, outputs]
        at = 0
        for name, shape in shapes.items():
            size = math.prod(shape)
            self.at[name], self.parts[name] = at, flat[:, at : at + size].view(-1, *shape)
            at += padded(size, LANES)
        self.transposed = {name: part.transpose(1, 2) for name, part in self.parts.items() if part.ndim == 3}

    @staticmethod
    def size(shapes: Shapes) -> int:
        """Numbers in a row."""
        return sum(padded(math.prod(shape), LANES) for shape in shapes.values())


class HiddenLayers:
    """The layers with tanh before the heads, with memory for the outputs of `rows` rows of each agent and, if they
    learn, for the gradients of the first `learning` rows."""

    def __init__(self, agents: int, rows: int, hidden: Sequence[int], learning: int = 0) -> None:
        self._names = [f"layers.{k}" for k in range(len(hidden))]
        self._outputs = [torch.zeros(agents, rows, size) for size in hidden]
        self._arrays = [outputs.numpy() for outputs in self._outputs]
        self._slopes = [torch.zeros(agents, learning, size) for size in hidden]
        self._slope_arrays = [slope.numpy() for slope in self._slopes]
        self._learning = [outputs[:, :learning] for outputs in self._outputs]
        self.features, self.feature_array = self._outputs[-1], self._arrays[-1]
        self.slope, self.slope_array = self._slopes[-1], self._slope_arrays[-1]  # the gradient by the features

    def forward(self, weights: StackParameters, obs: Tensor) -> Tensor:
        """The outputs of the last layer, `features`; `obs` is [agents, rows, inputs]."""
        x = obs
        for name, outputs, array in zip(self._names, self._outputs, self._arrays, strict=True):
            product(x, weights.transposed[f"{name}.weight"], outputs)
            tanh_layer(array, weights.array, weights.at[f"{name}.bias"])
            x = outputs
        return x

    def backward(self, weights: StackParameters, obs: Tensor, gradient: StackParameters) -> None:
        """Sets the gradients of the layers, given that by the features, `slope`, which changes. `obs` are the learning
        rows."""
        for k in range(len(self._names) - 1, -1, -1):
            name, slope, inputs = self._names[k], self._slopes[k], self._learning[k - 1] if k else obs
            back_through_tanh(self._slope_arrays[k], self._arrays[k], gradient.array, gradient.at[f"{name}.bias"])
            product(slope.transpose(1, 2), inputs, gradient.parts[f"{name}.weight"])
            if k:
                product(slope, weights.parts[f"{name}.weight"], self._slopes[k - 1])


def product(a: Tensor, b: Tensor, out: Tensor) -> Tensor:
    """The product of two matrices for each agent, into `out`."""
    if 1 not in out.shape[1:]:
        return torch.bmm(a, b, out=out)
    for k, matrix in enumerate(out):  # vectors: `bmm` computes those of one agent in another way than those of several
        torch.mm(a[k], b[k], out=matrix)
    return out
