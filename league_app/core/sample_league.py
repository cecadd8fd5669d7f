"""The sample league: all games that come with Ringside and their ready-made agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.errors import LeagueError
from engine.play.match import GameSpec
from engine.registry import GAMES, agents_for, new_game
from league_app.core.state import LeagueState

ROUNDS = 4


def games() -> list[str]:
    """Games that come with Ringside and have at least two ready-made agents."""
    return [name for name in GAMES.own() if sum(map(len, agents_for(new_game(name)).values())) > 1]


def open_or_create(path: Path, plugins: Sequence[str] = ()) -> LeagueState:
    """Opens the sample league, or creates it without any match played."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists():
        return LeagueState(path, plugins=plugins)
    state = LeagueState.new(path, plugins=plugins)
    try:
        for name in games():
            state.add_samples(name)
    except LeagueError:
        state.close()
        raise
    return state


def unplayed(state: LeagueState) -> list[GameSpec]:
    """Games of the sample league that have no tournament yet."""
    played = {tournament.settings.game.name for tournament in state.league.tournaments()}
    return [new_game(name).spec for name in games() if name not in played]
