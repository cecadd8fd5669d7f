"""PettingZoo, both ways: its environments as games of a league, and our games as environments of its.

    new_game("pettingzoo:connect_four_v3")   # in: whatever has discrete actions and repeats itself under a seed
    env("pong", points=1)                    # out: a ParallelEnv where all seats act at once, else an AECEnv
    game_class("relay", "others.relay_v0")   # in: somebody else's, registered by a plug-in under `ringside.games`

Ringside works without it; who asks for either is told what to install.
"""

from __future__ import annotations

from typing import Any

from engine.errors import BadValue
from engine.game import Game
from engine.games.pettingzoo.family import PettingZoo, game_class
from engine.games.pettingzoo.loading import require
from engine.registry import new_game

FAMILY = PettingZoo()


def env(game: str | Game, render_mode: str | None = None, **options: object) -> Any:
    """An environment over one board of a game, given by its name and options, or ready-made."""
    require()
    if options and not isinstance(game, str):
        raise BadValue("options", options, f"none: the {game.spec.name} that was given has its own already")
    from engine.games.pettingzoo.exported import export

    return export(new_game(game, **options) if isinstance(game, str) else game, render_mode)


__all__ = ["FAMILY", "env", "game_class"]
