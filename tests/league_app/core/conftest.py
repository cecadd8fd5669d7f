"""A LeagueState on two workers, and the digest that its tournament must have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.league.storage.tournaments import TournamentStore
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import run_digest
from league_app.core.state import LeagueState
from tests.faults.league import within, worker_pids
from tests.league_app.core.state_helpers import MATCHES, PLAN, opened


@pytest.fixture
def state(tmp_path: Path) -> Iterator[LeagueState]:
    with within(60):
        with opened(tmp_path) as state:
            yield state
        assert not worker_pids(), "no worker process is left"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the whole tournament, played at once by the reference executor."""
    with opened(tmp_path_factory.mktemp("expected")) as state, SequentialMatchExecutor(16) as executor:
        specs = [
            planned.spec for planned in TournamentStore(state.league, state.plan_tournament(**PLAN).number).missing()
        ]
        assert len(specs) == MATCHES
        return run_digest(executor.execute_matches(specs))
