"""Memory in which a rollout writes the agents that it is asking. Its parent process reads them if it hangs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.game import Indices

TURN, COUNT, HEAD = 0, 1, 16  # words, and their bytes: the row as in `Views.asking`, and the number of slots
NAME = 96  # bytes of an agent's id
MOST_NAMES = 4  # in a sentence


def calls_size(slots: int) -> int:
    """Bytes of the memory for a rollout with so many slots."""
    return HEAD + slots * (4 + NAME)


class RolloutCalls:
    """The agents of a rollout's slots, and the slots whose agents are being asked. `memory` may be shared."""

    def __init__(self, slots: int, memory: Any = None) -> None:
        view = memoryview(bytearray(calls_size(slots)) if memory is None else memory).cast("B")
        self._words = view[:HEAD].cast("Q")  # a memoryview writes single words faster than numpy
        self.turn = self._words[TURN : TURN + 1]
        self._asked = np.frombuffer(view, np.uint32, slots, HEAD)
        self._names = np.frombuffer(view, f"S{NAME}", slots, HEAD + 4 * slots)

    def set_agents(self, slots: Indices, ids: Sequence[str]) -> None:
        """Matches of these agents begin on these slots."""
        self._names[slots] = [id.encode()[:NAME] for id in ids]

    def begin(self, slots: Indices) -> None:
        """The agents of these slots are asked from now on."""
        self._words[TURN] = 0
        self._asked[: slots.size] = slots
        self._words[COUNT] = slots.size

    def end(self) -> None:
        self._words[COUNT] = 0

    @property
    def agents(self) -> list[str]:
        """Ids of the agents that are being asked, or were when the process ended; of all that play between two
        calls."""
        count, turn = min(int(self._words[COUNT]), self._asked.size), int(self._words[TURN])
        slots = self._asked[:count] if count else np.arange(self._asked.size)
        if 0 < turn <= count:
            slots = slots[turn - 1 : turn]
        names = self._names[slots[slots < self._names.size]].tolist()
        return list(dict.fromkeys(name.decode(errors="replace") for name in names if name))

    def describe(self) -> str:
        """The rest of a sentence about the process, such as "it was asking 'Dice'"; empty if no match has begun."""
        if not (ids := self.agents):
            return ""
        names = ", ".join(map(repr, ids[:MOST_NAMES]))
        more = f" and {len(ids) - MOST_NAMES} more" if len(ids) > MOST_NAMES else ""
        return f"it was {'asking' if self._words[COUNT] else 'playing matches of'} {names}{more}"
