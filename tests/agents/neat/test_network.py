"""Our networks have neat-python's outputs bit for bit, for any genome and any input."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from agents.neat.genome import ACTIVATIONS, AGGREGATIONS, Genome
from agents.neat.network import COMPENSATED, Networks
from tests.agents.neat.sample_genomes import (
    EVERYTHING,
    NUMBERS,
    SEEN,
    all_of,
    bits,
    bred,
    made_up,
    neats_own,
    ours,
    watched,
)


def one_node(activation: str, aggregation: str, weights: Sequence[float], bias: float, response: float) -> Genome:
    """One output, one input for each weight."""
    n = len(weights)
    return Genome(
        max(n, 1), 1, True, (0,), (bias,), (response,), (1.0,), (activation,), (aggregation,),
        tuple(-1 - i for i in range(n)), (0,) * n, tuple(weights), (True,) * n, tuple(range(n)),
    )  # fmt: skip


def answers(genome: Genome, rows: Sequence[Sequence[float]]) -> list[list[str] | str]:
    """neat-python's outputs as bits, up to an overflow."""
    network, found = neats_own(genome), list[list[str] | str]()
    for row in rows:
        try:
            found.append(bits(network.activate(list(row))))
        except OverflowError:
            return [*found, "overflow"]
    return found


def our_answers(genome: Genome, rows: Sequence[Sequence[float]]) -> list[list[str] | str]:
    networks, found = Networks(1), list[list[str] | str]()
    number = networks.add(genome)
    for row in rows:
        out, failed = ours(networks, [number], [0], [row], genome.outputs)
        if failed >= 0:
            return [*found, "overflow"]
        found.append(bits(out[0]))
    return found


# To the bit


@pytest.mark.parametrize("feed_forward", [True, False])
def test_bred_populations_have_neat_pythons_outputs(feed_forward: bool) -> None:
    genomes = [
        genome
        for seed in (1, 2)
        for genome in all_of(bred(feed_forward, generations=14, seed=seed, population=60, **EVERYTHING))
    ]
    used = {name for genome in genomes for name in (*genome.activation, *genome.aggregation)}
    assert used == {*ACTIVATIONS, *AGGREGATIONS}
    for number, genome in enumerate(genomes):
        rows = watched(3, 8, number)
        assert our_answers(genome, rows) == answers(genome, rows)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_each_activation_is_equal_on_a_grid_and_at_extremes(activation: str) -> None:
    genome = one_node(activation, "sum", [1.0], 0.0, 1.0)
    ends = [0.0, -0.0, 2.0**-149, -(2.0**-149), 1e-7, 3.4, -3.4, 12.0, -12.0, 60.0, -60.0, 1e30, -1e30]
    grid = np.linspace(-30, 30, 3001).astype(np.float32).tolist()
    networks = Networks(1)
    number = networks.add(genome)
    rows = [[float(np.float32(value))] for value in (*ends, *grid)]
    out, failed = ours(networks, [number] * len(rows), [0] * len(rows), rows, 1)
    assert failed == -1
    network = neats_own(genome)
    assert bits(out[:, 0]) == [bits(network.activate(row))[0] for row in rows]


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 14, 40])
def test_each_aggregation_is_equal_for_any_number_of_links(aggregation: str, count: int) -> None:
    draw = np.random.default_rng(count)
    genome = one_node("identity", aggregation, draw.normal(0, 2, count).tolist(), 0.25, -1.5)
    rows = watched(max(count, 1), 20, count)
    rows[0] = [0.0] * max(count, 1)
    assert our_answers(genome, rows) == answers(genome, rows)


@settings(max_examples=150)
@given(made_up(), st.data())
def test_any_genome_has_equal_outputs_for_any_input(genome: Genome, data: st.DataObject) -> None:
    assume("median" not in genome.aggregation)  # see below: it sorts otherwise what is no number
    rows = data.draw(st.lists(st.lists(SEEN, min_size=genome.inputs, max_size=genome.inputs), min_size=1, max_size=4))
    assert our_answers(genome, rows) == answers(genome, rows)


