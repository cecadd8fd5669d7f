"""Compiled distances equal neat-python's to the bit, and the species that follow from them are the same."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import neat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neat.genes import DefaultConnectionGene, DefaultNodeGene
from neat.reporting import ReporterSet

from agents.neat import species as species_module
from agents.neat.config import read_config
from agents.neat.distance import Distances, has_plain_distance
from agents.neat.evolution import Evolution
from agents.neat.genome import to_neat
from agents.neat.species import DefaultSpeciesSet
from tests.agents.neat.sample_genomes import (
    EVERYTHING,
    NUMBERS,
    RESTLESS,
    all_of,
    bits,
    bred,
    config_with,
    made_up,
    toy,
    worth,
)

COEFFICIENTS = st.one_of(st.floats(0, 4), st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0]), NUMBERS)


def config_for(disjoint: float = 1.0, weight: float = 0.5, **options: object) -> Any:
    config = read_config(config_with(**options), toy())
    config.genome_config.compatibility_disjoint_coefficient = disjoint
    config.genome_config.compatibility_weight_coefficient = weight
    return config


def check_all_pairs(genomes: Sequence[Any], config: Any) -> None:
    places = range(len(genomes))
    expected = [genome.distance(other, config) for genome, other in itertools.product(genomes, genomes)]
    first, second = (np.array(column) for column in zip(*itertools.product(places, places), strict=True))
    distances = Distances(genomes, config)
    assert bits(distances.between(first, second)) == bits(expected)
    backwards = distances.between(first[::-1].copy(), second[::-1].copy())  # the scratch memory was left clean
    assert bits(backwards) == bits(expected[::-1])
    mixed = np.random.default_rng(1).permutation(len(first))
    assert bits(distances.between(first[mixed], second[mixed])) == bits([expected[i] for i in mixed])


def without(genome: Any, part: str) -> Any:
    setattr(genome, part, {})
    return genome


def reordered(genome: Any, shuffles: random.Random) -> Any:
    """The same genes in another order; the genes themselves are shared."""
    copy = neat.DefaultGenome(genome.key)
    for part in ("nodes", "connections"):
        items = list(getattr(genome, part).items())
        shuffles.shuffle(items)
        setattr(copy, part, dict(items))
    return copy


# Distances


@given(st.lists(made_up(), min_size=1, max_size=5), COEFFICIENTS, COEFFICIENTS)
@settings(max_examples=150)
def test_any_genomes_have_neat_pythons_distances(genes: list[Any], disjoint: float, weight: float) -> None:
    config = config_for(disjoint, weight).genome_config
    genomes = [to_neat(gene, key) for key, gene in enumerate(genes)]
    check_all_pairs(genomes, config)


@given(made_up(), st.lists(made_up(), max_size=2))
@settings(max_examples=50)
def test_genomes_without_nodes_or_links_have_neat_pythons_distances(genes: Any, others: list[Any]) -> None:
    genomes = [to_neat(genome, key) for key, genome in enumerate([genes, *others])]
    empty = [neat.DefaultGenome(10), without(to_neat(genes, 11), "nodes"), without(to_neat(genes, 12), "connections")]
    check_all_pairs([*genomes, *empty], config_for().genome_config)
    check_all_pairs([neat.DefaultGenome(10)], config_for().genome_config)


@pytest.mark.parametrize("coefficients", [(1.0, 0.5), (0.1, 1 / 3), (0.0, 1.0), (2.5, 0.0), (-0.7, -0.3)])
@pytest.mark.parametrize("feed_forward", [True, False])
def test_bred_genomes_have_neat_pythons_distances(feed_forward: bool, coefficients: tuple[float, float]) -> None:
    """After many crossovers and mutations: disjoint and excess genes, disabled links, every function."""
    population = bred(feed_forward, generations=12, seed=3, **EVERYTHING)
    genomes = list(population.population.values())
    assert any(not link.enabled for genome in genomes for link in genome.connections.values())
    assert len({key for genome in genomes for key in genome.connections}) > max(
        len(genome.connections) for genome in genomes
    )
    check_all_pairs(genomes, config_for(*coefficients).genome_config)


def test_the_direction_matters_and_both_are_equal_to_neat_pythons() -> None:
    """Bred genomes have mostly the same order of genes; these do not."""
    shuffles = random.Random(1)
    genomes = [
        reordered(value, shuffles) for value in bred(False, generations=12, seed=3, **EVERYTHING).population.values()
    ]
    config = config_for(1.0, 1 / 3).genome_config
    assert any(a.distance(b, config) != b.distance(a, config) for a, b in itertools.combinations(genomes, 2))
    check_all_pairs(genomes, config)


# Species


def sets_with(threshold: float, former: Sequence[tuple[int, Any]]) -> list[Any]:
    """Our species set and neat-python's, both with these representatives by species."""
    config = config_for().species_set_config
    config.compatibility_threshold = threshold
    species_sets = [kind(config, ReporterSet()) for kind in (DefaultSpeciesSet, neat.DefaultSpeciesSet)]
    for species_set in species_sets:
        species_set.indexer = itertools.count(max((key for key, _ in former), default=0) + 1)
        for key, genome in former:
            species_set.species[key] = neat.species.Species(key, 0)
            species_set.species[key].update(genome, {genome.key: genome})
    return species_sets


