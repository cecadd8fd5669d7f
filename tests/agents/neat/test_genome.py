"""Genomes as JSON: valid ones survive a round trip, and others are refused with the name of the field."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.neat import genome as genomes
from agents.neat import payload
from agents.neat.genome import ACTIVATIONS, AGGREGATIONS, Genome, from_neat, to_json, to_neat
from agents.neat.network import Networks
from agents.neat.payload import dump, load
from engine.errors import BadValue, UnknownName
from tests.agents.neat.sample_genomes import EVERYTHING, all_of, bred, made_up, read

SMALL = Genome(
    2, 1, True, (0, 5), (0.1, -0.0), (1.0, 0.5), (1.0, 1.0), ("tanh", "relu"), ("sum", "max"),
    (-1, -2, 5), (0, 5, 0), (0.3, 1e-320, -7.25), (True, True, False), (1, 2, 9),
)  # fmt: skip
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def raw(**changes: object) -> dict[str, Any]:
    """A small genome as JSON with changed values; "nodes__key" changes a nested one."""
    fields = json.loads(dump(SMALL))
    for name, value in changes.items():
        *above, last = name.split("__")
        place = fields
        for step in above:
            place = place[step]
        place[last] = value
    return fields


def refused(payload: object) -> str:
    with pytest.raises((BadValue, UnknownName)) as caught:
        load(payload if isinstance(payload, bytes | str) else json.dumps(payload))
    text = str(caught.value)
    assert len(text) < 1000
    return text


# What is valid


@given(made_up(numbers=st.floats(allow_nan=False, allow_infinity=False)))
def test_a_genome_survives_a_round_trip(genome: Genome) -> None:
    payload = dump(genome)
    again = load(payload)
    assert repr(again) == repr(genome), "to the bit: repr tells 0.0 from -0.0"
    assert dump(again) == payload
    assert load(payload.decode()) == genome, "text will do as well"


def test_integers_are_accepted_for_floats() -> None:
    found = load(json.dumps(raw(nodes__bias=[1, -(2**60)])))
    assert found.bias == (1.0, -(2.0**60))
    assert [type(bias) for bias in found.bias] == [float, float]
    assert load(dump(found)) == found


@pytest.mark.parametrize("feed_forward", [True, False])
def test_bred_genomes_survive_a_round_trip(feed_forward: bool) -> None:
    population = bred(feed_forward, generations=12, **EVERYTHING)
    config = population.config.genome_config
    sizes = set()
    for value in population.population.values():
        genome = load(dump(from_neat(value, config)))
        again = to_neat(genome, value.key)
        assert (again.key, again.size()) == (value.key, value.size())
        assert list(map(str, again.nodes.values())) == list(map(str, value.nodes.values())), "in the same order"
        assert list(map(str, again.connections.values())) == list(map(str, value.connections.values()))
        assert list(again.connections) == list(value.connections)
        assert again.distance(value, config) == 0.0
        assert from_neat(again, config) == genome
        sizes.add(value.size())
    assert len(sizes) > 5, "they are of many shapes"


def test_exactly_the_functions_of_neat_python_are_known() -> None:
    config = bred(True, generations=0).config.genome_config
    assert set(config.activation_defs.functions) == set(ACTIVATIONS)
    assert set(config.aggregation_function_defs.functions) == set(AGGREGATIONS)


# What is not


@settings(max_examples=150)
@given(st.data())
def test_any_replaced_value_is_refused_or_read_unchanged(data: st.DataObject) -> None:
    fields = to_json(data.draw(made_up()))
    text = json.loads(json.dumps(fields))
    paths = list(_paths(text))
    for _ in range(data.draw(st.integers(1, 2))):
        *above, last = data.draw(st.sampled_from(paths))
        place = text
        try:
            for step in above:
                place = place[step]
            before = place[last]
        except (LookupError, TypeError):
            continue  # the first change took it away
        how = data.draw(st.sampled_from(["other", "gone", "again", "near"]))
        if how == "gone":
            del place[last]
        elif how == "again" and isinstance(place, list):
            place.append(copy.deepcopy(before))
        elif how == "near" and type(before) in (int, float):
            step = data.draw(st.sampled_from([-1, 1, 0.5, -100, 2**60, 10**400]))
            place[last] = step if abs(step) > 2**60 or abs(before) > 2**60 else before + step
        else:
            place[last] = data.draw(JUNK)
    found = read(json.dumps(text))
    assert found is None or load(dump(found)) == found
    assert found is None or found == genomes.from_json(text)


def _paths(value: object) -> Any:
    """Paths of all values inside."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (step,)
        for rest in _paths(inner):
            yield (step, *rest)


