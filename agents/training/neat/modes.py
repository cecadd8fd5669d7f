"""The three ways to evaluate a generation: each draws the matches of its genomes and turns results into fitness.

To add one, write a class like those below, and add its name to `settings.MODE_NAMES` and the class to `MODES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from agents.neat.pilot import KIND
from agents.training.matchmaking import Encounter, curriculum, encounter_of, groups, ready_bots, share_of
from agents.training.neat.settings import NeatSettings
from agents.training.neat.state import HALL, EvolutionRun, GenerationEvaluation
from agents.training.novelty import Archive, behaviour_of
from agents.training.scoring import NO_REWARDS, Merits, parse_rewards, weighted_rewards
from engine.errors import BadValue
from engine.game import Floats, Game
from engine.league.ratings import START, rerate
from engine.play.results import ResultBatch
from engine.seeding import derive, pick, purpose

SPREAD = 200.0  # Elo: standard deviation of the ratings that is expected before the first match
FAMOUS = purpose("training.famous")


class Mode(Protocol):
    """A way to evaluate a generation."""

    def encounters(self, run: EvolutionRun) -> list[Encounter]: ...
    def evaluate(
        self, run: EvolutionRun, encounters: Sequence[Encounter], results: ResultBatch
    ) -> GenerationEvaluation: ...


def fill_missing(fitness: Mapping[int, float], keys: Iterable[int]) -> dict[int, float]:
    """Gives genomes without a valid result, because all their matches failed, the lowest fitness of the others."""
    lowest = min(fitness.values(), default=0.0)
    return {key: fitness.get(key, lowest) for key in keys}


class AgainstBots:
    """Points and rewards against bots that get stronger as the genomes master them."""

    def __init__(self, settings: NeatSettings, game: Game, advice: Mapping[str, str]) -> None:
        self._settings, self._game = settings, game
        self._curriculum = curriculum(game, ready_bots(game, settings.bots, (KIND.name,)), settings.ramp)
        self._rewards = rewards_of(settings.rewards.strip() or advice.get("rewards", NO_REWARDS), game)

    def encounters(self, run: EvolutionRun) -> list[Encounter]:
        level, generation = min(run.level, self._curriculum.top), run.evolution.generation
        encounters = []
        for bot, game in self._curriculum.at(level):
            for turn in range(self._settings.games):
                seed = derive(self._settings.seed, generation, bot.id, turn)  # the same for all genomes, for fairness
                rest = [bot] * (self._game.info.seats - 1)
                encounters += [Encounter((player, *rest), seed, game) for player in run.specs().values()]
        return encounters

    def evaluate(
        self, run: EvolutionRun, encounters: Sequence[Encounter], results: ResultBatch
    ) -> GenerationEvaluation:
        level = min(run.level, self._curriculum.top)
        newest = self._curriculum.bot(level).id
        merits: dict[int, list[float]] = {}
        points: dict[int, list[float]] = {}  # against the newest bot
        scored = Merits(results)
        values = (scored.merits + weighted_rewards(results, self._game.info.stats, self._rewards)).tolist()
        outcomes, valid = scored.outcomes.tolist(), scored.valid.tolist()
        failed = 0
        for place, spec in enumerate(results.specs):
            player, bot = encounters[encounter_of(spec)].players[:2]
            seat, key = [agent.id for agent in spec.players].index(player.id), int(player.id)
            if not valid[place][seat]:
                failed += 1
                continue
            merits.setdefault(key, []).append(values[place][seat])
            if bot.id == newest:
                points.setdefault(key, []).append(outcomes[place][seat])
        fitness = {key: level + sum(own) / len(own) for key, own in merits.items()}
        evaluation = GenerationEvaluation(fill_missing(fitness, run.evolution.genomes), level=level, failed=failed)
        best = points.get(evaluation.fittest, [0.0])
        share = sum(best) / len(best)
        evaluation.metrics["population/level"] = float(level)
        if share >= self._settings.mastery and level < self._curriculum.top:
            evaluation.level = level + 1
            following = self._curriculum.bot(level + 1).id
            evaluation.messages.append(
                f"level {level + 1}: the best genome wins {share:.0%} of the points against {newest}; next: {following}"
            )
        return evaluation


class Rated:
    """Elo among the genomes of a generation, with a mean of 1200. It compares genomes of one generation only.
    Progress is measured by validation and, in self-play, by the share of points won against earlier champions."""

    def __init__(self, settings: NeatSettings, game: Game, advice: Mapping[str, str]) -> None:
        self._settings, self._game = settings, game
        self._behaviour = behaviour_of(settings.behaviour.strip() or advice.get("behaviour", ""), game)

    def _seed(self, run: EvolutionRun) -> int:
        return derive(self._settings.seed, "generation", run.evolution.generation)

    def _within_generation(self, run: EvolutionRun, opponents: int) -> list[Encounter]:
        players, seed = list(run.specs().values()), self._seed(run)
        seats = self._game.info.seats
        if len(players) < seats:
            raise BadValue("population", len(players), f"at least {seats}, one for each seat")
        rounds = groups(len(players), seats, opponents, seed) if opponents else []
        return [
            Encounter(tuple(players[place] for place in group), derive(seed, "match", turn), self._game.spec)
            for turn, pairs in enumerate(rounds)
            for group in pairs
        ]

    def _rate(self, run: EvolutionRun, results: ResultBatch) -> tuple[dict[int, float], int]:
        """Elo of each genome with a valid result, and the number of failed matches."""
        players = [spec.id for spec in (*run.specs().values(), *run.hall_specs())]
        number = {id: place for place, id in enumerate(players)}
        scored = Merits(results)
        seated = np.array([[number[agent.id] for agent in spec.players] for spec in results.specs], np.int64)
        left, right = np.tril_indices(results.shape[0], -1)  # all pairs of seats
        both = scored.valid[:, left] & scored.valid[:, right]
        points = np.clip(0.5 + 0.5 * (scored.merits[:, left] - scored.merits[:, right]), 0.0, 1.0)
        seated = seated.reshape(-1, results.shape[0])
        first, second = seated[:, left][both], seated[:, right][both]
        own = len(run.evolution.genomes)
        elo = rerate(np.full(len(players), START), first, second, points[both], SPREAD)[:own]
        elo += START - elo.mean()
        played = {*first.tolist(), *second.tolist()}
        rated = {key: float(elo[place]) for place, key in enumerate(run.evolution.genomes) if place in played}
        return rated, int((~scored.complete).sum())


class Competitive(Rated):
    """Elo within the generation, plus a bonus for novel behaviour."""

    def encounters(self, run: EvolutionRun) -> list[Encounter]:
        return self._within_generation(run, self._settings.opponents)

    def evaluate(
        self, run: EvolutionRun, encounters: Sequence[Encounter], results: ResultBatch
    ) -> GenerationEvaluation:
        settings, keys = self._settings, list(run.evolution.genomes)
        ratings, failed = self._rate(run, results)
        archive = Archive(settings.archive, settings.neighbours, run.behaviours)
        novelty = archive.novelty(self._behaviours(list(ratings), results))  # failing at once would be novel, too
        bonus = dict(zip(ratings, novelty.tolist(), strict=True))
        fitness = fill_missing({key: ratings[key] + settings.novelty * bonus[key] for key in ratings}, keys)
        mean = float(novelty.mean()) if ratings else 0.0
        return GenerationEvaluation(fitness, {"population/novelty": mean}, archive.rows, failed=failed)

    def _behaviours(self, keys: Sequence[int], results: ResultBatch) -> Floats:
        """Mean statistics of each genome over its matches without a failure."""
        place = {str(key): row for row, key in enumerate(keys)}
        total, count = np.zeros((len(keys), len(self._behaviour))), np.zeros(len(keys))
        complete = np.flatnonzero(Merits(results).complete)
        rows = np.array([place[agent.id] for at in complete.tolist() for agent in results.specs[at].players], np.int64)
        own = results.columns.stats[complete][:, :, self._behaviour]
        np.add.at(total, rows, own.reshape(len(rows), len(self._behaviour)))
        np.add.at(count, rows, 1)
        return total / np.maximum(count, 1)[:, None]


class SelfPlay(Rated):
    """Elo within the generation and against champions of earlier generations."""

    def encounters(self, run: EvolutionRun) -> list[Encounter]:
        settings, seed = self._settings, self._seed(run)
        hall, players = run.hall_specs(), list(run.specs().values())
        against_hall = share_of(settings.opponents, settings.hall_share, seed, 0) if hall else 0
        encounters = self._within_generation(run, settings.opponents - against_hall)
        for turn in range(against_hall):
            for place, player in enumerate(players):
                rest = self._game.info.seats - 1
                drawn = [hall[pick(len(hall), seed, FAMOUS, ply=place, k=turn * rest + k)] for k in range(rest)]
                encounters.append(Encounter((player, *drawn), derive(seed, "hall", turn), self._game.spec))
        return encounters

    def evaluate(
        self, run: EvolutionRun, encounters: Sequence[Encounter], results: ResultBatch
    ) -> GenerationEvaluation:
        ratings, failed = self._rate(run, results)
        metrics = {"population/hall": float(len(run.hall))}
        points, scored = [], Merits(results)
        for place, spec in enumerate(results.specs):
            player, other = encounters[encounter_of(spec)].players[:2]
            seat = [agent.id for agent in spec.players].index(player.id)
            if other.id.startswith(HALL) and scored.valid[place, seat]:
                points.append(float(scored.outcomes[place, seat]))
        if points:
            metrics["hall/share"] = sum(points) / len(points)
        fitness = fill_missing(ratings, run.evolution.genomes)
        return GenerationEvaluation(fitness, metrics, failed=failed, enters_hall=True)


MODES: Mapping[str, Callable[[NeatSettings, Game, Mapping[str, str]], Mode]] = {
    "self-play": SelfPlay,
    "competitive": Competitive,
    "against-bots": AgainstBots,
}


def rewards_of(text: str, game: Game) -> dict[str, float]:
    """Rewards for statistics of the game and for "steps"."""
    return parse_rewards(text, f"statistic of {game.spec.name}", ("steps", *game.info.stats), "hits=0.01")
