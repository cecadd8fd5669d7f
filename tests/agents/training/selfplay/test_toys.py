"""PPO finds the known answers of small games."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from agents.nets.pilot import agent
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.learner import Learner
from agents.training.selfplay.state import PpoRun
from engine.game import Game
from engine.registry import GAMES, new_game
from tests.agents.training.fake_context import last_state, stay_in_process, trained
from tests.plugins import toys

SETTINGS: dict[str, Any] = {
    "hidden": "16", "streams": 32, "steps": 16, "minibatch": 256, "seed": 1, "snapshots": 0,
    "scale_observations": False, "validate_every": 1000, "validate_pairs": 1, "checkpoint_every": 1000,
    "discount": 1.0, "updates": 60, "learning_rate": 1e-2,
}  # fmt: skip

for game in toys.ALL:  # the module registers them for worker processes; here they are there for these tests alone
    GAMES.remove(game.name)


@pytest.fixture(autouse=True)
def toy_games(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    stay_in_process(monkeypatch)
    before = torch.get_num_threads()
    for game in toys.ALL:
        GAMES.add(game.name, game)
    yield
    for game in toys.ALL:
        GAMES.remove(game.name)
    torch.set_num_threads(before)


def chances(settings: PpoConfig, game: Game, rows: list[list[float]], legal: list[list[int]], **context: Any) -> Any:
    """The policy after training, for these observations and legal actions."""
    state = last_state(trained(settings, game=game.spec, plugins=("tests.plugins.toys",), **context))
    return policy(PpoRun.from_checkpoint(state, settings, game).learner, rows, legal)


def policy(learner: Learner, rows: list[list[float]], legal: list[list[int]]) -> Any:
    with torch.no_grad():
        logits, _ = learner.net(torch.tensor(rows))
    masked = np.full(logits.shape, -np.inf)
    for row, actions in enumerate(legal):
        masked[row, actions] = logits[row, actions].double()
    powers = np.exp(masked - masked.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_matching_pennies_end_at_one_half() -> None:
    """It starts from a network that nearly always shows the first side. With a weight on entropy, the only equilibrium
    is stable; without, self-play would go round it."""
    game = new_game("pennies")
    settings = PpoConfig(**SETTINGS, entropy=0.5, last_entropy=0.5, normalise_advantages=False)
    rows, legal = [[1.0, 0.0], [0.0, 1.0]], [[0, 1], [0, 1]]
    biased = Learner(settings, game, settings.architecture(game))
    with torch.no_grad():
        biased.net.policy.bias.copy_(torch.tensor([1.5, -1.5]))
    assert policy(biased, rows, legal)[:, 0] == pytest.approx(0.95, abs=0.02)
    found = chances(settings, game, rows, legal, ancestor=agent("Biased", biased.network(1.0)))
    assert found == pytest.approx(np.full((2, 2), 0.5), abs=0.1)


def test_a_reward_that_comes_late_is_waited_for() -> None:
    """The best policy waits (action 1), then takes three points (action 2); masks exclude a shortcut."""
    game = new_game("delay")
    settings = PpoConfig(**SETTINGS, entropy=0.02, reward="score")
    rows, legal = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]], [[0, 1], [0, 2], [0, 2]]
    first, waited, took = chances(settings, game, rows, legal)
    assert first[1] > 0.95
    assert waited[2] > 0.95
    assert first[2] == waited[1] == took[1] == 0.0
