"""Matches of a learning agent against others, some of which have a memory: for tests of saved rollouts."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agents.neat.genome import Genome
from agents.neat.payload import dump
from agents.neat.pilot import KIND as NEAT
from engine.game import Game
from engine.play.match import AgentSpec, Limits, MatchSpec
from engine.registry import KINDS, game_of
from engine.seeding import derive, pick, purpose
from tests.plugins import nets, policies
from tests.plugins.pilots import row_kind
from tests.plugins.plans import game_spec

REMEMBERING = row_kind("remembering-opponent", answer="remembering")
WHO = purpose("test.opponents")
KINDS.add(REMEMBERING.name, REMEMBERING)


def recurrent(game: Game, seed: int = 1) -> AgentSpec:
    """A genome whose outputs depend on its earlier outputs."""
    rng = np.random.default_rng(seed)
    inputs, outputs = int(np.prod(game.info.observation)), game.info.actions
    ways = itertools.product(range(outputs), repeat=2)
    links = list(dict.fromkeys([*((-1 - k % inputs, k % outputs) for k in range(4 * outputs)), *ways]))
    ones = (1.0,) * outputs
    weights = tuple(float(weight) for weight in rng.standard_normal(len(links)) * 2)
    genome = Genome(
        inputs, outputs, False, tuple(range(outputs)), (0.1,) * outputs, ones, ones, ("sin",) * outputs,
        ("sum",) * outputs, tuple(a for a, _ in links), tuple(b for _, b in links), weights, (True,) * len(links),
        tuple(range(len(links))),
    )  # fmt: skip
    return AgentSpec("Recurrent", NEAT.name, dump(genome), NEAT.version)


def agents_of(name: str, learner: str = nets.KIND.name, seed: int = 7) -> dict[str, AgentSpec]:
    """The learning agent and its opponents, by id."""
    game = game_of(game_spec(name))
    net = nets.agent("me", game, [12], seed)
    me = net if learner == nets.KIND.name else AgentSpec("me", policies.PYTHON.name)
    frozen, remembering = nets.agent("frozen", game, [8], 3), AgentSpec("remembering", REMEMBERING.name)
    return {agent.id: agent for agent in (me, frozen, recurrent(game), remembering)}


def against(
    agents: Mapping[str, AgentSpec], stream: int, k: int, game: str, seats: int, others: Sequence[str]
) -> MatchSpec:
    """A match of `me` against agents that are drawn from `others`; some have limits. "Dice" is made here."""
    known = {**agents, "Dice": AgentSpec("Dice", "dice")}
    drawn = [known[others[pick(len(others), stream, WHO, seat, k)]] for seat in range(seats - 1)]
    players = [agents["me"], *drawn]
    turned = players[k % seats :] + players[: k % seats]
    limits = Limits(steps=9 + stream if k % 3 == 1 else None)
    return MatchSpec(f"{stream}.{k}", game_spec(game), tuple(turned), derive("saved", stream, k), None, limits)


def killed(agents: Mapping[str, AgentSpec], stream: int, k: int, marks: str, **settings: Any) -> MatchSpec:
    """As `against`, but if there is a file STREAM.K-NUMBER in `marks`, it is removed and the process is killed."""
    for mark in sorted(Path(marks).glob(f"{stream}.{k}-*")):
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return against(agents, stream, k, **settings)
