"""Imported once, by the fork server of learner processes: they start with compiled code that is loaded already.

The first call of compiled code takes a second in every process, however little is called. What was never compiled from
these sources is left to the learner processes: starting other processes should not wait for it.
"""

from __future__ import annotations

import gc
import traceback

import numpy as np

import agents.training.independent.learner_process  # noqa: F401
from agents.training.independent.buffer import ReplayBuffer
from agents.training.independent.sampling import was_compiled


def warm_up() -> None:
    """Sample a small buffer."""
    buffer = ReplayBuffer(8, 1, (1,))
    for _ in range(4):
        buffer.add(np.zeros((1, 1), np.float32), 0, 0.0, 0)
    if buffer.ready():
        buffer.sample(1, 0, steps=1, discount=1.0)


try:
    if was_compiled():
        warm_up()
except Exception:  # learner processes compile what they need and report errors themselves
    traceback.print_exc()
gc.collect()
