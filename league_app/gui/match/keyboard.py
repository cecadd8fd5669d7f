"""The keys of the Match page: for whoever plays, and for whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from league_app.gui.match.key_bindings import Hands


class Driven(Protocol):
    """What keys do to a match that is watched."""

    def play_pause(self) -> None: ...
    def step(self, delta: int) -> None: ...
    def to_start(self) -> None: ...
    def to_end(self) -> None: ...
    def faster(self) -> None: ...
    def slower(self) -> None: ...


class Keyboard:
    """Tells `act` which seat does what; hands come first, then the page."""

    def __init__(self, page: Driven, act: Callable[[int, int], None]) -> None:
        self._page, self._act = page, act
        self.hands: Hands | None = None

    def press(self, event: QKeyEvent) -> bool:
        """Whether it meant something."""
        key, page = event.key(), self._page
        if self.hands is not None and self.hands.knows(key):
            deed = None if event.isAutoRepeat() and self.hands.held_down else self.hands.press(key)
            if deed is not None:
                self._act(*deed)
            return True
        match key:
            case Qt.Key.Key_Space:
                page.play_pause()
            case Qt.Key.Key_Left:
                page.step(-1)
            case Qt.Key.Key_Right:
                page.step(1)
            case Qt.Key.Key_Home:
                page.to_start()
            case Qt.Key.Key_End:
                page.to_end()
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                page.faster()
            case Qt.Key.Key_Minus:
                page.slower()
            case _:
                return False
        return True

    def release(self, event: QKeyEvent) -> bool:
        if self.hands is None or not self.hands.knows(event.key()):
            return False
        deed = None if event.isAutoRepeat() else self.hands.release(event.key())
        if deed is not None:
            self._act(*deed)
        return True

    def let_go(self) -> None:
        """Keys will be released where nobody here sees it."""
        for seat, action in self.hands.let_go() if self.hands is not None else ():
            self._act(seat, action)
