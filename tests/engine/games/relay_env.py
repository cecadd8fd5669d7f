"""A parallel PettingZoo environment that agents leave one after the other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from engine.games.pettingzoo.family import game_class

RUNNERS = ("first", "second", "third")


class Relay(ParallelEnv):
    """Each agent gains its action; from step `length - 2` on, one agent leaves per step."""

    metadata: ClassVar[dict[str, Any]] = {"name": "relay_v0", "render_modes": []}

    def __init__(self, length: int = 9, render_mode: str | None = None) -> None:
        self.length, self.render_mode = length, render_mode
        self.possible_agents, self.agents = list(RUNNERS), list[str]()

    def observation_space(self, agent: str) -> Any:
        return spaces.Box(0, 1e6, (2,), np.float32)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents, self.turn, self.start = list(RUNNERS), 0, (seed or 0) % 97
        return self._seen(self.agents), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[Any, Any, Any, Any, Any]:
        assert list(actions) == self.agents
        acted, self.turn = self.agents, self.turn + 1
        over = {agent: self.turn >= self.length - 2 + RUNNERS.index(agent) for agent in acted}
        self.agents = [agent for agent in acted if not over[agent]]
        rewards = {agent: float(action) for agent, action in actions.items()}
        return self._seen(acted), rewards, over, dict.fromkeys(acted, False), {agent: {} for agent in acted}

    def _seen(self, agents: list[str]) -> Any:
        return {agent: np.array([self.turn, self.start], np.float32) for agent in agents}


RelayGame = game_class("pettingzoo:relay_v0", SimpleNamespace(parallel_env=Relay))
