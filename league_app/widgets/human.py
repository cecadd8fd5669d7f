"""The place of somebody who plays at this keyboard: which keys do what, or a list of what may be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCompleter, QMenu, QWidget

from engine.game import RESIGN, GameInfo
from league_app.visual.hands import Hands
from league_app.widgets.basics import Combo, Elided, Icon, button, row

MANY = 16  # actions: with more, one is typed rather than looked for


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
        self._actions: dict[str, int] = {}  # by name
        self._seat = -1
        self._names: dict[int, str] = {}  # of those who play here, by seat
        self.menu = QMenu(self)
        self.menu.triggered.connect(self._resign_as)
        self.resign = button("Resign", self._resign, tip="Give the match up")
        layout = row(Icon("human"), self.words, self.list, self.play, self.resign)
        layout.setStretch(1, 1)
        self.setLayout(layout)
        self.hide()

    @property
    def choices(self) -> list[int]:
        return self._choices

    def set_turn(
        self,
        hands: Hands,
        info: GameInfo,
        names: Sequence[str],
        seat: int,
        choices: list[int],
        name_of: Callable[[int], str],
    ) -> None:
        """`seat` is whose turn it is among those who play here, -1 for nobody's."""
        keys = [f"seat {one + 1}: {told}" for one in hands.seats if (told := hands.words(one))]
        whose = f", {names[seat]}" if len(hands.seats) > 1 else ""
        turn = f"Your move{whose}." if seat >= 0 else "The others move."
        if info.simultaneous and len(hands.seats) > 1:
            turn = "Your moves: the match waits for all of you."
        told = f"You play {'; '.join(keys)}" if keys else ""
        self.words.setText(told if hands.held_down and hands.complete else f"{turn} {told}".strip())
        self._names = {one: names[one] for one in hands.seats}
        self.list.setVisible(not hands.complete)
        self.play.setVisible(not hands.complete)
        self.play.setEnabled(bool(choices))
        self.list.setEnabled(bool(choices))
        if (seat, choices) != (self._seat, self._choices):
            self._seat, self._choices = seat, choices
            self._fill({name_of(one): one for one in choices}, info.actions > MANY)

    def _fill(self, actions: Mapping[str, int], typed: bool) -> None:
        """In the order of the game; where there are many, by name, and to be typed."""
        self._actions = dict(sorted(actions.items()) if typed else actions)
        if self.list.isEditable() != typed:
            self.list.setEditable(typed)
            self.list.setInsertPolicy(Combo.InsertPolicy.NoInsert)
            if (edit := self.list.lineEdit()) is not None:
                edit.returnPressed.connect(self._act)
                edit.setPlaceholderText("Type a move")
            if (completer := self.list.completer()) is not None:  # a list that pops up would take Enter for itself, too
                completer.setCompletionMode(QCompleter.CompletionMode.InlineCompletion)
        self.list.clear()
        self.list.addItems(list(self._actions))
        if typed:
            self.list.setCurrentIndex(-1)

    def _resign(self) -> None:
        """Asked once: it cannot be taken back."""
        self.menu.clear()
        for seat, name in self._names.items():
            self.menu.addAction(f"Resign as {name.replace('&', '&&')}: the match is over").setData(seat)
        self.menu.popup(self.resign.mapToGlobal(QPoint(0, -8 - 32 * len(self._names))))

    def _resign_as(self, action: QAction) -> None:
        self.acted.emit(int(action.data()), RESIGN)

    def _act(self) -> None:
        """What is chosen; what is typed and cannot be done stays there to be mended."""
        action = self._actions.get(self.list.currentText().strip())
        if self._seat >= 0 and action is not None:
            if self.list.isEditable():
                self.list.clearEditText()  # Qt tells of Enter twice
            self.acted.emit(self._seat, action)
