"""Independent learners learn to collect gems within seconds, and as much while the actor plays as in step with it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from agents.training.independent import LearnerSettings, ParallelEnvironment
from agents.training.independent.evaluation import Evaluation
from agents.training.matchmaking import ready_bots
from engine.registry import new_game
from engine.seeding import derive
from tests.benchmarks import scores

HUNT = new_game("treasure-hunt", seats=3, turns=100)
SEEDS = (1, 2, 3, 4)
T95 = 3.182  # of a 95 % interval by Student's t with one degree of freedom less than there are seeds
EQUAL = 0.05  # of the score: a difference between two ways to learn that would matter


def learned(method: str, parallel: dict[str, object], **settings: object) -> tuple[Evaluation, float]:
    """The evaluation of three agents after a short training, and the score of Dice in the same matches."""
    agent = LearnerSettings(method, hidden=(32,), batch=64, learning_rate=3e-3, tau=0.02, discount=0.9)
    config = {
        "epochs": 16, "reward_scale": 0.1, "learn_after": 1000, "epsilon_epochs": 10, "references": "Dice",
        "evaluate_every": 0, "calibrate": False, "parallel": {"train_interval": 1, **parallel},
    }  # fmt: skip
    with ParallelEnvironment(HUNT, [agent] * 3, config | settings) as environment:
        [evaluation] = environment.run_experiment().evaluations
        assert environment.measure_references()
        return evaluation, environment.evaluator.references["Dice"]


@pytest.mark.parametrize("method", ["iqn", "dqn"])
def test_learners_collect_much_more_than_dice(method: str) -> None:
    """With seeds 1 and 2 they collected 2.4 to 2.6 times as much after 16 epochs. The test asks for less: the lower end
    of the 95 % interval over the matches of one evaluation, with one seed of training."""
    evaluation, dice = learned(method, {"training_mode": "stacked"})
    assert evaluation.low > 1.8 * dice
    assert min(evaluation.scores) > 1.5 * dice, "each of them"


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_five_learners_collect_three_times_what_dice_does_at_the_same_board_and_more_than_magpie(seed: int) -> None:
    """By the lower ends of 95 % intervals over the seeds of matches. With these seeds of training, each of the learners
    among four Dice collected 4.4 times what they did (4.3 to 4.5), and among four Magpies 1.03 to 1.06 times."""
    game = new_game("treasure-hunt", seats=5)
    config = {
        "epochs": 40, "epsilon_epochs": 20, "seed": seed, "reward_scale": 0.1, "evaluate_every": 0,
        "references": "none", "calibrate": False, "parallel": {"training_mode": "sequential"},
    }  # fmt: skip
    with ParallelEnvironment(game, [LearnerSettings(discount=0.95)] * 5, config) as environment:
        environment.run_experiment()
        players = environment.population.seated
    seeds = [derive("test", number) for number in range(100)]
    for bot, most in (("Dice", 3.0), ("Magpie", 1.0)):
        own, theirs, _ = scores.beside(game, players, *ready_bots(game, bot), seeds)
        _, low, _ = scores.ratio(own, theirs)
        assert low > most, bot


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean."""
    mean, half = float(np.mean(values)), T95 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return mean - half, mean + half


@pytest.mark.slow
def test_asynchronous_learners_reach_the_same_score_within_its_interval() -> None:
    """Seed by seed, because matches and first networks of a seed are the same in both ways: on both sides, the 95 %
    interval of the mean difference ends before one that matters. In four runs it was within -2.2 % and 1.5 %, and
    contained 0; it would not in every twentieth run of equal ways, so the test does not ask for that."""
    ways: dict[str, dict[str, object]] = {"stacked": {"training_mode": "stacked"}, "free": {"async_learning": True}}
    found = {
        name: np.array([learned("iqn", way, seed=seed, epochs=30, max_lag=16)[0].mean for seed in SEEDS])
        for name, way in ways.items()
    }
    low, high = interval((found["free"] / found["stacked"] - 1).tolist())
    assert -EQUAL < low < high < EQUAL, found
