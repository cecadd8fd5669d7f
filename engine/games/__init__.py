"""The games that come with Ringside.

To add a game, write one module (or a package, if it needs several) here and add one line under `ringside.games` in
`pyproject.toml`. Write it in plain Python, one board at a time (`engine.plain`), or as kernels over many boards if it
must be fast (see `pong`). `engine.checks.check_game` tests whether it keeps the contract of `engine.game`. Games of
another library are a family under `ringside.families` (see `pettingzoo`).
"""
