"""Validation: players meet fixed bots, always in the same matches, which training does not use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.training.matchmaking import Encounter, encounter_of, matches
from agents.training.scoring import outcomes_of
from agents.training.trainer import Context
from engine.game import Game
from engine.league.statistics import interval
from engine.play.match import AgentSpec, Limits
from engine.seeding import derive

Points = dict[str, list[float]]  # of each match, by the id of the opponent


def validate(
    players: Sequence[AgentSpec], bots: Sequence[AgentSpec], pairs: int, seed: int, game: Game, context: Context
) -> dict[str, Points] | None:
    """The points that each player takes from each bot, by the player's id; None if training was stopped. A bot takes
    all other seats, and every player meets it `pairs` times from every seat."""
    encounters = [
        Encounter((player, *[bot] * (game.info.seats - 1)), derive(seed, "validation", bot.id, turn), game.spec)
        for player in players
        for bot in bots
        for turn in range(pairs)
    ]
    results = context.executor.play(matches(encounters, Limits()), context.attend)
    if results is None:
        return None
    points: dict[str, Points] = {player.id: {bot.id: [] for bot in bots} for player in players}
    for result in results:
        player, bot = encounters[encounter_of(result)].players[:2]
        seat = result.players.index(player.id)
        point = 0.0 if seat in result.ending.seats else outcomes_of(result)[seat]  # a failure loses, as in a league
        if point is not None:
            points[player.id][bot.id].append(point)
    return points


def share_of(points: Mapping[str, Sequence[float]]) -> tuple[float, float, float]:
    """The share of points of all matches together, and its 95 % interval."""
    count, total = sum(map(len, points.values())), sum(map(sum, points.values()))
    return total / max(count, 1), *interval(total, count)


def share_metrics(points: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The metrics of a validation: share, interval, and the share against each bot."""
    share, low, high = share_of(points)
    values = {"validation/share": share, "validation/low": low, "validation/high": high}
    return values | {f"validation/{name}": sum(scores) / max(len(scores), 1) for name, scores in points.items()}
