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
from engine.play.rollout import Rollout, Trajectories
from engine.play.rollout_columns import joined
from engine.play.rollout_plans import NamedPlan
from engine.play.rollout_players import can_march
from engine.play.rollout_saves import joined_saves
from engine.play.rollout_worker import RolloutWorker

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
        rewards: Mapping[str, float] | None = None,
        plugins: Sequence[str] = (),
        saved: bytes | None = None,
        on_restart: Callable[[str], None] = lambda text: None,
        on_close: Callable[[RolloutPool], None] = lambda pool: None,
    ) -> None:
        """`saved`: what `save` of a pool with the same streams returned, whatever its number of parts.

        `workers` is called before each segment: the number may change. There are as many processes as at first; if it
        falls, some of them wait for others. `on_restart` is called after a segment, with a text for each process that
        had died and was started again; `on_close` with the pool, when it is closed.
        """
        given = list(agents)
        self._game, self._on_restart, self._on_close = game, on_restart, on_close
        self._workers = workers
        self._plan: NamedPlan | None = None  # of threads
        self._parts: list[Rollout] | list[RolloutWorker]
        if can_march(game, given, bool(rewards)):
            plan_here = self._plan = NamedPlan(plan, settings or {})
            plan_here.agents.update({agent.id: agent for agent in given})
            self._parts = [
                Rollout(game, part, plan_here, learners, agents=plan_here.agents, rewards=rewards, saved=saved)
                for part in _divided(streams, PARTS)
            ]
        else:
            self._parts = [
                RolloutWorker(
                    game.spec,
                    part,
                    plan,
                    given,
                    settings=settings,
                    learners=learners,
                    rewards=rewards,
                    plugins=plugins,
                    saved=saved,
                    name=f"rollout process {number}",
                )
                for number, part in enumerate(_divided(streams, max(workers(), 1)), 1)
            ]
        self._reported = [0] * len(self._parts)  # restarts that `on_restart` was called for

    @property
    def processes(self) -> int:
        """Number of processes; 0 if threads of this process play."""
        return 0 if self._plan is not None else len(self._parts)

    @property
    def rollout_workers(self) -> list[RolloutWorker]:
        """The processes; none if threads of this process play."""
        return [part for part in self._parts if isinstance(part, RolloutWorker)]

    def collect(self, steps: int) -> Trajectories:
        """See `Rollout.collect`."""
        for part in self._parts:
            if isinstance(part, RolloutWorker):
                part.remember()
        try:
            with ThreadPoolExecutor(min(max(self._workers(), 1), len(self._parts)), "ringside-rollout") as pool:
                return joined(list(pool.map(lambda part: part.collect(steps), self._parts)))
        finally:
            self._report_restarts()

    def cancel(self) -> list[str] | None:
        """Give up the segment that another thread collects, and end the processes that play it: there it raises
        RolloutCancelled, unless it was complete. `save` then returns the matches before that segment. Returns what
        these processes were doing; None, and does nothing, if threads play: they cannot be ended."""
        if self._plan is not None:
            return None
        return [text for part in self._parts if isinstance(part, RolloutWorker) and (text := part.cancel())]

    @property
    def restarts(self) -> int:
        """How often a process was started again because it had died; its segment was played again."""
        return sum(len(part.restarts) for part in self._parts if isinstance(part, RolloutWorker))

    def _report_restarts(self) -> None:
        for place, part in enumerate(self._parts):
            if isinstance(part, RolloutWorker):
                for text in part.restarts[self._reported[place] :]:
                    self._on_restart(f"{text}. It was started again and repeats its segment")
                self._reported[place] = len(part.restarts)

    def replace(self, agent: AgentSpec) -> None:
        """Add an agent, or replace its weights, also in running matches. If that is not possible, this or the next
        `collect` raises an error."""
        if self._plan is not None:
            self._plan.agents[agent.id] = agent
        for part in self._parts:
            if isinstance(part, RolloutWorker) or part.has_loaded(agent):
                part.replace(agent)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Replace the settings of the plan, for matches that start from the next segment on."""
        if self._plan is not None:
            self._plan.configure(settings)
        for part in self._parts:
            if isinstance(part, RolloutWorker):
                part.configure(settings)

    def save(self) -> bytes:
        """See `Rollout.save`: all streams, so that another pool may have another number of parts. Empty after `cancel`
        of the first segment."""
        saves = [part.save() for part in self._parts]
        if len(set(saves)) == 1:  # one part; or what all parts were given, because the first segment was cancelled
            return saves[0]
        return joined_saves(saves, self._game)

    def close(self) -> None:
        for part in self._parts:
            part.close()
        self._on_close(self)


def _divided(streams: Sequence[int], most: int) -> list[Sequence[int]]:
    edges = np.linspace(0, len(streams), min(most, max(len(streams), 1)) + 1).astype(int).tolist()
    return [streams[first:last] for first, last in itertools.pairwise(edges)]
