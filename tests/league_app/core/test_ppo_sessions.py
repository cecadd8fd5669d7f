"""Sessions of the trainer `ppo` in a league: its champion plays, and agents of the league train it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.training.events import How
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.state import PpoRun
from engine.errors import BadValue, UnknownName
from engine.registry import game_of, new_game
from league_app.core.state import LeagueState
from tests.faults.league import within

EASY = new_game("pong", points=1, step_limit=200).spec
QUICK = {
    "updates": 2, "streams": 4, "steps": 32, "hidden": "8", "epochs": 1, "validate_pairs": 1, "validate_every": 2,
    "validate_bots": "Lazy", "checkpoint_every": 1, "self_share": 0.2, "snapshot_every": 1,
}  # fmt: skip


@pytest.fixture
def state(tmp_path: Path) -> Iterator[LeagueState]:
    with within(180), LeagueState.new(tmp_path / "one.league") as one:
        one.budget.cores = 2
        one.add_samples("pong", ("Lazy", "Tracker"))
        yield one


def test_a_network_joins_the_league_and_another_session_starts_from_it(state: LeagueState) -> None:
    job = state.training.start("ppo", {**QUICK, "opponents": "Tracker"}, game=EASY, name="Bea")
    job.wait()
    assert job.end is not None
    assert job.end.how is How.FINISHED, job.end.reason
    [bea] = job.champions
    assert (bea.name, bea.kind) == ("Bea", "net")
    saved = state.training.sessions.state(job.number, 2)
    assert saved is not None
    run = PpoRun.from_checkpoint(saved[1], PpoConfig(**QUICK), game_of(EASY))
    tracker = state.league.spec(state.league.agent("Tracker", "pong").id)
    assert run.pool.members["league Tracker"].agent.payload == tracker.payload

    again = state.training.start("ppo", {**QUICK, "hidden": "", "seed": 9}, game=EASY, ancestor="Bea")
    again.wait()
    assert again.end is not None
    assert again.end.how is How.FINISHED, again.end.reason
    for name in ("bots", "validate_bots"):
        with pytest.raises(BadValue, match="as at its start: start a new session to change it"):
            state.training.resume(job.number, {"updates": 3, name: "Tracker"})
    more = state.training.resume(job.number, {"updates": 3})
    more.wait()
    assert more.end is not None
    assert more.end.reason == "3 updates"


def test_agents_that_are_not_there_are_refused_before_anything_is_saved(state: LeagueState) -> None:
    with pytest.raises(UnknownName, match="Trakcer"):
        state.training.start("ppo", {**QUICK, "opponents": "Lazy, Trakcer"}, game=EASY)
    with pytest.raises(BadValue, match="of kind net or torch-net"):
        state.training.start("ppo", QUICK, game=EASY, ancestor="Lazy")
    state.league.archive(state.league.agent("Tracker", "pong").id)
    with pytest.raises(BadValue, match="opponents = 'Tracker': must be an agent that is not archived: restore it"):
        state.training.start("ppo", {**QUICK, "opponents": "Lazy, Tracker"}, game=EASY)
    assert not state.training.sessions.all()
