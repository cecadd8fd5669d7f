"""Makes the candidates of a generation: at random for the first one, later as children of the one before."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agents.training.hybrid.draws import Draws
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.members import Candidate, Member
from agents.training.hybrid.search_settings import SearchSettings
from agents.training.hybrid.selection import Pool
from agents.training.hybrid.space import Space
from agents.training.hybrid.variation import TRIES, crossover, mutate, random_genome, vary


def first_generation(settings: SearchSettings, space: Space) -> list[Candidate]:
    """Random genomes, all of them different as far as the space has so many."""
    found: dict[Genome, None] = {}
    genomes = []
    for index in range(settings.population_size):
        draws = Draws(settings.seed, "first", index)
        genome = random_genome(space, draws)
        for _ in range(TRIES):
            if genome not in found:
                break
            genome = random_genome(space, draws)
        found[genome] = None
        genomes.append(genome)
    return [Candidate(genome, 1) for genome in genomes]


def children(
    pools: Sequence[Pool],
    rate: float,
    known: Collection[Genome],
    generation: int,
    settings: SearchSettings,
    space: Space,
) -> list[Candidate]:
    """The new candidates of a generation. Training a genome again would give the same result, so a child that is among
    the `known` genomes is mutated further."""
    tried, bred = set(known), list[Candidate]()
    for pool in pools:
        for _ in range(pool.children):
            draws = Draws(settings.seed, "child", generation, len(bred))
            genome, parents = _child(pool, rate, tried, draws, settings, space)
            bred.append(Candidate(genome, generation, parents))
            tried.add(genome)
    return bred


def _child(
    pool: Pool, rate: float, tried: Collection[Genome], draws: Draws, settings: SearchSettings, space: Space
) -> tuple[Genome, tuple[int, ...]]:
    """A genome and the numbers of its parents."""
    first = pool.pick(settings.tournament_size, draws)
    parents: tuple[int, ...] = (first.number,)
    genome = first.genome
    if draws.happens(settings.crossover_rate) and (other := _partner(pool, genome, draws, settings)):
        parents, genome = (first.number, other.number), crossover(genome, other.genome, space, draws)
    genome = vary(genome, rate, space, draws)
    for _ in range(TRIES):
        if genome not in tried:
            break
        genome = mutate(genome, rate, space, draws)
    return genome, parents


def _partner(pool: Pool, genome: Genome, draws: Draws, settings: SearchSettings) -> Member | None:
    """A parent with another genome; None if chance finds none."""
    for _ in range(TRIES):
        other = pool.pick(settings.tournament_size, draws)
        if other.genome != genome:
            return other
    return None
