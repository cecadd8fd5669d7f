"""Results in columns: the MatchResults created from them equal the original ones to the bit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult, MatchSpec, run_digest
from engine.play.results import ResultBatch, ResultSelection, batches_of
from engine.registry import new_game

GAME = new_game("pong").spec
PLAYERS = (AgentSpec("one", "dice"), AgentSpec("zwei ²", "dice"))

numbers = st.floats(allow_nan=False)
plain = st.sampled_from(EndingKind).map(Ending)
endings = plain | st.builds(
    Ending, st.sampled_from(EndingKind), st.sampled_from([(), (0,), (1,), (0, 1)]), st.text(max_size=20)
)


def results_with(stats: int) -> st.SearchStrategy[MatchResult]:
    row = st.tuples(*[numbers] * stats)
    return st.builds(
        MatchResult,
        st.text(max_size=8),
        st.just(tuple(player.id for player in PLAYERS)),
        st.tuples(numbers, numbers),
        st.tuples(st.integers(1, 2), st.integers(1, 2)),
        st.integers(0, 2**32 - 1),
        endings,
        st.tuples(row, row),
        st.binary(max_size=50),
        st.booleans(),
        st.floats(0, 1e6),
        st.integers(-1, 1),
    )


several = st.lists(st.integers(0, 2).flatmap(results_with), min_size=1, max_size=12)
alike = st.lists(results_with(2).map(lambda result: _by(result, 3)), min_size=1, max_size=12)


def _by(result: MatchResult, worker: int) -> MatchResult:
    fields = [getattr(result, name) for name in MatchResult.__slots__]
    return MatchResult(*fields[:-1], worker)


def specs_of(results: list[MatchResult]) -> list[MatchSpec]:
    return [MatchSpec(result.id, GAME, PLAYERS, 1) for result in results]


@given(several)
def test_results_of_any_shape_keep_their_order(results: list[MatchResult]) -> None:
    batches = batches_of(zip(specs_of(results), results, strict=True))
    assert [result for batch in batches for result in batch] == results
    assert run_digest(result for batch in batches for result in batch) == run_digest(results)


@given(alike)
def test_batch_digests_and_numbers_equal_those_of_the_results(results: list[MatchResult]) -> None:
    batch = ResultBatch.of(specs_of(results), results)
    assert batch.digests() == [result.digest() for result in results]
    assert batch.numbers() == [result.numbers() for result in results]
    assert batch.actions() == [result.actions for result in results]
    assert [batch.ending(place) for place in range(len(batch))] == [result.ending for result in results]


@given(alike, st.data())
def test_a_batch_is_a_sequence_of_its_results(results: list[MatchResult], data: st.DataObject) -> None:
    batch = ResultBatch.of(specs_of(results), results)
    at = data.draw(st.integers(-len(results), len(results) - 1))
    part = data.draw(st.slices(len(results)))
    places = data.draw(st.lists(st.integers(0, len(results) - 1), max_size=5))
    assert len(batch) == len(results)
    assert batch[at] == results[at]
    assert list(batch[part]) == results[part]
    assert list(batch.select(places)) == [results[place] for place in places]
    picked = ResultSelection(batch, places)
    assert list(picked) == [picked[place] for place in range(len(places))] == [results[place] for place in places]
    assert list(picked[part]) == list(picked)[part]


@given(st.lists(alike, min_size=1, max_size=4))
def test_batches_are_joined_in_order(parts: list[list[MatchResult]]) -> None:
    whole = ResultBatch.joined([ResultBatch.of(specs_of(part), part) for part in parts])
    assert list(whole) == [result for part in parts for result in part]
    assert [result.actions for result in whole.without_actions()] == [b""] * len(whole)
