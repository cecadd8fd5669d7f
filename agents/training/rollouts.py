"""Collects trajectories on several cores.

The compiled driver of a rollout releases Python's lock while it plays, so threads are enough for compiled agents:
nothing has to be copied between processes. All other agents are played in processes, which import their libraries.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from engine.closing import Closing
from engine.game import Game
from engine.play.match import AgentSpec
from engine.play.rollout import Rollout, Trajectories, can_march
from engine.play.rollout_messages import joined
from engine.play.rollout_plans import NamedPlan
from engine.play.rollout_process import RolloutProcess

PARTS = 16  # parts at most that threads play: their number may change from segment to segment


class RolloutPool(Closing):
    """A `Rollout` whose streams are divided into parts, which are played at the same time: by threads if all `agents`
    are compiled, else by processes. The trajectories are those of one rollout with all streams, whatever their number.

    `plan` is "module:function", as for a `RolloutProcess`; several threads may call it. `agents` are all that it uses,
    except for ready-made agents of compiled kinds.
    """

    def __init__(
        self,
        game: Game,
        streams: Sequence[int],
        plan: str,
        agents: Iterable[AgentSpec],
        workers: Callable[[], int],
        *,
        settings: Mapping[str, Any] | None = None,
        learners: Collection[str] | None = None,
        plugins: Sequence[str] = (),
    ) -> None:
        """`workers` is called before each segment: the number may change. There are as many processes as at first; if
        it falls, some of them wait for others."""
        given = list(agents)
        self._workers = workers
        self._plan: NamedPlan | None = None  # of threads
        self._parts: list[Rollout] | list[RolloutProcess]
        if can_march(game, given):
            plan_here = self._plan = NamedPlan(plan, settings or {})
            plan_here.agents.update({agent.id: agent for agent in given})
            self._parts = [Rollout(game, part, plan_here, learners) for part in _divided(streams, PARTS)]
        else:
            self._parts = [
                RolloutProcess(game.spec, part, plan, given, settings=settings, learners=learners, plugins=plugins)
                for part in _divided(streams, max(workers(), 1))
            ]

    @property
    def processes(self) -> int:
        """Number of processes; 0 if threads of this process play."""
        return 0 if self._plan is not None else len(self._parts)

    def collect(self, steps: int) -> Trajectories:
        """See `Rollout.collect`."""
        with ThreadPoolExecutor(min(self._workers(), len(self._parts)), "ringside-rollout") as pool:
            return joined(list(pool.map(lambda part: part.collect(steps), self._parts)))

    def replace(self, agent: AgentSpec) -> None:
        """Add an agent, or replace its weights, also in running matches. If that is not possible, this or the next
        `collect` raises an error."""
        if self._plan is not None:
            self._plan.agents[agent.id] = agent
        for part in self._parts:
            if isinstance(part, RolloutProcess) or part.has_loaded(agent):
                part.replace(agent)

    def close(self) -> None:
        for part in self._parts:
            part.close()


def _divided(streams: Sequence[int], most: int) -> list[Sequence[int]]:
    edges = np.linspace(0, len(streams), min(most, max(len(streams), 1)) + 1).astype(int).tolist()
    return [streams[first:last] for first, last in itertools.pairwise(edges)]
