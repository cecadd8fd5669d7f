"""Queries of training sessions: their summaries, the metrics measured since the last query, and their players."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.diagram import Diagram
from engine.game import Floats
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.session_rows import SavedPlayer, Series, Session, series_of
from engine.play.match import AgentSpec, GameSpec
from engine.registry import draw_agent
from league_app.core.context import LogLine
from league_app.core.formatting import duration, plural
from league_app.core.state import LeagueState
from league_app.core.trainers import TrainerFacts, trainer_facts

PREVIEW_POINTS = 40  # of a summary's curve
PREVIEW_VALUES = 2000  # the last values of a metric, from which its curve and its best are taken
SHOWN_LOGS = 200  # messages of a session, the latest
MAX_PLAYERS = 60  # of a session, the newest
LATEST = """
WITH RECURSIVE found(session, name) AS (
    SELECT number, (SELECT min(name) FROM metrics WHERE session = number) FROM sessions WHERE number IN ({numbers})
    UNION ALL SELECT session, (SELECT min(name) FROM metrics WHERE session = found.session AND name > found.name)
    FROM found WHERE found.name IS NOT NULL),
last(session, name, step) AS (
    SELECT session, name, (SELECT max(step) FROM metrics WHERE session = found.session AND name = found.name)
    FROM found WHERE name IS NOT NULL)
SELECT session, name, step, at FROM last JOIN metrics USING (session, name, step)
"""  # steps from name to name through the index; SELECT DISTINCT would read every value
PREVIEWS = """
WITH wanted(session, name) AS (VALUES {wanted}),
first(session, name, step) AS (
    SELECT session, name, (SELECT min(step) FROM (
        SELECT step FROM metrics AS m WHERE m.session = wanted.session AND m.name = wanted.name
        ORDER BY step DESC LIMIT {limit}))
    FROM wanted)
