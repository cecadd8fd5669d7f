"""Registers the games and players of this folder, here and in whatever worker imports it."""

from agents import human
from engine.registry import GAMES, KINDS
from tests.plugins import bids, marchers, mixed, pilots, takeaway, tictactoe

for game in (tictactoe.TicTacToe, bids.Bids, mixed.Mixed, takeaway.Takeaway):
    GAMES.add(game.name, game)
# The person is one of ours; it is here too because an installation may be older than the line in pyproject.toml.
for kind in (human.KIND, tictactoe.KIND, bids.KIND, marchers.KIND, *(pilots.row_kind(name) for name in pilots.ANSWERS)):
    KINDS.add(kind.name, kind)
