"""The place of somebody who plays at this keyboard: which keys do what, or a list of what may be done."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from engine.game import GameInfo
from league_app.visual.hands import Hands
from league_app.widgets.basics import Combo, Elided, Icon, button, row


class HumanBar(QWidget):
    """One line below the board."""

    acted = Signal(int, int)  # a seat and its action

    def __init__(self) -> None:
        super().__init__()
        self.words = Elided()
        self.words.setMinimumWidth(160)
        self.list = Combo()
        self.list.setAccessibleName("What you can do")
        self.list.setMinimumWidth(140)
        self.play = button("Play it", self._act, primary=True)
        self._choices: list[int] = []
        self._seat = -1
        layout = row(Icon("human"), self.words, self.list, self.play)
        layout.setStretch(1, 1)
        self.setLayout(layout)
        self.hide()

    @property
    def choices(self) -> list[int]:
        return self._choices

    def set_turn(self, hands: Hands, info: GameInfo, names: Sequence[str], seat: int, choices: list[int]) -> None:
        """`seat` is whose turn it is among those who play here, -1 for nobody's."""
        keys = [f"seat {one + 1}: {told}" for one in hands.seats if (told := hands.words(one))]
        turn = f"Your move, {names[seat]}." if seat >= 0 else "The others move."
        told = f"You play {'; '.join(keys)}" if keys else ""
        self.words.setText(told if hands.complete else f"{turn} {told}".strip())
        self.list.setVisible(not hands.complete)
        self.play.setVisible(not hands.complete)
        self.play.setEnabled(bool(choices))
        self.list.setEnabled(bool(choices))
        if (seat, choices) != (self._seat, self._choices):
            self._seat, self._choices = seat, choices
            self.list.clear()
            self.list.addItems([action_name(info, one) for one in choices])

    def _act(self) -> None:
        place = self.list.currentIndex()
        if self._seat >= 0 and 0 <= place < len(self._choices):
            self.acted.emit(self._seat, self._choices[place])


def action_name(info: GameInfo, action: int) -> str:
    return info.action_names[action] if action < len(info.action_names) else f"Action {action}"
