"""NEAT for any game that is not too large for it: against bots, in competition, or in self-play.

The loop of `train` is the whole method: play, judge, validate, breed. How a generation meets and is judged in each mode
is in `agents.training.neat.modes`; who meets whom in `agents.training.matchmaking`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from agents.neat.config import advice, config_text, read_config
from agents.neat.pilot import KIND, MOST_LINKS, inputs_of
from agents.training.concurrent import ConcurrentTrainingExecutor
from agents.training.neat.state import Best, Course
from agents.training.events import Champion, Context, Ended, Event, How, Level, Log, Metrics, Progress
from agents.training.neat.modes import MODES, Judgement, outcomes_of
from agents.training.matchmaking import Encounter, encounter_of, matches, ready_bots
from engine.errors import BadValue
from engine.game import Game
from engine.league.statistics import interval
from engine.options import Value, option, validate
from engine.play.match import SEED_LIMIT, AgentSpec, Limits
from engine.registry import game_of
from engine.seeding import derive

FINALISTS = 3  # genomes of a generation that are validated


@dataclass(frozen=True)
class Neuroevolution:
    """Settings of the trainer `neat`."""

    name: ClassVar[str] = "neat"
    about: ClassVar[str] = "NEAT: networks that evolve, against bots, in competition or in self-play"
    metrics: ClassVar[Mapping[str, str]] = {
        "fitness/best": "of the best genome: in competition and self-play Elo among its generation (mean 1200), with "
        "its novelty, against bots the level of the curriculum plus a share of 1 and its rewards",
        "fitness/mean": "mean fitness of the generation",
        "validation/share": "share of the points that the best genome takes from the fixed bots, over all of them",
        "validation/low": "lower end of its 95 % interval",
        "validation/high": "upper end of its 95 % interval",
        "validation/*": "share of the points that it takes from one of the bots",
        "population/species": "species in the generation",
        "population/novelty": "mean novelty of the generation, in standard deviations of what has been seen",
        "population/level": "level of the curriculum",
        "population/hall": "champions in the hall of fame",
        "hall/share": "share of the points that the generation takes from them",
        "genome/nodes": "nodes of the best genome",
        "genome/connections": "enabled connections of the best genome",
        "speed/evaluations": "genomes evaluated a second, with validation and reproduction",
        "speed/matches": "matches played a second while the generation was playing",
        "speed/reproduction": "share of the generation's time that reproduction took",
        "trouble/failed": "matches of the generation that failed, or that nobody could play",
    }
    fixed: ClassVar[tuple[str, ...]] = ("mode", "seed", "neat_config", "behaviour")
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "60 seconds": {"mode": "against-bots", "minutes": 1.0, "population": 100, "games": 2, "validate_every": 2},
        "ten minutes": {"mode": "self-play", "minutes": 9.0, "generations": 100_000},
    }

    mode: str = option("self-play", choices=tuple(MODES), help="whom the genomes of a generation play against")
    generations: int = option(100, low=1, high=1_000_000, help="how many")
    minutes: float = option(
        0.0, low=0.0, high=100_000.0, help="end with the generation after which it took so long; 0: no limit"
    )
    population: int = option(0, low=0, high=100_000, help="genomes in a generation; 0: as the NEAT configuration says")
    seed: int = option(1, low=0, high=SEED_LIMIT - 1, help="another seed, another evolution")
    neat_config: str = option("", help="path of neat-python's configuration file; empty: the one for the game")
    steps: int = option(3000, low=0, high=100_000_000, help="end training matches after so many steps; 0: no limit")

    opponents: int = option(5, low=1, high=1000, help="competitive, self-play: meetings of each genome, sides swapped")
    novelty: float = option(40.0, low=0.0, high=10_000.0, help="competitive: Elo that a unit of novelty is worth")
    neighbours: int = option(15, low=1, high=1000, help="competitive: nearest behaviours that novelty looks at")
    archive: int = option(500, low=1, high=100_000, help="competitive: novel behaviours that are remembered")
    behaviour: str = option("", help="competitive: statistics that are a behaviour, by name; empty: see neat_config")
    hall_share: float = option(0.2, low=0.0, high=1.0, help="self-play: share of meetings with the hall of fame")
    hall_every: int = option(5, low=1, high=10_000, help="self-play: generations from one entry in it to the next")
    hall_size: int = option(30, low=1, high=1000, help="self-play: champions in it; the oldest leave")

    bots: str = option("", help="against bots: their names, weakest first; empty: all ready-made ones")
    games: int = option(2, low=1, high=1000, help="against bots: meetings with each, sides swapped")
    mastery: float = option(0.75, low=0.0, high=1.0, help="against bots: share of points that leads to the next level")
    ramp: str = option("", help="against bots: where options of the game begin, as serve_speed=4; empty: at their end")
    rewards: str = option(
        "", help="against bots: what else counts, as hits=0.01; none: nothing; empty: see neat_config"
    )

    validate_every: int = option(5, low=1, high=10_000, help="generations from one validation to the next")
    validate_pairs: int = option(10, low=1, high=10_000, help="side-swapped pairs against each bot in a validation")
    validate_bots: str = option("", help="the bots that validate, by name; empty: all ready-made ones")
    checkpoint_every: int = option(10, low=1, high=10_000, help="generations from one checkpoint to the next")
    target_fitness: float = option(
        0.0, help="end when the best fitness reaches this; 0: as the NEAT configuration says"
    )
    patience: int = option(
        0, low=0, high=1_000_000, help="end after so many generations with no better validation; 0: never"
    )

    def __post_init__(self) -> None:
        validate(self)

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        if not KIND.plays(game) or game.info.seats < 2:
            has = f"it has {game.info.seats} and {inputs_of(game) * game.info.actions:,}"
            most = f"at most {MOST_LINKS:,} links from what is seen to what can be done"
            raise BadValue("game", game.spec.name, f"one of two or more seats, and {most}: {has}")
        text = config_text("" if resuming else self.neat_config, game)
        config = read_config(text, game, self.population)
        if config.pop_size < game.info.seats:
            raise BadValue("population", config.pop_size, f"at least {game.info.seats}, one for each seat")
        MODES[self.mode](self, game, advice(text))
        ready_bots(game, self.validate_bots)
        if ancestor is not None:
            Course.begun(self, game, ancestor)

    def train(self, context: Context) -> Iterator[Event]:
        game, began, state = game_of(context.game), time.monotonic(), context.state
        course = Course.of(state, self, game) if state is not None else Course.begun(self, game, context.ancestor)
        mode, judges = MODES[self.mode](self, game, advice(course.evolution.text)), ready_bots(game, self.validate_bots)
        executor = ConcurrentTrainingExecutor(max_workers=context.workers, game=game.spec, plugins=context.plugins)
        stopped, reason = False, self._over(course, None, began)
        with executor:
            while reason is None:
                executor.workers, since = context.workers, time.monotonic()
                encounters = mode.encounters(course)
                results = executor.play(matches(encounters, Limits(self.steps or None)), context.attend)
                if stopped := results is None:
                    break
                values = {"speed/matches": len(results) / (time.monotonic() - since)}
                judgement = mode.judge(course, encounters, results)
                reason = self._over(course, judgement, began)
                if course.evolution.generation % self.validate_every == 0 or reason is not None:
                    validated = self._validate(course, judgement, judges, game, executor, context)
                    if stopped := validated is None:
                        break
                    values |= validated
                    reason = reason or self._stale(course, judgement)
                values |= _measured(course, judgement)
                reborn = time.monotonic()
                alive = course.advance(judgement, self)
                spent = time.monotonic() - since
                values["speed/reproduction"] = (time.monotonic() - reborn) / spent
                values["speed/evaluations"] = len(judgement.fitness) / spent
                yield from map(Log, judgement.remarks)
                if not alive:
                    yield Log("all species died out: a new population begins", Level.WARNING)
                yield Metrics(course.evolution.generation, tuple(values.items()))
                yield self._progress(course, values, began)
                if course.evolution.generation % self.checkpoint_every == 0 and reason is None:
                    yield course.checkpoint()
        yield course.checkpoint()
        if stopped:
            yield Ended(How.STOPPED, f"stopped after {course.evolution.generation} generations")
            return
        if course.best is not None:
            yield Champion(course.best.generation, course.best.player())
        yield Ended(How.FINISHED, reason or "")

    def _over(self, course: Course, judgement: Judgement | None, began: float) -> str | None:
        """Why this generation, which was judged so, is the last one; or, before any, why there is nothing to do."""
        done = course.evolution.generation + (judgement is not None)
        if done >= self.generations:
            return f"{done} generations" if done == self.generations else f"it has {done} generations already"
        if self.minutes and time.monotonic() - began >= self.minutes * 60:
            return f"{self.minutes:g} min"
        if judgement is None:
            return None
        config, fitness = course.evolution.config, list(judgement.fitness.values())
        if self.target_fitness and max(fitness) >= self.target_fitness:
            return f"fitness {max(fitness):.6g} reached {self.target_fitness:g}"
        if not config.no_fitness_termination and not self.target_fitness:
            reached = {"max": max(fitness), "min": min(fitness), "mean": sum(fitness) / len(fitness)}
            value = reached[config.fitness_criterion]
            if value >= config.fitness_threshold:
                limit = f"{config.fitness_threshold:g}, the fitness_threshold of the NEAT configuration"
                return f"{config.fitness_criterion} fitness {value:.6g} reached {limit}"
        return None

    def _stale(self, course: Course, judgement: Judgement) -> str | None:
        """Whether validation has not become better for so long that more would not help."""
        if self.patience and judgement.best is None and course.stale + 1 >= self.patience:
            return f"no better validation in {course.stale + 1} generations"
        return None

    def _validate(
        self,
        course: Course,
        judgement: Judgement,
        judges: list[AgentSpec],
        game: Game,
        executor: ConcurrentTrainingExecutor,
        context: Context,
    ) -> dict[str, float] | None:
        """The fittest play against fixed bots, always the same matches; None if told to stop meanwhile."""
        fittest = sorted(judgement.fitness, key=lambda key: (-judgement.fitness[key], key))[:FINALISTS]
        specs = course.specs()
        encounters = [
            Encounter(
                (specs[key], *[bot] * (game.info.seats - 1)), derive(self.seed, "validation", bot.id, turn), game.spec
            )
            for key in fittest
            for bot in judges
            for turn in range(self.validate_pairs)
        ]
        results = executor.play(matches(encounters, Limits()), context.attend)
        if results is None:
            return None
        taken: dict[tuple[str, str], list[float]] = {}
        for result in results:
            player, bot = encounters[encounter_of(result)].players[:2]
            seat = result.players.index(player.id)
            scored = 0.0 if seat in result.ending.seats else outcomes_of(result)[seat]  # in a league it would lose, too
            if scored is not None:
                taken.setdefault((player.id, bot.id), []).append(scored)
        found = []
        for key in fittest:
            own = {bot.id: taken.get((specs[key].id, bot.id), []) for bot in judges}
            every = [one for scores in own.values() for one in scores]
            found.append((sum(every) / max(len(every), 1), key, every, own))
        share, key, every, own = max(found, key=lambda one: (one[0], -one[1]))
        low, high = interval(sum(every), len(every))
        if every and (course.best is None or share > course.best.share):
            judgement.best = self._best(course, key, share, low, high)
        values = {"validation/share": share, "validation/low": low, "validation/high": high}
        return values | {f"validation/{name}": sum(scores) / max(len(scores), 1) for name, scores in own.items()}

    def _best(self, course: Course, key: int, share: float, low: float, high: float) -> Best:
        parents = " and ".join(str(one) for one in dict.fromkeys(course.evolution.parents(key)))
        born = f"genome {key}, from {parents}" if parents else f"genome {key}"
        generation = course.evolution.generation + 1
        about = f"{self.mode}, generation {generation}, {born}; validated at {share:.0%} ({low:.0%} to {high:.0%})"
        return Best(course.evolution.genome(key), generation, share, about)

    def _progress(self, course: Course, values: Mapping[str, float], began: float) -> Progress:
        done, spent = course.evolution.generation, time.monotonic() - began
        made = done - course.began_at
        lefts = [(self.generations - done) * spent / made] if made else []
        if self.minutes:
            lefts.append(self.minutes * 60 - spent)
        text = f"best {values['fitness/best']:.4g}, mean {values['fitness/mean']:.4g}, "
        text += f"{values['population/species']:.0f} species, {values['speed/evaluations']:,.0f} evals/s"
        if course.best is not None:
            text += f", validated {course.best.share:.0%}"
        return Progress(done, self.generations, text, max(min(lefts), 0.0) if lefts else None)


def _measured(course: Course, judgement: Judgement) -> dict[str, float]:
    fitness = np.array(list(judgement.fitness.values()))
    best = course.evolution.genome(max(judgement.fitness, key=lambda key: (judgement.fitness[key], -key)))
    return {
        "fitness/best": float(fitness.max()),
        "fitness/mean": float(fitness.mean()),
        "population/species": float(course.evolution.species),
        "genome/nodes": float(len(best.key)),
        "genome/connections": float(sum(best.enabled)),
        "trouble/failed": float(judgement.failed),
        **judgement.measures,
    }
