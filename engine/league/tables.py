"""Public names of `engine.league.standings`, `engine.league.played_matches` and `engine.league.failure_report`."""

from engine.league.failure_report import *  # noqa: F403
from engine.league.played_matches import *  # noqa: F403
from engine.league.standings import *  # noqa: F403
