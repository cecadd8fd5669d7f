"""Networks that neat-python exported as JSON (`neat.export.export_network_json`), taken in as genomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.neat.genome import FORMAT, VERSION, Genome, of_plain
from engine.errors import BadValue

EXPORT = "1.0"
TYPES = {"feedforward": True, "recurrent": False}


def imported(raw: Mapping[str, Any]) -> Genome:
    """The genome of an exported network. It has no innovation numbers, so the connections are counted; what the export
    leaves out (disabled connections, nodes that do not matter) is lost."""
    if raw.get("format_version") != EXPORT:
        raise BadValue("format_version", raw.get("format_version"), f"{EXPORT!r}: nothing else can be read")
    kind = raw.get("network_type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise BadValue("network_type", kind, f"one of {', '.join(TYPES)}: nothing else can play")
    topology = _dict("topology", raw.get("topology"))
    inputs, outputs = _list("topology.input_keys", topology), _list("topology.output_keys", topology)
    if inputs != [-1 - i for i in range(len(inputs))]:
        raise BadValue("topology.input_keys", inputs, "-1, -2, ... in that order")
    if outputs != list(range(len(outputs))):
        raise BadValue("topology.output_keys", outputs, "0, 1, ... in that order")
    nodes = [_dict("nodes", one) for one in _list("nodes", raw)]
    nodes = [one for one in nodes if one.get("type") != "input"]
    present = {one.get("id") for one in nodes if isinstance(one.get("id"), int)}
    # neat-python leaves out an output that nothing leads to; in a recurrent network it stays at 0 for ever
    links = [_dict("connections", one) for one in _list("connections", raw)]
    # and hidden nodes that nothing leads to, though they are named in connections: those stay at 0 as well
    hidden = [one.get("from") for one in links if type(one.get("from")) is int and one["from"] >= 0]
    fed = [one.get("to") for one in links]
    missing = [key for key in dict.fromkeys([*outputs, *hidden]) if key not in present and key not in fed]
    nodes += [_silent(key) for key in missing if kind == "recurrent"]
    return of_plain(
        {
            "format": FORMAT,
            "version": VERSION,
            "inputs": len(inputs),
            "outputs": len(outputs),
            "feed_forward": TYPES[kind],
            "nodes": {
                "key": [one.get("id") for one in nodes],
                "bias": [one.get("bias") for one in nodes],
                "response": [one.get("response") for one in nodes],
                "time_constant": [1.0] * len(nodes),
                "activation": [_function("activation", one) for one in nodes],
                "aggregation": [_function("aggregation", one) for one in nodes],
            },
            "connections": {
                "source": [one.get("from") for one in links],
                "target": [one.get("to") for one in links],
                "weight": [one.get("weight") for one in links],
                "enabled": [one.get("enabled") for one in links],
                "innovation": list(range(1, len(links) + 1)),
            },
        }
    )


def _silent(key: int) -> dict[str, Any]:
    function = {"name": "identity", "custom": False}
    return {"id": key, "bias": 0.0, "response": 1.0, "activation": function, "aggregation": {**function, "name": "sum"}}


def _function(what: str, node: Mapping[str, Any]) -> object:
    given = _dict(f"nodes.{what}", node.get(what))
    if given.get("custom") is not False:
        raise BadValue(f"nodes.{what}", given.get("name"), "one of neat-python's own, not somebody's code")
    return given.get("name")


def _dict(where: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadValue(where, value, "an object")
    return value


def _list(where: str, holder: Mapping[str, Any]) -> list[Any]:
    value = holder.get(where.rpartition(".")[2])
    if not isinstance(value, list):
        raise BadValue(where, value, "a list")
    return value
