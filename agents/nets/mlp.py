"""Small networks of fully connected layers (MLPs), any number of them in flat arrays, one row at a time.

Each hidden layer ends in its activation. The last layer is linear and holds two heads side by side: a logit for each
action, then the value of the position. Actions are sampled from the softmax of the logits of legal actions. All sums
have a fixed order and nothing calls the C library, so a row gives the same bits on every machine, whatever else is
evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from agents.nets.architecture import ACTIVATIONS, ELU, LEAKY_RELU, RELU, SILU, TANH, check_temperature
from agents.nets.arithmetic import elu_row, leaky_relu_row, relu_row, silu_row, tanh_row
from agents.nets.sampling import CHOICE, INVALID, answer, choice_of
from engine.errors import BadValue, UnknownName
from engine.game import BROKEN, Decisions, Game, Indices, Ints, Observations, Seeds, Views
from engine.kernels import bare, row
from engine.play.match import AgentSpec, MatchResult

Weights = NDArray[np.float32]
PAD = 8  # layers are padded with zeros to a multiple of this: then the compiler needs no code for remainders
LINE = 16  # numbers in a cache line

NET = np.dtype([("layer", "i8"), ("layers", "i8"), *CHOICE.descr[:3]], align=True)
SIZES = ("inputs", "outputs", "bias", "weights")
LAYER = np.dtype([*((name, "u8") for name in SIZES), ("activation", "i8")], align=True)
"""Sizes, and where bias and weights begin. Unsigned: indices then need no check for negative ones, worth a fifth."""

LINEAR = -1  # the activation of the last layer; others are places in ACTIVATIONS
IS_RELU, IS_LEAKY_RELU, IS_ELU, IS_SILU, IS_TANH = map(ACTIVATIONS.index, (RELU, LEAKY_RELU, ELU, SILU, TANH))


@dataclass(frozen=True, eq=False)
class Mlp:
    """One network; `temperature` 0 plays the action with the largest logit."""

    # [inputs, outputs] of each layer; the last has an output for each action and the value
    weights: tuple[Weights, ...]
    biases: tuple[Weights, ...]
    temperature: float = 1.0
    activations: tuple[str, ...] = ()  # of each layer but the last; empty: tanh

    def check(self, inputs: int, actions: int) -> None:
        """Raise BadValue unless it fits a game with so many observed numbers and actions."""
        if len(self.weights) != len(self.biases):
            raise BadValue("biases", len(self.biases), f"{len(self.weights)} arrays, one for each array of weights")
        if self.activations and len(self.activations) != len(self.weights) - 1:
            needed = f"{len(self.weights) - 1}, one for each layer but the last"
            raise BadValue("activations", self.activations, needed)
        for name in self.activations:
            if name not in ACTIVATIONS:
                raise UnknownName("activation", name, ACTIVATIONS)
        check_temperature(self.temperature)
        sizes = [inputs, *(len(bias) for bias in self.biases)]
        for layer, weights in enumerate(self.weights):
            shape = (sizes[layer], sizes[layer + 1])
            if weights.shape != shape:
                raise BadValue(f"weights[{layer}].shape", weights.shape, f"{shape}")
        if sizes[-1] != actions + 1:
            raise BadValue("outputs", sizes[-1], f"{actions + 1}: a logit for each action, and the value")


@row
def _layer_row(x, layer, weights, out):  # type: ignore[no-untyped-def]
    """`out` = bias + x @ weights. The inner loop runs over outputs, so it vectorises without changing a sum's order."""
    count, at = layer.outputs, layer.weights
    for k in range(count):
        out[k] = weights[layer.bias + k]
    for i in range(uint64(0), layer.inputs, uint64(4)):
        x0, x1, x2, x3 = x[i], x[i + uint64(1)], x[i + uint64(2)], x[i + uint64(3)]
        for k in range(count):
            w = at + k
            first = x0 * weights[w] + x1 * weights[w + count]
            out[k] += first + (x2 * weights[w + count + count] + x3 * weights[w + count + count + count])
        at += uint64(4) * count


@row
def _activate(values, count, activation):  # type: ignore[no-untyped-def]
    if activation == IS_TANH:
        tanh_row(values, count)
    elif activation == IS_RELU:
        relu_row(values, count)
    elif activation == IS_LEAKY_RELU:
        leaky_relu_row(values, count)
    elif activation == IS_ELU:
        elu_row(values, count)
    elif activation == IS_SILU:
        silu_row(values, count)


@bare
def _forward(nets, layers, weights, values, agent, obs):  # type: ignore[no-untyped-def]
    """Evaluate one network; the row of `values` that holds its outputs."""
    net = nets[agent]
    first = layers[net.layer]
    for i in range(obs.size):
        values[0, i] = obs[i]
    for i in range(uint64(obs.size), first.inputs):
        values[0, i] = 0.0
    for k in range(net.layers):
        layer, out = layers[net.layer + k], values[(k + 1) & 1]
        _layer_row(values[k & 1], layer, weights, out)
        _activate(out, layer.outputs, layer.activation)
    return net.layers & 1


@row
def policy_row(arrays, slot, agent, ply, obs, legal, position, out):  # type: ignore[no-untyped-def]
    """The action, with its log-probability and the value in `out`; BROKEN where an output is not a usable number."""
    nets, layers, weights, values, chances, seeds, _ = arrays
    net = nets[agent]
    outputs = values[_forward(nets, layers, weights, values, agent, obs.reshape(obs.size))]
    out[1] = outputs[net.actions]
    return answer(net, seeds[slot], ply, outputs, out[1], legal, chances, out)


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    return policy_row(arrays, slot, agent, ply, obs, legal, position, arrays[6])


