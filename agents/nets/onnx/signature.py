"""Compares the inputs and outputs of an ONNX file with a game: which input is the observation, which output the policy.

Names are read only where shapes and types leave a choice, because every library has other names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agents.nets.onnx.model import Model, Port
from engine.errors import BadValue
from engine.game import Game

Shape = tuple[int | None, ...]

MASK_DTYPES = ("bool", "float32", "int8", "uint8", "int32", "int64")
ACTION_DTYPES = ("int64", "int32")
POLICY_NAMES = ("logit", "policy", "prob", "action")  # parts of names, where several outputs have the same shape


@dataclass(frozen=True)
class Signature:
    """How a network is called for one position, and what its answer means."""

    observation: str  # name of the input
    shape: tuple[int, ...]  # of the observation as it is given, with a batch of 1
    mask: str  # name of the input for legal actions; empty: it has none
    mask_dtype: str
    output: str
    chooses: bool  # whether the output is an action; otherwise it has a number for each action
    probabilities: bool  # whether these numbers are probabilities, not logits


def match_game(model: Model, game: Game) -> Signature:
    """How this network plays this game; raises BadValue, with the shapes that are needed and found, if it cannot."""
    info, name = game.info, game.spec.name
    if model.game and model.game != name:
        raise BadValue("network.game", model.game, f"{name}, the game of the match")
    observation, mask = _inputs(model.inputs, name, info.observation, info.actions)
    output, chooses = _output(model.outputs, name, info.actions)
    probabilities = not chooses and (output.made_by == "Softmax" or "prob" in output.name.lower())
    if chooses and model.temperature:
        needed = "0: this network gives one action, and no numbers to draw from"
        raise BadValue("temperature", model.temperature, needed)
    shape = _observation_shape(observation, info.observation)
    assert shape is not None
    return Signature(
        observation.name, shape, mask.name if mask else "", mask.dtype if mask else "", output.name, chooses,
        probabilities,
    )  # fmt: skip


def _fits(shape: Shape | None, needed: Sequence[int]) -> bool:
    """Whether such a tensor may have these sizes."""
    if shape is None:
        return True
    return len(shape) == len(needed) and all(size in (None, other) for size, other in zip(shape, needed, strict=True))


def _observation_shape(port: Port, observation: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape in which an input takes an observation: as the game has it, or as a row of numbers."""
    for needed in ((1, *observation), (1, math.prod(observation))):
        if port.dtype == "float32" and _fits(port.shape, needed):
            return needed
    return None


def _inputs(ports: Sequence[Port], game: str, observation: tuple[int, ...], actions: int) -> tuple[Port, Port | None]:
    """The inputs for the observation and for legal actions."""

    def is_mask(port: Port) -> bool:
        return port.dtype in MASK_DTYPES and _fits(port.shape, (1, actions))

    if len(ports) == 1 and _observation_shape(ports[0], observation):
        return ports[0], None
    if len(ports) == 2:
        pairs = [
            (first, second)
            for first, second in (ports, ports[::-1])
            if _observation_shape(first, observation) and is_mask(second)
        ]
        if pairs:  # both orders fit where an observation has as many numbers as there are actions
            return max(pairs, key=lambda pair: ("mask" in pair[1].name.lower()) - ("mask" in pair[0].name.lower()))
    flat = "" if len(observation) == 1 else f" or {[1, math.prod(observation)]}"
    needed = f"one float32 observation {[1, *observation]}{flat} of {game}, the first size 1 or free"
    needed = f"{needed}, and at most a mask {[1, actions]} of legal actions"
    if len(ports) > 1 and any(_observation_shape(port, observation) for port in ports):
        needed += ": export the network without its other inputs, such as a state"
    raise BadValue("inputs", _listed(ports), needed)


def _output(ports: Sequence[Port], game: str, actions: int) -> tuple[Port, bool]:
    """The output that is played, and whether it is an action."""
    policies = [port for port in ports if port.dtype == "float32" and _fits(port.shape, (1, actions))]
    exact = [port for port in policies if port.shape is not None and port.shape[1] == actions]
    choices = [
        port
        for port in ports
        if port.dtype in ACTION_DTYPES and any(_fits(port.shape, needed) for needed in ((1,), (1, 1), ()))
    ]
    for found, chooses in ((exact, False), (choices, True), (policies, False)):
        if found:
            named = [port for port in found if any(part in port.name.lower() for part in POLICY_NAMES)]
            return (named or found)[0], chooses
    needed = f"float32 {[1, actions]}, a logit or probability for each action of {game}, or int64 [1], an action"
    raise BadValue("outputs", _listed(ports), f"{needed}; the first size may be free")


def _listed(ports: Sequence[Port]) -> str:
    return "; ".join(str(port) for port in ports) or "none"
