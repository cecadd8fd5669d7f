"""Plays all genomes of a group of lanes in one compiled call. A genome sees what its seat observes, as a row of numbers
whatever its shape, and does the legal action with the largest output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.neat import genome as genomes
from agents.neat.network import Networks, act_row
from engine.errors import BadValue
from engine.files import asset
from engine.game import AgentKind, Game, Indices, Ints, Seeds, Views
from engine.play.match import AgentSpec, MatchResult

MOST_LINKS = 10_000  # from all inputs to all outputs: a generation of such genomes is millions of objects in Python


def inputs_of(game: Game) -> int:
    """Numbers that a seat sees."""
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
        genome = genomes.load(agent.payload)
        for name, given, wanted in (
            ("inputs", genome.inputs, self._inputs),
            ("outputs", genome.outputs, self._actions),
        ):
            if given != wanted:
                raise BadValue(f"genome.{name}", given, f"{wanted}, as {self._game} has it")
        return self._networks.add(genome)

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._networks.reset(slots)

    def act(self, views: Views) -> Ints:
        n = len(views)
        out, chosen = self._out[:n], self._chosen[:n]
        seen = views.obs.reshape(n, self._inputs)
        failed = self._networks.act(views.agents, views.slots, seen, views.legal, out, chosen)
        if failed >= 0:
            views.asking(failed)  # nobody else's fault
            raise OverflowError("a square or a cube in its network is too large for a number")
        return chosen

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


def samples(game: Game) -> list[AgentSpec]:
    """The champion that comes with Ringside, if there is one for this game as its options make it."""
    found = asset(f"neat/{game.spec.name}.genome")
    if found is None or genomes.load(found.read_bytes()).inputs != inputs_of(game):
        return []
    return [AgentSpec("Evolved", KIND.name, found.read_bytes(), KIND.version)]


KIND = AgentKind(
    name="neat",
    version=1,
    pilot=NeatPilot,
    plays=lambda game: inputs_of(game) * game.info.actions <= MOST_LINKS,
    samples=samples,
)
