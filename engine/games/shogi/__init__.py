"""Shogi: the whole game, compiled.

`tables` numbers squares, pieces and actions; `attacks`, `moves` and `play` find legal moves and make them; `lanes` and
`game` hold matches; `position` is for agents that search; `notation` reads and writes SFEN and USI, `csa` writes whole
matches; `openings` are ways to begin; `scene` draws a board.
"""
