"""Writes a network as an ONNX file (opset 17), for other programs and for the kind `onnx`.

The input is `observation` [batch, ...]. The outputs are `logits` [batch, actions], before masking, and `value` [batch,
1]. The scale of inputs that a trainer learned is part of the first layer. Game and temperature are in the metadata.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.nets.architecture import ELU, LEAKY_RELU, RELU, RESNET, SILU, TANH
from agents.nets.network import Network, load
from agents.nets.onnx.model import GAME, TEMPERATURE, metadata
from engine.play.match import AgentSpec
from engine.protobuf import field

IR_VERSION, OPSET = 8, 17
FLOAT = 1  # type of tensors
BATCH = "batch"  # name of the free size
INT_ATTRIBUTE, INTS_ATTRIBUTE = 2, 7
OPERATORS = {RELU: "Relu", LEAKY_RELU: "LeakyRelu", ELU: "Elu", TANH: "Tanh"}  # their default slopes are ours


def agent_to_onnx(agent: AgentSpec) -> bytes:
    return to_onnx(load(agent.payload))


def to_onnx(network: Network) -> bytes:
    """The network as the content of an ONNX file."""
    graph = _Graph(network)
    hidden = _resnet(graph, network) if network.architecture.type == RESNET else _stack(graph, network)
    graph.gemm("value", hidden, "value")
    entries = metadata(GAME, network.game) + metadata(TEMPERATURE, repr(network.temperature))
    opset = field(8, field(1, "") + field(2, OPSET))
    return field(1, IR_VERSION) + field(2, "Ringside") + field(7, graph.content()) + opset + entries


def _stack(graph: _Graph, network: Network) -> str:
    """Adds everything but the value head; returns the name of its input."""
    x, activations = "observation", network.architecture.layer_activations
    strides = network.architecture.conv_strides
    for k, stride in enumerate(strides):
        x = graph.activation(activations[k], graph.conv(f"convs.{k}", x, stride))
    hidden = graph.layers(x, activations[len(strides) :])
    if network.tensors["policy.weight"].ndim == 4:  # actions are planes
        graph.node("Flatten", [graph.conv("policy", x)], "logits", axis=1)
    else:
        graph.gemm("policy", hidden, "logits")
    return hidden


def _resnet(graph: _Graph, network: Network) -> str:
    """Adds everything but the value head; returns the name of its input."""
    x = graph.node("Relu", [graph.conv("stem", "observation")])
    for k in range(network.architecture.blocks):
        inner = graph.node("Relu", [graph.conv(f"blocks.{k}.first", x)])
        x = graph.node("Relu", [graph.node("Add", [x, graph.conv(f"blocks.{k}.second", inner)])])
    if network.tensors["policy.weight"].ndim == 4:  # actions are planes
        graph.node("Flatten", [graph.conv("policy", x)], "logits", axis=1)
    else:
        graph.gemm("policy", graph.node("Flatten", [x], axis=1), "logits")
    squeezed = graph.node("Relu", [graph.conv("squeeze", x)])
    return graph.layers(squeezed, (RELU,) * len(network.architecture.hidden))


class _Graph:
    """The nodes and weights of a network, as fields of a message."""

    def __init__(self, network: Network) -> None:
        self._network, self._nodes = network, list[bytes]()

    def node(self, operator: str, inputs: Sequence[str], output: str = "", **attributes: int | Sequence[int]) -> str:
        """Adds a node; returns the name of its output."""
        output = output or f"{operator.lower()}.{len(self._nodes)}"
        parts = [field(1, name) for name in inputs] + [field(2, output), field(4, operator)]
        parts += [field(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(field(1, b"".join(parts)))
        return output

    def gemm(self, layer: str, x: str, output: str = "") -> str:
        """A fully connected layer; its weights are [outputs, inputs], as torch has them."""
        return self.node("Gemm", [x, f"{layer}.weight", f"{layer}.bias"], output, transB=1)

    def activation(self, name: str, x: str) -> str:
        if name == SILU:  # no operator of this opset
            return self.node("Mul", [x, self.node("Sigmoid", [x])])
        return self.node(OPERATORS[name], [x])

    def conv(self, layer: str, x: str, stride: int = 1) -> str:
        """A convolution; only its stride makes the image smaller."""
        side = self._network.tensors[f"{layer}.weight"].shape[-1]
        inputs = [x, f"{layer}.weight", f"{layer}.bias"]
        attributes = {"kernel_shape": [side, side], "pads": [side // 2] * 4}
        if stride > 1:
            attributes["strides"] = [stride, stride]
        return self.node("Conv", inputs, "", **attributes)

    def layers(self, x: str, activations: Sequence[str]) -> str:
        """The hidden layers, which see their input as a row of numbers."""
        x = self.node("Flatten", [x], axis=1)
        for k, name in enumerate(activations):
            x = self.activation(name, self.gemm(f"layers.{k}", x))
        return x

    def content(self) -> bytes:
        network = self._network
        weights = [field(5, _tensor(name, tensor)) for name, tensor in network.tensors.items()]
        ports = [field(11, _port("observation", network.observation))]
        ports += [field(12, _port("logits", [network.actions])), field(12, _port("value", [1]))]
        return b"".join([*self._nodes, field(2, network.game), *weights, *ports])


def _attribute(name: str, value: int | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, INT_ATTRIBUTE)
    return field(1, name) + b"".join(field(8, one) for one in value) + field(20, INTS_ATTRIBUTE)


def _tensor(name: str, tensor: np.ndarray) -> bytes:
    sizes = b"".join(field(1, size) for size in tensor.shape)
    return sizes + field(2, FLOAT) + field(8, name) + field(9, tensor.astype("<f4").tobytes())


def _port(name: str, shape: Sequence[int]) -> bytes:
    """An input or output: float32 [batch, ...]."""
    sizes = [field(2, BATCH), *(field(1, size) for size in shape)]
    tensor = field(1, FLOAT) + field(2, b"".join(field(1, size) for size in sizes))
    return field(1, name) + field(2, field(1, tensor))
