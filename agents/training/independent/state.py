"""Saves and restores an experiment between epochs: safetensors with JSON, no pickle.

Random numbers and schedules need no state: they are functions of the seed and the numbers of epoch and update.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from agents.training.independent.evaluation import BestAgent
from agents.training.independent.reports import EpochTally
from engine import codec
from engine.errors import BadValue, VersionMismatch
from engine.play.match import AgentSpec, GameSpec

FORMAT, VERSION = "ringside-independent-checkpoint", 2
LARGEST = 16 << 20  # bytes of JSON
LARGEST_ARRAY = 8 << 30  # bytes of an array of a buffer after decompression
ABOUT, BEST = "about", "best"
LEVEL = 1  # of zlib: higher levels take longer than they save
BITS, BYTES, RAW = "bits", "bytes", "raw"
ARRAYS = {"obs", "actions", "rewards", "ends", "added"}  # of a buffer, by `ReplayBuffer.tensors`

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class SavedArray:
    """How an array of a buffer is stored: its bytes are a tensor of their own, compressed."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    packing: str


@dataclass(frozen=True)
class SavedAgent:
    """An agent at its seat; learners have tensors, all others a payload."""

    role: str
    kind: str = ""
    version: int = 0
    arrays: tuple[SavedArray, ...] = ()  # of its buffer


@dataclass(frozen=True)
class SavedExperiment:
    """What a checkpoint holds besides tensors."""

    format: str
    version: int
    game: GameSpec
    lanes: int
    seed: int
    turns_per_update: int
    evaluate_matches: int
    epoch: int
    rows: int  # turns that were added to each buffer, on all lanes at once
    updates: int  # that were due and made; of the agent that is ahead, if they differ
    skipped: tuple[int, ...]  # of each learning agent: updates that were due while it did not learn
    evaluated: int
    agents: tuple[SavedAgent, ...]
    tally: EpochTally
    references: tuple[tuple[str, float], ...]
    best: BestAgent | None


@dataclass(frozen=True, eq=False)
class ExperimentContents:
    """A checkpoint that was read."""

    about: SavedExperiment
    states: dict[int, NDArray[np.float32]]  # of learners, by seat
    buffers: dict[int, Arrays]
    players: dict[int, AgentSpec]  # of all other seats
    best: bytes


def dump(
    about: SavedExperiment,
    states: Mapping[int, NDArray[np.float32]],
    buffers: Mapping[int, Arrays],
    players: Mapping[int, AgentSpec],
    best: bytes,
) -> bytes:
    """The checkpoint; the arrays that `about` lists of each agent are filled in here."""
    tensors: Arrays = {BEST: np.frombuffer(best, np.uint8)}
    agents = []
    for seat, agent in enumerate(about.agents):
        arrays: list[SavedArray] = []
        if seat in players:
            spec = players[seat]
            tensors[f"payload.{seat}"] = np.frombuffer(spec.payload, np.uint8)
            agents.append(SavedAgent(agent.role, spec.kind, spec.version))
            continue
        tensors[f"state.{seat}"] = states[seat]
        for name, array in buffers[seat].items():
            packing, data = pack(array)
            tensors[f"buffer.{seat}.{name}"] = np.frombuffer(data, np.uint8)
            arrays.append(SavedArray(name, array.dtype.str, array.shape, packing))
        agents.append(SavedAgent(agent.role, arrays=tuple(arrays)))
    fields = {**vars(about), "agents": tuple(agents)}
    tensors[ABOUT] = np.frombuffer(codec.dump(SavedExperiment(**fields)).encode(), np.uint8)
    return save(tensors)


def read(data: bytes, game: GameSpec) -> ExperimentContents:
    """Reads what `dump` wrote of an experiment with this game; raises an error for anything else."""
    try:
        tensors = load(data)
    except (SafetensorError, ValueError) as error:
        raise BadValue("checkpoint", str(error), "safetensors") from None
    about = codec.load(SavedExperiment, _bytes(tensors, ABOUT), LARGEST, format=FORMAT, version=VERSION)
    _check_game(about.game, game)
    contents = ExperimentContents(about, {}, {}, {}, _bytes(tensors, BEST))
    for seat, agent in enumerate(about.agents):
        if agent.kind:
            payload = _bytes(tensors, f"payload.{seat}")
            contents.players[seat] = AgentSpec(agent.role, agent.kind, payload, agent.version)
            continue
        if (names := {array.name for array in agent.arrays}) != ARRAYS:
            raise BadValue(f"checkpoint.agents[{seat}].arrays", sorted(names), f"{sorted(ARRAYS)}")
        contents.states[seat] = _tensor(tensors, f"state.{seat}", np.float32)
        contents.buffers[seat] = {
            array.name: unpack(array, _bytes(tensors, f"buffer.{seat}.{array.name}")) for array in agent.arrays
        }
    _check_counters(contents)
    return contents


