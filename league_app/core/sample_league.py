"""The sample league: every game that comes with Ringside, its ready-made agents, and a first tournament of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.errors import LeagueError
from engine.play.match import GameSpec
from engine.registry import GAMES, agents_for, new_game
from league_app.core.state import LeagueState

ROUNDS = 4


def games() -> list[str]:
    """Those that come with Ringside and have somebody to play them."""
    return [name for name in GAMES.own() if sum(map(len, agents_for(new_game(name)).values())) > 1]


def make(path: Path, plugins: Sequence[str] = ()) -> LeagueState:
    """A new one, with nothing played yet; one that is there already is opened."""
    path.parent.mkdir(parents=True, exist_ok=True)
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
    """Games of the sample that have no tournament yet."""
    played = {one.settings.game.name for one in state.league.tournaments()}
    return [new_game(name).spec for name in games() if name not in played]