@settings(max_examples=150)
@given(st.lists(NUMBERS, min_size=0, max_size=6), st.data())
@example([1.0, 1.0, 1.0], None)
def test_a_median_of_numbers_is_the_same(weights: list[float], data: st.DataObject | None) -> None:
    genome = one_node("identity", "median", weights, -0.0, 1.0)
    some = st.lists(SEEN, min_size=genome.inputs, max_size=genome.inputs)
    rows = [[0.0, -0.0, 0.0]] if data is None else data.draw(st.lists(some, min_size=1, max_size=3))
    assert our_answers(genome, rows) == answers(genome, rows)


def test_a_median_of_many_zeros_is_the_same() -> None:
    draw = np.random.default_rng(3)
    for count in (15, 16, 17, 40, 41):
        genome = one_node("identity", "median", [1.0] * count, -0.0, 1.0)
        rows = draw.choice([0.0, -0.0, 1.0, -1.0], (50, count)).tolist()
        assert our_answers(genome, rows) == answers(genome, rows)


def test_a_median_with_nan_is_the_same() -> None:
    # node 1 is 1/5e-324 = inf; inf * 0 is no number, and comes third of five
    genome = Genome(
        4, 1, True, (0, 1), (0.0, 5e-324), (1.0, 1.0), (1.0, 1.0), ("identity", "inv"), ("median", "sum"),
        (-1, -2, 1, -3, -4), (0, 0, 0, 0, 0), (1.0, 1.0, 0.0, 1.0, 1.0), (True,) * 5, (1, 2, 3, 4, 5),
    )  # fmt: skip
    rows = [[3.0, 1.0, 2.0, 0.5], [1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]]
    assert our_answers(genome, rows) == answers(genome, rows)


def test_a_node_without_inputs_depends_on_its_bias_alone() -> None:
    orphan = Genome(
        1, 2, True, (0, 1, 7), (0.5, 0.25, 2.0), (1.0,) * 3, (1.0,) * 3, ("identity",) * 3, ("sum", "product", "max"),
        (7, -1), (0, 1), (3.0, 1.0), (True, False), (1, 2),
    )  # fmt: skip
    assert our_answers(orphan, [[9.0]]) == answers(orphan, [[9.0]]) == [bits([0.5 + 3.0 * 2.0, 0.25 + 1.0])]
    recurrent = replace(orphan, feed_forward=False)
    assert our_answers(recurrent, [[9.0]] * 3) == answers(recurrent, [[9.0]] * 3) == [bits([0.5, 0.0])] * 3


def test_a_network_without_connections_has_all_outputs() -> None:
    bare = replace(one_node("tanh", "sum", [], 0.7, 1.0), outputs=2, key=(1, 0), bias=(0.7, -0.2), response=(1.0, 1.0))
    bare = replace(bare, time_constant=(1.0, 1.0), activation=("tanh", "sin"), aggregation=("sum", "min"))
    for genome in (bare, replace(bare, feed_forward=False)):
        assert our_answers(genome, [[1.0]]) == answers(genome, [[1.0]])


# Many at once


@pytest.mark.parametrize("feed_forward", [True, False])
def test_a_batch_equals_single_evaluations(feed_forward: bool) -> None:
    genomes = all_of(bred(feed_forward, generations=14, population=60, **EVERYTHING))
    alone = [our_answers(genome, watched(3, 5, number)) for number, genome in enumerate(genomes)]
    well = [number for number, found in enumerate(alone) if "overflow" not in found]
    assert len(well) > 30
    networks = Networks(2 * len(genomes))
    numbers = [networks.add(genome) for genome in genomes]
    order = np.random.default_rng(5).permutation(well).tolist()
    slots = [2 * number + 1 for number in order]
    for step in range(5):
        rows = [watched(3, 5, number)[step] for number in order]
        out, failed = ours(networks, [numbers[number] for number in order], slots, rows, 2)
        assert failed == -1
        assert [bits(row) for row in out] == [alone[number][step] for number in order]


def test_feed_forward_and_recurrent_networks_can_be_mixed() -> None:
    kinds = [all_of(bred(kind, generations=12, population=20)) for kind in (True, False)]
    mixed = [genome for pair in zip(*kinds, strict=True) for genome in pair]
    networks = Networks(len(mixed))
    numbers = [networks.add(genome) for genome in mixed]
    plain = [neats_own(genome) for genome in mixed]
    for step in range(4):
        rows = watched(3, len(mixed), step)
        out, _ = ours(networks, numbers, list(range(len(mixed))), rows, 2)
        assert [bits(row) for row in out] == [bits(net.activate(row)) for net, row in zip(plain, rows, strict=True)]


