"""Genomes that are drawn, mutated and crossed fit their space, and differ as they should."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, example, given, reject
from hypothesis import strategies as st

from agents.training.hybrid.distance import distance, mean_distance
from agents.training.hybrid.draws import Draws
from agents.training.hybrid.genome import ADAM, OPTIMISERS, SGD, ConvGene, DenseGene, Genome
from agents.training.hybrid.space import LEARNING_RATES, Space
from agents.training.hybrid.variation import crossover, mutate, random_genome, vary
from engine.errors import BadValue

IMAGE, VECTOR = Space((2, 9, 6), 12), Space((23,), 5)
SHOGI = Space((46, 9, 9), 2187)  # actions are 27 planes of squares
SEEDS = st.integers(0, 2**63 - 1)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Spaces of all kinds, with budgets from just enough to plenty."""
    sizes = st.integers(1, 12)
    shape = draw(st.one_of(st.tuples(sizes, sizes, sizes), st.tuples(st.integers(1, 200))))
    most_convs, most_dense = draw(st.integers(0, 8)), draw(st.integers(0, 8))
    assume(most_dense or (most_convs and len(shape) == 3))
    channels, width = draw(st.sampled_from([4, 5, 16, 100, 512])), draw(st.sampled_from([4, 7, 64, 4096]))
    outputs, budget = draw(st.integers(1, 300)), draw(st.integers(1, 2_000_000))
    if len(shape) == 3 and draw(st.booleans()):
        outputs = math.prod(shape[1:]) * draw(st.integers(1, 30))  # planes of the image
    try:
        return Space(shape, outputs, budget, most_convs, most_dense, channels, width)
    except BadValue:
        reject()  # the budget is too small for any model


