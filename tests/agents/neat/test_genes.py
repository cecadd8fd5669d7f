"""Our genes draw what neat-python's draw and become what they become."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neat import genes as theirs

from agents.neat.config import read_config
from agents.neat.genes import DefaultConnectionGene, DefaultNodeGene
from agents.neat.genome import ACTIVATIONS, AGGREGATIONS, from_neat, to_neat
from tests.agents.neat.sample_genomes import EVERYTHING, bred, config_with, seeded, toy

RATES = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])
NODE = {
    "bias": st.floats(-8, 8), "response": st.floats(-8, 8), "time_constant": st.floats(0.01, 10),
    "activation": st.sampled_from(ACTIVATIONS), "aggregation": st.sampled_from(AGGREGATIONS),
}  # fmt: skip
LINK = {"weight": st.floats(-12, 12), "enabled": st.booleans()}
VALUES = {"node": st.fixed_dictionaries(NODE), "link": st.fixed_dictionaries(LINK)}
MAKERS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "node": (lambda: DefaultNodeGene(4), lambda: theirs.DefaultNodeGene(4)),
    "link": (
        lambda: DefaultConnectionGene((-1, 4), innovation=9),
        lambda: theirs.DefaultConnectionGene((-1, 4), innovation=9),
    ),
}


@st.composite
def configs(draw: Any) -> Any:
    config = read_config(config_with(**EVERYTHING), toy()).genome_config
    for name in ("bias", "response", "weight", "time_constant"):
        setattr(config, f"{name}_mutate_rate", draw(RATES))
        setattr(config, f"{name}_replace_rate", draw(RATES))
        setattr(config, f"{name}_mutate_power", draw(st.sampled_from([0.0, 0.5, 30.0])))
        setattr(config, f"{name}_init_type", draw(st.sampled_from(["gaussian", "uniform"])))
    for name in ("activation_mutate_rate", "aggregation_mutate_rate", "enabled_mutate_rate"):
        setattr(config, name, draw(RATES))
    config.enabled_rate_to_true_add, config.enabled_rate_to_false_add = draw(RATES), draw(RATES) - 0.1
    return config


def create_gene(make: Callable[[], Any], values: dict[str, Any]) -> Any:
    gene = make()
    for name, value in values.items():
        setattr(gene, name, value)
    return gene


def after(seed: int, act: Callable[[], Any]) -> Any:
    """The fields of a gene, and of the generator."""
    with seeded(seed):
        return vars(act()), random.getstate()


def mutated(gene: Any, config: Any) -> Any:
    for _ in range(3):
        gene.mutate(config)
    return gene


@pytest.mark.parametrize("kind", MAKERS)
@given(st.data(), configs(), st.integers(0, 10**6))
@settings(max_examples=200)
def test_mutation_is_neat_pythons(kind: str, data: st.DataObject, config: Any, seed: int) -> None:
    values = data.draw(VALUES[kind])
    gene, other = (create_gene(make, values) for make in MAKERS[kind])
    assert after(seed, lambda: mutated(gene, config)) == after(seed, lambda: mutated(other, config))


@pytest.mark.parametrize("kind", MAKERS)
@given(st.data(), st.integers(0, 10**6))
def test_crossover_and_copies_are_neat_pythons(kind: str, data: st.DataObject, seed: int) -> None:
    values = [data.draw(VALUES[kind]) for _ in range(2)]
    own, plain = ([create_gene(make, value) for value in values] for make in MAKERS[kind])
    child = after(seed, lambda: plain[0].crossover(plain[1]))
    assert after(seed, lambda: own[0].crossover(own[1])) == child
    assert after(seed, lambda: own[0].crossover(plain[1])) == child
    assert after(seed, lambda: plain[0].crossover(own[1])) == child
    assert after(seed, own[0].copy) == after(seed, plain[0].copy)
    assert own[0].copy() is not own[0]


def test_genes_that_do_not_match_are_not_crossed() -> None:
    with pytest.raises(AssertionError):
        DefaultNodeGene(1).crossover(DefaultNodeGene(2))
    with pytest.raises(AssertionError):
        DefaultConnectionGene((-1, 0), innovation=1).crossover(DefaultConnectionGene((-1, 0), innovation=2))


def test_new_genomes_and_genomes_of_a_checkpoint_have_these_genes() -> None:
    config = read_config(config_with(), toy()).genome_config
    assert (config.node_gene_type, config.connection_gene_type) == (DefaultNodeGene, DefaultConnectionGene)
    population = bred(True)
    genome = from_neat(
        max(population.population.values(), key=lambda genome: len(genome.connections)), population.config.genome_config
    )
    found = to_neat(genome, 1)
    assert {type(value) for value in found.nodes.values()} == {DefaultNodeGene}
    assert {type(value) for value in found.connections.values()} == {DefaultConnectionGene}
