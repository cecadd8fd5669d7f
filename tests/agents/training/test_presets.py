"""Presets that are made for a game."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agents.training.trainer import presets_for
from engine.options import build
from engine.registry import GAMES, TRAINERS, new_game


def test_presets_of_the_game_come_first_and_those_of_other_games_are_left_out() -> None:
    presets: Any = {"quick": {"n": 1}, "Go": {"n": 2}, "slow": {"n": 3}, "Both": {"n": 4}}
    trainer: Any = SimpleNamespace(presets=presets, preset_games={"Go": ("go",), "Both": ("chess", "go")})
    assert list(presets_for(trainer, "go")) == ["Go", "Both", "quick", "slow"]
    assert list(presets_for(trainer, "chess")) == ["Both", "quick", "slow"]
    assert presets_for(trainer, "other") == {"quick": {"n": 1}, "slow": {"n": 3}}


def test_a_trainer_that_names_no_games_offers_all_its_presets() -> None:
    assert presets_for(TRAINERS.get("neat"), "pong") == TRAINERS.get("neat").presets


@pytest.mark.parametrize("name", TRAINERS.own())
def test_every_preset_for_a_game_fits_it(name: str) -> None:
    trainer = TRAINERS.get(name)
    assert trainer.preset_games.keys() <= trainer.presets.keys()
    for preset, games in trainer.preset_games.items():
        for game in games:
            assert game in GAMES.names()
            build(trainer, trainer.presets[preset]).check(new_game(game), None, False)
