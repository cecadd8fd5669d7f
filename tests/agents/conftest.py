"""Registers the trainers of the tests for those tests that ask for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.training.session_helpers import registered_trainers
from tests.faults.league import within


@pytest.fixture
def trainers() -> Iterator[None]:
    with registered_trainers(), within(90):
        yield
