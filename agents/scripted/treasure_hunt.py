"""Scripted treasure hunters, evaluated in one compiled call.

They use the same observation as every agent, a window around themselves, without their own position or the others'
moves. Styles with memory count their own steps, and infer from two views whether a step succeeded.
Payload: JSON such as {"style": "greedy", "hold": 6}; missing parameters have their defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from agents.scripted.base import BotFamily
from engine.bits import lowest_bit, popcount, where_not_zero
from engine.game import Game, Indices, Ints, Seeds, Views
from engine.games.treasure_hunt.game import DOWN, LEFT, RIGHT, UP, TreasureHunt
from engine.games.treasure_hunt.view import DEFAULT_SIDE
from engine.kernels import bare, inline, row
from engine.options import option
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose

STYLES = ("random", "greedy", "memory", "territorial")
RANDOM, GREEDY, MEMORY, TERRITORIAL = range(4)
GEMS, WALLS, OTHERS = range(3)  # planes of a view; each has one bit per cell of the window
ACTIONS = 4
REMEMBERED = 32  # most gems in memory
FAR = 1 << 20  # larger than any distance
HEADING, CHOICE = purpose("hunter.heading"), purpose("hunter.choice")


@dataclass(frozen=True)
class Bot:
    """A style and its parameters."""

    style: str = option("greedy", choices=STYLES, help="strategy")
    hold: int = option(6, low=1, high=1000, help="turns for which it keeps its direction while it sees no gem")
    memory: int = option(40, low=1, high=100_000, help="memory: turns after which it forgets a gem out of view")
    reach: int = option(3, low=0, high=64, help="territorial: radius of its territory around its start, in cells")


BOTS = BotFamily("hunter", 1, Bot)
parse_bot, agent = BOTS.parse, BOTS.agent
SAMPLES = {
    "Drifter": Bot("random", hold=3),
    "Badger": Bot("territorial"),
    "Magpie": Bot("greedy"),
    "Squirrel": Bot("memory"),
}
"""Ready-made bots, weakest first."""

PARAMETERS = np.dtype([("style", "u1"), ("hold", "u4"), ("memory", "u4"), ("reach", "i4")], align=True)
MEMORY_STATE = np.dtype(
    [
        ("x", "i4"), ("y", "i4"),  # steps from its start
        ("last", "i4"),  # last action; -1 at the start
        ("count", "u4"),  # of the remembered gems; `seen` has the turn in which each was last in view
        ("gem_x", "i2", REMEMBERED), ("gem_y", "i2", REMEMBERED), ("seen", "u4", REMEMBERED),
    ],
    align=True,
)  # fmt: skip


CELL = np.dtype([("dx", "i4"), ("dy", "i4"), ("steps", "i4")], align=True)


class Tables(NamedTuple):
    """Lookup tables for one size of the window."""

    cells: NDArray[Any]  # offset of each cell from the centre
    shared: NDArray[np.uint64]  # by action: cells also in view before that step; the last row, for no step, has all


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
    """Number of 64-bit words that hold one bit per cell."""
    return side * side // 64 + 1


@inline
def _across(action):  # type: ignore[no-untyped-def]
    return np.int64(action == RIGHT) - np.int64(action == LEFT)


@inline
def _down(action):  # type: ignore[no-untyped-def]
    return np.int64(action == DOWN) - np.int64(action == UP)


@inline
def _pack(obs, plane, side, out):  # type: ignore[no-untyped-def]
    """Packs a plane into bits. The number of cells is odd, so the last one is not in a group of eight."""
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
    """A word of the bits, shifted back `by` cells (fewer than 64)."""
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
    """Weighted number of cells in `both` in which two views differ, with one shifted `by` cells.

    A wall weighs more: gems come and go, walls never do.
    """
    wrong = uint64(0)
    for word in range(both.size):
        gems = (_moved_by(before[GEMS], word, by) ^ now[GEMS, word]) & both[word]
        walls = (_moved_by(before[WALLS], word, by) ^ now[WALLS, word]) & both[word]
        wrong += uint64(100) * popcount(walls) + popcount(gems)
    return np.int64(wrong)


@inline
def _update_position(state, before, now, side, tables):  # type: ignore[no-untyped-def]
    """Updates the position: the last step succeeded unless another player was in the way, which the two views show."""
    if state.last < 0:
        return
    dx, dy = _across(state.last), _down(state.last)
    ahead = (side // 2 + dy) * side + side // 2 + dx
    moved = _mismatch(before, now, dy * side + dx, tables.shared[state.last])
    stayed = _mismatch(before, now, 0, tables.shared[ACTIONS])
    if not _has(before[WALLS], ahead) and moved < stayed + np.int64(not _has(now[OTHERS], ahead)):
        state.x += dx
        state.y += dy


@inline
def _update_gems(state, now, side, ply, memory, tables):  # type: ignore[no-untyped-def]
    """Updates the remembered gems: all in view, and those out of view that were seen recently."""
    radius, left = side // 2, 0
    for k in range(state.count):
        dx, dy = state.gem_x[k] - state.x, state.gem_y[k] - state.y
        hidden = (abs(dx) > radius) | (abs(dy) > radius)
        if hidden and ply - state.seen[k] <= memory:
            state.gem_x[left], state.gem_y[left], state.seen[left] = state.gem_x[k], state.gem_y[k], state.seen[k]
            left += 1
    for word in range(now.shape[1]):
        gems = now[GEMS, word]
        while gems != uint64(0) and left < REMEMBERED:
            cell = tables.cells[uint64(64 * word) + lowest_bit(gems)]
            state.gem_x[left], state.gem_y[left] = state.x + cell.dx, state.y + cell.dy
            state.seen[left] = ply
            left += 1
            gems &= gems - uint64(1)
    state.count = left


@inline
def _free_actions(now, side):  # type: ignore[no-untyped-def]
    """One bit per action: set if neither a wall nor another player blocks it."""
    free = uint64(0)
    for action in range(ACTIONS):
        at = (side // 2 + _down(action)) * side + side // 2 + _across(action)
        taken = _has(now[WALLS], at) | _has(now[OTHERS], at)
        free |= uint64(not taken) << uint64(action)
    return free


@inline
def _wander(free, preferred, random_bits):  # type: ignore[no-untyped-def]
    """The preferred action if it is free, else the first free one from a random start."""
    if free >> uint64(preferred) & uint64(1) or free == uint64(0):
        return preferred
    first = ((random_bits >> uint64(8)) + uint64(1)) & uint64(3)
    return np.int64(first + lowest_bit((free | free << uint64(ACTIONS)) >> first)) & 3


@inline
def _towards(free, dx, dy, random_bits):  # type: ignore[no-untyped-def]
    """A step towards a target, along the longer axis first, or around an obstacle."""
    across = LEFT if dx < 0 else RIGHT
    down = UP if dy < 0 else DOWN
    first, second = (across, down) if abs(dx) + np.int64(random_bits & uint64(1)) > abs(dy) else (down, across)
    if dx != 0 and dy != 0 and free >> uint64(first) & uint64(1) == uint64(0):
        return second if free >> uint64(second) & uint64(1) else _wander(free, first, random_bits)
    straight = first if (dx != 0 and dy != 0) else (across if dx != 0 else down)
    return _wander(free, straight, random_bits)


@inline
def _nearest(now, state, reach, random_bits, tables):  # type: ignore[no-untyped-def]
    """Cell of the nearest visible gem within `reach` of the start, a random one of equals; -1 if there is none."""
    best, nearest = FAR, np.int64(-1)
    for word in range(now.shape[1]):
        gems = now[GEMS, word]
        while gems != uint64(0):
            at = 64 * word + np.int64(lowest_bit(gems))
            cell = tables.cells[at]
            own = max(abs(state.x + cell.dx), abs(state.y + cell.dy)) <= reach
            far = 16 * cell.steps + np.int64((random_bits >> uint64(at & 31)) & uint64(15))
            if own and far < best:
                best, nearest = far, at
            gems &= gems - uint64(1)
    return nearest


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """`obs` is [planes, rows, columns]; `memories` and `views` are by slot; views are those of the last turn."""
    bots, seeds, memories, views, now, tables = arrays
    side = obs.shape[1]
    bot = bots[agent]
    state, seed = memories[slot], seeds[slot]
    action = np.int64(draw(seed, HEADING, 0, ply // bot.hold, 0) & uint64(3))
    if bot.style != RANDOM:
        random_bits = draw(seed, CHOICE, 0, ply, 0)
        if side == DEFAULT_SIDE:  # loops of a constant length take a quarter of the time
            _read(obs, DEFAULT_SIDE, now)
        else:
            _read(obs, side, now)
        if bot.style != GREEDY:
            _update_position(state, views[slot], now, side, tables)
            for word in range(now.shape[1]):
                views[slot, GEMS, word], views[slot, WALLS, word] = now[GEMS, word], now[WALLS, word]
        at = _nearest(now, state, bot.reach if bot.style == TERRITORIAL else FAR, random_bits, tables)
        dx, dy = (np.int64(tables.cells[at].dx), np.int64(tables.cells[at].dy)) if at >= 0 else (0, 0)
        if bot.style == MEMORY:
            _update_gems(state, now, side, ply, bot.memory, tables)
            if at < 0:
                best = FAR
                for k in range(state.count):
                    far_x, far_y = state.gem_x[k] - state.x, state.gem_y[k] - state.y
                    if abs(far_x) + abs(far_y) < best:
                        best, dx, dy = abs(far_x) + abs(far_y), far_x, far_y
        elif bot.style == TERRITORIAL and at < 0 and max(abs(state.x), abs(state.y)) >= max(bot.reach, 1):
            dx, dy = -state.x, -state.y
        free, towards = _free_actions(now, side), dx != 0 or dy != 0
        action = np.int64(_towards(free, dx, dy, random_bits) if towards else _wander(free, action, random_bits))
        state.last = action
    return action


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
        self._memories = np.zeros(slots, MEMORY_STATE)
        self._views = np.zeros((slots, 2, words_of(side)), np.uint64)
        self._now = np.zeros((3, words_of(side)), np.uint64)
        self._tables = tables_of(side)
        self._out: Ints = np.zeros(slots, np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self._bots, self._seeds, self._memories, self._views, self._now, self._tables

    def load(self, agent: AgentSpec) -> int:
        bot = parse_bot(agent.payload)
        row = (STYLES.index(bot.style), bot.hold, bot.memory, bot.reach)
        self._bots = np.append(self._bots, np.array([row], PARAMETERS))
        return len(self._bots) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds
        self._memories[slots] = np.zeros(1, MEMORY_STATE)
        self._memories["last"][slots] = -1

    def act(self, views: Views) -> Ints:
        out = self._out[: len(views)]
        _act(self.arrays, views.agents, views.slots, views.plies, views.obs, out)
        return out

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


KIND = BOTS.kind(TreasureHunt.name, HunterPilot, SAMPLES)
