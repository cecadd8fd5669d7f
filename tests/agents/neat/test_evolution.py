"""Generations can be repeated, taken apart and put together, and leave the program's own generator alone."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
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
from tests.agents.breeding import RESTLESS, all_of, bred, config_with, plain_config, seeded, toy, worth

SETTINGS = {**RESTLESS, "compatibility_threshold": 3.0, "pop_size": 24, "max_stagnation": 4}


@pytest.fixture(autouse=True)
def _the_programs_generator_is_left_alone() -> Iterator[None]:
    random.seed(4321)
    before = random.getstate()
    yield
    assert random.getstate() == before


def begun(seed: int = 1, feed_forward: bool = True, ancestor: Genome | None = None, **options: object) -> Evolution:
    text = config_with(**{**SETTINGS, "feed_forward": feed_forward, **options})
    return Evolution(text, read_config(text, toy()), seed, ancestor)


def advance(evolution: Evolution, generations: int = 1, judge: Callable[..., float] = worth) -> None:
    for _ in range(generations):
        evolution.advance({key: judge(key, evolution.generation) for key in evolution.genomes})


def population(evolution: Evolution) -> list[tuple[int, Genome, tuple[int, ...]]]:
    return [(key, evolution.genome(key), evolution.parents(key)) for key in evolution.genomes]


def test_a_population_of_many_small_species_goes_on() -> None:
    """neat-python itself gives up when a pass over the larger species does not free enough places."""
    evolution = begun(compatibility_threshold=0.05, pop_size=60, max_stagnation=50, min_species_size=2)
    for _ in range(4):
        fitness = {key: float(place > 50) for place, key in enumerate(evolution.genomes)}
        evolution.advance(fitness)
        assert len(evolution.genomes) == 60
    assert evolution.species > 20


def history(evolution: Evolution, generations: int) -> list[Any]:
    """All that can be seen of some generations."""
    found = []
    for _ in range(generations):
        found.append((evolution.generation, evolution.species, population(evolution)))
        advance(evolution)
    return [*found, population(evolution)]


def moved(evolution: Evolution) -> Evolution:
    """By way of a checkpoint."""
    text = codec.dump(evolution.state())
    state = codec.load(EvolutionState, text)
    assert codec.dump(state) == text
    return Evolution.of(state, read_config(state.config, toy()))


# Repeating


@pytest.mark.parametrize("feed_forward", [True, False])
def test_the_same_seed_gives_the_same_generations_and_another_one_others(feed_forward: bool) -> None:
    one, same, other = (history(begun(seed, feed_forward), 6) for seed in (5, 5, 6))
    assert one == same
    assert one != other


def test_the_programs_own_generator_has_no_influence() -> None:
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


def test_two_evolutions_side_by_side_do_not_disturb_each_other() -> None:
    alone = [population(each) for each in (begun(1), begun(2))]
    one, other = begun(1), begun(2)
    assert [population(one), population(other)] == alone
    for _ in range(4):
        advance(one)
        advance(other)
    again = begun(2)
    advance(again, 4)
    assert population(other) == population(again)


def test_a_seed_in_the_file_is_not_used_and_touches_nothing() -> None:
    text = config_with(**SETTINGS, seed=7)
    found = [history(Evolution(text, read_config(text, toy()), seed), 2) for seed in (1, 2)]
    assert found[0] != found[1]
    assert found[0] == history(begun(1), 2)


def test_it_evolves_as_neat_python_alone_would() -> None:
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
def test_put_together_again_it_goes_on_as_if_never_taken_apart(feed_forward: bool, seed: int) -> None:
    whole = history(begun(seed, feed_forward), 8)
    evolution = begun(seed, feed_forward)
    for generation in range(8):
        evolution = moved(evolution)
        assert (evolution.generation, evolution.species, population(evolution)) == whole[generation]
        advance(evolution)
    assert population(evolution) == whole[-1]


def test_taking_it_apart_changes_nothing() -> None:
    one, other = begun(4), begun(4)
    for _ in range(4):
        assert codec.dump(one.state()) == codec.dump(one.state())
        advance(one)
        advance(other)
    assert population(one) == population(other)


def test_a_state_outlives_what_came_after_it() -> None:
    evolution = begun(2)
    advance(evolution, 2)
    state = evolution.state()
    first = history(evolution, 3)
    assert history(Evolution.of(state, read_config(state.config, toy())), 3) == first


def test_after_all_died_out_it_goes_on_the_same_too() -> None:
    dying = {"max_stagnation": 1, "species_elitism": 0, "pop_size": 12}
    one, other = begun(3, **dying), begun(3, **dying)
    ends = []
    for _ in range(8):
        other = moved(other)
        alive = [each.advance(dict.fromkeys(each.genomes, 1.0)) for each in (one, other)]
        assert alive[0] == alive[1]
        assert len(one.genomes) == 12
        assert population(one) == population(other)
        ends.append(alive[0])
    assert False in ends
    assert True in ends


def test_the_last_half_of_a_pair_of_normal_numbers_is_kept() -> None:
    """random.gauss draws two and keeps one: a state without it would go on otherwise."""
    kept = []
    for seed in range(6):
        evolution = begun(seed, pop_size=25, initial_connection="partial_direct 0.5")  # an odd number, now and then
        kept.append(evolution.state().gauss)
        again = moved(evolution)
        advance(evolution)
        advance(again)
        assert population(evolution) == population(again)
    assert any(one is not None for one in kept)


# States from somebody else


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
    return Evolution.of(state, read_config(state.config, toy()))


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


def test_a_state_with_a_genome_of_nothing_is_refused() -> None:
    changes = {f"individuals__0__genome__{name}": [] for name in (*genomes.NODES, *genomes.CONNECTIONS)}
    assert refuse(hostile(**changes, individuals__0__genome__outputs=0))


def test_a_state_that_would_give_a_node_number_twice_is_refused() -> None:
    assert refuse(hostile(next_node=None))


# Descending from somebody


def ancestor(feed_forward: bool = True) -> Genome:
    return max(all_of(bred(feed_forward, generations=10)), key=lambda one: len(one.key))


@pytest.mark.parametrize("feed_forward", [True, False])
def test_descendants_begin_with_the_ancestor_itself_and_copies_that_differ(feed_forward: bool) -> None:
    old = ancestor(feed_forward)
    evolution = begun(1, feed_forward, old)
    first, *others = [genome for _, genome, _ in population(evolution)]
    assert first == old
    assert len(others) == 23
    assert all(one != old for one in others)
    assert max(key for one in others for key in one.key) > max(old.key), "new nodes have numbers of their own"
    assert history(begun(1, feed_forward, old), 4) == history(begun(1, feed_forward, old), 4)
    assert population(moved(begun(1, feed_forward, old))) == population(evolution)
    advance(evolution, 4)
    assert history(moved(evolution), 2) == history(evolution, 2)


def test_an_ancestor_of_another_kind_is_refused() -> None:
    with pytest.raises(RingsideError, match="feed-forward as in neat_config, and it is recurrent"):
        begun(1, True, ancestor(False))


@pytest.mark.parametrize("changes", [{"inputs": 4}, {"outputs": 1}], ids=str)
def test_an_ancestor_of_another_shape_is_refused_by_name(changes: dict[str, int]) -> None:
    other = replace(ancestor(), **changes)
    genomes.check(other)
    with pytest.raises(RingsideError, match="ancestor"):
        begun(1, True, other)
