"""A parallel PettingZoo environment with one fault, chosen by an option."""

from __future__ import annotations

import os
import sys
import warnings
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle
from pettingzoo import ParallelEnv

from engine.game import Game
from engine.games.pettingzoo import probe_process
from engine.games.pettingzoo.family import game_class
from engine.options import build
from engine.play.match import GameSpec

PAIR = ("left", "right")
DAZED = {"dim": np.nan, "glare": np.inf}  # observation of the agent `right`
LATE = 70  # step, beyond the length of a trial


class Moody(ParallelEnv, EzPickle):
    """Both agents add their actions to a sum; `mood` selects the fault."""

    metadata: ClassVar[dict[str, Any]] = {"name": "moody_v0", "render_modes": ["rgb_array"]}
    made: ClassVar[list[str]] = []
    steps: ClassVar[int] = 0  # of all instances

    def __init__(self, mood: str = "", length: int = 100, render_mode: str | None = None) -> None:
        EzPickle.__init__(self, mood, length, render_mode)
        Moody.made.append(mood)
        self.mood, self.length, self.render_mode = mood, length, render_mode
        self.possible_agents, self.agents = list(PAIR), list[str]()

    def observation_space(self, agent: str) -> Any:
        if self.mood == "blind":
            raise RuntimeError("no observation")
        return spaces.Box(-1e9, 1e9, (0,) if self.mood == "small" else (2,), np.float32)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(20_000 if self.mood == "many" else 3)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents = [] if self.mood == "empty" else list(PAIR)
        self.turn, self.total = 0, [float((seed or 0) % 97)]
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[Any, Any, Any, Any, Any]:
        Moody.steps += 1
        if self.mood == "loud":
            print("look at me")  # noqa: T201 - the fault
            warnings.warn("beware of me", stacklevel=2)
        late = self.mood == "late" and self.turn >= LATE
        assert not late or set(actions.values()) == {2}, f"{actions} at step {self.turn}"
        self.turn += 1
        self.total[0] += 3.0 * actions["left"] + actions["right"]
        over = dict.fromkeys(PAIR, self.turn >= self.length)
        info = {"action_mask": np.array([0, 0, 1], np.int8)} if self.mood == "late" and self.turn >= LATE else {}
        reward = float("nan") if self.mood == "nan" and self.turn > 5 else self.total[0] % 7
        self.agents = [] if over["left"] else self.agents
        return self._seen(), dict.fromkeys(PAIR, reward), over, dict.fromkeys(PAIR, False), dict.fromkeys(PAIR, info)

    def render(self) -> Any:
        if self.mood == "shy":
            raise OSError("no brush")
        return np.full((4, 4, 3), int(self.total[0]) % 256, np.uint8)

    def _seen(self) -> Any:
        seen = {agent: np.array([self.turn, self.total[0]], np.float32) for agent in PAIR}
        if self.turn > 5 and self.mood in DAZED:
            seen["right"][1] = DAZED[self.mood]
        return seen


MoodyGame = game_class("pettingzoo:moody_v0", SimpleNamespace(parallel_env=Moody))


def moody(mood: str = "", **options: object) -> Game:
    return MoodyGame(build(MoodyGame.Options, {"mood": mood, **options}))


def abort(end: object, spec: object) -> None:
    """In place of a probe: a constructor that crashes the process."""
    os.abort()


def refuse(end: object, spec: object) -> None:
    """In place of a probe: one that cannot start."""
    raise ImportError("not on this machine")


def leave(end: object, spec: GameSpec) -> None:
    """A probe of a constructor that ends the process."""
    probe_process.game_of = lambda spec: sys.exit(4)
    probe_process.run_probe(end, spec)
