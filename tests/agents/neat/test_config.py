"""NEAT configurations: ours are valid, and errors in a file are named before training starts."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path

import pytest

from agents.neat.config import config_text, read_config
from agents.neat.evolution import Evolution
from agents.neat.genome import ACTIVATIONS, AGGREGATIONS
from engine.errors import BadValue, RingsideError, UnknownName
from engine.files import asset
from engine.game import Game
from engine.registry import new_game
from tests.agents.neat.sample_genomes import EVERYTHING, config_with, toy, worth


def refused(text: str) -> str:
    """The error message for this configuration."""
    with pytest.raises(RingsideError) as caught:
        Evolution(text, read_config(text, toy()), 1)
    return str(caught.value)


# Files


def test_a_game_has_the_configuration_that_comes_with_it_or_the_default(pong: Game) -> None:
    assert config_text("", pong) == asset("neat/pong.txt").read_text(encoding="utf-8")
    assert config_text("", new_game("tictactoe")) == asset("neat/default.txt").read_text(encoding="utf-8")
    assert asset("neat/missing.txt") is None


@pytest.mark.parametrize("name", ["pong", "treasure-hunt", "tictactoe", "bids"])
def test_our_configurations_fit_their_games(name: str) -> None:
    game = new_game(name)
    config = read_config(config_text("", game), game)
    assert config.genome_config.num_inputs == math.prod(game.info.observation)
    assert config.genome_config.num_outputs == game.info.actions
    evolution = Evolution("", config, 1)
    assert len(evolution.genomes) == config.pop_size
    evolution.advance({key: worth(key) for key in evolution.genomes})
    assert len(evolution.genomes) == config.pop_size


def test_a_path_names_a_custom_configuration(tmp_path: Path, pong: Game) -> None:
    place = tmp_path / "mine.txt"
    place.write_text("anything", encoding="utf-8")
    assert config_text(str(place), pong) == "anything"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, pong: Game) -> None:
    missing = tmp_path / "missing.txt"
    with pytest.raises(BadValue, match=r"neat_config = '.*missing\.txt'.*No such file"):
        config_text(str(missing), pong)
    with pytest.raises(BadValue, match=r"neat_config = .*must be a regular file"):
        config_text(str(tmp_path), pong)
    with pytest.raises(BadValue, match="neat_config"):
        config_text("a\0b", pong)
    with pytest.raises(BadValue, match="neat_config"):
        config_text("x" * 100_000, pong)


def test_a_binary_or_too_large_file_is_named(tmp_path: Path, pong: Game) -> None:
    place = tmp_path / "picture.txt"
    place.write_bytes(b"\xff\xfe\x00\x89PNG")
    with pytest.raises(BadValue, match=r"picture\.txt': must be a text file"):
        config_text(str(place), pong)
    place.write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(BadValue, match="at most 1,048,576 bytes"):
        config_text(str(place), pong)


# What stands in them


@pytest.mark.parametrize(
    "text", ["", "no configuration", "[NEAT", "[NEAT]\npop_size = 3\npop_size = 4", "\0", "[NEAT]\n"]
)
def test_an_invalid_configuration_is_refused(text: str) -> None:
    assert refused(text).startswith("neat_config ")


@pytest.mark.parametrize(
    "section", ["NEAT", "DefaultGenome", "DefaultSpeciesSet", "DefaultStagnation", "DefaultReproduction"]
)
def test_a_missing_section_is_named(section: str) -> None:
    assert section in refused(config_with().replace(f"[{section}]", "[Other]"))


@pytest.mark.parametrize(
    "option",
    ["pop_size", "reset_on_extinction", "conn_add_prob", "bias_init_mean", "feed_forward", "compatibility_threshold"],
)
def test_a_missing_option_is_named(option: str) -> None:
    assert option in refused(config_with(without=[option]))


@pytest.mark.parametrize("section", ["NEAT", "DefaultSpeciesSet", "DefaultStagnation", "DefaultReproduction"])
def test_an_unknown_option_is_named(section: str) -> None:
    assert "pop_sise" in refused(config_with().replace(f"[{section}]", f"[{section}]\npop_sise = 3"))


def test_an_unknown_option_of_genomes_is_named() -> None:
    text = config_with().replace("[DefaultGenome]", "[DefaultGenome]\nsingle_structural_mutaton = True")
    assert "single_structural_mutaton" in refused(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_inputs": 4}, "neat_config.num_inputs = '4': must be 3, as in toy"),
        ({"num_outputs": 3}, "neat_config.num_outputs = '3': must be 2, as in toy"),
        ({"num_inputs": "many"}, "neat_config.num_inputs = 'many'"),
        ({"pop_size": 1}, "neat_config.pop_size = 1: must be from 2 to 100,000"),
        ({"pop_size": 0}, "neat_config.pop_size = 0"),
        ({"pop_size": -3}, "neat_config.pop_size = -3"),
        ({"pop_size": "many"}, "many"),
        ({"feed_forward": "perhaps"}, "feed_forward"),
        ({"conn_add_prob": "often"}, "conn_add_prob"),
        ({"activation_default": "wizard"}, "wizard"),
        ({"enabled_default": "perhaps"}, "default"),
        ({"initial_connection": "partial_direct 2.0"}, "between 0.0 and 1.0"),
    ],
    ids=str,
)
def test_an_invalid_value_is_named(options: dict[str, object], words: str) -> None:
    assert words in refused(config_with(**options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"species_fitness_func": "wizard"}, "wizard"),
        ({"no_fitness_termination": False, "fitness_criterion": "wizard"}, "wizard"),
        ({"bias_init_type": "wizard"}, "wizard"),
        ({"initial_connection": "wizard"}, "wizard"),
        ({"initial_connection": "partial_direct"}, "partial_direct"),
        ({"bias_max_value": -100.0}, "bias_max_value"),
        ({"weight_init_stdev": "nan"}, "nan"),
        ({"min_species_size": 0, "elitism": 0}, "min_species_size"),
    ],
    ids=str,
)
def test_an_invalid_value_that_neat_python_ignores_is_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(RingsideError, match=words):
        read_config(config_with(**options), toy())


@pytest.mark.parametrize(("noun", "known"), [("activation", ACTIVATIONS), ("aggregation", AGGREGATIONS)])
def test_an_unknown_function_is_named(noun: str, known: tuple[str, ...]) -> None:
    text = config_with(**{f"{noun}_options": f"{known[0]} wizzard", f"{noun}_default": known[0]})
    with pytest.raises(UnknownName, match=f"unknown {noun} function in neat_config 'wizzard'"):
        read_config(text, toy())


def test_every_known_function_is_accepted() -> None:
    config = read_config(config_with(**EVERYTHING), toy())
    assert set(config.genome_config.activation_options) == set(ACTIVATIONS)
    assert set(config.genome_config.aggregation_options) == set(AGGREGATIONS)


def test_the_word_game_and_a_missing_option_mean_the_games_shape() -> None:
    for text in (config_with(num_inputs="game", num_outputs="game"), config_with(num_inputs=5, num_outputs=4)):
        config = read_config(text, toy(5, 4)).genome_config
        assert (config.num_inputs, config.num_outputs) == (5, 4)
    config = read_config(config_with(without=["num_inputs", "num_outputs"]), toy(6, 7)).genome_config
    assert (config.num_inputs, config.num_outputs) == (6, 7)


def test_the_population_setting_overrides_pop_size() -> None:
    assert read_config(config_with(), toy()).pop_size == 150
    assert read_config(config_with(), toy(), 33).pop_size == 33
    with pytest.raises(BadValue, match="population = 1"):
        read_config(config_with(), toy(), 1)


def test_reading_a_seed_does_not_touch_the_global_generator() -> None:
    before = random.getstate()
    config = read_config(config_with(seed=7), toy())
    evolution = Evolution("", config, 1)
    evolution.advance({key: worth(key) for key in evolution.genomes})
    assert config.seed is None
    assert random.getstate() == before


@pytest.mark.parametrize("options", [{"pop_size": 2}, {"pop_size": 12, "compatibility_threshold": 0.001}], ids=str)
def test_too_many_species_for_few_genomes_are_small(options: dict[str, object]) -> None:
    """neat-python alone raises an error here."""
    text = config_with(**options)
    config = read_config(text, toy())
    evolution = Evolution(text, config, 1)
    sizes = (config.reproduction_config.min_species_size, config.reproduction_config.elitism)
    for _ in range(5):
        evolution.advance({key: worth(key) for key in evolution.genomes})
        assert len(evolution.genomes) == options["pop_size"]
    assert (config.reproduction_config.min_species_size, config.reproduction_config.elitism) == sizes


def test_extinction_raises_without_reset_on_extinction() -> None:
    options = {"max_stagnation": 1, "species_elitism": 0, "compatibility_threshold": 1000.0}
    text = config_with(reset_on_extinction=False, **options)
    evolution = Evolution(text, read_config(text, toy()), 1)
    evolution.advance(dict.fromkeys(evolution.genomes, 1.0))
    fitness = dict.fromkeys(evolution.genomes, 1.0)  # no better than before
    with pytest.raises(RingsideError, match="all species died out, and neat_config has reset_on_extinction = False"):
        evolution.advance(fitness)


def test_a_pipe_is_refused_without_waiting(tmp_path: Path, pong: Game) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(BadValue, match="must be a regular file"):
        config_text(str(pipe), pong)
