"""Architectures of networks as data: the layers of a network, and the tensors that it consists of.

Every network has a policy head, with a logit for each action, and a value head. A file can name an architecture but
never runs code: what is not described here cannot be built.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import BadValue, UnknownName

Shapes = dict[str, tuple[int, ...]]

MLP, CONV, RESNET, STACK = TYPES = ("mlp", "conv", "resnet", "stack")
RELU, LEAKY_RELU, ELU, SILU, TANH = ACTIVATIONS = ("relu", "leaky_relu", "elu", "silu", "tanh")
MOST_LAYERS, MOST_BLOCKS = 8, 40
WIDEST, MOST_CHANNELS = 4096, 512
MOST_WEIGHTS = 50_000_000  # 200 MB
SIDE = 3  # of the kernels of convolutions
SIDES, STRIDES = (1, 3, 5, 7), (1, 2)  # that a stack may choose for each convolution
SQUEEZED = 8  # planes that the value head of a resnet sees
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 1e-3, 1e3


@dataclass(frozen=True)
class Architecture:
    """The layers of a network.

    `mlp`: fully connected layers with tanh, for observations of any shape.
    `conv`: convolutions of 3 x 3 with ReLU, then fully connected layers with ReLU, for small images.
    `resnet`: a convolution and residual blocks of two convolutions each. If the actions are planes of the image, as in
    Shogi, the policy head is a convolution of 1 x 1. The hidden layers belong to the value head.
    `stack`: any number of convolutions, each with its own kernel and stride, then fully connected layers; each of them
    has its own activation. Without convolutions it is for observations of any shape. The policy head is a convolution
    of 1 x 1, as in a resnet, if it reads an image of full size whose planes the actions are: if there are convolutions,
    all with stride 1, and no fully connected layers.
    """

    type: str = MLP
    hidden: tuple[int, ...] = (64, 64)  # outputs of each fully connected layer before the heads
    channels: tuple[int, ...] = ()  # of each convolution; one number for a resnet
    blocks: int = 0  # resnet: residual blocks
    kernels: tuple[int, ...] = ()  # stack: the side of each convolution's kernel
    strides: tuple[int, ...] = ()  # stack: of each convolution
    activations: tuple[str, ...] = ()  # stack: of each convolution, then of each fully connected layer

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise UnknownName("network architecture", self.type, TYPES)
        fewest = 1 if self.type == MLP else 0
        _check_sizes("hidden", self.hidden, fewest, MOST_LAYERS, WIDEST)
        limits = {MLP: (0, 0), CONV: (1, MOST_LAYERS), RESNET: (1, 1), STACK: (0, MOST_LAYERS)}
        fewest, most = limits[self.type]
        _check_sizes("channels", self.channels, fewest, most, MOST_CHANNELS)
        low, high = (1, MOST_BLOCKS) if self.type == RESNET else (0, 0)
        if type(self.blocks) is not int or not low <= self.blocks <= high:
            raise BadValue("blocks", self.blocks, f"from {low} to {high} in a network of type {self.type}")
        stacked = self.type == STACK
        convs, layers = (len(self.channels), len(self.channels) + len(self.hidden)) if stacked else (0, 0)
        _check_choices("kernels", self.kernels, convs, SIDES)
        _check_choices("strides", self.strides, convs, STRIDES)
        _check_choices("activations", self.activations, layers, ACTIVATIONS)

    @property
    def is_dense(self) -> bool:
        """Whether all layers are fully connected: then it is for observations of any shape."""
        return not self.channels

    @property
    def layer_activations(self) -> tuple[str, ...]:
        """The activation of each convolution, then of each fully connected layer."""
        if self.type == STACK:
            return self.activations
        return (TANH if self.type == MLP else RELU,) * (len(self.channels) + len(self.hidden))

    @property
    def conv_kernels(self) -> tuple[int, ...]:
        """The side of the kernel of each convolution before the blocks of a resnet."""
        return self.kernels or (SIDE,) * len(self.channels)

    @property
    def conv_strides(self) -> tuple[int, ...]:
        """The stride of each of them."""
        return self.strides or (1,) * len(self.channels)

    def policy_planes(self, observation: Sequence[int], actions: int) -> int:
        """The planes that the policy head computes by a convolution of 1 x 1, numbered as `plane * squares + square`
        when they are actions; 0 if it is a fully connected layer."""
        reads_image = self.type == STACK and self.channels and not self.hidden and set(self.strides) == {1}
        if not (self.type == RESNET or reads_image) or not has_action_planes(observation, actions):
            return 0
        return actions // math.prod(observation[1:])

    def shapes(self, observation: Sequence[int], actions: int) -> Shapes:
        """The shapes of all tensors by name, in the order of the layers, for a game with such observations and
        actions. Raises BadValue if it does not fit the game, or has too many weights."""
        if not self.is_dense and len(observation) != 3:
            raise BadValue(
                "observation", tuple(observation), f"planes, rows and columns for a network of type {self.type}"
            )
        found = (self._resnet if self.type == RESNET else self._stack)(tuple(observation), actions)
        if (count := sum(map(math.prod, found.values()))) > MOST_WEIGHTS:
            raise BadValue("weights", count, f"at most {MOST_WEIGHTS:,}: choose smaller layers")
        return found

    def _resnet(self, observation: tuple[int, ...], actions: int) -> Shapes:
        (planes, rows, columns), [width] = observation, self.channels
        found = _layer("stem", planes, width, SIDE)
        for k in range(self.blocks):
            found |= _layer(f"blocks.{k}.first", width, width, SIDE) | _layer(f"blocks.{k}.second", width, width, SIDE)
        if plane_count := self.policy_planes(observation, actions):
            found |= _layer("policy", width, plane_count, 1)
        else:
            found |= _layer("policy", width * rows * columns, actions)
        found |= _layer("squeeze", width, SQUEEZED, 1)
        dense, last = _connected(SQUEEZED * rows * columns, self.hidden)
        return found | dense | _layer("value", last, 1)

    def _stack(self, observation: tuple[int, ...], actions: int) -> Shapes:
        """All types but resnets."""
        found: Shapes = {}
        sizes = observation
        for k, (width, side) in enumerate(zip(self.channels, self.conv_kernels, strict=True)):
            found |= _layer(f"convs.{k}", sizes[0], width, side)
            sizes = (width, *strided(sizes[1:], self.conv_strides[k]))
        dense, last = _connected(math.prod(sizes), self.hidden)
        planes = self.policy_planes(observation, actions)
        policy = _layer("policy", sizes[0], planes, 1) if planes else _layer("policy", last, actions)
        return found | dense | policy | _layer("value", last, 1)


def check_temperature(temperature: float) -> None:
    """Raise BadValue unless a network can play at this temperature."""
    if temperature != 0.0 and not LOWEST_TEMPERATURE <= temperature <= HIGHEST_TEMPERATURE:
        raise BadValue("temperature", temperature, "0, or from 0.001 to 1000")


def has_action_planes(observation: Sequence[int], actions: int) -> bool:
    """Whether actions are numbered `plane * squares + square`, as far as their number tells: it is a multiple of the
    squares. By chance it is one too where actions are no squares, most likely for images of a few squares. A
    convolution of 1 x 1 is then a layer with fewer weights, which sees squares only through the convolutions before it;
    for a single square it is the fully connected layer itself. A stack with a stride or a fully connected layer has the
    usual head in such a game."""
    _, rows, columns = observation
    return actions % (rows * columns) == 0


def strided(image: Sequence[int], stride: int) -> tuple[int, ...]:
    """Rows and columns that a convolution makes of an image: only its stride makes the image smaller."""
    return tuple(-(-size // stride) for size in image)


def _connected(inputs: int, hidden: Sequence[int]) -> tuple[Shapes, int]:
    """The fully connected layers, and the number of their outputs."""
    found: Shapes = {}
    for k, (before, after) in enumerate(itertools.pairwise((inputs, *hidden))):
        found |= _layer(f"layers.{k}", before, after)
    return found, (inputs, *hidden)[-1]


def _layer(name: str, inputs: int, outputs: int, side: int = 0) -> Shapes:
    """Weights and bias in torch's order; a convolution if it has a side."""
    return {f"{name}.weight": (outputs, inputs, *[side] * (2 if side else 0)), f"{name}.bias": (outputs,)}


def parse_sizes(field: str, text: str) -> tuple[int, ...]:
    """The sizes of layers, as settings have them."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise BadValue(field, text, "whole numbers separated by commas, such as 64,64") from None


def _check_sizes(field: str, sizes: tuple[int, ...], fewest: int, most: int, largest: int) -> None:
    if not isinstance(sizes, tuple) or not fewest <= len(sizes) <= most:
        raise BadValue(field, sizes, f"{fewest} to {most} numbers" if most else "empty")
    for size in sizes:
        if type(size) is not int or not 1 <= size <= largest:
            raise BadValue(field, sizes, f"whole numbers from 1 to {largest}")


def _check_choices(field: str, values: tuple[object, ...], count: int, choices: Sequence[object]) -> None:
    if not isinstance(values, tuple) or len(values) != count:
        raise BadValue(field, values, f"{count}, one for each layer" if count else "empty")
    for value in values:
        if value not in choices or type(value) is not type(choices[0]):
            raise BadValue(field, value, f"one of {', '.join(map(str, choices))}")
