"""How the agents of a population learn: in steps between epochs, or freely in processes while the actor plays."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from agents.training.events import Span, WorkerState
from agents.training.independent.asynchronous import AsynchronousLearners
from agents.training.independent.experiment import ExperimentSettings
from agents.training.independent.learner_processes import LearnerProcesses
from agents.training.independent.learner_specs import NOT_FINITE
from agents.training.independent.parallel import SEQUENTIAL, STACKED, ParallelSettings
from agents.training.independent.population import AgentPopulation
from agents.training.independent.published import Numbers
from agents.training.independent.training import Choice, Stop, Training, choose, copied, stacks_of
from engine.closing import Closing

ASYNCHRONOUS = "asynchronous"


class StepLearning(Closing):
    """Agents learn when `train` is called, in the way that `mode` names; its choice is measured if there are several.
    `workers` learn at the same time."""

    def __init__(self, parallel: ParallelSettings, population: AgentPopulation, workers: int, stop: Stop) -> None:
        self._population = population
        buffers, modes = population.learning_buffers, parallel.candidates
        self._training = Training(population.learning_groups, buffers, modes, workers, stop=stop)
        population.set_learning_groups(self._training.groups)
        self.mode, self.reason = self._training.mode, self._training.reason
        self.workers, self.stacks = self._training.workers, self.mode != SEQUENTIAL
        self.choice = self._training.choice  # if it was measured

    @property
    def processes(self) -> LearnerProcesses | None:
        """The learner processes, if there are any."""
        return self._training.processes

    def train(self, updates: int, stop: Stop) -> dict[int, list[float]]:
        """So many updates of each agent; returns their losses by seat. It raises TrainingInterrupted if `stop` returns
        True while it waits for processes; the agents are as before then."""
        return self._training.train(updates, stop)

    def supervise(self) -> None:
        """Notices processes that have ended, and starts them again."""
        if self.processes:
            self.processes.pump()

    def updates(self, seat: int) -> int:
        return self._population.updates(seat)

    def save(self, stop: Stop) -> None:
        """The population has the latest states: they are taken after each training."""

    def notes(self) -> list[str]:
        return self.processes.take_notes() if self.processes else []

    def stopped(self) -> dict[int, str]:
        """The seats of agents that learn no more, and why."""
        if self.processes:
            return self.processes.stopped
        diverged = [seat for seat in self._population.active if self._population.diverged(seat)]
        return dict.fromkeys(diverged, NOT_FINITE)

    def spans(self) -> Sequence[Span]:
        return self.processes.take_spans() if self.processes else ()

    def states(self) -> Sequence[WorkerState]:
        """Of the processes that learn."""
        return self.processes.workers() if self.processes else ()

    @property
    def restarts(self) -> int:
        return sum(record.restarts for record in self.processes.records) if self.processes else 0

    def close(self) -> None:
        self._training.close()


class FreeLearning(Closing):
    """Learner processes learn while the actor plays. Without `parallel_training` it is one process, which updates one
    agent after the other."""

    mode, reason, choice = ASYNCHRONOUS, "", None

    def __init__(
        self,
        parallel: ParallelSettings,
        population: AgentPopulation,
        settings: ExperimentSettings,
        cores: int,
        skipped: Mapping[int, int],
    ) -> None:
        """`skipped`: by seat, the updates that were due while an agent did not learn."""
        self._population, self.stacks = population, parallel.parallel_training
        groups = population.learning_groups
        if self.stacks:
            groups = copied(groups, [stack.agents for stack in stacks_of(groups)])
        else:
            groups = copied(groups, [(seat,) for group in groups for seat in group.agents])
        population.set_learning_groups(groups)
        self.workers = parallel.workers(len(population.active), cores) if self.stacks else 1
        self._learners = AsynchronousLearners(
            groups,
            population.learning_buffers,
            self.workers,
            settings.bounds,
            publish_every=settings.publish_every,
            skipped=skipped,
        )
        self.processes = self._learners.processes
        self._learners.start()

    def between_turns(self, stop: Stop) -> tuple[dict[int, tuple[int, Numbers]], float]:
        """New weights by seat, and the seconds that the actor waited for learners that are behind."""
        waited = self._learners.wait_for_learners(stop)
        return self._learners.take_weights(), waited

    def finish(self, stop: Stop) -> float:
        """Sets the learners of the population to the states after all updates that are due; returns the seconds of
        waiting for them."""
        return self._learners.finish(stop)

    def supervise(self) -> None:
        """Notices processes that have ended, and starts them again."""
        self._learners.supervise()

    def updates(self, seat: int) -> int:
        active = seat in self._population.active
        return self.processes.updates(seat) if active else self._population.updates(seat)

    def mean_losses(self) -> dict[int, float]:
        return self.processes.take_mean_losses()

    def save(self, stop: Stop) -> None:
        """Sets the learners of the population to the latest states."""
        self._learners.save_states(stop)

    def notes(self) -> list[str]:
        return self.processes.take_notes()

    def stopped(self) -> dict[int, str]:
        return self.processes.stopped

    def spans(self) -> Sequence[Span]:
        return self.processes.take_spans()

    def states(self) -> Sequence[WorkerState]:
        return self.processes.workers()

    @property
    def restarts(self) -> int:
        return sum(record.restarts for record in self.processes.records)

    def close(self) -> None:
        self._learners.close()
        self.processes.take_states()


Learning = StepLearning | FreeLearning


def new_learning(
    parallel: ParallelSettings,
    population: AgentPopulation,
    settings: ExperimentSettings,
    cores: int,
    skipped: Mapping[int, int],
    stop: Stop,
) -> Learning:
    """Starts learning in the way that the switches ask for. It raises TrainingInterrupted if `stop` returns True while
    the ways to learn are measured."""
    if parallel.asynchronous:
        return FreeLearning(parallel, population, settings, cores, skipped)
    return StepLearning(parallel, population, parallel.workers(len(population.active), cores), stop)


def stack_gain(population: AgentPopulation, choice: Choice | None, stop: Stop) -> float:
    """How much faster all agents are updated in stacks than one after the other, on one core. It is measured unless it
    was for `choice`; this raises TrainingInterrupted if `stop` returns True meanwhile."""
    if choice is None or not {SEQUENTIAL, STACKED} <= choice.seconds.keys():
        groups, buffers = population.learning_groups, population.learning_buffers
        choice = choose(groups, buffers, (SEQUENTIAL, STACKED), 1, time.perf_counter, stop)
    return choice.seconds[SEQUENTIAL] / max(choice.seconds[STACKED], 1e-12)
