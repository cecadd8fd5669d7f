"""What happened in an experiment: sums between two reports, a report, and the result of all epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents.training.independent.evaluation import Evaluation
from agents.training.independent.speedup import Costs


@dataclass(frozen=True)
class EpochTally:
    """Sums since the last report; part of a checkpoint, so that the report after a resume is the same."""

    epochs: int = 0
    scores: tuple[float, ...] = ()  # of each learning agent
    losses: tuple[float, ...] = ()
    updates: tuple[int, ...] = ()

    def with_scores(self, scores: Sequence[float]) -> EpochTally:
        before = self.scores or (0.0,) * len(scores)
        return replace(self, epochs=self.epochs + 1, scores=_sum(before, scores))

    def with_losses(self, losses: Sequence[Sequence[float]]) -> EpochTally:
        """`losses`: of the updates of each agent. They are added one by one, so the sum does not depend on how many
        updates were made at once."""
        sums, counts = list(self.losses or (0.0,) * len(losses)), list(self.updates or (0,) * len(losses))
        for k, own in enumerate(losses):
            for loss in own:
                if math.isfinite(loss):
                    sums[k], counts[k] = sums[k] + loss, counts[k] + 1
        return replace(self, losses=tuple(sums), updates=tuple(counts))

    def mean_scores(self, agents: int) -> tuple[float, ...]:
        """Of each agent; nan if no epoch was played, as after a resume that begins with a training."""
        return tuple(score / self.epochs for score in self.scores) if self.epochs else (math.nan,) * agents

    def mean_losses(self, agents: int) -> tuple[float, ...]:
        """Of each agent; nan if it made no update."""
        sums, counts = self.losses or (0.0,) * agents, self.updates or (0,) * agents
        return tuple(total / count if count else math.nan for total, count in zip(sums, counts, strict=True))


def _sum(first: Sequence[float], other: Sequence[float]) -> tuple[float, ...]:
    return tuple(a + b for a, b in zip(first, other, strict=True))


@dataclass(frozen=True)
class Note:
    """A line for a log."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Report:
    """The epochs since the report before; lists have an entry for each learning agent."""

    epoch: int  # the last one
    epochs: int
    scores: tuple[float, ...]  # mean of a match; nan if there was none
    losses: tuple[float, ...]  # mean of an update; nan if there was none
    updates: tuple[int, ...]  # so far
    epsilons: tuple[float, ...]  # in the last epoch
    staleness: tuple[int, ...]  # updates since the weights that play
    costs: Costs | None  # per epoch; None if there was none, or if they were played in two modes
    turns: int  # of all agents together
    made: int  # updates of all agents together; 0 if a learner that ended lost more
    speedup: tuple[float, float] | None = None  # measured, predicted


@dataclass
class ExperimentResult:
    """All epochs of one run; tuples have an entry for each learning agent."""

    roles: tuple[str, ...]
    scores: list[tuple[float, ...]] = field(default_factory=list)  # of each epoch: the mean of its matches
    reports: list[Report] = field(default_factory=list)  # of each training
    evaluations: list[Evaluation] = field(default_factory=list)
    references: Mapping[str, float] = field(default_factory=dict)  # mean scores of bots in the same matches
    seconds: Mapping[str, float] = field(default_factory=dict)  # of the actor, by what it did
    mode: str = ""  # in which agents were trained
    reason: str = ""  # why, if it was chosen by measuring
    stopped: bool = False
    notes: list[Note] = field(default_factory=list)  # such as agents that learn no more

    @property
    def losses(self) -> list[tuple[float, ...]]:
        """Of each training: the mean loss of its updates; nan if there was none."""
        return [report.losses for report in self.reports]

    @property
    def updates(self) -> tuple[int, ...]:
        """That were made so far."""
        return self.reports[-1].updates if self.reports else (0,) * len(self.roles)
