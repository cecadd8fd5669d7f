"""Generations of genomes: neat-python evolves them, here it is made repeatable and can be taken apart and put together.

neat-python draws from Python's global generator. Whatever it does is done with a state of our own in that generator's
place, and the program's is put back afterwards: so nothing else can disturb evolution, and evolution disturbs nothing.
"""

from __future__ import annotations

import configparser
import io
import itertools
import random
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neat
from neat.species import Species

from agents.neat import genome as genomes
from agents.neat.genome import ACTIVATIONS, AGGREGATIONS, Genome
from engine.errors import BadValue, RingsideError, UnknownName
from engine.files import asset, check_path
from engine.game import Game

LARGEST_CONFIG = 1 << 20  # bytes
SECTION, ADVICE = "Ringside", ("rewards", "behaviour")


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


def config_text(path: str, game: Game) -> str:
    """The text of a configuration file; without a path, of the one for this game that comes with Ringside."""
    if not path:
        found = asset(f"neat/{game.spec.name}.txt") or asset("neat/default.txt")
        if found is None:
            raise RingsideError("Ringside's own NEAT configurations are missing: install it again")
        return found.read_text(encoding="utf-8")
    try:
        raw = check_path("neat_config", path).read_bytes()
        if len(raw) > LARGEST_CONFIG:
            raise BadValue("neat_config", path, f"a file of at most {LARGEST_CONFIG:,} bytes")
        return raw.decode()
    except OSError as error:
        raise BadValue("neat_config", path, f"a file that can be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise BadValue("neat_config", path, "a text file") from None


def read_config(text: str, game: Game, population: int = 0) -> Any:
    """A `neat.Config` for this game; `population`, if given, comes before the file's own."""
    parser = configparser.ConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise BadValue("neat_config", str(error), "a configuration file as neat-python has them") from None
    ends = {"num_inputs": game.info.observation[0], "num_outputs": game.info.actions}
    section = "DefaultGenome"
    for name, wanted in ends.items() if parser.has_section(section) else ():
        given = parser.get(section, name, fallback="game", raw=True)
        if given not in ("game", str(wanted)):
            raise BadValue(f"neat_config.{name}", given, f"{wanted}, as {game.spec.name} has it")
        parser.set(section, name, str(wanted))
    if population and parser.has_section("NEAT"):
        parser.set("NEAT", "pop_size", str(population))
    with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        place = Path(folder) / "neat_config.txt"
        with place.open("w", encoding="utf-8") as file:
            parser.write(file)
        kinds = (neat.DefaultGenome, neat.DefaultReproduction, neat.DefaultSpeciesSet, neat.DefaultStagnation)
        try:
            config = neat.Config(*kinds, str(place))
        except Exception as error:  # neat-python says what is wrong by exceptions of many kinds
            raise BadValue("neat_config", str(error) or type(error).__name__, "what neat-python accepts") from None
    advice(text)
    config.seed = None  # neat-python would seed the global generator with it; here a seed is a setting of the trainer
    _check_config(config)
    return config


def _check_config(config: Any) -> None:
    made = config.genome_config
    for noun, offered, known in (
        ("activation", made.activation_options, ACTIVATIONS),
        ("aggregation", made.aggregation_options, AGGREGATIONS),
    ):
        for name in offered:
            if name not in known:
                raise UnknownName(f"{noun} function in neat_config", name, known)
    if config.pop_size < 2:
        raise BadValue("neat_config.pop_size", config.pop_size, "at least 2")


def advice(text: str) -> dict[str, str]:
    """What a configuration file says to the trainer, in a section of its own: settings for this game."""
    parser = configparser.ConfigParser()
    parser.read_string(text)
    found = dict(parser.items(SECTION, raw=True)) if parser.has_section(SECTION) else {}
    for name in found:
        if name not in ADVICE:
            raise UnknownName(f"setting in [{SECTION}] of neat_config", name, ADVICE)
    return found


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
        if ancestor.feed_forward != config.feed_forward:
            kinds = {True: "feed-forward", False: "recurrent"}
            told = f"{kinds[config.feed_forward]} as in neat_config, and it is {kinds[ancestor.feed_forward]}"
            raise BadValue("ancestor", "genome", told)
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
            try:
                made = self._reproduction.reproduce(
                    self.config, population.species, self.config.pop_size, population.generation
                )
            except RuntimeError as error:  # too many species for so few genomes
                told = "a larger population, or a larger compatibility_threshold in the NEAT configuration"
                raise BadValue("population", self.config.pop_size, f"{told} ({error})") from None
            alive = bool(population.species.species)
            if not alive:
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
    members = [key for one in state.species for key in one.members]
    sound = len(set(keys)) == len(keys) and sorted(members) == sorted(keys) and bool(keys)
    sound = sound and all(one.representative in one.members for one in state.species)
    sound = sound and len({one.key for one in state.species}) == len(state.species)
    nodes = [key for one in state.individuals for key in one.genome.key]
    numbers = [number for one in state.individuals for number in one.genome.innovation]
    sound = sound and max(keys) < state.next_genome and max(one.key for one in state.species) < state.next_species
    sound = sound and (state.next_node is None or max(nodes) < state.next_node)
    sound = sound and max(numbers, default=0) <= state.innovation and state.generation >= 0
    sound = sound and len(state.words) == 625 and all(0 <= word < 2**32 for word in state.words)
    if not sound or not 0 <= state.words[-1] <= 624:
        raise BadValue("checkpoint", f"generation {state.generation}", "a population that fits together")
