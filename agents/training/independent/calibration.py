"""The calibration at the beginning of a run: epochs with agents that act and learn one after the other. They are the
reference for the speed-up.

Its results are those of any other synchronous mode, so it costs time but changes nothing. What the prediction needs
besides is measured when the calibration ends: how much faster agents act together, and learn in stacks, on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.training.independent.actor import Actor
from agents.training.independent.evaluation import match_seeds
from agents.training.independent.experiment import ExperimentSettings
from agents.training.independent.learning import FreeLearning, Learning, stack_gain
from agents.training.independent.population import AgentPopulation
from agents.training.independent.speedup import Costs, Resources, measured, predicted
from agents.training.independent.timeline import ACT, COLLECT
from engine.processes import bootstrap

ACTING_TURNS = 40  # that are measured of agents that act one by one, and as many of those that act together


class Calibration:
    """Measures the reference, and compares later epochs with it. The first epoch and the first update do not count:
    code may be compiled in them."""

    EPOCHS, SECONDS = 2, 2.0  # that are measured at least, if there are so many: of playing, and of updates

    def __init__(self, running: bool, *, mixed: bool = False) -> None:
        """`mixed`: whether the epochs since the last report were partly played in another way, as after a resume."""
        self.running, self.mixed = running, mixed
        self._epochs: list[Mapping[str, float]] = []  # the actor's seconds so far by name, after each epoch
        self._updates, self._seconds = 0, 0.0  # that are measured
        self._warm = False  # whether the first update was made
        self._reference: Costs | None = None
        self._resources: Resources | None = None  # from the end of the calibration on

    def add_epoch(self, totals: Mapping[str, float]) -> None:
        """An epoch has ended; `totals`: the actor's seconds so far by name."""
        if self.running:
            self._epochs.append(dict(totals))

    def add_updates(self, updates: int, seconds: float) -> None:
        """Updates of each agent were made."""
        if self.running and self._warm:
            self._updates, self._seconds = self._updates + updates, self._seconds + seconds
        self._warm = True

    def is_enough(self, left: int) -> bool:
        """Whether the calibration can end when so many updates are left. It cannot after a resume in the middle of a
        training: no epoch was played yet. Nor can it if no update was measured."""
        played, learned = len(self._epochs) >= self.EPOCHS, self._seconds > 0.0
        return self.running and played and learned and (self._seconds >= self.SECONDS or not left)

    def finish(self, publishing: float, updates_per_epoch: float) -> None:
        """Ends it; passing weights to the actor took `publishing` seconds per epoch."""
        first, last, count = self._epochs[0], self._epochs[-1], len(self._epochs) - 1
        collect, act = ((last.get(name, 0.0) - first.get(name, 0.0)) / count for name in (COLLECT, ACT))
        learn = self._seconds / self._updates * updates_per_epoch
        self._reference = Costs(collect, act, learn, publish=publishing)
        self.running, self.mixed, self._epochs = False, True, []

    def set_resources(self, resources: Resources) -> None:
        """How agents act and learn from now on."""
        self._resources = resources

    def compare(self, now: Costs) -> tuple[float, float] | None:
        """The speed-up of the epochs since the last report, measured and predicted; None if there is no reference."""
        if self._reference is None or self._resources is None or self.mixed:
            return None
        return measured(self._reference, now), predicted(self._reference, self._resources)


def resources_of(learning: Learning, population: AgentPopulation, acting: float, stop: Callable[[], bool]) -> Resources:
    """What makes a mode faster, with the gain of acting that was measured before learning began. It raises
    TrainingInterrupted if `stop` returns True while that of learning is measured."""
    learned = stack_gain(population, learning.choice, stop) if learning.stacks else 1.0
    free, cores = isinstance(learning, FreeLearning), bootstrap.cores()  # the actor is on one of them, too
    return Resources(acting, learned, min(learning.workers, cores), cores, free)


def acting_gain(population: AgentPopulation, settings: ExperimentSettings) -> float:
    """How much faster agents are observed and asked all at once than one by one; measured in matches of their own."""
    seeds, seconds = match_seeds(settings.seed, "calibration", 0, settings.lanes), []
    for together in (False, True):
        with Actor(population.game, population.seated, population.seats, settings.lanes, together=together) as actor:
            actor.begin(seeds)
            actor.take_turn()  # may compile code
            actor.acting_seconds = 0.0
            turns = 0
            while actor.running and turns < ACTING_TURNS:
                actor.take_turn()
                turns += 1
            seconds.append(actor.acting_seconds)
    one_by_one, at_once = seconds  # of the same turns
    return one_by_one / at_once if one_by_one and at_once else 1.0
