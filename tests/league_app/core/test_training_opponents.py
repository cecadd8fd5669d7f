"""Agents of a league in its training: a network joins, sessions start from it, and others are opponents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.human import person
from agents.training.independent.state import read
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.state import PpoRun
from agents.usi.engine_spec import EngineSpec
from agents.usi.engine_spec import agent as engine
from engine.errors import BadValue, UnknownName
from engine.league.records import RunState
from engine.play.match import GameSpec
from engine.registry import game_of, new_game
from league_app.core.state import LeagueState
from tests.faults.league import within, worker_pids

EASY = new_game("pong", points=1, step_limit=200).spec
HUNT = new_game("treasure-hunt", seats=3, turns=20).spec
PPO: dict[str, Any] = {
    "updates": 2, "streams": 4, "steps": 32, "hidden": "8", "epochs": 1, "validate_pairs": 1, "validate_every": 2,
    "validate_bots": "Lazy", "checkpoint_every": 1, "self_share": 0.2, "snapshot_every": 1,
}  # fmt: skip
INDEPENDENT: dict[str, Any] = {
    "epochs": 2, "lanes": 4, "hidden": "8", "batch": 32, "learn_after": 40, "train_interval": 1, "references": "none",
    "evaluate_matches": 2, "training_mode": "stacked", "calibrate": False,
}  # fmt: skip


@pytest.fixture(name="state")
def league_state(tmp_path: Path) -> Iterator[LeagueState]:
    with within(300), LeagueState.new(tmp_path / "one.league") as state:
        state.budget.cores = 2
        state.add_samples("pong", ("Lazy", "Tracker"))
        state.add_samples("treasure-hunt", ("Magpie",))
        yield state
    assert not worker_pids(), "no worker process is left"


def payload(state: LeagueState, name: str, game: str) -> bytes:
    return state.league.spec(state.league.agent(name, game).id).payload


def test_a_network_joins_the_league_and_another_session_starts_from_it(state: LeagueState) -> None:
    job = state.training.start("ppo", {**PPO, "opponents": "Tracker"}, game=EASY, name="Bea")
    ended = job.wait()
    assert (ended.state, ended.note) == (RunState.FINISHED, "2 updates")
    [bea] = job.champions
    assert (bea.name, bea.kind) == ("Bea", "net")
    saved = state.training.sessions.state(job.number, 2)
    assert saved is not None
    run = PpoRun.from_checkpoint(saved[1], PpoConfig(**PPO), game_of(EASY))
    assert run.pool.members["league Tracker"].agent.payload == payload(state, "Tracker", "pong")

    again = state.training.start("ppo", {**PPO, "hidden": "", "seed": 9}, game=EASY, ancestor="Bea").wait()
    assert (again.state, again.note) == (RunState.FINISHED, "2 updates")
    for name in ("bots", "validate_bots"):
        with pytest.raises(BadValue, match="as at its start: start a new session to change it"):
            state.training.resume(job.number, {"updates": 3, name: "Tracker"})
    assert state.training.resume(job.number, {"updates": 3}).wait().note == "3 updates"


def test_an_agent_of_the_league_takes_seats_among_independent_learners(state: LeagueState) -> None:
    job = state.training.start("independent", {**INDEPENDENT, "opponents": "Magpie,Magpie"}, game=HUNT)
    ended = job.wait()
    assert ended.state is RunState.FINISHED, ended.note
    [champion] = job.champions
    assert champion.kind == "net"
    state.league.archive(state.league.agent("Magpie", "treasure-hunt").id)
    resumed = state.training.resume(job.number, {"epochs": 3}).wait()
    assert resumed.state is RunState.FINISHED, "the checkpoint has the agent that takes the seats"
    saved = state.training.sessions.state(job.number, 3)
    assert saved is not None
    assert set(read(saved[1], HUNT).players) == {1, 2}


@pytest.mark.parametrize(
    ("trainer", "settings", "game", "archived"),
    [("ppo", PPO, EASY, "Tracker"), ("independent", INDEPENDENT, HUNT, "Magpie")],
)
def test_opponents_that_are_not_there_are_refused_before_anything_is_saved(
    state: LeagueState, trainer: str, settings: dict[str, object], game: object, archived: str
) -> None:
    state.league.archive(state.league.agent(archived).id)
    for names, kind, words in (
        ("Trakcer", UnknownName, "Trakcer"),
        (archived, BadValue, f"opponents = '{archived}': must be an agent that is not archived: restore it"),
    ):
        with pytest.raises(kind, match=words):
            state.training.start(trainer, {**settings, "opponents": names}, game=game)  # type: ignore[arg-type]
    assert not state.training.sessions.all()


def test_opponents_that_cannot_play_training_matches_are_refused_before_anything_is_saved(state: LeagueState) -> None:
    """A person plays only matches that are watched, and an external engine only a few at a time."""
    state.league.add_agent("Me", "pong", person("Me"))
    state.league.add_agent("Her", "treasure-hunt", person("Her"))
    state.league.add_agent("Fish", "shogi", engine("Fish", EngineSpec("/bin/true", nodes=1)))
    shogi = new_game("shogi").spec
    cases: list[tuple[str, dict[str, Any], GameSpec, str]] = [
        ("ppo", {**PPO, "opponents": "Tracker,Me"}, EASY, "opponents = 'Me': must be an agent that plays by itself"),
        ("ppo", {"opponents": "Fish"}, shogi, "opponents = 'Fish': must be an agent that can play all"),
        ("independent", {**INDEPENDENT, "opponents": "Her"}, HUNT, "opponents = 'Her': must be an agent that plays by"),
        ("hybrid", {"teacher": "Me"}, EASY, "teacher = 'Me': must be an agent that plays by itself"),
    ]
    for trainer, settings, game, words in cases:
        with pytest.raises(BadValue, match=words):
            state.training.start(trainer, settings, game=game)
    assert not state.training.sessions.all()


def test_a_network_cannot_start_from_an_agent_of_another_kind(state: LeagueState) -> None:
    with pytest.raises(BadValue, match="of kind net or torch-net"):
        state.training.start("ppo", PPO, game=EASY, ancestor="Lazy")
    assert not state.training.sessions.all()
