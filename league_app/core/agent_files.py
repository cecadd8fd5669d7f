"""Imports .agent files into a league and exports agents to such files, and to files of other programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadValue, RingsideError
from engine.files import write_file
from engine.league.records import Agent, content_hash
from engine.league.storage import agent_file
from engine.league.storage.league import League, free_name
from engine.play.match import AgentSpec
from engine.registry import KINDS
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
    content = agent_file.load(path)
    taken = {agent.name: agent for agent in league.agents(content.game, archived=True)}
    same = taken.get(content.name)
    if same is not None and (same.kind, same.payload) == (content.kind, content_hash(content.payload)):
        return same.name
    return add_from_file(league, content, path, free_name(content.name, taken))


def add_from_file(league: League, content: agent_file.AgentFile, path: Path, name: str) -> Agent:
    """Adds the agent of a file under this name; its kind must accept the payload."""
    spec = AgentSpec(content.name, content.kind, content.payload, content.version)
    check_playable(spec, content.game)
    printable = "".join(letter if letter.isprintable() else "?" for letter in path.name)
    return league.add_agent(
        name,
        content.game,
        spec,
        notes=content.notes,
        colour=content.colour,
        tags=content.tags,
        parents=content.parents,
        origin=content.origin or f"imported from {printable}"[:ORIGIN_LENGTH],
        created=content.created,
    )


def export_agents(league: League, ids: Sequence[str], target: Path, overwrite: bool = False) -> list[Path]:
    """Writes one agent to this file, or several to this folder, each named after its agent. One agent may be written in
    another format of its kind, by the extension of the file."""
    agents = [league.by_id(id) for id in ids]
    if len(agents) == 1 and not target.is_dir():
        if (format := target.suffix[1:].lower()) in formats_of(agents[0].kind):
            return [export_format(league, agents[0], format, target, overwrite)]
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
    names = [field.name for field in dataclasses.fields(agent_file.AgentFile) if field.name != "payload"]
    content = agent_file.AgentFile(
        **{name: getattr(agent, name) for name in names}, payload=league.payload(agent.payload)
    )
    agent_file.save(target, content, overwrite)
    return target


def formats_of(kind: str) -> list[str]:
    """The extensions of files for other programs that agents of this kind can be written as, such as "onnx"."""
    try:
        return sorted(KINDS.get(kind).formats)
    except RingsideError:  # its plug-in is missing
        return []


def export_format(league: League, agent: Agent, format: str, target: Path, overwrite: bool = False) -> Path:
    """Writes an agent as a file for other programs; raises BadValue if its kind has no such format."""
    if format not in formats_of(agent.kind):
        can = sorted(name for name, kind in KINDS.working().items() if format in kind.formats)
        raise BadValue("agent", agent.name, f"of kind {' or '.join(can)} to be written as {format}, not {agent.kind}")
    spec = league.spec(agent.id)
    write_file(target, KINDS.get(agent.kind).formats[format](spec), overwrite)
    return target


def file_name(name: str) -> str:
    """A file name that is valid on every system."""
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name).strip("-")
    return safe[:60] or "agent"
