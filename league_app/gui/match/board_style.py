"""Ways to draw a game that has several: chosen by a person, kept for each game, and no part of its rules."""

from __future__ import annotations

from engine.game import Game
from league_app.core.preferences import Settings


def chosen(settings: Settings, game: Game) -> str | None:
    """None for the usual one."""
    kept = settings.get(_name(game), "")
    return kept if kept in game.info.styles else None


def turn(settings: Settings, game: Game) -> str:
    """The next one from now on; says which."""
    styles = game.info.styles
    if not styles:
        return f"{game.info.title} looks one way only"
    after = styles[(styles.index(chosen(settings, game) or styles[0]) + 1) % len(styles)]
    settings.set(_name(game), after)
    return f"{game.info.title} is drawn with {after}"


def _name(game: Game) -> str:
    return f"style.{game.spec.name}"
