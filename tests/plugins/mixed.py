"""A game in which all seats act at some steps and one at others: sealed bids for the first move, then turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.errors import BadValue
from engine.game import GameInfo
from engine.plain import PlainBoard, PlainGame


@dataclass(frozen=True)
class NoOptions:
    pass


class MixedBoard(PlainBoard):
    def __init__(self, stones: int) -> None:
        self._stones = stones
        self._mover: int | None = None
        self._taken = [0.0, 0.0]

    def acting(self) -> Sequence[int]:
        if self._stones == 0:
            return []
        return [0, 1] if self._mover is None else [self._mover]

    def legal(self, seat: int) -> Sequence[int]:
        return range(3) if self._mover is None else range(min(3, self._stones))

    def play(self, actions: Mapping[int, int]) -> None:
        if self._mover is None:
            self._mover = int(actions[1] > actions[0])
            return
        self._stones -= actions[self._mover] + 1
        self._taken[self._mover] += actions[self._mover] + 1
        if self._stones == 5:
            self.no_contest = True  # an arbitrary rule, so that some matches have no result
            self._stones = 0
        self._mover = None if self._stones % 4 == 0 else 1 - self._mover

    def scores(self) -> Sequence[float]:
        return self._taken

    def observe(self, seat: int) -> list[float]:
        return [self._stones / 20, float(self._mover is None)]


class Mixed(PlainGame):
    name = "mixed"
    version = 1
    Options = NoOptions
    info = GameInfo(title="Mixed", seats=2, actions=3, observation=(2,), masked=True)

    def new(self, seed: int, start: str | None) -> MixedBoard:
        return MixedBoard(12 + seed % 7 if start is None else int(start))

    def check_start(self, start: str | None) -> None:
        if start is not None and start not in ("0", "8", "20"):
            raise BadValue("start", start, "'0', '8' or '20' stones")
