"""Shogi as compiled kernels.

`tables` numbers squares, pieces and actions; `attacks`, `moves` and `play` generate and make legal moves; `lanes` and
`game` hold matches; `position` is for agents that search; `notation` reads and writes SFEN and USI; `csa` exports
matches; `openings` lists start positions; `scene` draws a board.
"""
