"""Whether the match of an agent ended with a turn: a column of its replay buffer."""

from __future__ import annotations

from enum import IntEnum


class End(IntEnum):
    """Whether a match ended with a turn."""

    NONE = 0
    TERMINATED = 1  # by the rules: nothing follows
    TRUNCATED = 2  # by a limit: it would have continued, but its next observation is unknown
    ABSENT = 3  # the agent did not act, because it has left the match; `ReplayBuffer.add` sets it
