"""A compiled game with turns and illegal actions, for one to ten seats: take one, two or three stones of a heap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import uint32
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import BoardRows, Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.kernels import row
from engine.options import option, validate
from engine.registry import spec_of
from engine.scene import Scene, Text

NO_CONTEST_AT = 5  # stones left: an arbitrary rule, so that some matches have no result
LANE = np.dtype([("stones", "i4"), ("mover", "u4"), ("step", "u4"), ("limit", "u4"), ("over", "i1")], align=True)


@dataclass(frozen=True)
class StonesOptions:
    seats: int = option(2, low=1, high=10, help="number of players")
    stones: int = option(12, low=4, high=400, help="stones at the start; the seed adds up to six")
    step_limit: int = option(6, low=1, high=1000, help="steps after which the match is truncated")

    def __post_init__(self) -> None:
        validate(self)


@row
def apply_row(arrays, lane, actions):  # type: ignore[no-untyped-def]
    lanes, taken = arrays
    b = lanes[lane]
    count = np.int32(actions[b.mover] + 1)
    b.stones -= count
    taken[lane, b.mover] += count
    b.mover = (b.mover + uint32(1)) % uint32(taken.shape[1])
    b.step += uint32(1)
    b.over = 1 if b.stones <= 0 else (3 if b.stones == NO_CONTEST_AT else (2 if b.step >= b.limit else 0))


@row
def observe_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    lanes, taken = arrays
    out[0] = 0.1 * lanes[lane].stones
    out[1] = 0.1 * taken[lane, seat]


@row
def over_row(arrays, lane):  # type: ignore[no-untyped-def]
    return arrays[0][lane].over


@row
def acting_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return arrays[0][lane].over == 0 and arrays[0][lane].mover == seat


@row
def legal_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    for action in range(3):
        out[action] = action < arrays[0][lane].stones


@row
def position_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return (arrays[0][lane : lane + 1],)


@row
def score_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return arrays[1][lane, seat]


class StonesBoards:
    rows = BoardRows(observe_row, apply_row, over_row, acting_row, legal_row, position_row, score_row)

    def __init__(self, options: StonesOptions, lanes: int) -> None:
        self._options = options
        self._lanes = np.zeros(lanes, LANE)
        self._lanes["over"] = 1
        self._taken: Floats = np.zeros((lanes, options.seats))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self._lanes, self._taken

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        for lane, seed, start in zip(lanes.tolist(), seeds.tolist(), starts, strict=True):
            stones = self._options.stones + seed % 7 if start is None else int(start)
            self._lanes[lane] = (stones, 0, 0, self._options.step_limit, int(stones == 0))
        self._taken[lanes] = 0.0

    def acting(self) -> Bools:
        movers: Bools = self._lanes["mover"][:, None] == np.arange(self._options.seats)
        return movers & (self._lanes["over"] == 0)[:, None]

    def over(self) -> NDArray[np.int8]:
        return self._lanes["over"]

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        for k in range(len(lanes)):
            observe_row(self.arrays, lanes[k], seats[k], out[k])

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        for k in range(len(lanes)):
            legal_row(self.arrays, lanes[k], seats[k], out[k])

    def apply(self, lanes: Indices, actions: Ints) -> None:
        for lane in lanes:
            apply_row(self.arrays, lane, actions[lane])

    def scores(self) -> Floats:
        return self._taken

    def stats(self, lanes: Indices) -> Floats:
        return np.zeros((len(lanes), self._options.seats, 0))

    def copy(self, source: int, target: int) -> None:
        self._lanes[target], self._taken[target] = self._lanes[source], self._taken[source]

    def position(self, lane: int, seat: int) -> None:
        return None

    def scene(self, lane: int) -> Scene:
        text = f"{self._lanes['stones'][lane]} stones"
        return Scene(4 / 3, "101826", (Text(2 / 3, 0.5, text, 0.06, "E6E9EF"),), text)


class Stones:
    name = "stones"
    version = 1
    Options = StonesOptions

    def __init__(self, options: StonesOptions) -> None:
        self.options = options
        self.spec = spec_of(self.name, self.version, options)
        self.info = GameInfo(title="Stones", seats=options.seats, actions=3, observation=(2,), masked=True)

    def check_start(self, start: str | None) -> None:
        if start is not None and not start.isdecimal():
            raise BadValue("start", start, "a number of stones")

    def boards(self, lanes: int) -> StonesBoards:
        return StonesBoards(self.options, lanes)
