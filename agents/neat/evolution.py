"""Evolution by neat-python, made repeatable, with a state that can be saved and restored.

neat-python draws from Python's global random generator. Each call to it runs with the evolution's own generator state
in place of the global one, which is restored afterwards: evolution neither affects nor is affected by other code.
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
class SavedGenome:
    """A genome of a population."""

    key: int
    fitness: float | None
    parents: tuple[int, ...]
    genome: Genome


@dataclass(frozen=True)
class SpeciesState:
    """A species of neat-python; members and representative by key."""

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
    """A generation before its evaluation, with all state that neat-python needs to continue identically."""

    config: str  # the text of the configuration file
    generation: int
    individuals: tuple[SavedGenome, ...]
    species: tuple[SpeciesState, ...]
    next_genome: int
    next_node: int | None
    next_species: int
    innovation: int
    words: tuple[int, ...]  # state of the random generator
    gauss: float | None  # the second of its last pair of normal numbers


class Evolution:
    """A population that evolves from generation to generation."""

    def __init__(self, text: str, config: Any, seed: int, ancestor: Genome | None = None) -> None:
        """`ancestor`: start with this genome and mutated copies of it instead of random genomes."""
        self.text, self.config = text, config
        self._random = random.Random(seed).getstate()
        with self._own_random_state():
            self._population = neat.Population(config, _empty_population(config))
            if ancestor is None:
                created = self._reproduction.create_new(config.genome_type, config.genome_config, config.pop_size)
                self._population.population = created
            else:
                self._population.population = self._descend(ancestor)
            self._population.species.speciate(config, self.genomes, 0)

    def _descend(self, ancestor: Genome) -> dict[int, Any]:
        config, tracker = self.config.genome_config, self._reproduction.innovation_tracker
        for name, given, expected in (
            ("inputs", ancestor.inputs, config.num_inputs),
            ("outputs", ancestor.outputs, config.num_outputs),
        ):
            if given != expected:
                raise BadValue(f"ancestor.{name}", given, f"{expected}, as in the game")
        if ancestor.feed_forward != config.feed_forward:
            kinds = {True: "feed-forward", False: "recurrent"}
            text = f"{kinds[config.feed_forward]} as in neat_config, but it is {kinds[ancestor.feed_forward]}"
            raise BadValue("ancestor.feed_forward", ancestor.feed_forward, text)
        tracker.global_counter = max(ancestor.innovation, default=0)
        config.innovation_tracker = tracker
        config.node_indexer = itertools.count(max(ancestor.key) + 1)
        created = {}
        for _ in range(self.config.pop_size):
            key = next(self._reproduction.genome_indexer)
            created[key] = genomes.to_neat(ancestor, key)
            if len(created) > 1:
                created[key].mutate(config)
            self._reproduction.ancestors[key] = ()
        return created

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
        return genomes.from_neat(self.genomes[key], self.config.genome_config)

    def parents(self, key: int) -> tuple[int, ...]:
        """Keys of its parents; none in the first generation."""
        return tuple(self._reproduction.ancestors.get(key, ()))

    def advance(self, fitness: Mapping[int, float]) -> bool:
        """Breeds the next generation; False if all species died out and a new population was created."""
        population = self._population
        for key, genome in self.genomes.items():
            genome.fitness = fitness[key]
        with self._own_random_state():
            with self._fit_species(len(population.species.species)):
                created = self._reproduction.reproduce(
                    self.config, population.species, self.config.pop_size, population.generation
                )
            alive = bool(population.species.species)
            if not alive:
                if not self.config.reset_on_extinction:
                    raise RingsideError("all species died out, and neat_config has reset_on_extinction = False")
                created = self._reproduction.create_new(
                    self.config.genome_type, self.config.genome_config, self.config.pop_size
                )
            population.population = created
            population.species.speciate(self.config, created, population.generation)
        population.generation += 1
        ancestors = self._reproduction.ancestors
        self._reproduction.ancestors = {key: ancestors.get(key, ()) for key in created}
        return alive

    @contextmanager
    def _fit_species(self, species: int) -> Iterator[None]:
        """Lowers min_species_size and elitism if there are too many species: neat-python would raise an error."""
        config = self._reproduction.reproduction_config
        before, most = (config.min_species_size, config.elitism), max(self.config.pop_size // max(species, 1), 1)
        config.min_species_size, config.elitism = min(before[0], most), min(before[1], most)
        try:
            yield
        finally:
            config.min_species_size, config.elitism = before

    @contextmanager
    def _own_random_state(self) -> Iterator[None]:
        """Swaps in our random state, and discards what neat-python prints."""
        outer = random.getstate()
        random.setstate(self._random)
        try:
            with redirect_stderr(io.StringIO()):
                yield
        finally:
            self._random = random.getstate()
            random.setstate(outer)

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
                SavedGenome(key, genome.fitness, self.parents(key), self.genome(key))
                for key, genome in self.genomes.items()
            ),
            tuple(_species_state(each) for each in species.species.values()),
            genome,
            node,
            kind,
            self._reproduction.innovation_tracker.global_counter,
            tuple(words),
            gauss,
        )

    @classmethod
    def from_state(cls, state: EvolutionState, config: Any) -> Evolution:
        """Restores an evolution; raises BadValue if the state is inconsistent."""
        evolution = cls.__new__(cls)
        evolution.text, evolution.config = state.config, config
        _check_state(state, config)
        population = {
            individual.key: genomes.to_neat(individual.genome, individual.key) for individual in state.individuals
        }
        for individual in state.individuals:
            population[individual.key].fitness = individual.fitness
        species_set = config.species_set_type(config.species_set_config, None)
        species_set.indexer = itertools.count(state.next_species)
        species_set.species = {species.key: _restore_species(species, population) for species in state.species}
        species_set.genome_to_species = {key: species.key for species in state.species for key in species.members}
        evolution._population = neat.Population(config, (population, species_set, state.generation))
        reproduction = evolution._reproduction
        reproduction.genome_indexer = itertools.count(state.next_genome)
        reproduction.innovation_tracker.global_counter = state.innovation
        reproduction.ancestors = {individual.key: individual.parents for individual in state.individuals}
        config.genome_config.innovation_tracker = reproduction.innovation_tracker
        config.genome_config.node_indexer = None if state.next_node is None else itertools.count(state.next_node)
        evolution._random = (3, state.words, state.gauss)
        return evolution


def _empty_population(config: Any) -> tuple[dict[int, Any], Any, int]:
    """An empty population: without it neat-python would seed the generator and create one."""
    return {0: None}, config.species_set_type(config.species_set_config, None), 0


def _peek(count: Any) -> tuple[Any, int]:
    value = next(count)
    return itertools.count(value), value


def _species_state(species: Any) -> SpeciesState:
    history = tuple(map(float, species.fitness_history))
    members = tuple(species.members)
    fitness, adjusted = species.fitness, species.adjusted_fitness
    return SpeciesState(
        species.key,
        species.created,
        species.last_improved,
        species.representative.key,
        members,
        fitness,
        adjusted,
        history,
    )


def _restore_species(state: SpeciesState, population: Mapping[int, Any]) -> Any:
    species = Species(state.key, state.created)
    species.last_improved = state.last_improved
    species.update(population[state.representative], {key: population[key] for key in state.members})
    species.fitness, species.adjusted_fitness = state.fitness, state.adjusted_fitness
    species.fitness_history = list(state.history)
    return species


def _check_state(state: EvolutionState, config: Any) -> None:
    """Raises BadValue unless neat-python could have made this population: it may come from a foreign league."""
    keys = [individual.key for individual in state.individuals]
    shape = (config.genome_config.num_inputs, config.genome_config.num_outputs, config.genome_config.feed_forward)
    for individual in state.individuals:
        genomes.check(individual.genome)
        if (individual.genome.inputs, individual.genome.outputs, individual.genome.feed_forward) != shape:
            raise BadValue("checkpoint.individuals", individual.key, "a genome that fits the configuration")
        if not wire(individual.genome).complete:
            raise BadValue("checkpoint.individuals", individual.key, "a genome without cycles, as in the configuration")
    members = [key for species in state.species for key in species.members]
    consistent = len(set(keys)) == len(keys) and sorted(members) == sorted(keys) and bool(keys)
    consistent = consistent and all(species.representative in species.members for species in state.species)
    consistent = consistent and len({species.key for species in state.species}) == len(state.species)
    nodes = [key for individual in state.individuals for key in individual.genome.key]
    numbers = [number for individual in state.individuals for number in individual.genome.innovation]
    consistent = (
        consistent
        and max(keys) < state.next_genome
        and max(species.key for species in state.species) < state.next_species
    )
    free = config.genome_config.num_outputs if state.next_node is None else state.next_node
    consistent = consistent and max(nodes) < free
    consistent = consistent and max(numbers, default=0) <= state.innovation and state.generation >= 0
    consistent = consistent and len(state.words) == 625 and all(0 <= word < 2**32 for word in state.words)
    if not consistent or not 0 <= state.words[-1] <= 624:
        raise BadValue("checkpoint", f"generation {state.generation}", "a consistent population")
