"""What a learner process is doing, in memory that it shares with the trainer: it can be read after the process died."""

from __future__ import annotations

import time
from enum import IntEnum
from typing import Any

from agents.training.independent.shared_words import LINE, WORD, SharedWords
from engine.processes import launcher

ACTIVITY, SINCE, PULSE, UPDATE, COMPILING = range(5)
HEAD = LINE // WORD  # words before those of the agents
UPDATES, DIVERGED = range(2)  # words of an agent
AGENT_WORDS = 2


class LearnerActivity(IntEnum):
    """What a learner process is doing."""

    STARTING = 0
    LEARNING = 1
    PUBLISHING = 2
    AHEAD = 3  # it has made all updates that the collected turns allow
    IDLE = 4  # it waits for a message


DESCRIBED = {
    LearnerActivity.STARTING: "starting",
    LearnerActivity.LEARNING: "learning (update {update})",
    LearnerActivity.PUBLISHING: "publishing its weights after update {update}",
    LearnerActivity.AHEAD: "waiting for turns to learn from",
    LearnerActivity.IDLE: "waiting for a message",
}


class LearnerStatus:
    """The status of one process; it and the trainer have such an object on the same memory."""

    def __init__(self, agents: int, memory: Any = None) -> None:
        """`agents`: how many learn in this process."""
        count = HEAD + agents * AGENT_WORDS
        self.memory = launcher.shared_memory(count * WORD) if memory is None else memory
        self._words = SharedWords(self.memory, count)

    # The process itself

    def set_activity(self, activity: LearnerActivity, update: int) -> None:
        """`update`: the largest number of updates of its agents."""
        words, now = self._words, time.monotonic_ns()
        if words[ACTIVITY] != activity or words[UPDATE] != update:
            words[UPDATE], words[SINCE], words[ACTIVITY] = update, now, activity
        words[PULSE] = now

    def count_compiling(self, change: int) -> None:
        """Called by `CompilerListener`: compiling takes long, and does not mean that the process hangs."""
        self._words[COMPILING] += change

    @property
    def compiling(self) -> bool:
        return bool(self._words[COMPILING])

    @property
    def activity(self) -> LearnerActivity:
        return LearnerActivity(min(self._words[ACTIVITY], max(LearnerActivity)))

    @property
    def pulse(self) -> int:
        """Changes several times a second while the process runs."""
        return self._words[PULSE]

    def describe(self) -> str:
        """What it is doing, or was doing when it ended, and for how long."""
        since = self._words[SINCE]
        seconds = max(time.monotonic_ns() - since, 0) / 1e9 if since else 0.0
        what = DESCRIBED[self.activity].format(update=self._words[UPDATE])
        return f"{what}{' (compiling)' if self.compiling else ''} for {seconds:.1f} s"

    # Its agents, by their place in the process

    def set_agent(self, k: int, updates: int, diverged: bool) -> None:
        at = HEAD + k * AGENT_WORDS
        self._words[at + UPDATES], self._words[at + DIVERGED] = updates, diverged

    def updates(self, k: int) -> int:
        """Updates that an agent has made, published or not."""
        return self._words[HEAD + k * AGENT_WORDS + UPDATES]

    def diverged(self, k: int) -> bool:
        """Whether its loss was not finite, and its published state says so: it has stopped learning."""
        return bool(self._words[HEAD + k * AGENT_WORDS + DIVERGED])
