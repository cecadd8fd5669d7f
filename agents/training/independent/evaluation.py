"""Evaluation: the agents play at their seats without exploration, always the same matches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from agents.training.independent.actor import Actor
from agents.training.independent.experiment import ExperimentSettings
from engine.game import Floats, Game, Seeds
from engine.play.match import AgentSpec
from engine.seeding import derive

ALIKE, TINY = 1 / 3, 1e-9  # mean scores of bots that differ by at most this share of the largest are about the same
ENOUGH = 3  # bots that must be measured before this means anything
ADVICE = "Use `train ppo`, give seats to agents of the league (opponents), or let the agents play bots in a tournament"
Z95 = 1.959964  # of a 95 % interval by the normal distribution


@dataclass(frozen=True)
class Evaluation:
    """Mean scores of the learning agents."""

    epoch: int
    scores: tuple[float, ...]  # of each
    mean: float  # of all of them
    low: float  # 95 % interval of the mean, over matches
    high: float


@dataclass(frozen=True)
class BestAgent:
    """The agent with the best evaluation so far."""

    epoch: int
    role: str
    score: float
    kind: str
    version: int


class AgentEvaluator:
    """Evaluates the agents at some seats, and the bots that they are compared with."""

    def __init__(self, game: Game, seats: Sequence[int], roles: Sequence[str], settings: ExperimentSettings) -> None:
        self._game, self._seats, self._roles, self._settings = game, list(seats), tuple(roles), settings
        self.references: dict[str, float] = {}  # mean scores of bots
        self.best: tuple[BestAgent, AgentSpec] | None = None  # the agent with the best evaluation so far
        self.epoch = 0  # of the last evaluation
        self.last: float | None = None  # its mean, in this run
        self._scores: tuple[float, ...] = ()  # of each agent in it

    def evaluate(self, players: Sequence[AgentSpec], epoch: int, stopping: Callable[[], bool]) -> Evaluation | None:
        """The agents play without exploration; None if it was stopped."""
        found = self._play(players, epoch, stopping)
        if found is None:
            return None
        self.epoch, self.last, self._scores = epoch, found.mean, found.scores
        score, k = max((score, -k) for k, score in enumerate(found.scores))  # of equal ones, the first
        if self.best is None or score > self.best[0].score:
            spec = players[self._seats[-k]]
            self.best = BestAgent(epoch, self._roles[-k], score, spec.kind, spec.version), spec
        return found

    @property
    def ranking(self) -> list[str]:
        """The roles of the agents, the best of the last evaluation first. Its scores are not in a checkpoint: after a
        resume the agent with the best evaluation so far is first, until there is another evaluation."""
        best = self.best[0].role if self.best is not None else ""
        scores = self._scores or tuple(float(role == best) for role in self._roles)
        return [role for _, role in sorted(zip(scores, self._roles, strict=True), key=lambda pair: -pair[0])]

    def missing_references(self) -> list[AgentSpec]:
        """The bots that have no score yet."""
        return self._settings.reference_bots(self._game, self.references)

    def measure_references(self, players: Sequence[AgentSpec], stopping: Callable[[], bool]) -> bool:
        """Measures bots once, each at all seats of the agents; returns False if it was stopped."""
        for bot in self.missing_references():
            seated = [bot if seat in self._seats else player for seat, player in enumerate(players)]
            found = self._play(seated, 0, stopping)
            if found is None:
                return False
            self.references[bot.id] = found.mean
        return True

    def doubt(self) -> str:
        """Why the scores may say little about how strong agents are; empty if nothing suggests that. Where all seats
        learn, one may win only what another loses. Then strong bots score against themselves what weak ones do."""
        seats, scores = self._game.info.seats, list(self.references.values())
        if seats < 2 or len(self._seats) < seats:
            return ""
        alike = not scores or max(scores) - min(scores) <= ALIKE * max(map(abs, scores)) + TINY
        if not alike or (len(scores) < ENOUGH and seats > 2):
            return ""
        if len(scores) < ENOUGH:
            why = "if one agent wins what the other loses, both together always score about the same"
        else:
            low, high = min(scores), max(scores)
            why = f"all bots score about the same against themselves ({low:.3g} to {high:.3g}), as if one agent wins "
            why += "what another loses"
        return f"{why}: then evaluation/score, target_score and the best agent say little about strength. {ADVICE}"

    def _play(self, players: Sequence[AgentSpec], epoch: int, stopping: Callable[[], bool]) -> Evaluation | None:
        matches = self._settings.evaluate_matches
        with Actor(self._game, players, (), matches, together=True) as actor:
            actor.begin(match_seeds(self._settings.seed, "evaluation", 0, matches))
            while actor.running:
                actor.take_turn()
                if stopping():
                    return None
            return summary(actor.scores[:, self._seats], epoch)


def summary(scores: Floats, epoch: int) -> Evaluation:
    """`scores`: [matches, learners]. Agents of one match are not independent, so the interval is one of matches."""
    means = scores.mean(axis=1)
    half = Z95 * float(means.std(ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.inf
    mean = float(means.mean())
    return Evaluation(epoch, tuple(scores.mean(axis=0).tolist()), mean, mean - half, mean + half)


def match_seeds(seed: int, what: str, number: int, lanes: int) -> Seeds:
    """The seeds of the matches of one epoch."""
    return np.array([derive(seed, what, number, lane) for lane in range(lanes)], np.uint64)
