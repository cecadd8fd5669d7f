"""What a search has of its models: genomes with their outcomes, and what happened in a generation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agents.training.hybrid.distance import mean_distance
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.outcome import Outcome


@dataclass(frozen=True)
class Candidate:
    """A genome, and where it comes from."""

    genome: Genome
    generation: int  # the first one that it was a member of, from 1
    parents: tuple[int, ...] = ()  # their numbers; empty if it was drawn at random


@dataclass(frozen=True)
class Member:
    """A candidate with its number and the outcome of its training."""

    number: int  # in the order in which candidates were made, from 1
    candidate: Candidate
    outcome: Outcome | None  # None: not trained yet

    @property
    def genome(self) -> Genome:
        return self.candidate.genome

    @property
    def fitness(self) -> float | None:
        """None: not trained yet, or it failed."""
        return self.outcome.fitness if self.outcome else None

    @property
    def standing(self) -> tuple[float, float, int]:
        """Sorts members from the best to the worst: by fitness, then loss, then number. Failed ones come last."""
        outcome = self.outcome
        if outcome is None or outcome.fitness is None:
            return math.inf, math.inf, self.number
        return -outcome.fitness, math.inf if outcome.loss is None else outcome.loss, self.number


@dataclass(frozen=True)
class Generation:
    """A completed generation. Numbers of fitness are those of the members that did not fail."""

    number: int
    best: float
    mean: float
    worst: float
    spread: float  # standard deviation
    diversity: float  # mean distance of two genomes, from 0 to 1
    mutation_rate: float  # with which the next generation is bred
    parameters: int  # of the best one
    evaluated: int  # members that were trained
    cached: int  # members that were not, because their genome had been trained before; most of them are the elite
    failed: int
    species: int  # from which the next generation is bred; 1 unless parents are chosen within species
    seconds: float  # training time of all its models together

    def __str__(self) -> str:
        text = f"generation {self.number}: best {self.best:.4f}, mean {self.mean:.4f}, {self.evaluated} models trained"
        return f"{text}, mutation rate of the next {self.mutation_rate:.2f}"


def ranked(members: Sequence[Member]) -> list[Member]:
    """The members that did not fail, the best first."""
    return sorted((member for member in members if member.fitness is not None), key=lambda member: member.standing)


def spread_of(members: Sequence[Member]) -> tuple[float, float, float]:
    """Mean and standard deviation of fitness, and diversity, of members that did not fail. The order of the members
    makes no difference."""
    values = [member.fitness for member in members if member.fitness is not None]
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return mean, deviation, mean_distance([member.genome for member in members])
