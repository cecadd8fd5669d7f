"""Random numbers for one decision, such as one child of one generation, without a state that must be saved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from engine.seeding import chance, derive, pick, purpose

T = TypeVar("T")

DRAW = purpose("hybrid search")


class Draws:
    """The draws of one place, such as (seed, "child", generation, index): the n-th one depends on the place and n
    alone. Make a new one for each decision; it is not kept."""

    def __init__(self, *place: int | str) -> None:
        self._seed, self._count = derive(*place), 0

    def share(self) -> float:
        """From 0, below 1."""
        self._count += 1
        return chance(self._seed, DRAW, 0, self._count)

    def happens(self, probability: float) -> bool:
        return self.share() < probability

    def below(self, count: int) -> int:
        """A whole number from 0, below `count`."""
        self._count += 1
        return pick(count, self._seed, DRAW, 0, self._count)

    def one_of(self, values: Sequence[T]) -> T:
        return values[self.below(len(values))]

    def scaled(self, low: float, high: float) -> float:
        """Between two numbers, every order of magnitude equally likely. Three digits: further ones are noise, and may
        differ between the mathematical libraries of two computers."""
        return three_digits(math.exp(math.log(low) + self.share() * (math.log(high) - math.log(low))))


def three_digits(value: float) -> float:
    return float(f"{value:.3g}")
