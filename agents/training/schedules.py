"""Schedules: values of a setting that change during training, as functions of the step alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.errors import UnknownName

CONSTANT, LINEAR, COSINE = SHAPES = ("constant", "linear", "cosine")


@dataclass(frozen=True)
class Schedule:
    """A value that goes from `first` at the first step to `last`, which it has after `steps` steps and from then on."""

    first: float
    last: float
    steps: int
    shape: str = LINEAR

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise UnknownName("schedule", self.shape, SHAPES)

    def at(self, step: int) -> float:
        """The value before step `step` + 1 is taken: `first` at 0."""
        if self.shape == CONSTANT:
            return self.first
        done = min(max(step / max(self.steps, 1), 0.0), 1.0)
        if self.shape == COSINE:
            done = (1 - math.cos(math.pi * done)) / 2
        return self.first + (self.last - self.first) * done
