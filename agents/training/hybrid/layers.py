"""The layers of a model that learns on the CPU or a GPU, with their gradients written out.

Small networks spend their time on calls. An update of 64-64-64-10 on 128 examples takes 112 us here, of which 70 are
products of matrices; by autograd it takes 180 us, and 350 us with torch's modules and optimiser.
Images have their channels last: convolutions of 16 to 32 channels take a half to a quarter of the time then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from agents.nets.architecture import ELU, LEAKY_RELU, RELU, SILU, TANH

LINE = 16  # numbers of 4 bytes in a cache line: every parameter begins at one
EPSILON = 1e-5  # added to variances
MOMENTUM = 0.1  # of the means and variances that are used after training
SLOPE = 0.01  # of leaky ReLU below 0
BYTES = 256  # values of a random byte
LOWEST_WORD = -(2**63)
aten = torch.ops.aten


class Parameters:
    """The parameters of a model as parts of one flat tensor, and their gradients in another: an optimiser updates all
    of them in one call."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], device: torch.device) -> None:
        """Convolutions have the shape [outputs, rows, columns, inputs]."""
        size = sum(_padded(math.prod(shape)) for shape in shapes.values())
        self.flat, self.gradient = torch.zeros(size, device=device), torch.zeros(size, device=device)
        self.values, self.slopes, at = {}, {}, 0
        for name, shape in shapes.items():
            end = at + math.prod(shape)
            self.values[name], self.slopes[name] = self.flat[at:end].view(shape), self.gradient[at:end].view(shape)
            at += _padded(math.prod(shape))


