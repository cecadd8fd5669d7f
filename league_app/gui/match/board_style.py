"""The piece style of games that can be drawn in several ways: a setting of the window for each game, not a rule."""

from __future__ import annotations

from engine.game import Game
from league_app.core.preferences import Preferences


def chosen_style(settings: Preferences, game: Game) -> str | None:
    """Return the style that was chosen for this game, or None for the default."""
    style = settings.get(_setting(game), "")
    return style if style in game.info.styles else None


def select_next_style(settings: Preferences, game: Game) -> str:
    """Switch to the next style of the game; return a message that names it."""
    styles = game.info.styles
    if not styles:
        return f"{game.info.title} has only one piece style"
    after = styles[(styles.index(chosen_style(settings, game) or styles[0]) + 1) % len(styles)]
    settings.set(_setting(game), after)
    return f"{game.info.title} piece style: {after}"


def _setting(game: Game) -> str:
    return f"style.{game.spec.name}"
