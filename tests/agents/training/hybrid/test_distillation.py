"""A search learns from the recorded matches of a league, and its champion is strong in new matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.training.events import Champion
from agents.training.hybrid.config import HybridConfig
from agents.training.matchmaking import Encounter, matches, ready_bots
from agents.training.scoring import outcomes_of
from engine.league.statistics import interval
from engine.league.storage.league import League
from engine.play.match import AgentSpec, Limits
from engine.play.sequential import SequentialMatchExecutor
from engine.registry import new_game
from engine.seeding import derive
from league_app.core.training_records import find_records
from tests.agents.training.fake_context import of, stay_in_process, trained
from tests.agents.training.hybrid.lesson_leagues import bots, play_tournament

PAIRS = 50


@pytest.mark.slow
@pytest.mark.usefixtures("only_ours")
def test_a_network_that_learns_from_a_league_beats_the_tracker_in_pong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With each of the seeds 1 to 3; with matches of two rounds instead of twenty, with two of them."""
    stay_in_process(monkeypatch)
    game = new_game("pong")
    play_tournament(tmp_path / "a.league", game, bots(game, "Still", "Lazy", "Tracker", "Predictor"), rounds=20)
    config = HybridConfig(
        from_league="strongest", examples=20_000, population_size=6, max_generations=2, epochs=15, seed=1,
        max_parameters=20_000, mode="sequential", validate_bots="Tracker", validate_pairs=5,
    )  # fmt: skip
    query = config.records()
    assert query is not None
    with League(tmp_path / "a.league", read_only=True) as league:
        found = find_records(league, query, game.spec, config.from_league)
    assert found.settings == {"from_league": "Predictor"}
    events = trained(config, game=game.spec, agents=found.players, records=found.records)
    [champion] = of(Champion, events)
    player = AgentSpec("Pupil", champion.player.kind, champion.player.payload, champion.player.version)
    [tracker] = ready_bots(game, "Tracker")
    met = [Encounter((player, tracker), derive("a fresh seed", turn), game.spec) for turn in range(PAIRS)]
    with SequentialMatchExecutor(32, record=False, quarantine_after=None) as executor:
        results = list(executor.run(matches(met, Limits())))
    points = [outcomes_of(result)[result.players.index("Pupil")] for result in results]
    low, high = interval(sum(point or 0.0 for point in points), len(points))
    assert len(points) == 2 * PAIRS
    assert low > 0.5, (low, high)
