"""Matches and fitness of each mode, with fabricated results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from agents.training.matchmaking import curriculum, groups, matches, ready_bots, share_of, shuffled
from agents.training.neat.config import NeatConfig
from agents.training.neat.modes import MODES
from agents.training.neat.state import EvolutionRun, GenerationEvaluation
from agents.training.novelty import Archive
from agents.training.scoring import merits_of, outcomes_of
from engine.errors import BadValue, UnknownName
from engine.league.ratings import START, rerate
from engine.league.statistics import interval
from engine.play.match import Ending, EndingKind, Limits, MatchResult, MatchSpec
from engine.play.results import ResultBatch
from engine.registry import new_game
from tests.agents.training.fake_context import GAME, mode_of, trainer, write_config

FINISHED = Ending(EndingKind.FINISHED)
STATS = GAME.info.stats


@pytest.fixture
def crowd(tmp_path: Path) -> str:
    return write_config(tmp_path / "crowd.txt")


def result(
    scores: Sequence[float],
    ending: Ending = FINISHED,
    spec: MatchSpec | None = None,
    stats: Any = None,
    steps: int = 50,
) -> MatchResult:
    """A match result; a seat that forfeits is last."""
    keyed = [(seat in ending.seats, -score) for seat, score in enumerate(scores)]
    ranks = tuple(1 + sum(other < key for other in keyed) for key in keyed)
    players = tuple(player.id for player in spec.players) if spec else tuple(str(seat) for seat in range(len(scores)))
    rows = tuple(tuple(map(float, row)) for row in stats) if stats is not None else ((0.0,) * len(STATS),) * len(scores)
    return MatchResult(spec.id if spec else "0.0", players, tuple(map(float, scores)), ranks, steps, ending, rows, b"")


def in_columns(specs: Sequence[MatchSpec], play: Callable[[MatchSpec], MatchResult]) -> ResultBatch:
    return ResultBatch.of(specs, [play(spec) for spec in specs])


def evaluated(
    config: NeatConfig,
    play: Callable[[MatchSpec], MatchResult],
    prepare: Callable[[EvolutionRun], None] = lambda run: None,
) -> tuple[EvolutionRun, GenerationEvaluation]:
    """A first generation evaluated with fabricated results."""
    run, mode = EvolutionRun.start(config, GAME, None), mode_of(config)
    prepare(run)
    met = mode.encounters(run)
    return run, mode.evaluate(run, met, in_columns(matches(met, Limits()), play))


def by_number(spec: MatchSpec) -> MatchResult:
    """The larger key wins by the difference; bots and the hall of fame count as 5."""
    worth = [float(player.id) if player.id.isdigit() else 5.0 for player in spec.players]
    return result(worth, spec=spec, stats=[[value] * len(STATS) for value in worth])


def failing(key: str, play: Callable[[MatchSpec], MatchResult] = by_number) -> Callable[[MatchSpec], MatchResult]:
    """The same, except that this genome fails in every match."""

    def played(spec: MatchSpec) -> MatchResult:
        ids = [player.id for player in spec.players]
        if key not in ids:
            return play(spec)
        return result([0.0] * len(ids), Ending(EndingKind.EXCEPTION, (ids.index(key),)), spec)

    return played


# Results


def test_an_outcome_is_the_share_of_opponents_beaten() -> None:
    assert outcomes_of(result([3, 1])) == [1.0, 0.0]
    assert outcomes_of(result([2, 2])) == [0.5, 0.5]
    assert outcomes_of(result([5, 1, 3])) == [1.0, 0.0, 0.5]
    assert outcomes_of(result([5, 5, 3])) == [0.75, 0.75, 0.0]


@pytest.mark.parametrize("kind", [EndingKind.EXCEPTION, EndingKind.CRASH, EndingKind.CANNOT_START, EndingKind.TIMEOUT])
def test_a_failed_seat_has_no_outcome_and_the_other_wins(kind: EndingKind) -> None:
    assert outcomes_of(result([3, 0], Ending(kind, (0,)))) == [None, 1.0]
    assert merits_of(result([0, 0], Ending(kind, (1,))))[1] is None


@pytest.mark.parametrize("kind", [EndingKind.VOID, EndingKind.CANCELLED, EndingKind.QUARANTINED])
def test_a_match_that_was_not_played_has_no_outcomes(kind: EndingKind) -> None:
    assert outcomes_of(result([3, 0], Ending(kind))) == [None, None]
    assert merits_of(result([3, 0], Ending(kind))) == [None, None]


def test_merit_is_half_outcome_and_half_margin() -> None:
    assert merits_of(result([5, 0])) == [1.0, 0.0]
    assert merits_of(result([2, 2])) == [0.5, 0.5]
    close, clear = merits_of(result([5, 4])), merits_of(result([5, 1]))
    assert 0.75 < close[0] < clear[0] < 1.0
    assert close[0] + close[1] == 1.0
    assert merits_of(result([-5, -1]))[1] > 0.5
    for merit in merits_of(result([1e300, -1e300, 0.0])):
        assert 0.0 <= merit <= 1.0


# Who meets whom


@pytest.mark.parametrize(
    ("count", "size", "meetings"), [(10, 2, 5), (11, 2, 5), (7, 3, 5), (9, 3, 4), (3, 3, 1), (2, 2, 3)]
)
def test_each_player_meets_enough_others_and_never_itself(count: int, size: int, meetings: int) -> None:
    found = [group for pairs in groups(count, size, meetings, 77) for group in pairs]
    met = Counter(player for group in found for player in group for _ in range(size - 1))
    assert set(met) == set(range(count))
    assert min(met.values()) >= meetings
    assert all(len(set(group)) == size for group in found)
    assert found == [group for pairs in groups(count, size, meetings, 77) for group in pairs]
    assert sorted(shuffled(count, 5)) == list(range(count))


def test_pairings_are_drawn_anew_each_round_and_each_generation() -> None:
    rounds = [frozenset(map(frozenset, pairs)) for pairs in groups(20, 2, 5, 1)]
    assert len(set(rounds)) == 5
    assert groups(20, 2, 5, 1) != groups(20, 2, 5, 2)


@pytest.mark.parametrize("count", range(2, 22))
def test_no_pair_meets_twice_before_all_pairs_have_met(count: int) -> None:
    rounds = groups(count, 2, count - 1 + count % 2, 3)
    for pairs in rounds:
        assert {player for pair in pairs for player in pair} == set(range(count))
    met = Counter(frozenset(pair) for pairs in rounds for pair in (pairs[1:] if count % 2 else pairs))
    assert set(met.values()) == ({1} if met else set())
    assert len(met) == count * (count - 1) // 2


@pytest.mark.parametrize("mode", sorted(MODES))
def test_each_genome_has_each_seat_equally_often_with_the_same_seeds(mode: str, crowd: str) -> None:
    config = trainer(crowd, mode=mode, opponents=5)
    run = EvolutionRun.start(config, GAME, None)
    specs = matches(mode_of(config).encounters(run), Limits())
    seats: dict[str, Counter[int]] = {}
    seeds: dict[str, Counter[int]] = {}
    for spec in specs:
        for seat, player in enumerate(spec.players):
            seats.setdefault(player.id, Counter())[seat] += 1
        for player in {player.id for player in spec.players}:
            seeds.setdefault(player, Counter())[spec.seed] += 1
    own = [str(key) for key in run.evolution.genomes]
    assert set(own) <= set(seats)
    for name in own:
        assert seats[name][0] == seats[name][1] > 0
        assert seeds[name] == seeds[own[0]], "all genomes have the same seeds"


def test_a_genome_meets_five_opponents_by_default(crowd: str) -> None:
    config = NeatConfig(mode="competitive", neat_config=crowd, population=20)
    assert (config.opponents, config.neighbours, config.archive, config.hall_share, config.hall_every) == (
        5,
        15,
        500,
        0.2,
        5,
    )
    met = mode_of(config).encounters(EvolutionRun.start(config, GAME, None))
    counts = Counter(player.id for encounter in met for player in encounter.players)
    assert set(counts.values()) == {5}


# Rating


@pytest.mark.parametrize("mode", ["competitive", "self-play"])
def test_more_wins_mean_more_fitness_and_the_mean_is_1200(mode: str, crowd: str) -> None:
    _, evaluation = evaluated(trainer(crowd, mode=mode, opponents=9, novelty=0.0), by_number)
    ordered = sorted(evaluation.fitness, key=evaluation.fitness.__getitem__)
    assert ordered[-1] == max(evaluation.fitness)
    assert ordered[0] == min(evaluation.fitness)
    assert np.mean(list(evaluation.fitness.values())) == pytest.approx(1200)
    assert evaluation.failed == 0


def test_ratings_are_the_most_likely_ones() -> None:
    draw = np.random.default_rng(2)
    first, second = draw.integers(0, 6, 40), draw.integers(0, 6, 40)
    first, second = first[first != second], second[first != second]
    points, before = draw.choice([0.0, 0.5, 1.0, 0.8], len(first)), draw.normal(1200, 100, 6)

    def unlikely(elo: Any) -> float:
        scored = 1 / (1 + 10 ** ((elo[second] - elo[first]) / 400))
        fits = -np.sum(points * np.log(scored) + (1 - points) * np.log(1 - scored))
        return float(fits + np.sum(((elo - before) / 200) ** 2) / 2)

    found = rerate(before, first, second, points, 200.0)
    best = minimize(unlikely, before, tol=1e-12)
    assert found == pytest.approx(best.x, abs=0.05)
    order = draw.permutation(len(first))
    assert rerate(before, first[order], second[order], points[order], 200.0) == pytest.approx(found, abs=1e-6)
    assert rerate(before, second, first, 1 - points, 200.0) == pytest.approx(found, abs=1e-6)


def test_ratings_without_games_stay_and_perfect_scores_stay_finite() -> None:
    none = np.zeros(0, np.int64)
    assert rerate(np.array([1200.0, 1300.0]), none, none, np.zeros(0), 200.0).tolist() == [1200.0, 1300.0]
    wins = np.zeros(500, np.int64), np.ones(500, np.int64), np.ones(500)
    strong, weak = rerate(np.full(2, START), *wins, 200.0)
    assert 1400 < strong < 3000
    assert strong + weak == pytest.approx(2 * START)


def test_the_interval_of_a_share_is_wilsons() -> None:
    assert interval(0, 0) == (0.0, 1.0)
    low, high = interval(50, 100)
    assert (low, high) == (pytest.approx(0.4038, abs=1e-4), pytest.approx(0.5962, abs=1e-4))
    assert interval(10, 10) == (pytest.approx(0.7225, abs=1e-4), pytest.approx(1.0))
    assert interval(0, 10) == (0.0, pytest.approx(0.2775, abs=1e-4))


# Failures


@pytest.mark.parametrize("mode", ["against-bots", "self-play", "competitive"])
def test_a_genome_that_always_fails_is_last_and_its_failures_are_counted(mode: str, crowd: str) -> None:
    # level 0 scores shares of 1: with fitness below 0.0 nowhere, a failure that were scored 0 would show
    config = trainer(crowd, mode=mode, opponents=9, novelty=0.0)
    _, well = evaluated(config, by_number)
    _, evaluation = evaluated(config, failing("7"))
    others = [value for key, value in evaluation.fitness.items() if key != 7]
    assert evaluation.fitness[7] == min(others)
    assert evaluation.fitness[7] != 0.0
    assert well.failed == 0
    assert evaluation.failed == {"against-bots": 2, "self-play": 18, "competitive": 18}[mode]


def test_a_genome_that_fails_sometimes_is_evaluated_by_its_other_matches(crowd: str) -> None:
    config = trainer(crowd, mode="against-bots", games=2)

    def at_times(spec: MatchSpec) -> MatchResult:
        return failing("7")(spec) if spec.id.endswith(".1") else by_number(spec)

    _, evaluation = evaluated(config, at_times)
    assert evaluation.fitness == evaluated(config, by_number)[1].fitness
    assert evaluation.failed == 2


@pytest.mark.parametrize("mode", sorted(MODES))
def test_if_all_matches_fail_all_genomes_are_equal(mode: str, crowd: str) -> None:
    config = trainer(crowd, mode=mode, novelty=0.0)
    void = Ending(EndingKind.VOID)
    run, evaluation = evaluated(config, lambda spec: result([0.0, 0.0], void, spec))
    assert len(set(evaluation.fitness.values())) == 1
    assert evaluation.failed == len(matches(mode_of(config).encounters(run), Limits()))


def test_a_failing_genome_gets_no_novelty_bonus(crowd: str) -> None:
    _, evaluation = evaluated(trainer(crowd, mode="competitive", opponents=9, novelty=400.0), failing("7"))
    assert evaluation.fitness[7] == min(evaluation.fitness.values())


# Novelty


def test_novelty_is_the_mean_distance_to_the_nearest_neighbours() -> None:
    draw = np.random.default_rng(4)
    seen, before = draw.normal(3, 2, (30, 4)), draw.normal(3, 2, (7, 4))
    found = Archive(500, 15, before.tolist()).novelty(seen)
    everybody = np.vstack([seen, before])
    scaled = everybody / everybody.std(axis=0)
    for place in range(30):
        apart = sorted(
            float(np.sqrt(((scaled[place] - other) ** 2).mean())) for at, other in enumerate(scaled) if at != place
        )
        assert found[place] == pytest.approx(sum(apart[:15]) / 15)


def test_the_archive_adds_the_most_novel_and_drops_the_oldest() -> None:
    archive = Archive(12, 3)
    for turn in range(4):
        seen = np.arange(20.0).reshape(10, 2) + 100 * turn
        novel = archive.novelty(seen)
        newest = {tuple(seen[at].tolist()) for at in np.argsort(-novel, kind="stable")[:5].tolist()}
        assert set(archive.rows[-5:]) == newest
        assert len(archive.rows) == min(5 * (turn + 1), 12)
    assert min(row[0] for row in archive.rows) >= 100, "the first ones have left"


def test_novelty_is_zero_among_equals_and_alone() -> None:
    assert Archive(500, 15).novelty(np.ones((6, 3))).tolist() == [0.0] * 6
    assert Archive(500, 15).novelty(np.ones((1, 3))).tolist() == [0.0]


def test_novelty_is_zero_in_a_game_without_statistics() -> None:
    assert Archive(500, 15).novelty(np.zeros((6, 0))).tolist() == [0.0] * 6


def test_novelty_uses_a_genomes_own_statistics(crowd: str) -> None:
    def own(spec: MatchSpec) -> MatchResult:
        stats = [[int(player.id) * 10 + at for at in range(len(STATS))] for player in spec.players]
        return result([1.0, 1.0], spec=spec, stats=stats)

    _, evaluation = evaluated(trainer(crowd, mode="competitive"), own)
    wanted = {tuple(float(key * 10 + at) for at in range(len(STATS))) for key in evaluation.fitness}
    assert len(evaluation.behaviours) == 5
    assert set(evaluation.behaviours) <= wanted, "the means of its own statistics: no opponent's are mixed in"
    assert evaluation.fitness[1] > evaluation.fitness[5] < evaluation.fitness[10], "the ends are most novel"
    _, chosen = evaluated(trainer(crowd, mode="competitive", behaviour="distance, hits"), own)
    assert {len(row) for row in chosen.behaviours} == {2}
    assert all(distance == hits + 2 for distance, hits in chosen.behaviours)


# Bots


def test_the_curriculum_rises_when_the_newest_bot_is_mastered(crowd: str) -> None:
    config = trainer(crowd, mode="against-bots", mastery=0.75)
    run, evaluation = evaluated(config, by_number)
    assert (run.level, evaluation.level, evaluation.metrics["population/level"]) == (0, 1, 0.0)
    assert "wins 100% of the points against Still; next: Lazy" in evaluation.messages[0]
    _, beaten = evaluated(config, lambda spec: result([1.0, 1.0], spec=spec))
    assert (beaten.level, beaten.messages) == (0, [])

    def at_top(run: EvolutionRun) -> None:
        run.level = 2

    _, top = evaluated(config, by_number, at_top)
    assert (top.level, top.messages) == (2, [])
    assert min(top.fitness.values()) >= 2.0, "a level is worth more than all that can be won below it"
    assert max(evaluation.fitness.values()) <= 1.0


def test_a_level_meets_its_bot_and_the_one_before(crowd: str) -> None:
    config = trainer(crowd, mode="against-bots")
    run, mode = EvolutionRun.start(config, GAME, None), mode_of(config)
    for level, wanted in enumerate([{"Still"}, {"Still", "Lazy"}, {"Lazy", "Tracker"}]):
        run.level = level
        assert {encounter.players[1].id for encounter in mode.encounters(run)} == wanted


def test_options_of_the_game_approach_their_values_level_by_level() -> None:
    game = new_game("pong", serve_speed=8.0, points=5)
    found = curriculum(game, ready_bots(game, "Still,Lazy,Tracker"), "serve_speed=4, points=1")
    options = [dict(spec.options) for spec in found.games]
    ramp = [(4.0, 1), (5.0, 2), (6.0, 3), (7.0, 4), (8.0, 5)]
    assert [(option["serve_speed"], option["points"]) for option in options] == ramp
    assert [found.bot(level).id for level in range(5)] == ["Still", "Still", "Lazy", "Lazy", "Tracker"]
    assert found.games[-1] == game.spec
    alone = curriculum(game, ready_bots(game, "Still"), "serve_speed=4")
    assert [dict(spec.options)["serve_speed"] for spec in alone.games] == [4.0, 5.0, 6.0, 7.0, 8.0]
    assert [[bot.id for bot, _ in alone.at(level)] for level in (0, 4)] == [["Still"], ["Still"]]
    assert curriculum(game, ready_bots(game, "Still"), "").games == (game.spec,)
    for ramp, words in (
        ("spede=1", "unknown option of pong 'spede'"),
        ("points", "ramp = 'points'"),
        ("points=x", "ramp"),
    ):
        with pytest.raises((BadValue, UnknownName), match=words):
            curriculum(game, ready_bots(game, "Still"), ramp)
    with pytest.raises(BadValue, match="serve_speed = 0"):
        curriculum(game, ready_bots(game, "Still,Lazy"), "serve_speed=0")


def test_rewards_are_added_for_each_match(crowd: str) -> None:
    plain = evaluated(trainer(crowd, mode="against-bots"), by_number)[1].fitness
    rewarded = evaluated(trainer(crowd, mode="against-bots", rewards="hits=0.1,steps=0.01"), by_number)[1].fitness
    for key, value in plain.items():
        assert rewarded[key] == pytest.approx(value + 0.1 * key + 0.01 * 50)


# The hall of fame


def test_a_share_of_meetings_is_met_on_average() -> None:
    assert {share_of(5, 0.2, seed, 0) for seed in range(50)} == {1}
    drawn = [share_of(3, 0.2, seed, 0) for seed in range(2000)]
    assert set(drawn) == {0, 1}
    assert sum(drawn) / 2000 == pytest.approx(0.6, abs=0.04)
    assert {share_of(4, 0.0, seed, 0) for seed in range(50)} == {0}
    assert {share_of(4, 1.0, seed, 0) for seed in range(50)} == {4}


def test_the_champion_enters_the_hall_periodically_and_is_an_opponent(crowd: str) -> None:
    config = trainer(crowd, mode="self-play", opponents=5, hall_every=2, hall_size=3)
    run, mode = EvolutionRun.start(config, GAME, None), mode_of(config)
    for generation in range(12):
        met = mode.encounters(run)
        evaluation = mode.evaluate(run, met, in_columns(matches(met, Limits()), by_number))
        famous = [each for each in met if each.players[1].id.startswith("hall ")]
        assert len(famous) == (len(run.evolution.genomes) if generation >= 2 else 0), "one meeting of five"
        assert len(met) - len(famous) == (4 if generation >= 2 else 5) * len(run.evolution.genomes) // 2
        assert evaluation.metrics["population/hall"] == min(generation // 2, 3)
        assert ("hall/share" in evaluation.metrics) == (generation >= 2)
        champion = max(evaluation.fitness, key=evaluation.fitness.__getitem__)
        before = list(run.hall)
        genome = run.evolution.genome(champion)
        run.advance(evaluation, config)
        if generation % 2:
            assert run.hall == [*before, run.hall[-1]][-3:]
            assert (run.hall[-1].key, run.hall[-1].generation, run.hall[-1].genome) == (
                champion,
                generation,
                genome,
            )
        else:
            assert run.hall == before
