"""A league with four bots, a tournament for them, and what tests of LeagueState ask of both."""

from __future__ import annotations

from pathlib import Path

from engine.league import played_matches
from engine.play.live import LiveMatch
from engine.registry import new_game
from league_app.core.state import LeagueState
from tests.waiting import until

QUICK = new_game("pong", points=1, step_limit=300).spec
LONG = new_game("pong", step_limit=2_000_000_000, paddle_height=300.0, top_speed=7.0).spec
BOTS = ("Lazy", "Tracker", "Shaky", "Predictor")
PLAN = {"game": QUICK, "agents": BOTS, "options": {"rounds": 10}}
MATCHES = 120


def opened(folder: Path) -> LeagueState:
    """Small batches on two workers, so that requests arrive between them."""
    state = LeagueState.new(folder / "one.league", lanes=4)
    state.add_samples("pong", (*BOTS, "Still"))
    state.budget.cores, state.batch_size = 2, 2
    state.speed = 0.0
    return state


def shown(state: LeagueState) -> LiveMatch:
    seen: list[LiveMatch | None] = [None]
    until(lambda: seen.append(state.live) or seen[-1])
    assert seen[-1] is not None
    return seen[-1]


def same(state: LeagueState, number: int, expected: str) -> None:
    assert played_matches.digest(state.league, number) == (expected, 0)
    found = list(played_matches.every_match(state.league, number))
    assert [match.place for match in found] == list(range(1, MATCHES + 1)), "every match exactly once"
    assert sum(row.total.played for row in state.standings(tournament=number).rows) == 2 * MATCHES
