"""Policies that are not compiled: networks in torch, and plain Python. For tests of rollouts by ticks.

The payload of `torch-net` is that of `tests.plugins.nets`. The payload of `python-policy` names how it fails at step 3:
`hang`, `raise`, `illegal`, `resign`, `nan` or `shape`; if it is empty, it does not fail.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.game import PENDING, RESIGN, AgentKind, Decisions, Game, Indices, Ints, Observations, Seeds, Views
from engine.play.match import AgentSpec, MatchResult
from engine.registry import GAMES, KINDS
from engine.seeding import chance, purpose
from tests.plugins import nets, stones

SAMPLE = purpose("test.policy")
CHUNK = 16  # rows that torch evaluates at once, so that a row has the same bits whatever else is in the batch
PAD = 16  # outputs of a layer are padded to a multiple: with 5, 6, 7, 9, 10 or 11 the place in the chunk changes bits


class PythonPilot:
    """Chooses legal actions at random. The value of an observation is its mean."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        self._actions, self._seeds = game.info.actions, np.zeros(slots, np.uint64)
        self._payloads: list[bytes] = []

    def load(self, agent: AgentSpec) -> int:
        if agent.payload == b"broken":
            raise ValueError("the file is broken")
        self._payloads.append(agent.payload)
        return len(self._payloads) - 1

    def replace(self, number: int, agent: AgentSpec) -> None:
        self._payloads[number] = agent.payload

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        return self.decide(views).actions

    def decide(self, views: Views) -> Decisions:
        actions, log_probs = np.zeros(len(views), np.int64), np.zeros(len(views), np.float32)
        values = self.evaluate(views.agents, views.obs)
        for row in range(len(views)):
            views.asking(row)
            legal = np.arange(self._actions) if views.legal is None else np.flatnonzero(views.legal[row])
            mark = chance(int(self._seeds[views.slots[row]]), SAMPLE, 0, int(views.plies[row]))
            actions[row], log_probs[row] = legal[int(mark * len(legal))], -np.log(len(legal))
            if views.plies[row] == 3 and (payload := self._payloads[views.agents[row]]):
                actions[row], values[row] = self._fail(payload, actions[row], values[row])
        return Decisions(actions, log_probs, values[:-1] if b"shape" in self._payloads else values)

    def _fail(self, payload: bytes, action: int, value: float) -> tuple[int, float]:
        match payload:
            case b"hang":
                threading.Event().wait()
            case b"raise":
                raise ZeroDivisionError("no way on")
            case b"illegal":
                action = 99
            case b"resign":
                action = RESIGN
            case b"nan":
                value = np.nan
        return action, value

    def evaluate(self, agents: Indices, obs: Observations) -> NDArray[np.float32]:
        return obs.reshape(len(obs), -1).mean(axis=1, dtype=np.float64).astype(np.float32)

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


class SlowPilot(PythonPilot):
    """Answers PENDING at every second call, for a part of its rows."""

    _calls = 0

    def decide(self, views: Views) -> Decisions:
        decided = super().decide(views)
        self._calls += 1
        decided.actions[self._calls % 2 :: 2] = PENDING
        return decided


@dataclass
class Layer:
    weights: Any  # tensors
    bias: Any


class TorchPilot:
    """Networks with weights drawn from a seed, evaluated by torch."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        import torch

        torch.set_num_threads(1)
        self._torch, self._actions, self._shape = torch, game.info.actions, game.info.observation
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._nets: list[list[Layer]] = []

    def load(self, agent: AgentSpec) -> int:
        self._nets.append(self._read(agent))
        return len(self._nets) - 1

    def replace(self, number: int, agent: AgentSpec) -> None:
        self._nets[number] = self._read(agent)

    def _read(self, agent: AgentSpec) -> list[Layer]:
        mlp, layers = nets.read(agent.payload), []
        inputs = len(mlp.weights[0])
        for weights, bias in zip(mlp.weights, mlp.biases, strict=True):
            outputs = -(-len(bias) // PAD) * PAD
            padded, wide = np.zeros((inputs, outputs), np.float32), np.zeros(outputs, np.float32)
            padded[: len(weights), : len(bias)], wide[: len(bias)] = weights, bias
            layers.append(Layer(self._torch.from_numpy(padded), self._torch.from_numpy(wide)))
            inputs = outputs
        return layers

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        return self.decide(views).actions

    def decide(self, views: Views) -> Decisions:
        legal = np.ones((len(views), self._actions), np.bool_) if views.legal is None else views.legal
        log_probs, values = self._forward(views.agents, views.obs, legal)
        drawn = zip(self._seeds[views.slots].tolist(), views.plies.tolist(), strict=True)
        marks = np.array([chance(seed, SAMPLE, 0, ply) for seed, ply in drawn])
        sums = np.cumsum(np.exp(log_probs.astype(np.float64)), axis=1)
        actions = (sums <= marks[:, None] * sums[:, -1:]).sum(axis=1)
        return Decisions(actions, log_probs[np.arange(len(actions)), actions], values)

    def evaluate(self, agents: Indices, obs: Observations) -> NDArray[np.float32]:
        return self._forward(agents, obs, np.ones((len(obs), self._actions), np.bool_))[1]

    def _forward(self, agents: Indices, obs: Observations, legal: NDArray[np.bool_]) -> tuple[Any, Any]:
        """Log-probabilities of all actions, and values: one network after the other, in chunks."""
        torch, flat = self._torch, obs.reshape(len(obs), -1)
        log_probs, values = np.zeros((len(obs), self._actions), np.float32), np.zeros(len(obs), np.float32)
        for number in np.unique(agents):
            mine = np.flatnonzero(agents == number)
            for chunk in np.split(mine, range(CHUNK, len(mine), CHUNK)):
                padded, mask = np.zeros((CHUNK, flat.shape[1]), np.float32), np.ones((CHUNK, self._actions), np.bool_)
                padded[: len(chunk)], mask[: len(chunk)] = flat[chunk], legal[chunk]
                with torch.inference_mode():
                    *hidden, last = self._nets[number]
                    x = torch.from_numpy(padded)
                    for layer in hidden:
                        x = torch.tanh(torch.addmm(layer.bias, x, layer.weights))
                    x = torch.addmm(last.bias, x, last.weights)
                    logits = x[:, : self._actions].masked_fill(~torch.from_numpy(mask), -torch.inf)
                    log_probs[chunk] = torch.log_softmax(logits, dim=1).numpy()[: len(chunk)]
                    values[chunk] = x[:, self._actions].numpy()[: len(chunk)]
        return log_probs, values

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


def kind_of(name: str, pilot: Any, preload: tuple[str, ...] = ()) -> AgentKind:
    return AgentKind(name, 1, pilot, lambda game: True, lambda game: [], preload=preload)


PYTHON, SLOW = kind_of("python-policy", PythonPilot), kind_of("slow-policy", SlowPilot)
TORCH = kind_of("torch-net", TorchPilot, ("torch",))
ALL = (PYTHON, SLOW, TORCH, nets.KIND)

GAMES.add("stones", stones.Stones)
for kind in ALL:
    KINDS.add(kind.name, kind)
