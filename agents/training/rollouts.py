"""Collects trajectories on several cores.

The compiled driver of a rollout releases Python's lock while it plays, so threads are enough: nothing has to be copied
between processes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from engine.closing import Closing
from engine.game import Game
from engine.play.match import AgentSpec
from engine.play.rollout import Plan, Rollout, Trajectories

PARTS = 16  # at most; fixed, so that trajectories do not depend on the number of threads


class RolloutPool(Closing):
    """A `Rollout` whose streams are divided into parts, which threads play at the same time. The trajectories are those
    of one rollout with all streams, whatever the number of threads."""

    def __init__(
        self,
        game: Game,
        streams: Sequence[int],
        plan: Plan,
        learners: Collection[str] | None,
        threads: Callable[[], int],
    ) -> None:
        """`threads` is called before each segment: the number may change. `plan` is called in any of them."""
        edges = np.linspace(0, len(streams), min(PARTS, max(len(streams), 1)) + 1).astype(int).tolist()
        parts = [streams[first:last] for first, last in itertools.pairwise(edges)]
        self._rollouts = [Rollout(game, part, plan, learners) for part in parts]
        self._threads = threads

    def collect(self, steps: int) -> Trajectories:
        """See `Rollout.collect`."""
        with ThreadPoolExecutor(min(self._threads(), len(self._rollouts)), "ringside-rollout") as pool:
            segments = list(pool.map(partial(Rollout.collect, steps=steps), self._rollouts))
        columns = zip(*(segment[:-1] for segment in segments), strict=True)
        joined: list[Any] = [None if parts[0] is None else np.concatenate(parts) for parts in columns]
        return Trajectories._make([*joined, tuple(one for segment in segments for one in segment.results)])

    def replace(self, agent: AgentSpec) -> None:
        """See `Rollout.replace`."""
        for rollout in self._rollouts:
            rollout.replace(agent)

    def close(self) -> None:
        for rollout in self._rollouts:
            rollout.close()