def _check_game(saved: GameSpec, game: GameSpec) -> None:
    """Raises an error if the game of the checkpoint is another one, or has other options."""
    if saved.name != game.name:
        raise BadValue("checkpoint.game", saved.name, game.name)
    if saved.version != game.version:
        raise VersionMismatch("game", game.name, saved.version, game.version)
    options = dict(saved.options)
    for name, value in game.options:
        if options.get(name) != value:
            raise BadValue(f"option {name} of {game.name}", value, f"{options.get(name)!r}, as in the checkpoint")


def _check_counters(contents: ExperimentContents) -> None:
    """Raises BadValue for counters that would ask for endless updates or do not fit the agents."""
    about, learners = contents.about, len(contents.states)
    for name in ("epoch", "rows", "updates", "evaluated"):
        if getattr(about, name) < 0:
            raise BadValue(f"checkpoint.{name}", getattr(about, name), "at least 0")
    for seat, arrays in contents.buffers.items():
        if arrays["added"].tolist() != [about.rows]:
            raise BadValue(
                "checkpoint.rows", about.rows, f"as in the buffer of seat {seat}: {arrays['added'].tolist()}"
            )
    if len(about.skipped) != learners or min(about.skipped, default=0) < 0:
        raise BadValue("checkpoint.skipped", about.skipped, f"{learners} numbers of at least 0")
    for name in ("scores", "losses", "updates"):
        if len(numbers := getattr(about.tally, name)) not in (0, learners):
            raise BadValue(f"checkpoint.tally.{name}", numbers, f"{learners} numbers, or none")


def pack(array: NDArray[Any]) -> tuple[str, bytes]:
    """The array, compressed, and in which form. Observations often have no other numbers than 0 and 1, which need one
    bit each: a tenth of the time and of the space that compression of the floats alone would need."""
    packing, small = RAW, np.ascontiguousarray(array)
    if array.dtype == np.float32:
        with np.errstate(invalid="ignore"):
            whole = small.astype(np.uint8)
        same = whole.astype(np.float32).view(np.uint32) == small.view(np.uint32)  # -0.0 and nan are others
        if same.all():
            packing = BYTES if (whole > 1).any() else BITS
            small = np.packbits(whole) if packing == BITS else whole
    return packing, zlib.compress(small.tobytes(), LEVEL)


def unpack(saved: SavedArray, data: bytes) -> NDArray[Any]:
    """The array that `pack` packed."""
    try:
        kind = np.dtype(saved.dtype)
        count = math.prod(saved.shape)
        size = {RAW: count * kind.itemsize, BYTES: count, BITS: -(-count // 8)}[saved.packing]
    except (TypeError, KeyError, ValueError) as error:
        raise BadValue(f"checkpoint.{saved.name}", str(error), "an array of a buffer") from None
    if kind.kind not in "fiu" or min(saved.shape, default=0) < 0 or count * kind.itemsize > LARGEST_ARRAY:
        raise BadValue(f"checkpoint.{saved.name}", f"{saved.dtype} {saved.shape}", "an array of a buffer")
    try:
        raw = zlib.decompressobj().decompress(data, size + 1)
    except zlib.error as error:
        raise BadValue(f"checkpoint.{saved.name}", str(error), "compressed by zlib") from None
    if len(raw) != size:
        raise BadValue(f"checkpoint.{saved.name}", f"{len(raw)} bytes", f"{size}")
    if saved.packing == RAW:
        return np.frombuffer(raw, kind).reshape(saved.shape)
    whole = np.frombuffer(raw, np.uint8)
    whole = np.unpackbits(whole, count=count) if saved.packing == BITS else whole
    return whole.astype(kind).reshape(saved.shape)


def _bytes(tensors: Arrays, name: str) -> bytes:
    return _tensor(tensors, name, np.uint8).tobytes()


def _tensor(tensors: Arrays, name: str, kind: Any) -> NDArray[Any]:
    if name not in tensors or tensors[name].dtype != kind:
        raise BadValue("checkpoint", name, f"among its tensors, as {np.dtype(kind).name}")
    return tensors[name]
