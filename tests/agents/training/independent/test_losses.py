"""The losses and gradients of stacks compared with plain numpy and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from agents.training.independent.dqn import DqnLoss
from agents.training.independent.iqn import IqnLoss
from agents.training.independent.learner_settings import DQN, IQN, LearnerSettings
from agents.training.independent.minibatch import StackedMinibatch
from agents.training.independent.networks import StackParameters, draw_weights, shapes_of
from tests.agents.training.independent.loss_reference import Rows, draw_rows, reference_loss

INPUTS, ACTIONS, AGENTS = 5, 3, 2
SMALL = {"hidden": (7, 6), "batch": 32, "quantiles": 5}
METHODS = [
    LearnerSettings(method=DQN, double=double, dueling=dueling, **SMALL)  # type: ignore[arg-type]
    for double in (False, True)
    for dueling in (False, True)
] + [LearnerSettings(method=IQN, double=double, **SMALL) for double in (False, True)]  # type: ignore[arg-type]
STEP = 1e-5

Named = dict[str, NDArray[np.float32]]


def name_of(settings: LearnerSettings) -> str:
    words = [settings.method, "double" * settings.double, "dueling" * settings.dueling]
    return " ".join(word for word in words if word)


class Stack:
    """The loss of a stack, with different weights of online and target networks for each agent."""

    def __init__(self, settings: LearnerSettings) -> None:
        shapes = shapes_of(settings, (INPUTS,), ACTIONS)
        self.online, self.target, self.gradient = (
            StackParameters(shapes, torch.zeros(AGENTS, StackParameters.size(shapes))) for _ in range(3)
        )
        batch = StackedMinibatch(settings, (INPUTS,), AGENTS)
        self.rows: list[Rows] = []
        self.drawn: list[tuple[Named, Named]] = []
        for agent in range(AGENTS):
            self.drawn.append((draw_weights(shapes, 1, agent), draw_weights(shapes, 2, agent)))
            for parameters, drawn in zip((self.online, self.target), self.drawn[-1], strict=True):
                for name, numbers in drawn.items():
                    numbers *= 3.0  # so that errors are on both sides of 1, where the Huber loss changes
                    parameters.parts[name][agent] = torch.from_numpy(numbers)
            self.rows.append(draw_rows(agent, 0, settings.batch, INPUTS, ACTIONS))
            batch.fill(agent, self.rows[-1])
        self.seeds = np.array([11, 12], np.uint64)
        self.losses = np.zeros(AGENTS)
        method = (IqnLoss if settings.method == IQN else DqnLoss)(settings, ACTIONS, AGENTS)
        method.run(self.online, self.target, batch, self.seeds, self.gradient, self.losses)


@pytest.mark.parametrize("settings", METHODS, ids=name_of)
def test_losses_are_those_of_plain_numpy(settings: LearnerSettings) -> None:
    stack = Stack(settings)
    for agent in range(AGENTS):
        online, target = ({name: w.astype(float) for name, w in drawn.items()} for drawn in stack.drawn[agent])
        expected = reference_loss(settings, online, target, stack.rows[agent], int(stack.seeds[agent]))
        assert stack.losses[agent] == pytest.approx(expected, rel=1e-5)
        assert expected > 0.1
    assert stack.losses[0] != pytest.approx(stack.losses[1], rel=1e-3)


@pytest.mark.parametrize("settings", METHODS, ids=name_of)
def test_gradients_are_those_of_finite_differences(settings: LearnerSettings) -> None:
    stack = Stack(settings)
    generator = np.random.default_rng(5)
    for agent in range(AGENTS):
        online, target = ({name: w.astype(float) for name, w in drawn.items()} for drawn in stack.drawn[agent])
        for name, numbers in online.items():
            found = stack.gradient.parts[name][agent].numpy()
            scale = float(np.abs(found).max())
            assert scale > 0.0, name
            for at in generator.choice(numbers.size, 2, replace=False):
                losses = []
                for step in (STEP, -STEP):
                    moved = numbers.copy()
                    moved.flat[at] += step
                    seed = int(stack.seeds[agent])
                    losses.append(reference_loss(settings, online | {name: moved}, target, stack.rows[agent], seed))
                slope = (losses[0] - losses[1]) / (2 * STEP)
                assert found.flat[at] == pytest.approx(slope, abs=2e-4 * scale), name


def test_methods_that_differ_have_different_losses() -> None:
    """So that the comparisons above do not pass because an option has no effect."""
    losses = {name_of(settings): tuple(Stack(settings).losses) for settings in METHODS}
    assert len(set(losses.values())) == len(METHODS)
