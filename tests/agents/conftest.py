"""Registers the trainers of the tests for those tests that ask for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.registry import TRAINERS
from tests.agents.training.session_helpers import OURS
from tests.faults.league import within


@pytest.fixture
def trainers() -> Iterator[None]:
    for name, trainer in OURS.items():
        TRAINERS.add(name, trainer)
    with within(90):
        yield
    for name in OURS:
        TRAINERS.remove(name)
