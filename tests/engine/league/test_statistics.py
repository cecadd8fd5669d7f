"""Statistics and ratings: published figures for the same counts, and properties that hold for all counts."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadValue
from engine.league.ratings import UNKNOWN, ahead, errors_to_expect, many_seats, rate, running_elo, superior, tier
from engine.league.statistics import MOST, Model, compare, elo, expected, sprt

counts = st.one_of(
    st.lists(st.integers(0, 2000), min_size=3, max_size=3), st.lists(st.integers(0, 2000), min_size=5, max_size=5)
).filter(any)


def test_pairs_agree_with_the_output_of_princhess_343() -> None:
    pairs = [1, 22, 52, 21, 4]
    seen = compare(pairs)
    assert (round(seen.elo, 2), round(seen.elo_error, 2)) == (8.69, 27.04)
    assert (round(seen.normalised, 2), round(seen.normalised_error, 2)) == (15.51, 48.15)
    assert round(100 * seen.superiority, 2) == 73.60
    assert (seen.unit, seen.draw_ratio, seen.pairs_ratio) == ("pairs", 0.52, 25 / 23)
    assert round(sprt(pairs, -5, 0, alpha=0.05, beta=0.10).llr, 2) == 0.15


def test_games_agree_with_the_tests_of_fastchess() -> None:
    seen = compare([96, 111, 136])
    assert (round(seen.elo, 2), round(seen.elo_error, 2)) == (40.70, 30.43)
    assert (round(seen.normalised, 2), round(seen.normalised_error, 2)) == (49.77, 36.77)
    assert (round(100 * seen.superiority, 2), seen.unit) == (99.60, "games")
    assert round(sprt([36027, 68692, 36433], 0, 2).llr, 2) == 0.92


@given(counts)
def test_swapping_the_players_reverses_the_comparison(seen: list[int]) -> None:
    ours, theirs = compare(seen), compare(seen[::-1])
    assert ours.elo == pytest.approx(-theirs.elo, abs=1e-6)
    assert ours.superiority == pytest.approx(1 - theirs.superiority, abs=1e-9)
    assert all(math.isfinite(value) for value in (ours.elo, ours.elo_error, ours.normalised, ours.normalised_error))
    for model in ("logistic", "normalised"):
        test = sprt(seen, -3, 4, model=model)
        assert math.isfinite(test.llr)
        assert test.llr == pytest.approx(-sprt(seen[::-1], -4, 3, model=model).llr, abs=1e-4, rel=1e-5)


def test_a_sequential_test_errs_about_as_often_as_alpha() -> None:
    """Pairs drawn from equal players: elo1 is wrongly accepted in about alpha of all tests."""
    drawn = random.Random(3)
    wrong = 0
    for _ in range(200):
        pairs = [0] * 5
        test = sprt(pairs, 0, 60, alpha=0.05, beta=0.05)
        while test.verdict is None:
            for _ in range(10):
                pairs[drawn.choices(range(5), [1, 4, 10, 4, 1])[0]] += 1
            test = sprt(pairs, 0, 60, alpha=0.05, beta=0.05)
        wrong += test.verdict == "elo1"
    assert wrong <= 20, "0.05 of 200 is 10; 20 would happen in one of 500 such tests"


def test_the_test_gives_a_number_for_any_counts_and_hypotheses() -> None:
    assert sprt([0, 0, 1, 0, 1_000_000], 0, 10).verdict == "elo1"
    drawn = random.Random(5)
    models: tuple[Model, ...] = ("normalised", "logistic")
    for model in models:
        for _ in range(300):
            kinds = (0, 0, 1, drawn.randrange(10**6), drawn.randrange(10**12), MOST)
            counts = [drawn.choice(kinds) for _ in range(drawn.choice((3, 5)))]
            elo0, elo1 = sorted(drawn.uniform(-230, 230) for _ in range(2))
            forwards = sprt(counts, elo0, elo1, model=model).llr
            assert math.isfinite(forwards)
            mirrored = sprt(counts[::-1], -elo1, -elo0, model=model).llr  # from the other player's view
            assert mirrored == pytest.approx(-forwards, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2], 0, 5), "counts = (1, 2): must be three"),
        (([1, -2, 3], 0, 5), "from 0 to"),
        (([1, 2, 10**400], 0, 5), "from 0 to"),
        (([1, 2, 3, 4, 5], 0, 300), "on the normalised scale"),
        (([1, 2, 3], 5, 0), "the smaller one first"),
        (([1, 2, 3], 0, 5, 0.7), "alpha = 0.7"),
        (([1, 2, 3], 0, 5, 0.05, 0.05, "odd"), "model = 'odd'"),
    ],
)
def test_invalid_arguments_are_refused_with_an_error_that_names_them(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(BadValue) as refused:
        sprt(*arguments)
    assert words in str(refused.value)
    with pytest.raises(BadValue, match="at least one game"):
        compare([0, 0, 0])


def test_elo_and_score_are_inverse() -> None:
    for difference in (-400.0, -3.5, 0.0, 120.0):
        assert elo(expected(difference)) == pytest.approx(difference)
    assert (elo(1.0), elo(0.0)) == (pytest.approx(1199.83, abs=0.01), pytest.approx(-1199.83, abs=0.01))


# Tables


def table(scores: dict[tuple[int, int], tuple[float, float]], n: int) -> tuple[np.ndarray, np.ndarray]:
    points, games = np.zeros((n, n)), np.zeros((n, n))
    for (i, j), (scored, played) in scores.items():
        points[i, j], points[j, i] = scored, played - scored
        games[i, j] = games[j, i] = played
    return points, games


def test_ratings_of_three_engines_agree_with_published_ones() -> None:
    points, games = table({(0, 1): (22.5, 30), (1, 2): (22.5, 30), (0, 2): (27, 30)}, 3)
    rated = rate(["one", "two", "three"], points, games)
    assert [round(value) for value in rated.elo] == [191, 0, -191]
    assert not rated.prior
    assert rated.superiority[0, 1] > 0.99
    assert rated.superiority[0, 1] + rated.superiority[1, 0] == pytest.approx(1)
    to_last = rate(["one", "two", "three"], points, games, anchor="three", level=1000)
    assert [round(value) for value in to_last.elo] == [1382, 1191, 1000]
    assert to_last.error[2] == pytest.approx(0, abs=1e-3)
    assert np.allclose(to_last.superiority, rated.superiority)


def test_ratings_of_two_players_agree_with_their_comparison() -> None:
    points, games = table({(0, 1): (60, 100)}, 2)
    rated = rate(["a", "b"], points, games)
    assert rated.elo[0] - rated.elo[1] == pytest.approx(compare([40, 0, 60]).elo)
    assert rated.superiority[0, 1] == pytest.approx(compare([40, 0, 60]).superiority, abs=0.005)


@pytest.mark.parametrize(
    "scores",
    [
        {(0, 1): (10.0, 10.0)},  # a perfect score, and two without games
        {(0, 1): (5.0, 10.0), (2, 3): (5.0, 10.0)},  # two groups that never met
        {(0, 1): (0.0, 10.0), (1, 2): (0.0, 10.0), (2, 3): (0.0, 10.0)},
        {},
    ],
)
def test_perfect_scores_and_unconnected_groups_are_finite_and_flagged(scores: dict) -> None:
    rated = rate(list("abcd"), *table(scores, 4))
    assert rated.prior
    assert np.isfinite(rated.elo).all()
    assert np.isfinite(rated.error).all()
    assert rated.elo.mean() == pytest.approx(0, abs=1e-6)


def test_ratings_of_two_hundred_agents_cover_their_true_strengths() -> None:
    """A round robin of 100,000 matches drawn from known strengths: 95 % intervals hold for about 95 %."""
    drawn = np.random.default_rng(5)
    truth = drawn.normal(0, 200, 200)
    truth -= truth.mean()
    points, games = np.zeros((200, 200)), np.zeros((200, 200))
    for i in range(200):
        for j in range(i + 1, 200):
            won = drawn.binomial(5, expected(truth[i] - truth[j]))
            points[i, j], points[j, i] = won, 5 - won
            games[i, j] = games[j, i] = 5
    rated = rate([f"a{n}" for n in range(200)], points, games)
    inside = np.abs(rated.elo - truth) <= rated.error
    assert 0.88 <= inside.mean() <= 1.0
    order = drawn.permutation(200)
    again = rate([f"a{n}" for n in order], points[np.ix_(order, order)], games[np.ix_(order, order)])
    assert np.allclose(again.elo, rated.elo[order], atol=1e-6)


def test_points_that_do_not_add_up_are_refused() -> None:
    points, games = table({(0, 1): (5, 10)}, 2)
    points[0, 1] = 7
    with pytest.raises(BadValue, match="add up"):
        rate(["a", "b"], points, games)
    with pytest.raises(BadValue, match="anchor = 'c'"):
        rate(["a", "b"], *table({(0, 1): (5, 10)}, 2), anchor="c")


def test_running_elo_changes_both_players_equally_and_has_tiers() -> None:
    lines = running_elo([("a", "b", 1.0), ("a", "b", 0.5), ("b", "a", 0.0)])
    assert lines["a"][:2] == [1200.0, 1216.0]
    assert lines["b"][:2] == [1200.0, 1184.0]
    assert lines["a"][-1] + lines["b"][-1] == pytest.approx(2400)
    assert lines["a"][2] < lines["a"][1], "a draw against a weaker agent costs points"
    assert [tier(value) for value in (1399.9, 1400, 1600, 1800)] == ["Bronze", "Silver", "Gold", "Platinum"]


def test_matches_of_many_seats_are_rated_by_ranks() -> None:
    rated = many_seats([(("a", "b", "c"), (1, 2, 3))] * 20 + [(("a", "a", "b"), (1, 2, 3))])
    assert rated["a"][0] > rated["b"][0] > rated["c"][0]
    assert rated["a"][1] < 25 / 3, "the deviation shrinks"
    assert ahead(UNKNOWN, UNKNOWN) == 0.5
    assert 1 > ahead(rated["a"], rated["c"]) > ahead(rated["a"], rated["b"]) > 0.5 > ahead(rated["c"], rated["b"])
    means, deviations = (np.array([rated[name][k] for name in "abc"]) for k in (0, 1))
    found = superior(means, deviations)
    assert found[0, 2] > found[0, 1] > ahead(rated["a"], rated["b"]), (
        "skill is more certain than the outcome of one match"
    )
    assert np.allclose(found + found.T, 1)


@pytest.mark.parametrize("spread", [0, 100, 300, 600])
def test_intervals_forecast_from_a_sample_are_those_of_the_table(spread: int) -> None:
    """Eight agents whose ratings differ by `spread`: 18 games of each pair are known, and 40 are played."""
    drawn = np.random.default_rng(spread)
    names = [str(n) for n in range(8)]
    games = np.full((8, 8), 40.0) - 40 * np.eye(8)

    def play(strengths: np.ndarray, count: int) -> np.ndarray:  # type: ignore[type-arg]
        points = np.zeros((8, 8))
        for i in range(8):
            for j in range(i):
                points[i, j] = drawn.binomial(count, expected(strengths[i] - strengths[j]))
                points[j, i] = count - points[i, j]
        return points

    widths = []
    for _ in range(30):
        strengths = drawn.normal(0, spread, 8)
        sample, played = play(strengths, 18), play(strengths, 40)
        forecast = errors_to_expect(games, rate(names, sample, sample + sample.T).elo)
        errors = rate(names, played, games).error
        widths.append((forecast.min() / errors.min(), forecast.max() / errors.max()))
    for ratio in np.median(widths, axis=0):
        assert 0.85 < ratio < 1.15
    assert np.min(widths) > 0.4  # equal ratings would promise a tenth of the widest interval at a spread of 600


def test_a_hundred_times_the_games_give_a_tenth_of_the_interval() -> None:
    games, elo_of = 2.0 - 2.0 * np.eye(5), np.array([0.0, 50.0, 120.0, 300.0, 700.0])
    assert errors_to_expect(games, elo_of) == pytest.approx(10 * errors_to_expect(100 * games, elo_of))
