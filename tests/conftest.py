"""Registers the newcomers' games and agents, as if plug-in packages were installed."""

from __future__ import annotations

import hypothesis
import pytest

from engine.game import Game
from engine.registry import new_game
from tests.plugins import everyone  # noqa: F401 - importing it registers them

# No deadline: the first example may compile a kernel. Derandomised: a failure in CI is the same failure here.
hypothesis.settings.register_profile("ringside", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ringside")


@pytest.fixture
def pong() -> Game:
    return new_game("pong")
