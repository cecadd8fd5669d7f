"""The rules of Treasure Hunt as kernels over many boards: a gridworld with simultaneous moves and gems that respawn.

A turn has two parts. First the seats move one after the other, in an order drawn for that turn, so that all seats are
first equally often on average. A seat that enters a gem's cell collects it, a seat that bumps into a wall loses a
point, and a seat cannot enter another seat's cell. Then a gem appears on each empty cell with the same probability.

The stored grid has a margin of walls as wide as the view radius, so neither moves nor observations check for edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import BoardRows, Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.games.treasure_hunt.scene import BoardLayout, hunt_scene
from engine.games.treasure_hunt.view import EMPTY, GEM, PADDING, PLANES, SEAT, WALL, copy_window, write_planes
from engine.kernels import bare, inline, kernel, row
from engine.options import option, validate
from engine.registry import spec_of
from engine.scene import Scene
from engine.seeding import draw, purpose, unit

GEM_VALUE, BUMP_COST = 10, 1
UP, DOWN, LEFT, RIGHT = range(4)
STATS = (
    "gems",
    "bumps",  # into walls
    "distance",  # cells moved
    "contested",  # gems taken while another seat stood beside them
)
GEMS, BUMPS, DISTANCE, CONTESTED = range(4)
PILLAR_ATTEMPTS = 4  # cells drawn per requested pillar
GUIDE_SIZE = 256  # entries of the table in which the search for a gap begins
ORDER, APPEAR = purpose("treasure-hunt.order"), purpose("treasure-hunt.appear")
PILLAR, PLACE = purpose("treasure-hunt.pillar"), purpose("treasure-hunt.place")


@dataclass(frozen=True)
class TreasureHuntOptions:
    seats: int = option(4, low=2, high=10, help="number of players")
    width: int = option(10, low=4, high=64, help="cells from left to right")
    height: int = option(10, low=4, high=64, help="cells from top to bottom")
    turns: int = option(200, low=1, high=100_000, help="turns after which the match ends")
    gem_chance: float = option(0.02, low=0.0, high=1.0, help="probability per turn that a gem appears on an empty cell")
    pillars: float = option(0.06, low=0.0, high=0.2, help="share of cells that hold a pillar; pillars never touch")
    radius: int = option(2, low=1, high=6, help="view radius of a player, in cells")
    frames: int = option(1, low=1, high=8, help="turns stacked in an observation, newest first")

    def __post_init__(self) -> None:
        validate(self)


RULES = np.dtype(
    [
        ("seats", "u4"), ("stride", "u4"), ("radius", "u4"), ("turns", "u4"), ("older", "u4"), ("pillars", "u4"),
    ],
    align=True,
)  # fmt: skip
LANE = np.dtype([("seed", "u8"), ("turn", "u4"), ("over", "i1")], align=True)


class Arrays(NamedTuple):
    """The data of the row functions."""

    lanes: NDArray[Any]
    cells: NDArray[np.uint8]
    positions: NDArray[np.uint32]  # [lanes, seats, 2]: cell now and a turn ago
    treasure: NDArray[np.int32]
    counts: NDArray[np.uint32]
    history: NDArray[np.uint8]  # [lanes, seats, frames - 1, cells]: ring buffer of older frames
    rules: NDArray[Any]
    inner: NDArray[np.uint32]  # the cells inside the walls
    gap_cdf: Floats  # see `gap_tables`
    gap_guide: NDArray[np.uint32]
    steps: Ints  # by action: change of the index into `cells`


def gap_tables(chance: float, cells: int) -> tuple[Floats, NDArray[np.uint32]]:
    """The distribution of the gap between two cells on which gems appear: its cumulative probabilities, and for each
    value of 8 random bits the index at which the search in them begins.

    Drawing gaps is equivalent to one draw per cell and needs a fiftieth of the draws. The gap comes from a table,
    because logarithms differ between machines in their last bit.
    """
    found, none = np.empty(cells), 1.0
    for k in range(cells):
        none *= 1.0 - chance
        found[k] = 1.0 - none
    guide = np.searchsorted(found, np.arange(GUIDE_SIZE) / GUIDE_SIZE, side="right")
    return found, guide.astype(np.uint32)


@inline
def _spawn_gems(cells, inner, gap_cdf, gap_guide, seed, turn):  # type: ignore[no-untyped-def]
    """Draw the cells on which gems appear; a drawn cell that is not empty stays as it is."""
    last = uint32(inner.size)
    at = uint32(0)
    k = uint32(0)
    while True:
        bits = draw(seed, APPEAR, 0, turn, k)
        u = unit(bits)
        gap = gap_guide[bits >> uint64(56)]
        while gap < last and u >= gap_cdf[gap]:
            gap += uint32(1)
        at += gap
        if at >= last:
            break
        if cells[inner[at]] == EMPTY:
            cells[inner[at]] = GEM
        at += uint32(1)
        k += uint32(1)


@inline
def _place_pillars(cells, inner, seed, missing, stride):  # type: ignore[no-untyped-def]
    """Place pillars that do not touch, not even at a corner, so that no cell is cut off: only connected walls from edge
    to edge or around a cell can separate cells, and a single pillar cannot if both sides of the grid have two cells.

    During placement the margin is marked SEAT, so that only pillars count as neighbours.
    """
    for k in range(missing * PILLAR_ATTEMPTS):
        at = inner[(draw(seed, PILLAR, 0, 0, k) >> uint64(32)) * uint64(inner.size) >> uint64(32)]
        touches = (cells[at - stride - 1] == WALL) | (cells[at - stride] == WALL) | (cells[at - stride + 1] == WALL)
        touches |= (cells[at - 1] == WALL) | (cells[at] == WALL) | (cells[at + 1] == WALL)
        touches |= (cells[at + stride - 1] == WALL) | (cells[at + stride] == WALL) | (cells[at + stride + 1] == WALL)
        if not touches and missing > 0:
            cells[at] = WALL
            missing -= 1


@kernel
def _deal(lanes, cells, positions, rules, inner, gap_cdf, gap_guide, which, seeds):  # type: ignore[no-untyped-def]
    r = rules[0]
    for i in range(which.size):
        lane, seed = which[i], seeds[i]
        own = cells[lane]
        lanes[lane].seed = seed
        lanes[lane].turn = 0
        lanes[lane].over = 0
        own[:] = SEAT
        for k in range(inner.size):
            own[inner[k]] = EMPTY
        _place_pillars(own, inner, seed, np.int64(r.pillars), r.stride)
        for at in range(own.size):
            own[at] = WALL if own[at] == SEAT else own[at]
        tries = 0
        for seat in range(r.seats):
            while True:
                at = inner[(draw(seed, PLACE, 0, 0, tries) >> uint64(32)) * uint64(inner.size) >> uint64(32)]
                tries += 1
                if own[at] == EMPTY:
                    break
            own[at] = SEAT + seat
            positions[lane, seat, 0] = at
            positions[lane, seat, 1] = at
        _spawn_gems(own, inner, gap_cdf, gap_guide, seed, 0)


@row
def _record_history(arrays, lane):  # type: ignore[no-untyped-def]
    """Append the current view of every seat to its ring buffer of older frames."""
    r = arrays.rules[0]
    frame = arrays.lanes[lane].turn % r.older
    for seat in range(r.seats):
        corner = arrays.positions[lane, seat, 0] - r.radius * r.stride - r.radius
        copy_window(arrays.cells[lane], corner, r.stride, 2 * r.radius + 1, arrays.history[lane, seat, frame])


@row
def apply_row(arrays, lane, actions):  # type: ignore[no-untyped-def]
    """Play one turn of one lane; `actions` is indexed by seat."""
    r = arrays.rules[0]
    seats, stride = r.seats, r.stride
    if r.older != uint32(0):
        _record_history(arrays, lane)
    own, b = arrays.cells[lane], arrays.lanes[lane]
    positions, treasure, counts = arrays.positions[lane], arrays.treasure[lane], arrays.counts[lane]
    steps = arrays.steps
    order = uint64(0x9876543210)  # the seats in the order of their moves, four bits each
    # Fisher-Yates shuffle of the digits of one number. Ten seats need 22 bits; 56 are drawn.
    bits = draw(b.seed, ORDER, 0, b.turn, 0) >> uint64(8)
    for k in range(seats - uint32(1), uint32(0), -1):
        bits *= uint64(k + 1)
        j = bits >> uint64(56)
        bits &= uint64(0xFFFFFFFFFFFFFF)
        both = (order >> uint64(4 * k) ^ order >> uint64(4) * j) & uint64(15)
        order ^= both << uint64(4 * k) | both << uint64(4) * j  # swapped
    for k in range(seats):
        seat = order >> uint64(4 * k) & uint64(15)
        here = positions[seat, 0]
        there = uint32(np.int64(here) + steps[actions[seat]])
        what = own[there]
        positions[seat, 1] = here
        if what == WALL:
            treasure[seat] -= BUMP_COST
            counts[seat, BUMPS] += uint32(1)
        elif what < SEAT:
            if what == GEM:
                treasure[seat] += GEM_VALUE
                counts[seat, GEMS] += uint32(1)
                beside = uint32(0)
                beside += uint32(own[there - uint32(1)] >= SEAT) + uint32(own[there + uint32(1)] >= SEAT)
                beside += uint32(own[there - stride] >= SEAT) + uint32(own[there + stride] >= SEAT)
                counts[seat, CONTESTED] += uint32(beside > uint32(1))  # one of them is the mover itself
            counts[seat, DISTANCE] += uint32(1)
            own[here] = EMPTY
            own[there] = uint64(SEAT) + seat
            positions[seat, 0] = there
    b.turn += uint32(1)
    _spawn_gems(own, arrays.inner, arrays.gap_cdf, arrays.gap_guide, b.seed, b.turn)
    b.over = b.turn >= r.turns


@row
def observe_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    """Write the newest frame, then the older ones; `out` is [planes, rows, columns]."""
    r = arrays.rules[0]
    side = uint32(2) * r.radius + uint32(1)
    corner = arrays.positions[lane, seat, 0] - r.radius * r.stride - r.radius
    write_planes(arrays.cells[lane], corner, r.stride, side, out, 0)
    turn = arrays.lanes[lane].turn
    for age in range(1, r.older + 1):
        if age > turn:  # no frame exists before the first turn
            out[PLANES * age : PLANES * age + PLANES] = 0.0
        else:
            write_planes(arrays.history[lane, seat, (turn - age) % r.older], uint32(0), side, side, out, PLANES * age)


@row
def over_row(arrays, lane):  # type: ignore[no-untyped-def]
    return arrays.lanes[lane].over


@row
def score_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return float(arrays.treasure[lane, seat])


@row
def stats_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    for k in range(out.size):
        out[k] = arrays.counts[lane, seat, k]


@bare
def _apply(arrays, which, actions):  # type: ignore[no-untyped-def]
    for i in range(which.size):
        apply_row(arrays, which[i], actions[which[i]])


@bare
def _observe(arrays, which, seats, out):  # type: ignore[no-untyped-def]
    for i in range(which.size):
        observe_row(arrays, which[i], seats[i], out[i])


class TreasureHunt:
    """The rules with their options."""

    name: ClassVar[str] = "treasure-hunt"
    version: ClassVar[int] = 1
    Options: ClassVar[type] = TreasureHuntOptions

    def __init__(self, options: TreasureHuntOptions) -> None:
        self.options = options
        self.spec = spec_of(self.name, self.version, options)
        side = 2 * options.radius + 1
        self.info = GameInfo(
            title="Treasure Hunt",
            seats=options.seats,
            actions=4,
            observation=(PLANES * options.frames, side, side),
            bounds=(0.0, 1.0),
            stats=STATS,
            simultaneous=True,
            action_names=("up", "down", "left", "right"),
            pace=6.0,
            idle=None,
        )

    def check_start(self, start: str | None) -> None:
        if start is not None:
            raise BadValue("start", start, "None: the layout follows from the seed of the match")

    def boards(self, lanes: int) -> TreasureHuntBoards:
        return TreasureHuntBoards(self.options, lanes)


class TreasureHuntBoards:
    """Matches in progress; each array has one row per lane."""

    rows = BoardRows(observe_row, apply_row, over_row, score_row=score_row, stats_row=stats_row)

    def __init__(self, options: TreasureHuntOptions, lanes: int) -> None:
        o, margin = options, options.radius
        stride, rows = o.width + 2 * margin, o.height + 2 * margin
        view = (2 * margin + 1) ** 2
        pillars = round(o.pillars * o.width * o.height)
        across, down = np.meshgrid(np.arange(o.width), np.arange(o.height))
        gap_cdf, gap_guide = gap_tables(o.gem_chance, o.width * o.height)
        steps: Ints = np.zeros(4, np.int64)
        steps[UP], steps[DOWN], steps[LEFT], steps[RIGHT] = -stride, stride, -1, 1
        self.arrays = Arrays(
            lanes=np.zeros(lanes, LANE),
            cells=np.zeros((lanes, stride * rows + PADDING), np.uint8),
            positions=np.zeros((lanes, o.seats, 2), np.uint32),
            treasure=np.zeros((lanes, o.seats), np.int32),
            counts=np.zeros((lanes, o.seats, len(STATS)), np.uint32),
            history=np.zeros((lanes, o.seats, o.frames - 1, view + PADDING), np.uint8),
            rules=np.array([(o.seats, stride, margin, o.turns, o.frames - 1, pillars)], RULES),
            inner=((down + margin) * stride + across + margin).astype(np.uint32).ravel(),
            gap_cdf=gap_cdf,
            gap_guide=gap_guide,
            steps=steps,
        )
        self._lanes, self._cells, self._positions, self._treasure, self._counts, self._history = self.arrays[:6]
        self._lanes["over"] = 1  # not dealt yet
        self._acting = np.ones((lanes, o.seats), np.bool_)
        self._layout = BoardLayout(o.width, o.height, o.turns, WALL, GEM)
        self._number = {int(at): cell for cell, at in enumerate(self.arrays.inner)}

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        self._treasure[lanes] = 0
        self._counts[lanes] = 0
        tables = self.arrays
        _deal(
            self._lanes,
            self._cells,
            self._positions,
            tables.rules,
            tables.inner,
            tables.gap_cdf,
            tables.gap_guide,
            lanes,
            seeds,
        )

    def acting(self) -> Bools:
        over = self._lanes["over"]
        return self._acting if not over.any() else self._acting & (over == 0)[:, None]

    def over(self) -> NDArray[np.int8]:
        return self._lanes["over"]

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        _observe(self.arrays, lanes, seats, out)

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        out[:] = True

    def apply(self, lanes: Indices, actions: Ints) -> None:
        _apply(self.arrays, lanes, actions)

    def scores(self) -> Floats:
        return self._treasure.astype(np.float64)

    def stats(self, lanes: Indices) -> Floats:
        return self._counts[lanes].astype(np.float64)

    def copy(self, source: int, target: int) -> None:
        arrays: tuple[NDArray[Any], ...] = (self._lanes, self._cells, self._positions, self._treasure)
        for array in (*arrays, self._counts, self._history):
            array[target] = array[source]

    def position(self, lane: int, seat: int) -> None:
        return None  # hidden information: a seat sees only its surroundings

    def scene(self, lane: int) -> Scene:
        inner = self._cells[lane][self.arrays.inner].tolist()
        steps = [(self._number[before], self._number[now]) for now, before in self._positions[lane].tolist()]
        return hunt_scene(self._layout, inner, steps, self._treasure[lane].tolist(), int(self._lanes[lane]["turn"]))
