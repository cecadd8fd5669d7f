"""A genome as data: nodes and connections in columns. Converts it to and from JSON and neat-python's objects.

    {"format": "ringside-genome", "version": 1, "inputs": 8, "outputs": 3, "feed_forward": true,
     "nodes": {"key": [0, 1, 2], "bias": [...], "response": [...], "time_constant": [...],
               "activation": ["tanh", ...], "aggregation": ["sum", ...]},
     "connections": {"source": [-1, ...], "target": [0, ...], "weight": [...], "enabled": [true, ...],
                     "innovation": [1, ...]}}

As in neat-python, inputs have the keys -1, -2, ..., outputs 0, 1, ..., and the order of the connections matters: a
node adds up its inputs in that order, and floating-point sums depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import BadValue, UnknownName

FORMAT, VERSION = "ringside-genome", 1
MOST_NODES, MOST_CONNECTIONS = 20_000, 200_000
MOST_PINS = 100_000  # inputs or outputs
KEYS = 2**53  # keys and innovation numbers are smaller

ACTIVATIONS = (
    "tanh", "sigmoid", "relu", "identity", "clamped", "sin", "gauss", "elu", "lelu", "selu", "softplus", "inv", "log",
    "exp", "abs", "hat", "square", "cube",
)  # fmt: skip
AGGREGATIONS = ("sum", "product", "max", "min", "maxabs", "median", "mean")
"""All functions that neat-python has built in; compiled code uses the index in these tuples."""


@dataclass(frozen=True)
class Genome:
    """A network's genes, without key and fitness."""

    inputs: int
    outputs: int
    feed_forward: bool
    key: tuple[int, ...]
    bias: tuple[float, ...]
    response: tuple[float, ...]
    time_constant: tuple[float, ...]  # not used by these networks, but by the distance between genomes
    activation: tuple[str, ...]
    aggregation: tuple[str, ...]
    source: tuple[int, ...]
    target: tuple[int, ...]
    weight: tuple[float, ...]
    enabled: tuple[bool, ...]
    innovation: tuple[int, ...]


NODES: Mapping[str, type] = {
    "key": int, "bias": float, "response": float, "time_constant": float, "activation": str, "aggregation": str,
}  # fmt: skip
CONNECTIONS: Mapping[str, type] = {
    "source": int, "target": int, "weight": float, "enabled": bool, "innovation": int,
}  # fmt: skip


