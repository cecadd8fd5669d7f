"""Evaluates networks by torch in chunks of one size, so that a row has the same bits whatever else is evaluated.

torch and the libraries below it choose their loops by the sizes of a call: a row has other bits alone, in batches of
other sizes, and at other places of a batch if a layer has few outputs. So a chunk always has `CHUNK` rows, missing
rows are zeros, and the outputs of every layer are padded with zeros to a multiple of `PAD`. Both heads are one layer
where they have the same inputs. Images are stored with their channels last, as oneDNN computes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from agents.nets.architecture import ELU, LEAKY_RELU, RELU, RESNET, SILU, SQUEEZED, TANH, strided
from agents.nets.network import Network

CHUNK = 16  # rows
PAD = 16  # outputs of a layer
Array = NDArray[np.float32]

ACTIVATE: Mapping[str, Callable[[Tensor], Tensor]] = {  # in place; 0 stays 0, so padding changes nothing
    RELU: torch.relu_,
    LEAKY_RELU: functional.leaky_relu_,
    ELU: functional.elu_,
    SILU: lambda x: functional.silu(x, inplace=True),
    TANH: torch.tanh_,
}


@contextmanager
def evaluating() -> Iterator[None]:
    """Evaluates in one thread, because several would add up in another order. Restores the number of threads, because a
    trainer in the same process may use more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(threads)


def inference_of(network: Network) -> Inference:
    return (ResnetInference if network.architecture.type == RESNET else StackInference)(network)


class Linear:
    """Fully connected layers side by side, as one."""

    def __init__(self, network: Network, *names: str, inputs: int, image: tuple[int, ...] = ()) -> None:
        """`inputs` are those of the padded layer before; if that is an image of this size, its channels."""
        weights, bias = _joined(network, names)
        self.outputs = _pad(len(bias))
        if image:  # from [channel, row, column] to [row, column, channel]
            weights = weights.reshape(len(bias), -1, *image).transpose(0, 2, 3, 1)
        padded = np.zeros((self.outputs, *image, inputs), np.float32)
        padded[: len(bias), ..., : weights.shape[-1]] = weights
        self.weights, self.bias = torch.from_numpy(padded.reshape(self.outputs, -1)), _padded_bias(bias)

    def __call__(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weights, self.bias)


class Conv:
    """Convolutions side by side, as one. Only a stride makes the image smaller."""

    def __init__(self, network: Network, *names: str, inputs: int, stride: int = 1) -> None:
        weights, bias = _joined(network, names)
        self.outputs, self._margin, self._stride = _pad(len(bias)), weights.shape[-1] // 2, stride
        padded = np.zeros((self.outputs, inputs, *weights.shape[2:]), np.float32)
        padded[: len(bias), : weights.shape[1]] = weights
        self.weights = torch.from_numpy(padded).contiguous(memory_format=torch.channels_last)
        self.bias = _padded_bias(bias)

    def __call__(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weights, self.bias, stride=self._stride, padding=self._margin)


