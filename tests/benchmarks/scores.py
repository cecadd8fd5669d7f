"""How much agents of a league score beside bots, as the guide's page of figures says for Treasure Hunt.

    .venv/bin/python -m tests.benchmarks.scores hunt.league Ada --against Dice --seeds 50
    .venv/bin/python -m tests.benchmarks.scores hunt.league A B C D E -o seats=5 --together --against Magpie --seeds 200

The first command plays matches of one agent and bots at all other seats, from each seat with the same seeds; of several
agents, each does so. The second one seats all agents in one match, and compares them with bots at all seats, on the
same seeds. Intervals are 95 %, over seeds: results of matches with one seed are not independent.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agents.training.matchmaking import ready_bots
from engine.errors import BadValue
from engine.game import Floats, Game
from engine.league.statistics import Z
from engine.league.storage.league import League
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.play.sequential import SequentialMatchExecutor
from engine.registry import new_game
from engine.seeding import derive
from league_app.cli.common import parse_pairs

LANES = 32


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="scores", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("league")
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--against", default="Dice", help="a ready-made bot (default Dice)")
    parser.add_argument("--seeds", type=int, default=50, help="seeds of matches (default 50)")
    parser.add_argument("--seed", type=int, default=900, help="from which they are derived (default 900)")
    parser.add_argument("--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="of the game")
    parser.add_argument("--together", action="store_true", help="all agents in one match")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        raise BadValue("--seeds", options.seeds, "at least 2, because intervals are over seeds")
    with League(options.league, read_only=True) as league:
        found = [league.agent(name) for name in options.agents]
        game = new_game(found[0].game, parse_pairs(options.option, "--option"))
        specs = [league.spec(agent.id) for agent in found]
    [bot] = ready_bots(game, options.against)
    seeds = [derive("scores", options.seed, number) for number in range(options.seeds)]
    if options.together:
        print(together(game, specs, bot, seeds))
    else:
        print(alone(game, specs, bot, seeds))


def alone(game: Game, agents: Sequence[AgentSpec], bot: AgentSpec, seeds: Sequence[int]) -> str:
    """Each agent beside bots, from each seat."""
    seats = game.info.seats
    own, theirs, first = beside(game, agents, bot, seeds)
    value, low, high = ratio(own, theirs)
    who = "one agent" if len(agents) == 1 else f"each of {len(agents)} agents"
    return (
        f"{who} and {seats - 1} {bot.id}, {len(seeds)} seeds from each of {seats} seats: "
        f"{own.mean():,.0f} and {theirs.mean():,.0f}, ratio {value:.2f} ({low:.2f} to {high:.2f}), "
        f"first in {first} of {len(agents) * seats * len(seeds)}"
    )


def beside(game: Game, agents: Sequence[AgentSpec], bot: AgentSpec, seeds: Sequence[int]) -> tuple[Floats, Floats, int]:
    """Each agent beside bots, from each seat: by seed, the mean scores of the agents and of the bots; and how many
    matches the agents won."""
    seats = game.info.seats
    tables = [
        [(agent if place == seat else bot) for place in range(seats)] for agent in agents for seat in range(seats)
    ]  # the tables of an agent follow each other, in the order of its seats
    results = play(game, tables, seeds)
    scores = np.array([[result.scores for result in row] for row in results])  # [seeds, tables, seats]
    mine = np.tile(np.eye(seats, dtype=bool), (len(agents), 1))
    first = sum(result.ranks[k % seats] == 1 for row in results for k, result in enumerate(row))
    return scores[:, mine].mean(axis=1), scores[:, ~mine].mean(axis=1), first


def together(game: Game, agents: Sequence[AgentSpec], bot: AgentSpec, seeds: Sequence[int]) -> str:
    """All agents in one match, and bots at all seats."""
    seats = game.info.seats
    if len(agents) != seats:
        raise BadValue("agents", len(agents), f"{seats}, one for each seat")
    ours, theirs = (
        np.array([row[0].scores for row in play(game, [table], seeds)]).mean(axis=1)
        for table in (agents, [bot] * seats)
    )
    value, low, high = mean(ours - theirs)
    return (
        f"{seats} agents, {len(seeds)} seeds: {ours.mean():,.1f} each; {seats} {bot.id}: {theirs.mean():,.1f}; "
        f"{value:.1f} more ({low:.1f} to {high:.1f})"
    )


def play(game: Game, tables: Sequence[Sequence[AgentSpec]], seeds: Sequence[int]) -> list[list[MatchResult]]:
    """The results by seed and table."""
    specs = [
        MatchSpec(f"{row}.{k}", game.spec, tuple(table), seed)
        for row, seed in enumerate(seeds)
        for k, table in enumerate(tables)
    ]
    with SequentialMatchExecutor(LANES, record=False, quarantine_after=None) as executor:
        by_id = {result.id: result for result in executor.run(specs)}
    for result in by_id.values():
        if result.ending.kind.failure:
            raise BadValue("match", result.id, f"one without failures: {result.ending.kind.value}")
    return [[by_id[f"{row}.{k}"] for k in range(len(tables))] for row in range(len(seeds))]


def mean(values: NDArray[np.floating]) -> tuple[float, float, float]:
    """The mean and its interval."""
    middle, half = float(values.mean()), Z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return middle, middle - half, middle + half


def ratio(own: Floats, theirs: Floats) -> tuple[float, float, float]:
    """The ratio of two means and its interval, from how far each pair is from it."""
    value = float(own.mean() / theirs.mean())
    half = Z * float((own - value * theirs).std(ddof=1)) / math.sqrt(len(own)) / abs(float(theirs.mean()))
    return value, value - half, value + half


if __name__ == "__main__":
    main()
