"""Reads neat-python's configuration files for one game, and rejects what neat-python would ignore."""

from __future__ import annotations

import configparser
import contextlib
import math
import tempfile
from pathlib import Path
from typing import Any

import neat
from neat.genes import DefaultConnectionGene, DefaultNodeGene
from neat.genome import DefaultGenomeConfig
from neat.math_util import stat_functions

from agents.neat.genome import ACTIVATIONS, AGGREGATIONS
from agents.neat.neat_python_fixes import DefaultGenome, DefaultReproduction
from agents.neat.pilot import inputs_of
from agents.neat.species import DefaultSpeciesSet
from engine.errors import BadValue, RingsideError, UnknownName
from engine.files import asset, read_file
from engine.game import Game
from engine.temporary import private_folder

LARGEST_CONFIG = 1 << 20  # bytes
MOST_GENOMES, MOST_HIDDEN = 100_000, 10_000
GENOME = "DefaultGenome"
GENOME_OPTIONS = (
    "num_inputs", "num_outputs", "num_hidden", "feed_forward", "compatibility_disjoint_coefficient",
    "compatibility_weight_coefficient", "conn_add_prob", "conn_delete_prob", "node_add_prob", "node_delete_prob",
    "single_structural_mutation", "structural_mutation_surer", "initial_connection",
)  # fmt: skip
SECTION, ADVICE = "Ringside", ("rewards", "behaviour")


def config_text(path: str, game: Game) -> str:
    """The text of a configuration file; without a path, of Ringside's own file for this game."""
    if not path:
        found = asset(f"neat/{game.spec.name}.txt") or asset("neat/default.txt")
        if found is None:
            raise RingsideError("Ringside's NEAT configurations (assets/neat) are missing: reinstall Ringside")
        return found.read_text(encoding="utf-8")
    try:
        return read_file(path, LARGEST_CONFIG, "neat_config").decode()
    except UnicodeDecodeError:
        raise BadValue("neat_config", path, "a text file") from None


def read_config(text: str, game: Game, population: int = 0) -> Any:
    """A `neat.Config` for this game; `population`, unless 0, overrides pop_size."""
    parser = configparser.ConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise BadValue("neat_config", str(error), "a configuration file in neat-python's format") from None
    ends = {"num_inputs": inputs_of(game), "num_outputs": game.info.actions}
    section = GENOME
    for name, expected in ends.items() if parser.has_section(section) else ():
        given = parser.get(section, name, fallback="game", raw=True)
        if given not in ("game", str(expected)):
            raise BadValue(f"neat_config.{name}", given, f"{expected}, as in {game.spec.name}")
        parser.set(section, name, str(expected))
    if parser.has_section(section):
        _check_genome_section(parser)
    if population == 1:
        raise BadValue("population", population, "at least 2")
    if population and parser.has_section("NEAT"):
        parser.set("NEAT", "pop_size", str(population))
    with tempfile.TemporaryDirectory(dir=private_folder()) as folder:
        place = Path(folder) / "neat_config.txt"
        with place.open("w", encoding="utf-8") as file:
            parser.write(file)
        kinds = (DefaultGenome, DefaultReproduction, DefaultSpeciesSet, neat.DefaultStagnation)
        try:
            config = neat.Config(*kinds, str(place))
        except Exception as error:  # neat-python reports errors by exceptions of many types
            text = " ".join((str(error) or type(error).__name__).split())
            raise RingsideError(f"neat_config is invalid, neat-python says: {text}") from None
    advice(text)
    config.seed = None  # neat-python would seed the global generator; the seed is a setting of the trainer instead
    _check_config(config)
    return config


def _check_config(config: Any) -> None:
    genome = config.genome_config
    for noun, offered, known in (
        ("activation", genome.activation_options, ACTIVATIONS),
        ("aggregation", genome.aggregation_options, AGGREGATIONS),
    ):
        for name in offered:
            if name not in known:
                raise UnknownName(f"{noun} function in neat_config", name, known)
    if not 2 <= config.pop_size <= MOST_GENOMES:
        raise BadValue("neat_config.pop_size", config.pop_size, f"from 2 to {MOST_GENOMES:,}")
    if not 0 <= genome.num_hidden <= MOST_HIDDEN:
        raise BadValue("neat_config.num_hidden", genome.num_hidden, f"from 0 to {MOST_HIDDEN:,}")
    for parts in (config, genome, config.species_set_config, config.stagnation_config, config.reproduction_config):
        for name, value in vars(parts).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise BadValue(f"neat_config.{name}", value, "finite")
            if name.endswith("_init_type") and not any(
                kind in value.lower() for kind in ("gauss", "normal", "uniform")
            ):
                raise BadValue(f"neat_config.{name}", value, "gaussian, normal or uniform")
    for name, value, offered in (  # neat-python checks these when it creates a population, or never
        ("species_fitness_func", config.stagnation_config.species_fitness_func, stat_functions),
        ("fitness_criterion", config.fitness_criterion, ("max", "min", "mean")),
    ):
        if value not in offered:
            raise BadValue(f"neat_config.{name}", value, f"one of {', '.join(offered)}")
    if max(config.reproduction_config.min_species_size, config.reproduction_config.elitism) < 1:
        raise BadValue("neat_config.min_species_size", config.reproduction_config.min_species_size, "at least 1")


def _check_genome_section(parser: configparser.ConfigParser) -> None:
    """Rejects what neat-python ignores, or reports without the name of the option."""
    genes = (*DefaultNodeGene.get_config_params(), *DefaultConnectionGene.get_config_params())
    known = [*GENOME_OPTIONS, *(gene.name for gene in genes)]
    for name in parser.options(GENOME):
        if name not in known and name not in parser.defaults():
            raise UnknownName(f"option in [{GENOME}] of neat_config", name, known)
    given = parser.get(GENOME, "initial_connection", fallback="unconnected", raw=True)
    kind, *share = given.split()
    if kind not in DefaultGenomeConfig.allowed_connectivity or len(share) != ("partial" in kind):
        offered = ", ".join(DefaultGenomeConfig.allowed_connectivity)
        raise BadValue(
            "neat_config.initial_connection",
            given,
            f"one of {offered}; partial ones with a share, such as partial_direct 0.5",
        )
    for gene in ("bias", "response", "weight"):
        low, high = (parser.get(GENOME, f"{gene}_{end}_value", fallback="0", raw=True) for end in ("min", "max"))
        with contextlib.suppress(ValueError):  # neat-python reports these
            if float(high) < float(low):
                raise BadValue(f"neat_config.{gene}_max_value", high, f"at least {gene}_min_value ({low})")


def advice(text: str) -> dict[str, str]:
    """Settings of the trainer for this game, from the section [Ringside] of a configuration file."""
    parser = configparser.ConfigParser()
    parser.read_string(text)
    found = dict(parser.items(SECTION, raw=True)) if parser.has_section(SECTION) else {}
    for name in found:
        if name not in ADVICE:
            raise UnknownName(f"setting in [{SECTION}] of neat_config", name, ADVICE)
    return found