def _pad(size: int) -> int:
    return -(-size // PAD) * PAD


def _joined(network: Network, names: tuple[str, ...]) -> tuple[Array, Array]:
    weights, biases = ([network.tensors[f"{name}.{part}"] for name in names] for part in ("weight", "bias"))
    return np.concatenate(weights), np.concatenate(biases)


def _padded_bias(bias: Array) -> Tensor:
    return torch.from_numpy(np.concatenate([bias, np.zeros(_pad(len(bias)) - len(bias), np.float32)]))


def _pixels(x: Tensor) -> Tensor:
    """Images as rows of numbers, in the order that they have in memory."""
    return x.permute(0, 2, 3, 1).reshape(len(x), -1)


class Inference:
    """Logits and values of one network."""

    def __init__(self, network: Network) -> None:
        self._actions, self._image = network.actions, network.observation[1:]
        self._rows: Array = np.zeros((CHUNK, *network.observation), np.float32)
        self._chunk = torch.from_numpy(self._rows)  # the same memory

    def run(self, obs: Array, logits: Array, values: Array, at: slice | NDArray[np.int64]) -> None:
        """Evaluates some rows of `obs`, at most a chunk; writes the same rows of `logits` and `values`."""
        given = obs[at]
        count = len(given)
        self._rows[:count] = given
        if count < CHUNK:
            self._rows[count:] = 0.0
        found = self._forward(self._chunk)
        logits[at], values[at] = found[0][:count], found[1][:count]

    def _forward(self, x: Tensor) -> tuple[Array, Array]:
        raise NotImplementedError


class StackInference(Inference):
    """Convolutions, then fully connected layers, each with an activation: all types but resnets. The policy is a
    convolution if actions are planes of the last image."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        architecture = network.architecture
        activations = iter(map(ACTIVATE.__getitem__, architecture.layer_activations))
        self._convs: list[tuple[Conv, Callable[[Tensor], Tensor]]] = []
        inputs, image = network.observation[0], self._image
        for k, stride in enumerate(architecture.conv_strides):
            conv = Conv(network, f"convs.{k}", inputs=inputs, stride=stride)
            self._convs.append((conv, next(activations)))
            inputs, image = conv.outputs, strided(image, stride)
        if not self._convs:
            inputs, image = math.prod(network.observation), ()
        self._layers: list[tuple[Linear, Callable[[Tensor], Tensor]]] = []
        for k in range(len(architecture.hidden)):
            layer = Linear(network, f"layers.{k}", inputs=inputs, image=image)
            self._layers.append((layer, next(activations)))
            inputs, image = layer.outputs, ()
        self._planes = architecture.policy_planes(network.observation, network.actions)
        if self._planes:
            self._policy = Conv(network, "policy", inputs=inputs)
            self._value = Linear(network, "value", inputs=inputs, image=image)
        else:
            self._heads = Linear(network, "policy", "value", inputs=inputs, image=image)

    def _forward(self, x: Tensor) -> tuple[Array, Array]:
        if self._convs:
            x = x.contiguous(memory_format=torch.channels_last)
            for conv, activate in self._convs:
                x = activate(conv(x))
            if self._planes:
                logits = self._policy(x)[:, : self._planes].reshape(CHUNK, -1)
                return logits.numpy(), self._value(_pixels(x)).numpy()[:, 0]
            x = _pixels(x)
        else:
            x = x.view(CHUNK, -1)
        for layer, activate in self._layers:
            x = activate(layer(x))
        heads = self._heads(x).numpy()
        return heads[:, : self._actions], heads[:, self._actions]


class ResnetInference(Inference):
    """Residual blocks. The policy is a part of the last convolution if actions are planes, else a layer of its own."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self._stem = Conv(network, "stem", inputs=network.observation[0])
        width = self._stem.outputs
        self._blocks = [
            tuple(Conv(network, f"blocks.{k}.{part}", inputs=width) for part in ("first", "second"))
            for k in range(network.architecture.blocks)
        ]
        planes = network.tensors["policy.weight"].ndim == 4
        self._policy = None if planes else Linear(network, "policy", inputs=width, image=self._image)
        self._heads = Conv(network, *(("policy",) if planes else ()), "squeeze", inputs=width)
        self._planes = len(network.tensors["policy.bias"]) if planes else 0
        self._layers: list[Linear] = []
        inputs = SQUEEZED * math.prod(self._image)
        for k in range(len(network.architecture.hidden)):
            self._layers.append(Linear(network, f"layers.{k}", inputs=inputs))
            inputs = self._layers[-1].outputs
        self._value = Linear(network, "value", inputs=inputs)

    def _forward(self, x: Tensor) -> tuple[Array, Array]:
        x = self._stem(x.contiguous(memory_format=torch.channels_last)).relu_()
        for first, second in self._blocks:
            x = second(first(x).relu_()).add_(x).relu_()
        heads = self._heads(x)
        logits = heads[:, : self._planes].reshape(CHUNK, -1) if self._policy is None else self._policy(_pixels(x))
        v = heads[:, self._planes : self._planes + SQUEEZED].reshape(CHUNK, -1).relu_()
        for layer in self._layers:
            v = layer(v).relu_()
        return logits.numpy()[:, : self._actions], self._value(v).numpy()[:, 0]
