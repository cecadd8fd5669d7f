"""Small networks with weights drawn from a seed: the learning agents of the tests and benchmarks of rollouts."""

from __future__ import annotations

import itertools
import json
import math
from typing import ClassVar

import numpy as np

from agents.nets.mlp import Mlp, MlpPilot
from engine.game import AgentKind, Game, Ints, Views
from engine.play.match import AgentSpec


def random_mlp(inputs: int, hidden: list[int], actions: int, seed: int, temperature: float = 1.0) -> Mlp:
    rng = np.random.default_rng(seed)
    sizes = [inputs, *hidden, actions + 1]
    shapes = list(itertools.pairwise(sizes))
    weights = tuple((rng.standard_normal(shape) / math.sqrt(shape[0])).astype(np.float32) for shape in shapes)
    biases = tuple((rng.standard_normal(shape[1]) / 4).astype(np.float32) for shape in shapes)
    return Mlp(weights, biases, temperature)


def agent(
    name: str, game: Game, hidden: list[int], seed: int, temperature: float = 1.0, nan: bool = False
) -> AgentSpec:
    values = (math.prod(game.info.observation), hidden, game.info.actions, seed, temperature, nan)
    return AgentSpec(name, KIND.name, json.dumps(values).encode())


def read(payload: bytes) -> Mlp:
    *values, nan = json.loads(payload)
    mlp = random_mlp(*values)
    if nan:
        mlp.weights[0][0, 0] = np.nan
    return mlp


def exact(mlp: Mlp, obs: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[rows, actions] log-probabilities and [rows] values, in float64 by numpy."""
    x = obs.reshape(len(obs), -1).astype(np.float64)
    for k, (weights, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
        x = x @ weights.astype(np.float64) + bias
        x = np.tanh(x) if k + 1 < len(mlp.weights) else x
    logits = np.where(legal, x[:, :-1] / (mlp.temperature or 1.0), -np.inf)
    logits -= logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), x[:, -1]


class NetPilot(MlpPilot):
    """`seen` may be given a list that collects slots, observations and answers of every call of `act`."""

    seen: ClassVar[list[tuple[np.ndarray, np.ndarray, np.ndarray]] | None] = None

    def __init__(self, game: Game, slots: int) -> None:
        super().__init__(game, slots, read)

    def act(self, views: Views) -> Ints:
        answers = super().act(views)
        if self.seen is not None:
            self.seen.append((views.slots.copy(), views.obs.copy(), answers.copy()))
        return answers


KIND = AgentKind(
    name="drawn-net",
    version=1,
    pilot=NetPilot,
    plays=lambda game: True,
    samples=lambda game: [agent("Net", game, [16], 0)],
)
