"""The search: who is trained, kept and bred, when it ends, and that nothing depends on the order of outcomes."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agents.training.hybrid.distance import mean_distance
from agents.training.hybrid.draws import Draws
from agents.training.hybrid.genome import ConvGene, DenseGene, Genome
from agents.training.hybrid.individuals import COLUMNS, population_of
from agents.training.hybrid.members import Candidate, Generation, Member
from agents.training.hybrid.outcome import LearningPlan, Outcome
from agents.training.hybrid.search import CONVERGED, MAX_GENERATIONS, TARGET, Search
from agents.training.hybrid.search_settings import SearchSettings
from agents.training.hybrid.selection import Pool, elite, mutation_rate, pools
from agents.training.hybrid.variation import random_genome
from engine.errors import BadValue, RingsideError
from tests.agents.training.hybrid.hidden_target import (
    OUTPUTS,
    SHAPE,
    HiddenTarget,
    new_search,
    outcome_of,
    run,
    tensors_of,
)


def without_times(generation: Generation) -> Generation:
    return replace(generation, seconds=0.0)


def results_of(search: Search) -> object:
    """All that a search found, but the times."""
    best = search.best
    return (
        [(member.number, member.candidate, member.outcome) for member in search.individuals],
        [member.number for member in search.members],
        [without_times(generation) for generation in search.history],
        best.outcome if best else None,
    )


# A whole search


def test_a_search_finds_better_genomes_than_its_first_generation_and_than_random_ones() -> None:
    gains, against_random = [], []
    for seed in range(1, 6):
        search = run(new_search(seed, population_size=12, max_generations=12, search_patience=0))
        drawn = run(new_search(seed, population_size=search.trained, max_generations=1))
        assert search.best is not None
        assert drawn.best is not None
        assert drawn.trained == search.trained
        best = search.best.fitness or 0.0
        gains.append(best - search.history[0].best)
        against_random.append(best - (drawn.best.fitness or 0.0))
    assert min(gains) > 0.05
    assert statistics.mean(against_random) > 0.05


@pytest.mark.parametrize("selection", ["species", "novelty"])
def test_a_search_that_keeps_its_population_diverse_improves_too(selection: str) -> None:
    search = run(new_search(2, population_size=12, max_generations=10, search_patience=0, selection=selection))
    assert search.history[-1].best > search.history[0].best + 0.03


def test_the_first_generation_has_different_genomes() -> None:
    search = new_search(population_size=300)
    assert len({member.genome for member in search.members}) == 300
    assert search.pending() == [member.genome for member in search.members]


def test_the_same_seed_gives_the_same_search_and_another_one_another() -> None:
    first, same, other = (run(new_search(seed, max_generations=4)) for seed in (1, 1, 2))
    assert results_of(first) == results_of(same)
    assert {member.genome for member in first.individuals}.isdisjoint({member.genome for member in other.individuals})


@pytest.mark.parametrize("selection", ["fitness", "species", "novelty"])
def test_the_order_of_outcomes_makes_no_difference(selection: str) -> None:
    def failing(genome: Genome) -> bool:
        return genome.key[0] in "012"

    def shuffled(genomes: Sequence[Genome]) -> Sequence[Genome]:
        return random.Random(len(genomes)).sample(genomes, len(genomes))

    expected = run(new_search(3, max_generations=5, selection=selection), HiddenTarget(failing))
    for order in (shuffled, lambda genomes: genomes[::-1]):
        search = run(new_search(3, max_generations=5, selection=selection), HiddenTarget(failing, order))
        assert results_of(search) == results_of(expected)
        assert search.save() == expected.save()


# Outcomes


def test_an_outcome_that_nobody_waits_for_is_refused() -> None:
    search = new_search()
    first = search.pending()[0]
    search.tell(outcome_of(first))
    with pytest.raises(BadValue, match="no outcome yet"):
        search.tell(outcome_of(first))
    with pytest.raises(BadValue, match="no outcome yet"):
        search.tell(outcome_of(random_genome(search.space, Draws("another"))))
    assert first not in search.pending()


@pytest.mark.parametrize(
    "wrong",
    [{"fitness": float("nan")}, {"fitness": 1.1}, {"fitness": -0.1}, {"loss": float("inf")}, {"seconds": -1.0}],
)
def test_impossible_numbers_are_refused(wrong: dict[str, float]) -> None:
    search = new_search()
    good = outcome_of(search.pending()[0])
    with pytest.raises(BadValue, match=next(iter(wrong))):
        search.tell(replace(good, **wrong))  # type: ignore[arg-type]
    search.tell(good)


def test_a_generation_is_completed_only_when_all_outcomes_are_known() -> None:
    search = new_search()
    search.tell(outcome_of(search.pending()[0]))
    with pytest.raises(RingsideError, match="9 models have no outcome yet"):
        search.advance()
    run(search)
    with pytest.raises(RingsideError, match="no generation is in progress"):
        search.advance()
    assert search.pending() == []


def test_only_the_best_model_keeps_its_tensors() -> None:
    search = run(new_search(max_generations=3))
    best = search.best
    assert best is not None
    assert best.outcome is not None
    assert best.outcome.tensors == tensors_of(best.genome)
    kept = {member.genome for member in search.individuals if member.outcome and member.outcome.tensors}
    assert kept == {best.genome}
    assert best.fitness == max(member.fitness or 0.0 for member in search.individuals)


def test_the_first_of_equally_good_models_is_the_best() -> None:
    def equal(genomes: Sequence[Genome]) -> Search:
        search = new_search(population_size=6)
        for genome in genomes:
            search.tell(replace(outcome_of(genome), fitness=0.5, loss=1.0))
        return search

    pending = new_search(population_size=6).pending()
    for order in (pending, pending[::-1]):
        best = equal(order).best
        assert best is not None
        assert best.number == 1
        assert best.outcome is not None
        assert best.outcome.tensors == tensors_of(pending[0])


def test_a_smaller_loss_decides_between_equal_shares() -> None:
    search = new_search(population_size=2)
    first, second = search.pending()
    search.tell(replace(outcome_of(first), fitness=0.5, loss=1.0))
    search.tell(replace(outcome_of(second), fitness=0.5, loss=0.9))
    assert search.best is not None
    assert search.best.number == 2


# The elite, and genomes that were met before


def test_the_elite_is_kept_and_not_trained_again() -> None:
    evaluator = HiddenTarget()
    search = run(new_search(max_generations=6, search_patience=0), evaluator)
    assert len(evaluator.trained) == len(set(evaluator.trained)) == search.trained
    assert [generation.evaluated for generation in search.history] == [10] + [8] * 5
    assert [generation.cached for generation in search.history] == [0] + [2] * 5
    assert [generation.best for generation in search.history] == sorted(
        generation.best for generation in search.history
    )


def test_members_of_the_elite_keep_their_numbers_and_parents() -> None:
    search = new_search()
    for genome in search.pending():
        search.tell(outcome_of(genome))
    search.advance()
    best = sorted(search.members, key=lambda member: member.standing)[:2]
    search.pending()
    kept, children = search.members[:2], search.members[2:]
    assert [member.number for member in kept] == [member.number for member in best]
    assert [member.candidate.generation for member in kept] == [1, 1]
    assert [member.number for member in children] == list(range(11, 19))
    assert all(member.candidate.parents and member.candidate.generation == 2 for member in children)


def test_a_genome_that_was_met_before_is_not_trained_again() -> None:
    """Children are mutated until they are new, so a known one is put among them here."""
    search = new_search(population_size=5, max_generations=2)
    for genome in search.pending():
        search.tell(outcome_of(genome))
    search.advance()
    search.pending()
    *candidates, last = search._progress.candidates
    known = search.individuals[4].genome
    search._progress = replace(search._progress, candidates=(*candidates, replace(last, genome=known)))
    evaluator = HiddenTarget()
    assert len(search.pending()) == 3
    run(search, evaluator)
    assert known not in evaluator.trained
    assert len(evaluator.trained) == 3
    assert search.members[-1].outcome is not None
    assert search.members[-1].fitness == outcome_of(known).fitness
    assert (search.history[1].evaluated, search.history[1].cached) == (3, 2)
    assert Search.load(search.save()).save() == search.save()


def test_equal_genomes_of_a_generation_are_trained_once() -> None:
    search = new_search(population_size=4, max_generations=1)
    first, _, *others = search._progress.candidates
    search._progress = replace(search._progress, candidates=(first, first, *others))
    evaluator = HiddenTarget()
    run(search, evaluator)
    assert evaluator.trained == [first.genome, *(candidate.genome for candidate in others)]
    assert (search.history[0].evaluated, search.history[0].cached) == (3, 1)
    assert search.members[1].fitness == search.members[0].fitness


def test_children_are_genomes_that_were_not_tried_before() -> None:
    search = run(new_search(max_generations=30, search_patience=0, population_size=20))
    genomes = [member.genome for member in search.individuals]
    assert len(set(genomes)) == len(genomes) == 20 + 29 * 16


# Failures


def test_a_failed_model_is_no_parent_and_not_trained_again() -> None:
    def failing(genome: Genome) -> bool:
        return genome.key[0] in "01234567"

    evaluator = HiddenTarget(failing)
    search = run(new_search(4, population_size=12, max_generations=6, search_patience=0), evaluator)
    failed = {member.number for member in search.individuals if failing(member.genome)}
    assert sum(generation.failed for generation in search.history) == len(failed) > 10
    assert not failed & {number for member in search.individuals for number in member.candidate.parents}
    assert len(evaluator.trained) == len(set(evaluator.trained))
    for member in search.individuals:
        assert (member.fitness is None) == (member.number in failed)
        assert member.outcome is not None
        assert member.outcome.error == ("its loss was not finite" if member.number in failed else "")
    assert search.history[0].worst > 0.0, "failed models do not count as fitness 0"


def test_an_error_says_that_all_models_failed_and_why() -> None:
    search = new_search()
    with pytest.raises(RingsideError, match=r"all 10 models of generation 1 failed.*its loss was not finite"):
        run(search, HiddenTarget(lambda genome: True))
    again = Search.load(search.save())
    assert again.best is None
    with pytest.raises(RingsideError, match="all 10 models"):
        run(again)


def test_a_search_continues_from_the_only_model_that_did_not_fail() -> None:
    search = new_search(5, max_generations=3, search_patience=0)
    alive = search.pending()[7]
    run(search, HiddenTarget(lambda genome: genome != alive and genome.key[0] in "0123"))
    for member in search.individuals[10:]:
        assert member.candidate.parents


# Ends


def test_a_search_ends_at_its_last_generation() -> None:
    search = run(new_search(max_generations=3, search_patience=0))
    assert (search.end_reason(), search.generation) == (MAX_GENERATIONS, 3)


def test_a_search_ends_when_nothing_improves() -> None:
    class Equal(HiddenTarget):
        def evaluate(self, genomes, stop):  # type: ignore[no-untyped-def]
            for outcome in super().evaluate(genomes, stop):
                yield replace(outcome, fitness=0.5)

    search = run(new_search(max_generations=50, search_patience=4), Equal())
    assert (search.end_reason(), search.generation) == (CONVERGED, 5)


def test_a_search_ends_at_its_target() -> None:
    search = run(new_search(max_generations=50, search_patience=0, target_fitness=0.7))
    assert search.end_reason() == TARGET
    assert search.history[-1].best >= 0.7 > search.history[-2].best


def test_a_search_that_has_ended_goes_on_with_more_generations() -> None:
    whole = run(new_search(max_generations=5, search_patience=0))
    short = run(new_search(max_generations=2, search_patience=0))
    longer = Search.load(short.save(), replace(short.settings, max_generations=5))
    assert longer.end_reason() is None
    assert results_of(run(longer)) == results_of(whole)


# Selection and adaptive mutation


def member(number: int, fitness: float | None, genome: Genome | None = None) -> Member:
    genome = genome or Genome((), (DenseGene(3 + number),))
    return Member(number, Candidate(genome, 1), Outcome(genome.key, 1, fitness, error="" if fitness else "failed"))


def test_the_mutation_rate_rises_as_the_population_becomes_alike() -> None:
    settings, first = SearchSettings(), (0.2, 0.5)
    assert mutation_rate(settings, 0.2, 0.5, first) == pytest.approx(0.10)
    assert mutation_rate(settings, 0.9, 0.9, first) == pytest.approx(0.10)
    assert mutation_rate(settings, 0.0, 0.0, first) == pytest.approx(0.80)
    assert mutation_rate(settings, 0.1, 0.0, first) == pytest.approx(0.10 + 0.70 / 2)
    assert mutation_rate(settings, 0.0, 0.25, first) == pytest.approx(0.10 + 0.70 / 2)
    assert mutation_rate(settings, 0.1, 0.4, first) == pytest.approx(0.10 + 0.70 * 0.2)
    assert mutation_rate(settings, 0.3, 0.3, (0.0, 0.0)) == pytest.approx(0.80)
    fixed = SearchSettings(mutation_rate_min=0.3, mutation_rate_max=0.3)
    assert mutation_rate(fixed, 0.0, 0.0, first) == pytest.approx(0.3)


def test_a_generation_reports_its_spread_diversity_and_rate() -> None:
    search = new_search(6)
    for genome in search.pending():
        search.tell(outcome_of(genome))
    generation = search.advance()
    values = [member.fitness or 0.0 for member in search.members]
    assert generation.mean == pytest.approx(statistics.mean(values))
    assert generation.spread == pytest.approx(statistics.pstdev(values))
    assert generation.diversity == pytest.approx(mean_distance([member.genome for member in search.members]))
    assert (generation.best, generation.worst) == (max(values), min(values))
    assert generation.mutation_rate == pytest.approx(0.10), "the first generation is as spread as itself"
    assert generation.seconds == pytest.approx(5.0)
    assert search.best is not None
    assert generation.parameters == search.best.genome.parameters(SHAPE, OUTPUTS)


def test_a_tournament_prefers_better_members() -> None:
    members = tuple(member(number, 1.0 - number / 20) for number in range(1, 11))

    def mean_place(size: int) -> float:
        pool = Pool(members, 0)
        return statistics.mean(pool.pick(size, Draws(size, index)).number for index in range(1000))

    assert 5.2 < mean_place(1) < 5.8
    assert mean_place(1) > mean_place(3) + 1 > mean_place(10) + 2


def test_the_elite_has_different_genomes() -> None:
    same = Genome((), (DenseGene(9),))
    members = [member(1, 0.9, same), member(2, 0.8, same), member(3, 0.7), member(4, 0.6)]
    kept = elite(members, [Pool(tuple(members), 0)], 3)
    assert [member.number for member in kept] == [1, 3, 4]
    assert [member.number for member in elite(members, [Pool(tuple(members), 0)], 10)] == [1, 3, 4]


def test_species_are_of_similar_genomes_and_share_their_fitness() -> None:
    dense = [Genome((), (DenseGene(width),)) for width in (16, 24, 32, 48, 64, 96)]
    convs = [Genome((ConvGene(channels), ConvGene(channels)), ()) for channels in (16, 24)]
    members = [member(k + 1, 0.9 - k / 100, genome) for k, genome in enumerate([*dense, *convs])]
    settings = SearchSettings(selection="species", species_count=2)
    first, second = pools(members, [], 9, settings)
    assert [member.number for member in first.members] == [1, 2, 3, 4, 5, 6]
    assert [member.number for member in second.members] == [7, 8]
    assert first.children + second.children == 9
    assert 0 < second.children < first.children
    kept = elite(members, [first, second], 2)
    assert [member.number for member in kept] == [1, 7], "the best of each species is kept"
    equal = [replace(member, outcome=replace(member.outcome, fitness=0.5)) for member in members if member.outcome]
    assert [pool.children for pool in pools(equal, [], 8, settings)] == [4, 4], "whatever their size"


def test_there_are_at_most_so_many_species() -> None:
    members = [member(k, 0.5, random_genome(new_search().space, Draws(k))) for k in range(1, 31)]
    for most in (1, 3, 7):
        found = pools(members, [], 24, SearchSettings(selection="species", species_count=most))
        assert 1 <= len(found) <= most
        assert sum(pool.children for pool in found) == 24
        assert sorted(member.number for pool in found for member in pool.members) == list(range(1, 31))


def test_parents_of_one_species_are_of_the_same_species() -> None:
    search = new_search(7, population_size=16, selection="species", species_count=3, max_generations=2)
    for genome in search.pending():
        search.tell(outcome_of(genome))
    search.advance()
    alive = sorted(search.members, key=lambda member: member.standing)
    found = pools(alive, [], 13, search.settings)
    assert search.history[0].species == len(found) > 1
    species = {member.number: k for k, pool in enumerate(found) for member in pool.members}
    search.pending()
    children = [member for member in search.members if member.candidate.generation == 2]
    assert any(len(member.candidate.parents) == 2 for member in children)
    assert all(len({species[number] for number in member.candidate.parents}) == 1 for member in children)


def test_novelty_prefers_unusual_genomes() -> None:
    usual = [Genome((), (DenseGene(width),)) for width in (16, 24, 32, 48, 64, 96)]
    unusual = Genome((ConvGene(8, 7, 2, "tanh", True),) * 3, (), 0.5, "sgd", 0.3, 1e-2)
    genomes = [*usual, unusual]
    members = [member(k + 1, 0.9 - k / 100, genome) for k, genome in enumerate(genomes)]
    [only] = pools(members, genomes, 5, SearchSettings(selection="novelty", novelty_weight=1.0))
    assert only.members[0].genome == unusual
    [none] = pools(members, genomes, 5, SearchSettings(selection="novelty", novelty_weight=0.0))
    assert [member.number for member in none.members] == [1, 2, 3, 4, 5, 6, 7]


# Settings


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("population_size", {"population_size": 1}),
        ("elite_share", {"elite_share": 0.95}),
        ("mutation_rate_min", {"mutation_rate_min": 0.9}),
        ("max_generations", {"population_size": 1000, "max_generations": 51}),
        ("selection", {"selection": "luck"}),
        ("target_fitness", {"target_fitness": 97.0}),
        ("seed", {"seed": 1.0}),
    ],
)
def test_wrong_settings_are_refused(field: str, settings: dict[str, object]) -> None:
    with pytest.raises(BadValue) as error:
        SearchSettings(**settings)  # type: ignore[arg-type]
    assert error.value.field == field


def test_at_least_one_model_of_a_generation_is_new() -> None:
    assert SearchSettings().elite == 2
    assert SearchSettings(population_size=2, elite_share=0.9).elite == 1
    assert SearchSettings(elite_share=0.0).elite == 0


def test_a_search_of_vectors_tries_no_convolutions() -> None:
    search = Search(SearchSettings(), (30,), 4, LearningPlan())
    assert not any(genome.convs for genome in search.pending())


# What the window shows


def test_the_population_has_every_candidate_with_its_parents() -> None:
    search = run(new_search(8, max_generations=3), HiddenTarget(lambda genome: genome.key[0] in "01"))
    population = population_of(search.save())
    assert population.generation == 3
    assert len(population.individuals) == 10 + 8 + 8
    assert search.best is not None
    assert population.best == search.best.number
    assert sum(individual.member for individual in population.individuals) == 10
    for shown, member in zip(population.individuals, search.individuals, strict=True):
        assert (shown.number, shown.parents, shown.fitness) == (member.number, member.candidate.parents, member.fitness)
        assert len(shown.values) == len(COLUMNS)
        assert (shown.error == "") == (shown.fitness is not None)
        assert shown.diagram is not None
        assert len(shown.diagram.blocks) == 2 + len(member.genome.convs) + len(member.genome.dense)
    assert set(population.individuals[0].parents) == set()
    assert population.ancestors(population.individuals[-1].number) >= {population.individuals[-1].number}


def test_layers_are_described_in_words() -> None:
    search = new_search(population_size=2)
    genome = Genome((ConvGene(16, 5, 2, "silu", True),), (DenseGene(64, "tanh"),))
    search._progress = replace(search._progress, candidates=(Candidate(genome, 1), search._progress.candidates[1]))
    [first, _] = population_of(search.save()).individuals
    assert first.values[0] == "conv 16 5x5/2 silu, norm; 64 tanh"
    assert first.fitness is None
    assert first.diagram is not None
    assert [(block.text, block.image, block.role) for block in first.diagram.blocks] == [
        ("1", True, "input"), ("16", True, "hidden"), ("64", False, "hidden"), ("10", False, "output"),
    ]  # fmt: skip


def test_the_search_imports_no_torch() -> None:
    code = "import sys, agents.training.hybrid.individuals; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
