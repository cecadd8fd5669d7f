"""What a person sees of a network, and may choose when it is added to a league."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agents.nets.architecture import HIGHEST_TEMPERATURE, RESNET, STACK, Architecture, check_temperature
from agents.nets.network import Network, dump, load
from engine.diagram import Block, Diagram, Role
from engine.options import option, validate
from engine.play.match import AgentSpec

BLOCKS_SHOWN = 3  # residual blocks that are drawn
TALLEST = 12.0  # the logarithm to base 2 of the outputs of a layer that is drawn at full height


@dataclass(frozen=True)
class NetSettings:
    """How a network chooses among actions."""

    temperature: float = option(
        0.0,
        low=0.0,
        high=HIGHEST_TEMPERATURE,
        help="0 plays the action with the largest output; 1 samples actions as in training; more is more random",
    )

    def __post_init__(self) -> None:
        validate(self)
        check_temperature(self.temperature)


def settings(payload: bytes) -> NetSettings:
    return NetSettings(load(payload).temperature)


def configure(payload: bytes, chosen: NetSettings) -> bytes:
    """The network of this payload, with other settings."""
    return dump(load(payload).with_temperature(chosen.temperature))


def describe(agent: AgentSpec) -> list[tuple[str, str]]:
    """Architecture, size and temperature, as names and values."""
    network = load(agent.payload)
    observation = " x ".join(map(str, network.observation))
    chosen = f"{network.temperature:g}" if network.temperature else "0: plays the action with the largest output"
    return [
        ("Architecture", layers_text(network)),
        ("Weights", f"{network.weights:,}"),
        ("Observation", observation),
        ("Actions", f"{network.actions:,}"),
        ("Temperature", chosen),
    ]


def layers_text(network: Network) -> str:
    """The layers in words, such as `mlp: 8, 64, 64, 3 + value`."""
    return architecture_text(network.architecture, network.observation, network.actions)


def architecture_text(architecture: Architecture, observation: Sequence[int], actions: int) -> str:
    """The layers in words, such as `stack: 16 channels 3x3/2 relu, 64 silu, 4 + value`; /2 is a stride. Actions that
    are planes of an image are `2,187 in 27 planes`."""
    hidden = [str(size) for size in architecture.hidden]
    if architecture.type == RESNET:
        [width] = architecture.channels
        value = f"value ({', '.join(hidden)})" if hidden else "value"
        return f"resnet: {architecture.blocks} residual blocks of {width} channels, {actions:,} + {value}"
    layers = [f"{width} channels" for width in architecture.channels] + hidden
    if architecture.type == STACK:
        for k, (side, stride) in enumerate(zip(architecture.kernels, architecture.strides, strict=True)):
            layers[k] += f" {side}x{side}" + (f"/{stride}" if stride > 1 else "")
        layers = [f"{layer} {name}" for layer, name in zip(layers, architecture.activations, strict=True)]
    inputs = [str(math.prod(observation))] if architecture.is_dense else []
    planes = architecture.policy_planes(observation, actions)
    policy = f"{actions:,} in {planes:,} planes" if planes else f"{actions:,}"
    return f"{architecture.type}: {', '.join([*inputs, *layers, f'{policy} + value'])}"


def draw(agent: AgentSpec) -> Diagram:
    """A block for each layer, from inputs to outputs."""
    network = load(agent.payload)
    return architecture_diagram(network.architecture, network.observation, network.actions)


def architecture_diagram(architecture: Architecture, observation: Sequence[int], actions: int) -> Diagram:
    """A block for each layer, from inputs to outputs; convolutions are images."""
    inputs = math.prod(observation) if architecture.is_dense else observation[0]
    parts: list[tuple[int, bool, Role, str]] = []  # outputs, whether it is an image, role, text
    parts.append((inputs, not architecture.is_dense, "input", f"{inputs}"))
    parts += [(width, True, "hidden", f"{width}") for width in architecture.channels]
    if architecture.type == RESNET:
        [width] = architecture.channels
        shown = min(architecture.blocks, BLOCKS_SHOWN)
        texts = {shown // 2: f"{architecture.blocks} blocks"}
        parts += [(width, True, "hidden", texts.get(k, "")) for k in range(shown)]
    else:
        parts += [(size, False, "hidden", f"{size}") for size in architecture.hidden]
    planes = architecture.policy_planes(observation, actions) if architecture.type == STACK else 0
    parts.append(
        (planes, True, "output", f"{planes:,} planes") if planes else (actions, False, "output", f"{actions:,}")
    )
    blocks = [
        Block((k + 0.5) / len(parts), min(max(math.log2(size + 1) / TALLEST, 0.12), 1.0), role, image=image, text=text)
        for k, (size, image, role, text) in enumerate(parts)
    ]
    return Diagram((), (), tuple(blocks))
