"""Rules, matches, tournaments and ratings: everything that needs no window, no picture and no network library.

To add a game, write one file as in `engine/games/` and one line under `ringside.games` in `pyproject.toml`.
"""
