"""Evolution is repeatable, can be saved and restored, and does not touch the global random generator."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import neat
import pytest

from agents.neat import genome as genomes
from agents.neat.config import read_config
from agents.neat.evolution import Evolution, EvolutionState
from agents.neat.genome import Genome
from engine import codec
from engine.errors import RingsideError
from tests.agents.neat.sample_genomes import RESTLESS, all_of, bred, config_with, plain_config, seeded, toy, worth

SETTINGS = {**RESTLESS, "compatibility_threshold": 3.0, "pop_size": 24, "max_stagnation": 4}


@pytest.fixture(autouse=True)
def _the_programs_generator_is_left_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared right after the test, because plug-ins such as pytest-randomly seed it before fixtures are torn down."""
    test = request.function

    @functools.wraps(test)
    def checked(**arguments: object) -> None:
        random.seed(4321)
        before = random.getstate()
        test(**arguments)
        assert random.getstate() == before

    monkeypatch.setattr(request.node, "obj", checked)


def begun(seed: int = 1, feed_forward: bool = True, ancestor: Genome | None = None, **options: object) -> Evolution:
    text = config_with(**{**SETTINGS, "feed_forward": feed_forward, **options})
    return Evolution(text, read_config(text, toy()), seed, ancestor)


def advance(evolution: Evolution, generations: int = 1, judge: Callable[..., float] = worth) -> None:
    for _ in range(generations):
        evolution.advance({key: judge(key, evolution.generation) for key in evolution.genomes})


def population(evolution: Evolution) -> list[tuple[int, Genome, tuple[int, ...]]]:
    return [(key, evolution.genome(key), evolution.parents(key)) for key in evolution.genomes]


def test_a_population_of_many_small_species_continues() -> None:
    """neat-python alone raises an error if one pass over the larger species does not free enough places."""
    evolution = begun(compatibility_threshold=0.05, pop_size=60, max_stagnation=50, min_species_size=2)
    for _ in range(4):
        fitness = {key: float(place > 50) for place, key in enumerate(evolution.genomes)}
        evolution.advance(fitness)
        assert len(evolution.genomes) == 60
    assert evolution.species > 20


def history(evolution: Evolution, generations: int) -> list[Any]:
    """All observable state over some generations."""
    found = []
    for _ in range(generations):
        found.append((evolution.generation, evolution.species, population(evolution)))
        advance(evolution)
    return [*found, population(evolution)]


def moved(evolution: Evolution) -> Evolution:
    """Saved and restored."""
    text = codec.dump(evolution.state())
    state = codec.load(EvolutionState, text)
    assert codec.dump(state) == text
    return Evolution.from_state(state, read_config(state.config, toy()))


# Repeating


@pytest.mark.parametrize("feed_forward", [True, False])
def test_the_seed_determines_the_generations(feed_forward: bool) -> None:
    first, same, other = (history(begun(seed, feed_forward), 6) for seed in (5, 5, 6))
    assert first == same
    assert first != other


def test_the_global_generator_has_no_influence() -> None:
    first = history(begun(3), 4)
    random.seed(99)
    evolution = begun(3)
    found = []
    for _ in range(4):
        found.append((evolution.generation, evolution.species, population(evolution)))
        random.random()
        advance(evolution)
    random.seed(4321)
    assert [*found, population(evolution)] == first


def test_two_interleaved_evolutions_are_independent() -> None:
    alone = [population(each) for each in (begun(1), begun(2))]
    evolution, other = begun(1), begun(2)
    assert [population(evolution), population(other)] == alone
    for _ in range(4):
        advance(evolution)
        advance(other)
    again = begun(2)
    advance(again, 4)
    assert population(other) == population(again)


def test_a_seed_in_the_file_is_ignored() -> None:
    text = config_with(**SETTINGS, seed=7)
    found = [history(Evolution(text, read_config(text, toy()), seed), 2) for seed in (1, 2)]
    assert found[0] != found[1]
    assert found[0] == history(begun(1), 2)


