"""Short sessions of the presets teach something: seeded, so that synchronous ones always end alike."""

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


def share_of_points(player: Player, bot: str, game: str) -> tuple[float, float]:
    """Its 95 % interval."""
    points = [outcomes_of(result)[seat] for seat, result in results_against(player, bot, game)]
    return interval(sum(point for point in points if point is not None), len(points))


def test_a_network_beats_a_weak_bot_in_pong_after_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    player = champion_of("pong", "Pong", updates=80, validate_every=80, validate_pairs=1)
    low, _ = share_of_points(player, "Lazy", "pong")
    assert low > 0.5


def test_a_network_collects_twice_as_much_as_dice_after_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    few = {"updates": 10, "validate_every": 10, "validate_bots": "Dice", "validate_pairs": 1}
    player = champion_of("treasure-hunt", "Treasure Hunt", **few)
    found = results_against(player, "Dice", "treasure-hunt")
    own = [result.scores[seat] for seat, result in found]
    others = [score for seat, result in found for place, score in enumerate(result.scores) if place != seat]
    assert np.mean(own) > 2 * np.mean(others)


@pytest.mark.slow
def test_asynchronous_mode_teaches_to_beat_a_weak_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two sessions are alike. In three of them the lower ends were 0.92 to 0.95 after 160 updates; after one update
    the upper ends were 0.43 to 0.76."""
    stay_in_process(monkeypatch)
    few = {"updates": 160, "validate_every": 160, "validate_pairs": 1}
    player = champion_of("pong", "Pong", mode="asynchronous", **few)
    low, _ = share_of_points(player, "Still", "pong")
    assert low > 0.8


@pytest.mark.slow
def test_a_network_beats_the_tracker_in_pong(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    low, _ = share_of_points(champion_of("pong", "Pong", updates=300), "Tracker", "pong")
    assert low > 0.5


@pytest.mark.slow
def test_a_network_beats_random_moves_in_shogi(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lower ends of the seeds 1 to 3 were 0.85, 0.91 and 0.94."""
    stay_in_process(monkeypatch)
    player = champion_of("shogi", "Shogi", updates=60, validate_every=60, validate_pairs=1)
    low, _ = share_of_points(player, "Pebble", "shogi")
    assert low > 0.75