@row
def value_row(arrays, agent, obs):  # type: ignore[no-untyped-def]
    nets, layers, weights, values = arrays[0], arrays[1], arrays[2], arrays[3]
    return values[_forward(nets, layers, weights, values, agent, obs.reshape(obs.size)), nets[agent].actions]


@bare
def _decide(arrays, agents, slots, plies, obs, legal, masked, actions, outputs):  # type: ignore[no-untyped-def]
    for i in range(actions.size):
        mask = legal[i if masked else 0]
        actions[i] = policy_row(arrays, slots[i], agents[i], plies[i], obs[i], mask, None, outputs[i])


@bare
def _evaluate(arrays, agents, obs, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = value_row(arrays, agents[i], obs[i])


def _padded(mlp: Mlp) -> list[tuple[int, ...]]:
    """Inputs and outputs of each layer as they are stored."""
    return [tuple(-(-size // PAD) * PAD for size in weights.shape) for weights in mlp.weights]


def _aligned(size: int) -> Weights:
    """Zeros that begin at a cache line: a layer takes 190 ns instead of up to 270."""
    room = np.zeros(size + LINE, np.float32)
    first = -(room.ctypes.data // 4) % LINE
    return room[first : first + size]


class MlpPilot:
    """Plays every MLP of a group of lanes; `read` makes a network of an agent's payload."""

    capacity = None
    act_row = staticmethod(act_row)
    policy_row = staticmethod(policy_row)
    value_row = staticmethod(value_row)
    observes = True

    def __init__(self, game: Game, slots: int, read: Callable[[bytes], Mlp]) -> None:
        self._inputs, self._actions, self._read = math.prod(game.info.observation), game.info.actions, read
        self._nets, self._layers, self._weights = np.zeros(0, NET), np.zeros(0, LAYER), np.zeros(0, np.float32)
        self._values = np.zeros((2, 0), np.float32)
        self._chances = np.zeros(self._actions)
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._answer = np.zeros(2, np.float32)
        self._actions_out: Ints = np.zeros(slots, np.int64)
        self._outputs = np.zeros((slots, 2), np.float32)  # log-probabilities and values
        self._all = np.ones((1, self._actions), np.uint8)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (
            self._nets, self._layers, self._weights, self._values, self._chances, self._seeds, self._answer,
        )  # fmt: skip

    def load(self, agent: AgentSpec) -> int:
        mlp = self._read(agent.payload)
        mlp.check(self._inputs, self._actions)
        layers, at = [], len(self._weights)
        for inputs, outputs in _padded(mlp):
            layers.append((inputs, outputs, at, at + outputs, LINEAR))
            at += outputs + inputs * outputs
        net = (len(self._layers), len(layers), self._actions, 1.0, 0)
        self._nets = np.append(self._nets, np.array([net], NET))
        self._layers = np.append(self._layers, np.array(layers, LAYER))
        former, self._weights = self._weights, _aligned(at)
        self._weights[: len(former)] = former
        widest = max(self._values.shape[1], *(max(layer[:2]) for layer in layers))
        self._values = _aligned(2 * widest).reshape(2, widest)
        self._fill(len(self._nets) - 1, mlp)
        return len(self._nets) - 1

    def replace(self, number: int, agent: AgentSpec) -> None:
        """Sets another network of a loaded agent, with layers of the same sizes; running matches use it at once."""
        mlp, net = self._read(agent.payload), self._nets[number]
        mlp.check(self._inputs, self._actions)
        layers = self._layers[net["layer"] : net["layer"] + net["layers"]]
        sizes = layers[["inputs", "outputs"]].tolist()
        if _padded(mlp) != sizes:
            raise BadValue("layers", _padded(mlp), f"{sizes}, as in the network that it replaces")
        self._fill(number, mlp)

    def _fill(self, number: int, mlp: Mlp) -> None:
        net = self._nets[number : number + 1]
        _, net["scale"], net["greedy"] = choice_of(self._actions, mlp.temperature)
        activations = mlp.activations or (TANH,) * (len(mlp.weights) - 1)
        for k, (weights, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
            layer = self._layers[int(net["layer"][0]) + k]
            inputs, outputs, first, second = (int(layer[name]) for name in SIZES)
            if k < len(activations):
                layer["activation"] = ACTIVATIONS.index(activations[k])
            self._weights[first:second] = 0.0
            self._weights[first : first + len(bias)] = bias
            padded = self._weights[second : second + inputs * outputs].reshape(inputs, outputs)
            padded[:] = 0.0
            padded[: weights.shape[0], : weights.shape[1]] = weights

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        return self.decide(views).actions

    def decide(self, views: Views) -> Decisions:
        actions, outputs = self._actions_out[: len(views)], self._outputs[: len(views)]
        legal = self._all if views.legal is None else views.legal.view(np.uint8)
        masked = views.legal is not None
        _decide(self.arrays, views.agents, views.slots, views.plies, views.obs, legal, masked, actions, outputs)
        broken = np.flatnonzero(actions == BROKEN)
        if broken.size:
            views.asking(int(broken[0]))
            raise FloatingPointError(INVALID)
        return Decisions(actions, outputs[:, 0], outputs[:, 1])

    def evaluate(self, agents: Indices, obs: Observations) -> Weights:
        values = np.empty(len(agents), np.float32)
        _evaluate(self.arrays, agents, obs, values)
        return values

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass
