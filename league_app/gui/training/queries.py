"""What the training page asks of a league, beside the window's thread."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from engine.registry import TRAINERS
from league_app.gui.training.sessions_model import Part, news
from league_app.core.state import LeagueState

Known = dict[int, dict[str, tuple[int, float]]]  # by session and metric: the last step, and when that was


@dataclass(frozen=True)
class Read:
    found: dict[int, dict[str, Part | None]]  # by session and metric; None for what is there no more
    usual: dict[str, dict[str, object]]  # settings by trainer
    explained: dict[str, dict[str, str]]  # metrics by trainer


def read(known: Known, trainers: set[str], state: LeagueState) -> Read:
    """What is new of these sessions, and what these trainers say of themselves."""
    found = {number: news(state.league, number, one) for number, one in known.items()}
    usual: dict[str, dict[str, object]] = {}
    explained: dict[str, dict[str, str]] = {}
    for name in trainers:
        kind: Any = TRAINERS.get(name) if name in TRAINERS.names() else None
        usual[name] = {one.name: one.default for one in fields(kind)} if kind else {}
        explained[name] = dict(kind.metrics) if kind else {}
    return Read(found, usual, explained)


def how_it_ended(number: int, state: LeagueState) -> tuple[int, str, str, tuple[str, str] | None]:
    session = state.training.sessions.session(number)
    came = f" of training session {number} ({session.name})"
    new = [one for one in state.agents(session.game.name) if one.origin.endswith(came)]
    if session.note.startswith("failed"):
        return number, f"{session.name} {session.note}", "bad", None
    if session.state.open:
        return number, f"{session.name} was stopped and can be resumed", "info", None
    champion = (new[-1].id, new[-1].name) if new and not _has_played(state, new[-1].id) else None
    entered = f": {new[-1].name} has entered the league" if new else ""
    return number, f"{session.name} has finished{entered}", "good", champion


def _has_played(state: LeagueState, agent: str) -> bool:
    sql = "SELECT 1 FROM seats JOIN agents ON agents.number = seats.agent WHERE agents.id = ? LIMIT 1"
    return bool(state.league.file.read(sql, agent))


def export(state: LeagueState, number: int, path: str, events: bool) -> str:
    """All that was measured; where to."""
    from league_app.cli.training import write_csv
    from league_app.core.tensorboard import export as write_events

    session = state.training.sessions.session(number)
    metrics = state.training.sessions.metrics(number)
    return str(write_events(metrics, session.created, path) if events else write_csv(metrics, path))
