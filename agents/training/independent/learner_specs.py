"""What learner processes learn: groups of agents, the bounds on their updates, and how they are divided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.seeding import derive

if TYPE_CHECKING:
    from agents.training.independent.learner_settings import LearnerSettings

GROUP = "agents.training.independent.learner:LearnerGroup"
NOT_FINITE = "its loss was not finite"  # why an agent has stopped learning


@dataclass(frozen=True)
class GroupSpec:
    """Agents that are updated together."""

    settings: LearnerSettings
    agents: tuple[int, ...]


@dataclass(frozen=True)
class UpdateBounds:
    """How many updates the collected turns of an agent allow, and how many they demand.

    After T turns of all lanes, T // turns_per_update updates are due. A learner makes at most `burst` more, and the
    actor waits while a learner has made `max_lag` less. The updates that an agent has skipped, because it did not learn
    when they were due, count as if it had made them.
    """

    turns_per_update: int = 32
    learn_after: int = 0  # turns before the first update
    burst: int = 0
    max_lag: int = 256

    def due(self, turns: int) -> int:
        return turns // self.turns_per_update if turns >= max(self.learn_after, 1) else 0

    def most(self, turns: int) -> int:
        """Updates that may be made at most."""
        return self.due(turns) + self.burst if turns >= max(self.learn_after, 1) else 0

    def late(self, turns: int, updates: int) -> bool:
        """Whether the actor must wait."""
        return self.due(turns) - updates > self.max_lag

    def first_late(self, updates: int) -> int:
        """The number of turns from which on it must wait if there are no more updates."""
        return max((updates + self.max_lag + 1) * self.turns_per_update, self.learn_after)


@dataclass(frozen=True)
class LearnerSpec:
    """What a learner process learns, and how."""

    groups: tuple[GroupSpec, ...]
    observation: tuple[int, ...]
    actions: int
    seed: int
    rows: int  # of each buffer
    lanes: int
    bounds: UpdateBounds
    publish_every: int  # updates, while it is free
    skipped: Mapping[int, int]  # by agent: updates that were due while it did not learn
    group: str = GROUP  # "module:class"

    @property
    def agents(self) -> tuple[int, ...]:
        return tuple(agent for group in self.groups for agent in group.agents)


@dataclass(frozen=True, eq=False)
class AgentMemory:
    """The memory of one agent that processes share."""

    buffer: Any
    state: Any  # PublishedState of everything that an agent needs to go on learning
    playing: Any  # PublishedState of the network that plays


def batch_seed(seed: int, agent: int, update: int) -> int:
    """The seed of a minibatch: the same in whatever process, group or order an agent learns."""
    return derive(seed, agent, "batch", update)


def divide(groups: Sequence[GroupSpec], workers: int) -> list[tuple[GroupSpec, ...]]:
    """Distribute agents over at most so many processes, as evenly as possible; those of a group stay neighbours."""
    flat = [(k, agent) for k, group in enumerate(groups) for agent in group.agents]
    parts: list[tuple[GroupSpec, ...]] = []
    for chosen in np.array_split(np.arange(len(flat)), min(max(workers, 1), len(flat))):
        by_group: dict[int, list[int]] = {}
        for k, agent in (flat[place] for place in chosen):
            by_group.setdefault(k, []).append(agent)
        parts.append(tuple(GroupSpec(groups[k].settings, tuple(agents)) for k, agents in by_group.items()))
    return parts
