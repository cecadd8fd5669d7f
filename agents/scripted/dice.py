"""A player for every game: any legal action, drawn from the match's seed. What a new game is first played with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.game import AgentKind, Game, Indices, Ints, Seeds, Views
from engine.kernels import kernel
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose

ROLL = purpose("dice.roll")
BLOCK = 64  # actions


@kernel
def _count(row, first, last):  # type: ignore[no-untyped-def]
    """How many flags are set; without a branch, so that the machine takes many at a time."""
    count = np.int32(0)
    for action in range(first, last):
        count += np.int32(row[action])
    return count


@kernel
def _roll(seeds, slots, plies, legal, masked, actions, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        bits = draw(seeds[slots[i]], ROLL, 0, plies[i], 0)
        if not masked:
            out[i] = np.int64(bits % np.uint64(actions))
            continue
        row = legal[i]
        left = np.int64(bits % np.uint64(_count(row, 0, actions)))
        first = 0
        for place in range(0, actions, BLOCK):  # a game may have thousands of actions
            held = _count(row, place, min(place + BLOCK, actions))
            if left < held:
                first = place
                break
            left -= held
        for action in range(first, actions):
            if row[action]:
                if left == 0:
                    out[i] = action
                    break
                left -= 1


class DicePilot:
    """Rolls for all rows at once."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        self._actions = game.info.actions
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._out: Ints = np.zeros(slots, np.int64)
        self._all = np.ones((1, self._actions), np.bool_)
        self._all.flags.writeable = False

    def load(self, agent: AgentSpec) -> int:
        return 0

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        out = self._out[: len(views)]
        legal = self._all if views.legal is None else views.legal
        flags = legal.view(np.uint8)  # summed three times as fast as booleans
        _roll(self._seeds, views.slots, views.plies, flags, views.legal is not None, self._actions, out)
        return out

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


KIND = AgentKind(
    name="dice",
    version=1,
    pilot=DicePilot,
    plays=lambda game: True,
    samples=lambda game: [AgentSpec("Dice", "dice")],
)
