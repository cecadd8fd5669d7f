"""A simultaneous game for three: each picks one of four numbers, and a number picked by one seat scores its worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.game import GameInfo
from engine.options import option
from engine.plain import PlainBoard, PlainGame, View, plain_kind
from engine.registry import GAMES, KINDS
from engine.seeding import pick, purpose

WORTH = purpose("trio.worth")


@dataclass(frozen=True)
class TrioOptions:
    rounds: int = option(5, low=1, high=100, help="rounds")


class TrioBoard(PlainBoard):
    def __init__(self, rounds: int, seed: int) -> None:
        self._rounds, self._seed, self._round = rounds, seed, 0
        self._scores = [0.0, 0.0, 0.0]
        self._alone = [0, 0, 0]
        self._last = [0, 0, 0]

    def _worth(self, number: int) -> int:
        return pick(4, self._seed, WORTH, 0, self._round, number)

    def acting(self) -> Sequence[int]:
        return range(3) if self._round < self._rounds else []

    def play(self, actions: Mapping[int, int]) -> None:
        picked = list(actions.values())
        for seat, number in actions.items():
            if picked.count(number) == 1:
                self._scores[seat] += self._worth(number)
                self._alone[seat] += 1
        self._last = picked
        self._round += 1

    def scores(self) -> Sequence[float]:
        return self._scores

    def observe(self, seat: int) -> list[float]:
        others = [self._last[(seat + step) % 3] / 3 for step in range(3)]
        return [self._worth(number) / 3 for number in range(4)] + others

    def stats(self, seat: int) -> list[float]:
        return [float(self._alone[seat]), self._last[seat] / 3]


class Trio(PlainGame):
    name = "trio"
    version = 1
    Options = TrioOptions
    info = GameInfo(title="Trio", seats=3, actions=4, observation=(7,), stats=("alone", "last"), simultaneous=True)

    def new(self, seed: int, start: str | None) -> TrioBoard:
        return TrioBoard(self.options.rounds, seed)


class Greedy:
    """Picks the number of greatest worth, or with b"shy" the second greatest."""

    def __init__(self, payload: bytes) -> None:
        self._place = 1 if payload == b"shy" else 0

    def act(self, view: View) -> int:
        worth = view.obs[:4].tolist()
        return sorted(range(4), key=lambda number: -worth[number])[self._place]


KIND = plain_kind("trio-bot", 1, Greedy, ["trio"], {"Greedy": b"", "Shy": b"shy"})

GAMES.add("trio", Trio)
KINDS.add("trio-bot", KIND)
