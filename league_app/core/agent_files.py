"""Imports .agent files into a league and exports agents to such files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import RingsideError
from engine.league.records import Agent, content_hash
from engine.league.storage import agent_file
from engine.league.storage.league import League, free_name
from engine.play.match import AgentSpec
from league_app.core.changes import Change, ChangeKind
from league_app.core.state import LeagueState
from league_app.core.validation import check_playable

SUFFIX = ".agent"
ORIGIN_LENGTH = 1000


@dataclass(frozen=True)
class ImportReport:
    """The result of an import."""

    agents: tuple[Agent, ...]
    known: tuple[str, ...]  # names of agents that were in the league already
    wrong: tuple[str, ...]  # error messages


def import_agents(state: LeagueState, paths: Iterable[Path]) -> ImportReport:
    """Imports each file by itself: an error in one does not affect the others."""
    agents, known, wrong = [], [], []
    for path in paths:
        try:
            found = import_agent(state.league, path)
        except RingsideError as error:
            wrong.append(str(error))
            continue
        if isinstance(found, str):
            known.append(found)
        else:
            agents.append(found)
    if agents:
        state.notices.add(Change(ChangeKind.AGENTS))
    return ImportReport(tuple(agents), tuple(known), tuple(wrong))


def import_agent(league: League, path: Path) -> Agent | str:
    """Imports an agent under its own name, with a number if that is taken; returns just the name if the league has this
    very agent already."""
    one = agent_file.load(path)
    taken = {agent.name: agent for agent in league.agents(one.game, archived=True)}
    same = taken.get(one.name)
    if same is not None and (same.kind, same.payload) == (one.kind, content_hash(one.payload)):
        return same.name
    return add_from_file(league, one, path, free_name(one.name, taken))


def add_from_file(league: League, one: agent_file.AgentFile, path: Path, name: str) -> Agent:
    """Adds the agent of a file under this name; its kind must accept the payload."""
    spec = AgentSpec(one.name, one.kind, one.payload, one.version)
    check_playable(spec, one.game)
    printable = "".join(letter if letter.isprintable() else "?" for letter in path.name)
    return league.add_agent(
        name,
        one.game,
        spec,
        notes=one.notes,
        colour=one.colour,
        tags=one.tags,
        parents=one.parents,
        origin=one.origin or f"imported from {printable}"[:ORIGIN_LENGTH],
        created=one.created,
    )


def export_agents(league: League, ids: Sequence[str], target: Path, overwrite: bool = False) -> list[Path]:
    """Writes one agent to this file, or several to this folder, each named after its agent."""
    agents = [league.by_id(id) for id in ids]
    if len(agents) == 1 and not target.is_dir():
        return [export_agent(league, agents[0], target, overwrite)]
    written: list[Path] = []
    for agent in agents:
        stem, number = file_name(agent.name), 1
        place = target / f"{stem}{SUFFIX}"
        while place in written or place.exists():  # existing files are not overwritten
            number += 1
            place = target / f"{stem}-{number}{SUFFIX}"
        written.append(export_agent(league, agent, place))
    return written


def export_agent(league: League, agent: Agent, target: Path, overwrite: bool = False) -> Path:
    names = [one.name for one in dataclasses.fields(agent_file.AgentFile) if one.name != "payload"]
    content = agent_file.AgentFile(
        **{name: getattr(agent, name) for name in names}, payload=league.payload(agent.payload)
    )
    agent_file.save(target, content, overwrite)
    return target


def file_name(name: str) -> str:
    """A file name that is valid on every system."""
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name).strip("-")
    return safe[:60] or "agent"
