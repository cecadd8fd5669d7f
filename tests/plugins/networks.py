"""Networks with weights drawn from a seed, for tests of the kinds `net` and `torch-net`."""

from __future__ import annotations

import math

import numpy as np

from agents.nets.architecture import Architecture
from agents.nets.network import Network
from engine.game import Game

SMALL = Architecture("mlp", (16, 8))
CONV = Architecture("conv", (32,), (8, 16))
RESNET = Architecture("resnet", (16,), (8,), 2)
STACK = Architecture("stack", (16, 12, 9, 16, 8), activations=("relu", "silu", "elu", "leaky_relu", "tanh"))
CONV_STACK = Architecture(
    "stack",
    (20, 9),
    (8, 16, 5),
    kernels=(3, 5, 1),
    strides=(1, 2, 1),
    activations=("silu", "elu", "tanh", "relu", "elu"),
)
PLANE_STACK = Architecture(  # in Shogi, actions are planes of the image
    "stack", (), (8, 5), kernels=(3, 1), strides=(1, 1), activations=("silu", "elu")
)


def drawn(architecture: Architecture, game: Game, seed: int = 0, temperature: float = 1.0) -> Network:
    """A network with random weights, without torch."""
    rng, info = np.random.default_rng(seed), game.info
    tensors = {}
    for name, shape in architecture.shapes(info.observation, info.actions).items():
        spread = 4.0 if len(shape) == 1 else math.sqrt(math.prod(shape[1:]))
        tensors[name] = (rng.standard_normal(shape) / spread).astype(np.float32)
    return Network(game.spec.name, info.observation, info.actions, architecture, tensors, temperature)
