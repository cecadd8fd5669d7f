"""Which turns of which matches become examples, and which matches are kept for selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import Ints
from engine.seeding import chance, derive, purpose

SAMPLE = purpose("lessons.sample")


class Start(NamedTuple):
    """What matches of one encounter share: they are the same game, played from different seats."""

    seed: int
    start: str | None


def selecting(starts: Sequence[Start], share: float, seed: int) -> list[bool]:
    """For each match, whether it is kept for selection: about this share of them, at least one and not all. Matches
    with the same start are on the same side; which one follows from a hash."""
    counts: dict[Start, int] = {}
    for start in starts:
        counts[start] = counts.get(start, 0) + 1
    if len(counts) < 2:
        raise BadValue("matches", len(starts), "at least two with different seeds: one to learn from, one to select by")
    order = sorted(counts, key=lambda start: (derive("select", seed, start.seed, start.start or ""), start.seed))
    wanted, chosen, taken = share * len(starts), set[Start](), 0
    for start in order[:-1]:
        if taken and taken + counts[start] / 2 > wanted:
            break
        chosen.add(start)
        taken += counts[start]
    return [start in chosen for start in starts]


def in_random_order(starts: Sequence[Start], seed: int) -> list[int]:
    """Indices of the matches in an order that depends on nothing but the seed; matches with the same start stay
    together."""
    keys = [(derive("order", seed, start.seed, start.start or ""), at) for at, start in enumerate(starts)]
    return [at for _, at in sorted(keys)]


def available(seats: NDArray[np.uint8], labels: NDArray[np.int32], spacing: int) -> int:
    """How many examples a match has, if they are so many turns of a player apart. The label of other turns is
    negative."""
    counts = np.bincount(seats[labels >= 0])
    return int((-(-counts // spacing)).sum())


def quotas(available: Sequence[int], total: int) -> list[int]:
    """How many examples each match gives: the same number, or all that it has."""
    found, left = [0] * len(available), total
    order = sorted(range(len(available)), key=lambda at: (available[at], at))
    for done, at in enumerate(order):
        share = left // (len(order) - done)
        found[at] = min(available[at], share)
        left -= found[at]
    return found


def spread(count: int, quota: int, seed: int, match: str) -> Ints:
    """`quota` of `count` turns in ascending order, one at random of each of as many equal parts."""
    own = derive("sample", seed, match)
    ends: Ints = np.arange(quota + 1) * count // max(quota, 1)
    marks = np.array([chance(own, SAMPLE, 0, k) for k in range(quota)])
    found: Ints = ends[:-1] + (marks * np.diff(ends)).astype(np.int64)
    return found
