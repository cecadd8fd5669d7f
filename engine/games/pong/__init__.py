"""Pong: `game` holds rules and boards, `scene` the drawing."""