def test_evolution_equals_neat_pythons_own_loop() -> None:
    """Its own loop, on the global generator, with the same seed."""
    text = config_with(**{**SETTINGS, "num_inputs": 3, "num_outputs": 2})
    config = plain_config(text)

    def judge(members: list[tuple[int, Any]], config: Any) -> None:
        for key, genome in members:
            genome.fitness = worth(key)

    with seeded(8):
        alone = neat.Population(config)
        alone.run(judge, 6)
    evolution = Evolution(text, read_config(text, toy()), 8)
    advance(evolution, 6, lambda key, generation: worth(key))
    assert [genome for _, genome, _ in population(evolution)] == all_of(alone)
    assert list(evolution.genomes) == list(alone.population)
    assert evolution.species == len(alone.species.species)


def test_parents_are_known_for_this_generation() -> None:
    evolution = begun()
    assert {evolution.parents(key) for key in evolution.genomes} == {()}
    before = set(evolution.genomes)
    advance(evolution)
    born = [key for key in evolution.genomes if key not in before]
    assert born
    for key in born:
        assert len(evolution.parents(key)) == 2
        assert set(evolution.parents(key)) <= before


# Taking apart and putting together


@pytest.mark.parametrize("feed_forward", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_restored_evolution_continues_identically(feed_forward: bool, seed: int) -> None:
    whole = history(begun(seed, feed_forward), 8)
    evolution = begun(seed, feed_forward)
    for generation in range(8):
        evolution = moved(evolution)
        assert (evolution.generation, evolution.species, population(evolution)) == whole[generation]
        advance(evolution)
    assert population(evolution) == whole[-1]


def test_reading_the_state_changes_nothing() -> None:
    evolution, other = begun(4), begun(4)
    for _ in range(4):
        assert codec.dump(evolution.state()) == codec.dump(evolution.state())
        advance(evolution)
        advance(other)
    assert population(evolution) == population(other)


def test_a_state_is_independent_of_later_generations() -> None:
    evolution = begun(2)
    advance(evolution, 2)
    state = evolution.state()
    first = history(evolution, 3)
    assert history(Evolution.from_state(state, read_config(state.config, toy())), 3) == first


def test_evolution_is_repeatable_after_extinction() -> None:
    dying = {"max_stagnation": 1, "species_elitism": 0, "pop_size": 12}
    evolution, other = begun(3, **dying), begun(3, **dying)
    ends = []
    for _ in range(8):
        other = moved(other)
        alive = [each.advance(dict.fromkeys(each.genomes, 1.0)) for each in (evolution, other)]
        assert alive[0] == alive[1]
        assert len(evolution.genomes) == 12
        assert population(evolution) == population(other)
        ends.append(alive[0])
    assert False in ends
    assert True in ends


def test_the_second_of_a_pair_of_normal_numbers_is_stored() -> None:
    """random.gauss draws two numbers and stores one: without it a restored state would differ."""
    kept = []
    for seed in range(6):
        evolution = begun(seed, pop_size=25, initial_connection="partial_direct 0.5")  # an odd number, now and then
        kept.append(evolution.state().gauss)
        again = moved(evolution)
        advance(evolution)
        advance(again)
        assert population(evolution) == population(again)
    assert any(gauss is not None for gauss in kept)


# Invalid states


def hostile(**changes: object) -> str:
    """A checkpoint's text in which something else stands; "individuals.0.key" goes deeper."""
    evolution = begun(1)
    advance(evolution, 3)
    raw = json.loads(codec.dump(evolution.state()))
    for name, value in changes.items():
        *above, last = (int(step) if step.isdigit() else step for step in name.split("__"))
        place = raw
        for step in above:
            place = place[step]
        place[last] = value(place[last]) if callable(value) else value
    return json.dumps(raw)


def taken_up(text: str) -> Evolution:
    state = codec.load(EvolutionState, text)
    return Evolution.from_state(state, read_config(state.config, toy()))


def refuse(text: str) -> str:
    with pytest.raises(RingsideError) as caught:
        taken_up(text)
    return str(caught.value)


def test_an_unchanged_state_is_accepted() -> None:
    assert taken_up(hostile()).generation == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"generation": -1},
        {"generation": "3"},
        {"individuals": []},
        {"individuals": lambda old: old[:-1]},
        {"individuals": lambda old: [*old, old[0]]},
        {"individuals__0__key": 10**6},
        {"individuals__0__key": 1.5},
        {"individuals__0__genome__inputs": 4},
        {"individuals__0__genome__feed_forward": False},
        {"individuals__0__genome__activation__0": "wizard"},
        {"individuals__0__genome__key__0": 77},
        {"individuals__0__genome__key__1": -1},
        {"species": []},
        {"species": lambda old: [*old, old[0]]},
        {"species__0__members": lambda old: old[1:]},
        {"species__0__representative": 10**6},
        {"species__0__key": 10**6},
        {"next_genome": 1},
        {"next_node": 0},
        {"next_species": 0},
        {"innovation": 0},
        {"words": []},
        {"words": lambda old: old[:-1]},
        {"words__0": -1},
        {"words__7": 2**32},
        {"words__624": 625},
        {"words__624": -1},
        {"gauss": "x"},
        {"config": ""},
        {"config": "[NEAT]\npop_size = 3"},
        {"config": lambda old: old.replace("feed_forward = True", "feed_forward = False")},
        {"pickle": "x"},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_a_hostile_state_is_refused(changes: dict[str, object]) -> None:
    assert refuse(hostile(**changes))


