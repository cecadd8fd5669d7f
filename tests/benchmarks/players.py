"""The network players of the benchmarks: six nodes, evaluated as NEAT networks are, all in one compiled call."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.game import AgentKind, Game, Indices, Ints, Seeds, Views
from engine.kernels import bare, inline, row
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import chance, purpose

WEIGHT = purpose("benchmark.weight")
NET = np.dtype([("weight", "f8", (6, 8)), ("bias", "f8", 6)])  # three hidden nodes on 8 inputs, three outputs on those


def network(number: int) -> np.ndarray:
    """Fixed weights; the strongest ones make it follow the ball, so that rallies happen."""
    net = np.zeros((), NET)
    for node in range(6):
        for k in range(8 if node < 3 else 3):
            net["weight"][node, k] = 2.0 * chance(number, WEIGHT, 0, node, k) - 1.0
        net["bias"][node] = 0.1 * (chance(number, WEIGHT, 1, node, 0) - 0.5)
    net["weight"][0, 5] = 6.0  # own height minus the ball's
    net["weight"][3:, 0] = (0.0, 2.0, -2.0)  # up when above it, down when below
    return net


@inline
def _activated(total, net, node):  # type: ignore[no-untyped-def]
    return math.tanh(min(max(2.5 * (net.bias[node] + total), -60.0), 60.0))


@inline
def _hidden(obs, net, node):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(8):
        total += float(obs[k]) * net.weight[node, k]
    return _activated(total, net, node)


@inline
def _output(a, b, c, net, node):  # type: ignore[no-untyped-def]
    """An output from the three hidden nodes, which stay in registers."""
    return _activated(0.0 + a * net.weight[node, 0] + b * net.weight[node, 1] + c * net.weight[node, 2], net, node)


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    net = arrays[0][agent]
    a, b, c = _hidden(obs, net, 0), _hidden(obs, net, 1), _hidden(obs, net, 2)
    best, second, third = _output(a, b, c, net, 3), _output(a, b, c, net, 4), _output(a, b, c, net, 5)
    action = 0
    if second > best:
        best, action = second, 1
    return 2 if third > best else action


@bare
def _act(arrays, agents, obs, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = act_row(arrays, 0, agents[i], 0, obs[i], None, None)


class SixNodePilot:
    """Plays every six-node agent of a group."""

    capacity = None
    act_row = staticmethod(act_row)
    observes = True

    def __init__(self, game: Game, slots: int) -> None:
        self._nets = np.zeros(0, NET)
        self._out: Ints = np.zeros(slots, np.int64)

    @property
    def arrays(self) -> tuple[np.ndarray]:
        return (self._nets,)

    def load(self, agent: AgentSpec) -> int:
        self._nets = np.append(self._nets, network(int(agent.payload)))
        return len(self._nets) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        pass

    def act(self, views: Views) -> Ints:
        out = self._out[: len(views)]
        _act(self.arrays, views.agents, views.obs, out)
        return out

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


SIX_NODES = AgentKind(
    name="six-nodes",
    version=1,
    pilot=SixNodePilot,
    plays=lambda game: game.info.observation == (8,) and game.info.actions == 3,
    samples=lambda game: [AgentSpec(f"net{k}", "six-nodes", str(k).encode()) for k in range(6)],
)
