"""Scripted treasure hunters, all of them in one compiled call.

They see what every other agent sees, a window around themselves, and know neither where they are nor what the others
do. Those who remember keep count of their own steps, and work out from what they see whether a step was taken.
Payload: JSON such as {"style": "greedy", "hold": 6}; without it a parameter has its default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from agents.scripted.bots import Bots
from engine.game import Game, Indices, Ints, Seeds, Views
from engine.games.treasure_hunt import DOWN, LEFT, RIGHT, UP, TreasureHunt
from engine.kernels import bare, inline, row
from engine.options import option
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose

STYLES = ("random", "greedy", "memory", "territorial")
RANDOM, GREEDY, MEMORY, TERRITORIAL = range(4)
NOTHING, GEM, WALL, OTHER = range(4)  # what a hunter makes of a cell that it sees
KEPT = 32  # gems that one can keep in mind
FAR = 1 << 20  # farther than anything
HEADING, CHOICE = purpose("hunter.heading"), purpose("hunter.choice")


@dataclass(frozen=True)
class Bot:
    """A style and its parameters."""

    style: str = option("greedy", choices=STYLES, help="what it goes by")
    hold: int = option(6, low=1, high=1000, help="turns for which it keeps its heading when it sees nothing to go for")
    memory: int = option(40, low=1, high=100_000, help="turns after which a gem that it no longer sees is forgotten")
    reach: int = option(3, low=0, high=64, help="cells from where it began that a territorial one counts as its own")


BOTS = Bots("hunter", 1, Bot)
parse_bot, agent = BOTS.parse, BOTS.agent
SAMPLES = {
    "Drifter": Bot("random", hold=3),
    "Badger": Bot("territorial"),
    "Magpie": Bot("greedy"),
    "Squirrel": Bot("memory"),
}
"""The ready-made ones, weakest first."""

PARAMETERS = np.dtype([("style", "u1"), ("hold", "u4"), ("memory", "u4"), ("reach", "i4")], align=True)
MIND = np.dtype(
    [
        ("x", "i4"), ("y", "i4"),  # steps from where it began
        ("last", "i4"),  # what it did; -1 at the beginning
        ("count", "u4"), ("gem_x", "i2", KEPT), ("gem_y", "i2", KEPT), ("seen", "u4", KEPT),  # gems, and when seen last
    ],
    align=True,
)  # fmt: skip


@inline
def _across(action):  # type: ignore[no-untyped-def]
    return np.int64(action == RIGHT) - np.int64(action == LEFT)


@inline
def _down(action):  # type: ignore[no-untyped-def]
    return np.int64(action == DOWN) - np.int64(action == UP)


@inline
def _mismatch(before, now, side, dx, dy):  # type: ignore[no-untyped-def]
    """In how many cells two views disagree, if this many steps lie between them. Gems come and go, walls never do."""
    wrong = np.int64(0)
    for y in range(max(0, -dy), min(side, side - dy)):
        for x in range(max(0, -dx), min(side, side - dx)):
            old, new = before[(y + dy) * side + x + dx], now[y * side + x]
            if old != new:
                wrong += 100 * np.int64((old == WALL) | (new == WALL)) + np.int64((old == GEM) | (new == GEM))
    return wrong


@inline
def _keep_count(mind, before, now, side):  # type: ignore[no-untyped-def]
    """Whether the last step was taken: it was unless somebody stood in the way, and that is told by what is seen."""
    if mind.last < 0:
        return
    dx, dy = _across(mind.last), _down(mind.last)
    ahead = (side // 2 + dy) * side + side // 2 + dx
    moved, stayed = _mismatch(before, now, side, dx, dy), _mismatch(before, now, side, 0, 0)
    if before[ahead] != WALL and moved < stayed + np.int64(now[ahead] != OTHER):
        mind.x += dx
        mind.y += dy


@inline
def _note_gems(mind, now, side, ply, memory):  # type: ignore[no-untyped-def]
    """What is in view is known; of what is out of view, what was seen not too long ago is kept in mind."""
    radius, left = side // 2, 0
    for k in range(mind.count):
        dx, dy = mind.gem_x[k] - mind.x, mind.gem_y[k] - mind.y
        hidden = (abs(dx) > radius) | (abs(dy) > radius)
        if hidden and ply - mind.seen[k] <= memory:
            mind.gem_x[left], mind.gem_y[left], mind.seen[left] = mind.gem_x[k], mind.gem_y[k], mind.seen[k]
            left += 1
    for j in range(side * side):
        if now[j] == GEM and left < KEPT:
            mind.gem_x[left], mind.gem_y[left] = mind.x + j % side - radius, mind.y + j // side - radius
            mind.seen[left] = ply
            left += 1
    mind.count = left


@inline
def _free(now, side, action):  # type: ignore[no-untyped-def]
    return now[(side // 2 + _down(action)) * side + side // 2 + _across(action)] < WALL


@inline
def _wander(now, side, wanted, luck):  # type: ignore[no-untyped-def]
    """Straight on while nothing is in the way, else some other way."""
    for k in range(5):
        action = wanted if k == 0 else np.int64((luck >> uint64(8)) + uint64(k)) & 3
        if _free(now, side, action):
            return action
    return wanted


@inline
def _towards(now, side, dx, dy, luck):  # type: ignore[no-untyped-def]
    """A step to where it is nearer, along the longer way first; around what is in the way."""
    across = LEFT if dx < 0 else RIGHT
    down = UP if dy < 0 else DOWN
    first, second = (across, down) if abs(dx) + np.int64(luck & uint64(1)) > abs(dy) else (down, across)
    if dx != 0 and dy != 0 and not _free(now, side, first):
        return second if _free(now, side, second) else _wander(now, side, first, luck)
    straight = first if (dx != 0 and dy != 0) else (across if dx != 0 else down)
    return _wander(now, side, straight, luck)


@inline
def _nearest(now, side, mind, reach, luck):  # type: ignore[no-untyped-def]
    """The nearest gem in view, within reach of where it began; of several, any."""
    radius = side // 2
    best, at = FAR, -1
    for j in range(side * side):
        if now[j] == GEM:
            dx, dy = j % side - radius, j // side - radius
            own = max(abs(mind.x + dx), abs(mind.y + dy)) <= reach
            far = 16 * (abs(dx) + abs(dy)) + np.int64((luck >> uint64(j & 31)) & uint64(15))
            if own and far < best:
                best, at = far, j
    return at


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """`obs` is [planes, rows, columns]; `minds` and `views` are by slot, the views as they were a turn ago."""
    bots, seeds, minds, views, now = arrays
    side = obs.shape[1]
    radius = side // 2
    bot = bots[agent]
    mind, seed = minds[slot], seeds[slot]
    made = np.int64(draw(seed, HEADING, 0, ply // bot.hold, 0) & uint64(3))
    if bot.style != RANDOM:
        luck = draw(seed, CHOICE, 0, ply, 0)
        flat = obs.reshape((obs.shape[0], side * side))
        gems, walls, others = flat[0], flat[1], flat[2]
        for j in range(now.size):
            now[j] = np.uint8(gems[j]) * GEM + np.uint8(walls[j]) * WALL + np.uint8(others[j]) * OTHER
        if bot.style != GREEDY:
            _keep_count(mind, views[slot], now, side)
            for j in range(now.size):
                views[slot, j] = now[j]
        at = _nearest(now, side, mind, bot.reach if bot.style == TERRITORIAL else FAR, luck)
        dx, dy = (at % side - radius, at // side - radius) if at >= 0 else (0, 0)
        if bot.style == MEMORY:
            _note_gems(mind, now, side, ply, bot.memory)
            if at < 0:
                best = FAR
                for k in range(mind.count):
                    far_x, far_y = mind.gem_x[k] - mind.x, mind.gem_y[k] - mind.y
                    if abs(far_x) + abs(far_y) < best:
                        best, dx, dy = abs(far_x) + abs(far_y), far_x, far_y
        elif bot.style == TERRITORIAL and at < 0 and max(abs(mind.x), abs(mind.y)) >= max(bot.reach, 1):
            dx, dy = -mind.x, -mind.y
        towards = dx != 0 or dy != 0
        made = np.int64(_towards(now, side, dx, dy, luck) if towards else _wander(now, side, made, luck))
        mind.last = made
    return made


@bare
def _act(arrays, agents, slots, plies, obs, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = act_row(arrays, slots[i], agents[i], plies[i], obs[i], None, None)


class HunterPilot:
    """Plays every scripted hunter of a group of lanes."""

    capacity = None
    act_row = staticmethod(act_row)
    observes = True

    def __init__(self, game: Game, slots: int) -> None:
        side = game.info.observation[1]
        self._bots = np.zeros(0, PARAMETERS)
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._minds = np.zeros(slots, MIND)
        self._views = np.zeros((slots, side * side), np.uint8)
        self._now = np.zeros(side * side, np.uint8)
        self._out: Ints = np.zeros(slots, np.int64)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self._bots, self._seeds, self._minds, self._views, self._now

    def load(self, agent: AgentSpec) -> int:
        bot = parse_bot(agent.payload)
        row = (STYLES.index(bot.style), bot.hold, bot.memory, bot.reach)
        self._bots = np.append(self._bots, np.array([row], PARAMETERS))
        return len(self._bots) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds
        self._minds[slots] = np.zeros(1, MIND)
        self._minds["last"][slots] = -1

    def act(self, views: Views) -> Ints:
        out = self._out[: len(views)]
        _act(self.arrays, views.agents, views.slots, views.plies, views.obs, out)
        return out

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


KIND = BOTS.kind(TreasureHunt.name, HunterPilot, SAMPLES)
