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
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import BoardRows, Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.games.treasure_hunt_scene import GroundPlan, hunt_scene
from engine.games.treasure_hunt_view import EMPTY, GEM, KINDS, SEAT, SPARE, WALL, copy_window, write_planes
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


class Arrays(NamedTuple):
    """What the row functions work on."""

    lanes: NDArray[Any]
    cells: NDArray[np.uint8]
    places: NDArray[np.uint32]  # [lanes, seats]: now, and a turn ago
    treasure: NDArray[np.int32]
    counts: NDArray[np.uint32]
    seen: NDArray[np.uint8]  # older frames, in a ring
    rules: NDArray[Any]
    inner: NDArray[np.uint32]  # the cells inside the walls
    within: Floats  # see `gaps`
    guide: NDArray[np.uint32]
    steps: Ints  # by action, how far a seat moves in `cells`


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


@row
def _remember(arrays, lane):  # type: ignore[no-untyped-def]
    """What every seat sees now goes into its ring of older frames."""
    r = arrays.rules[0]
    frame = arrays.lanes[lane].turn % r.older
    for seat in range(r.seats):
        corner = arrays.places[lane, seat, 0] - r.radius * r.stride - r.radius
        copy_window(arrays.cells[lane], corner, r.stride, 2 * r.radius + 1, arrays.seen[lane, seat, frame])


@row
def apply_row(arrays, lane, actions):  # type: ignore[no-untyped-def]
    """One turn of one lane; `actions` is by seat."""
    r = arrays.rules[0]
    seats, stride = r.seats, r.stride
    if r.older != uint32(0):
        _remember(arrays, lane)
    own, b = arrays.cells[lane], arrays.lanes[lane]
    places, treasure, counts = arrays.places[lane], arrays.treasure[lane], arrays.counts[lane]
    steps = arrays.steps
    order = uint64(0x9876543210)  # seats in the order in which they move, four bits each
    # Fisher and Yates, on the digits of one number: 56 bits are plenty for the 22 that ten seats need
    bits = draw(b.seed, ORDER, 0, b.turn, 0) >> uint64(8)
    for k in range(seats - uint32(1), uint32(0), -1):
        bits *= uint64(k + 1)
        j = bits >> uint64(56)
        bits &= uint64(0xFFFFFFFFFFFFFF)
        both = (order >> uint64(4 * k) ^ order >> uint64(4) * j) & uint64(15)
        order ^= both << uint64(4 * k) | both << uint64(4) * j  # swapped
    for k in range(seats):
        seat = order >> uint64(4 * k) & uint64(15)
        here = places[seat, 0]
        there = uint32(np.int64(here) + steps[actions[seat]])
        what = own[there]
        places[seat, 1] = here
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
                counts[seat, CONTESTED] += uint32(beside > uint32(1))  # one of them is itself
            counts[seat, DISTANCE] += uint32(1)
            own[here] = EMPTY
            own[there] = uint64(SEAT) + seat
            places[seat, 0] = there
    b.turn += uint32(1)
    _appear(own, arrays.inner, arrays.within, arrays.guide, b.seed, b.turn)
    b.over = b.turn >= r.turns


@row
def observe_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    """`out` is [planes, rows, columns]: the newest frame, then the older ones."""
    r = arrays.rules[0]
    side = uint32(2) * r.radius + uint32(1)
    corner = arrays.places[lane, seat, 0] - r.radius * r.stride - r.radius
    write_planes(arrays.cells[lane], corner, r.stride, side, out, 0)
    turn = arrays.lanes[lane].turn
    for age in range(1, r.older + 1):
        if age > turn:  # there is no frame before the first turn
            out[KINDS * age : KINDS * age + KINDS] = 0.0
        else:
            write_planes(arrays.seen[lane, seat, (turn - age) % r.older], uint32(0), side, side, out, KINDS * age)


@row
def over_row(arrays, lane):  # type: ignore[no-untyped-def]
    return arrays.lanes[lane].over


@row
def score_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return float(arrays.treasure[lane, seat])


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

    rows = BoardRows(observe_row, apply_row, over_row, score_row=score_row)

    def __init__(self, options: TreasureHuntOptions, lanes: int) -> None:
        o, margin = options, options.radius
        stride, rows = o.width + 2 * margin, o.height + 2 * margin
        view = (2 * margin + 1) ** 2
        wanted = round(o.pillars * o.width * o.height)
        across, down = np.meshgrid(np.arange(o.width), np.arange(o.height))
        within, guide = gaps(o.gem_chance, o.width * o.height)
        steps: Ints = np.zeros(4, np.int64)
        steps[UP], steps[DOWN], steps[LEFT], steps[RIGHT] = -stride, stride, -1, 1
        self.arrays = Arrays(
            lanes=np.zeros(lanes, LANE),
            cells=np.zeros((lanes, stride * rows + SPARE), np.uint8),
            places=np.zeros((lanes, o.seats, 2), np.uint32),
            treasure=np.zeros((lanes, o.seats), np.int32),
            counts=np.zeros((lanes, o.seats, len(STATS)), np.uint32),
            seen=np.zeros((lanes, o.seats, o.frames - 1, view + SPARE), np.uint8),
            rules=np.array([(o.seats, stride, margin, o.turns, o.frames - 1, wanted)], RULES),
            inner=((down + margin) * stride + across + margin).astype(np.uint32).ravel(),
            within=within,
            guide=guide,
            steps=steps,
        )
        self._lanes, self._cells, self._places, self._treasure, self._counts, self._seen = self.arrays[:6]
        self._lanes["over"] = 1  # nothing is dealt yet
        self._acting = np.ones((lanes, o.seats), np.bool_)
        self._plan = GroundPlan(o.width, o.height, o.turns, WALL, GEM)
        self._number = {int(at): cell for cell, at in enumerate(self.arrays.inner)}

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        self._treasure[lanes] = 0
        self._counts[lanes] = 0
        tables = self.arrays
        _deal(
            self._lanes,
            self._cells,
            self._places,
            tables.rules,
            tables.inner,
            tables.within,
            tables.guide,
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
        arrays: tuple[NDArray[Any], ...] = (self._lanes, self._cells, self._places, self._treasure)
        for array in (*arrays, self._counts, self._seen):
            array[target] = array[source]

    def position(self, lane: int, seat: int) -> None:
        return None  # a seat knows only what it sees

    def scene(self, lane: int) -> Scene:
        inner = self._cells[lane][self.arrays.inner].tolist()
        steps = [(self._number[before], self._number[now]) for now, before in self._places[lane].tolist()]
        return hunt_scene(self._plan, inner, steps, self._treasure[lane].tolist(), int(self._lanes[lane]["turn"]))
