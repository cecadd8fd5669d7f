"""The examples of the document that these classes come from, with our import path.

Its `input_dim` is that of another observation: the examples run with the derived size.
"""

from __future__ import annotations

import cProfile
import logging
import pstats
from typing import Any

import pytest
import torch

from agents.training.selfplay import ParallelManager
from agents.training.selfplay.link import ExperienceBatch
from engine.errors import BadValue
from tests.faults.league import within, worker_pids

ENV = {"board_size": 9, "max_moves": 200}
MODEL = {"input_dim": 46 * 81, "hidden_dim": 512, "action_dim": 2187}
PARALLEL = {
    "num_workers": 4,
    "games_per_worker": 10,
    "max_game_length": 200,
    "experience_batch_size": 64,
    "model_sync_interval": 100,
    "timeout": 30.0,
}


def test_the_size_of_another_observation_is_refused_with_the_right_one() -> None:
    with pytest.raises(
        BadValue, match=r"input_dim = 1134: must be 3726, .* of shogi \(46 x 9 x 9\); it may be left out"
    ):
        ParallelManager(ENV, {**MODEL, "input_dim": 81 * 14}, PARALLEL)


def rows_of(array: Any, acted: Any) -> Any:
    """Of seats that acted, if there are others."""
    return array if len(array) == acted.sum() else array[acted]


def train_model(manager: ParallelManager, experiences: list[ExperienceBatch]) -> float:
    """One step that makes the actions of these experiences more likely, among the legal ones."""
    model, total = manager.model, 0.0
    for batch in experiences:
        acted = batch.trajectories.acted
        obs, legal = (torch.from_numpy(rows_of(array, acted)) for array in batch.trajectories[:2])
        logits, _ = model(obs)
        chances = logits.masked_fill(~legal, -torch.inf).log_softmax(1)
        loss = -chances.gather(1, torch.from_numpy(batch.trajectories.actions[acted])[:, None]).mean()
        loss.backward()
        total += loss.item()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= 0.01 * parameter.grad
                parameter.grad = None
    return total


def test_the_training_loop_runs() -> None:
    max_training_steps, model_sync_interval, worker_reset_interval = 4, 2, 3
    manager = ParallelManager(ENV, MODEL, {**PARALLEL, "num_workers": 2, "timeout": 600.0})
    losses: list[float] = []
    logger = logging.getLogger("agents.training.selfplay")
    logger.setLevel(logging.DEBUG)
    with within(300):
        manager.start_workers()
        try:
            for step in range(max_training_steps):
                experiences = manager.collect_experiences()
                if experiences:
                    losses.append(train_model(manager, experiences))
                    if step % model_sync_interval == 0:
                        manager.sync_model_to_workers()
                if step % worker_reset_interval == 0:
                    manager.reset_workers()

            status = manager.get_status()
            shown = f"Active workers: {status['active_workers']}\nQueue sizes: {status['queue_info']}"
            manager.pause_workers([0, 1])
            manager.resume_workers([0, 1])
            experiences = manager.collect_experiences(timeout=5.0)
            queue_info: dict[str, Any] = manager.communicator.get_queue_info()
            profile = cProfile.Profile()
            profile.runcall(manager.collect_experiences)
        finally:
            manager.stop_workers()
            logger.setLevel(logging.NOTSET)
    assert len(losses) == 4
    assert status["model_version"] == 3, "the first weights, and those of steps 0 and 2"
    assert status["abandoned_games"] == 2 * 2 * 16
    assert queue_info["capacity"] == 4
    assert pstats.Stats(profile).total_calls > 0
    assert shown.startswith("Active workers: 2\nQueue sizes: {'experience': [")
    assert not worker_pids()
