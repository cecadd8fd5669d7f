"""An agent for every game: plays a random legal action, drawn from the match's seed. Useful to try a new game."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.game import AgentKind, Game, Indices, Ints, Seeds, Views
from engine.kernels import bare, row
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose

ROLL = purpose("dice.roll")
BLOCK = 128  # actions; below 256, so that a byte can count them


@row
def _count(flags, first):  # type: ignore[no-untyped-def]
    """Counts the set flags of a block. Bytes, unsigned indices and no branch: the compiler adds 32 at a time."""
    count = np.uint8(0)
    for action in range(np.uint64(first), np.uint64(min(first + BLOCK, flags.size))):
        count = np.uint8(count + flags[action])
    return np.int64(count)


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """A random action whose flag in `legal` is set."""
    (seeds,) = arrays
    actions = legal.size
    total = np.int64(0)
    for place in range(0, actions, BLOCK):  # a game may have thousands of actions
        total += _count(legal, place)
    left = np.int64(draw(seeds[slot], ROLL, 0, ply, 0) % np.uint64(total))
    first = 0
    for place in range(0, actions, BLOCK):
        count = _count(legal, place)
        if left < count:
            first = place
            break
        left -= count
    chosen = np.int64(0)
    for action in range(first, actions):
        if legal[action] != 0:
            if left == 0:
                chosen = np.int64(action)
                break
            left -= 1
    return chosen


@bare
def roll(arrays, slots, plies, legal, masked, out):  # type: ignore[no-untyped-def]
    """`legal` is [rows, actions], or a single row for all if `masked` is False."""
    for i in range(out.size):
        out[i] = act_row(arrays, slots[i], 0, plies[i], None, legal[i if masked else 0], None)


class DicePilot:
    """Draws the actions of all rows at once."""

    capacity = None
    act_row = staticmethod(act_row)
    observes = False

    def __init__(self, game: Game, slots: int) -> None:
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._out: Ints = np.zeros(slots, np.int64)
        self._all = np.ones((1, game.info.actions), np.bool_)
        self._all.flags.writeable = False

    @property
    def arrays(self) -> tuple[Seeds]:
        return (self._seeds,)

    def load(self, agent: AgentSpec) -> int:
        return 0

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        out = self._out[: len(views)]
        legal = self._all if views.legal is None else views.legal
        flags = legal.view(np.uint8)  # summed three times as fast as booleans
        roll(self.arrays, views.slots, views.plies, flags, views.legal is not None, out)
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
