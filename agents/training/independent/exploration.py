"""Epsilon-greedy exploration with draws that follow from the match's seed, the seat and the ply alone.

So an agent explores in the same turns and in the same way in every mode, whatever else is asked in the same call.
"""

from __future__ import annotations

import numpy as np

from engine.game import Floats, Indices, Ints, Seeds
from engine.seeding import GOLDEN, purpose

EXPLORE = purpose("independent.explore")
_UNIT = 1.0 / 9007199254740992.0  # 2**-53


def _mix(z: Seeds) -> Seeds:
    """`engine.seeding.mix` for arrays; numbers wrap around."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def starts_of(seeds: Seeds, what: int = EXPLORE) -> Seeds:
    """Where the draws of each match for one purpose begin: computed once for each match."""
    return _mix(seeds ^ np.uint64(what))


def draws(starts: Seeds, seats: Indices, plies: Indices, k: int) -> Seeds:
    """`engine.seeding.draw` for arrays: 64 random bits for each row."""
    place = (seats.astype(np.uint64) << np.uint64(56)) ^ np.uint64(k << 40) ^ plies.astype(np.uint64)
    return _mix(starts + (place + np.uint64(1)) * np.uint64(GOLDEN))


def explore(actions: Ints, starts: Seeds, seats: Indices, plies: Indices, epsilons: Floats, count: int) -> None:
    """Replaces each of these actions, with the probability in `epsilons`, by one of `count` actions."""
    chosen = np.flatnonzero((draws(starts, seats, plies, 0) >> np.uint64(11)).astype(np.float64) * _UNIT < epsilons)
    if chosen.size:
        bits = draws(starts[chosen], seats[chosen], plies[chosen], 1) >> np.uint64(32)
        actions[chosen] = (bits * np.uint64(count) >> np.uint64(32)).astype(np.int64)
