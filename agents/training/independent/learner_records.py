"""What is known of a learner process over all its restarts."""

from __future__ import annotations

from dataclasses import dataclass

from agents.training.events import WorkerState
from agents.training.independent.learner_link import LearnerLink
from agents.training.independent.learner_specs import GroupSpec
from agents.training.independent.learner_status import LearnerActivity
from agents.training.independent.timeline import learner_track

FIRST_DELAY, LONGEST_DELAY = 0.05, 10.0  # seconds before a process is started again; doubled in a row of failures
STATES = {
    LearnerActivity.STARTING: "starting",
    LearnerActivity.LEARNING: "learning",
    LearnerActivity.PUBLISHING: "learning",
    LearnerActivity.AHEAD: "waiting",
    LearnerActivity.IDLE: "idle",
}


@dataclass(frozen=True)
class LearnerLimits:
    """When a learner process counts as stalled and is ended, and how often it is started again."""

    timeout: float = 60.0  # seconds without a heartbeat, at most
    first: float = 600.0  # the same until it has started: it may import torch on a slow disk
    restarts: int = 5  # in a row, without a new published state in between


@dataclass
class ProcessRecord:
    """One learner process over all its restarts."""

    index: int
    groups: tuple[GroupSpec, ...]
    agents: tuple[int, ...]
    link: LearnerLink | None = None
    restarts: int = 0
    in_a_row: int = 0  # ends without progress
    reached: int = 0  # published updates of all its agents when it ended last
    restart_at: float = 0.0
    given_up: bool = False
    failure: str = ""  # why its last process ended

    @property
    def name(self) -> str:
        return learner_track(self.index)

    def worker_state(self, updates: int, *, running: bool, diverged: bool) -> WorkerState:
        """The process, for the panels. `running`: whether it is started again if it has ended; `diverged`: whether all
        its agents did."""
        done = f"{updates:,} updates"
        if self.link is None:
            state = "given up" if self.given_up else "restarting" if running else "stopped"
            return WorkerState(self.name, state, self.failure, done, self.restarts)
        status = self.link.status
        state = "stopped" if diverged else STATES[status.activity]
        return WorkerState(self.name, state, status.describe(), done, self.restarts, self.link.child.pid)

    def on_end(self, reason: str, published: int, most: int, now: float) -> None:
        """Its process has ended: decide when it is started again. A process makes progress if it publishes more than
        those before it, so one that always fails at the same update is given up after `most` restarts."""
        self.in_a_row = 1 if published > self.reached else self.in_a_row + 1
        self.reached, self.failure = max(published, self.reached), reason
        self.given_up = self.in_a_row > most
        self.restart_at = now + min(FIRST_DELAY * 2 ** min(self.in_a_row - 1, 20), LONGEST_DELAY)
