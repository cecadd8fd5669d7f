"""An environment as a table with seats: turn-based and parallel ones told apart here and nowhere else."""

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


class Table(Protocol):
    """One match of an environment. Actions are numbered from 0, seats as `possible_agents` are listed."""

    played: int  # steps
    truncated: bool  # the last to leave left by a limit

    @property
    def env(self) -> Any: ...
    def deal(self, seed: int) -> None: ...
    def acting(self) -> list[int]: ...
    def step(self, actions: Mapping[int, int]) -> list[float]:
        """The rewards of this step, by seat."""

    def seen(self, seat: int) -> Any:
        """As the environment gives it; of one that has left, what it saw last."""

    def told(self, seat: int) -> Mapping[str, Any]:
        """The info of a seat."""


@dataclass(frozen=True)
class Seats:
    """Who sits where, and the number of the first action of each."""

    agents: tuple[str, ...]
    first: tuple[int, ...]

    def rewards(self, given: Mapping[str, Any]) -> list[float]:
        found = [float(given.get(agent, 0.0)) for agent in self.agents]
        for agent, reward in zip(self.agents, found, strict=True):
            if not math.isfinite(reward):
                raise ValueError(f"the reward of {agent} is {reward}")
        return found


class Together:
    """A parallel environment: all who are left act at once."""

    def __init__(self, env: Any, seats: Seats) -> None:
        self.env, self.played, self.truncated = env, 0, False
        self._seats = seats
        self._seen: dict[str, Any] = {}
        self._told: dict[str, Any] = {}

    def deal(self, seed: int) -> None:
        seen, told = self.env.reset(seed=seed)
        self._seen, self._told = dict(seen), dict(told)

    def acting(self) -> list[int]:
        left = self.env.agents
        return [seat for seat, agent in enumerate(self._seats.agents) if agent in left]

    def step(self, actions: Mapping[int, int]) -> list[float]:
        agents, first = self._seats.agents, self._seats.first
        done = {agents[seat]: first[seat] + action for seat, action in actions.items()}
        seen, rewards, terminated, truncated, told = self.env.step(done)
        self._seen.update(seen)
        self._told.update(told)
        self.played += 1
        left = [agent for agent in done if terminated.get(agent) or truncated.get(agent)]
        if left:
            self.truncated = any(not terminated.get(agent) for agent in left)
        return self._seats.rewards(rewards)

    def seen(self, seat: int) -> Any:
        return self._seen.get(self._seats.agents[seat])

    def told(self, seat: int) -> Mapping[str, Any]:
        return self._told.get(self._seats.agents[seat]) or {}


class Turns:
    """A turn-based environment: those who have died are seen off at once, with the None that is asked of them."""

    def __init__(self, env: Any, seats: Seats) -> None:
        self.env, self.played, self.truncated = env, 0, False
        self._seats = seats
        self._last: dict[str, Any] = {}

    def deal(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self._last = {}
        self._see_off()

    def acting(self) -> list[int]:
        return [self._seats.agents.index(self.env.agent_selection)] if self.env.agents else []

    def step(self, actions: Mapping[int, int]) -> list[float]:
        ((seat, action),) = actions.items()
        self.env.step(self._seats.first[seat] + action)
        rewards = self._seats.rewards(self.env.rewards)
        self.played += 1
        self._see_off()
        return rewards

    def seen(self, seat: int) -> Any:
        agent = self._seats.agents[seat]
        return self.env.observe(agent) if agent in self.env.agents else self._last.get(agent)

    def told(self, seat: int) -> Mapping[str, Any]:
        return self.env.infos.get(self._seats.agents[seat]) or {}

    def _see_off(self) -> None:
        env = self.env
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            agent = env.agent_selection
            self.truncated = not env.terminations[agent]
            self._last[agent] = env.observe(agent)
            env.step(None)


def dealt(env: Any, seats: Seats, seed: int) -> Table:
    """A match that has just begun."""
    made: Table = (Turns if hasattr(env, "agent_iter") else Together)(env, seats)
    made.deal(bits(seed, SEED) >> 33)  # 31 bits: what every generator takes
    return made


def inner(space: spaces.Space[Any]) -> tuple[spaces.Space[Any], bool]:
    """What is seen, apart from the mask, and whether there is one."""
    if not isinstance(space, spaces.Dict) or "action_mask" not in space.spaces:
        return space, False
    rest = {name: one for name, one in space.spaces.items() if name != "action_mask"}
    return rest["observation"] if list(rest) == ["observation"] else spaces.Dict(rest), True


def shape_of(space: spaces.Space[Any]) -> tuple[int, ...]:
    if isinstance(space, spaces.Box):
        return tuple(space.shape) or (1,)
    return (spaces.flatdim(space),)


def numbers(space: spaces.Space[Any], seen: Any, agent: str) -> Observations:
    """What an agent saw, by the space that `inner` gave, as `shape_of` says; every number of it must be one."""
    shape = shape_of(space)
    if seen is None:
        return np.zeros(shape, np.float32)  # one who has not come to the table yet
    if isinstance(seen, Mapping) and "action_mask" in seen:
        seen = {name: one for name, one in seen.items() if name != "action_mask"}
        seen = seen if isinstance(space, spaces.Dict) else seen["observation"]
    flat = seen if isinstance(space, spaces.Box) else spaces.flatten(space, seen)
    given = np.asarray(flat)
    found = given.astype(np.float32).reshape(shape)
    if given.dtype.kind == "f" and not np.isfinite(found).all():  # pictures, which are large, are of whole numbers
        raise ValueError(f"what {agent} sees holds {found[~np.isfinite(found)][0]}")
    return found


def mask_of(table: Table, seat: int) -> Sequence[int] | None:
    """The legal actions, where the environment says them: with what is seen, or in the info."""
    seen = table.seen(seat)
    mask = seen.get("action_mask") if isinstance(seen, Mapping) else None
    if mask is None:
        mask = table.told(seat).get("action_mask")
    found: list[int] | None = None if mask is None else np.flatnonzero(mask).tolist()
    return found
