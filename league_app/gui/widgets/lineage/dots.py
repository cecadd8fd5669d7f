"""What a lineage shows, and where: a column of dots for each group of individuals, the best one at its top.

A column with too many dots for its height is wider, with several dots in a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.game import Floats, Ints

LARGEST, SMALLEST = 7.0, 1.5  # pixels: radius of a dot
APART = 8.0  # pixels between two dots: farther apart they are not larger by much
FILLED = 0.42  # of the distance between two dots: their radius
USED = 0.84  # of the width of a column, by its dots
OUTLIERS = 0.05  # of the values, at the low end: they share a colour

Mask = npt.NDArray[np.bool_]
Facts = tuple[tuple[str, str], ...]  # names and values


@dataclass(frozen=True)
class LineageDot:
    """An individual."""

    number: int  # different for each
    column: int
    parents: tuple[int, ...]  # numbers
    value: float | None  # higher is better; None if it is unknown
    member: bool = False  # it is outlined
    failed: bool = False  # a cross in place of a dot


class Lineage:
    """Dots by number. `describe` returns names and values of the one with this number; the first is its value."""

    def __init__(
        self,
        dots: Sequence[LineageDot] = (),
        best: int | None = None,
        describe: Callable[[int], Facts] = lambda number: (),
        scale: Callable[[float], str] = lambda value: f"{value:.3g}",
    ) -> None:
        self.dots, self.describe = tuple(dots), describe
        self.places = {dot.number: place for place, dot in enumerate(self.dots)}
        self.best = self.places.get(best) if best is not None else None
        self.labels, self.columns = _compressed([dot.column for dot in self.dots])
        self.values: Floats = np.array([math.nan if dot.value is None else dot.value for dot in self.dots], float)
        self.members: Mask = np.array([dot.member for dot in self.dots], bool)
        self.failed: Mask = np.array([dot.failed for dot in self.dots], bool)
        self.parents = [
            [
                self.places[parent]
                for parent in dict.fromkeys(dot.parents)
                if parent in self.places and parent != dot.number
            ]
            for dot in self.dots
        ]
        self.order, self.counts = self._order()
        self.heat, self.ends = self._heat()
        self.scale = tuple(map(scale, self.ends)) if self.ends is not None else None

    def _order(self) -> tuple[Ints, Ints]:
        """The place of each dot in its column, from the top, and the number of dots of each column."""
        counts = np.bincount(self.columns, minlength=len(self.labels))
        rank = np.lexsort((np.arange(len(self.dots)), -np.nan_to_num(self.values, nan=-np.inf), self.columns))
        order = np.empty(len(self.dots), np.int64)
        order[rank] = np.arange(len(self.dots)) - np.repeat(np.cumsum(counts) - counts, counts)
        return order, counts

    def _heat(self) -> tuple[Floats, tuple[float, float] | None]:
        """Values on a scale from 0 to 1, and the ends of that scale; NaN where a value is unknown."""
        known = self.values[np.isfinite(self.values)]
        if not len(known):
            return np.full(len(self.dots), np.nan), None
        low, high = float(np.quantile(known, OUTLIERS)), float(known.max())
        heat = (
            np.clip((self.values - low) / (high - low), 0, 1)
            if high > low
            else np.where(self.values == high, 1.0, np.nan)
        )
        return heat, (low, high)

    def lineage_of(self, place: int) -> Mask:
        """The ancestors of a dot, and itself."""
        found: Mask = np.zeros(len(self.dots), bool)
        found[place], left = True, [place]
        while left:
            for parent in self.parents[left.pop()]:
                if not found[parent]:
                    found[parent] = True
                    left.append(parent)
        return found

    def links(self, shown: Mask | None = None, most: int = 1_000_000) -> Ints:
        """Rows of child and parent, of these dots or of all; none if there are more than `most`."""
        places = range(len(self.dots)) if shown is None else np.flatnonzero(shown).tolist()
        count = 0
        for place in places:
            count += len(self.parents[place])
            if count > most:
                return np.empty((0, 2), np.int64)
        pairs = [(place, parent) for place in places for parent in self.parents[place]]
        return np.array(pairs, np.int64).reshape(-1, 2)


def _compressed(columns: Sequence[int]) -> tuple[list[int], Ints]:
    """The columns that have dots, and the place of the column of each dot among them."""
    labels, places = np.unique(np.array(columns, np.int64), return_inverse=True)
    return labels.tolist(), places.astype(np.int64).reshape(-1)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the dots are, in pixels."""

    x: Floats
    y: Floats
    radius: float  # of the largest dot
    column: float  # width

    def nearest(self, x: float, y: float, most: float) -> int | None:
        """The nearest dot within this distance."""
        if not len(self.x):
            return None
        distances = np.hypot(self.x - x, self.y - y)
        place = int(distances.argmin())
        return place if distances[place] <= most else None


def layout(lineage: Lineage, left: float, top: float, column: float, height: float) -> Layout:
    """Places the dots: the first column begins at `left`, and each has this width and height."""
    most, width = int(lineage.counts.max()) if len(lineage.counts) else 1, column * USED
    across = _dots_in_a_row(most, width, height)
    down = height / math.ceil(most / across)
    beside = (lineage.order % across - (across - 1) / 2) * (width / across)
    x = np.asarray(left + (lineage.columns + 0.5) * column + beside, np.float64)
    y = np.asarray(top + (lineage.order // across + 0.5) * down, np.float64)
    return Layout(x, y, min(max(min(width / across, down) * FILLED, SMALLEST), LARGEST), column)


def _dots_in_a_row(count: int, width: float, height: float) -> int:
    """The smallest number of dots in a row that keeps them `APART`, else the one with the largest distance."""
    best, widest = 1, 0.0
    for across in range(1, count + 1):
        pitch = min(width / across, height / math.ceil(count / across))
        if pitch > widest:
            best, widest = across, pitch
        if pitch >= APART or width / across < widest:
            break
    return best
