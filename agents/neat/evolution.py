"""Generations of genomes: neat-python evolves them, here it is made repeatable and can be taken apart and put together.

neat-python draws from Python's global generator. Whatever it does is done with a state of our own in that generator's
place, and the program's is put back afterwards: so nothing else can disturb evolution, and evolution disturbs nothing.
"""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from typing import Any

import neat
from neat.species import Species

from agents.neat import genome as genomes
from agents.neat.genome import Genome
from agents.neat.topology import wire
from engine.errors import BadValue, RingsideError


@dataclass(frozen=True)
class Individual:
    """A genome of a population."""

    key: int
    fitness: float | None
    parents: tuple[int, ...]
    genome: Genome


@dataclass(frozen=True)
class SpeciesState:
    """What neat-python knows of a species; members and representative by key."""

    key: int
    created: int
    last_improved: int
    representative: int
    members: tuple[int, ...]
    fitness: float | None
    adjusted_fitness: float | None
    history: tuple[float, ...]


@dataclass(frozen=True)
class EvolutionState:
    """A generation before it is evaluated, with all that neat-python would need to go on in the same way."""

    config: str  # the text of the configuration file
    generation: int
    individuals: tuple[Individual, ...]
    species: tuple[SpeciesState, ...]
    next_genome: int
    next_node: int | None
    next_species: int
    innovation: int
    words: tuple[int, ...]  # of the generator
    gauss: float | None  # and the second half of its last pair of normal numbers