@given(JUNK)
def test_other_json_is_refused(junk: object) -> None:
    assert refused(json.dumps(junk)).startswith("genome")


@given(st.binary(max_size=60))
def test_bytes_that_are_not_json_are_refused(junk: bytes) -> None:
    with pytest.raises(BadValue):
        load(junk)


@settings(max_examples=60)
@given(st.integers(0, len(dump(SMALL)) - 1), st.integers(0, 255))
def test_a_changed_byte_is_refused_or_leaves_a_valid_genome(place: int, byte: int) -> None:
    payload = bytearray(dump(SMALL))
    payload[place] = byte
    for cut in (bytes(payload), bytes(payload[:place])):
        found = read(cut)
        assert found is None or load(dump(found)) == found


@pytest.mark.parametrize("missing", ["format", "version", "inputs", "outputs", "feed_forward", "nodes", "connections"])
def test_a_missing_key_is_named(missing: str) -> None:
    fields = raw()
    del fields[missing]
    assert f"genome.{missing}" in refused(fields)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "other-format"}, "genome.format = 'other-format'"),
        ({"version": 2}, "genome.version = 2"),
        ({"version": True}, "genome.version = True"),
        ({"version": 1.0}, "genome.version = 1.0"),
        ({"inputs": 0}, "genome.inputs = 0"),
        ({"inputs": 2.0}, "genome.inputs = 2.0"),
        ({"inputs": True}, "genome.inputs = True"),
        ({"outputs": 10**6}, "genome.outputs = 1000000"),
        ({"outputs": 2}, "genome.nodes.key = 1: must be present"),
        ({"feed_forward": 1}, "genome.feed_forward = 1"),
        ({"fitness": 3.0}, "one of the known keys"),
        ({"nodes": []}, "genome.nodes = []"),
        ({"nodes__pickle": []}, "genome.nodes = 'pickle'"),
        ({"nodes__key": [0]}, "columns of equal length"),
        ({"nodes__key": [0, 0]}, "genome.nodes.key = 0: must be unique"),
        ({"nodes__key": [0, -5]}, "genome.nodes.key = -5"),
        ({"nodes__key": [0, 2**53]}, "below 9,007,199,254,740,992"),
        ({"nodes__key": [0, True]}, "genome.nodes.key = True"),
        ({"nodes__bias": [0.0, "1"]}, "genome.nodes.bias = '1'"),
        ({"nodes__bias": [0.0, None]}, "genome.nodes.bias = None"),
        ({"nodes__bias": [0.0, True]}, "genome.nodes.bias = "),
        ({"nodes__bias": {"0": 1.0}}, "a list of at most"),
        ({"nodes__response": [1.0, 10**400]}, "must be finite"),
        ({"nodes__activation": ["tanh", "tahn"]}, "unknown activation function 'tahn': did you mean 'tanh'"),
        ({"nodes__activation": ["tanh", 3]}, "genome.nodes.activation = 3"),
        ({"nodes__aggregation": ["sum", "softmax"]}, "unknown aggregation function 'softmax'"),
        ({"connections__source": [-1, -3, 5]}, "genome.connections.source = -3"),
        ({"connections__source": [-1, -2, 7]}, "genome.connections.source = 7"),
        ({"connections__target": [0, -1, 0]}, "genome.connections.target = -1"),
        ({"connections__target": [0, 6, 0]}, "genome.connections.target = 6"),
        ({"connections__source": [-1, -2, -1]}, "genome.connections = (-1, 0)"),
        ({"connections__enabled": [True, True, 0]}, "genome.connections.enabled = 0"),
        ({"connections__innovation": [1, 2, 2]}, "genome.connections.innovation = 2"),
        ({"connections__innovation": [1, 2, -3]}, "genome.connections.innovation = -3"),
        ({"connections__innovation": [1, 2, 2**70]}, "genome.connections.innovation"),
        ({"connections__weight": [0.3, 0.4]}, "columns of equal length"),
    ],
)
def test_an_invalid_field_is_named(changes: dict[str, object], words: str) -> None:
    assert words in refused(raw(**changes))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_nan_and_infinity_are_refused(number: str) -> None:
    assert "finite" in refused(dump(SMALL).replace(b"-7.25", number.encode()))


