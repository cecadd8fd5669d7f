"""Networks as torch modules, for learning and for networks that are too large for compiled code.

The parameters have the names and shapes that `Architecture.shapes` lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from agents.nets.architecture import (
    ELU,
    LEAKY_RELU,
    RELU,
    RESNET,
    SIDE,
    SILU,
    SQUEEZED,
    STACK,
    TANH,
    Architecture,
    strided,
)

ACTIVATE: Mapping[str, Callable[[Tensor], Tensor]] = {
    RELU: functional.relu,
    LEAKY_RELU: functional.leaky_relu,
    ELU: functional.elu,
    SILU: functional.silu,
    TANH: torch.tanh,
}
# With them the mean square of the outputs is 1 if the layer's inputs are independent and normally distributed.
GAINS = {RELU: 1.41421, LEAKY_RELU: 1.41414, ELU: 1.24520, SILU: 1.67653, TANH: 1.59254}


class PolicyValueNet(nn.Module):
    """Logits of all actions and the value of each observation; the parameters are zeros until they are set."""

    def __init__(self, architecture: Architecture, observation: Sequence[int], actions: int) -> None:
        super().__init__()
        self.architecture, self.observation, self.actions = architecture, tuple(observation), actions
        architecture.shapes(observation, actions)  # raises if it does not fit
        with torch.device("meta"):  # the layers draw no weights: that would use torch's global generator
            self._add_layers()
        self.to_empty(device="cpu")
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.zero_()

    def _add_layers(self) -> None:
        architecture, observation, actions = self.architecture, self.observation, self.actions
        if architecture.type == RESNET:
            planes, rows, columns = observation
            [width] = architecture.channels
            self.stem = _conv(planes, width, SIDE)
            self.blocks = nn.ModuleList(Block(width) for _ in range(architecture.blocks))
            self.squeeze = _conv(width, SQUEEZED, 1)
            inputs = SQUEEZED * rows * columns
        else:
            inputs = self._add_convs()
        sizes = (inputs, *architecture.hidden)
        self.layers = nn.ModuleList(nn.Linear(sizes[k], sizes[k + 1]) for k in range(len(sizes) - 1))
        self.value = nn.Linear(sizes[-1], 1)
        if plane_count := architecture.policy_planes(observation, actions):
            self.policy: nn.Module = _conv(architecture.channels[-1], plane_count, 1)
        elif architecture.type == RESNET:
            self.policy = nn.Linear(width * rows * columns, actions)
        else:
            self.policy = nn.Linear(sizes[-1], actions)

    def _add_convs(self) -> int:
        """The convolutions of all types but resnets; returns the number of values after them."""
        architecture, image = self.architecture, self.observation[1:]
        sizes = (self.observation[0], *architecture.channels)
        self.convs = nn.ModuleList()
        for k, (side, stride) in enumerate(zip(architecture.conv_kernels, architecture.conv_strides, strict=True)):
            self.convs.append(_conv(sizes[k], sizes[k + 1], side, stride))
            image = strided(image, stride)
        return sizes[-1] * math.prod(image)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Logits as [rows, actions] and values as [rows]."""
        if self.architecture.type == RESNET:
            return self._resnet(obs)
        activations = [ACTIVATE[name] for name in self.architecture.layer_activations]
        x = obs
        for k, conv in enumerate(self.convs):
            x = activations[k](conv(x))
        if isinstance(self.policy, nn.Conv2d):  # there are no other layers
            return self.policy(x).flatten(1), self.value(x.flatten(1)).squeeze(1)
        x = x.flatten(1)
        for k, layer in enumerate(self.layers, len(self.convs)):
            x = activations[k](layer(x))
        return self.policy(x), self.value(x).squeeze(1)

    def _resnet(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        x = functional.relu(self.stem(obs))
        for block in self.blocks:
            x = block(x)
        logits = self.policy(x if isinstance(self.policy, nn.Conv2d) else x.flatten(1)).flatten(1)
        v = functional.relu(self.squeeze(x)).flatten(1)
        for layer in self.layers:
            v = functional.relu(layer(v))
        return logits, self.value(v).squeeze(1)

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Copies of all parameters by name."""
        return {name: parameter.detach().cpu().numpy().copy() for name, parameter in self.named_parameters()}

    def set_tensors(self, tensors: Mapping[str, NDArray[np.float32]]) -> None:
        """Copies these parameters into the module."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.copy_(torch.from_numpy(np.array(tensors[name])))

    def draw_tensors(self, generator: torch.Generator) -> None:
        """Sets orthogonal weights and zero biases, as usual for PPO (Huang et al. 2022): gain sqrt(2) inside, 0.01 for
        the policy, so that the first policy is almost uniform, and 1 for the value. Inside a stack, gains follow from
        the activations. The second convolution of each residual block is zero, so that the block begins as the
        identity."""
        gains = {"policy.weight": 0.01, "value.weight": 1.0}
        if self.architecture.type == STACK:
            names = [f"convs.{k}.weight" for k in range(len(self.convs))]
            names += [f"layers.{k}.weight" for k in range(len(self.layers))]
            activations = self.architecture.layer_activations
            gains |= {name: GAINS[activation] for name, activation in zip(names, activations, strict=True)}
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name.endswith((".bias", ".second.weight")):
                    parameter.zero_()
                else:
                    nn.init.orthogonal_(parameter, gains.get(name, math.sqrt(2)), generator=generator)


class Block(nn.Module):
    """A residual block without normalisation: its output does not depend on the batch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = _conv(width, width, SIDE), _conv(width, width, SIDE)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.second(functional.relu(self.first(x))))


def _conv(inputs: int, outputs: int, side: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, side, stride, padding=side // 2)
