"""Imports networks that neat-python exported as JSON (`neat.export.export_network_json`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.neat.genome import FORMAT, VERSION, Genome, from_json
from engine.errors import BadValue

EXPORT = "1.0"
TYPES = {"feedforward": True, "recurrent": False}


def import_network(raw: Mapping[str, Any]) -> Genome:
    """The genome of an exported network. The export has no innovation numbers, so connections are numbered; disabled
    connections and unused nodes are not in it, and are lost."""
    if raw.get("format_version") != EXPORT:
        raise BadValue("format_version", raw.get("format_version"), f"{EXPORT!r}: other versions cannot be read")
    kind = raw.get("network_type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise BadValue("network_type", kind, f"one of {', '.join(TYPES)}: other networks cannot play")
    topology = _dict("topology", raw.get("topology"))
    inputs, outputs = _list("topology.input_keys", topology), _list("topology.output_keys", topology)
    if inputs != [-1 - i for i in range(len(inputs))]:
        raise BadValue("topology.input_keys", inputs, "-1, -2, ... in that order")
    if outputs != list(range(len(outputs))):
        raise BadValue("topology.output_keys", outputs, "0, 1, ... in that order")
    nodes = [_dict("nodes", node) for node in _list("nodes", raw)]
    nodes = [node for node in nodes if node.get("type") != "input"]
    present = {node.get("id") for node in nodes if isinstance(node.get("id"), int)}
    # neat-python omits an output without connections to it; in a recurrent network it is always 0
    links = [_dict("connections", link) for link in _list("connections", raw)]
    # It also omits hidden nodes without connections to them, though connections name them: always 0, too
    hidden = [link.get("from") for link in links if type(link.get("from")) is int and link["from"] >= 0]
    fed = [link.get("to") for link in links]
    missing = [key for key in dict.fromkeys([*outputs, *hidden]) if key not in present and key not in fed]
    nodes += [_silent(key) for key in missing if kind == "recurrent"]
    return from_json(
        {
            "format": FORMAT,
            "version": VERSION,
            "inputs": len(inputs),
            "outputs": len(outputs),
            "feed_forward": TYPES[kind],
            "nodes": {
                "key": [node.get("id") for node in nodes],
                "bias": [node.get("bias") for node in nodes],
                "response": [node.get("response") for node in nodes],
                "time_constant": [1.0] * len(nodes),
                "activation": [_function("activation", node) for node in nodes],
                "aggregation": [_function("aggregation", node) for node in nodes],
            },
            "connections": {
                "source": [link.get("from") for link in links],
                "target": [link.get("to") for link in links],
                "weight": [link.get("weight") for link in links],
                "enabled": [link.get("enabled") for link in links],
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
        raise BadValue(
            f"nodes.{what}", given.get("name"), "built into neat-python: custom functions cannot be imported"
        )
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
