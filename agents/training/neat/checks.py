"""Checks whether a game can be learned with these settings, before a session starts."""

from __future__ import annotations

from agents.neat.config import advice, config_text, read_config
from agents.neat.pilot import KIND, MOST_LINKS, inputs_of
from agents.training.matchmaking import ready_bots
from agents.training.neat.modes import MODES
from agents.training.neat.settings import NeatSettings
from agents.training.neat.state import EvolutionRun
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec


def check(settings: NeatSettings, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
    seats, links = game.info.seats, inputs_of(game) * game.info.actions
    if not KIND.plays(game) or seats < 2:
        most = f"two or more seats and at most {MOST_LINKS:,} links from inputs to actions"
        raise BadValue("game", game.spec.name, f"a game with {most}; it has {seats} and {links:,}")
    text = config_text("" if resuming else settings.neat_config, game)
    config = read_config(text, game, settings.population)
    if config.pop_size < seats:
        raise BadValue("population", config.pop_size, f"at least {seats}, one for each seat")
    MODES[settings.mode](settings, game, advice(text))
    ready_bots(game, settings.validate_bots, (KIND.name,))
    if ancestor is not None:
        EvolutionRun.start(settings, game, ancestor)
