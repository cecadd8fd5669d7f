"""Plays all genomes of a group of lanes in one compiled call. The inputs of a network are its seat's observation,
flattened; its action is the legal action with the largest output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.neat.drawing import draw
from agents.neat.network import Networks, act_row
from agents.neat.payload import load
from engine.errors import BadValue
from engine.files import asset
from engine.game import AgentKind, Game, Indices, Ints, Seeds, Views
from engine.play.match import AgentSpec, MatchResult

MOST_LINKS = 10_000  # inputs times outputs: a generation of such genomes is millions of Python objects


def inputs_of(game: Game) -> int:
    """Size of a seat's observation."""
    return math.prod(game.info.observation)


class NeatPilot:
    """Networks by agent, the memory of recurrent ones by slot."""

    capacity = None
    act_row = staticmethod(act_row)
    observes = True

    def __init__(self, game: Game, slots: int) -> None:
        info = game.info
        self._game, self._inputs, self._actions = game.spec.name, inputs_of(game), info.actions
        self._networks = Networks(slots)
        self._out = np.zeros((slots, info.actions))
        self._outputs = np.zeros(info.actions)  # of one network
        self._chosen: Ints = np.zeros(slots, np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self._networks.arrays, self._outputs

    def load(self, agent: AgentSpec) -> int:
        genome = load(agent.payload)
        for name, given, expected in (
            ("inputs", genome.inputs, self._inputs),
            ("outputs", genome.outputs, self._actions),
        ):
            if given != expected:
                raise BadValue(f"genome.{name}", given, f"{expected}, as in {self._game}")
        return self._networks.add(genome)

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._networks.reset(slots)

    def act(self, views: Views) -> Ints:
        n = len(views)
        out, chosen = self._out[:n], self._chosen[:n]
        inputs = views.obs.reshape(n, self._inputs)
        failed = self._networks.act(views.agents, views.slots, inputs, views.legal, out, chosen)
        if failed >= 0:
            views.asking(failed)  # blames this agent only
            raise OverflowError("overflow in its network: a square or a cube is too large")
        return chosen

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


def samples(game: Game) -> list[AgentSpec]:
    """The champion shipped with Ringside, if it fits this game with these options."""
    found = asset(f"neat/{game.spec.name}.genome")
    if found is None or load(found.read_bytes()).inputs != inputs_of(game):
        return []
    return [AgentSpec("Evolved", KIND.name, found.read_bytes(), KIND.version)]


KIND = AgentKind(
    name="neat",
    version=1,
    pilot=NeatPilot,
    plays=lambda game: inputs_of(game) * game.info.actions <= MOST_LINKS,
    samples=samples,
    draw=draw,
)
