"""Treasure Hunt, as kernels over many boards: a gridworld in which everybody moves at once and gems keep appearing.

A turn has two halves. First the seats move, one after the other in an order drawn for that turn, so that on average
everybody is first equally often; who walks onto a gem has it, who walks into a wall pays, and a cell that another seat
stands on stays closed. Then gems appear on empty cells, each cell by its own chance.

The grid is kept with a margin of wall as wide as a seat can see: nothing has to be checked at the edges, neither by
who moves nor by who looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.games.treasure_hunt_scene import GroundPlan, hunt_scene
from engine.kernels import inline, kernel
from engine.options import option, validate
from engine.registry import spec_of
from engine.scene import Scene
from engine.seeding import draw, purpose, unit

GEM_VALUE, BUMP_COST = 10, 1
UP, DOWN, LEFT, RIGHT = range(4)
EMPTY, WALL, GEM, SEAT = range(4)  # what a cell holds; SEAT and above: the seat of that number
KINDS = 3  # planes of an observation: gems, walls, other seats
STATS = (
    "gems",
    "bumps",  # into walls
    "distance",  # cells moved
    "contested",  # gems taken while another seat stood beside them
)
GEMS, BUMPS, DISTANCE, CONTESTED = range(4)
TRIES = 4  # cells looked at for each pillar that is wanted
GUIDES = 256  # places from which the search for a gap begins
ORDER, APPEAR = purpose("treasure-hunt.order"), purpose("treasure-hunt.appear")
PILLAR, PLACE = purpose("treasure-hunt.pillar"), purpose("treasure-hunt.place")


@dataclass(frozen=True)
class TreasureHuntOptions:
    seats: int = option(4, low=2, high=10, help="how many hunt")
    width: int = option(10, low=4, high=64, help="cells from left to right")
    height: int = option(10, low=4, high=64, help="cells from top to bottom")
    turns: int = option(200, low=1, high=100_000, help="turns after which the hunt is over")
    gem_chance: float = option(0.02, low=0.0, high=1.0, help="that a gem appears on an empty cell, each turn")
    pillars: float = option(0.06, low=0.0, high=0.2, help="share of the cells that are walled; pillars never touch")
    radius: int = option(2, low=1, high=6, help="cells that a seat sees in each direction")
    frames: int = option(1, low=1, high=8, help="turns that an observation holds, the newest first")

    def __post_init__(self) -> None:
        validate(self)


RULES = np.dtype(
    [
        ("seats", "u4"), ("stride", "u4"), ("radius", "u4"), ("turns", "u4"), ("older", "u4"), ("pillars", "u4"),
    ],
    align=True,
)  # fmt: skip
LANE = np.dtype([("seed", "u8"), ("turn", "u4"), ("over", "i1")], align=True)


def gaps(chance: float, cells: int) -> tuple[Floats, NDArray[np.uint32]]:
    """How far it is to the next cell on which a gem appears, if each has the same chance: the chance that it is not
    farther than so many cells, and where to begin the search for a number of 8 bits.

    Drawing the way to the next gem instead of each cell's luck is the same chance for a fiftieth of the draws. It is
    looked up, because logarithms differ between machines in their last bit.
    """
    found, none = np.empty(cells), 1.0
    for k in range(cells):
        none *= 1.0 - chance
        found[k] = 1.0 - none
    guide = np.searchsorted(found, np.arange(GUIDES) / GUIDES, side="right")
    return found, guide.astype(np.uint32)


@inline
def _appear(cells, inner, within, guide, seed, turn):  # type: ignore[no-untyped-def]
    """Gems on empty cells; a cell that is taken has its luck in vain."""
    last = uint32(inner.size)
    at = uint32(0)
    k = uint32(0)
    while True:
        bits = draw(seed, APPEAR, 0, turn, k)
        u = unit(bits)
        gap = guide[bits >> uint64(56)]
        while gap < last and u >= within[gap]:
            gap += uint32(1)
        at += gap
        if at >= last:
            break
        if cells[inner[at]] == EMPTY:
            cells[inner[at]] = GEM
        at += uint32(1)
        k += uint32(1)


@inline
def _raise_pillars(cells, inner, seed, wanted, stride):  # type: ignore[no-untyped-def]
    """Walled cells that do not touch, not even with a corner. So nobody is shut in: what parts one cell from another is
    a row of walls that touch, from edge to edge or round about, and one pillar is none where both sides have two cells.

    Only pillars are looked for around a cell: the margin is marked with SEAT until all of them stand.
    """
    for k in range(wanted * TRIES):
        at = inner[(draw(seed, PILLAR, 0, 0, k) >> uint64(32)) * uint64(inner.size) >> uint64(32)]
        touches = (cells[at - stride - 1] == WALL) | (cells[at - stride] == WALL) | (cells[at - stride + 1] == WALL)
        touches |= (cells[at - 1] == WALL) | (cells[at] == WALL) | (cells[at + 1] == WALL)
        touches |= (cells[at + stride - 1] == WALL) | (cells[at + stride] == WALL) | (cells[at + stride + 1] == WALL)
        if not touches and wanted > 0:
            cells[at] = WALL
            wanted -= 1


@kernel
def _deal(lanes, cells, places, rules, inner, within, guide, which, seeds):  # type: ignore[no-untyped-def]
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
        _raise_pillars(own, inner, seed, np.int64(r.pillars), r.stride)
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
            places[lane, seat, 0] = at
            places[lane, seat, 1] = at
        _appear(own, inner, within, guide, seed, 0)


@inline
def _look(cells, corner, stride, side, out):  # type: ignore[no-untyped-def]
    """The window from this corner on, cell by cell."""
    j = uint32(0)
    for dy in range(side):
        at = corner + uint32(dy) * stride
        for dx in range(side):
            out[j] = cells[at + uint32(dx)]
            j += uint32(1)


@inline
def _sort(window, planes, first):  # type: ignore[no-untyped-def]
    """Gems, walls and others into a plane each. One loop for each: compiled, eight cells are one instruction."""
    size = uint32(planes.shape[1])
    gems, walls, others = planes[first], planes[first + 1], planes[first + 2]
    for j in range(size):
        gems[uint32(j)] = np.float32(window[uint32(j)] == GEM)
    for j in range(size):
        walls[uint32(j)] = np.float32(window[uint32(j)] == WALL)
    for j in range(size):
        others[uint32(j)] = np.float32(window[uint32(j)] >= SEAT)
    others[size // uint32(2)] = 0.0  # itself


@kernel
def _remember(cells, places, rules, lanes, which, seen):  # type: ignore[no-untyped-def]
    """What every seat sees now goes into its ring of older frames."""
    r = rules[0]
    for i in range(which.size):
        lane = which[i]
        frame = lanes[lane].turn % r.older
        for seat in range(r.seats):
            corner = places[lane, seat, 0] - r.radius * r.stride - r.radius
            _look(cells[lane], corner, r.stride, 2 * r.radius + 1, seen[lane, seat, frame])


@kernel
def _apply(lanes, cells, places, treasure, counts, rules, inner, within, guide, which, actions):  # type: ignore[no-untyped-def]
    r = rules[0]
    seats, stride = r.seats, r.stride
    order = np.empty(10, np.uint32)
    steps = np.empty(4, np.int64)
    steps[UP], steps[DOWN], steps[LEFT], steps[RIGHT] = -np.int64(stride), np.int64(stride), -1, 1
    for i in range(which.size):
        lane = which[i]
        own = cells[lane]
        b = lanes[lane]
        for seat in range(seats):
            order[seat] = seat
        # Fisher and Yates, on the digits of one number: 56 bits are plenty for the 22 that ten seats need
        bits = draw(b.seed, ORDER, 0, b.turn, 0) >> uint64(8)
        for k in range(seats - uint32(1), uint32(0), -1):
            bits *= uint64(k + 1)
            j = bits >> uint64(56)
            bits &= uint64(0xFFFFFFFFFFFFFF)
            order[k], order[j] = order[j], order[k]
        for k in range(seats):
            seat = order[k]
            here = places[lane, seat, 0]
            there = uint32(np.int64(here) + steps[actions[lane, seat]])
            what = own[there]
            places[lane, seat, 1] = here
            if what == WALL:
                treasure[lane, seat] -= BUMP_COST
                counts[lane, seat, BUMPS] += uint32(1)
            elif what < SEAT:
                if what == GEM:
                    treasure[lane, seat] += GEM_VALUE
                    counts[lane, seat, GEMS] += uint32(1)
                    beside = uint32(0)
                    beside += uint32(own[there - uint32(1)] >= SEAT) + uint32(own[there + uint32(1)] >= SEAT)
                    beside += uint32(own[there - stride] >= SEAT) + uint32(own[there + stride] >= SEAT)
                    counts[lane, seat, CONTESTED] += uint32(beside > uint32(1))  # one of them is itself
                counts[lane, seat, DISTANCE] += uint32(1)
                own[here] = EMPTY
                own[there] = SEAT + seat
                places[lane, seat, 0] = there
        b.turn += uint32(1)
        _appear(own, inner, within, guide, b.seed, b.turn)
        b.over = b.turn >= r.turns


@kernel
def _observe(cells, places, rules, lanes, seen, which, seats, out):  # type: ignore[no-untyped-def]
    """`out` is [rows, planes, cells of the window]: the newest frame, then the older ones."""
    r = rules[0]
    window = np.empty(out.shape[2], np.uint8)
    for i in range(which.size):
        lane, seat = which[i], seats[i]
        _look(cells[lane], places[lane, seat, 0] - r.radius * r.stride - r.radius, r.stride, 2 * r.radius + 1, window)
        _sort(window, out[i], 0)
        turn = lanes[lane].turn
        for age in range(1, r.older + 1):
            if age > turn:  # nobody remembers what was before the first turn
                out[i, KINDS * age : KINDS * age + KINDS] = 0.0
            else:
                _sort(seen[lane, seat, (turn - age) % r.older], out[i], KINDS * age)


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
            observation=(KINDS * options.frames, side, side),
            bounds=(0.0, 1.0),
            stats=STATS,
            simultaneous=True,
            action_names=("up", "down", "left", "right"),
            pace=6.0,
            idle=None,
        )

    def check_start(self, start: str | None) -> None:
        if start is not None:
            raise BadValue("start", start, "None: where everything is follows from the match's seed")

    def boards(self, lanes: int) -> TreasureHuntBoards:
        return TreasureHuntBoards(self.options, lanes)


class TreasureHuntBoards:
    """Matches in progress: a row of each array is a lane."""

    def __init__(self, options: TreasureHuntOptions, lanes: int) -> None:
        o, margin = options, options.radius
        stride, rows = o.width + 2 * margin, o.height + 2 * margin
        self._lanes = np.zeros(lanes, LANE)
        self._lanes["over"] = 1  # nothing is dealt yet
        self._cells = np.zeros((lanes, stride * rows), np.uint8)
        self._places = np.zeros((lanes, o.seats, 2), np.uint32)  # now, and a turn ago
        self._treasure = np.zeros((lanes, o.seats), np.int32)
        self._counts = np.zeros((lanes, o.seats, len(STATS)), np.uint32)
        self._seen = np.zeros(
            (lanes, o.seats, o.frames - 1, (2 * margin + 1) ** 2), np.uint8
        )  # older frames, in a ring
        wanted = round(o.pillars * o.width * o.height)
        row = (o.seats, stride, margin, o.turns, o.frames - 1, wanted)
        self._rules = np.array([row], RULES)
        across, down = np.meshgrid(np.arange(o.width), np.arange(o.height))
        self._inner = ((down + margin) * stride + across + margin).astype(np.uint32).ravel()
        self._within, self._guide = gaps(o.gem_chance, o.width * o.height)
        self._acting = np.ones((lanes, o.seats), np.bool_)
        self._plan = GroundPlan(o.width, o.height, o.turns, WALL, GEM)
        self._number = {int(at): cell for cell, at in enumerate(self._inner)}

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        self._treasure[lanes] = 0
        self._counts[lanes] = 0
        tables = (self._rules, self._inner, self._within, self._guide)
        _deal(self._lanes, self._cells, self._places, *tables, lanes, seeds)

    def acting(self) -> Bools:
        over = self._lanes["over"]
        return self._acting if not over.any() else self._acting & (over == 0)[:, None]

    def over(self) -> NDArray[np.int8]:
        return self._lanes["over"]

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        flat = out.reshape(len(out), out.shape[1], -1)
        _observe(self._cells, self._places, self._rules, self._lanes, self._seen, lanes, seats, flat)

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        out[:] = True

    def apply(self, lanes: Indices, actions: Ints) -> None:
        if self._seen.shape[2]:
            _remember(self._cells, self._places, self._rules, self._lanes, lanes, self._seen)
        state = (self._lanes, self._cells, self._places, self._treasure, self._counts)
        _apply(*state, self._rules, self._inner, self._within, self._guide, lanes, actions)

    def scores(self) -> Floats:
        return self._treasure.astype(np.float64)

    def stats(self, lanes: Indices) -> Floats:
        return self._counts[lanes].astype(np.float64)

    def copy(self, source: int, target: int) -> None:
        arrays: tuple[NDArray[Any], ...] = (self._lanes, self._cells, self._places, self._treasure)
        for array in (*arrays, self._counts, self._seen):
            array[target] = array[source]

    def position(self, lane: int, seat: int) -> None:
        return None  # a seat knows only what it sees

    def scene(self, lane: int) -> Scene:
        inner = self._cells[lane][self._inner].tolist()
        steps = [(self._number[before], self._number[now]) for now, before in self._places[lane].tolist()]
        return hunt_scene(self._plan, inner, steps, self._treasure[lane].tolist(), int(self._lanes[lane]["turn"]))
