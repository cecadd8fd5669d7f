"""Scripted treasure hunters, all of them in one compiled call.

They see what every other agent sees, a window around themselves, and know neither where they are nor what the others
do. Those who remember keep count of their own steps, and work out from what they see whether a step was taken.
Payload: JSON such as {"style": "greedy", "hold": 6}; without it a parameter has its default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from agents.scripted.base import Bots
from engine.bits import lowest, ones, where_not_zero
from engine.game import Game, Indices, Ints, Seeds, Views
from engine.games.treasure_hunt import DOWN, LEFT, RIGHT, UP, TreasureHunt
from engine.games.treasure_hunt_view import USUAL_SIDE
from engine.kernels import bare, inline, row
from engine.options import option
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose

STYLES = ("random", "greedy", "memory", "territorial")
RANDOM, GREEDY, MEMORY, TERRITORIAL = range(4)
GEMS, WALLS, OTHERS = range(3)  # what a hunter sees, a bit for each cell of its window
ACTIONS = 4
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


CELL = np.dtype([("dx", "i4"), ("dy", "i4"), ("steps", "i4")], align=True)


class Tables(NamedTuple):
    """What follows from the side of the window."""

    cells: NDArray[Any]  # where each cell is, from the middle
    shared: NDArray[np.uint64]  # by action: the cells that were also in view before that step; and all, for no step


def tables_of(side: int) -> Tables:
    y, x = np.divmod(np.arange(side * side), side)
    dx, dy = x - side // 2, y - side // 2
    cells = np.zeros(side * side, CELL)
    cells["dx"], cells["dy"], cells["steps"] = dx, dy, abs(dx) + abs(dy)
    shared = np.zeros((ACTIONS + 1, words_of(side) * 64), np.uint8)
    for action, (right, down) in enumerate(((0, -1), (0, 1), (-1, 0), (1, 0), (0, 0))):  # up, down, left, right
        there = (x + right >= 0) & (x + right < side) & (y + down >= 0) & (y + down < side)
        shared[action, : side * side] = there
    return Tables(cells, np.packbits(shared, axis=1, bitorder="little").view("<u8").astype(np.uint64))


def words_of(side: int) -> int:
    """How many words of 64 bits hold a bit for each cell of a window."""
    return side * side // 64 + 1


@inline
def _across(action):  # type: ignore[no-untyped-def]
    return np.int64(action == RIGHT) - np.int64(action == LEFT)


@inline
def _down(action):  # type: ignore[no-untyped-def]
    return np.int64(action == DOWN) - np.int64(action == UP)


@inline
def _pack(obs, plane, side, out):  # type: ignore[no-untyped-def]
    """Where a plane is not zero, a bit for each cell; the last of an odd number of cells is left over by the eights."""
    last = side * side - 1
    for word in range(last // 64 + 1):
        bits = uint64(0)
        for at in range(64 * word, min(last, 64 * word + 64), 8):
            bits |= where_not_zero(obs, uint64(plane * (last + 1) + at)) << uint64(at & 63)
        out[word] = bits
    out[last // 64] |= uint64(obs[plane, side - 1, side - 1] != 0) << uint64(last & 63)


@inline
def _read(obs, side, now):  # type: ignore[no-untyped-def]
    _pack(obs, 0, side, now[GEMS])
    _pack(obs, 1, side, now[WALLS])
    _pack(obs, 2, side, now[OTHERS])


@inline
def _has(cells, at):  # type: ignore[no-untyped-def]
    """Whether the bit of this cell is set."""
    return (cells[at >> 6] >> uint64(at & 63)) & uint64(1) != uint64(0)


@inline
def _moved_by(cells, word, by):  # type: ignore[no-untyped-def]
    """A word of these cells, each moved `by` cells back, which is less than a word."""
    bits = cells[word]
    if by > 0:
        next_word = cells[word + 1] if word + 1 < cells.size else uint64(0)
        return bits >> uint64(by) | next_word << uint64(64 - by)
    if by < 0:
        word_before = cells[word - 1] if word > 0 else uint64(0)
        return bits << uint64(-by) | word_before >> uint64(64 + by)
    return bits


@inline
def _mismatch(before, now, by, both):  # type: ignore[no-untyped-def]
    """In how many cells two views disagree, if one is moved by so many cells; of those in `both`.

    Gems come and go, walls never do.
    """
    wrong = uint64(0)
    for word in range(both.size):
        gems = (_moved_by(before[GEMS], word, by) ^ now[GEMS, word]) & both[word]
        walls = (_moved_by(before[WALLS], word, by) ^ now[WALLS, word]) & both[word]
        wrong += uint64(100) * ones(walls) + ones(gems)
    return np.int64(wrong)


@inline
def _keep_count(mind, before, now, side, tables):  # type: ignore[no-untyped-def]
    """Whether the last step was taken: it was unless another seat stood in the way, which the two views show."""
    if mind.last < 0:
        return
    dx, dy = _across(mind.last), _down(mind.last)
    ahead = (side // 2 + dy) * side + side // 2 + dx
    moved = _mismatch(before, now, dy * side + dx, tables.shared[mind.last])
    stayed = _mismatch(before, now, 0, tables.shared[ACTIONS])
    if not _has(before[WALLS], ahead) and moved < stayed + np.int64(not _has(now[OTHERS], ahead)):
        mind.x += dx
        mind.y += dy


@inline
def _note_gems(mind, now, side, ply, memory, tables):  # type: ignore[no-untyped-def]
    """What is in view is known; of what is out of view, what was seen not too long ago is kept in mind."""
    radius, left = side // 2, 0
    for k in range(mind.count):
        dx, dy = mind.gem_x[k] - mind.x, mind.gem_y[k] - mind.y
        hidden = (abs(dx) > radius) | (abs(dy) > radius)
        if hidden and ply - mind.seen[k] <= memory:
            mind.gem_x[left], mind.gem_y[left], mind.seen[left] = mind.gem_x[k], mind.gem_y[k], mind.seen[k]
            left += 1
    for word in range(now.shape[1]):
        gems = now[GEMS, word]
        while gems != uint64(0) and left < KEPT:
            cell = tables.cells[uint64(64 * word) + lowest(gems)]
            mind.gem_x[left], mind.gem_y[left] = mind.x + cell.dx, mind.y + cell.dy
            mind.seen[left] = ply
            left += 1
            gems &= gems - uint64(1)
    mind.count = left


@inline
def _free_ways(now, side):  # type: ignore[no-untyped-def]
    """A bit for each action: whether neither a wall nor another seat is in the way."""
    ways = uint64(0)
    for action in range(ACTIONS):
        at = (side // 2 + _down(action)) * side + side // 2 + _across(action)
        taken = _has(now[WALLS], at) | _has(now[OTHERS], at)
        ways |= uint64(not taken) << uint64(action)
    return ways


@inline
def _wander(ways, wanted, luck):  # type: ignore[no-untyped-def]
    """Straight on while nothing is in the way, else some other way: the first free one in an order drawn by luck."""
    if ways >> uint64(wanted) & uint64(1) or ways == uint64(0):
        return wanted
    first = ((luck >> uint64(8)) + uint64(1)) & uint64(3)
    return np.int64(first + lowest((ways | ways << uint64(ACTIONS)) >> first)) & 3


@inline
def _towards(ways, dx, dy, luck):  # type: ignore[no-untyped-def]
    """A step to where it is nearer, along the longer way first; around what is in the way."""
    across = LEFT if dx < 0 else RIGHT
    down = UP if dy < 0 else DOWN
    first, second = (across, down) if abs(dx) + np.int64(luck & uint64(1)) > abs(dy) else (down, across)
    if dx != 0 and dy != 0 and ways >> uint64(first) & uint64(1) == uint64(0):
        return second if ways >> uint64(second) & uint64(1) else _wander(ways, first, luck)
    straight = first if (dx != 0 and dy != 0) else (across if dx != 0 else down)
    return _wander(ways, straight, luck)


@inline
def _nearest(now, mind, reach, luck, tables):  # type: ignore[no-untyped-def]
    """The nearest gem in view, within reach of where it began; of several, any. -1 where there is none."""
    best, nearest = FAR, np.int64(-1)
    for word in range(now.shape[1]):
        gems = now[GEMS, word]
        while gems != uint64(0):
            at = 64 * word + np.int64(lowest(gems))
            cell = tables.cells[at]
            own = max(abs(mind.x + cell.dx), abs(mind.y + cell.dy)) <= reach
            far = 16 * cell.steps + np.int64((luck >> uint64(at & 31)) & uint64(15))
            if own and far < best:
                best, nearest = far, at
            gems &= gems - uint64(1)
    return nearest


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """`obs` is [planes, rows, columns]; `minds` and `views` are by slot, the views as they were a turn ago."""
    bots, seeds, minds, views, now, tables = arrays
    side = obs.shape[1]
    bot = bots[agent]
    mind, seed = minds[slot], seeds[slot]
    made = np.int64(draw(seed, HEADING, 0, ply // bot.hold, 0) & uint64(3))
    if bot.style != RANDOM:
        luck = draw(seed, CHOICE, 0, ply, 0)
        if side == USUAL_SIDE:  # loops of a constant length take a quarter of the time
            _read(obs, USUAL_SIDE, now)
        else:
            _read(obs, side, now)
        if bot.style != GREEDY:
            _keep_count(mind, views[slot], now, side, tables)
            for word in range(now.shape[1]):
                views[slot, GEMS, word], views[slot, WALLS, word] = now[GEMS, word], now[WALLS, word]
        at = _nearest(now, mind, bot.reach if bot.style == TERRITORIAL else FAR, luck, tables)
        dx, dy = (np.int64(tables.cells[at].dx), np.int64(tables.cells[at].dy)) if at >= 0 else (0, 0)
        if bot.style == MEMORY:
            _note_gems(mind, now, side, ply, bot.memory, tables)
            if at < 0:
                best = FAR
                for k in range(mind.count):
                    far_x, far_y = mind.gem_x[k] - mind.x, mind.gem_y[k] - mind.y
                    if abs(far_x) + abs(far_y) < best:
                        best, dx, dy = abs(far_x) + abs(far_y), far_x, far_y
        elif bot.style == TERRITORIAL and at < 0 and max(abs(mind.x), abs(mind.y)) >= max(bot.reach, 1):
            dx, dy = -mind.x, -mind.y
        ways, towards = _free_ways(now, side), dx != 0 or dy != 0
        made = np.int64(_towards(ways, dx, dy, luck) if towards else _wander(ways, made, luck))
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
        self._views = np.zeros((slots, 2, words_of(side)), np.uint64)
        self._now = np.zeros((3, words_of(side)), np.uint64)
        self._tables = tables_of(side)
        self._out: Ints = np.zeros(slots, np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self._bots, self._seeds, self._minds, self._views, self._now, self._tables

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