def test_a_duplicate_key_is_refused() -> None:
    text = dump(SMALL).decode()
    assert "duplicate key 'inputs'" in refused(text.replace('"inputs":2', '"inputs":2,"inputs":2'))
    assert "duplicate key 'bias'" in refused(text.replace('"bias":', '"bias":[],"bias":'))


def test_numbers_of_absurd_length_are_refused() -> None:
    for digits in (400, 100_000):
        huge = b"9" * digits
        for field in (b'"inputs":2', b'"version":1'):
            refused(dump(SMALL).replace(field, field[:-1] + huge))
        refused(dump(SMALL).replace(b"-7.25", b"-" + huge))


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"nodes":'])
def test_deep_nesting_is_refused(opening: str) -> None:
    refused(opening * 200_000)
    refused(opening * 100_000 + "1" + ("]" if opening == "[" else "}") * 100_000)


def test_a_too_large_payload_is_refused_before_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "LARGEST", 1000)
    assert "1001 bytes" in refused(b" " * 1001)


def test_too_many_nodes_or_connections_are_refused() -> None:
    assert "at most 20,000" in refused(raw(nodes__key=list(range(20_001))))
    assert "at most 200,000" in refused(raw(connections__weight=[0.0] * 200_001))


def test_a_very_long_function_name_is_shortened_in_the_error() -> None:
    assert "unknown activation function" in refused(raw(nodes__activation=["tanh", "x" * 100_000]))


def test_a_cycle_is_refused_in_a_feed_forward_network_and_fine_in_a_recurrent_one() -> None:
    loops = [((5, 0), (0, 5)), ((5, 5), (5, 0)), ((0, 5), (0, 0))]
    for source, target in loops:
        links = {
            "source": source,
            "target": target,
            "weight": (1.0, 1.0),
            "enabled": (True, True),
            "innovation": (1, 2),
        }
        looped = replace(SMALL, **links)
        with pytest.raises(BadValue, match="cycle"):
            Networks(1).add(load(dump(looped)))
        assert Networks(1).add(load(dump(replace(looped, feed_forward=False)))) == 0


def test_a_disabled_or_unused_cycle_is_accepted() -> None:
    links = {"source": (-1, 5), "target": (0, 5), "weight": (1.0, 1.0), "innovation": (1, 2)}
    for enabled in ((True, False), (True, True)):
        assert Networks(1).add(load(dump(replace(SMALL, **links, enabled=enabled)))) == 0


def test_equal_genomes_have_equal_payloads() -> None:
    genomes, other = all_of(bred(True, seed=4)), all_of(bred(True, seed=4))
    assert [dump(each) for each in genomes] == [dump(each) for each in other]
    assert len({dump(each) for each in genomes}) > 10
