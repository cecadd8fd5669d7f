"""A compiled game of turns: take one, two or three stones. A single seat acts, and some actions are illegal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import uint32

from engine.errors import BadValue
from engine.game import BoardRows, Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.kernels import row
from engine.options import option
from engine.registry import spec_of
from engine.scene import Scene

BOARD = np.dtype(
    [("stones", "i4"), ("mover", "u4"), ("step", "u4"), ("limit", "u4"), ("over", "i1"), ("taken", "i4", 2)], align=True
)


@dataclass(frozen=True)
class StonesOptions:
    step_limit: int = option(6, low=1, high=100, help="steps after which the match is called off")


@row
def apply_row(arrays, lane, actions):  # type: ignore[no-untyped-def]
    b = arrays[0][lane]
    count = np.int32(actions[b.mover] + 1)
    b.stones -= count
    b.taken[b.mover] += count
    b.mover = uint32(1) - b.mover
    b.step += uint32(1)
    b.over = 1 if b.stones == 0 else (3 if b.stones == 5 else (2 if b.step >= b.limit else 0))


@row
def observe_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    b = arrays[0][lane]
    out[0] = 0.1 * b.stones
    out[1] = 0.1 * (b.taken[seat] - b.taken[uint32(1) - seat])


@row
def over_row(arrays, lane):  # type: ignore[no-untyped-def]
    return arrays[0][lane].over


@row
def acting_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return arrays[0][lane].mover == seat


@row
def legal_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    for action in range(3):
        out[action] = action < arrays[0][lane].stones


@row
def score_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return float(arrays[0][lane].taken[seat])


class StonesBoards:
    rows = BoardRows(observe_row, apply_row, over_row, acting_row, legal_row, score_row=score_row)

    def __init__(self, lanes: int, limit: int) -> None:
        self.arrays = (np.zeros(lanes, BOARD),)
        self._boards, self._limit = self.arrays[0], limit
        self._boards["over"] = 1

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        for lane, seed, start in zip(lanes.tolist(), seeds.tolist(), starts, strict=True):
            stones = 12 + seed % 7 if start is None else int(start)
            self._boards[lane] = (stones, 0, 0, self._limit, int(stones == 0), (0, 0))

    def acting(self) -> Bools:
        mine = self._boards["mover"][:, None] == np.arange(2)
        return mine & (self._boards["over"] == 0)[:, None]

    def over(self) -> np.ndarray:
        return self._boards["over"]

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
        return self._boards["taken"].astype(np.float64)

    def stats(self, lanes: Indices) -> Floats:
        return np.zeros((len(lanes), 2, 0))

    def copy(self, source: int, target: int) -> None:
        self._boards[target] = self._boards[source]

    def position(self, lane: int, seat: int) -> None:
        return None

    def scene(self, lane: int) -> Scene:
        raise NotImplementedError


class Stones:
    name = "stones"
    version = 1
    Options = StonesOptions

    def __init__(self, options: StonesOptions) -> None:
        self.options = options
        self.spec = spec_of(self.name, self.version, options)
        self.info = GameInfo(title="Stones", seats=2, actions=3, observation=(2,), masked=True)

    def check_start(self, start: str | None) -> None:
        if start is not None and not start.isdecimal():
            raise BadValue("start", start, "a number of stones")

    def boards(self, lanes: int) -> StonesBoards:
        return StonesBoards(lanes, self.options.step_limit)
