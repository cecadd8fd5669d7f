"""How unlike the others somebody behaves (Lehman and Stanley 2011): the mean distance to its nearest neighbours among
its generation and an archive of those who were novel before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.errors import UnknownName
from engine.game import Floats, Game

ENTRANTS = 5  # a generation: the most novel ones


class Archive:
    """Behaviours as rows of numbers; the oldest go when there are too many."""

    def __init__(self, size: int, neighbours: int, rows: Sequence[Sequence[float]] = ()) -> None:
        self._size, self._neighbours = size, neighbours
        self.rows: list[tuple[float, ...]] = [tuple(row) for row in rows]

    def novelty(self, behaviours: Floats) -> Floats:
        """Of each row, in standard deviations of what has been seen; the most novel ones enter the archive. Where
        nothing tells one from another, nobody is novel."""
        if behaviours.size == 0:
            return np.zeros(len(behaviours))
        everybody = np.vstack([behaviours, np.array(self.rows).reshape(len(self.rows), behaviours.shape[1])])
        spread = everybody.std(axis=0)
        scaled = everybody / np.where(spread > 1e-12, spread, 1.0)
        own = scaled[: len(behaviours)]
        found = np.zeros(len(own))
        for i, row in enumerate(own):
            distance = np.sqrt(np.square(scaled - row).mean(axis=1))
            distance[i] = np.inf  # not a neighbour of itself
            near = np.sort(distance)[: min(self._neighbours, len(distance) - 1)]
            found[i] = near.mean() if near.size else 0.0
        order = np.argsort(-found, kind="stable")[:ENTRANTS]
        self.rows = (self.rows + [tuple(behaviours[i].tolist()) for i in order.tolist()])[-self._size :]
        return found


def behaviour_of(text: str, game: Game) -> list[int]:
    """Which statistics make up a behaviour: by name, separated by commas; all of them if none is named."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in game.info.stats:
            raise UnknownName(f"statistic of {game.spec.name}", name, game.info.stats)
    return [game.info.stats.index(name) for name in names or game.info.stats]