LENGTHS = "genomes.check() trusts that columns have one length: ValueError or IndexError instead of a refusal"


@pytest.mark.parametrize("column", ["bias", "activation", "target", "enabled", "weight", "innovation"])
def test_a_state_with_columns_of_several_lengths_is_refused(column: str) -> None:
    assert refuse(hostile(**{f"individuals__0__genome__{column}": lambda old: old[:-1]}))


def test_a_state_with_an_empty_genome_is_refused() -> None:
    changes = {f"individuals__0__genome__{name}": [] for name in (*genomes.NODES, *genomes.CONNECTIONS)}
    assert refuse(hostile(**changes, individuals__0__genome__outputs=0))


def test_a_state_that_would_reuse_a_node_key_is_refused() -> None:
    assert refuse(hostile(next_node=None))


# Starting from a genome


def ancestor(feed_forward: bool = True) -> Genome:
    return max(all_of(bred(feed_forward, generations=10)), key=lambda genome: len(genome.key))


@pytest.mark.parametrize("feed_forward", [True, False])
def test_the_first_generation_has_the_ancestor_and_mutated_copies(feed_forward: bool) -> None:
    old = ancestor(feed_forward)
    evolution = begun(1, feed_forward, old)
    first, *others = [genome for _, genome, _ in population(evolution)]
    assert first == old
    assert len(others) == 23
    assert all(genome != old for genome in others)
    assert max(key for genome in others for key in genome.key) > max(old.key), "new nodes have numbers of their own"
    assert history(begun(1, feed_forward, old), 4) == history(begun(1, feed_forward, old), 4)
    assert population(moved(begun(1, feed_forward, old))) == population(evolution)
    advance(evolution, 4)
    assert history(moved(evolution), 2) == history(evolution, 2)


def test_an_ancestor_of_another_kind_is_refused() -> None:
    with pytest.raises(RingsideError, match="feed-forward as in neat_config, but it is recurrent"):
        begun(1, True, ancestor(False))


@pytest.mark.parametrize("changes", [{"inputs": 4}, {"outputs": 1}], ids=str)
def test_an_ancestor_of_another_shape_is_refused_by_name(changes: dict[str, int]) -> None:
    other = replace(ancestor(), **changes)
    genomes.check(other)
    with pytest.raises(RingsideError, match="ancestor"):
        begun(1, True, other)