def outcome(species: Any) -> Any:
    """All that can be seen of a species set, with the orders of its dictionaries."""
    kinds = [
        (key, group.key, group.created, group.representative.key, list(group.members))
        for key, group in species.species.items()
    ]
    same = all(value.members[key].key == key for value in species.species.values() for key in value.members)
    return kinds, list(species.genome_to_species.items()), next(species.indexer), same


def variant(base: Any, key: int, shuffles: random.Random) -> Any:
    """One of a few genomes in a random order of genes: many are at distance 0 from each other."""
    genome = reordered(to_neat(base, key), shuffles)
    values = random.Random(shuffles.randrange(5))
    for number in sorted(genome.nodes):
        genome.nodes[number].bias += values.choice([0.0, 0.1, 0.3])
    for pair in sorted(genome.connections):
        genome.connections[pair].weight += values.choice([0.0, 0.1, 0.3])
    return genome


@dataclass
class Case:
    """A generation to put into species."""

    population: dict[int, Any]  # in any order
    former: list[tuple[int, Any]]  # species and representatives, some of which are still in the population
    config: Any
    threshold: float  # one of the distances, so that a difference in the last bit shows


def case(seed: int) -> Case:
    draws = random.Random(seed)
    base = draws.choice(all_of(bred(False, generations=12, seed=3, **EVERYTHING)))
    genomes = [variant(base, key, draws) for key in range(draws.randint(2, 14))]
    living = draws.sample(genomes, draws.randint(1, len(genomes)))
    former = draws.sample(genomes, draws.randint(0, min(len(living), 6)))
    config = config_for(draws.choice([1.0, 0.3]), draws.choice([0.5, 1 / 3]))
    distance = draws.choice(genomes).distance(draws.choice(genomes), config.genome_config)
    return Case({pid.key: pid for pid in living}, list(enumerate(former, 1)), config, draws.choice([distance, 1.0]))


@given(st.integers(0, 10**6))
@settings(max_examples=400)
def test_genomes_join_the_same_species_as_in_neat_python(seed: int) -> None:
    sample = case(seed)
    ours, theirs = sets_with(sample.threshold, sample.former)
    for species_set in (ours, theirs):
        species_set.speciate(sample.config, dict(sample.population), 7)
    assert outcome(ours) == outcome(theirs)


class Recorded(species_module._Comparison):
    """Ours, with the distances from representative to genome by their keys."""

    found: ClassVar[dict[tuple[int, int], float]] = {}

    def __init__(self, population: Any, former: list[Any], config: Any) -> None:
        super().__init__(population, former, config)
        self.keys = [*sorted(population), *(genome.key for genome in former if genome.key not in population)]

    def row(self, representative: int, others: Any) -> Any:
        found = super().row(representative, others)
        self.found.update({(self.keys[representative], self.keys[i]): d for i, d in zip(others, found, strict=True)})
        return found


class RecordedCache(neat.species.GenomeDistanceCache):  # type: ignore[misc]
    """neat-python's, with the same."""

    found: ClassVar[dict[tuple[int, int], float]] = {}

    def __call__(self, genome: Any, other: Any) -> float:
        self.found[genome.key, other.key] = super().__call__(genome, other)
        return self.found[genome.key, other.key]


def test_the_same_distances_are_computed_in_the_same_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    """neat-python's cache keeps the direction that came first, which shows in the last bit."""
    monkeypatch.setattr(species_module, "_Comparison", Recorded)
    monkeypatch.setattr(neat.species, "GenomeDistanceCache", RecordedCache)
    reversed_ones = 0
    for seed in range(600):
        sample = case(seed)
        Recorded.found.clear()
        RecordedCache.found.clear()
        for species_set in sets_with(sample.threshold, sample.former):
            species_set.speciate(sample.config, dict(sample.population), 7)
        assert Recorded.found == RecordedCache.found
        known = sample.population | {genome.key: genome for _, genome in sample.former}
        reversed_ones += sum(
            known[key].distance(known[other], sample.config.genome_config) != distance
            for (key, other), distance in RecordedCache.found.items()
        )
    assert reversed_ones > 10


