"""Public name of `league_app.core.state`."""

from league_app.core.state import LeagueState as LeagueState
