"""The three ways to judge a generation. Each says whom its genomes meet, and what the results are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from agents.training.neat.state import HALL, Best, Course
from agents.training.merits import Merits, rewarded
from agents.training.novelty import Archive, behaviour_of
from agents.training.matchmaking import Encounter, curriculum, encounter_of, groups, ready_bots, share_of
from engine.errors import BadValue, UnknownName
from engine.game import Floats, Game
from engine.league.ratings import START, rerate
from engine.play.match import MatchResult
from engine.play.results import ResultBatch
from engine.seeding import derive, pick, purpose

if TYPE_CHECKING:
    from agents.training.neat.trainer import Neuroevolution

SPREAD = 200.0  # Elo: how far a genome may be expected to be from the mean
FAMOUS = purpose("training.famous")
NOTHING = "none"
HEAVIEST = 1e6


@dataclass
class Judgement:
    """What a generation is worth; nothing of it counts before the generation is over."""

    fitness: dict[int, float]
    measures: dict[str, float] = field(default_factory=dict)  # for the charts
    behaviours: list[tuple[float, ...]] = field(default_factory=list)
    level: int = 0
    failed: int = 0  # matches
    enters_hall: bool = False
    best: Best | None = None
    remarks: list[str] = field(default_factory=list)


class Mode(Protocol):
    """A way to judge."""

    def encounters(self, course: Course) -> list[Encounter]: ...
    def judge(self, course: Course, encounters: Sequence[Encounter], results: ResultBatch) -> Judgement: ...


def outcomes_of(result: MatchResult) -> list[float | None]:
    """By seat: the share of the others that it did better than, a tie counting half. None where nothing was shown: it
    failed, or the match was never played. A genome that fails is not merely a bad one."""
    if not result.ending.kind.rated:
        return [None] * len(result.ranks)
    found: list[float | None] = []
    for seat, rank in enumerate(result.ranks):
        if seat in result.ending.seats:
            found.append(None)
            continue
        others = [other for place, other in enumerate(result.ranks) if place != seat]
        found.append(sum((rank < other) + 0.5 * (rank == other) for other in others) / len(others))
    return found


def merits_of(result: MatchResult) -> list[float | None]:
    """By seat, from 0 to 1: half of it who won, half by how much. How much is what a beginner learns by."""
    found = outcomes_of(result)
    for seat, outcome in enumerate(found):
        if outcome is not None:
            own = result.scores[seat]
            rest = max(score for place, score in enumerate(result.scores) if place != seat)
            margin = (own - rest) / max(abs(own), abs(rest), 1.0)
            found[seat] = 0.5 * outcome + 0.25 + 0.25 * min(max(margin, -1.0), 1.0)
    return found


def completed(fitness: Mapping[int, float], keys: Iterable[int]) -> dict[int, float]:
    """Who could show nothing, because all its matches failed, comes last."""
    last = min(fitness.values(), default=0.0)
    return {key: fitness.get(key, last) for key in keys}


class AgainstBots:
    """Points, and whatever else is rewarded, against bots that get stronger as they are mastered."""

    def __init__(self, trainer: Neuroevolution, game: Game, advice: Mapping[str, str]) -> None:
        self._trainer, self._game = trainer, game
        self._curriculum = curriculum(game, ready_bots(game, trainer.bots), trainer.ramp)
        self._rewards = rewards_of(trainer.rewards.strip() or advice.get("rewards", NOTHING), game)

    def encounters(self, course: Course) -> list[Encounter]:
        level, generation = min(course.level, self._curriculum.top), course.evolution.generation
        found = []
        for bot, game in self._curriculum.at(level):
            for turn in range(self._trainer.games):
                seed = derive(self._trainer.seed, generation, bot.id, turn)  # the same for all: nobody is luckier
                rest = [bot] * (self._game.info.seats - 1)
                found += [Encounter((player, *rest), seed, game) for player in course.specs().values()]
        return found

    def judge(self, course: Course, encounters: Sequence[Encounter], results: ResultBatch) -> Judgement:
        level = min(course.level, self._curriculum.top)
        newest = self._curriculum.bot(level).id
        merits: dict[int, list[float]] = {}
        taken: dict[int, list[float]] = {}
        found = Merits(results)
        worth = (found.merits + rewarded(results, self._game.info.stats, self._rewards)).tolist()
        outcomes, shown = found.outcomes.tolist(), found.shown.tolist()
        failed = 0
        for place, spec in enumerate(results.specs):
            player, bot = encounters[encounter_of(spec)].players[:2]
            seat, key = [one.id for one in spec.players].index(player.id), int(player.id)
            if not shown[place][seat]:
                failed += 1
                continue
            merits.setdefault(key, []).append(worth[place][seat])
            if bot.id == newest:
                taken.setdefault(key, []).append(outcomes[place][seat])
        fitness = {key: level + sum(values) / len(values) for key, values in merits.items()}
        judgement = Judgement(completed(fitness, course.evolution.genomes), level=level, failed=failed)
        best = max(judgement.fitness, key=lambda key: (judgement.fitness[key], -key))
        share = sum(taken.get(best, [0.0])) / len(taken.get(best, [0.0]))
        judgement.measures["population/level"] = float(level)
        if share >= self._trainer.mastery and level < self._curriculum.top:
            judgement.level = level + 1
            then = self._curriculum.bot(level + 1).id
            judgement.remarks.append(f"level {level + 1}: takes {share:.0%} from {newest}, now meets {then}")
        return judgement


class Rated:
    """Elo among those who met: the mean of the generation is 1200. It compares genomes of one generation, not of two;
    what training amounts to is shown by validation, and in self-play by the share taken from earlier champions."""

    def __init__(self, trainer: Neuroevolution, game: Game, advice: Mapping[str, str]) -> None:
        self._trainer, self._game = trainer, game
        self._behaviour = behaviour_of(trainer.behaviour.strip() or advice.get("behaviour", ""), game)

    def _seed(self, course: Course) -> int:
        return derive(self._trainer.seed, "generation", course.evolution.generation)

    def _among(self, course: Course, meetings: int) -> list[Encounter]:
        players, seed = list(course.specs().values()), self._seed(course)
        seats = self._game.info.seats
        if len(players) < seats:
            raise BadValue("population", len(players), f"at least {seats}, one for each seat")
        found = groups(len(players), seats, meetings, seed) if meetings else []
        return [
            Encounter(tuple(players[one] for one in group), derive(seed, "match", turn), self._game.spec)
            for turn, pairs in enumerate(found)
            for group in pairs
        ]

    def _rate(self, course: Course, results: ResultBatch) -> tuple[dict[int, float], int]:
        """Elo by genome, of those who have shown anything, and how many matches failed."""
        players = [spec.id for spec in (*course.specs().values(), *course.famous())]
        number = {id: place for place, id in enumerate(players)}
        found = Merits(results)
        seated = np.array([[number[one.id] for one in spec.players] for spec in results.specs], np.int64)
        one, other = np.tril_indices(results.shape[0], -1)  # every two seats
        both = found.shown[:, one] & found.shown[:, other]
        points = np.clip(0.5 + 0.5 * (found.merits[:, one] - found.merits[:, other]), 0.0, 1.0)
        seated = seated.reshape(-1, results.shape[0])
        first, second = seated[:, one][both], seated[:, other][both]
        own = len(course.evolution.genomes)
        elo = rerate(np.full(len(players), START), first, second, points[both], SPREAD)[:own]
        elo += START - elo.mean()
        played = {*first.tolist(), *second.tolist()}
        rated = {key: float(elo[place]) for place, key in enumerate(course.evolution.genomes) if place in played}
        return rated, int((~found.whole).sum())


class Competitive(Rated):
    """Rating among the generation, and novelty of what a genome itself does."""

    def encounters(self, course: Course) -> list[Encounter]:
        return self._among(course, self._trainer.opponents)

    def judge(self, course: Course, encounters: Sequence[Encounter], results: ResultBatch) -> Judgement:
        trainer, keys = self._trainer, list(course.evolution.genomes)
        ratings, failed = self._rate(course, results)
        archive = Archive(trainer.archive, trainer.neighbours, course.behaviours)
        novelty = archive.novelty(self._behaviours(list(ratings), results))  # to fail at once would be novel, too
        new = zip(ratings, novelty.tolist(), strict=True)
        fitness = completed({key: ratings[key] + trainer.novelty * much for key, much in new}, keys)
        mean = float(novelty.mean()) if ratings else 0.0
        return Judgement(fitness, {"population/novelty": mean}, archive.rows, failed=failed)

    def _behaviours(self, keys: Sequence[int], results: ResultBatch) -> Floats:
        """Each genome's own statistics, over all its matches that nobody failed in."""
        place = {str(key): row for row, key in enumerate(keys)}
        total, count = np.zeros((len(keys), len(self._behaviour))), np.zeros(len(keys))
        whole = np.flatnonzero(Merits(results).whole)
        rows = np.array([place[one.id] for at in whole.tolist() for one in results.specs[at].players], np.int64)
        own = results.columns.stats[whole][:, :, self._behaviour]
        np.add.at(total, rows, own.reshape(len(rows), len(self._behaviour)))
        np.add.at(count, rows, 1)
        return total / np.maximum(count, 1)[:, None]