def remembering() -> Genome:
    """A recurrent genome whose output sums its inputs over time."""
    return Genome(
        1, 1, False, (0,), (0.0,), (1.0,), (1.0,), ("identity",), ("sum",), (-1, 0), (0, 0), (1.0, 1.0), (True, True),
        (1, 2),
    )  # fmt: skip


def test_a_recurrent_network_remembers_by_slot_and_forgets_when_its_slot_is_reset() -> None:
    networks = Networks(3)
    number = networks.add(remembering())
    for step in (1.0, 2.0, 3.0):
        out, _ = ours(networks, [number, number], [0, 2], [[1.0], [10.0]], 1)
        assert out[:, 0].tolist() == [step, 10 * step]
    networks.reset(np.array([2], np.uint32))
    out, _ = ours(networks, [number] * 3, [2, 1, 0], [[10.0], [5.0], [1.0]], 1)
    assert out[:, 0].tolist() == [10.0, 5.0, 4.0]


def test_adding_a_network_keeps_the_state_of_others() -> None:
    networks = Networks(2)
    number = networks.add(remembering())
    ours(networks, [number], [1], [[7.0]], 1)
    for genome in all_of(bred(False, generations=15, population=40)):
        networks.add(genome)
    out, _ = ours(networks, [number], [1], [[1.0]], 1)
    assert out.tolist() == [[8.0]]


# Sums from Python 3.12 on


def reference_sum(values: Sequence[float]) -> float:
    """`sum()` of CPython 3.12: Neumaier's algorithm; a correction that is not finite is left out."""
    if not values:
        return 0.0
    total, lost = 0.0 + values[0], 0.0  # the first one is added to the whole number 0
    for x in values[1:]:
        new = total + x
        lost += (total - new) + x if abs(total) >= abs(x) else (x - new) + total
        total = new
    return total + lost if lost and math.isfinite(lost) else total


@settings(max_examples=200)
@given(st.lists(st.tuples(NUMBERS, SEEN), max_size=12), st.sampled_from(["sum", "mean"]))
@example([(1.0, 1.0), (1e308, 1.0), (1.0, 1.0), (-1e308, 1.0)], "sum")
@example([(1e308, 2.0**127), (-1e308, 2.0**127)], "sum")
def test_compensated_sums_are_those_of_python_3_12(terms: list[tuple[float, float]], aggregation: str) -> None:
    genome = one_node("identity", aggregation, [weight for weight, _ in terms], 0.0, 1.0)
    row = [float(np.float32(seen)) for _, seen in terms] or [1.0]
    networks = Networks(1, compensated=True)
    out, _ = ours(networks, [networks.add(genome)], [0], [row], 1)
    wanted = reference_sum([seen * weight for seen, (weight, _) in zip(row, terms, strict=False)])
    wanted = wanted / len(terms) if aggregation == "mean" and terms else wanted
    assert bits(out[0]) == bits([0.0 + 1.0 * wanted])


def test_sums_are_compensated_exactly_where_python_does() -> None:
    tricky = [1.0, 1e16, 1.0, -1e16, 0.1, 0.1, 0.1]
    assert (sys.version_info >= (3, 12)) == COMPENSATED == (sum(tricky) == reference_sum(tricky))
    plain, compensated = Networks(1, compensated=False), Networks(1, compensated=True)
    genome = one_node("identity", "sum", tricky, 0.0, 1.0)
    found = [
        float(ours(networks, [networks.add(genome)], [0], [[1.0] * 7], 1)[0][0, 0]) for networks in (plain, compensated)
    ]
    one_by_one = 0.0
    for x in tricky:
        one_by_one += x
    assert found == [one_by_one, reference_sum(tricky)]
    assert found[0] != found[1]


# Overflow, and choosing


