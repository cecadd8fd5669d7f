"""External engines in a league: entered by a person, who thereby lets them run here, or confirmed later. No Qt."""

from __future__ import annotations

import os
from pathlib import Path

from agents.usi.approvals import approve, approved
from agents.usi.engine_spec import NAME, Engine, engine_of, payload_of
from agents.usi.engine_spec import agent as agent_of
from agents.usi.protocol import Identity, ask_engine, check_options
from engine.errors import BadValue
from engine.files import check_path
from engine.league.records import NAME_LENGTH, Agent, check_name
from engine.league.storage.league import League
from engine.registry import KINDS, all_games
from league_app.core.state import LeagueState
from league_app.core.validation import check_playable
from league_app.core.agent_files import free_name


def games() -> dict[str, str]:
    """Those that engines of this kind play: name and title."""
    kind = KINDS.get(NAME)
    return {name: game.info.title for name, game in all_games().items() if kind.plays(game)}


def whole_path(file: Path | str) -> str:
    """As an engine's command needs it."""
    return os.path.abspath(check_path("engine", Path(file).expanduser()))


def ask(file: Path | str, arguments: tuple[str, ...] = (), startup: float = 10.0) -> Identity:
    """Start it, ask who it is, end it. Only for a file that a person has just chosen."""
    return ask_engine(whole_path(file), arguments, startup)


def name_for(league: League, game: str, identity: Identity, file: Path | str) -> str:
    """What it calls itself, if it can be called so and nobody is; else its file's name."""
    taken = [one.name for one in league.agents(game, archived=True)]
    for name in (identity.name[:NAME_LENGTH].strip(), Path(file).stem[:NAME_LENGTH].strip()):
        try:
            return free_name(check_name("name", name), taken)
        except BadValue:
            continue
    return free_name("Engine", taken)


def enter(state: LeagueState, name: str, game: str, engine: Engine, identity: Identity) -> Agent:
    """Somebody has chosen this program, seen who it is and what it is set to: it may run here from now on."""
    check_options(dict(engine.options), identity)
    told = f"external engine: {identity.name or Path(engine.command).name}"
    check_playable(agent_of(name, engine), game)
    approve(engine)
    return state.add_agent(name, game, NAME, payload_of(engine), origin=told[:200])


def engine_in(league: League, agent: Agent) -> Engine:
    """The engine that an agent of a league is; BadValue if it is none."""
    if agent.kind != NAME:
        raise BadValue("agent", agent.name, f"an external engine (kind {NAME}); it is of kind {agent.kind}")
    return engine_of(league.payload(agent.payload))


def confirm(league: League, agent: Agent) -> Engine:
    """A person has seen the whole command of this one."""
    engine = engine_in(league, agent)
    approve(engine)
    return engine


def confirmed(league: League, agent: Agent) -> bool:
    return approved(engine_in(league, agent))
