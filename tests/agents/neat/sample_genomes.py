"""Genomes for the tests, bred by neat-python or made up, and neat-python's own networks to compare with."""

from __future__ import annotations

import configparser
import functools
import io
import math
import random
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import neat
import numpy as np
from hypothesis import strategies as st
from neat.activations import ActivationFunctionSet
from neat.aggregations import AggregationFunctionSet

from agents.neat.genome import ACTIVATIONS, AGGREGATIONS, Genome, from_neat, to_neat
from agents.neat.network import Networks
from agents.neat.payload import load
from engine.errors import BadValue, UnknownName
from engine.files import asset
from engine.game import GameInfo
from engine.play.match import GameSpec

KINDS = (neat.DefaultGenome, neat.DefaultReproduction, neat.DefaultSpeciesSet, neat.DefaultStagnation)
EVERYTHING = {
    "activation_default": "random",
    "activation_options": " ".join(ACTIVATIONS),
    "activation_mutate_rate": 0.2,
    "aggregation_default": "random",
    "aggregation_options": " ".join(AGGREGATIONS),
    "aggregation_mutate_rate": 0.2,
}
RESTLESS = {
    "conn_add_prob": 0.7,
    "conn_delete_prob": 0.3,
    "node_add_prob": 0.5,
    "node_delete_prob": 0.2,
    "enabled_mutate_rate": 0.2,
    "response_mutate_rate": 0.4,
    "response_mutate_power": 0.5,
    "bias_mutate_rate": 0.6,
    "compatibility_threshold": 1000.0,
}


def toy(inputs: int = 3, outputs: int = 2) -> Any:
    """A stub game with what `read_config` needs."""
    info = GameInfo(title="Toy", seats=2, actions=outputs, observation=(inputs,))
    return SimpleNamespace(spec=GameSpec("toy", 1), info=info)


def config_with(without: Sequence[str] = (), **options: object) -> str:
    """The text of our default configuration with other options, and without some; new ones go to [NEAT]."""
    parser = configparser.ConfigParser()
    parser.read_string(asset("neat/default.txt").read_text(encoding="utf-8"))
    for name, value in options.items():
        section = next((section for section in parser.sections() if parser.has_option(section, name)), "NEAT")
        parser.set(section, name, str(value))
    for name in without:
        section = next(section for section in parser.sections() if parser.has_option(section, name))
        parser.remove_option(section, name)
    text = io.StringIO()
    parser.write(text)
    return text.getvalue()


def plain_config(text: str) -> Any:
    """Reads it with neat-python alone."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "neat_config.txt"
        place.write_text(text, encoding="utf-8")
        return neat.Config(*KINDS, str(place))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """neat-python on its own draws from the global generator; the tests leave it as it was."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def worth(key: int, generation: int = 0) -> float:
    """An arbitrary constant fitness."""
    return random.Random(key * 1000 + generation).uniform(-5.0, 5.0)


@functools.cache
def bred(feed_forward: bool, generations: int = 8, seed: int = 1, population: int = 30, **options: object) -> Any:
    """A population after some generations, by neat-python alone; tests must not change it."""
    shape = {"num_inputs": 3, "num_outputs": 2, "feed_forward": feed_forward, "pop_size": population}
    config = plain_config(config_with(**{**RESTLESS, **shape, **options}))

    def judge(genomes: list[tuple[int, Any]], config: Any) -> None:
        for key, genome in genomes:
            genome.fitness = worth(key)

    with seeded(seed):
        evolved = neat.Population(config)
        evolved.run(judge, generations)
    return evolved


def all_of(population: Any) -> list[Genome]:
    return [from_neat(value, population.config.genome_config) for value in population.population.values()]


def neats_own(genome: Genome) -> Any:
    """neat-python's network of a genome."""
    shape = SimpleNamespace(
        input_keys=[-1 - i for i in range(genome.inputs)],
        output_keys=list(range(genome.outputs)),
        activation_defs=ActivationFunctionSet(),
        aggregation_function_defs=AggregationFunctionSet(),
    )
    kind = neat.nn.FeedForwardNetwork if genome.feed_forward else neat.nn.RecurrentNetwork
    return kind.create(to_neat(genome, 0), SimpleNamespace(genome_config=shape))


def bits(values: Sequence[float]) -> list[str]:
    """For bitwise comparison: 0.0 differs from -0.0, all NaNs are equal."""
    return ["nan" if math.isnan(value) else struct.pack("<d", value).hex() for value in values]


def ours(networks: Networks, numbers: Sequence[int], slots: Sequence[int], rows: Any, outputs: int) -> tuple[Any, int]:
    """Outputs of our networks by row, and the first row that failed."""
    out = np.zeros((len(numbers), outputs))
    obs = np.array(rows, np.float32)
    failed = networks.activate(np.array(numbers, np.uint32), np.array(slots, np.uint32), obs, out)
    return out, failed


def watched(inputs: int, count: int, seed: int) -> list[list[float]]:
    """Random observations as 32-bit numbers."""
    return np.random.default_rng(seed).normal(0, 1.5, (count, inputs)).astype(np.float32).tolist()


# Made up


NUMBERS = st.one_of(
    st.floats(-8, 8),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 1e-154, 1e154, -1e154, 1e308, -1e308]),
    st.floats(allow_nan=False, allow_infinity=False),
)
SEEN = st.one_of(
    st.floats(-2, 2, width=32),
    st.sampled_from([0.0, -0.0, 1.0, 2.0**-149, -(2.0**-149), 2.0**127, -(2.0**127)]),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)


@st.composite
def made_up(draw: Any, feed_forward: bool | None = None, numbers: Any = NUMBERS) -> Genome:
    """Any valid genome, with nodes in any order and some dead ends."""
    forward = draw(st.booleans()) if feed_forward is None else feed_forward
    inputs, outputs = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    hidden = draw(st.lists(st.integers(outputs, 40), max_size=5, unique=True))
    keys = draw(st.permutations([*range(outputs), *hidden]))
    sources = [*range(-inputs, 0), *keys]
    pairs = [(a, b) for i, a in enumerate(sources) for j, b in enumerate(keys) if not forward or i - inputs < j]
    links = draw(st.lists(st.sampled_from(pairs), max_size=24, unique=True))
    nodes, wires = len(keys), len(links)
    order = draw(st.permutations(range(nodes)))

    def several(kind: Any, count: int) -> tuple[Any, ...]:
        return tuple(draw(st.lists(kind, min_size=count, max_size=count)))

    return Genome(
        inputs,
        outputs,
        forward,
        tuple(keys[i] for i in order),
        several(numbers, nodes),
        several(numbers, nodes),
        several(numbers, nodes),
        several(st.sampled_from(ACTIVATIONS), nodes),
        several(st.sampled_from(AGGREGATIONS), nodes),
        tuple(a for a, _ in links),
        tuple(b for _, b in links),
        several(numbers, wires),
        several(st.booleans(), wires),
        tuple(draw(st.lists(st.integers(0, 10_000), min_size=wires, max_size=wires, unique=True))),
    )


def read(payload: bytes | str) -> Genome | None:
    """The genome of a payload, or None if it raises BadValue; other errors fail the test."""
    try:
        return load(payload)
    except (BadValue, UnknownName):
        return None
