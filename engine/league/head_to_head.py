"""Counts the results of every pair of agents, from columns of results."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.play.results import UNRATED_CODES, ResultBatch

Agents = NDArray[np.int64]  # [n, seats]: numbers in the league
Sums = dict[tuple[int, int], list[float]]  # by pair, in the order of joining: columns of `tallies` from `wins` on
Halves = dict[int, float | None]  # by encounter: points of the agent added first in the one game known so far
FIGURES = 10


def add_games(sums: Sums, batch: ResultBatch, agents: Agents) -> None:
    """Adds wins, draws, losses and scores, from the view of the agent added to the league first."""
    rated = ~np.isin(batch.columns.kinds, UNRATED_CODES)
    ranks, scores, agents = batch.columns.ranks[rated], batch.columns.scores[rated], agents[rated]
    for i, j in itertools.combinations(range(agents.shape[1]), 2):
        swap = agents[:, i] >= agents[:, j]
        own, other = (np.where(swap, scores[:, b], scores[:, a]) for a, b in ((i, j), (j, i)))
        above, below = (np.where(swap, ranks[:, b], ranks[:, a]) for a, b in ((i, j), (j, i)))
        pairs, place = distinct_pairs(agents[:, i], agents[:, j])
        outcome = np.where(above < below, 0, np.where(above == below, 1, 2))
        games = np.bincount(3 * place + outcome, minlength=3 * len(pairs)).reshape(-1, 3).tolist()
        scored, conceded = (np.bincount(place, points, len(pairs)).tolist() for points in (own, other))
        for pair, counts, *points in zip(pairs, games, scored, conceded, strict=True):
            tally = sums.setdefault(pair, [0] * FIGURES)
            tally[:5] = [a + b for a, b in zip(tally[:5], [*counts, *points], strict=True)]


def add_encounters(sums: Sums, halves: Halves, places: Sequence[int], batch: ResultBatch, agents: Agents) -> None:
    """Adds encounters of two games with sides swapped, once both games are known."""
    rated = ~np.isin(batch.columns.kinds, UNRATED_CODES)
    older = np.where(agents[:, 0] < agents[:, 1], 0, 1)
    row = np.arange(len(older))
    own, other = batch.columns.ranks[row, older], batch.columns.ranks[row, 1 - older]
    earned = np.where(own < other, 1.0, np.where(own == other, 0.5, 0.0))
    encounters = (np.array(places, np.int64) - 1) // 2
    order = np.argsort(encounters, kind="stable")
    equal = encounters[order[1:]] == encounters[order[:-1]]
    first, second = order[:-1][equal], order[1:][equal]  # both games are in this batch
    both_rated = rated[first] & rated[second]
    first, second = first[both_rated], second[both_rated]
    pairs, place = distinct_pairs(agents[first, 0], agents[first, 1])
    both = (2 * (earned[first] + earned[second])).astype(np.int64)
    for pair, counts in zip(pairs, np.bincount(5 * place + both, minlength=5 * len(pairs)).reshape(-1, 5), strict=True):
        tally = sums.setdefault(pair, [0] * FIGURES)
        tally[5:] = [a + b for a, b in zip(tally[5:], counts.tolist(), strict=True)]
    alone = np.append(True, ~equal) & np.append(~equal, True)
    for at in order[alone].tolist():
        points = pair_up(halves, places[at], float(earned[at]) if rated[at] else None)
        if points is not None:
            a, b = agents[at].tolist()
            sums.setdefault((min(a, b), max(a, b)), [0] * FIGURES)[5 + int(points * 2)] += 1


def distinct_pairs(
    some: NDArray[np.int64], others: NDArray[np.int64]
) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
    """The pairs that occur, each in the order of joining, and for each row the index of its pair."""
    codes, place = np.unique(np.minimum(some, others) << 32 | np.maximum(some, others), return_inverse=True)
    return list(zip((codes >> 32).tolist(), (codes & 0xFFFFFFFF).tolist(), strict=True)), place.reshape(-1)


def pair_up(halves: Halves, place: int, own: float | None) -> float | None:
    """Points of the agent added first in an encounter, from 0 to 2, once both games are known and rated."""
    encounter = (place - 1) // 2
    if encounter not in halves:
        halves[encounter] = own
        return None
    other = halves.pop(encounter)
    return None if own is None or other is None else own + other
