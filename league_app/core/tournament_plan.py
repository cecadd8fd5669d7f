"""What a new tournament consists of: settings, entrants and a name, where the caller leaves them open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from engine.league.records import TournamentSettings
from engine.league.storage.league import League
from engine.play.match import SEED_LIMIT, GameSpec
from engine.registry import game_of
from league_app.core.validation import check_not_played, make_settings, resolve_game


class TournamentPlan(NamedTuple):
    settings: TournamentSettings
    entrants: list[str]  # ids of agents
    name: str  # if it is given no other


def make_plan(
    league: League,
    game: GameSpec | str | None,
    agents: Sequence[str] | None,
    format: str | None,
    options: Mapping[str, object] | None,
    more: Mapping[str, object],
) -> TournamentPlan:
    """See `LeagueState.plan_tournament`; `more` are further settings of the tournament."""
    before = league.tournaments()
    repeat = bool(before) and game is None and agents is None and format is None and not options and not more
    if repeat:
        last = before[-1].settings
        settings = replace(last, seed=(last.seed + 1) % SEED_LIMIT)
    else:
        seed = len(before) + 1  # the same seed would count the same games twice
        chosen = {"seed": seed, **more}
        settings = make_settings(resolve_game(league, game), format or "round-robin", options or {}, **chosen)
    spec = settings.game
    if agents is not None:
        entrants = [league.agent(agent, spec.name).id for agent in agents]
    else:
        available = [agent.id for agent in league.agents(spec.name)]
        entrants = [entrant for entrant in before[-1].entrants if entrant in available] if repeat else available
    check_not_played(settings, entrants, before)
    name = f"{game_of(spec).info.title} {settings.format.replace('-', ' ')} {len(before) + 1}"
    return TournamentPlan(settings, entrants, name)
