"""PettingZoo in both directions: its environments as games, and our games as its environments.

    new_game("pettingzoo:connect_four_v3")   # import: discrete actions, deterministic under a seed
    env("pong", points=1)                    # export: a ParallelEnv if all seats act at once, else an AECEnv
    game_class("relay", "others.relay_v0")   # import by a plug-in, which registers it under `ringside.games`

PettingZoo is optional; if it is missing, an error says how to install it.
"""

from __future__ import annotations

from typing import Any

from engine.errors import BadValue
from engine.game import Game
from engine.games.pettingzoo.discovery import require
from engine.games.pettingzoo.family import PettingZoo, game_class
from engine.registry import new_game

FAMILY = PettingZoo()


def env(game: str | Game, render_mode: str | None = None, **options: object) -> Any:
    """An environment that holds one board of a game; the game is given by name and options, or as a Game."""
    require()
    if options and not isinstance(game, str):
        raise BadValue("options", options, f"empty: the given {game.spec.name} already has its options")
    from engine.games.pettingzoo.export import export

    return export(new_game(game, **options) if isinstance(game, str) else game, render_mode)


__all__ = ["FAMILY", "env", "game_class"]
