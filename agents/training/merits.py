"""What the matches of a generation are worth, all at once: `outcomes_of` and `merits_of` on columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine.game import Floats
from engine.play.results import UNRATED_CODES, ResultBatch


class Merits:
    """By match and seat. The numbers count only where `shown` is True."""

    def __init__(self, results: ResultBatch) -> None:
        ranks, scores = results.columns.ranks.astype(np.int64), results.columns.scores
        seats = ranks.shape[1]
        self.shown: NDArray[np.bool_] = np.repeat(
            ~np.isin(results.columns.kinds, UNRATED_CODES)[:, None], seats, axis=1
        )
        for place, ending in results.told.items():
            self.shown[place, list(ending.seats)] = False
        self.whole: NDArray[np.bool_] = np.logical_and.reduce(self.shown, axis=1)  # by match: every seat has
        own, other = ranks[:, :, None], ranks[:, None, :]
        better, level = (own < other).sum(axis=2), (own == other).sum(axis=2) - 1  # each is level with itself
        self.outcomes: Floats = (better + 0.5 * level) / (seats - 1)
        rest = np.where(np.eye(seats, dtype=np.bool_), -np.inf, scores[:, None, :]).max(axis=2)
        margin = (scores - rest) / np.maximum(np.maximum(np.abs(scores), np.abs(rest)), 1.0)
        self.merits: Floats = 0.5 * self.outcomes + 0.25 + 0.25 * np.clip(margin, -1.0, 1.0)


def rewarded(results: ResultBatch, names: tuple[str, ...], weights: Mapping[str, float]) -> Floats:
    """By match and seat: the weighted sum of statistics, and of steps."""
    total = np.zeros(results.columns.scores.shape)
    for name, weight in weights.items():
        steps = results.columns.steps[:, None].astype(np.float64)
        total = total + weight * (steps if name == "steps" else results.columns.stats[:, :, names.index(name)])
    return total
