"""Self-play in Pong for Stable-Baselines3 (`pip install --no-deps stable-baselines3`), to compare `ppo` with.

One network plays both seats of every board, and each seat is an environment of its own to Stable-Baselines3: 32 boards
are 64 environments. `BatchedPong` steps all boards in one call, which is the fastest way that the engine offers.
`ExportedPong` steps environments of PettingZoo one after the other, as most users would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from engine.game import Game
from engine.games.pettingzoo import env
from engine.registry import new_game

TRUNCATED = 2  # see `Boards.over`


class SelfPlay(VecEnv):  # type: ignore[misc]
    """Environment 2 * board + seat is a seat of a board. Matches that are over are dealt again."""

    def __init__(self, boards: int, game: Game) -> None:
        info = game.info
        low, high = info.bounds or (-np.inf, np.inf)
        observation = spaces.Box(low, high, info.observation, np.float32)
        super().__init__(boards * info.seats, observation, spaces.Discrete(info.actions))
        self._actions: np.ndarray = np.zeros(0, np.int64)

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


class BatchedPong(SelfPlay):
    """All boards in one call."""

    def __init__(self, boards: int) -> None:
        game = new_game("pong")
        super().__init__(boards, game)
        self._boards, self._seats = game.boards(boards), game.info.seats
        self._every = np.arange(boards, dtype=np.uint32)
        self._lanes = self._every.repeat(self._seats)
        self._seat_of = np.tile(np.arange(self._seats, dtype=np.uint32), boards)
        self._dealt = 0

    def _deal(self, lanes: np.ndarray) -> None:
        seeds = np.arange(self._dealt, self._dealt + len(lanes), dtype=np.uint64)
        self._dealt += len(lanes)
        self._boards.deal(lanes, seeds, [None] * len(lanes))

    def _observed(self) -> np.ndarray:
        out: np.ndarray = np.empty((self.num_envs, *self.observation_space.shape), np.float32)
        self._boards.observe(self._lanes, self._seat_of, out)
        return out

    def reset(self) -> np.ndarray:
        self._deal(self._every)
        self._scores = self._boards.scores().copy()
        return self._observed()

    def step_wait(self) -> tuple[Any, Any, Any, Any]:
        self._boards.apply(self._every, self._actions.reshape(-1, self._seats).astype(np.int64, copy=False))
        scores, over = self._boards.scores(), self._boards.over().copy()  # a new deal changes the original
        change = scores - self._scores
        rewards = (change - (change.sum(axis=1, keepdims=True) - change) / (self._seats - 1)).astype(np.float32).ravel()
        observed, infos = self._observed(), [{} for _ in range(self.num_envs)]  # type: ignore[var-annotated]
        ended = np.flatnonzero(over).astype(np.uint32)
        if len(ended):
            for lane in ended.tolist():
                for number in range(lane * self._seats, (lane + 1) * self._seats):
                    cut = bool(over[lane] == TRUNCATED)
                    infos[number] = {"terminal_observation": observed[number], "TimeLimit.truncated": cut}
            self._deal(ended)
            scores, after = self._boards.scores(), self._observed()
            dones = (over != 0).repeat(self._seats)
            observed = np.where(dones[:, None], after, observed)
        self._scores = scores.copy()
        return observed, rewards, (over != 0).repeat(self._seats), infos


class ExportedPong(SelfPlay):
    """Environments of PettingZoo, one after the other."""

    def __init__(self, boards: int) -> None:
        self._envs = [env("pong") for _ in range(boards)]
        self._agents = self._envs[0].possible_agents
        super().__init__(boards, new_game("pong"))

    def reset(self) -> np.ndarray:
        found = [match.reset(seed=number)[0] for number, match in enumerate(self._envs)]
        return np.stack([seen[agent] for seen in found for agent in self._agents])

    def step_wait(self) -> tuple[Any, Any, Any, Any]:
        observed, rewards, dones, infos = [], [], [], []
        chosen = self._actions.reshape(len(self._envs), -1).tolist()
        for match, actions in zip(self._envs, chosen, strict=True):
            seen, gained, ended, cut, _ = match.step(dict(zip(self._agents, actions, strict=True)))
            total, others = sum(gained.values()), len(self._agents) - 1
            over = any(ended.values()) or any(cut.values())
            after = match.reset()[0] if over else seen
            for agent in self._agents:
                observed.append(after[agent])
                rewards.append(gained[agent] - (total - gained[agent]) / others)
                dones.append(over)
                about = {"terminal_observation": seen[agent], "TimeLimit.truncated": cut[agent]} if over else {}
                infos.append(about)
        return np.stack(observed), np.array(rewards, np.float32), np.array(dones), infos


def check(boards: int = 4) -> None:
    """Checks that both give the same observations, rewards and ends, up to the first end."""
    batched, exported = BatchedPong(boards), ExportedPong(boards)
    draws = np.random.default_rng(1)
    obs, other = batched.reset(), exported.reset()
    for step in range(100_000):
        if not np.array_equal(obs, other):
            raise AssertionError(f"batched boards and PettingZoo differ in observations at step {step}")
        actions = draws.integers(0, 3, batched.num_envs)
        obs, rewards, dones, infos = batched.step(actions)
        other, *rest = exported.step(actions)
        if not (np.array_equal(rewards, rest[0]) and np.array_equal(dones, rest[1])):
            raise AssertionError(f"batched boards and PettingZoo differ in rewards or ends at step {step}")
        if dones.any():  # the next matches have other seeds
            for mine, theirs in zip(infos, rest[2], strict=True):
                if mine.keys() != theirs.keys() or not np.array_equal(
                    mine.get("terminal_observation", 0), theirs.get("terminal_observation", 0)
                ):
                    raise AssertionError(f"batched boards and PettingZoo differ in how matches end at step {step}")
            return


class Trunk(BaseFeaturesExtractor):  # type: ignore[misc]
    """The layers that policy and value share, as in the trainer `ppo`."""

    def __init__(self, observation_space: spaces.Box, hidden: tuple[int, ...]) -> None:
        super().__init__(observation_space, hidden[-1])
        sizes = (int(np.prod(observation_space.shape)), *hidden)
        layers = [(nn.Linear(sizes[k], sizes[k + 1]), nn.Tanh()) for k in range(len(hidden))]
        self.layers = nn.Sequential(*(part for layer in layers for part in layer))

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return self.layers(obs)  # type: ignore[no-any-return]


def new_model(environment: SelfPlay, hidden: tuple[int, ...], steps: int, minibatch: int, epochs: int) -> PPO:
    """With the settings that `ppo_settings` of `tests.benchmarks.ppo` has for the trainer `ppo`."""
    return PPO(
        "MlpPolicy",
        environment,
        learning_rate=1e-3,
        n_steps=steps,
        batch_size=minibatch,
        n_epochs=epochs,
        gamma=0.99,
        gae_lambda=0.95,
        clip_range=0.2,
        ent_coef=0.01,
        vf_coef=0.25,  # its value loss is twice that of `ppo`
        max_grad_norm=0.5,
        policy_kwargs={
            "features_extractor_class": Trunk,
            "features_extractor_kwargs": {"hidden": hidden},
            "net_arch": [],
        },
        device="cpu",
        seed=1,
    )
