"""Compares two scripted players, with a standard error."""

from __future__ import annotations

import math

from engine.game import AgentKind
from engine.league.records import Lineup, TournamentSettings
from engine.league.schedule import Schedule
from engine.play.executors import SequentialMatchExecutor
from engine.registry import new_game


def share(kind: AgentKind, name: str, better: str, worse: str, pairs: int, **options: object) -> tuple[float, float]:
    """Share of points of the first against the second, over side-swapped pairs, and its standard error."""
    game = new_game(name, **options)
    agents = {agent.id: agent for agent in kind.samples(game)}
    plan = Schedule(
        TournamentSettings(game.spec, options=(("rounds", pairs),), seed=7), [Lineup(1, 0, (better, worse))]
    )
    plan.extend(lambda *_: ())
    specs = [planned.spec for planned in plan.matches(agents)]
    with SequentialMatchExecutor() as executor:
        results = {result.id: result for result in executor.run(specs)}
    halves: dict[int, float] = {}  # score of the better one in each pair of games
    for pair, spec in ((n // 2, spec) for n, spec in enumerate(specs)):
        seat = results[spec.id].players.index(better)
        won = (results[spec.id].ranks[1 - seat] - results[spec.id].ranks[seat] + 1) / 2
        halves[pair] = halves.get(pair, 0.0) + won / 2
    mean = sum(halves.values()) / pairs
    return mean, math.sqrt(sum((value - mean) ** 2 for value in halves.values()) / pairs / pairs)
