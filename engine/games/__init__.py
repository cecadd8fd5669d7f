"""The games that come with Ringside.

A game is one file here and one line under `ringside.games` in `pyproject.toml`. Write it as a plain-Python board (see
`engine.plain`), or as kernels over many boards (see `pong`) when it must be fast; `engine.checks.check_game` tells
whether it keeps its promises. Games of another library are a family under `ringside.families` (see `pettingzoo`).
"""
