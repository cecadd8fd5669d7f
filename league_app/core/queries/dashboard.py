"""What the dashboard shows of a league: top of the standings, rating history, recent results and upsets."""

from __future__ import annotations

from dataclasses import dataclass

from engine.league import standings
from engine.league.storage.league import League
from engine.play.match import GameSpec
from league_app.core.queries.highlights import Result, Upset, recent, upsets
from league_app.core.state import LeagueState

CURVES = 6  # agents in the rating chart: as many as there are colours
RESULTS = 8
PLACES = 6  # lines of the standings


@dataclass(frozen=True)
class RatedAgent:
    agent: str  # its id
    name: str
    rating: float
    error: float


@dataclass(frozen=True)
class RatingHistory:
    """The rating of one agent after each tournament in which it has one."""

    name: str
    place: int  # in the standings, from 0
    tournaments: list[int]  # counted from 1
    ratings: list[float]
    errors: list[float]


@dataclass(frozen=True)
class DashboardData:
    agents: int
    top: tuple[RatedAgent, ...]
    history: tuple[RatingHistory, ...]
    results: tuple[Result, ...]
    upsets: tuple[Upset, ...]


def load_dashboard(state: LeagueState, pool: GameSpec | None) -> DashboardData:
    league, agents = state.league, len(state.agents())
    if pool is None:
        return DashboardData(agents, (), (), (), ())
    table = standings.standings(league, pool)
    rated = [RatedAgent(row.agent, row.name, row.rating, row.error) for row in table.rows if row.total.played]
    return DashboardData(
        agents,
        tuple(rated[:PLACES]),
        _curves(league, pool, rated[:CURVES]),
        tuple(recent(league, pool, RESULTS)),
        tuple(upsets(league, None, pool, table=table)),
    )


def _curves(league: League, pool: GameSpec, rated: list[RatedAgent]) -> tuple[RatingHistory, ...]:
    """Return a curve for each agent that has at least two points."""
    snapshots = standings.rating_history(league, pool)
    curves = []
    for place, agent in enumerate(rated):
        points = [
            (number, rating, error)
            for number, snapshot in enumerate(snapshots, 1)
            for id, rating, error in snapshot.ratings
            if id == agent.agent
        ]
        if len(points) > 1:
            numbers, ratings, errors = (list(part) for part in zip(*points, strict=True))
            curves.append(RatingHistory(agent.name, place, numbers, ratings, errors))
    return tuple(curves)
