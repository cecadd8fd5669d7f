"""Trains networks by NEAT for any game that is small enough: against bots, in competition, or in self-play.

The loop of `train` is the whole method: play, evaluate, validate, breed. `modes` draws the matches of a generation
and turns results into fitness; `settings` has the settings.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np

from agents.neat.config import advice
from agents.neat.pilot import KIND
from agents.training.events import Champion, Current, Ended, Event, How, Level, Log, Metrics, Player, Progress
from agents.training.matchmaking import matches, ready_bots
from agents.training.neat.config import NeatConfig
from agents.training.neat.modes import MODES
from agents.training.neat.state import BestGenome, EvolutionRun, GenerationEvaluation
from agents.training.pace import Pace
from agents.training.trainer import Context
from agents.training.validation import share_metrics, share_of, validate
from engine.game import Game
from engine.play.match import AgentSpec, Limits
from engine.registry import game_of

FINALISTS = 3  # genomes of a generation that are validated


def train(settings: NeatConfig, context: Context) -> Iterator[Event]:
    game, state = game_of(context.game), context.state
    run = (
        EvolutionRun.from_checkpoint(state, settings, game)
        if state is not None
        else EvolutionRun.start(settings, game, context.ancestor)
    )
    pace = Pace(settings, run.first_generation, time.monotonic)
    mode = MODES[settings.mode](settings, game, advice(run.evolution.text))
    bots = ready_bots(game, settings.validate_bots, (KIND.name,))
    stopped, reason = False, _end_reason(settings, run, None, pace)
    while reason is None:
        since = time.monotonic()
        encounters = mode.encounters(run)
        results = context.executor.play(matches(encounters, Limits(settings.steps or None)), context.attend)
        if stopped := results is None:
            break
        values = {"speed/matches": len(results) / (time.monotonic() - since)}
        evaluation = mode.evaluate(run, encounters, results)
        reason = _end_reason(settings, run, evaluation, pace)
        if run.evolution.generation % settings.validate_every == 0 or reason is not None:
            validated = _validate(settings, run, evaluation, bots, game, context)
            if stopped := validated is None:
                break
            values |= validated
            reason = reason or _out_of_patience(settings, run, evaluation)
        values |= _generation_metrics(run, evaluation)
        if context.player_wanted():
            yield _current(settings, run, evaluation)
        bred = time.monotonic()
        alive = run.advance(evaluation, settings)
        spent = time.monotonic() - since
        values["speed/reproduction"] = (time.monotonic() - bred) / spent
        values["speed/evaluations"] = len(evaluation.fitness) / spent
        yield from map(Log, evaluation.messages)
        if not alive:
            yield Log("all species died out; starting a new population", Level.WARNING)
        yield Metrics(run.evolution.generation, tuple(values.items()))
        yield _progress(run, values, pace)
        if run.evolution.generation % settings.checkpoint_every == 0 and reason is None:
            yield run.checkpoint()
    yield run.checkpoint()
    if stopped:
        yield Ended(How.STOPPED, f"stopped after {run.evolution.generation} generations")
        return
    if run.best is not None:
        yield Champion(run.best.generation, run.best.player())
    yield Ended(How.FINISHED, reason or "")


def _end_reason(
    settings: NeatConfig, run: EvolutionRun, evaluation: GenerationEvaluation | None, pace: Pace
) -> str | None:
    """Why training ends after this generation, or before the first one if `evaluation` is None; else None."""
    done = run.evolution.generation + (evaluation is not None)
    if done >= settings.generations:
        return f"{done} generations" if done == settings.generations else f"it already has {done} generations"
    if pace.out_of_time:
        return f"{settings.minutes:.3g} min"
    if evaluation is None:
        return None
    config, fitness = run.evolution.config, list(evaluation.fitness.values())
    if settings.target_fitness and max(fitness) >= settings.target_fitness:
        return f"fitness {max(fitness):.6g} reached {settings.target_fitness:g}"
    if not config.no_fitness_termination and not settings.target_fitness:
        reached = {"max": max(fitness), "min": min(fitness), "mean": sum(fitness) / len(fitness)}
        value = reached[config.fitness_criterion]
        if value >= config.fitness_threshold:
            limit = f"{config.fitness_threshold:g}, the fitness_threshold of the NEAT configuration"
            return f"{config.fitness_criterion} fitness {value:.6g} reached {limit}"
    return None


def _out_of_patience(settings: NeatConfig, run: EvolutionRun, evaluation: GenerationEvaluation) -> str | None:
    if settings.patience and evaluation.best is None and run.stale + 1 >= settings.patience:
        return f"no better validation in {run.stale + 1} generations"
    return None


def _validate(
    settings: NeatConfig,
    run: EvolutionRun,
    evaluation: GenerationEvaluation,
    bots: list[AgentSpec],
    game: Game,
    context: Context,
) -> dict[str, float] | None:
    """Plays the fittest genomes against fixed bots, always in the same matches; None if training was stopped."""
    fittest = sorted(evaluation.fitness, key=lambda key: (-evaluation.fitness[key], key))[:FINALISTS]
    specs = run.specs()
    points = validate([specs[key] for key in fittest], bots, settings.validate_pairs, settings.seed, game, context)
    if points is None:
        return None
    shares = {key: share_of(points[specs[key].id])[0] for key in fittest}
    key = max(fittest, key=lambda key: (shares[key], -key))
    values = share_metrics(points[specs[key].id])
    share, low, high = (values[f"validation/{name}"] for name in ("share", "low", "high"))
    if any(points[specs[key].id].values()) and (run.best is None or share > run.best.share):
        evaluation.best = _best(settings, run, key, share, low, high)
    return values


def _best(settings: NeatConfig, run: EvolutionRun, key: int, share: float, low: float, high: float) -> BestGenome:
    parents = " and ".join(str(parent) for parent in dict.fromkeys(run.evolution.parents(key)))
    origin = f"genome {key}, from {parents}" if parents else f"genome {key}"
    generation = run.evolution.generation + 1
    about = f"{settings.mode}, generation {generation}, {origin}; validated at {share:.0%} ({low:.0%} to {high:.0%})"
    return BestGenome(run.evolution.genome(key), generation, share, about)


def _current(settings: NeatConfig, run: EvolutionRun, evaluation: GenerationEvaluation) -> Current:
    """The fittest genome of the generation."""
    key, generation = evaluation.fittest, run.evolution.generation + 1
    about = f"{settings.mode}, generation {generation}, genome {key}, fitness {evaluation.fitness[key]:.4g}"
    spec = run.specs()[key]
    return Current(generation, Player(spec.kind, spec.version, spec.payload, about))


def _progress(run: EvolutionRun, values: Mapping[str, float], pace: Pace) -> Progress:
    text = f"best {values['fitness/best']:.4g}, mean {values['fitness/mean']:.4g}, "
    text += f"{values['population/species']:.0f} species, {values['speed/evaluations']:,.0f} evals/s"
    if run.best is not None:
        text += f", validated {run.best.share:.0%}"
    return pace.progress(run.evolution.generation, text, values["fitness/best"])


def _generation_metrics(run: EvolutionRun, evaluation: GenerationEvaluation) -> dict[str, float]:
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
