"""Registers the newcomers' games and agents, as if plug-in packages were installed."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from engine.game import Game
from engine.registry import KINDS, new_game
from tests.plugins import everyone  # noqa: F401 - importing it registers them

# No deadline: the first example may compile a kernel. Derandomised: a failure in CI is the same failure here.
hypothesis.settings.register_profile("ringside", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ringside")


@pytest.fixture
def pong() -> Game:
    return new_game("pong")


@pytest.fixture
def only_ours() -> Iterator[None]:
    """Without the newcomers' agents, as on a machine with Ringside alone: worker processes know no others either."""
    others = {name: KINDS.get(name) for name in KINDS.names() if name not in KINDS.own()}
    for name in others:
        KINDS.remove(name)
    yield
    for name, kind in others.items():
        KINDS.add(name, kind)
