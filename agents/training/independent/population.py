"""The agents of an experiment with all that belongs to them: learners in groups, buffers, and the players they are now.

A learner belongs to a group of its own or to one with others of the same settings. Its numbers are the same to the bit
in both, so agents can be grouped again at any time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from agents.nets.network import Network
from agents.nets.pilot import agent
from agents.training.independent.actor import Turn
from agents.training.independent.buffer import ReplayBuffer
from agents.training.independent.experiment import ExperimentSettings
from agents.training.independent.learner import LearnerGroup, network_of
from agents.training.independent.learner_settings import LearnerSettings
from agents.training.independent.published import Numbers
from agents.training.independent.roster import SeatedAgent
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec
from engine.processes.launcher import shared_memory


class AgentPopulation:
    """The agents by seat."""

    def __init__(
        self, game: Game, members: Sequence[SeatedAgent], settings: ExperimentSettings, *, shared: bool
    ) -> None:
        """`shared`: whether buffers are in memory that processes share."""
        self.game, self.members, self._settings = game, tuple(members), settings
        self.learners = [member for member in members if member.settings is not None]  # frozen ones too
        self.seats = [learner.seat for learner in self.learners]
        self.active = [learner.seat for learner in self.learners if learner.learns]
        self._check_memory()
        learners = [(learner.seat, learner.settings) for learner in self.learners if learner.settings]
        self.buffers = {seat: self._buffer(own, shared) for seat, own in learners}
        self.groups = [self._group([seat]) for seat in self.seats]
        self.players = {member.seat: member.player for member in members if member.player is not None}
        self.versions = dict.fromkeys(self.seats, 0)  # updates of the weights that play
        for seat in self.seats:
            self.publish(seat)

    @property
    def seated(self) -> list[AgentSpec]:
        """The players of all seats."""
        return [self.players[seat] for seat in range(self.game.info.seats)]

    def _frame(self, settings: LearnerSettings) -> tuple[int, ...]:
        """The shape of one frame of an observation."""
        first, *rest = self.game.info.observation
        return (first // settings.frames, *rest)

    def _check_memory(self) -> None:
        """Raises BadValue if the buffers of all agents take more than half of the free memory. Shared memory is a file:
        a system that has no room for it kills the process instead of raising an error."""
        rows, lanes = self._settings.buffer_rows, self._settings.lanes
        frames = [self._frame(learner.settings) for learner in self.learners if learner.settings]
        needed = sum(ReplayBuffer.bytes_needed(rows, lanes, frame) for frame in frames)
        free = psutil.virtual_memory().available // 2
        if needed > free:
            most = max(int(self._settings.buffer * free / needed) // lanes * lanes, 0)
            what = f"at most {most:,}: buffers of {len(frames)} agents take {needed / 2**30:.1f} GB of memory, and"
            raise BadValue("buffer", self._settings.buffer, f"{what} half of what is free is {free / 2**30:.1f} GB")

    def _buffer(self, settings: LearnerSettings, shared: bool) -> ReplayBuffer:
        size = (self._settings.buffer_rows, self._settings.lanes, self._frame(settings))
        return ReplayBuffer(*size, shared_memory(ReplayBuffer.bytes_needed(*size)) if shared else None)

    def _group(self, seats: Sequence[int]) -> LearnerGroup:
        settings = self.members[seats[0]].settings
        assert settings is not None
        return LearnerGroup(settings, self._frame(settings), self.game.info.actions, seats, self._settings.seed)

    @property
    def learning_groups(self) -> list[LearnerGroup]:
        """The groups of agents that learn."""
        return [group for group in self.groups if group.agents[0] in self.active]

    def set_learning_groups(self, groups: Sequence[LearnerGroup]) -> None:
        """The same agents with the same states, in other groups."""
        self.groups = [*groups, *(group for group in self.groups if group.agents[0] not in self.active)]

    @property
    def learning_buffers(self) -> dict[int, ReplayBuffer]:
        return {seat: self.buffers[seat] for seat in self.active}

    def place(self, seat: int) -> tuple[LearnerGroup, int]:
        """The group of an agent, and its place in it."""
        return next((group, group.agents.index(seat)) for group in self.groups if seat in group.agents)

    def add(self, turn: Turn) -> None:
        """Adds a turn to the buffers."""
        for k, seat in enumerate(self.seats):
            buffer = self.buffers[seat]
            buffer.add(turn.obs[k][:, : buffer.observation[0]], turn.actions[k], turn.rewards[k], turn.ends[k])

    def ready(self) -> bool:
        """Whether every agent that learns has enough turns for a minibatch."""
        for seat in self.active:
            settings, buffer = self.members[seat].settings, self.buffers[seat]
            if settings is not None and not buffer.ready(
                settings.batch, steps=settings.n_steps, frames=settings.frames
            ):
                return False
        return True

    def publish(self, seat: int, numbers: Numbers | None = None, version: int | None = None) -> AgentSpec:
        """The player that an agent is now: with the weights of its learner, or with these numbers of a network."""
        group, k = self.place(seat)
        network = group.network(k, self.game.spec.name) if numbers is None else self._network(group, numbers)
        self.players[seat] = agent(self.members[seat].role, network)
        self.versions[seat] = group.updates[k] if version is None else version
        return self.players[seat]

    def _network(self, group: LearnerGroup, numbers: Numbers) -> Network:
        tensors, at = {}, 0
        shapes = group.settings.architecture.shapes(self.game.info.observation, self.game.info.actions)
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            tensors[name] = numbers[at : at + size].reshape(shape)
            at += size
        return network_of(group.settings, group.observation, group.actions, self.game.spec.name, tensors)

    def updates(self, seat: int) -> int:
        group, k = self.place(seat)
        return group.updates[k]

    def diverged(self, seat: int) -> bool:
        group, k = self.place(seat)
        return group.diverged[k]

    def states(self) -> dict[int, Numbers]:
        """The learners by seat: weights, targets, optimisers and counters."""
        found = {}
        for group in self.groups:
            for k, seat in enumerate(group.agents):
                found[seat] = np.empty(group.state_size, np.float32)
                group.write_state(k, found[seat])
        return found

    def set_states(self, states: Mapping[int, Numbers]) -> None:
        for seat, numbers in states.items():
            group, k = self.place(seat)
            group.read_state(k, numbers)

    def buffer_tensors(self, without: int) -> dict[int, dict[str, NDArray[Any]]]:
        """The buffers by seat, without so many of their newest rows."""
        found = {}
        for seat, buffer in self.buffers.items():
            tensors = buffer.tensors()
            kept = max(len(tensors["actions"]) - without, 0)
            found[seat] = {name: tensor if name == "added" else tensor[:kept] for name, tensor in tensors.items()}
            found[seat]["added"] = tensors["added"] - without
        return found