def checked(genome: Genome, space: Space) -> Genome:
    """The genome, which has to be valid: built again, within all limits, with shapes that follow from the input."""
    same = replace(genome)
    assert space.fits(same)
    assert 0 < same.parameters(space.shape, space.outputs) <= space.max_parameters
    assert len(same.convs) <= (space.max_convs if len(space.shape) == 3 else 0)
    assert len(same.convs) + len(same.dense) >= 1
    low, high = LEARNING_RATES[same.optimiser]
    assert low <= same.learning_rate <= high
    size = max(space.shape[1:], default=0)
    for gene in same.convs:
        assert gene.kernel <= max(2 * size - 1, 1)
        assert gene.stride == 1 or size > 1
        size = -(-size // gene.stride)
    return genome


@given(spaces(), SEEDS)
def test_random_genomes_fit_any_space(space: Space, seed: int) -> None:
    checked(random_genome(space, Draws(seed)), space)


@given(spaces(), SEEDS, st.floats(0, 1))
def test_mutated_genomes_fit_and_differ(space: Space, seed: int, rate: float) -> None:
    genome = random_genome(space, Draws(seed, "first"))
    for step in range(3):
        before = genome
        genome = checked(mutate(genome, rate, space, Draws(seed, step)), space)
        assert genome != before
        assert genome.key != before.key
        checked(vary(genome, rate, space, Draws(seed, step)), space)


@given(spaces(), SEEDS)
def test_children_fit_and_have_genes_of_their_parents_only(space: Space, seed: int) -> None:
    first, second = (random_genome(space, Draws(seed, name)) for name in ("first", "second"))
    child = checked(crossover(first, second, space, Draws(seed, "child")), space)
    parents = (first, second)
    for kind in ("convs", "dense"):
        layers = getattr(child, kind)
        assert len(layers) in {len(getattr(genome, kind)) for genome in parents}
        for k, gene in enumerate(layers):
            assert gene in [getattr(genome, kind)[k] for genome in parents if k < len(getattr(genome, kind))]
    assert (child.optimiser, child.learning_rate) in {(genome.optimiser, genome.learning_rate) for genome in parents}
    assert child.dropout in {genome.dropout for genome in parents}
    assert child.weight_decay in {genome.weight_decay for genome in parents}


@given(SEEDS, st.floats(0, 1))
def test_the_same_draws_give_the_same_genomes(seed: int, rate: float) -> None:
    def genomes() -> list[Genome]:
        first, second = (random_genome(IMAGE, Draws(seed, name)) for name in ("first", "second"))
        child = crossover(first, second, IMAGE, Draws(seed, "child"))
        return [first, second, child, mutate(child, rate, IMAGE, Draws(seed, "mutation"))]

    assert genomes() == genomes()


def test_random_genomes_of_other_seeds_and_places_differ() -> None:
    places = [(seed, purpose, index) for seed in range(5) for purpose in ("first", "child") for index in range(20)]
    assert len({random_genome(IMAGE, Draws(*place)) for place in places}) == len(places)


def test_mutation_reaches_every_property() -> None:
    genome = Genome((ConvGene(16, 3), ConvGene(32, 5)), (DenseGene(64),), 0.2, ADAM, 1e-3, 1e-4)
    changed = [mutate(genome, 0.1, IMAGE, Draws(index)) for index in range(2000)]
    for name in ("dropout", "optimiser", "learning_rate", "weight_decay"):
        assert {getattr(mutant, name) for mutant in changed} > {getattr(genome, name)}
    convs = [genome.convs[0] for genome in changed if len(genome.convs) == 2]
    dense = [genome.dense[0] for genome in changed if len(genome.dense) == 1]
    for name in ("channels", "kernel", "stride", "activation", "normalised"):
        assert len({getattr(gene, name) for gene in convs}) > 1, name
    for name in ("width", "activation", "normalised"):
        assert len({getattr(gene, name) for gene in dense}) > 1, name
    assert {len(genome.convs) for genome in changed} >= {1, 2, 3}
    assert {len(genome.dense) for genome in changed} >= {0, 1, 2}
    assert {genome.optimiser for genome in changed} == set(OPTIMISERS)


def test_a_higher_rate_changes_more() -> None:
    genomes = [random_genome(IMAGE, Draws(index)) for index in range(200)]

    def change(rate: float) -> float:
        return sum(
            distance(genome, mutate(genome, rate, IMAGE, Draws("change", k))) for k, genome in enumerate(genomes)
        )

    assert change(0.1) < change(0.4) < change(0.8)


def test_learning_rates_are_drawn_by_order_of_magnitude() -> None:
    rates = [random_genome(VECTOR, Draws(index)).learning_rate for index in range(3000)]
    share = sum(rate < 1e-3 for rate in rates) / len(rates)  # of the two logarithmic ranges of Adam, and none of SGD's
    low, high = LEARNING_RATES[ADAM]
    expected = 2 / 3 * math.log(1e-3 / low) / math.log(high / low)
    assert abs(share - expected) < 0.05


def test_a_learning_rate_keeps_its_place_when_the_optimiser_changes() -> None:
    genome = Genome((), (DenseGene(16),), optimiser=ADAM, learning_rate=LEARNING_RATES[ADAM][0])
    for index in range(300):
        child = mutate(genome, 0.0, VECTOR, Draws(index))
        if child.optimiser == SGD:
            assert child.learning_rate == LEARNING_RATES[SGD][0]
            return
    raise AssertionError("no mutation changed the optimiser to SGD")


def test_vectors_have_no_convolutions() -> None:
    assert not any(random_genome(VECTOR, Draws(index)).convs for index in range(100))
    images = [random_genome(IMAGE, Draws(index)) for index in range(100)]
    assert any(genome.convs for genome in images)
    assert any(not genome.convs for genome in images)


def test_a_genome_that_is_too_large_is_made_smaller() -> None:
    genome = Genome((ConvGene(64, 7), ConvGene(64, 7)), (DenseGene(256), DenseGene(256)), 0.3, SGD, 0.1, 1e-3)
    space = replace(IMAGE, max_parameters=3000)
    repaired = checked(space.repaired(genome), space)
    assert space.parameters(repaired) > 300
    assert (repaired.dropout, repaired.optimiser, repaired.learning_rate) == (0.3, SGD, 0.1)
    assert IMAGE.repaired(repaired) == repaired


def has_planes(genome: Genome) -> bool:
    return genome.architecture.policy_planes(SHOGI.shape, SHOGI.outputs) > 0


def test_heads_of_many_actions_are_convolutions_where_they_would_be_too_large() -> None:
    genomes = [random_genome(SHOGI, Draws(index)) for index in range(400)]
    assert 0.4 < sum(map(has_planes, genomes)) / len(genomes) < 0.6
    assert len({len(genome.convs) for genome in genomes if has_planes(genome)}) == SHOGI.max_convs
    assert any(genome.dense and genome.convs for genome in genomes)
    assert any(not genome.convs for genome in genomes)
    rich = replace(SHOGI, max_parameters=20_000_000)  # enough for all heads: nothing is changed
    genomes = [random_genome(rich, Draws(index)) for index in range(400)]
    assert 0.05 < sum(map(has_planes, genomes)) / len(genomes) < 0.15


def test_mutations_keep_a_convolution_as_head_while_another_would_be_too_large() -> None:
    genome = Genome((ConvGene(48), ConvGene(48, 5, activation="silu")))
    changed = [mutate(genome, 0.2, SHOGI, Draws(index)) for index in range(500)]
    kept = [genome for genome in changed if has_planes(genome)]
    assert len(kept) > 350
    assert all(genome.dense for genome in changed if not has_planes(genome))
    assert {len(genome.convs) for genome in kept} == {1, 2, 3}
    dense = replace(genome, convs=(ConvGene(12, stride=2), ConvGene(12)), dense=(DenseGene(24),))
    assert SHOGI.fits(dense)
    assert any(has_planes(mutate(dense, 0.2, SHOGI, Draws(index))) for index in range(100)), "one step away"


def test_strides_are_removed_where_the_head_is_too_large_with_them() -> None:
    strided = Genome((ConvGene(48, 3, 2), ConvGene(32, 5)))
    assert SHOGI.repaired(strided) == Genome((ConvGene(48), ConvGene(32, 5)))
    assert SHOGI.smallest == Genome((ConvGene(4, 1),))
    assert Space((1, 200, 200), 500).smallest.convs, "without strides it would have more weights than any network may"
    assert replace(SHOGI, outputs=2188, max_parameters=1_000_000).repaired(strided).convs[0].stride == 2


def test_a_kernel_is_no_larger_than_what_it_can_see() -> None:
    space = Space((3, 4, 4), 2)
    convs = space.fitted([ConvGene(8, 7, 2), ConvGene(8, 7, 2), ConvGene(8, 7, 2)])
    assert [(gene.kernel, gene.stride) for gene in convs] == [(7, 2), (3, 2), (1, 1)]


@pytest.mark.parametrize(
    ("field", "space"),
    [
        ("shape of inputs", {"shape": (3, 3)}),
        ("shape of inputs", {"shape": (0,)}),
        ("shape of inputs", {"shape": (1 << 20, 1 << 20, 1)}),
        ("outputs", {"outputs": 0}),
        ("max_convs", {"max_convs": 9}),
        ("max_width", {"max_width": 3}),
        ("max_dense", {"max_dense": 0}),
        ("max_parameters", {"max_parameters": 100}),
    ],
)
def test_a_space_without_models_is_refused(field: str, space: dict[str, object]) -> None:
    with pytest.raises(BadValue) as error:
        Space(**({"shape": (23,), "outputs": 5} | space))  # type: ignore[arg-type]
    assert error.value.field == field


def test_the_error_of_a_small_budget_names_the_smallest_one() -> None:
    with pytest.raises(BadValue, match="at least 121"):
        Space((23,), 5, max_parameters=100)
    assert Space((23,), 5, max_parameters=121).smallest.dense == (DenseGene(4),)


@given(SEEDS)
@example(38331)
def test_distance_is_symmetric_and_within_0_and_1(seed: int) -> None:
    first, second = (random_genome(IMAGE, Draws(seed, name)) for name in ("first", "second"))
    assert distance(first, first) == 0.0
    assert distance(first, second) == distance(second, first)
    assert 0.0 <= distance(first, second) <= 1.0
    assert (distance(first, second) > 0.0) == (first != second)


def test_genomes_are_farther_apart_the_more_they_differ() -> None:
    base = Genome((ConvGene(16),), (DenseGene(64),))
    near = replace(base, dense=(DenseGene(96),))
    middle = replace(base, dense=(DenseGene(256, "tanh"),))
    far = replace(base, convs=(), dense=(DenseGene(256, "tanh"), DenseGene(8)), optimiser=SGD, dropout=0.5)
    assert 0.0 < distance(base, near) < distance(base, middle) < distance(base, far)
    assert mean_distance([base]) == mean_distance([]) == 0.0
    assert mean_distance([base, base, near]) == pytest.approx(distance(base, near) * 2 / 3)
