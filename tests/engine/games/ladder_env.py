"""A small PettingZoo environment with many unusual properties: action numbers that do not begin at 0, masks in the
info, an agent that leaves early, and several sources of randomness."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from engine.game import Game
from engine.games.pettingzoo.family import game_class
from engine.options import build

CLIMBERS = ("climber_0", "climber_1", "climber_2")


class Ladder(AECEnv):
    """An agent gains a random number times its action; the third leaves after two moves, and a limit ends the match."""

    metadata: ClassVar[dict[str, Any]] = {"name": "ladder_v0", "render_modes": []}

    def __init__(
        self, luck: str = "own", length: int = 8, sight: str = "box", act: str = "discrete", render_mode: Any = None
    ) -> None:
        if length > 50:
            raise ValueError("no ladder is that long")
        self.luck, self.length, self.sight, self.render_mode = luck, length, sight, render_mode
        self.possible_agents = list(CLIMBERS)
        box = spaces.Box(-9, 9, (4,))
        parts = spaces.Dict({"place": spaces.Discrete(3), "turn": box})
        seen = {"box": box, "pair": parts, "odd": spaces.Sequence(box)}
        shared = {agent: seen.get(sight, box) for agent in CLIMBERS}
        self.observation_spaces = shared | ({CLIMBERS[1]: spaces.Box(-9, 9, (3,))} if sight == "unlike" else {})
        self.action_spaces = {agent: spaces.Discrete(2) for agent in CLIMBERS}
        self.action_spaces[CLIMBERS[0]] = spaces.Discrete(3, start=5) if act == "discrete" else box

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.rng: Any = np.random.default_rng(None if self.luck == "none" else seed)
        if self.luck in ("global", "vandal"):
            np.random.seed(seed)
        if self.luck == "global":
            self.rng = np.random
        self.agents = list(CLIMBERS)
        self.rewards = dict.fromkeys(CLIMBERS, 0.0)
        self._cumulative_rewards = dict.fromkeys(CLIMBERS, 0.0)
        self.terminations, self.truncations = dict.fromkeys(CLIMBERS, False), dict.fromkeys(CLIMBERS, False)
        self.infos = {agent: {"action_mask": self._mask(agent, 0)} for agent in CLIMBERS}
        self._skip_agent_selection = None
        self.turn, self.agent_selection = 0, CLIMBERS[0]

    def _mask(self, agent: str, turn: int) -> np.ndarray:
        mask = np.ones(3 if agent == CLIMBERS[0] else 2, np.int8)
        mask[turn % 2] = 0
        return mask

    def observe(self, agent: str) -> Any:
        seen = np.array([self.turn, CLIMBERS.index(agent), self._cumulative_rewards.get(agent, 0.0), 1], np.float32)
        return seen if self.sight != "pair" else {"place": CLIMBERS.index(agent), "turn": seen}

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert self.action_space(agent).contains(action), f"{action} of {agent}"
        dared = action - self.action_space(agent).start
        assert self.infos[agent]["action_mask"][dared], f"{action} is not legal"
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.turn += 1
        self.rewards[agent] = float(self.rng.random()) * (dared - 0.5)
        self.terminations[agent] = agent == CLIMBERS[2] and self.turn > 3
        living = [agent for agent in self.agents if not self.terminations[agent]]
        later = [pid for pid in living if pid > agent] or living
        self.agent_selection = later[0]
        if self.turn >= self.length:
            self.truncations = {agent: not self.terminations[agent] for agent in self.agents}
        self.infos = {agent: {"action_mask": self._mask(agent, self.turn)} for agent in self.agents}
        self._accumulate_rewards()
        self._deads_step_first()


LadderGame = game_class("pettingzoo:ladder_v0", SimpleNamespace(env=Ladder, raw_env=Ladder))


def ladder(**options: object) -> Game:
    """The game that the family would create."""
    return LadderGame(build(LadderGame.Options, options))
