"""Plays small networks of fully connected layers in compiled code, and says which kind plays a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from agents.nets.architecture import MLP, STACK, Architecture
from agents.nets.facts import configure, describe, draw, settings
from agents.nets.mlp import Mlp, MlpPilot
from agents.nets.network import Network, dump, load
from agents.nets.onnx.export import agent_to_onnx
from agents.nets.torch_pilot import TORCH_NET
from engine.errors import BadValue
from engine.game import AgentKind, Game
from engine.play.match import AgentSpec

LARGEST = 300_000  # weights: above it torch is faster; the guide's page on networks has the measurement


def is_small(architecture: Architecture, observation: Sequence[int], actions: int) -> bool:
    """Whether a network is played in compiled code."""
    sizes = map(math.prod, architecture.shapes(observation, actions).values())
    return architecture.is_dense and sum(sizes) <= LARGEST


def kind_for(architecture: Architecture, observation: Sequence[int], actions: int) -> AgentKind:
    """The kind that plays networks of this architecture."""
    return NET if is_small(architecture, observation, actions) else TORCH_NET


def agent(id: str, network: Network) -> AgentSpec:
    """An agent that plays with this network."""
    kind = kind_for(network.architecture, network.observation, network.actions)
    return AgentSpec(id, kind.name, dump(network), kind.version)


def mlp_of(network: Network) -> Mlp:
    """The network as compiled code computes it: policy and value are one layer."""
    layers = [(f"layers.{k}",) for k in range(len(network.architecture.hidden))]
    joined = [
        tuple(np.concatenate([network.tensors[f"{name}.{part}"] for name in names]) for part in ("weight", "bias"))
        for names in (*layers, ("policy", "value"))
    ]
    weights, biases = tuple(weight.T for weight, _ in joined), tuple(bias for _, bias in joined)
    return Mlp(weights, biases, network.temperature, network.architecture.layer_activations)


_loaded = lru_cache(4)(load)  # the parts of a rollout load new weights one after the other


class NetPilot(MlpPilot):
    """Plays every small network of a group of lanes."""

    def __init__(self, game: Game, slots: int) -> None:
        super().__init__(game, slots, self._read_network)
        self._game = game

    def _read_network(self, payload: bytes) -> Mlp:
        network = _loaded(payload)
        network.check_game(self._game)
        if not network.architecture.is_dense:
            needed = f"{MLP}, or {STACK} without convolutions; the kind torch-net plays this network"
            raise BadValue("architecture", network.architecture.type, needed)
        if not is_small(network.architecture, network.observation, network.actions):
            raise BadValue(
                "weights", network.weights, f"at most {LARGEST:,}; the kind torch-net is faster for this network"
            )
        return mlp_of(network)


NET = AgentKind(
    name="net",
    version=1,
    pilot=NetPilot,
    plays=lambda game: True,
    samples=lambda game: [],
    draw=draw,
    describe=describe,
    settings=settings,
    configure=configure,
    formats={"onnx": agent_to_onnx},
)