@pytest.mark.parametrize(("activation", "least"), [("square", 1.4e154), ("cube", 5.7e102)])
def test_an_overflow_is_reported_by_row_and_other_rows_are_evaluated(activation: str, least: float) -> None:
    networks = Networks(4)
    well = networks.add(one_node("tanh", "sum", [1.0], 0.0, 1.0))
    ill = networks.add(one_node(activation, "sum", [1.0], least, 1.0))
    with pytest.raises(OverflowError):
        neats_own(one_node(activation, "sum", [1.0], least, 1.0)).activate([0.0])
    out, failed = ours(networks, [well, well, ill, ill], [0, 1, 2, 3], [[0.5], [-0.5], [0.0], [0.0]], 1)
    assert failed == 2
    assert out[:2, 0].tolist() == [math.tanh(1.25), math.tanh(-1.25)]
    assert ours(networks, [well, well], [0, 1], [[0.5], [-0.5]], 1)[1] == -1


def test_the_square_of_infinity_is_not_an_overflow() -> None:
    genome = Genome(
        1, 1, True, (0, 1), (0.0, 5e-324), (1.0, 1.0), (1.0, 1.0), ("square", "inv"), ("sum", "sum"),
        (1,), (0,), (1.0,), (True,), (1,),
    )  # fmt: skip
    assert our_answers(genome, [[0.0]]) == answers(genome, [[0.0]]) == [bits([math.inf])]


@given(
    st.lists(st.lists(st.floats(-3, 3) | st.sampled_from([0.0, -0.0, 1.0]), min_size=4, max_size=4), min_size=1),
    st.data(),
)
def test_the_first_largest_legal_output_is_chosen(rows: list[list[float]], data: st.DataObject) -> None:
    """With networks whose outputs are their inputs."""
    echo = Genome(
        4, 4, True, (0, 1, 2, 3), (0.0,) * 4, (1.0,) * 4, (1.0,) * 4, ("identity",) * 4, ("sum",) * 4,
        (-1, -2, -3, -4), (0, 1, 2, 3), (1.0,) * 4, (True,) * 4, (1, 2, 3, 4),
    )  # fmt: skip
    some = st.lists(st.booleans(), min_size=4, max_size=4).filter(any)
    masks = data.draw(st.lists(some, min_size=len(rows), max_size=len(rows)))
    seen = np.array(rows, np.float32)
    for row, mask, action in zip(seen.tolist(), masks, acted(echo, seen, masks), strict=True):
        legal = [choice for choice in range(4) if mask[choice]]
        assert action == min(choice for choice in legal if row[choice] == max(row[other] for other in legal))
    assert acted(echo, seen, None) == [row.index(max(row)) for row in seen.tolist()]


def acted(genome: Genome, seen: Any, masks: list[list[bool]] | None) -> list[int]:
    networks, n = Networks(1), len(seen)
    number = networks.add(genome)
    chosen, out = np.zeros(n, np.int64), np.zeros((n, genome.outputs))
    legal = None if masks is None else np.array(masks)
    zeros = np.zeros(n, np.uint32)
    assert networks.act(np.full(n, number, np.uint32), zeros, seen, legal, out, chosen) == -1
    return chosen.tolist()


NEAR = st.sampled_from([0.0, 1e-9, -1e-9, 1e-4, 0.5, 1.0, -1.0, 3.0, 4.0, 4.0001, 7.9, 8.0, 24.0, -24.0, 30.0, -4.0])


@given(st.lists(NEAR | st.floats(-30, 30), min_size=3, max_size=3), st.lists(NEAR, min_size=3, max_size=3), st.data())
def test_skipping_tanh_changes_no_choice(weights: list[float], biases: list[float], data: st.DataObject) -> None:
    """Also where outputs are equal, nearly so, or so large that their tanh is."""
    genome = Genome(
        1, 3, True, (0, 1, 2), tuple(biases), (1.0,) * 3, (1.0,) * 3, ("tanh",) * 3, ("sum",) * 3,
        (-1, -1, -1), (0, 1, 2), tuple(weights), (True,) * 3, (1, 2, 3),
    )  # fmt: skip
    seen = np.array([[value] for value in data.draw(st.lists(NEAR, min_size=1, max_size=6))], np.float32)
    some = st.lists(st.booleans(), min_size=3, max_size=3).filter(any)
    masks = data.draw(st.lists(some, min_size=len(seen), max_size=len(seen)))
    network = neats_own(genome)
    for row, mask, action in zip(seen.tolist(), masks, acted(genome, seen, masks), strict=True):
        outputs = network.activate(row)
        legal = [choice for choice in range(3) if mask[choice]]
        assert action == min(choice for choice in legal if outputs[choice] == max(outputs[other] for other in legal))
