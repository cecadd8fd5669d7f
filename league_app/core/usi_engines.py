"""External USI engines in a league. A person allows an engine to run on this machine by adding or confirming it."""

from __future__ import annotations

import os
from pathlib import Path

from agents.usi.approvals import approve, approved
from agents.usi.engine_spec import NAME, EngineSpec, engine_of, payload_of
from agents.usi.engine_spec import agent as agent_of
from agents.usi.protocol import Identity, ask_engine, check_options
from engine.errors import BadValue
from engine.files import check_path
from engine.league.records import NAME_LENGTH, Agent, check_name
from engine.league.storage.league import League, free_name
from engine.registry import KINDS, all_games
from league_app.core.state import LeagueState
from league_app.core.validation import check_playable


def games() -> dict[str, str]:
    """Name and title of the games that USI engines play."""
    kind = KINDS.get(NAME)
    return {name: game.info.title for name, game in all_games().items() if kind.plays(game)}


def absolute_path(file: Path | str) -> str:
    """The absolute path, as an engine's command needs it."""
    return os.path.abspath(check_path("engine", Path(file).expanduser()))


def identify(file: Path | str, arguments: tuple[str, ...] = (), startup: float = 10.0) -> Identity:
    """Starts the engine, asks for its identity, and ends it. Only for a file that a person has just chosen."""
    return ask_engine(absolute_path(file), arguments, startup)


def name_for(league: League, game: str, identity: Identity, file: Path | str) -> str:
    """A free name: the engine's own if that is valid, else that of its file."""
    taken = [agent.name for agent in league.agents(game, archived=True)]
    for name in (identity.name[:NAME_LENGTH].strip(), Path(file).stem[:NAME_LENGTH].strip()):
        try:
            return free_name(check_name("name", name), taken)
        except BadValue:
            continue
    return free_name("Engine", taken)


def add_engine(state: LeagueState, name: str, game: str, engine: EngineSpec, identity: Identity) -> Agent:
    """Adds an engine whose identity and options a person has seen, and allows it to run on this machine."""
    check_options(dict(engine.options), identity)
    origin = f"external engine: {identity.name or Path(engine.command).name}"
    check_playable(agent_of(name, engine), game)
    approve(engine)
    return state.add_agent(name, game, NAME, payload_of(engine), origin=origin[:200])


def engine_in(league: League, agent: Agent) -> EngineSpec:
    """The engine of an agent; raises BadValue if the agent is of another kind."""
    if agent.kind != NAME:
        raise BadValue("agent", agent.name, f"an external engine (kind {NAME}); it is of kind {agent.kind}")
    return engine_of(league.payload(agent.payload))


def confirm(league: League, agent: Agent) -> EngineSpec:
    """Allows an engine to run on this machine, after a person has seen its whole command."""
    engine = engine_in(league, agent)
    approve(engine)
    return engine


def confirmed(league: League, agent: Agent) -> bool:
    return approved(engine_in(league, agent))
