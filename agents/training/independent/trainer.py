"""Trains several agents that share a game, each on its own: the loop of the trainer `independent`.

It plays epochs, trains, evaluates and reports; `environment` does the work, `config` has the settings.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator, Iterator

import torch

from agents.training.events import (
    Champion,
    Checkpoint,
    Current,
    Ended,
    Event,
    How,
    Level,
    Log,
    Metrics,
    Player,
    Progress,
    Spans,
    Workers,
    WorkerState,
)
from agents.training.independent.config import IndependentConfig
from agents.training.independent.environment import ParallelEnvironment
from agents.training.independent.evaluation import Evaluation
from agents.training.independent.learner_processes import LearnersFailed
from agents.training.independent.reports import Report
from agents.training.independent.roster import Agents
from agents.training.independent.state import read
from agents.training.independent.timeline import ACTOR
from agents.training.matchmaking import split_names
from agents.training.pace import Pace
from agents.training.trainer import Context
from engine.closing import Closing
from engine.errors import UnknownName
from engine.game import Game
from engine.play.match import AgentSpec
from engine.processes import bootstrap
from engine.registry import game_of

EVERY = 1.0  # seconds between two reports of spans and workers


def train(settings: IndependentConfig, context: Context) -> Iterator[Event]:
    torch.set_num_threads(1)  # another number gives other bits, and small networks gain nothing
    game, reason = game_of(context.game), None
    with EventSender(context) as sender, _environment(settings, context, game, sender.attend) as environment:
        sender.environment = environment
        first = environment.epoch
        try:
            if (yield from _measure_references(environment)):
                reason = yield from _epochs_of(settings, context, environment)
            yield _checkpoint(environment)
        except LearnersFailed:
            environment.close_learning()
            yield _checkpoint(environment)  # of the states that were published last
            raise
        sender.report(whole=True)
        done = environment.epoch
    if reason is None:
        yield Ended(How.STOPPED, f"stopped after {_epochs(done)}{_up_to(environment)}")
        return
    if text := environment.why_no_update():
        yield Log(text, Level.WARNING)
    if environment.evaluator.best is not None and done > first:
        best, spec = environment.evaluator.best
        about = f"independent, {best.role}, epoch {best.epoch}; scored {best.score:.4g} without exploration"
        yield Champion(best.epoch, _player(spec, about))
        reason += f"; champion: {best.role} of epoch {best.epoch}, score {best.score:.4g}"
    yield Ended(How.FINISHED, reason)


def _measure_references(environment: ParallelEnvironment) -> Generator[Event, None, bool]:
    """Measures the bots that agents are compared with; returns False if it was stopped."""
    evaluator = environment.evaluator
    if missing := evaluator.missing_references():
        yield Log("measuring the bots that agents are compared with; this may begin with compilation")
        if not environment.measure_references():
            return False
        yield Log("measured " + ", ".join(f"{bot.id}: {evaluator.references[bot.id]:.4g}" for bot in missing))
    if text := evaluator.doubt():
        yield Log(text, Level.WARNING)
    return True


def _epochs_of(
    settings: IndependentConfig, context: Context, environment: ParallelEnvironment
) -> Generator[Event, None, str | None]:
    """Plays, trains and evaluates; returns why that ended, None if it was stopped."""
    pace, saved = Pace(settings, environment.epoch, time.monotonic), environment.epoch
    while True:
        reason = _end_reason(settings, environment, pace)
        if environment.evaluation_due() or (reason and environment.epoch > environment.evaluator.epoch):
            if reason:
                environment.finish_learning()  # the checkpoint at the end has the networks that are evaluated now
            evaluation = environment.evaluate()
            if evaluation is None:
                return None
            yield Metrics(environment.epoch, _evaluation_metrics(environment, evaluation))
            reason = reason or _target_reached(settings, evaluation)
        if reason is None and environment.epoch - saved >= settings.checkpoint_every:
            saved = environment.epoch
            yield _checkpoint(environment)
        if context.player_wanted():
            yield Current(environment.epoch, _players(environment)[0])
        if reason is not None:
            return reason
        if context.attend():
            return None
        report = environment.advance()
        if report is None:
            return None
        yield Metrics(report.epoch, _report_metrics(environment, report))
        yield _progress(environment, report, pace)


def _environment(
    settings: IndependentConfig, context: Context, game: Game, stopping: Callable[[], bool]
) -> ParallelEnvironment:
    roles = settings.roles(game)
    if context.state is None:
        others = _opponents(settings, context)
    else:
        others = [spec for _, spec in sorted(read(context.state, game.spec).players.items())]
    agents: Agents = [*[settings.learner(game)] * len(roles), *others]
    cores = learner_cores(context.workers)
    return ParallelEnvironment(game, agents, settings.experiment(), saved=context.state, stopping=stopping, cores=cores)


def learner_cores(workers: int) -> int:
    """How many learners may work at the same time in a session with so many workers: they use the actor's core too.
    While agents learn in step, the actor is idle; beside two asynchronous learners on 2 cores it waited 68 % of the
    time."""
    return max(min(workers + 1, bootstrap.cores()), 1)


def _opponents(settings: IndependentConfig, context: Context) -> list[AgentSpec]:
    """The agents of the league, one for each seat that they take; the same agent may take several."""
    names = split_names(settings.opponents)
    if len(names) == len(context.agents):
        return list(context.agents)
    known = {spec.id: spec for spec in context.agents}
    for name in names:
        if name not in known:
            raise UnknownName("agent of the league", name, known)
    return [known[name] for name in names]


# Metrics


def _evaluation_metrics(environment: ParallelEnvironment, found: Evaluation) -> tuple[tuple[str, float], ...]:
    values = {"score": found.mean, "low": found.low, "high": found.high} | environment.evaluator.references
    values |= dict(zip(environment.roles, found.scores, strict=True))
    return tuple((f"evaluation/{name}", value) for name, value in values.items())


def _report_metrics(environment: ParallelEnvironment, report: Report) -> tuple[tuple[str, float], ...]:
    groups = {
        "score": report.scores,
        "loss": report.losses,
        "epsilon": report.epsilons,
        "updates": report.updates,
        "staleness": report.staleness,
    }
    values = {
        f"{group}/{role}": float(value)
        for group, numbers in groups.items()
        for role, value in zip(environment.roles, numbers, strict=True)
        if math.isfinite(value)
    }
    if report.costs is not None:
        whole = max(report.costs.total * report.epochs, 1e-9)
        values |= {"speed/epochs": report.epochs / whole, "speed/turns": report.turns / whole}
        values |= {"speed/updates": report.made / whole}
        values |= {f"speed/{name}": share for name, share in report.costs.shares().items()}
    if report.speedup is not None:
        values["speedup/measured"], values["speedup/predicted"] = report.speedup
    values["faults/restarts"] = float(environment.learning.restarts if environment.learning else 0)
    values["buffer/turns"] = float(
        min(environment.turns, environment.settings.buffer_rows * environment.settings.lanes)
    )
    return tuple(values.items())


def _progress(environment: ParallelEnvironment, report: Report, pace: Pace) -> Progress:
    text = f"score {sum(report.scores) / len(report.scores):.4g}, " if report.epochs else ""
    text += f"epsilon {max(report.epsilons):.2g}"
    if report.costs is not None:
        text += f", {1 / max(report.costs.total, 1e-9):.3g} epochs/s"
    score = environment.evaluator.last
    if score is not None:
        text += f", evaluated {score:.4g}"
    return pace.progress(report.epoch, text, score)


class EventSender(Closing):
    """Sends notes at once and spans and worker states about once a second, also while the loop waits for learners: each
    time that `attend` is called."""

    def __init__(self, context: Context) -> None:
        self._context, self._reported = context, time.monotonic()
        self.environment: ParallelEnvironment | None = None  # as soon as there is one

    def attend(self) -> bool:
        """Whether training should stop. Learners that have ended are started again, whatever the actor does now."""
        if self.environment is not None and self.environment.learning is not None:
            self.environment.learning.supervise()
        self.report()
        return self._context.attend()

    def report(self, *, whole: bool = False) -> None:
        """`whole`: spans and workers too, whenever the last ones were sent."""
        environment, now = self.environment, time.monotonic()
        if environment is None:
            return
        self._send_notes(environment)
        if whole or now - self._reported >= EVERY:
            self._reported = now
            self._send_spans(environment)
            actor = WorkerState(ACTOR, "playing", "", f"{environment.epoch:,} epochs", pid=os.getpid())
            self._context.send(Workers((actor, *(environment.learning.states() if environment.learning else ()))))

    def _send_notes(self, environment: ParallelEnvironment) -> None:
        for note in environment.log.take_notes(environment.learning):
            self._context.send(Log(note.text, Level.WARNING if note.warning else Level.INFO))

    def _send_spans(self, environment: ParallelEnvironment) -> None:
        if spans := environment.take_spans():
            self._context.send(Spans(spans))

    def close(self) -> None:
        """After the environment: what its learners reported until their end."""
        if self.environment is not None:
            self._send_notes(self.environment)
            self._send_spans(self.environment)


# Players


def _player(spec: AgentSpec, about: str) -> Player:
    return Player(spec.kind, spec.version, spec.payload, about, spec.id)


def _players(environment: ParallelEnvironment) -> list[Player]:
    """The current networks, that of the best agent first: the command line and the window offer the first one."""
    found, population = [], environment.population
    seats = {learner.role: learner.seat for learner in population.learners}
    for role in environment.evaluator.ranking:
        about = f"independent, {role}, epoch {environment.epoch}, {population.versions[seats[role]]:,} updates"
        found.append(_player(population.players[seats[role]], about))
    return found


def _checkpoint(environment: ParallelEnvironment) -> Checkpoint:
    return Checkpoint(environment.epoch, environment.save(), tuple(_players(environment)))


# The end


def _epochs(count: int) -> str:
    return f"{count} epoch{'s' * (count != 1)}"


def _up_to(environment: ParallelEnvironment) -> str:
    """The epoch of the last metrics, if more were played since: the list of sessions shows that one."""
    last = environment.epoch - environment.tally.epochs
    return f", with metrics up to epoch {last}" if last < environment.epoch else ""


def _end_reason(settings: IndependentConfig, environment: ParallelEnvironment, pace: Pace) -> str | None:
    """Why training ends before the next epoch; None if it does not."""
    if environment.finished:
        done = _epochs(environment.epoch)
        return done if environment.epoch == settings.epochs else f"it already has {done}"
    if not environment.still_learning:
        return "all agents have stopped learning"
    return f"{settings.minutes:.3g} min" if pace.out_of_time else None


def _target_reached(settings: IndependentConfig, evaluation: Evaluation) -> str | None:
    if settings.target_score and evaluation.mean >= settings.target_score:
        return f"evaluation/score {evaluation.mean:.4g} reached {settings.target_score:g}"
    return None