def test_distances_that_are_not_numbers_change_nothing() -> None:
    """Differences that overflow, times a coefficient of 0: neat-python's `min` keeps whichever stands first."""
    base = max((genome for genome in bred(False).population.values()), key=lambda genome: len(genome.connections))
    population = {}
    for key, bias in enumerate((1e308, -1e308, 0.0, 1e308, 2.0, -1e308)):
        genome = neat.DefaultGenome(key)
        genome.connections = base.connections
        genome.nodes[0] = DefaultNodeGene(0)
        for name, value in (("bias", bias), ("response", 1.0), ("time_constant", 1.0)):
            setattr(genome.nodes[0], name, value)
        genome.nodes[0].activation, genome.nodes[0].aggregation = "tanh", "sum"
        population[key] = genome
    config = config_for(1.0, 0.0)
    assert population[0].distance(population[1], config.genome_config) != 0.0  # nan
    for order in itertools.permutations(range(3)):
        former = [(kind, population[key]) for kind, key in enumerate(order, 1)]
        ours, _ = sets_with(1.0, former)
        _, theirs = sets_with(1.0, former)
        for species_set in (ours, theirs):
            species_set.speciate(config, population, 1)
        assert outcome(ours) == outcome(theirs)


@pytest.mark.parametrize("feed_forward", [True, False])
@pytest.mark.parametrize("threshold", [0.3, 1.0, 2.0, 4.0])
def test_evolution_is_the_same_with_neat_pythons_own_classes(feed_forward: bool, threshold: float) -> None:
    options = {**RESTLESS, **EVERYTHING, "compatibility_threshold": threshold, "pop_size": 40, "max_stagnation": 4}
    text = config_with(**options, feed_forward=feed_forward)
    ours, theirs = read_config(text, toy()), read_config(text, toy())
    theirs.species_set_type, theirs.genome_type = neat.DefaultSpeciesSet, neat.DefaultGenome
    theirs.genome_config.node_gene_type = DefaultNodeGene
    theirs.genome_config.connection_gene_type = DefaultConnectionGene
    evolution, other = Evolution(text, ours, 5), Evolution(text, theirs, 5)
    for generation in range(10):
        assert evolution.state() == other.state()
        fitness = {key: worth(key, generation) for key in evolution.genomes}
        assert evolution.advance(fitness) == other.advance(fitness)
    assert evolution.state() == other.state()


# Where neat-python's own method is used


class Stranger(neat.DefaultGenome):  # type: ignore[misc]
    """Genomes are as far apart as their keys."""

    def distance(self, other: Any, config: Any) -> float:
        return float(abs(self.key - other.key))


def test_genomes_with_a_custom_distance_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(species_module, "Distances", None)
    population = {key: Stranger(key) for key in (1, 2, 8, 9)}
    config = config_for()
    ours, theirs = sets_with(3.0, [(1, population[8])])
    for species_set in (ours, theirs):
        species_set.speciate(config, population, 1)
    assert outcome(ours) == outcome(theirs)
    assert [sorted(value.members) for value in ours.species.values()] == [[8, 9], [1, 2]]


def test_genes_with_a_custom_distance_use_neat_python() -> None:
    class Gene(DefaultNodeGene):  # type: ignore[misc]
        def distance(self, other: Any, config: Any) -> float:
            return 1.0

    config = config_for().genome_config
    genomes = [neat.DefaultGenome(1)]
    assert has_plain_distance(genomes, config)
    assert not has_plain_distance([*genomes, Stranger(2)], config)
    config.node_gene_type = Gene
    assert not has_plain_distance(genomes, config)


def test_reporters_get_neat_pythons_message() -> None:
    class Listener(neat.reporting.BaseReporter):  # type: ignore[misc]
        def info(self, msg: str) -> None:
            heard.append(msg)

    heard: list[str] = []
    ours, _ = sets_with(1.0, [])
    ours.reporters.add(Listener())
    ours.speciate(config_for(), dict(bred(True).population), 1)
    assert heard[0].startswith("Mean genetic distance")


def test_more_species_than_genomes_raise_neat_pythons_error() -> None:
    genomes = list(bred(True).population.values())[:3]
    ours, _ = sets_with(1.0, list(enumerate(genomes)))
    with pytest.raises(ValueError, match="empty"):
        ours.speciate(config_for(), {genomes[0].key: genomes[0]}, 1)
