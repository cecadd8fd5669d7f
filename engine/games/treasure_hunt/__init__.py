"""Treasure Hunt: `game` holds rules and boards, `view` the observations, `scene` the drawing."""
