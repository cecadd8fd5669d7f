"""Trains networks by NEAT for any game that is small enough: against bots, in competition, or in self-play.

The loop of `train` is the whole method: play, evaluate, validate, breed. `modes` draws the matches of a generation
and turns results into fitness; `config` has the settings.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from agents.neat.config import advice, config_text, read_config
from agents.neat.pilot import KIND, MOST_LINKS, inputs_of
from agents.training.evaluator import MatchEvaluator
from agents.training.events import Champion, Context, Ended, Event, How, Level, Log, Metrics, Progress
from agents.training.matchmaking import Encounter, encounter_of, matches, ready_bots
from agents.training.neat.config import NeatConfig
from agents.training.neat.modes import MODES
from agents.training.neat.state import Best, Evaluation, EvolutionRun
from agents.training.scoring import outcomes_of
from engine.errors import BadValue
from engine.game import Game
from engine.league.statistics import interval
from engine.options import Value
from engine.play.match import AgentSpec, Limits
from engine.registry import game_of
from engine.seeding import derive

FINALISTS = 3  # genomes of a generation that are validated


@dataclass(frozen=True)
class Neuroevolution(NeatConfig):
    """The trainer `neat`."""

    name: ClassVar[str] = "neat"
    about: ClassVar[str] = "NEAT: evolves networks against bots, in competition or in self-play"
    metrics: ClassVar[Mapping[str, str]] = {
        "fitness/best": "fitness of the best genome. Competitive and self-play: Elo within its generation (mean 1200) "
        "plus its novelty; against bots: level of the curriculum plus the share of points (0 to 1) and rewards",
        "fitness/mean": "mean fitness of the generation",
        "validation/share": "share of points that the best genome wins against the fixed bots, all of them together",
        "validation/low": "lower end of its 95 % interval",
        "validation/high": "upper end of its 95 % interval",
        "validation/*": "share of points that it wins against this bot",
        "population/species": "species in the generation",
        "population/novelty": "mean novelty of the generation, in standard deviations of known behaviours",
        "population/level": "level of the curriculum",
        "population/hall": "champions in the hall of fame",
        "hall/share": "share of points that the generation wins against the hall of fame",
        "genome/nodes": "nodes of the best genome",
        "genome/connections": "enabled connections of the best genome",
        "speed/evaluations": "genomes evaluated per second, including validation and reproduction",
        "speed/matches": "matches per second while the generation plays",
        "speed/reproduction": "share of the generation's time spent on reproduction",
        "trouble/failed": "matches of the generation that failed or could not be played",
    }
    fixed: ClassVar[tuple[str, ...]] = ("mode", "seed", "neat_config", "behaviour")
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "60 seconds": {"mode": "against-bots", "minutes": 1.0, "population": 100, "games": 2, "validate_every": 2},
        "ten minutes": {"mode": "self-play", "minutes": 9.0, "generations": 100_000},
    }

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        seats, links = game.info.seats, inputs_of(game) * game.info.actions
        if not KIND.plays(game) or seats < 2:
            most = f"two or more seats and at most {MOST_LINKS:,} links from inputs to actions"
            raise BadValue("game", game.spec.name, f"a game with {most}; it has {seats} and {links:,}")
        text = config_text("" if resuming else self.neat_config, game)
        config = read_config(text, game, self.population)
        if config.pop_size < seats:
            raise BadValue("population", config.pop_size, f"at least {seats}, one for each seat")
        MODES[self.mode](self, game, advice(text))
        ready_bots(game, self.validate_bots, (KIND.name,))
        if ancestor is not None:
            EvolutionRun.start(self, game, ancestor)

    def train(self, context: Context) -> Iterator[Event]:
        game, began, state = game_of(context.game), time.monotonic(), context.state
        run = (
            EvolutionRun.from_checkpoint(state, self, game)
            if state is not None
            else EvolutionRun.start(self, game, context.ancestor)
        )
        mode = MODES[self.mode](self, game, advice(run.evolution.text))
        bots = ready_bots(game, self.validate_bots, (KIND.name,))
        evaluator = MatchEvaluator(context.workers, game=game.spec, plugins=context.plugins)
        stopped, reason = False, self._end_reason(run, None, began)
        with evaluator:
            while reason is None:
                evaluator.workers, since = context.workers, time.monotonic()
                encounters = mode.encounters(run)
                results = evaluator.play(matches(encounters, Limits(self.steps or None)), context.attend)
                if stopped := results is None:
                    break
                values = {"speed/matches": len(results) / (time.monotonic() - since)}
                evaluation = mode.evaluate(run, encounters, results)
                reason = self._end_reason(run, evaluation, began)
                if run.evolution.generation % self.validate_every == 0 or reason is not None:
                    validated = self._validate(run, evaluation, bots, game, evaluator, context)
                    if stopped := validated is None:
                        break
                    values |= validated
                    reason = reason or self._out_of_patience(run, evaluation)
                values |= _generation_metrics(run, evaluation)
                bred = time.monotonic()
                alive = run.advance(evaluation, self)
                spent = time.monotonic() - since
                values["speed/reproduction"] = (time.monotonic() - bred) / spent
                values["speed/evaluations"] = len(evaluation.fitness) / spent
                yield from map(Log, evaluation.messages)
                if not alive:
                    yield Log("all species died out; starting a new population", Level.WARNING)
                yield Metrics(run.evolution.generation, tuple(values.items()))
                yield self._progress(run, values, began)
                if run.evolution.generation % self.checkpoint_every == 0 and reason is None:
                    yield run.checkpoint()
        yield run.checkpoint()
        if stopped:
            yield Ended(How.STOPPED, f"stopped after {run.evolution.generation} generations")
            return
        if run.best is not None:
            yield Champion(run.best.generation, run.best.player())
        yield Ended(How.FINISHED, reason or "")

    def _end_reason(self, run: EvolutionRun, evaluation: Evaluation | None, began: float) -> str | None:
        """Why training ends after this generation, or before the first one if `evaluation` is None; else None."""
        done = run.evolution.generation + (evaluation is not None)
        if done >= self.generations:
            return f"{done} generations" if done == self.generations else f"it already has {done} generations"
        if self.minutes and time.monotonic() - began >= self.minutes * 60:
            return f"{self.minutes:.3g} min"
        if evaluation is None:
            return None
        config, fitness = run.evolution.config, list(evaluation.fitness.values())
        if self.target_fitness and max(fitness) >= self.target_fitness:
            return f"fitness {max(fitness):.6g} reached {self.target_fitness:g}"
        if not config.no_fitness_termination and not self.target_fitness:
            reached = {"max": max(fitness), "min": min(fitness), "mean": sum(fitness) / len(fitness)}
            value = reached[config.fitness_criterion]
            if value >= config.fitness_threshold:
                limit = f"{config.fitness_threshold:g}, the fitness_threshold of the NEAT configuration"
                return f"{config.fitness_criterion} fitness {value:.6g} reached {limit}"
        return None

    def _out_of_patience(self, run: EvolutionRun, evaluation: Evaluation) -> str | None:
        if self.patience and evaluation.best is None and run.stale + 1 >= self.patience:
            return f"no better validation in {run.stale + 1} generations"
        return None

    def _validate(
        self,
        run: EvolutionRun,
        evaluation: Evaluation,
        bots: list[AgentSpec],
        game: Game,
        evaluator: MatchEvaluator,
        context: Context,
    ) -> dict[str, float] | None:
        """Plays the fittest genomes against fixed bots, always in the same matches; None if training was stopped."""
        fittest = sorted(evaluation.fitness, key=lambda key: (-evaluation.fitness[key], key))[:FINALISTS]
        specs = run.specs()
        encounters = [
            Encounter(
                (specs[key], *[bot] * (game.info.seats - 1)), derive(self.seed, "validation", bot.id, turn), game.spec
            )
            for key in fittest
            for bot in bots
            for turn in range(self.validate_pairs)
        ]
        results = evaluator.play(matches(encounters, Limits()), context.attend)
        if results is None:
            return None
        points: dict[tuple[str, str], list[float]] = {}  # by genome and bot
        for result in results:
            player, bot = encounters[encounter_of(result)].players[:2]
            seat = result.players.index(player.id)
            point = 0.0 if seat in result.ending.seats else outcomes_of(result)[seat]  # a failure loses, as in a league
            if point is not None:
                points.setdefault((player.id, bot.id), []).append(point)
        candidates = []
        for key in fittest:
            by_bot = {bot.id: points.get((specs[key].id, bot.id), []) for bot in bots}
            every = [point for scores in by_bot.values() for point in scores]
            candidates.append((sum(every) / max(len(every), 1), key, every, by_bot))
        share, key, every, by_bot = max(candidates, key=lambda candidate: (candidate[0], -candidate[1]))
        low, high = interval(sum(every), len(every))
        if every and (run.best is None or share > run.best.share):
            evaluation.best = self._best(run, key, share, low, high)
        values = {"validation/share": share, "validation/low": low, "validation/high": high}
        return values | {f"validation/{name}": sum(scores) / max(len(scores), 1) for name, scores in by_bot.items()}

    def _best(self, run: EvolutionRun, key: int, share: float, low: float, high: float) -> Best:
        parents = " and ".join(str(parent) for parent in dict.fromkeys(run.evolution.parents(key)))
        origin = f"genome {key}, from {parents}" if parents else f"genome {key}"
        generation = run.evolution.generation + 1
        about = f"{self.mode}, generation {generation}, {origin}; validated at {share:.0%} ({low:.0%} to {high:.0%})"
        return Best(run.evolution.genome(key), generation, share, about)

    def _progress(self, run: EvolutionRun, values: Mapping[str, float], began: float) -> Progress:
        done, spent = run.evolution.generation, time.monotonic() - began
        in_session = done - run.first_generation
        lefts = [(self.generations - done) * spent / in_session] if in_session else []
        if self.minutes:
            lefts.append(self.minutes * 60 - spent)
        text = f"best {values['fitness/best']:.4g}, mean {values['fitness/mean']:.4g}, "
        text += f"{values['population/species']:.0f} species, {values['speed/evaluations']:,.0f} evals/s"
        if run.best is not None:
            text += f", validated {run.best.share:.0%}"
        return Progress(done, self.generations, text, max(min(lefts), 0.0) if lefts else None)


def _generation_metrics(run: EvolutionRun, evaluation: Evaluation) -> dict[str, float]:
    fitness = np.array(list(evaluation.fitness.values()))
    best = run.evolution.genome(evaluation.fittest)
    return {
        "fitness/best": float(fitness.max()),
        "fitness/mean": float(fitness.mean()),
        "population/species": float(run.evolution.species),
        "genome/nodes": float(len(best.key)),
        "genome/connections": float(sum(best.enabled)),
        "trouble/failed": float(evaluation.failed),
        **evaluation.metrics,
    }
