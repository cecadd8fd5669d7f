"""The rating of a network during training: on the scale of the bots that validate it, which it does not change."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from agents.training.matchmaking import Encounter, encounter_of, matches
from agents.training.scoring import outcomes_of
from agents.training.trainer import Context
from agents.training.validation import Points
from engine.game import Floats, Game
from engine.league.ratings import rate
from engine.play.match import AgentSpec, Limits
from engine.seeding import derive

Table = tuple[tuple[float, ...], ...]  # [i][j]: points of bot i against bot j


def bot_table(bots: Sequence[AgentSpec], pairs: int, seed: int, game: Game, context: Context) -> Table | None:
    """The points of the bots against each other; None if training was stopped. Each bot meets the next one, which is
    enough for a common scale, in `pairs` encounters from all seats. The second bot takes all other seats."""
    if len(bots) < 2:
        return ((0.0,),)
    encounters = [
        Encounter(
            (first, *[second] * (game.info.seats - 1)), derive(seed, "rating", first.id, second.id, turn), game.spec
        )
        for first, second in itertools.pairwise(bots)
        for turn in range(pairs)
    ]
    results = context.executor.play(matches(encounters, Limits()), context.attend)
    if results is None:
        return None
    places, points = {bot.id: place for place, bot in enumerate(bots)}, np.zeros((len(bots), len(bots)))
    for result in results:
        first, second = (places[player.id] for player in encounters[encounter_of(result)].players[:2])
        seat = result.players.index(bots[first].id)
        outcome = 0.0 if seat in result.ending.seats else outcomes_of(result)[seat]  # as in a validation
        if outcome is not None:
            points[first, second] += outcome
            points[second, first] += 1 - outcome
    return tuple(map(tuple, points.tolist()))


def elo_of(table: Table, validated: Points) -> float:
    """The Elo of a network that took these points from the bots, the first of which has 0. A network that has won or
    lost all its matches gets a finite number; see `engine.league.ratings`."""
    count = len(table)
    points: Floats = np.zeros((count + 1, count + 1))
    points[:count, :count] = table
    for place, scores in enumerate(validated.values()):
        points[count, place], points[place, count] = sum(scores), len(scores) - sum(scores)
    names = [*map(str, range(count)), "network"]
    return float(rate(names, points, points + points.T, anchor="0").elo[-1])
