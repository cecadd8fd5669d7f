"""Hands on a keyboard: which seat does what while which keys are held."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt

from engine.game import GameInfo

LETTERS = {Qt.Key.Key_W: "up", Qt.Key.Key_S: "down", Qt.Key.Key_A: "left", Qt.Key.Key_D: "right"}
ARROWS = {Qt.Key.Key_Up: "up", Qt.Key.Key_Down: "down", Qt.Key.Key_Left: "left", Qt.Key.Key_Right: "right"}
Deed = tuple[int, int]  # a seat and its action
PEOPLE = 2  # who fit at one keyboard where everybody moves at once


def room(info: GameInfo) -> int:
    """How many people can play this at one keyboard; where they take turns, all of them."""
    return min(PEOPLE, info.seats) if info.simultaneous else info.seats


class Hands:
    """One person may use letters and arrows alike; of two, the letters are the first one's, the arrows the other's.

    Where a seat may idle an action lasts as long as its key is held, and the key pressed last counts; elsewhere each
    press is one action, and so is each repetition of a key that is held.
    """

    def __init__(self, info: GameInfo, seats: Sequence[int]) -> None:
        names = {name.lower(): action for action, name in enumerate(info.action_names)}
        self.seats = tuple(seats)
        self.held_down = info.idle is not None
        self._neutral = 0 if info.idle is None else info.idle  # matters only where keys are held
        self._keys: dict[int, Deed] = {}
        self._down: list[int] = []
        for place, seat in enumerate(self.seats[:2]):
            sets = (LETTERS, ARROWS) if len(self.seats) == 1 else ((LETTERS, ARROWS)[place],)
            for keys in sets:
                self._keys |= {key.value: (seat, names[name]) for key, name in keys.items() if name in names}
        reached = {action for _, action in self._keys.values()}
        self.complete = bool(self._keys) and len(reached | ({info.idle} - {None})) == info.actions

    def knows(self, key: int) -> bool:
        return key in self._keys

    def press(self, key: int) -> Deed | None:
        """What is to be done now."""
        if key not in self._keys:
            return None
        if self.held_down and key not in self._down:
            self._down.append(key)
        return self._keys[key]

    def release(self, key: int) -> Deed | None:
        if key not in self._down:
            return None
        self._down.remove(key)
        seat = self._keys[key][0]
        still = [self._keys[one] for one in self._down if self._keys[one][0] == seat]
        return still[-1] if still else (seat, self._neutral)

    def let_go(self) -> list[Deed]:
        """Of everything: the keys will be released where nobody sees it."""
        seats = {self._keys[key][0] for key in self._down}
        self._down.clear()
        return [(seat, self._neutral) for seat in sorted(seats)]

    def words(self, seat: int) -> str:
        """Which keys are this seat's."""
        keys = [key for key, (who, _) in self._keys.items() if who == seat]
        letters = [name for key, name in ((Qt.Key.Key_W, "W"), (Qt.Key.Key_A, "A"), (Qt.Key.Key_S, "S"),
                                          (Qt.Key.Key_D, "D")) if key.value in keys]  # fmt: skip
        arrows = [name for key, name in ARROWS.items() if key.value in keys]
        which = "arrows" if len(arrows) == len(ARROWS) else "/".join(arrows) + " arrows"
        return " or ".join(one for one in ("/".join(letters), which if arrows else "") if one)
