"""Query of the population of a training session, as its trainer finds it in the state of the newest checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.training.population import Population
from engine.errors import BadLeague, BrokenPlugin, NotNow, RingsideError
from engine.league.storage.session_rows import SavedCheckpoint, Session
from engine.league.storage.sessions import SessionStore
from engine.registry import TRAINERS
from league_app.core.formatting import error_text, shorten
from league_app.core.population import checked
from league_app.core.state import LeagueState
from league_app.core.trainers import trainer_facts

NEWEST = "SELECT state FROM checkpoints WHERE session = ? AND state IS NOT NULL ORDER BY step DESC, number DESC LIMIT 1"
LONGEST_ERROR = 300  # characters of an error of a trainer


@dataclass(frozen=True, eq=False)
class LoadedPopulation:
    """What is known of the population of a session."""

    session: int
    state: str = ""  # content hash of the newest state; empty if no checkpoint has one, or the trainer no population
    step: int = 0  # of the checkpoint that was read
    population: Population | None = None
    error: str = ""  # why it cannot be shown
    note: str = ""  # why it is not that of the newest checkpoint


def load_population(state: LeagueState, number: int, known: LoadedPopulation | None = None) -> LoadedPopulation:
    """The population of this session. Returns `known` if there is no newer checkpoint."""
    sessions = state.training.sessions
    newest = newest_state(sessions, number)
    if known is not None and known.session == number and known.state == newest:
        return known
    if not newest:
        return LoadedPopulation(number)
    try:
        step, population, note = read_population(sessions, sessions.session(number))
    except RingsideError as error:
        return LoadedPopulation(number, newest, error=error_text(error))
    return LoadedPopulation(number, newest, step, population, note=note)


def newest_state(sessions: SessionStore, number: int) -> str:
    """The content hash of the newest state, without reading it; empty if there is none, or the trainer has no
    population."""
    if not trainer_facts(sessions.session(number).trainer).has_population:
        return ""
    rows = sessions.league.file.read(NEWEST, number)
    return str(rows[0][0]) if rows else ""


def read_population(sessions: SessionStore, session: Session) -> tuple[int, Population, str]:
    """Step and population of the newest checkpoint that can be read, and why a newer one is left out. Raises an error
    if there is none, or the trainer cannot read it."""
    if not trainer_facts(session.trainer).has_population:
        raise NotNow(f"session {session.number} ({session.name}): the trainer {session.trainer} has no population")
    step, state, note = _newest_readable(sessions, session)
    return step, _population_of(session.trainer, state, step), note


def _newest_readable(sessions: SessionStore, session: Session) -> tuple[int, bytes, str]:
    problem: BadLeague | None = None
    for checkpoint in _with_state(sessions, session.number):
        try:
            found = sessions.state(session.number, checkpoint.step)
        except BadLeague as error:
            problem = problem or error
            continue
        if found is not None:
            return *found, f"{problem}; the checkpoint before it is shown" if problem is not None else ""
    if problem is not None:
        raise problem
    raise NotNow(f"session {session.number} ({session.name}) has no checkpoint yet")


def _with_state(sessions: SessionStore, number: int) -> list[SavedCheckpoint]:
    return [checkpoint for checkpoint in reversed(sessions.checkpoints(number)) if checkpoint.resumable]


def _population_of(trainer: str, state: bytes, step: int) -> Population:
    kind: Any = TRAINERS.get(trainer)
    try:
        found = kind.population_of(state)
        if found is not None:
            return checked(found)
    except Exception as error:  # code of a plug-in, and a state that may be from elsewhere
        reason = " ".join(shorten(error_text(error), LONGEST_ERROR).split())
        text = f"the trainer {trainer} cannot read the population of its checkpoint {step}: {reason}"
        raise BrokenPlugin(text) from error
    raise NotNow(f"the checkpoint {step} has no population yet")
