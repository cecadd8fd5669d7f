"""Registers the newcomers' games and agents for the tests that want them."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from engine.game import Game
from engine.registry import GAMES, KINDS, new_game
from tests.plugins import bids, mixed, pilots, tictactoe

# No deadline: the first example may compile a kernel. Derandomised: a failure in CI is the same failure here.
hypothesis.settings.register_profile("ringside", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ringside")


@pytest.fixture(autouse=True, scope="session")
def newcomers() -> Iterator[None]:
    """As if two plug-in packages were installed."""
    games = {"tictactoe": tictactoe.TicTacToe, "bids": bids.Bids, "mixed": mixed.Mixed}
    kinds = [tictactoe.KIND, bids.KIND, *(pilots.row_kind(name) for name in pilots.ANSWERS)]
    for name, game in games.items():
        GAMES.add(name, game)
    for kind in kinds:
        KINDS.add(kind.name, kind)
    yield
    for name in games:
        GAMES.remove(name)
    for kind in kinds:
        KINDS.remove(kind.name)


@pytest.fixture
def pong() -> Game:
    return new_game("pong")
