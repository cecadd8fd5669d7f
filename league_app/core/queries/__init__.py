"""Read-only views of a league: the one place of league_app that knows SQL. Add a query to the module of its subject."""
