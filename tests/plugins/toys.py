"""Games so small that their best policy is known: matching pennies, and a choice in two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.game import GameInfo
from engine.plain import PlainBoard, PlainGame
from engine.registry import GAMES


@dataclass(frozen=True)
class NoOptions:
    pass


class PenniesBoard(PlainBoard):
    """Both show a side at once: the first wins if they are equal, the second if not. The only equilibrium is 1/2."""

    def __init__(self) -> None:
        self._shown: tuple[int, int] | None = None

    def acting(self) -> Sequence[int]:
        return () if self._shown else (0, 1)

    def play(self, actions: Mapping[int, int]) -> None:
        self._shown = actions[0], actions[1]

    def scores(self) -> Sequence[float]:
        if self._shown is None:
            return 0.0, 0.0
        equal = float(self._shown[0] == self._shown[1])
        return equal, 1.0 - equal

    def observe(self, seat: int) -> Sequence[float]:
        return (1.0, 0.0) if seat == 0 else (0.0, 1.0)


class Pennies(PlainGame):
    name, version, Options = "pennies", 1, NoOptions
    info = GameInfo("Matching pennies", seats=2, actions=2, observation=(2,), simultaneous=True)

    def new(self, seed: int, start: str | None) -> PlainBoard:
        return PenniesBoard()


class DelayBoard(PlainBoard):
    """Seats take turns, two each. A seat that takes a point at once (action 0) gets nothing later. One that waits
    (action 1) gets three points for action 2 in its second turn, when action 1 is illegal. Points of a turn are only
    counted in the opponent's next turn, or at the end. Action 2 is illegal in the first turn."""

    def __init__(self) -> None:
        self._moves: list[int] = []

    def acting(self) -> Sequence[int]:
        return (len(self._moves) % 2,) if len(self._moves) < 4 else ()

    def play(self, actions: Mapping[int, int]) -> None:
        [action] = actions.values()
        self._moves.append(action)

    def legal(self, seat: int) -> Sequence[int]:
        return (0, 1) if len(self._moves) < 2 else (0, 2)

    def scores(self) -> Sequence[float]:
        counted = self._moves if len(self._moves) == 4 else self._moves[:-1]
        return [self._points(counted[seat::2]) for seat in range(2)]

    def _points(self, moves: Sequence[int]) -> float:
        return (1.0 if moves[:1] == [0] else 0.0) + (3.0 if moves == [1, 2] else 0.0)

    def observe(self, seat: int) -> Sequence[float]:
        own = self._moves[seat::2]
        return float(len(own) == 1), float(own[:1] == [1])


class Delay(PlainGame):
    name, version, Options = "delay", 1, NoOptions
    info = GameInfo("Delay", seats=2, actions=3, observation=(2,), masked=True)

    def new(self, seed: int, start: str | None) -> PlainBoard:
        return DelayBoard()


ALL = (Pennies, Delay)

for game in ALL:
    GAMES.add(game.name, game)