SELECT first.session, m.step, m.at, m.value FROM first JOIN metrics AS m
ON m.session = first.session AND m.name = first.name AND m.step >= first.step ORDER BY first.session, m.step
"""

KnownPoints = dict[int, dict[str, tuple[int, float]]]  # by session and metric: the last step and its time


@dataclass(frozen=True)
class SessionSummary:
    """A session as a list shows it."""

    session: Session
    facts: TrainerFacts
    step: int
    total: int  # the last step; 0 if unknown, or if something else ends it first
    running: bool
    paused: bool
    text: str  # progress in the trainer's own words
    seconds_left: float | None
    done: float | None  # from 0 to 1, while it runs; None if unknown
    best: float | None  # of the trainer's headline metric
    curve: tuple[float, ...]
    trouble: str = ""  # why its results cannot be written to disk
    logs: tuple[LogLine, ...] = ()  # the latest messages of all runs since the league was opened
    message: LogLine | None = None  # the latest one of this run, while it runs

    @property
    def number(self) -> int:
        return self.session.number

    @property
    def resumable(self) -> bool:
        return not self.running and self.session.state.open

    @property
    def status(self) -> str:
        if self.running:
            return "paused" if self.paused else "running"
        if self.session.failed:
            return "failed"
        return "finished" if self.session.state is RunState.FINISHED else "stopped"

    @property
    def progress_text(self) -> str:
        if not self.step and self.running:
            return "starting"
        if self.total and self.session.state is not RunState.FINISHED:
            return f"{self.facts.unit} {self.step:,} of {self.total:,}"
        return f"{self.facts.unit} {self.step:,}" if self.running else plural(self.step, self.facts.unit)

    @property
    def best_text(self) -> str:
        return self.facts.headline_text(self.best) if self.best is not None else ""

    @property
    def time_left(self) -> str:
        left = self.seconds_left
        return f"{duration(left)} left" if left is not None and 0 <= left < 1e9 else ""


@dataclass(frozen=True, eq=False)
class MetricUpdate:
    """New values of a metric. With `replace` they are all its values, and those known before are wrong."""

    series: Series
    replace: bool


@dataclass(frozen=True)
class SessionUpdates:
    """New values of several sessions, and what their trainers declare."""

    metrics: dict[int, dict[str, MetricUpdate | None]]  # by session and metric; None if the metric was deleted
    trainers: dict[str, TrainerFacts]  # by name


@dataclass(frozen=True)
class SessionEnd:
    """How a session ended, as a notification."""

    number: int
    text: str
    tone: str
    champion: tuple[str, str] | None  # id and name of the agent that entered the league and has not played yet


@dataclass(frozen=True)
class TrainedPlayer:
    """A player that a session produced. Successive checkpoints may hold the same player."""

    session: int
    first_step: int
    last_step: int
    role: str  # among the players of a checkpoint; empty if it is the only one
    kind: str
    payload: str  # content hash
    about: str
    agent: str | None  # its id in the league
    name: str  # in the league


# Summaries


class SessionPreviews:
    """The curves of a list of sessions; only those that have changed are read again."""

    def __init__(self) -> None:
        self._curves: dict[int, tuple[object, Floats]] = {}  # by session: the last values of its metrics, and the curve

    def curves(self, league: League, headlines: Mapping[int, str], latest: KnownPoints) -> dict[int, Floats]:
        """By session: its headline metric, or else the first one. At most one query."""
        wanted: dict[int, str] = {}
        for number, headline in headlines.items():
            last, known = latest[number], self._curves.get(number)
            if not last:
                self._curves[number] = last, np.empty(0)
            elif known is None or known[0] != last:
                wanted[number] = headline if headline in last else min(last)
        for number, rows in self._read(league, wanted).items():
            series = series_of(wanted[number], rows, league.path, number)
            self._curves[number] = latest[number], series.values
        return {number: self._curves[number][1] for number in headlines}

    def _read(self, league: League, wanted: Mapping[int, str]) -> dict[int, list[tuple[Any, ...]]]:
        """By session: step, time and value of this metric of it."""
        found: dict[int, list[tuple[Any, ...]]] = {number: [] for number in wanted}
        if wanted:
            sql = PREVIEWS.format(wanted=",".join(["(?, ?)"] * len(wanted)), limit=PREVIEW_VALUES)
            for number, *rest in league.file.read(sql, *(value for pair in wanted.items() for value in pair)):
                found[number].append(tuple(rest))
        return found


def load_sessions(previews: SessionPreviews, state: LeagueState) -> list[SessionSummary]:
    """Newest first."""
    jobs = {job.number: job for job in state.training.jobs}
    summaries, league, sessions = [], state.league, state.training.sessions.all()
    latest = latest_points(league, [session.number for session in sessions])
    headlines = {session.number: trainer_facts(session.trainer).headline for session in sessions}
    curves = previews.curves(league, headlines, latest)
    for session in reversed(sessions):
        job, last, facts = jobs.get(session.number), latest[session.number], trainer_facts(session.trainer)
        curve, journal = curves[session.number], list(state.session_logs.get(session.number, ()))
        live: dict[str, Any] = {"running": False, "paused": False, "text": "", "seconds_left": None, "done": None}
        step, total = max((step for step, _ in last.values()), default=0), facts.planned_steps(session)
        if job is not None:
            now = job.progress
            live = {"running": True, "paused": job.paused, "text": now.text if now else "", "trouble": job.trouble}
            live |= {
                "seconds_left": now.seconds_left if now else None,
                "message": journal[-1] if journal and job.log_count else None,
                "done": now.fraction if now else None,
            }
            step, total = max(step, now.step if now else 0), now.total if now else total
        best = facts.best(curve) if facts.headline in last else None
        summaries.append(
            SessionSummary(
                session, facts, step, total, best=best, curve=_thinned(curve), logs=tuple(journal[-SHOWN_LOGS:]), **live
            )
        )
    return summaries


def latest_points(league: League, numbers: Sequence[int]) -> KnownPoints:
    """The last step of each metric of these sessions, in one query."""
    found: KnownPoints = {number: {} for number in numbers}
    sql = LATEST.format(numbers=",".join(map(str, numbers)))
    for number, name, step, at in league.file.read(sql) if numbers else ():
        found[number][name] = step, at
    return found


def _thinned(values: Floats) -> tuple[float, ...]:
    drawable = values[np.isfinite(values) & (np.abs(values) < 1e300)]
    if len(drawable) > PREVIEW_POINTS:
        drawable = drawable[np.linspace(0, len(drawable) - 1, PREVIEW_POINTS).astype(int)]
    return tuple(float(value) for value in drawable)


# Metrics


def load_updates(known: KnownPoints, trainers: set[str], state: LeagueState) -> SessionUpdates:
    """New values of these sessions, and the declarations of these trainers."""
    latest = latest_points(state.league, list(known))
    metrics = {
        number: load_metric_updates(state.league, number, points, latest[number]) for number, points in known.items()
    }
    return SessionUpdates(metrics, {name: trainer_facts(name) for name in trainers})


def load_metric_updates(
    league: League, number: int, known: Mapping[str, tuple[int, float]], latest: Mapping[str, tuple[int, float]]
) -> dict[str, MetricUpdate | None]:
    """Values after the last known step of each metric; None for a metric that no longer exists.

    A session that resumes from a checkpoint deletes the values after it. The last known step is then missing or has
    another time, and the whole metric is read again. At most two queries.
    """
    updates: dict[str, MetricUpdate | None] = dict.fromkeys(known.keys() - latest.keys())
    changed = {name: known.get(name, (-1, 0.0)) for name, last in latest.items() if known.get(name) != last}
    rows = _rows_from(league, number, {name: step for name, (step, _) in changed.items()})
    first = {name: found[0][:2] if found else None for name, found in rows.items()}
    replaced = {name for name, point in changed.items() if first[name] != point}
    whole = _rows_from(league, number, dict.fromkeys(replaced & known.keys(), -1))
    for name in changed:
        new = whole.get(name, rows[name]) if name in replaced else rows[name][1:]
        updates[name] = MetricUpdate(series_of(name, new, league.path, number), name in replaced)
    return updates


def _rows_from(league: League, number: int, steps: Mapping[str, int]) -> dict[str, list[tuple[int, float, bytes]]]:
    """By metric: step, time and value of all rows from this step on."""
    found: dict[str, list[tuple[int, float, bytes]]] = {name: [] for name in steps}
    if steps:
        wanted = ",".join(["(?, ?)"] * len(steps))
        sql = f"WITH wanted(name, first) AS (VALUES {wanted}) SELECT name, step, at, value FROM wanted JOIN metrics"
        sql += " USING (name) WHERE session = ? AND step >= first ORDER BY name, step"
        values = [value for pair in steps.items() for value in pair]
        for name, *rest in league.file.read(sql, *values, number):
            found[name].append(tuple(rest))
    return found


def load_end(number: int, state: LeagueState) -> SessionEnd:
    session = state.training.sessions.session(number)
    champions = [agent for agent in state.training.sessions.agents(number) if agent.archived is None]
    if session.failed:
        return SessionEnd(number, f"{session.name} {session.ending}", "bad", None)
    if session.state.open:
        return SessionEnd(number, f"{session.name} was stopped and can be resumed", "info", None)
    if not champions:
        return SessionEnd(number, f"{session.name} has finished", "good", None)
    newest = champions[-1]
    champion = None if _has_played(state, newest.id) else (newest.id, newest.name)
    return SessionEnd(number, f"{session.name} has finished: {newest.name} joined the league", "good", champion)


def _has_played(state: LeagueState, agent: str) -> bool:
    sql = "SELECT 1 FROM seats JOIN agents ON agents.number = seats.agent WHERE agents.id = ? LIMIT 1"
    return bool(state.league.file.read(sql, agent))


# Players


def load_players(state: LeagueState, number: int) -> tuple[list[TrainedPlayer], int]:
    """The newest players of a session, and how many it has in all. Those of the last checkpoint that has them are
    together, the newest checkpoint first, in its order: a trainer puts its best player first."""
    checkpoints, names = state.training.sessions.checkpoints(number), state.league.names()
    game = state.training.sessions.session(number).game.name
    agents = {(agent.kind, agent.payload): agent.id for agent in state.league.agents(game)}
    groups: dict[tuple[str, str, str], list[tuple[int, SavedPlayer]]] = {}
    for checkpoint in checkpoints:
        for player in reversed(checkpoint.players):
            key = player.role, player.kind, player.payload
            same = groups.pop(key, [])  # to be behind the players that this checkpoint does not have
            same.append((checkpoint.step, player))
            groups[key] = same
    players = []
    for (role, kind, payload), same in list(reversed(groups.items()))[:MAX_PLAYERS]:
        entered = next((player.agent for _, player in same if player.agent), None)
        agent = entered or agents.get((kind, payload))
        steps, about = (same[0][0], same[-1][0]), same[-1][1].about
        players.append(TrainedPlayer(number, *steps, role, kind, payload, about, agent, names.get(agent or "", "")))
    return players, len(groups)


def load_ranks(state: LeagueState, pool: GameSpec, agents: Collection[str]) -> dict[str, tuple[int, int, float, float]]:
    """For each of these agents that has played: rank from 1, matches, rating and half of its interval."""
    ranks = {}
    for rank, row in enumerate(state.standings(pool).rows, 1):
        if row.agent in agents and row.total.played:
            ranks[row.agent] = rank, row.total.played, row.rating, row.error
    return ranks


def load_diagrams(state: LeagueState, players: Sequence[TrainedPlayer]) -> dict[str, Diagram | None]:
    """Drawings of players, by content hash; None if its kind offers none, or its payload cannot be read."""
    hashes = sorted({player.payload for player in players})
    sql = f"SELECT hash, data FROM payloads WHERE hash IN ({','.join('?' * len(hashes))})"
    data = dict(state.league.file.read(sql, *hashes)) if hashes else {}
    return {player.payload: _diagram(player, data.get(player.payload)) for player in players}


def _diagram(player: TrainedPlayer, payload: object) -> Diagram | None:
    return draw_agent(AgentSpec(player.about, player.kind, payload)) if isinstance(payload, bytes) else None
