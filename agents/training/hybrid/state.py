"""The checkpoint of the trainer `hybrid`: the search, the lessons and the best player, as safetensors with JSON."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from agents.training.hybrid.individuals import population_of
from agents.training.population import Population
from engine import codec
from engine.errors import BadValue

FORMAT, VERSION = "ringside-hybrid-checkpoint", 1
LARGEST = 1 << 20  # bytes of JSON
ABOUT, SEARCH, LESSONS, PLAYER = NAMES = ("about", "search", "lessons", "player")  # of the tensors


@dataclass(frozen=True)
class Best:
    """The best player: by points against bots or, without validation, by its fitness."""

    number: int  # of the candidate
    generation: int
    fitness: float
    parameters: int
    kind: str  # that plays it
    version: int
    share: float | None = None  # of the points; None: not validated
    low: float = 0.0  # ends of its 95 % interval
    high: float = 1.0


@dataclass(frozen=True)
class Saved:
    """What a checkpoint has besides the search and the lessons."""

    format: str
    version: int
    game: str
    validated: int  # number of the last candidate that was validated; 0: none
    best: Best | None


@dataclass(frozen=True, eq=False)
class Contents:
    """A checkpoint that was read; `player` is the payload of the best one."""

    about: Saved
    search: bytes
    lessons: bytes
    player: bytes


def dump(game: str, validated: int, best: Best | None, *, search: bytes, lessons: bytes, player: bytes) -> bytes:
    about = codec.dump(Saved(FORMAT, VERSION, game, validated, best)).encode()
    parts = zip(NAMES, (about, search, lessons, player), strict=True)
    return save({name: np.frombuffer(data, np.uint8) for name, data in parts})


def read(data: bytes) -> Contents:
    """Reads what `dump` wrote; raises BadValue for anything else."""
    try:
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise BadValue("checkpoint", str(error), "safetensors") from None
    for name in NAMES:
        if name not in tensors or tensors[name].dtype != np.uint8:
            raise BadValue("checkpoint", sorted(tensors), f"bytes with the name {name}")
    about = codec.load(Saved, tensors[ABOUT].tobytes(), LARGEST, format=FORMAT, version=VERSION)
    return Contents(about, *(tensors[name].tobytes() for name in NAMES[1:]))


def population_in(state: bytes) -> Population:
    """The population in the state of a checkpoint, for a table and a picture."""
    return population_of(read(state).search)
