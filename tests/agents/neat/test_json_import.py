"""Imported networks have the same outputs as in neat-python, bit for bit."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import neat
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from neat.export import export_network_json

from agents.neat.genome import Genome
from agents.neat.network import Networks
from agents.neat.payload import dump, load
from engine.errors import BadValue, UnknownName
from tests.agents.neat.sample_genomes import (
    EVERYTHING,
    SEEN,
    all_of,
    bits,
    bred,
    made_up,
    neats_own,
    ours,
    plain_config,
    read,
    seeded,
    watched,
)
from tests.agents.neat.sample_genomes import config_with as config_text_with


def exported(network: Any, **rest: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the export asks for the time in an old way
        return export_network_json(network, **rest)


def small(**changes: object) -> dict[str, Any]:
    """A small export; "nodes" and others can be replaced."""
    genome = next(genome for genome in all_of(bred(True, seed=2)) if sum(genome.enabled) > 3)
    return {**json.loads(exported(neats_own(genome))), **changes}


def refused(raw: object) -> str:
    with pytest.raises((BadValue, UnknownName)) as caught:
        load(json.dumps(raw))
    return str(caught.value)


def same_answers(genome: Genome, text: str, rows: list[list[float]]) -> None:
    """Asserts that the import has the outputs of neat-python's network."""
    network, networks = neats_own(genome), Networks(1)
    number = networks.add(load(text))
    for row in rows:
        try:
            wanted = network.activate(row)
        except OverflowError:
            return
        assert bits(ours(networks, [number], [0], [row], genome.outputs)[0][0]) == bits(wanted)


def has_a_silent_source(genome: Genome) -> bool:
    """Whether a hidden node has no incoming connections: the export names it in connections only."""
    alive = [(a, b) for a, b, on in zip(genome.source, genome.target, genome.enabled, strict=True) if on]
    fed = {b for _, b in alive}
    return not genome.feed_forward and any(a >= genome.outputs and a not in fed for a, _ in alive)


@pytest.mark.parametrize("feed_forward", [True, False])
def test_an_exported_population_has_the_same_outputs(feed_forward: bool) -> None:
    everybody = all_of(bred(feed_forward, generations=14, population=60, **EVERYTHING))
    found = [genome for genome in everybody if not has_a_silent_source(genome)]
    assert len(found) > 20
    for number, genome in enumerate(found):
        same_answers(genome, exported(neats_own(genome)), watched(3, 6, number))


def test_a_recurrent_network_with_an_unconnected_hidden_node_can_be_imported() -> None:
    found = [
        genome
        for genome in all_of(bred(False, generations=14, population=60, **EVERYTHING))
        if has_a_silent_source(genome)
    ]
    assert found
    for number, genome in enumerate(found):
        same_answers(genome, exported(neats_own(genome)), watched(3, 6, number))


def test_a_file_that_neat_python_wrote_can_be_imported(tmp_path: Path) -> None:
    genome = all_of(bred(True))[0]
    place = tmp_path / "winner.json"
    exported(neats_own(genome), filepath=str(place), metadata={"fitness": 3.5, "genome_id": 7, "generation": 2})
    same_answers(genome, place.read_text(encoding="utf-8"), watched(3, 5, 1))
    found = load(place.read_bytes())
    assert load(dump(found)) == found, "from now on it is one of ours"
    assert found.innovation == tuple(range(1, len(found.source) + 1))


@settings(max_examples=80)
@given(made_up(), st.data())
def test_any_exported_network_has_the_same_outputs(genome: Genome, data: st.DataObject) -> None:
    assume(not has_a_silent_source(genome))
    rows = data.draw(st.lists(st.lists(SEEN, min_size=genome.inputs, max_size=genome.inputs), min_size=1, max_size=3))
    same_answers(genome, exported(neats_own(genome)), rows)


