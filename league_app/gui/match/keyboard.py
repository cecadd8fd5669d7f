"""Key presses on the Match page: keys of a human player act in the match, all others control playback."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from league_app.gui.match.key_bindings import KeyBindings
from league_app.gui.match.playback_bar import PlaybackTarget


class Keyboard:
    """Calls `act` with a seat and an action for the keys of `bindings`, and `target` for playback keys."""

    def __init__(self, target: PlaybackTarget, act: Callable[[int, int], None]) -> None:
        self._target, self._act = target, act
        self.bindings: KeyBindings | None = None

    def press(self, event: QKeyEvent) -> bool:
        """Handle a key press; return whether the key has a meaning."""
        key, target = event.key(), self._target
        if self.bindings is not None and self.bindings.binds(key):
            action = None if event.isAutoRepeat() and self.bindings.hold_to_act else self.bindings.press(key)
            if action is not None:
                self._act(*action)
            return True
        match key:
            case Qt.Key.Key_Space:
                target.play_pause()
            case Qt.Key.Key_Left:
                target.step(-1)
            case Qt.Key.Key_Right:
                target.step(1)
            case Qt.Key.Key_Home:
                target.to_start()
            case Qt.Key.Key_End:
                target.to_end()
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                target.faster()
            case Qt.Key.Key_Minus:
                target.slower()
            case _:
                return False
        return True

    def release(self, event: QKeyEvent) -> bool:
        if self.bindings is None or not self.bindings.binds(event.key()):
            return False
        action = None if event.isAutoRepeat() else self.bindings.release(event.key())
        if action is not None:
            self._act(*action)
        return True

    def release_all(self) -> None:
        """Release every key: after the focus is lost, no release events arrive."""
        for seat, action in self.bindings.release_all() if self.bindings is not None else ():
            self._act(seat, action)