class Evolution:
    """A population as it goes from generation to generation."""

    def __init__(self, text: str, config: Any, seed: int, ancestor: Genome | None = None) -> None:
        """`ancestor`: begin with this genome and its mutated copies rather than with random ones."""
        self.text, self.config = text, config
        self._random = random.Random(seed).getstate()
        with self._drawing():
            self._population = neat.Population(config, _nothing(config))
            if ancestor is None:
                made = self._reproduction.create_new(config.genome_type, config.genome_config, config.pop_size)
                self._population.population = made
            else:
                self._population.population = self._descend(ancestor)
            self._population.species.speciate(config, self.genomes, 0)

    def _descend(self, ancestor: Genome) -> dict[int, Any]:
        config, tracker = self.config.genome_config, self._reproduction.innovation_tracker
        for name, given, wanted in (
            ("inputs", ancestor.inputs, config.num_inputs),
            ("outputs", ancestor.outputs, config.num_outputs),
        ):
            if given != wanted:
                raise BadValue(f"ancestor.{name}", given, f"{wanted}, as the game has it")
        if ancestor.feed_forward != config.feed_forward:
            kinds = {True: "feed-forward", False: "recurrent"}
            told = f"{kinds[config.feed_forward]} as in neat_config, and it is {kinds[ancestor.feed_forward]}"
            raise BadValue("ancestor.feed_forward", ancestor.feed_forward, told)
        tracker.global_counter = max(ancestor.innovation, default=0)
        config.innovation_tracker = tracker
        config.node_indexer = itertools.count(max(ancestor.key) + 1)
        made = {}
        for _ in range(self.config.pop_size):
            key = next(self._reproduction.genome_indexer)
            made[key] = genomes.to_neat(ancestor, key)
            if len(made) > 1:
                made[key].mutate(config)
            self._reproduction.ancestors[key] = ()
        return made

    @property
    def _reproduction(self) -> Any:
        return self._population.reproduction

    @property
    def generation(self) -> int:
        return int(self._population.generation)

    @property
    def genomes(self) -> dict[int, Any]:
        """neat-python's genomes by key, in its order."""
        found: dict[int, Any] = self._population.population
        return found

    @property
    def species(self) -> int:
        return len(self._population.species.species)

    def genome(self, key: int) -> Genome:
        return genomes.of_neat(self.genomes[key], self.config.genome_config)

    def parents(self, key: int) -> tuple[int, ...]:
        """The keys of those it was made from; none for the first generation."""
        return tuple(self._reproduction.ancestors.get(key, ()))

    def advance(self, fitness: Mapping[int, float]) -> bool:
        """Make the next generation from how well this one did. False if all species died out and it began anew."""
        population = self._population
        for key, genome in self.genomes.items():
            genome.fitness = fitness[key]
        with self._drawing():
            with self._room_for(len(population.species.species)):
                made = self._reproduction.reproduce(
                    self.config, population.species, self.config.pop_size, population.generation
                )
            alive = bool(population.species.species)
            if not alive:
                if not self.config.reset_on_extinction:
                    raise RingsideError("all species died out, and neat_config says reset_on_extinction = False")
                made = self._reproduction.create_new(
                    self.config.genome_type, self.config.genome_config, self.config.pop_size
                )
            population.population = made
            population.species.speciate(self.config, made, population.generation)
        population.generation += 1
        kept = self._reproduction.ancestors
        self._reproduction.ancestors = {key: kept.get(key, ()) for key in made}
        return alive

    @contextmanager
    def _room_for(self, species: int) -> Iterator[None]:
        """neat-python gives up when there are too many species for each to have its least size: then it is less."""
        config = self._reproduction.reproduction_config
        before, most = (config.min_species_size, config.elitism), max(self.config.pop_size // max(species, 1), 1)
        config.min_species_size, config.elitism = min(before[0], most), min(before[1], most)
        try:
            yield
        finally:
            config.min_species_size, config.elitism = before

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Our own state in the global generator's place, and neat-python's remarks thrown away."""
        outer = random.getstate()
        random.setstate(self._random)
        try:
            with redirect_stderr(io.StringIO()):
                yield
        finally:
            self._random = random.getstate()
            random.setstate(outer)

    # Taking apart and putting together

    def state(self) -> EvolutionState:
        config, species = self.config.genome_config, self._population.species
        node = None
        if config.node_indexer is not None:
            node = next(config.node_indexer)
            config.node_indexer = itertools.count(node)
        self._reproduction.genome_indexer, genome = _peek(self._reproduction.genome_indexer)
        species.indexer, kind = _peek(species.indexer)
        _, words, gauss = self._random
        return EvolutionState(
            self.text,
            self.generation,
            tuple(
                Individual(key, one.fitness, self.parents(key), self.genome(key)) for key, one in self.genomes.items()
            ),
            tuple(_taken_apart(one) for one in species.species.values()),
            genome,
            node,
            kind,
            self._reproduction.innovation_tracker.global_counter,
            tuple(words),
            gauss,
        )

    @classmethod
    def of(cls, state: EvolutionState, config: Any) -> Evolution:
        """As it was; what does not fit together is refused."""
        made = cls.__new__(cls)
        made.text, made.config = state.config, config
        _check_state(state, config)
        population = {one.key: genomes.to_neat(one.genome, one.key) for one in state.individuals}
        for one in state.individuals:
            population[one.key].fitness = one.fitness
        found = config.species_set_type(config.species_set_config, None)
        found.indexer = itertools.count(state.next_species)
        found.species = {one.key: _put_together(one, population) for one in state.species}
        found.genome_to_species = {key: one.key for one in state.species for key in one.members}
        made._population = neat.Population(config, (population, found, state.generation))
        reproduction = made._reproduction
        reproduction.genome_indexer = itertools.count(state.next_genome)
        reproduction.innovation_tracker.global_counter = state.innovation
        reproduction.ancestors = {one.key: one.parents for one in state.individuals}
        config.genome_config.innovation_tracker = reproduction.innovation_tracker
        config.genome_config.node_indexer = None if state.next_node is None else itertools.count(state.next_node)
        made._random = (3, state.words, state.gauss)
        return made


def _nothing(config: Any) -> tuple[dict[int, Any], Any, int]:
    """A population of nobody: neat-python would otherwise seed the generator by itself and fill it."""
    return {0: None}, config.species_set_type(config.species_set_config, None), 0


def _peek(count: Any) -> tuple[Any, int]:
    value = next(count)
    return itertools.count(value), value


def _taken_apart(one: Any) -> SpeciesState:
    history = tuple(map(float, one.fitness_history))
    members = tuple(one.members)
    fitness, adjusted = one.fitness, one.adjusted_fitness
    return SpeciesState(
        one.key, one.created, one.last_improved, one.representative.key, members, fitness, adjusted, history
    )


def _put_together(state: SpeciesState, population: Mapping[int, Any]) -> Any:
    made = Species(state.key, state.created)
    made.last_improved = state.last_improved
    made.update(population[state.representative], {key: population[key] for key in state.members})
    made.fitness, made.adjusted_fitness = state.fitness, state.adjusted_fitness
    made.fitness_history = list(state.history)
    return made


def _check_state(state: EvolutionState, config: Any) -> None:
    """A checkpoint may come with somebody's league: it must describe a population that neat-python could have made."""
    keys = [one.key for one in state.individuals]
    shape = (config.genome_config.num_inputs, config.genome_config.num_outputs, config.genome_config.feed_forward)
    for one in state.individuals:
        genomes.check(one.genome)
        if (one.genome.inputs, one.genome.outputs, one.genome.feed_forward) != shape:
            raise BadValue("checkpoint.individuals", one.key, "genomes as the configuration describes them")
        if not wire(one.genome).complete:
            raise BadValue("checkpoint.individuals", one.key, "without cycles, as the configuration says")
    members = [key for one in state.species for key in one.members]
    sound = len(set(keys)) == len(keys) and sorted(members) == sorted(keys) and bool(keys)
    sound = sound and all(one.representative in one.members for one in state.species)
    sound = sound and len({one.key for one in state.species}) == len(state.species)
    nodes = [key for one in state.individuals for key in one.genome.key]
    numbers = [number for one in state.individuals for number in one.genome.innovation]
    sound = sound and max(keys) < state.next_genome and max(one.key for one in state.species) < state.next_species
    free = config.genome_config.num_outputs if state.next_node is None else state.next_node
    sound = sound and max(nodes) < free
    sound = sound and max(numbers, default=0) <= state.innovation and state.generation >= 0
    sound = sound and len(state.words) == 625 and all(0 <= word < 2**32 for word in state.words)
    if not sound or not 0 <= state.words[-1] <= 624:
        raise BadValue("checkpoint", f"generation {state.generation}", "a population that fits together")