def test_an_output_missing_from_the_export_is_zero() -> None:
    raw = small(network_type="recurrent", nodes=[], connections=[])
    networks = Networks(1)
    out, failed = ours(networks, [networks.add(load(json.dumps(raw)))], [0], [[1.0, 2.0, 3.0]], 2)
    assert (out.tolist(), failed) == ([[0.0, 0.0]], -1)


@pytest.mark.parametrize("kind", ["ctrnn", "iznn", "transformer", None, ["feedforward"]])
def test_other_kinds_of_network_are_refused_by_name(kind: object) -> None:
    text = refused(small(network_type=kind))
    assert text.startswith(f"network_type = {kind!r}")
    assert "feedforward, recurrent" in text


def test_a_real_ctrnn_is_refused_by_name() -> None:
    config = plain_config(config_text_with(num_inputs=2, num_outputs=1, feed_forward=False, pop_size=2))
    with seeded(1):
        genome = next(iter(neat.Population(config).population.values()))
    network = neat.ctrnn.CTRNN.create(genome, config)
    with pytest.raises(BadValue, match="network_type = 'ctrnn'"):
        load(exported(network))


def test_a_custom_function_is_refused_by_name() -> None:
    def wobble_activation(z: float) -> float:
        return z / 2

    network = neats_own(next(genome for genome in all_of(bred(True)) if genome.key))
    node, _, aggregation, *rest = network.node_evals[0]
    network.node_evals[0] = (node, wobble_activation, aggregation, *rest)
    with pytest.raises(BadValue, match=r"nodes\.activation = 'wobble'.*custom functions"):
        load(exported(network))


def test_an_unknown_function_is_refused_by_name() -> None:
    raw = small()
    raw["nodes"][0]["aggregation"] = {"name": "softmax", "custom": False}
    assert "unknown aggregation function 'softmax'" in refused(raw)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format_version": "2.0"}, "format_version = '2.0'"),
        ({"format_version": 1.0}, "format_version = 1.0"),
        ({"topology": None}, "topology = None"),
        ({"topology": {"input_keys": [-1, -3], "output_keys": [0]}}, "topology.input_keys = [-1, -3]"),
        ({"topology": {"input_keys": [-1, -2], "output_keys": [1, 0]}}, "topology.output_keys = [1, 0]"),
        ({"topology": {"input_keys": "no", "output_keys": [0]}}, "topology.input_keys = 'no'"),
        ({"topology": {"input_keys": [], "output_keys": [0]}}, "genome.inputs = 0"),
        ({"nodes": {}}, "nodes = {}"),
        ({"nodes": [3]}, "nodes = 3"),
        ({"nodes": [{"id": 0}]}, "nodes.activation = None"),
        ({"connections": None}, "connections = None"),
        ({"connections": [{"from": -1, "to": 0, "enabled": True}]}, "genome.connections.weight = None"),
        ({"connections": [{"from": -1, "to": 0, "weight": 1.0}]}, "genome.connections.enabled = None"),
        ({"connections": [{"from": -1, "to": 77, "weight": 1.0, "enabled": True}]}, "genome.connections.target = 77"),
    ],
)
def test_an_invalid_field_of_an_export_is_named(changes: dict[str, object], words: str) -> None:
    assert words in refused(small(**changes))


@settings(max_examples=150)
@given(st.data())
def test_a_damaged_export_is_refused_or_read(data: st.DataObject) -> None:
    raw = small()
    place: Any = raw
    while True:
        steps = sorted(place) if isinstance(place, dict) else range(len(place))
        step = data.draw(st.sampled_from(list(steps)))
        if not isinstance(place[step], dict | list) or not place[step] or data.draw(st.integers(0, 3)) == 0:
            break
        place = place[step]
    junk = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.lists(st.integers(), max_size=2)
    place[step] = data.draw(junk | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2) | st.floats(-1, 1))
    found = read(json.dumps(raw))
    assert found is None or load(dump(found)) == found
