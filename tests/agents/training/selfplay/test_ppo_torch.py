"""The trainer `ppo` with a network in torch, which plays in processes: the same bits for any number of them."""

from __future__ import annotations

import os
from typing import Any

import pytest

from agents.training.events import Checkpoint, Workers
from agents.training.selfplay.config import PpoConfig
from engine.registry import new_game
from tests.agents.training.fake_context import last_state, of, stay_in_process, trained
from tests.agents.training.selfplay.test_ppo import measured, one_thread  # noqa: F401 - a fixture

HUNT = new_game("treasure-hunt").spec
TINY: dict[str, Any] = {
    "updates": 3, "streams": 3, "steps": 8, "match_steps": 12, "channels": "4", "hidden": "8", "minibatch": 32,
    "epochs": 1, "snapshot_every": 1, "snapshots": 1, "self_share": 0.3, "validate_every": 3, "validate_pairs": 1,
    "validate_bots": "Dice", "checkpoint_every": 1, "schedule_updates": 3,
}  # fmt: skip


def test_convolutions_learn_the_same_bits_in_any_number_of_processes_and_after_a_resume(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stay_in_process(monkeypatch)
    monkeypatch.setattr("agents.training.selfplay.timing.EVERY", 0.0)
    whole = trained(PpoConfig(**TINY), game=HUNT)
    two = trained(PpoConfig(**TINY), game=HUNT, workers=2)
    assert measured(two) == measured(whole)
    assert last_state(two) == last_state(whole)
    first = of(Checkpoint, two)[0]
    rest = trained(PpoConfig(**TINY), game=HUNT, state=first.state)
    assert measured(rest) == {step: values for step, values in measured(whole).items() if step > first.step}
    assert last_state(rest) == last_state(whole)

    names = {"learner", "rollout 1", "rollout 2"}
    for event in of(Workers, two):
        states = {worker.name: worker for worker in event.workers}
        assert states.keys() == names
        playing = states["learner"].state == "waiting"
        assert {states["rollout 1"].state, states["rollout 2"].state} == {"playing" if playing else "idle"}
    assert len({worker.pid for worker in of(Workers, two)[-1].workers} - {None, os.getpid()}) == 2