def to_json(genome: Genome) -> dict[str, Any]:
    """Returns objects that `json.dumps` accepts."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "inputs": genome.inputs,
        "outputs": genome.outputs,
        "feed_forward": genome.feed_forward,
        "nodes": {name: getattr(genome, name) for name in NODES},
        "connections": {name: getattr(genome, name) for name in CONNECTIONS},
    }


def from_json(raw: object) -> Genome:
    """Reads what `to_json` returns; raises BadValue for anything else."""
    fields = _object("genome", raw, ("format", "version", "inputs", "outputs", "feed_forward", "nodes", "connections"))
    for name, expected in (("format", FORMAT), ("version", VERSION)):
        if type(fields[name]) is not type(expected) or fields[name] != expected:
            raise BadValue(f"genome.{name}", fields[name], f"{expected!r}: this version reads no other")
    nodes = _columns("nodes", fields["nodes"], NODES, MOST_NODES)
    connections = _columns("connections", fields["connections"], CONNECTIONS, MOST_CONNECTIONS)
    for name in ("inputs", "outputs"):
        if type(fields[name]) is not int or not 1 <= fields[name] <= MOST_PINS:
            raise BadValue(f"genome.{name}", fields[name], f"a whole number from 1 to {MOST_PINS:,}")
    if type(fields["feed_forward"]) is not bool:
        raise BadValue("genome.feed_forward", fields["feed_forward"], "true or false")
    genome = Genome(fields["inputs"], fields["outputs"], fields["feed_forward"], **nodes, **connections)
    check(genome)
    return genome


def check(genome: Genome) -> None:
    """Raises an error that names the invalid field, unless this describes a network. Does not look for cycles."""
    for where, names in (("nodes", NODES), ("connections", CONNECTIONS)):
        sizes = {name: len(getattr(genome, name)) for name in names}
        if len(set(sizes.values())) > 1:
            raise BadValue(f"genome.{where}", sizes, "columns of equal length")
    if genome.inputs < 1 or genome.outputs < 1:
        raise BadValue("genome.inputs, outputs", (genome.inputs, genome.outputs), "at least 1")
    known = set(genome.key)
    if len(known) != len(genome.key):
        raise BadValue("genome.nodes.key", _duplicate(genome.key), "unique: two nodes have this key")
    missing = next((key for key in range(genome.outputs) if key not in known), None)
    if missing is not None:
        raise BadValue("genome.nodes.key", missing, "present: it is the key of an output")
    if min(genome.key) < 0:
        raise BadValue("genome.nodes.key", min(genome.key), "0 or more: negative keys are inputs")
    for name, offered in (("activation", ACTIVATIONS), ("aggregation", AGGREGATIONS)):
        unknown = next((function for function in getattr(genome, name) if function not in offered), None)
        if unknown is not None:
            raise UnknownName(f"{name} function", unknown, offered)
    for target in genome.target:
        if target not in known:
            raise BadValue("genome.connections.target", target, "the key of a node")
    for source in genome.source:
        if source not in known and not -genome.inputs <= source < 0:
            raise BadValue("genome.connections.source", source, f"the key of a node, or -1 to {-genome.inputs}")
    pairs = tuple(zip(genome.source, genome.target, strict=True))
    if len(set(pairs)) != len(pairs):
        raise BadValue("genome.connections", _duplicate(pairs), "unique: two connections join these nodes")
    if len(set(genome.innovation)) != len(genome.innovation) or min(genome.innovation, default=0) < 0:
        raise BadValue("genome.connections.innovation", _duplicate(genome.innovation), "numbers from 0, each used once")


def _object(where: str, raw: object, names: Sequence[str]) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise BadValue(where, raw, "an object")
    for name in raw:
        if name not in names:
            raise BadValue(where, name, f"one of the known keys: {', '.join(names)}")
    for name in names:
        if name not in raw:
            raise BadValue(f"{where}.{name}", None, "present")
    return raw


def _columns(where: str, raw: object, kinds: Mapping[str, type], most: int) -> dict[str, tuple[Any, ...]]:
    fields = _object(f"genome.{where}", raw, tuple(kinds))
    found = {name: _column(f"genome.{where}.{name}", fields[name], kind, most) for name, kind in kinds.items()}
    sizes = {name: len(column) for name, column in found.items()}
    if len(set(sizes.values())) > 1:
        raise BadValue(f"genome.{where}", sizes, "columns of equal length")
    return found


def _column(where: str, raw: object, kind: type, most: int) -> tuple[Any, ...]:
    if not isinstance(raw, list) or len(raw) > most:
        raise BadValue(where, raw, f"a list of at most {most:,}")
    kinds = set(map(type, raw))
    if kind is float and kinds <= {float, int}:
        column = tuple(raw) if kinds == {float} else tuple(_number(where, value) for value in raw)
        if not all(map(math.isfinite, column)):
            raise BadValue(where, next(value for value in column if not math.isfinite(value)), "finite")
        return column
    if kinds - {kind}:
        raise BadValue(where, next(value for value in raw if type(value) is not kind), f"of type {kind.__name__}")
    if kind is int and raw and max(max(raw), -min(raw)) >= KEYS:
        raise BadValue(where, max(raw, key=abs), f"below {KEYS:,}")
    return tuple(raw)


def _number(where: str, value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise BadValue(where, value, "finite") from None


def _duplicate(values: Sequence[Any]) -> Any:
    """The first value that occurs more than once; the smallest value if all are unique."""
    seen: set[Any] = set()
    return next((value for value in values if value in seen or seen.add(value)), min(values, default=None))  # type: ignore[func-returns-value]


def from_neat(genome: Any, config: Any) -> Genome:
    """Converts a `neat.DefaultGenome`; `config` is its genome configuration."""
    nodes, connections = genome.nodes.values(), genome.connections.values()
    return Genome(
        config.num_inputs,
        config.num_outputs,
        config.feed_forward,
        tuple([node.key for node in nodes]),
        tuple([node.bias for node in nodes]),
        tuple([node.response for node in nodes]),
        tuple([node.time_constant for node in nodes]),
        tuple([node.activation for node in nodes]),
        tuple([node.aggregation for node in nodes]),
        tuple([connection.key[0] for connection in connections]),
        tuple([connection.key[1] for connection in connections]),
        tuple([connection.weight for connection in connections]),
        tuple([connection.enabled for connection in connections]),
        tuple([connection.innovation for connection in connections]),
    )


def to_neat(genome: Genome, key: int) -> Any:
    """Converts to a `neat.DefaultGenome` with this key, for evolution."""
    import neat  # slow to import, and only evolution needs it

    from agents.neat.genes import DefaultConnectionGene, DefaultNodeGene

    converted = neat.DefaultGenome(key)
    for i, node_key in enumerate(genome.key):
        node = converted.nodes[node_key] = DefaultNodeGene(node_key)
        for name in ("bias", "response", "time_constant", "activation", "aggregation"):
            setattr(node, name, getattr(genome, name)[i])
    for i, pair in enumerate(zip(genome.source, genome.target, strict=True)):
        link = converted.connections[pair] = DefaultConnectionGene(pair, innovation=genome.innovation[i])
        link.weight, link.enabled = genome.weight[i], genome.enabled[i]
    return converted
