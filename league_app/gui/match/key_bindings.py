"""Key bindings of human players: which key acts for which seat."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt

from engine.game import GameInfo

LETTERS = {Qt.Key.Key_W: "up", Qt.Key.Key_S: "down", Qt.Key.Key_A: "left", Qt.Key.Key_D: "right"}
ARROWS = {Qt.Key.Key_Up: "up", Qt.Key.Key_Down: "down", Qt.Key.Key_Left: "left", Qt.Key.Key_Right: "right"}
SeatAction = tuple[int, int]  # seat, action
MAX_SIMULTANEOUS = 2  # players at one keyboard in a game with simultaneous moves


def max_humans(info: GameInfo) -> int:
    """Return how many people can play this game at one keyboard: all of them if they move in turn."""
    return min(MAX_SIMULTANEOUS, info.seats) if info.simultaneous else info.seats


class KeyBindings:
    """A single player may use both WASD and the arrows; with two, the first has WASD and the second the arrows.

    If the game has an idle action, an action lasts while its key is held, and the key pressed last wins. In other
    games each press is one action, and so is each auto-repeat.
    """

    def __init__(self, info: GameInfo, seats: Sequence[int]) -> None:
        names = {name.lower(): action for action, name in enumerate(info.action_names)}
        self.seats = tuple(seats)
        self.hold_to_act = info.idle is not None
        self._neutral = 0 if info.idle is None else info.idle  # used only if hold_to_act
        self._keys: dict[int, SeatAction] = {}
        self._down: list[int] = []
        for place, seat in enumerate(self.seats[:2]):
            sets = (LETTERS, ARROWS) if len(self.seats) == 1 else ((LETTERS, ARROWS)[place],)
            for keys in sets:
                self._keys |= {key.value: (seat, names[name]) for key, name in keys.items() if name in names}
        reached = {action for _, action in self._keys.values()}
        self.covers_all_actions = bool(self._keys) and len(reached | ({info.idle} - {None})) == info.actions

    def binds(self, key: int) -> bool:
        return key in self._keys

    def press(self, key: int) -> SeatAction | None:
        """Return the action of this key, if it has one."""
        if key not in self._keys:
            return None
        if self.hold_to_act and key not in self._down:
            self._down.append(key)
        return self._keys[key]

    def release(self, key: int) -> SeatAction | None:
        if key not in self._down:
            return None
        self._down.remove(key)
        seat = self._keys[key][0]
        still = [self._keys[key] for key in self._down if self._keys[key][0] == seat]
        return still[-1] if still else (seat, self._neutral)

    def release_all(self) -> list[SeatAction]:
        """Release all held keys; return the idle action of each seat that was acting."""
        seats = {self._keys[key][0] for key in self._down}
        self._down.clear()
        return [(seat, self._neutral) for seat in sorted(seats)]

    def describe(self, seat: int) -> str:
        """Return the keys of this seat as text."""
        keys = [key for key, (owner, _) in self._keys.items() if owner == seat]
        letters = [name for key, name in ((Qt.Key.Key_W, "W"), (Qt.Key.Key_A, "A"), (Qt.Key.Key_S, "S"),
                                          (Qt.Key.Key_D, "D")) if key.value in keys]  # fmt: skip
        arrows = [name for key, name in ARROWS.items() if key.value in keys]
        which = "arrows" if len(arrows) == len(ARROWS) else "/".join(arrows) + " arrows"
        return " or ".join(keys for keys in ("/".join(letters), which if arrows else "") if keys)
