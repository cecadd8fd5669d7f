"""Short sessions of the presets teach something: seeded, so that they always end alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents.training.events import Champion, Player
from agents.training.matchmaking import Encounter, matches, ready_bots
from agents.training.scoring import outcomes_of
from agents.training.selfplay.config import PpoConfig
from engine.league.statistics import interval
from engine.play.match import AgentSpec, Limits, MatchResult
from engine.play.sequential import SequentialMatchExecutor
from engine.registry import new_game
from engine.seeding import derive
from tests.agents.training.fake_context import of, stay_in_process, trained

PAIRS = 50


def champion_of(game: str, preset: str, **changes: Any) -> Player:
    settings = PpoConfig(**{**PpoConfig.presets[preset], "minutes": 0.0, "seed": 1, **changes})
    [champion] = of(Champion, trained(settings, game=new_game(game).spec))
    return champion.player


def results_against(player: Player, bot: str, game: str) -> list[tuple[int, MatchResult]]:
    """Results on seeds that training does not use, with the seat of the player; the bot has all other seats."""
    rules = new_game(game)
    opponent = ready_bots(rules, bot)[0]
    agent = AgentSpec("champion", player.kind, player.payload, player.version)
    seats = (agent, *[opponent] * (rules.info.seats - 1))
    met = [Encounter(seats, derive("a fresh seed", turn), rules.spec) for turn in range(PAIRS)]
    with SequentialMatchExecutor(32, record=False, quarantine_after=None) as executor:
        return [(result.players.index("champion"), result) for result in executor.run(matches(met, Limits()))]


@pytest.mark.slow
def test_a_network_beats_the_tracker_in_pong(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    player = champion_of("pong", "Pong", updates=300)
    points = [outcomes_of(result)[seat] for seat, result in results_against(player, "Tracker", "pong")]
    low, _ = interval(sum(point for point in points if point is not None), len(points))
    assert low > 0.5


@pytest.mark.slow
def test_a_network_collects_twice_as_much_as_dice(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    player = champion_of("treasure-hunt", "Treasure Hunt", updates=20, validate_every=20, validate_bots="Dice")
    found = results_against(player, "Dice", "treasure-hunt")
    own = [result.scores[seat] for seat, result in found]
    others = [score for seat, result in found for place, score in enumerate(result.scores) if place != seat]
    assert np.mean(own) > 2 * np.mean(others)
