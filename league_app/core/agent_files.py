"""Agents that come and go: .agent files brought into a league and written from it. No Qt in here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadValue, RingsideError
from engine.files import check_path
from engine.league.storage import agent_file as bundles
from engine.league.records import NAME_LENGTH, Agent, content_hash
from engine.league.storage.league import League
from engine.play.match import AgentSpec
from league_app.core.changes import Change
from league_app.core.state import LeagueState
from league_app.core.validation import check_playable

SUFFIX = ".agent"
ORIGIN_LENGTH = 1000


@dataclass(frozen=True)
class Brought:
    """What came of some files: who is in now, who was already, and what was wrong with the rest."""

    agents: tuple[Agent, ...]
    known: tuple[str, ...]  # names
    wrong: tuple[str, ...]  # sentences


def bring(state: LeagueState, paths: Iterable[Path]) -> Brought:
    """Each by itself: one that is wrong does not keep the others out."""
    agents, known, wrong = [], [], []
    for path in paths:
        try:
            found = bring_one(state.league, path)
        except RingsideError as error:
            wrong.append(str(error))
            continue
        if isinstance(found, str):
            known.append(found)
        else:
            agents.append(found)
    if agents:
        state.notices.add(Change("agents"))
    return Brought(tuple(agents), tuple(known), tuple(wrong))


def bring_one(league: League, path: Path) -> Agent | str:
    """Under its own name or, where another has that, one like it; the name alone if exactly this one is in already."""
    one = bundles.load(path)
    taken = {agent.name: agent for agent in league.agents(one.game, archived=True)}
    same = taken.get(one.name)
    if same is not None and (same.kind, same.payload) == (one.kind, content_hash(one.payload)):
        return same.name
    return enter(league, one, path, free_name(one.name, taken))


def enter(league: League, one: bundles.Bundle, path: Path, name: str) -> Agent:
    """What a file holds, under this name; its kind must accept it."""
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


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name itself, or with a number that nobody has."""
    known = set(taken)
    tries = (name, *(f"{name[: NAME_LENGTH - 8].strip()} ({n})" for n in range(2, len(known) + 3)))
    return next(one for one in tries if one not in known)


def send(league: League, ids: Sequence[str], target: Path) -> list[Path]:
    """One into this file, several into this folder, each under its own name."""
    agents = [league.by_id(id) for id in ids]
    if len(agents) == 1 and not target.is_dir():
        return [send_one(league, agents[0], target)]
    written: list[Path] = []
    for agent in agents:
        stem, number = file_name(agent.name), 1
        place = target / f"{stem}{SUFFIX}"
        while place in written or place.exists():  # nothing of a person's is written over unasked
            number += 1
            place = target / f"{stem}-{number}{SUFFIX}"
        written.append(send_one(league, agent, place))
    return written


def send_one(league: League, agent: Agent, target: Path) -> Path:
    check_path("file", target)
    names = [one.name for one in dataclasses.fields(bundles.Bundle) if one.name != "payload"]
    bundle = bundles.Bundle(**{name: getattr(agent, name) for name in names}, payload=league.payload(agent.payload))
    try:
        bundles.save(target, bundle)
    except OSError as error:
        raise BadValue("file", str(target), f"a file that can be written ({error.strerror})") from None
    return target


def file_name(name: str) -> str:
    """One that every system takes."""
    kept = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name).strip("-")
    return kept[:60] or "agent"
