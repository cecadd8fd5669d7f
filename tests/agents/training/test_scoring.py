"""Merits of a batch equal those of single matches bit for bit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agents.training.scoring import Merits, merits_of, outcomes_of, weighted_rewards
from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult, MatchSpec
from engine.play.results import ResultBatch
from engine.registry import new_game

GAME = new_game("pong").spec
numbers = st.integers(-20, 20).map(float) | st.floats(-1e6, 1e6)


def results_of(seats: int) -> st.SearchStrategy[list[MatchResult]]:
    players = tuple(str(seat) for seat in range(seats))
    forfeits = st.lists(st.integers(0, seats - 1), unique=True).map(lambda found: tuple(sorted(found)))
    result = st.builds(
        MatchResult,
        st.just("0.0"),
        st.just(players),
        st.tuples(*[numbers] * seats),
        st.tuples(*[st.integers(1, seats)] * seats),
        st.integers(0, 5000),
        st.builds(Ending, st.sampled_from(EndingKind), st.just(()) | forfeits),
        st.tuples(*[st.tuples(numbers, numbers)] * seats),
        st.just(b""),
    )
    return st.lists(result, min_size=1, max_size=8)


@given(st.integers(2, 4).flatmap(results_of))
def test_merits_of_a_batch_equal_those_of_its_matches(results: list[MatchResult]) -> None:
    players = tuple(AgentSpec(id, "dice") for id in results[0].players)
    batch = ResultBatch.of([MatchSpec(result.id, GAME, players, 1) for result in results], results)
    found = Merits(batch)
    for place, result in enumerate(results):
        rows = zip(found.valid[place], found.outcomes[place], found.merits[place], strict=True)
        expected = [(float(outcome), float(merit)) if shown else (None, None) for shown, outcome, merit in rows]
        assert expected == list(zip(outcomes_of(result), merits_of(result), strict=True))
        assert found.complete[place] == (None not in outcomes_of(result))


@given(st.integers(2, 4).flatmap(results_of), st.tuples(numbers, numbers, numbers))
def test_rewards_are_weighted_sums(results: list[MatchResult], weights: tuple[float, float, float]) -> None:
    players = tuple(AgentSpec(id, "dice") for id in results[0].players)
    batch = ResultBatch.of([MatchSpec(result.id, GAME, players, 1) for result in results], results)
    found = weighted_rewards(batch, ("hits", "misses"), dict(zip(("misses", "steps", "hits"), weights, strict=True)))
    for place, result in enumerate(results):
        for seat, (hits, misses) in enumerate(result.stats):
            assert found[place, seat] == weights[0] * misses + weights[1] * result.steps + weights[2] * hits
