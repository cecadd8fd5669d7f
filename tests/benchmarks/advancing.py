"""`Evolution.advance` with our classes and with those of neat-python that they replace, in turns."""

from __future__ import annotations

import functools
import random
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import neat
from neat.genes import DefaultConnectionGene, DefaultNodeGene

from agents.neat.config import config_text, read_config
from agents.neat.evolution import Evolution
from engine.games.pong.game import Pong, PongOptions
from tests.benchmarks.measure import Figure, in_turns, ratio

GAME = Pong(PongOptions())


def figures(quick: bool) -> Iterator[Figure]:
    for size in (50, 150) if quick else (150, 500, 1000, 2000):
        yield compared(size, "neat-python's distance", use_their_species_set, quick)
    for size in (50,) if quick else (150, 2000):
        yield compared(size, "neat-python's genes", use_their_genes, quick)


def use_their_species_set(config: Any) -> None:
    config.species_set_type = neat.DefaultSpeciesSet


def use_their_genes(config: Any) -> None:
    config.genome_config.node_gene_type = DefaultNodeGene
    config.genome_config.connection_gene_type = DefaultConnectionGene


def compared(size: int, to: str, change: Callable[[Any], None], quick: bool) -> Figure:
    """With the same seed and the same random fitness; both end in the same state."""
    text = config_text("", GAME)
    ours, theirs = read_config(text, GAME, size), read_config(text, GAME, size)
    change(theirs)
    evolutions = {"ours": Evolution(text, ours, 1), "theirs": Evolution(text, theirs, 1)}
    draws = {name: random.Random(size) for name in evolutions}

    def advance(name: str) -> None:
        evolutions[name].advance({key: draws[name].random() for key in evolutions[name].genomes})

    jobs = {name: functools.partial(advance, name) for name in evolutions}
    in_turns(jobs, 2 if quick else 4)  # warm-up: until species have formed
    taken = in_turns(jobs, 1 if quick else 5)
    if evolutions["ours"].state() != evolutions["theirs"].state():
        raise AssertionError("the generations differ, so the figures would mean nothing")
    each = 1e3 * statistics.median(taken["ours"]) / size
    note = f"{statistics.median(taken['theirs']):.2f} s there, {evolutions['ours'].species} species; states equal"
    return Figure(f"advance, {size:,} genomes", each, "ms/genome", ratio(taken, "ours", "theirs"), to, note)
