"""LeagueContext: the parts of an open league that jobs share."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from engine.league.storage.league import League
from league_app.core.changes import ChangeFeed
from league_app.core.cpu_budget import CpuBudget


@dataclass(frozen=True)
class LogLine:
    """A message of a training session."""

    at: float  # seconds since 1970
    text: str
    warning: bool = False


@dataclass(frozen=True)
class LeagueContext:
    league: League
    changes: ChangeFeed
    budget: CpuBudget
    session_logs: dict[int, deque[LogLine]] = field(default_factory=dict)  # of all runs of a session, by its number
