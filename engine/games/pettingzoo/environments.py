"""One interface for AEC and parallel environments: a table with seats. No other module distinguishes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from engine.game import Observations
from engine.seeding import bits, purpose

SEED = purpose("pettingzoo.seed")


class EnvTable(Protocol):
    """One match of an environment. Actions are numbered from 0, seats as `possible_agents` are listed."""

    steps: int  # steps
    truncated: bool  # whether the last agent to leave was truncated

    @property
    def env(self) -> Any: ...
    def deal(self, seed: int) -> None: ...
    def acting(self) -> list[int]: ...
    def step(self, actions: Mapping[int, int]) -> list[float]:
        """The rewards of this step, by seat."""

    def observation(self, seat: int) -> Any:
        """The raw observation; for an agent that has left, its last one."""

    def info(self, seat: int) -> Mapping[str, Any]:
        """The info of a seat."""


@dataclass(frozen=True)
class Seats:
    """The agent at each seat, and the number of its first action."""

    agents: tuple[str, ...]
    first: tuple[int, ...]

    def rewards(self, given: Mapping[str, Any]) -> list[float]:
        found = [float(given.get(agent, 0.0)) for agent in self.agents]
        for agent, reward in zip(self.agents, found, strict=True):
            if not math.isfinite(reward):
                raise ValueError(f"the reward of {agent} is {reward}")
        return found


class ParallelTable:
    """A parallel environment: all remaining agents act at once."""

    def __init__(self, env: Any, seats: Seats) -> None:
        self.env, self.steps, self.truncated = env, 0, False
        self._seats = seats
        self._observations: dict[str, Any] = {}
        self._infos: dict[str, Any] = {}

    def deal(self, seed: int) -> None:
        observations, infos = self.env.reset(seed=seed)
        self._observations, self._infos = dict(observations), dict(infos)

    def acting(self) -> list[int]:
        left = self.env.agents
        return [seat for seat, agent in enumerate(self._seats.agents) if agent in left]

    def step(self, actions: Mapping[int, int]) -> list[float]:
        agents, first = self._seats.agents, self._seats.first
        done = {agents[seat]: first[seat] + action for seat, action in actions.items()}
        observations, rewards, terminated, truncated, infos = self.env.step(done)
        self._observations.update(observations)
        self._infos.update(infos)
        self.steps += 1
        left = [agent for agent in done if terminated.get(agent) or truncated.get(agent)]
        if left:
            self.truncated = any(not terminated.get(agent) for agent in left)
        return self._seats.rewards(rewards)

    def observation(self, seat: int) -> Any:
        return self._observations.get(self._seats.agents[seat])

    def info(self, seat: int) -> Mapping[str, Any]:
        return self._infos.get(self._seats.agents[seat]) or {}


class AecTable:
    """An AEC environment. Finished agents are removed at once by step(None), as the API requires."""

    def __init__(self, env: Any, seats: Seats) -> None:
        self.env, self.steps, self.truncated = env, 0, False
        self._seats = seats
        self._last_observations: dict[str, Any] = {}

    def deal(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self._last_observations = {}
        self._remove_finished()

    def acting(self) -> list[int]:
        return [self._seats.agents.index(self.env.agent_selection)] if self.env.agents else []

    def step(self, actions: Mapping[int, int]) -> list[float]:
        ((seat, action),) = actions.items()
        self.env.step(self._seats.first[seat] + action)
        rewards = self._seats.rewards(self.env.rewards)
        self.steps += 1
        self._remove_finished()
        return rewards

    def observation(self, seat: int) -> Any:
        agent = self._seats.agents[seat]
        return self.env.observe(agent) if agent in self.env.agents else self._last_observations.get(agent)

    def info(self, seat: int) -> Mapping[str, Any]:
        return self.env.infos.get(self._seats.agents[seat]) or {}

    def _remove_finished(self) -> None:
        env = self.env
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            agent = env.agent_selection
            self.truncated = not env.terminations[agent]
            self._last_observations[agent] = env.observe(agent)
            env.step(None)


def new_table(env: Any, seats: Seats, seed: int) -> EnvTable:
    """A new match."""
    table: EnvTable = (AecTable if hasattr(env, "agent_iter") else ParallelTable)(env, seats)
    table.deal(bits(seed, SEED) >> 33)  # 31 bits, which every generator accepts
    return table


def without_mask(space: spaces.Space[Any]) -> tuple[spaces.Space[Any], bool]:
    """The observation space without the action mask, and whether there is a mask."""
    if not isinstance(space, spaces.Dict) or "action_mask" not in space.spaces:
        return space, False
    rest = {name: part for name, part in space.spaces.items() if name != "action_mask"}
    return rest["observation"] if list(rest) == ["observation"] else spaces.Dict(rest), True


def shape_of(space: spaces.Space[Any]) -> tuple[int, ...]:
    if isinstance(space, spaces.Box):
        return tuple(space.shape) or (1,)
    return (spaces.flatdim(space),)


def to_array(space: spaces.Space[Any], observation: Any, agent: str) -> Observations:
    """An observation as float32 of the shape `shape_of(space)`; raises ValueError if a value is not finite."""
    shape = shape_of(space)
    if observation is None:
        return np.zeros(shape, np.float32)  # an agent that has not joined yet
    if isinstance(observation, Mapping) and "action_mask" in observation:
        observation = {name: part for name, part in observation.items() if name != "action_mask"}
        observation = observation if isinstance(space, spaces.Dict) else observation["observation"]
    flat = observation if isinstance(space, spaces.Box) else spaces.flatten(space, observation)
    given = np.asarray(flat)
    found = given.astype(np.float32).reshape(shape)
    if given.dtype.kind == "f" and not np.isfinite(found).all():  # images are large, but integers
        raise ValueError(f"the observation of {agent} contains {found[~np.isfinite(found)][0]}")
    return found


def legal_actions(table: EnvTable, seat: int) -> Sequence[int] | None:
    """The legal actions from the action mask in the observation or the info; None if there is no mask."""
    observation = table.observation(seat)
    mask = observation.get("action_mask") if isinstance(observation, Mapping) else None
    if mask is None:
        mask = table.info(seat).get("action_mask")
    found: list[int] | None = None if mask is None else np.flatnonzero(mask).tolist()
    return found
