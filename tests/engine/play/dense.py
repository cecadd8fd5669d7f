"""Trajectories with observations and legal actions by stream, step and seat: easy to compare in tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.play.rollout import Trajectories


def spread(segment: Trajectories) -> Trajectories:
    """The same with `obs` and `legal` of shape [streams, steps, seats, ...], 0 where no learning agent acted."""
    obs: Any = np.zeros((*segment.acted.shape, *segment.obs.shape[1:]), np.float32)
    obs[segment.acted] = segment.obs
    legal: Any = None
    if segment.legal is not None:
        legal = np.zeros((*segment.acted.shape, segment.legal.shape[1]), np.bool_)
        legal[segment.acted] = segment.legal
    return segment._replace(obs=obs, legal=legal)
