"""Several learning agents in one game: `ParallelEnvironment` plays, learns, evaluates, and saves the whole experiment.

    with ParallelEnvironment(new_game("treasure-hunt", seats=5), 5, {"epochs": 200, "parallel": {...}}) as environment:
        result = environment.run_experiment()

An epoch plays one match on each lane, with exploration. After `train_interval` epochs, and after the last one, every
agent makes the updates that are due. All synchronous modes have the same results to the bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from agents.training.events import Span
from agents.training.independent.actor import Actor
from agents.training.independent.calibration import Calibration, acting_gain, resources_of
from agents.training.independent.evaluation import AgentEvaluator, Evaluation, match_seeds
from agents.training.independent.experiment import ExperimentSettings, check_arguments
from agents.training.independent.learner_processes import TrainingInterrupted
from agents.training.independent.learner_settings import check_game
from agents.training.independent.learning import FreeLearning, Learning, StepLearning, new_learning
from agents.training.independent.learning_log import LearningLog, chosen_mode, switched_off
from agents.training.independent.parallel import PROCESSES, ParallelSettings
from agents.training.independent.population import AgentPopulation
from agents.training.independent.reports import EpochTally, ExperimentResult, Note, Report
from agents.training.independent.roster import Agents, members_of
from agents.training.independent.saving import restore_experiment, save_experiment
from agents.training.independent.speedup import Costs
from agents.training.independent.timeline import EVALUATE, LEARN, PUBLISH, WAIT, Timeline
from engine.closing import Closing
from engine.game import Game
from engine.play.match import GameSpec
from engine.processes import bootstrap
from engine.registry import game_of

REFERENCE = ParallelSettings(enabled=False)  # agents act and learn one after the other
PULSE = 0.1  # seconds between two looks whether to stop, and of the updates in between


class ParallelEnvironment(Closing):
    """The agents, the boards they play on, and how far the experiment is."""

    def __init__(
        self,
        game: Game | GameSpec,
        agents: Agents,
        config: Mapping[str, Any] | None = None,
        *,
        saved: bytes | None = None,
        stopping: Callable[[], bool] = lambda: False,
        cores: int | None = None,
    ) -> None:
        """`agents`: for each seat a LearnerSettings or the AgentSpec of an agent that does not learn; or a number of
        learners. `config`: values of `ExperimentSettings`, and of `ParallelSettings` under the key `parallel`.
        `saved`: what `save` returned, to continue with. `stopping` is asked several times a second, also while it waits
        for learners. `cores`: how many workers may run; None: as many as there are cores."""
        values = check_arguments(game, config, saved, stopping, cores)
        self.parallel = ParallelSettings.read(values.pop("parallel", None))
        self.settings = ExperimentSettings.read(values)
        self.game = game_of(game) if isinstance(game, GameSpec) else game
        check_game(self.game)
        members = members_of(self.game, agents, self.settings)
        self._stopping, self._stopped, self._looked = stopping, False, time.monotonic()
        self._cores = cores or bootstrap.cores()
        shared = self.parallel.asynchronous or PROCESSES in self.parallel.candidates
        self.population = AgentPopulation(self.game, members, self.settings, shared=shared)
        self.roles = tuple(learner.role for learner in self.population.learners)
        self.timeline = Timeline()
        self.log = LearningLog({member.seat: member.role for member in members})
        self.notes = self.log.notes  # for a log, such as agents that learn no more
        self.notes += switched_off(self.parallel)
        self.evaluator = AgentEvaluator(self.game, self.population.seats, self.roles, self.settings)
        self.epoch = self.rows = self.updates = 0
        self.skipped = dict.fromkeys(self.population.seats, 0)  # updates that were due while an agent did not learn
        self.tally, self.partial = EpochTally(), 0  # since the last report; turns of the epoch that is being played
        if saved is not None:
            restore_experiment(self, saved)
        self._actor: Actor | None = None
        self.learning: Learning | None = None  # from the first training on
        calibrates = self.settings.calibrate and self.parallel.enabled and bool(self.population.active)
        self._calibration = Calibration(calibrates, mixed=self.tally.epochs > 0)
        self._scores: list[tuple[float, ...]] | None = None  # of all epochs, if they are kept
        self._reported = self.rows, self.updates

    # Playing

    @property
    def turns(self) -> int:
        """Turns of each agent so far, on all lanes together."""
        return self.rows * self.settings.lanes

    @property
    def actor(self) -> Actor:
        if self._actor is None:
            settings = self.settings
            self._actor = Actor(
                self.game,
                self.population.seated,
                self.population.seats,
                settings.lanes,
                together=self.parallel.together and not self._calibration.running,
                rewards=settings.reward_weights(self.game),
                reward_scale=settings.reward_scale,
                match_steps=settings.match_steps,
            )
        return self._actor

    def epsilons(self, epoch: int) -> tuple[float, ...]:
        """The share of random actions of each learner; one that is frozen does not explore."""
        value = self.settings.epsilon_at(epoch)
        return tuple(value if learner.learns else 0.0 for learner in self.population.learners)

    def take_turn(self) -> bool:
        """Plays one turn on all lanes; it is the first one of the next epoch if none is being played. Returns whether
        the epoch goes on."""
        began, actor = self.timeline.clock(), self.actor
        if not actor.running:
            seeds = match_seeds(self.settings.seed, "epoch", self.epoch, self.settings.lanes)
            actor.begin(seeds, self.epsilons(self.epoch))
            self.partial = 0
        acting = actor.acting_seconds
        self.population.add(actor.take_turn())
        self.rows, self.partial = self.rows + 1, self.partial + 1
        waited, published = self._take_weights()
        self.timeline.add_turn(began, actor.acting_seconds - acting, waited, published)
        if not actor.running:
            self._end_epoch(actor)
        return actor.running

    def _take_weights(self) -> tuple[float, float]:
        """Asynchronous: the actor waits for learners that are too far behind, and takes new weights; returns the
        seconds of both."""
        if not isinstance(self.learning, FreeLearning):
            return 0.0, 0.0
        fresh, waited = self.learning.between_turns(self.stopping)
        began = time.perf_counter()
        for seat, (version, numbers) in fresh.items():
            if version > self.population.versions[seat]:  # else it was taken with a saved state
                self.actor.replace(seat, self.population.publish(seat, numbers, version))
        return waited, time.perf_counter() - began

    def _end_epoch(self, actor: Actor) -> None:
        self.epoch, self.partial = self.epoch + 1, 0
        scores = tuple(actor.scores.mean(axis=0)[self.population.seats].tolist())
        self.tally = self.tally.with_scores(scores)
        if self._scores is not None:
            self._scores.append(scores)
        self._calibration.add_epoch(self.timeline.totals)

    def stopping(self) -> bool:
        """Whether to stop; it asks a few times a second at most."""
        now = time.monotonic()
        if not self._stopped and now - self._looked >= PULSE:
            self._looked = now
            self._stopped = self._stopping()
        return self._stopped

    # Learning

    def _start_learning(self) -> Learning:
        """Once there are turns to learn from: then the ways to learn can be measured. It raises TrainingInterrupted if
        it is stopped meanwhile."""
        parallel = REFERENCE if self._calibration.running else self.parallel
        self.learning = new_learning(parallel, self.population, self.settings, self._cores, self.skipped, self.stopping)
        if self.learning.reason:
            self.notes.append(chosen_mode(self.learning, parallel.workers(len(self.population.active), self._cores)))
        return self.learning

    def _due(self) -> int:
        """The updates that each agent makes now, before the actor plays on."""
        between = self.epoch > 0 and not self.partial and self._at_training
        if not between or isinstance(self.learning, FreeLearning) or not self.population.active:
            return 0
        due = max(self.settings.bounds.due(self.turns) - self.updates, 0)
        return due if due and self.population.ready() else 0

    @property
    def _at_end(self) -> bool:
        return self.epoch >= self.settings.epochs

    @property
    def _at_training(self) -> bool:
        return self._at_end or self.epoch % self.parallel.train_interval == 0

    @property
    def finished(self) -> bool:
        """Whether all epochs are played, and all updates made that are due after them."""
        return self._at_end and not self._due()

    def train(self) -> bool:
        """Makes the updates that are due; returns False if it was stopped before their end. Then the next call makes
        the rest."""
        try:
            return self._train()
        except TrainingInterrupted:  # while it waited for learners, or measured them
            return False
        finally:
            if isinstance(self.learning, StepLearning):
                self._publish()

    def _train(self) -> bool:
        due, chunk = self._due(), 1
        if due and self.learning is None:
            self._start_learning()
        while due and isinstance(self.learning, StepLearning):
            began, count = time.perf_counter(), min(chunk, due)
            with self.timeline.span(LEARN):
                losses = self.learning.train(count, self.stopping)
            seconds = time.perf_counter() - began
            self._calibration.add_updates(count, seconds)
            chunk = max(int(count * PULSE / max(seconds, 1e-6)), 1)  # results do not depend on it
            self.tally = self.tally.with_losses([losses.get(seat, []) for seat in self.population.seats])
            self.updates, due = self.updates + count, due - count
            if self._calibration.is_enough(due):
                self._end_calibration()
            if self.stopping():
                return False
        return True

    def _publish(self) -> None:
        """Passes the weights of the learners to the actor."""
        with self.timeline.span(PUBLISH):
            for seat in self.population.active:
                if self.population.updates(seat) != self.population.versions[seat]:
                    self.actor.replace(seat, self.population.publish(seat))

    def take_latest(self) -> None:
        """Asynchronous: sets the population and the actor to the latest states of the learners, so that what is
        evaluated, saved and shown are the same networks."""
        if isinstance(self.learning, FreeLearning):
            self.learning.save(self.stopping)
            self._publish()

    def finish_learning(self) -> None:
        """Asynchronous: waits for all updates that are due, and takes their results. Until the next turn nothing more
        is learned."""
        if isinstance(self.learning, FreeLearning):
            with self.timeline.span(WAIT):
                self.learning.finish(self.stopping)
            self._publish()

    def _end_calibration(self) -> None:
        """Continues in the mode that the settings ask for. The sequential results are those of this mode."""
        began = time.perf_counter()
        self._publish()
        published = (time.perf_counter() - began) / self.parallel.train_interval
        self._calibration.finish(published, self.turns / self.epoch / self.settings.turns_per_update)
        self.close()
        acting = acting_gain(self.population, self.settings) if self.parallel.together else 1.0
        learning = self._start_learning()
        self._calibration.set_resources(resources_of(learning, self.population, acting, self.stopping))
        self.timeline.restart()
        self._reported = self.rows, self._made()

    @property
    def still_learning(self) -> bool:
        """Whether an agent learns; if all are frozen, playing goes on all the same."""
        return not self.population.active or bool(self.learning_seats)

    @property
    def learning_seats(self) -> list[int]:
        """Of the agents that learn and have not stopped."""
        self.log.collect(self.learning)
        return [seat for seat in self.population.active if seat not in self.log.stopped]

    # What is shown

    def take_spans(self) -> tuple[Span, ...]:
        """The spans of actor and learners since the last call."""
        return (*self.timeline.take(), *self.log.take_spans(self.learning))

    def why_no_update(self) -> str:
        """Why no agent has made an update; empty if one has, or if none should learn."""
        made = not self.population.active or self._made()
        return "" if made else f"no agent made an update: {self.settings.first_update}, and each had {self.turns:,}"

    # Evaluation

    def evaluate(self) -> Evaluation | None:
        """Plays the matches of an evaluation, without exploration; None if it was stopped."""
        with self.timeline.span(EVALUATE):
            return self.evaluator.evaluate(self.population.seated, self.epoch, self.stopping)

    def measure_references(self) -> bool:
        """Measures the bots that agents are compared with, once; returns False if it was stopped."""
        with self.timeline.span(EVALUATE):
            return self.evaluator.measure_references(self.population.seated, self.stopping)

    def evaluation_due(self) -> bool:
        every, ago = self.settings.evaluate_every, self.epoch - self.evaluator.epoch
        return ago > 0 and (self._at_end or 0 < every <= ago)

    # All epochs

    def advance(self) -> Report | None:
        """Plays until the next training, and trains; None if it was stopped before. Calling it again continues. After a
        resume in the middle of a training, that training comes first."""
        self._stopped = False
        if not self._due():
            while True:
                while self.take_turn():
                    if self.stopping():
                        return None
                if self._at_training:
                    break
                if self.stopping():
                    return None
        if not self.train():
            return None
        if self._at_end:
            self.finish_learning()
        return self._report()

    def updates_of(self, seat: int) -> int:
        """Updates that a learner has made."""
        return self.population.updates(seat) if self.learning is None else self.learning.updates(seat)

    def _made(self) -> int:
        return sum(map(self.updates_of, self.population.active))

    def _report(self) -> Report:
        tally, self.tally = self.tally, EpochTally()
        seats, (rows, made) = self.population.seats, self._reported
        costs = Costs.of(self.timeline.restart(), tally.epochs)
        self._reported = _, total = self.rows, self._made()
        losses = tally.mean_losses(len(seats))
        if isinstance(self.learning, FreeLearning):
            found = self.learning.mean_losses()
            losses = tuple(found.get(seat, math.nan) for seat in seats)
        self.log.collect(self.learning)
        report = Report(
            epoch=self.epoch,
            epochs=tally.epochs,
            scores=tally.mean_scores(len(seats)),
            losses=losses,
            updates=tuple(map(self.updates_of, seats)),
            epsilons=self.epsilons(max(self.epoch - 1, 0)),
            staleness=tuple(self.updates_of(seat) - self.population.versions[seat] for seat in seats),
            costs=costs if tally.epochs and not self._calibration.mixed else None,
            turns=(self.rows - rows) * self.settings.lanes * len(seats),
            made=max(total - made, 0),
            speedup=self._calibration.compare(costs) if tally.epochs else None,
        )
        self._calibration.mixed = False
        return report

    def run_experiment(self) -> ExperimentResult:
        """Plays and learns until all epochs are played, or it is stopped."""
        result = ExperimentResult(self.roles)
        self._scores = result.scores
        stopped = bool(self.settings.evaluate_every) and not self.measure_references()
        while not self.finished and not stopped:
            report = self.advance()
            stopped = report is None
            if report is not None:
                result.reports.append(report)
            if report is not None and self.evaluation_due():
                found = self.evaluate()
                stopped = found is None
                result.evaluations += [] if found is None else [found]
        result.references, result.stopped = dict(self.evaluator.references), stopped
        result.seconds = dict(self.timeline.totals)
        if self.learning is not None:
            result.mode, result.reason = self.learning.mode, self.learning.reason
        if not stopped and (text := self.why_no_update()):
            self.notes.append(Note(text, True))
        result.notes = list(self.notes)
        return result

    # Saving

    def save(self) -> bytes:
        """The whole experiment. An epoch that is being played is left out: it is played again, with the same turns."""
        self.take_latest()
        return save_experiment(self)

    # The end

    def close_learning(self) -> None:
        """Ends the learners: the population keeps the states that they have published last, also after LearnersFailed.
        What they reported until their end is shown later."""
        learning = self.learning
        if learning is None:
            return
        learning.close()
        self.log.collect(learning)
        self.learning = None
        for seat in self.population.active:
            self.population.publish(seat)

    def close(self) -> None:
        with ExitStack() as stack:
            if self._actor is not None:
                stack.callback(self._actor.close)
                self._actor = None
            self.close_learning()
