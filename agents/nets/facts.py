"""What a person sees of a network, and may choose when it is added to a league."""

from __future__ import annotations

import math
from dataclasses import dataclass

from agents.nets.architecture import CONV, HIGHEST_TEMPERATURE, MLP, RESNET, check_temperature
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
    architecture, actions = network.architecture, network.actions
    hidden = [str(size) for size in architecture.hidden]
    if architecture.type == MLP:
        layers = [str(math.prod(network.observation)), *hidden, f"{actions:,} + value"]
    elif architecture.type == CONV:
        layers = [f"{width} channels" for width in architecture.channels] + hidden + [f"{actions:,} + value"]
    else:
        [width] = architecture.channels
        value = f"value ({', '.join(hidden)})" if hidden else "value"
        layers = [f"{architecture.blocks} residual blocks of {width} channels", f"{actions:,} + {value}"]
    return f"{architecture.type}: {', '.join(layers)}"


def draw(agent: AgentSpec) -> Diagram:
    """A block for each layer, from inputs to outputs."""
    network = load(agent.payload)
    architecture = network.architecture
    planes = network.observation[0] if len(network.observation) == 3 else 0
    parts: list[tuple[int, bool, Role, str]] = []  # outputs, whether it is an image, role, text
    if architecture.type == MLP or not planes:
        parts.append((math.prod(network.observation), False, "input", f"{math.prod(network.observation)}"))
    else:
        parts.append((planes, True, "input", f"{planes}"))
    parts += [(width, True, "hidden", f"{width}") for width in architecture.channels]
    if architecture.type == RESNET:
        [width] = architecture.channels
        shown = min(architecture.blocks, BLOCKS_SHOWN)
        texts = {shown // 2: f"{architecture.blocks} blocks"}
        parts += [(width, True, "hidden", texts.get(k, "")) for k in range(shown)]
    else:
        parts += [(size, False, "hidden", f"{size}") for size in architecture.hidden]
    parts.append((network.actions, False, "output", f"{network.actions:,}"))
    blocks = [
        Block((k + 0.5) / len(parts), min(max(math.log2(size + 1) / TALLEST, 0.12), 1.0), role, image=image, text=text)
        for k, (size, image, role, text) in enumerate(parts)
    ]
    return Diagram((), (), tuple(blocks))
