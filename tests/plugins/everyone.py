"""Registers the games and players of this folder, here and in whatever worker imports it."""

from engine.registry import GAMES, KINDS
from tests.plugins import bids, mixed, pilots, tictactoe

for name, game in {"tictactoe": tictactoe.TicTacToe, "bids": bids.Bids, "mixed": mixed.Mixed}.items():
    GAMES.add(name, game)
for kind in (tictactoe.KIND, bids.KIND, *(pilots.row_kind(name) for name in pilots.ANSWERS)):
    KINDS.add(kind.name, kind)
