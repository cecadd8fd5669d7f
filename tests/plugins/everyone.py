"""Registers the games and agents of this folder in the test process and in workers that import it."""

from agents import human
from engine.registry import GAMES, KINDS
from tests.plugins import bids, marchers, mixed, pilots, stones, tictactoe

NEW_GAMES = (tictactoe.TicTacToe, bids.Bids, mixed.Mixed, stones.Stones)
NEW_KINDS = (tictactoe.KIND, bids.KIND, marchers.KIND, *(pilots.row_kind(name) for name in pilots.ANSWERS))

for game in NEW_GAMES:
    GAMES.add(game.name, game)
# `human` is registered again, because an old installation may lack its entry point.
for kind in (human.KIND, *NEW_KINDS):
    KINDS.add(kind.name, kind)
