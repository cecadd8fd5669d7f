"""How long players have been thinking, that is, have answered PENDING for the same step."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.game import PENDING, AgentKind, Bools, Indices, Ints
from engine.play.agent_errors import Fault
from engine.play.clocks import Clocks
from engine.play.match import EndingKind
from engine.play.pilots import LoadedPilot

CALL_LIMIT = 10.0  # seconds that a call of an agent's code may take, unless the executor has another limit
CHECK_EVERY = 0.1  # seconds
NO_STEP = -1


class ThinkingTimes:
    """The times of the lanes of a group. `lanes`, `slots` and `held`: the arrays of the group, with the state of its
    lanes, the pilots of their slots, and the actions until a lane moves. Matches with `clocks` are left to these."""

    def __init__(self, lanes: NDArray[Any], slots: NDArray[Any], held: Ints, clocks: Clocks, call_limit: float) -> None:
        self._lanes, self._slots, self._held, self._clocks = lanes, slots, held, clocks
        self._call_limit = call_limit
        self._steps: Ints = np.full(len(lanes), NO_STEP, np.int64)  # for which each lane waits
        self._since = np.zeros(len(lanes))  # and since when
        self._checked = 0.0

    def overdue(
        self, live: Indices, acting: Bools, pilots: Iterable[LoadedPilot]
    ) -> dict[int, list[tuple[int, Fault]]]:
        """By lane, the seats that think for too long, and their faults; checked a few times a second."""
        now = time.perf_counter()
        if now - self._checked < CHECK_EVERY:
            return {}
        self._checked = now
        thinking = acting[live] & (self._held[live] == PENDING)
        lanes = live[thinking.any(axis=1)]
        steps = self._lanes["ply"][lanes]
        self._since[lanes[steps != self._steps[lanes]]] = now
        self._steps[lanes] = steps
        kinds = {loaded.index: loaded.kind for loaded in pilots}
        found: dict[int, list[tuple[int, Fault]]] = {}
        for row, seat in np.argwhere(thinking & (now - self._since[live] > self._shortest(kinds.values()))[:, None]):
            lane = int(live[row])
            kind = kinds.get(int(self._slots["pilot"][lane * thinking.shape[1] + seat]))
            if kind is None or self._clocks.of(lane) is not None:
                continue
            if now - self._since[lane] > (limit := self._limit(kind)):
                fault = Fault(EndingKind.TIMEOUT, f"answered PENDING for {limit:.3g} s")
                found.setdefault(lane, []).append((int(seat), fault))
        return found

    def _shortest(self, kinds: Iterable[AgentKind]) -> float:
        return min(map(self._limit, kinds), default=math.inf)

    def _limit(self, kind: AgentKind) -> float:
        return math.inf if kind.live else kind.thinking or self._call_limit  # people may think for ever

    def clear(self, lanes: list[int]) -> None:
        """The matches of these lanes are over."""
        self._steps[lanes] = NO_STEP

    def add_pause(self, seconds: float) -> None:
        """Exclude a pause of this length."""
        self._since += seconds
