"""Genomes evaluated as in neat-python's own examples: its networks, a match at a time in plain Python, and its
`ParallelEvaluator`, which calls `evaluate` in worker processes, one genome at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import neat

from agents.scripted.pong import Bot
from engine.games.pong.game import PongOptions
from engine.play.lane_kernels import AGENT_SEED
from tests.benchmarks.reference import Match, bot_act, draw

HIT, STEP = 0.01, 0.0001  # rewards besides points
Policy = Callable[[list[float], int, int], int]  # observation, seed and step -> action


@dataclass(frozen=True)
class Trial:
    """The matches of every genome: each opponent with each seed, from both sides."""

    options: PongOptions
    steps: int
    opponents: tuple[Any, ...]  # bots, and genomes of neat-python
    seeds: tuple[int, ...]


def mind(player: Any, config: Any) -> Policy:
    """A player for one match."""
    if isinstance(player, Bot):
        return lambda seen, seed, step: bot_act(player, seen, seed, step)
    kind = neat.nn.FeedForwardNetwork if config.genome_config.feed_forward else neat.nn.RecurrentNetwork
    activate = kind.create(player, config).activate

    def act(seen: list[float], seed: int, step: int) -> int:
        out = activate(seen)
        return int(out.index(max(out)))

    return act


def play(trial: Trial, seed: int, minds: Sequence[Policy]) -> Match:
    match = Match(trial.options, seed)
    match.serve()
    left, right = minds
    first, second = (draw(seed, AGENT_SEED, seat, 0) for seat in range(2))
    while not match.over and match.step < trial.steps:
        step = match.step
        match.advance((left(match.observe(0), first, step), right(match.observe(1), second, step)))
    return match


def worth(match: Match, seat: int) -> float:
    """As `agents.training.scoring.merits_of`, plus rewards for hits and for steps."""
    own, other = match.score[seat], match.score[1 - seat]
    won = 1.0 if own > other else 0.5 if own == other else 0.0
    merit = 0.5 * won + 0.25 + 0.25 * ((own - other) / max(own, other, 1))
    return merit + (HIT * match.hits[seat] + STEP * match.step)


def evaluate(trial: Trial, genome: Any, config: Any) -> float:
    """The fitness of a genome."""
    found = []
    for opponent in trial.opponents:
        for seed in trial.seeds:
            for seat in range(2):
                pair = (genome, opponent) if seat == 0 else (opponent, genome)
                found.append(worth(play(trial, seed, [mind(genome, config) for genome in pair]), seat))
    return sum(found) / len(found)
