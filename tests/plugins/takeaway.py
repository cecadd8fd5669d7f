"""A compiled game for any number of seats that takes turns and masks: take one to three stones, the last one wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import BoardRows, Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.kernels import bare, row
from engine.options import option, validate
from engine.registry import spec_of
from engine.scene import Scene, Text
from engine.seeding import bits, purpose

LANE = np.dtype([("stones", "i8"), ("turn", "i8"), ("over", "i1")], align=True)
STONES = purpose("takeaway.stones")


@dataclass(frozen=True)
class TakeawayOptions:
    seats: int = option(2, low=1, high=10, help="seats")
    stones: int = option(40, low=4, high=400, help="stones at the start, and up to three more by the seed")

    def __post_init__(self) -> None:
        validate(self)


@row
def acting_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    lanes, scores = arrays
    return lanes[lane].over == 0 and lanes[lane].turn % scores.shape[1] == np.int64(seat)


@row
def legal_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    for action in range(3):
        out[action] = arrays[0][lane].stones > action


@row
def observe_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    out[0] = arrays[0][lane].stones
    out[1] = seat


@row
def apply_row(arrays, lane, actions):  # type: ignore[no-untyped-def]
    lanes, scores = arrays
    seat = lanes[lane].turn % scores.shape[1]
    lanes[lane].stones -= actions[seat] + 1
    lanes[lane].turn += 1
    if lanes[lane].stones <= 0:
        lanes[lane].over = 1
        scores[lane, seat] = 1.0


@row
def over_row(arrays, lane):  # type: ignore[no-untyped-def]
    return arrays[0][lane].over


@row
def position_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return (arrays[0][lane : lane + 1],)


@bare
def _apply(arrays, lanes, actions):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        apply_row(arrays, lanes[i], actions[lanes[i]])


class TakeawayBoards:
    """A row of the arrays is a lane; what is asked rarely is plain Python."""

    rows = BoardRows(observe_row, apply_row, over_row, acting_row, legal_row, position_row)

    def __init__(self, options: TakeawayOptions, lanes: int) -> None:
        self._options = options
        self._lanes = np.zeros(lanes, LANE)
        self._lanes["over"] = 1
        self._scores: Floats = np.zeros((lanes, options.seats))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self._lanes, self._scores

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        for lane, seed in zip(lanes.tolist(), seeds.tolist(), strict=True):
            self._lanes[lane] = (self._options.stones + bits(seed, STONES) % 4, 0, 0)
        self._scores[lanes] = 0.0

    def acting(self) -> Bools:
        turns = self._lanes["turn"] % self._options.seats
        acting: Bools = (turns[:, None] == np.arange(self._options.seats)) & (self._lanes["over"] == 0)[:, None]
        return acting

    def over(self) -> NDArray[np.int8]:
        return self._lanes["over"]

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        out[:, 0], out[:, 1] = self._lanes["stones"][lanes], seats

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        out[:] = self._lanes["stones"][lanes][:, None] > np.arange(3)

    def apply(self, lanes: Indices, actions: Ints) -> None:
        _apply(self.arrays, lanes, actions)

    def scores(self) -> Floats:
        return self._scores

    def stats(self, lanes: Indices) -> Floats:
        return np.zeros((len(lanes), self._options.seats, 0))

    def copy(self, source: int, target: int) -> None:
        self._lanes[target], self._scores[target] = self._lanes[source], self._scores[source]

    def position(self, lane: int, seat: int) -> None:
        return None

    def scene(self, lane: int) -> Scene:
        text = f"{self._lanes['stones'][lane]} stones"
        return Scene(4 / 3, "101826", (Text(2 / 3, 0.5, text, 0.06, "E6E9EF"),), text)


class Takeaway:
    """The rules with their options."""

    name: ClassVar[str] = "takeaway"
    version: ClassVar[int] = 1
    Options: ClassVar[type] = TakeawayOptions

    def __init__(self, options: TakeawayOptions) -> None:
        self.options = options
        self.spec = spec_of(self.name, self.version, options)
        self.info = GameInfo(title="Takeaway", seats=options.seats, actions=3, observation=(2,), masked=True)

    def check_start(self, start: str | None) -> None:
        if start is not None:
            raise BadValue("start", start, "None")

    def boards(self, lanes: int) -> TakeawayBoards:
        return TakeawayBoards(self.options, lanes)
