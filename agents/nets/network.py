"""A network as a file: weights in safetensors, the architecture in its metadata.

The header is read by hand, because safetensors gives metadata only for files on a disk, and arrays only after it has
copied them: here names, types and sizes are compared with the architecture before anything is allocated.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from agents.nets.architecture import STACK, Architecture, check_temperature
from engine import codec
from engine.errors import BadValue
from engine.game import Game

Tensors = Mapping[str, NDArray[np.float32]]

FORMAT = 1
KEY = "ringside"  # of the metadata
LONGEST_HEADER = 1 << 20
MOST_DIMENSIONS = 32  # of an observation
LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class About:
    """What the metadata of a file say."""

    format: int
    game: str  # the name of the game that it was made for
    observation: tuple[int, ...]
    actions: int
    architecture: Architecture
    temperature: float


@dataclass(frozen=True, eq=False)
class Network:
    """A network that plays: its weights by name, as `Architecture.shapes` lists them.

    Actions are drawn from the softmax of the logits divided by `temperature`; 0 plays the largest logit.
    """

    game: str
    observation: tuple[int, ...]
    actions: int
    architecture: Architecture
    tensors: Tensors
    temperature: float = 0.0

    def __post_init__(self) -> None:
        check_temperature(self.temperature)
        expected = self.architecture.shapes(self.observation, self.actions)
        _check_names(self.tensors, expected)
        for name, shape in expected.items():
            tensor = self.tensors[name]
            _check_tensor(name, tensor.dtype.name, tensor.shape, shape)
            if not np.isfinite(tensor).all():
                raise BadValue(name, "nan or inf", "finite numbers")

    @property
    def weights(self) -> int:
        return sum(tensor.size for tensor in self.tensors.values())

    def check_game(self, game: Game) -> None:
        """Raise BadValue unless it can play this game."""
        info = game.info
        if self.game != game.spec.name:
            raise BadValue("network.game", self.game, f"{game.spec.name}, the game of the match")
        if self.observation != info.observation:
            needed = f"{info.observation}, as in {game.spec.name} with these options"
            raise BadValue("network.observation", self.observation, needed)
        if self.actions != info.actions:
            raise BadValue("network.actions", self.actions, f"{info.actions}, as in {game.spec.name}")

    def with_temperature(self, temperature: float) -> Network:
        return replace(self, temperature=temperature)


def dump(network: Network) -> bytes:
    """The network as safetensors."""
    about = About(FORMAT, network.game, network.observation, network.actions, network.architecture, network.temperature)
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in network.tensors.items()}
    return save(tensors, {KEY: _metadata(about)})


def _metadata(about: About) -> str:
    """As JSON. What only stacks have is left out for others: their files are as those of older versions of Ringside,
    which could not read them otherwise."""
    values = codec.read(codec.dump(about))
    if about.architecture.type != STACK:
        for name in ("kernels", "strides", "activations"):
            del values["architecture"][name]
    return codec.dump(values)


def load(payload: bytes) -> Network:
    """Reads what `dump` wrote; raises BadValue for anything else. The tensors are views of the payload."""
    header, body = _read_header(payload)
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise BadValue("file", "metadata without an architecture", "a network that Ringside wrote")
    about = codec.load(About, metadata[KEY], format=FORMAT)
    if not 1 <= len(about.observation) <= MOST_DIMENSIONS:  # before they are multiplied
        raise BadValue("observation", about.observation, f"1 to {MOST_DIMENSIONS} sizes")
    if not all(0 < size < 2**31 for size in (*about.observation, about.actions)):
        raise BadValue("observation", (about.observation, about.actions), "sizes above 0")
    expected = about.architecture.shapes(about.observation, about.actions)
    _check_names(header, expected)
    offsets = {name: _offsets(name, header[name], shape, len(body)) for name, shape in expected.items()}
    _check_places(offsets, len(body))
    tensors = {name: np.frombuffer(body[slice(*offsets[name])], "<f4").reshape(expected[name]) for name in expected}
    return Network(about.game, about.observation, about.actions, about.architecture, tensors, about.temperature)


def _read_header(payload: bytes) -> tuple[dict[str, Any], memoryview]:
    """The parsed header, and the bytes after it."""
    if len(payload) < LENGTH.size:
        raise BadValue("file", f"{len(payload)} bytes", "a network in safetensors")
    (length,) = LENGTH.unpack_from(payload)
    if length > min(LONGEST_HEADER, len(payload) - LENGTH.size):
        raise BadValue("file", f"{payload[:8]!r} ...", "a network in safetensors; ONNX files are of kind onnx")
    try:  # JSON may have other encodings, safetensors may not
        text = payload[LENGTH.size : LENGTH.size + length].decode()
    except UnicodeDecodeError as error:
        raise BadValue("file", str(error), "a network in safetensors") from None
    header = codec.read(text)
    if not isinstance(header, dict):
        raise BadValue("file", header, "a network in safetensors")
    return header, memoryview(payload)[LENGTH.size + length :]


def _check_names(given: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    for name in expected:
        if name not in given:
            raise BadValue("tensors", sorted(given)[:8], f"those of its architecture, but {name!r} is missing")
    for name in given:
        if name not in expected:
            raise BadValue("tensors", name, f"one of {', '.join(expected)}")


def _check_tensor(name: str, dtype: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if dtype != "float32":
        raise BadValue(f"{name}.dtype", dtype, "float32")
    if shape != expected:
        raise BadValue(f"{name}.shape", shape, f"{expected}, as its architecture says")


def _offsets(name: str, entry: Any, expected: tuple[int, ...], size: int) -> tuple[int, int]:
    """Where one tensor begins and ends in the body of the file, which has this size."""
    match entry:
        case {"dtype": str(dtype), "shape": [*sizes], "data_offsets": [first, last], **others} if not others:
            pass
        case _:
            raise BadValue(name, entry, "a tensor with dtype, shape and data_offsets")
    if not all(type(number) is int for number in (*sizes, first, last)):  # 1.0 and True are equal to 1
        raise BadValue(name, entry, "described by whole numbers")
    _check_tensor(name, {"F32": "float32"}.get(dtype, dtype), tuple(sizes), expected)
    if not 0 <= first <= last <= size or last - first != 4 * math.prod(expected):
        raise BadValue(f"{name}.data_offsets", (first, last), f"{4 * math.prod(expected):,} of {size:,} bytes")
    return first, last


def _check_places(offsets: Mapping[str, tuple[int, int]], size: int) -> None:
    """Raise BadValue unless every byte of the body belongs to one tensor, as safetensors demands."""
    end = 0
    for name, (first, last) in sorted(offsets.items(), key=lambda pair: pair[1]):
        if first != end:
            raise BadValue(f"{name}.data_offsets", (first, last), f"from {end}, where the tensor before it ends")
        end = last
    if end != size:
        raise BadValue("file", f"{size - end:,} bytes after the last tensor", "a network in safetensors")
