"""Learning while the actor plays: learner processes learn freely, and the actor takes their weights between turns.

Two bounds keep the number of updates close to what the collected turns ask for, on any machine: learners wait when they
are ahead, and the actor waits when a learner is too far behind (`UpdateBounds`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agents.training.independent.buffer import ReplayBuffer
from agents.training.independent.learner_processes import LearnerProcesses
from agents.training.independent.learner_specs import UpdateBounds
from agents.training.independent.published import Numbers
from engine.closing import Closing

if TYPE_CHECKING:
    from agents.training.independent.learner import LearnerGroup

SUPERVISE = 0.02  # seconds between two exchanges of messages: the actor's turns take less than a millisecond
POLL = 0.002  # seconds between two looks at the updates of a learner that is behind


class AsynchronousLearners(Closing):
    """The learner processes of an actor that does not wait for them, except within the lower bound."""

    def __init__(
        self,
        groups: Sequence[LearnerGroup],
        buffers: Mapping[int, ReplayBuffer],
        workers: int,
        bounds: UpdateBounds,
        **options: Any,
    ) -> None:
        """As `LearnerProcesses`."""
        self.bounds = bounds
        self.processes = LearnerProcesses(groups, buffers, workers, bounds=bounds, **options)
        self.agents = self.processes.agents
        self._buffers = dict(buffers)
        self.acting = dict.fromkeys(self.agents, -1)  # by agent, the version of the weights that act; -1: none yet
        self._seen = dict.fromkeys(self.agents, 0)  # by agent, how often weights were published when they were taken
        self._enough = dict.fromkeys(self.agents, 0)  # by agent, turns before which it cannot be behind
        self._supervised, self._ends = 0.0, 0  # when messages were exchanged last; processes that had ended then

    def start(self) -> None:
        """Start the processes; they learn as soon as there are turns to learn from."""
        self.processes.start()
        self.processes.free()

    def close(self) -> None:
        """Idempotent: ends within seconds, also if a process does not react."""
        self.processes.close()

    # For the actor, between two turns

    def take_weights(self) -> dict[int, tuple[int, Numbers]]:
        """By agent, the version and the numbers of weights that are newer than those taken before."""
        fresh = {}
        for agent, playing in self.processes.playing.items():
            if (count := playing.count) == self._seen[agent]:
                continue
            self._seen[agent] = count
            read = playing.read()
            if read is not None and read[0] > self.acting[agent]:
                fresh[agent] = read
                self.acting[agent] = read[0]
        return fresh

    def supervise(self) -> None:
        """Exchange messages and start processes again; call it at every turn: mostly it returns at once."""
        now = time.monotonic()
        if now - self._supervised >= SUPERVISE:
            self._supervised = now
            self.processes.pump()
        if self.processes.ends != self._ends:  # updates may be lost; `save_states` may have noticed it, too
            self._ends = self.processes.ends
            self._enough = dict.fromkeys(self.agents, 0)

    def wait_for_learners(self, stop: Callable[[], bool] = lambda: False) -> float:
        """Wait while a learner is too far behind the collected turns; returns the seconds. `stop` ends the wait."""
        return self._wait_while(self.behind, stop)

    def finish(self, stop: Callable[[], bool] = lambda: False) -> float:
        """Set the groups to the states after all updates that are due; returns the seconds of waiting for them. Updates
        that a learner loses, because it ends before it has published them, are made again. `stop` ends the wait."""
        seconds = 0.0
        while True:
            seconds += self._wait_while(lambda: self._with_updates_due(self.processes.progress), stop)
            self.save_states(stop)
            if stop() or not self._with_updates_due(self.processes.taken):
                return seconds

    def _wait_while(self, awaited: Callable[[], list[int]], stop: Callable[[], bool]) -> float:
        self.supervise()
        if not awaited():
            return 0.0
        began = time.perf_counter()
        while awaited() and not stop():
            time.sleep(POLL)
            self.supervise()
        return time.perf_counter() - began

    def behind(self) -> list[int]:
        """The agents that learn and are more than `max_lag` updates behind. One whose buffer has too few turns to learn
        from is not: it waits for the actor."""
        return [agent for agent in self.agents if self.processes.learns(agent) and self._is_late(agent)]

    def _is_late(self, agent: int) -> bool:
        turns = self._turns(agent)
        if turns < self._enough[agent]:
            return False
        updates = self.processes.progress(agent)
        self._enough[agent] = self.bounds.first_late(updates)
        return self.bounds.late(turns, updates) and self._ready(agent)

    def _with_updates_due(self, progress: Callable[[int], int]) -> list[int]:
        """The agents that learn and have updates to make, if they have made or skipped so many."""
        learning = [agent for agent in self.agents if self.processes.learns(agent) and self._ready(agent)]
        return [agent for agent in learning if self.bounds.due(self._turns(agent)) > progress(agent)]

    def _turns(self, agent: int) -> int:
        return self._buffers[agent].added * self._buffers[agent].lanes

    def _ready(self, agent: int) -> bool:
        settings = self.processes.settings(agent)
        return self._buffers[agent].ready(settings.batch, steps=settings.n_steps, frames=settings.frames)

    # Checkpoints

    def save_states(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Set the groups to what the learners know now, for a checkpoint; no learner learns meanwhile. If a learner
        does not answer when `stop` returns True, its group gets the state that it has published last."""
        self.processes.pause(stop)
        self.processes.take_states()
        self.processes.free()