def _padded(size: int) -> int:
    return -(-size // LINE) * LINE


class Transform(Protocol):
    """A part of a layer."""

    def forward(self, x: Tensor) -> Tensor: ...

    def backward(self, slope: Tensor) -> Tensor | None:
        """Sets the gradients of the parameters, given the gradient of the loss by the outputs, which may change;
        returns that by the inputs, or None where nothing needs it."""


class Dense:
    """A fully connected layer. It has no bias before a normalisation, which would subtract it again."""

    def __init__(self, parameters: Parameters, name: str, first: bool) -> None:
        self._weight, self._slope = (parts[f"{name}.weight"] for parts in (parameters.values, parameters.slopes))
        self._bias, self._bias_slope = (parts.get(f"{name}.bias") for parts in (parameters.values, parameters.slopes))
        self._transposed, self._first = self._weight.t(), first

    def forward(self, x: Tensor) -> Tensor:
        self._inputs = x
        return torch.mm(x, self._transposed) if self._bias is None else torch.addmm(self._bias, x, self._transposed)

    def backward(self, slope: Tensor) -> Tensor | None:
        torch.mm(slope.t(), self._inputs, out=self._slope)
        if self._bias_slope is not None:
            torch.sum(slope, 0, out=self._bias_slope)
        return None if self._first else torch.mm(slope, self._weight)


class Convolution:
    """A convolution, padded so that only its stride makes the image smaller."""

    def __init__(self, parameters: Parameters, name: str, first: bool, stride: int) -> None:
        weight, slope = (parts[f"{name}.weight"] for parts in (parameters.values, parameters.slopes))
        self._weight, self._slope = weight.permute(0, 3, 1, 2), slope.permute(0, 3, 1, 2)
        self._bias, self._bias_slope = (parts.get(f"{name}.bias") for parts in (parameters.values, parameters.slopes))
        self._sizes = None if self._bias is None else [len(weight)]
        self._stride, self._margin = [stride, stride], [weight.shape[1] // 2] * 2
        self._wanted = [not first, True, self._bias is not None]

    def forward(self, x: Tensor) -> Tensor:
        self._inputs = x
        return torch.conv2d(x, self._weight, self._bias, self._stride, self._margin)

    def backward(self, slope: Tensor) -> Tensor | None:
        by_inputs, by_weight, by_bias = aten.convolution_backward(
            slope, self._inputs, self._weight, self._sizes, self._stride, self._margin, [1, 1], False, [0, 0], 1,
            self._wanted,
        )  # fmt: skip
        self._slope.copy_(by_weight)
        if self._bias_slope is not None:
            self._bias_slope.copy_(by_bias)
        return by_inputs if self._wanted[0] else None


class Normalisation:
    """Batch normalisation (Ioffe and Szegedy 2015). The means and variances that are used after training are those of
    the first minibatches together, and then move by a tenth with each: they are never those of untrained weights."""

    def __init__(self, parameters: Parameters, name: str) -> None:
        self.scale, self.shift = (parameters.values[f"{name}.{part}"] for part in ("scale", "shift"))
        self._slopes = [parameters.slopes[f"{name}.{part}"] for part in ("scale", "shift")]
        self.mean, self.variance = torch.zeros_like(self.scale), torch.ones_like(self.scale)
        self._batches = 0

    def forward(self, x: Tensor) -> Tensor:
        self._inputs, self._batches = x, self._batches + 1
        momentum = max(MOMENTUM, 1.0 / self._batches)
        outputs, self._batch_mean, self._batch_scale = torch.native_batch_norm(
            x, self.scale, self.shift, self.mean, self.variance, True, momentum, EPSILON
        )
        return outputs

    def backward(self, slope: Tensor) -> Tensor:
        found: tuple[Tensor, Tensor, Tensor] = aten.native_batch_norm_backward(
            slope, self._inputs, self.scale, self.mean, self.variance, self._batch_mean, self._batch_scale, True,
            EPSILON, [True, True, True],
        )  # fmt: skip
        for own, new in zip(self._slopes, found[1:], strict=True):
            own.copy_(new)
        return found[0]

    def folded(self) -> tuple[Tensor, Tensor]:
        """By what each output of the layer before is multiplied, and what is then added to it."""
        factor = self.scale / torch.sqrt(self.variance + EPSILON)
        return factor, self.shift - self.mean * factor


FORWARD: Mapping[str, Callable[[Tensor], Tensor]] = {
    RELU: torch.relu_,
    LEAKY_RELU: lambda x: functional.leaky_relu_(x, SLOPE),
    ELU: functional.elu_,
    SILU: functional.silu,
    TANH: torch.tanh_,
}
_relu, _leaky_relu, _elu, _silu, _tanh = (
    getattr(aten, f"{name}_backward").grad_input for name in ("threshold", LEAKY_RELU, ELU, SILU, TANH)
)
BACKWARD: Mapping[str, Callable[[Tensor, Tensor], object]] = {  # they change the gradient, given the outputs
    RELU: lambda slope, known: _relu(slope, known, 0, grad_input=slope),
    LEAKY_RELU: lambda slope, known: _leaky_relu(slope, known, SLOPE, True, grad_input=slope),
    ELU: lambda slope, known: _elu(slope, 1, 1, 1, True, known, grad_input=slope),
    SILU: lambda slope, known: _silu(slope, known, grad_input=slope),  # given the inputs: outputs do not tell
    TANH: lambda slope, known: _tanh(slope, known, grad_input=slope),
}


class Activation:
    """Changes its inputs in place where it can, and the gradient too."""

    def __init__(self, name: str) -> None:
        self._forward, self._backward, self._keeps_inputs = FORWARD[name], BACKWARD[name], name == SILU

    def forward(self, x: Tensor) -> Tensor:
        outputs = self._forward(x)
        self._known = x if self._keeps_inputs else outputs
        return outputs

    def backward(self, slope: Tensor) -> Tensor:
        self._backward(slope, self._known)
        return slope


class Dropout:
    """Zeroes outputs at random. A byte decides on each, so the share is rounded to 1/256: drawing 8,192 of them takes 6
    us, and as many numbers of torch's `bernoulli_` 47 us."""

    def __init__(self, share: float, generator: torch.Generator) -> None:
        self._kept, self._generator = min(round((1.0 - share) * BYTES), BYTES - 1), generator
        self._words = torch.zeros(0, dtype=torch.int64, device=generator.device)
        self._mask = torch.zeros(0, 0, device=generator.device)

    def forward(self, x: Tensor) -> Tensor:
        if self._mask.shape != x.shape:
            self._mask, self._words = torch.empty_like(x), self._words.new_empty(-(-x.numel() // 8))
        self._words.random_(LOWEST_WORD, None, generator=self._generator)
        drawn = self._words.view(torch.uint8)[: x.numel()].view(x.shape)
        torch.lt(drawn, self._kept, out=self._mask)
        self._mask.mul_(BYTES / self._kept)
        return x * self._mask

    def backward(self, slope: Tensor) -> Tensor:
        return slope.mul_(self._mask)


class Flatten:
    """Images as rows of numbers, in the order that they have in memory: channels last."""

    def forward(self, x: Tensor) -> Tensor:
        self._sizes = x.shape
        return x.permute(0, 2, 3, 1).reshape(len(x), -1)

    def backward(self, slope: Tensor) -> Tensor:
        rows, channels, height, width = self._sizes
        return slope.view(rows, height, width, channels).permute(0, 3, 1, 2)


class Planes:
    """Images as rows of numbers, one plane after the other: the order of actions that are planes."""

    def forward(self, x: Tensor) -> Tensor:
        self._sizes = x.shape
        return x.reshape(len(x), -1)

    def backward(self, slope: Tensor) -> Tensor:
        return slope.view(self._sizes).contiguous(memory_format=torch.channels_last)


class Image:
    """Rows of numbers as images with their channels last."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        planes, height, width = shape
        self._sizes = (-1, height, width, planes)

    def forward(self, x: Tensor) -> Tensor:
        return x.view(self._sizes).permute(0, 3, 1, 2)

    def backward(self, slope: Tensor) -> None:
        return None
