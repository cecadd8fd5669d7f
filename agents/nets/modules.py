"""Networks as torch modules, for learning and for networks that are too large for compiled code.

The parameters have the names and shapes that `Architecture.shapes` lists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from agents.nets.architecture import CONV, MLP, RESNET, SIDE, SQUEEZED, Architecture, has_action_planes


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
        if architecture.type == MLP:
            inputs = math.prod(observation)
        else:
            planes, rows, columns = observation
            if architecture.type == CONV:
                sizes = (planes, *architecture.channels)
                self.convs = nn.ModuleList(_conv(sizes[k], sizes[k + 1], SIDE) for k in range(len(sizes) - 1))
                inputs = sizes[-1] * rows * columns
            else:
                [width] = architecture.channels
                self.stem = _conv(planes, width, SIDE)
                self.blocks = nn.ModuleList(Block(width) for _ in range(architecture.blocks))
                self.squeeze = _conv(width, SQUEEZED, 1)
                inputs = SQUEEZED * rows * columns
        sizes = (inputs, *architecture.hidden)
        self.layers = nn.ModuleList(nn.Linear(sizes[k], sizes[k + 1]) for k in range(len(sizes) - 1))
        self.value = nn.Linear(sizes[-1], 1)
        if architecture.type != RESNET:
            self.policy: nn.Module = nn.Linear(sizes[-1], actions)
        elif has_action_planes(observation, actions):
            self.policy = _conv(width, actions // (rows * columns), 1)
        else:
            self.policy = nn.Linear(width * rows * columns, actions)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Logits as [rows, actions] and values as [rows]."""
        if self.architecture.type == RESNET:
            return self._resnet(obs)
        x = obs
        if self.architecture.type == CONV:
            for conv in self.convs:
                x = functional.relu(conv(x))
        x = x.flatten(1)
        for layer in self.layers:
            x = torch.tanh(layer(x)) if self.architecture.type == MLP else functional.relu(layer(x))
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
        the policy, so that the first policy is almost uniform, and 1 for the value. The second convolution of each
        residual block is zero, so that the block begins as the identity."""
        gains = {"policy.weight": 0.01, "value.weight": 1.0}
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


def _conv(inputs: int, outputs: int, side: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, side, padding=side // 2)