class SelfPlay(Rated):
    """Rating among the generation and against champions of earlier ones."""

    def encounters(self, course: Course) -> list[Encounter]:
        trainer, seed = self._trainer, self._seed(course)
        hall, players = course.famous(), list(course.specs().values())
        old = share_of(trainer.opponents, trainer.hall_share, seed, 0) if hall else 0
        found = self._among(course, trainer.opponents - old)
        for turn in range(old):
            for place, player in enumerate(players):
                rest = self._game.info.seats - 1
                drawn = [hall[pick(len(hall), seed, FAMOUS, ply=place, k=turn * rest + one)] for one in range(rest)]
                found.append(Encounter((player, *drawn), derive(seed, "hall", turn), self._game.spec))
        return found

    def judge(self, course: Course, encounters: Sequence[Encounter], results: ResultBatch) -> Judgement:
        ratings, failed = self._rate(course, results)
        measures = {"population/hall": float(len(course.hall))}
        taken, found = [], Merits(results)
        for place, spec in enumerate(results.specs):
            player, other = encounters[encounter_of(spec)].players[:2]
            seat = [one.id for one in spec.players].index(player.id)
            if other.id.startswith(HALL) and found.shown[place, seat]:
                taken.append(float(found.outcomes[place, seat]))
        if taken:
            measures["hall/share"] = sum(taken) / len(taken)
        fitness = completed(ratings, course.evolution.genomes)
        return Judgement(fitness, measures, failed=failed, enters_hall=True)


MODES: Mapping[str, Callable[[Neuroevolution, Game, Mapping[str, str]], Mode]] = {
    "self-play": SelfPlay,
    "competitive": Competitive,
    "against-bots": AgainstBots,
}


def rewards_of(text: str, game: Game) -> dict[str, float]:
    """What counts besides the result: NAME=WEIGHT, separated by commas; statistics of the game, and steps."""
    found: dict[str, float] = {}
    if text == NOTHING:
        return found
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, _, weight = part.partition("=")
        if name != "steps" and name not in game.info.stats:
            raise UnknownName(f"statistic of {game.spec.name}", name, ("steps", *game.info.stats))
        try:
            found[name] = float(weight)
        except ValueError:
            raise BadValue("rewards", part, "NAME=WEIGHT, such as hits=0.01") from None
        if not abs(found[name]) <= HEAVIEST:
            raise BadValue("rewards", part, f"a weight from {-HEAVIEST:g} to {HEAVIEST:g}")
    return found
