"""LeagueContext: the parts of an open league that jobs share."""

from __future__ import annotations

from dataclasses import dataclass

from engine.league.storage.league import League
from league_app.core.changes import ChangeFeed
from league_app.core.cpu_budget import CpuBudget


@dataclass(frozen=True)
class LeagueContext:
    league: League
    changes: ChangeFeed
    budget: CpuBudget
