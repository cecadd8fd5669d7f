"""Novelty search (Lehman and Stanley 2011): novelty is the mean distance to the nearest neighbours among the generation
and an archive of behaviours that were novel earlier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.errors import UnknownName
from engine.game import Floats, Game

ENTRANTS = 5  # behaviours that enter the archive in each generation: the most novel ones


class Archive:
    """Behaviours as rows of numbers; when it is full, the oldest are removed."""

    def __init__(self, size: int, neighbours: int, rows: Sequence[Sequence[float]] = ()) -> None:
        self._size, self._neighbours = size, neighbours
        self.rows: list[tuple[float, ...]] = [tuple(row) for row in rows]

    def novelty(self, behaviours: Floats) -> Floats:
        """Novelty of each row, in standard deviations of all behaviours; the most novel rows enter the archive. It is 0
        if all rows are equal."""
        if behaviours.size == 0:
            return np.zeros(len(behaviours))
        known = np.vstack([behaviours, np.array(self.rows).reshape(len(self.rows), behaviours.shape[1])])
        spread = known.std(axis=0)
        scaled = known / np.where(spread > 1e-12, spread, 1.0)
        own = scaled[: len(behaviours)]
        novelty = np.zeros(len(own))
        for i, row in enumerate(own):
            distance = np.sqrt(np.square(scaled - row).mean(axis=1))
            distance[i] = np.inf  # not a neighbour of itself
            near = np.sort(distance)[: min(self._neighbours, len(distance) - 1)]
            novelty[i] = near.mean() if near.size else 0.0
        order = np.argsort(-novelty, kind="stable")[:ENTRANTS]
        self.rows = (self.rows + [tuple(behaviours[i].tolist()) for i in order.tolist()])[-self._size :]
        return novelty


def behaviour_of(text: str, game: Game) -> list[int]:
    """Indices of the statistics that describe a behaviour, from names separated by commas; all if there are none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in game.info.stats:
            raise UnknownName(f"statistic of {game.spec.name}", name, game.info.stats)
    return [game.info.stats.index(name) for name in names or game.info.stats]
