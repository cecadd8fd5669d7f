"""Distances between genomes in compiled code, equal to neat-python's `DefaultGenome.distance` to the bit.

A distance is a sum over the genes of the first genome, in the order of its dictionaries; floating-point sums depend on
that order, so the distance from A to B and the distance from B to A can differ in the last bit. The kernel computes the
part of each common gene, stores it at the gene's place in the first genome, and adds up in that order.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import neat
import numpy as np
from neat.genes import DefaultConnectionGene, DefaultNodeGene
from numpy.typing import NDArray

from engine.kernels import inline, kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Nodes(NamedTuple):
    """The nodes of many genomes: those of genome g are rows `start[g]` to `start[g + 1]`, in its dictionary's order."""

    start: Integers
    key: Integers  # numbered from 0 over all genomes
    bias: Floats
    response: Floats
    time_constant: Floats
    activation: Integers  # equal numbers for equal names
    aggregation: Integers


class Links(NamedTuple):
    """The connections of many genomes, laid out as `Nodes` are."""

    start: Integers
    key: Integers
    weight: Floats
    enabled: NDArray[np.bool_]


class Scratch(NamedTuple):
    """Working memory of the kernel for one kind of gene."""

    row: Integers  # by key: the row of that gene of the first genome, or -1
    part: Floats  # by gene of the first genome: its part of the distance, 0 between calls


def has_plain_distance(genomes: Iterable[Any], config: Any) -> bool:
    """Whether neat-python would use its own distance functions for all of these, rather than those of a subclass."""
    return (
        config.node_gene_type.distance is DefaultNodeGene.distance
        and config.connection_gene_type.distance is DefaultConnectionGene.distance
        and all(kind.distance is neat.DefaultGenome.distance for kind in {type(genome) for genome in genomes})
    )


class Distances:
    """Some genomes, flattened once, to compare by their places in the sequence."""

    def __init__(self, genomes: Sequence[Any], config: Any) -> None:
        """`config`: their genome configuration. Call this only if `has_plain_distance`."""
        self._nodes, self._links = _nodes_of(genomes), _links_of(genomes)
        self._scratch = (_scratch_for(self._nodes), _scratch_for(self._links))
        self._disjoint = float(config.compatibility_disjoint_coefficient)
        self._weight = float(config.compatibility_weight_coefficient)

    def between(self, first: Integers, second: Integers) -> Floats:
        """`genomes[first[i]].distance(genomes[second[i]], config)` for each i; fastest where `first` changes rarely."""
        found = np.empty(len(first))
        _measure(self._nodes, self._links, *self._scratch, first, second, self._disjoint, self._weight, found)
        return found


# From neat-python's objects to arrays


def _nodes_of(genomes: Sequence[Any]) -> Nodes:
    numbers, names = _numbering(), _numbering()
    genes = [gene for genome in genomes for gene in genome.nodes.values()]
    return Nodes(
        _starts([len(genome.nodes) for genome in genomes]),
        np.array([numbers[key] for genome in genomes for key in genome.nodes], np.int64),
        np.array([gene.bias for gene in genes], np.float64),
        np.array([gene.response for gene in genes], np.float64),
        np.array([gene.time_constant for gene in genes], np.float64),
        np.array([names[gene.activation] for gene in genes], np.int64),
        np.array([names[gene.aggregation] for gene in genes], np.int64),
    )


def _links_of(genomes: Sequence[Any]) -> Links:
    numbers = _numbering()
    genes = [gene for genome in genomes for gene in genome.connections.values()]
    return Links(
        _starts([len(genome.connections) for genome in genomes]),
        np.array([numbers[key] for genome in genomes for key in genome.connections], np.int64),
        np.array([gene.weight for gene in genes], np.float64),
        np.array([gene.enabled for gene in genes], np.bool_),
    )


def _numbering() -> defaultdict[Any, int]:
    """0 for the first key that is looked up, 1 for the next new one, and so on."""
    return defaultdict(itertools.count().__next__)


def _starts(sizes: Sequence[int]) -> Integers:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def _scratch_for(genes: Nodes | Links) -> Scratch:
    keys, longest = genes.key.max(initial=-1) + 1, np.diff(genes.start).max(initial=0)
    return Scratch(np.full(keys, -1, np.int64), np.zeros(longest))


# Compiled


@inline
def _register(start: int, end: int, key: Integers, row: Integers) -> None:
    for at in range(start, end):
        row[key[at]] = at


@inline
def _forget(start: int, end: int, key: Integers, row: Integers) -> None:
    for at in range(start, end):
        row[key[at]] = -1


@inline
def _total(start: Integers, genome: int, other: int, part: Floats, common: int, disjoint: float) -> float:
    """Adds up the parts in the first genome's order and clears them. A gene that only one genome has adds 0.0, which
    changes no sum, and is counted as disjoint."""
    size, size_other = start[genome + 1] - start[genome], start[other + 1] - start[other]
    if size == 0 and size_other == 0:
        return 0.0
    total = 0.0
    for at in range(size):
        total += part[at]
        part[at] = 0.0
    apart = size + size_other - 2 * common
    return float((total + disjoint * apart) / max(size, size_other))


@kernel
def _measure(
    nodes: Nodes, links: Links, node: Scratch, link: Scratch, first: Integers, second: Integers,
    disjoint: float, weight: float, out: Floats,
) -> None:  # fmt: skip
    for i in range(len(first)):
        genome, other = first[i], second[i]
        if i == 0 or genome != first[i - 1]:
            _register(nodes.start[genome], nodes.start[genome + 1], nodes.key, node.row)
            _register(links.start[genome], links.start[genome + 1], links.key, link.row)
        common = 0
        for at in range(nodes.start[other], nodes.start[other + 1]):
            own = node.row[nodes.key[at]]
            if own >= 0:
                d = abs(nodes.bias[own] - nodes.bias[at]) + abs(nodes.response[own] - nodes.response[at])
                d += abs(nodes.time_constant[own] - nodes.time_constant[at])
                if nodes.activation[own] != nodes.activation[at]:
                    d += 1.0
                if nodes.aggregation[own] != nodes.aggregation[at]:
                    d += 1.0
                node.part[own - nodes.start[genome]] = d * weight
                common += 1
        by_nodes = _total(nodes.start, genome, other, node.part, common, disjoint)
        common = 0
        for at in range(links.start[other], links.start[other + 1]):
            own = link.row[links.key[at]]
            if own >= 0:
                d = abs(links.weight[own] - links.weight[at])
                if links.enabled[own] != links.enabled[at]:
                    d += 1.0
                link.part[own - links.start[genome]] = d * weight
                common += 1
        out[i] = by_nodes + _total(links.start, genome, other, link.part, common, disjoint)
        if i == len(first) - 1 or genome != first[i + 1]:
            _forget(nodes.start[genome], nodes.start[genome + 1], nodes.key, node.row)
            _forget(links.start[genome], links.start[genome + 1], links.key, link.row)
