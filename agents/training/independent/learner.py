"""Agents that learn together: their networks, target networks and optimisers as stacks, and one update of all.

A group of one agent runs the same code as a group of many, with the same results to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from agents.nets.network import Network
from agents.training.independent.dqn import DqnLoss
from agents.training.independent.iqn import IqnLoss
from agents.training.independent.kernels import LANES, adam, norms
from agents.training.independent.learner_settings import IQN, LearnerSettings
from agents.training.independent.minibatch import Minibatch, StackedMinibatch
from agents.training.independent.networks import StackParameters, draw_weights, shapes_of
from agents.training.independent.published import Numbers
from engine.errors import BadValue
from engine.game import Seeds
from engine.seeding import derive

DECAYS = 0.9, 0.999  # of Adam's mean and squares: torch's defaults
EPSILON = 1e-5  # of Adam
TINY = 1e-6  # added to a norm before it divides, as in torch's clip_grad_norm_
STAY = 1.0, -1.0, 1.0  # a row of `steps` of an agent that is not updated
COUNTERS = 3  # numbers of a state after its tensors: updates in two parts, and whether the agent diverged
PART = 1 << 24  # of a counter: float32 has all whole numbers up to it


class LearnerGroup:
    """Agents of one method and architecture. The initial weights and draws of an agent depend on `seed` and its number
    alone. An agent whose loss or gradient is not finite stops learning and keeps its last good weights (`diverged`)."""

    def __init__(
        self, settings: LearnerSettings, observation: Sequence[int], actions: int, agents: Sequence[int], seed: int
    ) -> None:
        self.settings, self.agents, self.seed = settings, tuple(agents), seed
        self.updates = [0] * len(self.agents)
        self.diverged = [False] * len(self.agents)
        self.observation, self.actions = tuple(observation), actions
        self._shapes = shapes_of(settings, observation, actions)
        self._playing = settings.architecture.shapes(settings.stacked(observation), actions)
        self._size, count = StackParameters.size(self._shapes), len(self.agents)
        self._state = torch.zeros(4, count, self._size)
        self._online, self._target = (StackParameters(self._shapes, flat) for flat in self._state[:2])
        self._gradient = StackParameters(self._shapes, torch.zeros(count, self._size))
        self._batch = StackedMinibatch(settings, observation, count)
        self._loss = (IqnLoss if settings.method == IQN else DqnLoss)(settings, actions, count)
        self._seeds: Seeds = np.zeros(count, np.uint64)
        self._losses, self._norms = np.zeros((2, count))
        self._steps, self._scratch = np.zeros((count, 3), np.float32), np.zeros(LANES, np.float32)
        for k, agent in enumerate(self.agents):
            for name, numbers in draw_weights(self._shapes, seed, agent).items():
                self._online.parts[name][k] = torch.from_numpy(numbers)
        self._target.flat.copy_(self._online.flat)

    def update(self, batches: Sequence[Minibatch | None]) -> list[float]:
        """One step of Adam for each agent on its minibatch; returns the losses. An agent without a minibatch, or that
        has diverged, stays as it is; its loss is nan."""
        active = [batch is not None and not diverged for batch, diverged in zip(batches, self.diverged, strict=True)]
        if not any(active):
            return [math.nan] * len(active)
        for k, batch in enumerate(batches):
            if batch is not None and active[k]:
                self._batch.fill(k, batch)
                self._seeds[k] = derive(self.seed, self.agents[k], "fractions", self.updates[k])
        self._gradient.array.fill(0.0)
        self._loss.run(self._online, self._target, self._batch, self._seeds, self._gradient, self._losses)
        norms(self._gradient.array, self._scratch, self._norms)
        losses = []
        for k, (loss, norm) in enumerate(zip(self._losses.tolist(), self._norms.tolist(), strict=True)):
            if active[k] and not math.isfinite(loss + norm):
                active[k], self.diverged[k] = False, True
            self._steps[k] = self._step(k, norm) if active[k] else STAY
            losses.append(loss if active[k] else math.nan)
        weights, targets, mean, squares = self._state.numpy()
        adam(weights, targets, mean, squares, self._gradient.array, self._steps, DECAYS, EPSILON, self.settings.tau)
        return losses

    def _step(self, k: int, norm: float) -> tuple[float, float, float]:
        """Counts an update; returns the row of `steps` for the kernel `adam`."""
        self.updates[k] += 1
        factor = min((self.settings.gradient_norm or math.inf) / (norm + TINY), 1.0)
        size = self.settings.learning_rate / (1.0 - DECAYS[0] ** self.updates[k])
        return factor, size, 1.0 / math.sqrt(1.0 - DECAYS[1] ** self.updates[k])

    @property
    def state_size(self) -> int:
        """float32 numbers of an agent: weights, targets, both moments of Adam, counters."""
        return 4 * self._size + COUNTERS

    def write_state(self, k: int, out: Numbers) -> None:
        out[:-COUNTERS].reshape(4, self._size)[:] = self._state[:, k].numpy()
        out[-COUNTERS:] = (*divmod(self.updates[k], PART), self.diverged[k])

    def read_state(self, k: int, given: Numbers) -> None:
        """Sets what `write_state` wrote, to the bit."""
        if given.shape != (self.state_size,):
            raise BadValue("state", given.shape, f"{self.state_size} numbers, as an agent with these settings has")
        high, low, diverged = given[-COUNTERS:].tolist()
        if not (0 <= high < PART and 0 <= low < PART and diverged in (0, 1)):
            raise BadValue(
                "state", (high, low, diverged), "with the number of updates in two parts, and 0 or 1, at its end"
            )
        self._state[:, k].copy_(torch.from_numpy(np.array(given[:-COUNTERS]).reshape(4, self._size)))
        self.updates[k], self.diverged[k] = int(high) * PART + int(low), bool(diverged)

    @property
    def playing_size(self) -> int:
        """Numbers of the network that plays: the tensors of `Architecture.shapes`, flat, in order."""
        return sum(map(math.prod, self._playing.values()))

    def write_playing(self, k: int, out: Numbers) -> None:
        out[:] = np.concatenate([tensor.ravel() for tensor in self.playing(k).values()])

    def playing(self, k: int) -> dict[str, Numbers]:
        """The tensors of the network that plays. Its logits are Q or, with dueling heads, the advantages, which have
        the same largest action; its value is the mean of Q over the actions."""
        tensors = {name: part[k].numpy() for name, part in self._online.parts.items()}
        weight, bias = tensors["heads.weight"], tensors["heads.bias"]
        if isinstance(self._loss, IqnLoss):
            weight = self._loss.folded(self._online)[k]
        heads = {"policy.weight": weight[: self.actions], "policy.bias": bias[: self.actions]}
        if self.settings.dueling:
            heads |= {"value.weight": weight[self.actions :], "value.bias": bias[self.actions :]}
        else:
            heads |= {"value.weight": weight.mean(0, keepdims=True), "value.bias": bias.mean(0, keepdims=True)}
        return {name: np.array((tensors | heads)[name]) for name in self._playing}

    def network(self, k: int, game: str) -> Network:
        """The network of an agent as it plays the game of this name: always its best action."""
        return network_of(self.settings, self.observation, self.actions, game, self.playing(k))


def network_of(
    settings: LearnerSettings, observation: Sequence[int], actions: int, game: str, tensors: Mapping[str, Numbers]
) -> Network:
    return Network(game, settings.stacked(observation), actions, settings.architecture, tensors)
