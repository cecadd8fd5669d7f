"""Saves a whole experiment as one checkpoint, and sets a new one to it."""

from __future__ import annotations

from typing import Protocol

from agents.training.independent.evaluation import AgentEvaluator
from agents.training.independent.experiment import ExperimentSettings
from agents.training.independent.parallel import ParallelSettings
from agents.training.independent.population import AgentPopulation
from agents.training.independent.reports import EpochTally
from agents.training.independent.state import FORMAT, VERSION, SavedAgent, SavedExperiment, dump, read
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec

FIXED = ("lanes", "seed", "turns_per_update", "evaluate_matches")  # settings that a checkpoint continues with


class Experiment(Protocol):
    """What is saved of a `ParallelEnvironment`."""

    game: Game
    settings: ExperimentSettings
    parallel: ParallelSettings
    population: AgentPopulation
    evaluator: AgentEvaluator
    epoch: int
    rows: int
    partial: int
    updates: int
    skipped: dict[int, int]
    tally: EpochTally

    @property
    def learning_seats(self) -> list[int]: ...


def save_experiment(environment: Experiment) -> bytes:
    """The checkpoint. The turns of an epoch that is being played are left out."""
    population, settings, best = environment.population, environment.settings, environment.evaluator.best
    updates, free = environment.updates, environment.parallel.asynchronous
    if free:  # of the agent that is ahead
        updates = max(updates, *(population.updates(seat) + environment.skipped[seat] for seat in population.active), 0)
    skipped = {seat: max(updates - population.updates(seat), 0) for seat in population.seats}
    if free:  # an agent that is behind makes these updates later, unless it has stopped learning
        skipped |= {seat: environment.skipped[seat] for seat in environment.learning_seats}
    about = SavedExperiment(
        FORMAT,
        VERSION,
        environment.game.spec,
        settings.lanes,
        settings.seed,
        settings.turns_per_update,
        settings.evaluate_matches,
        environment.epoch,
        environment.rows - environment.partial,
        updates,
        tuple(skipped.values()),
        environment.evaluator.epoch,
        tuple(SavedAgent(member.role) for member in population.members),
        environment.tally,
        tuple(environment.evaluator.references.items()),
        best[0] if best else None,
    )
    others = {member.seat: member.player for member in population.members if member.player is not None}
    payload = best[1].payload if best else b""
    return dump(about, population.states(), population.buffer_tensors(environment.partial), others, payload)


def restore_experiment(environment: Experiment, data: bytes) -> None:
    """Continues with a checkpoint; raises an error if it is of another experiment."""
    contents = read(data, environment.game.spec)
    about, population = contents.about, environment.population
    for field in FIXED:
        if getattr(about, field) != (mine := getattr(environment.settings, field)):
            raise BadValue(field, mine, f"{getattr(about, field)}, as in the checkpoint")
    roles = [agent.role for agent in about.agents]
    if roles != [member.role for member in population.members]:
        raise BadValue("agents", [member.role for member in population.members], f"{roles}, as in the checkpoint")
    population.set_states(contents.states)
    for seat, tensors in contents.buffers.items():
        population.buffers[seat].set_tensors(tensors)
    for seat in population.seats:
        population.publish(seat)
    environment.epoch, environment.rows, environment.updates = about.epoch, about.rows, about.updates
    environment.skipped = dict(zip(population.seats, about.skipped, strict=True))
    environment.tally = about.tally
    evaluator = environment.evaluator
    evaluator.epoch, evaluator.references = about.evaluated, dict(about.references)
    if (best := about.best) is not None:
        evaluator.best = best, AgentSpec(best.role, best.kind, contents.best, best.version)
