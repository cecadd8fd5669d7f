"""The place of somebody who plays at this keyboard: which keys do what, or a list of what may be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QCompleter, QMenu, QWidget

from engine.game import RESIGN, GameInfo
from league_app.gui.match.key_bindings import Hands
from league_app.gui.widgets.basics import Combo, Elided, Icon, button, label, row

MANY = 16  # actions: with more, one is typed rather than looked for
SHORT = 16  # letters of what was typed, where it is told what is wrong with it
WAIT = "It is not your turn yet"


class HumanBar(QWidget):
    """One line below the board. While there is a field in it, the keyboard is the field's: see `take_keyboard`."""

    acted = Signal(int, int)  # a seat and its action

    def __init__(self) -> None:
        super().__init__()
        self.words = Elided()
        self.words.setMinimumWidth(160)
        self.wrong = label("", "caption", tone="bad", wrap=True)  # two lines of it are as high as a control
        self.wrong.setMinimumWidth(160)
        self.wrong.hide()
        self.list = Combo()
        self.list.setAccessibleName("What you can do")
        self.list.setMinimumWidth(140)
        self.play = button("Play it", self._act, primary=True)
        self._choices: list[int] = []
        self._actions: dict[str, int] = {}  # by name
        self._mistake: Callable[[str], str] = str
        self._seat = -1
        self._keyed = False  # some of it is played by keys, which a field would take for itself
        self._names: dict[int, str] = {}  # of those who play here, by seat
        self.menu = QMenu(self)
        self.menu.triggered.connect(self._resign_as)
        self.resign = button("Resign", self._resign, tip="Give the match up")
        self.resign.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the keyboard where it is
        layout = row(Icon("human"), self.words, self.wrong, self.list, self.play, self.resign)
        layout.setStretch(1, 1)
        layout.setStretch(2, 1)
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
        mistake: Callable[[str], str] = lambda typed: "is not legal here",
    ) -> bool:
        """Whether that is news. `seat` is whose turn it is among those who play here, -1 for nobody's; `mistake` ends
        a sentence that begins with what was typed and is the name of nothing."""
        keys = [f"seat {one + 1}: {told}" for one in hands.seats if (told := hands.words(one))]
        whose = f", {names[seat]}" if len(hands.seats) > 1 else ""
        side = f" as {info.seat_names[seat]}" if 0 <= seat < len(info.seat_names) else ""
        turn = f"Your move{whose}{side}." if seat >= 0 else "The others move."
        if info.simultaneous and len(hands.seats) > 1:
            turn = "Your moves: the match waits for all of you."
        told = f"You play {'; '.join(keys)}" if keys else ""
        self._keyed = bool(keys)
        self.words.setText(told if hands.held_down and hands.complete else f"{turn} {told}".strip())
        self._names, self._mistake = {one: names[one] for one in hands.seats}, mistake
        self.list.setVisible(not hands.complete)
        self.play.setVisible(not hands.complete)
        news = (seat, choices) != (self._seat, self._choices)
        if news:
            self._seat, self._choices = seat, choices
            self._fill({name_of(one): one for one in choices}, info.actions > MANY)
            self._tell("")
        if self.play.hasFocus() and not choices:
            self.take_keyboard()  # or Qt gives it to whatever comes next, which is Resign
        self.play.setEnabled(bool(choices))
        return news

    def take_keyboard(self) -> bool:
        """Have what is typed come to the field; whether there is one. It is never disabled: it would lose the
        keyboard."""
        there = not self.list.isHidden() and not self._keyed
        if there:
            self.list.setFocus(Qt.FocusReason.OtherFocusReason)
        return there

    def _fill(self, actions: Mapping[str, int], typed: bool) -> None:
        """In the order of the game; where there are many, by name, and to be typed. What is typed already stays."""
        self._actions = dict(sorted(actions.items()) if typed else actions)
        if self.list.isEditable() != typed:
            self.list.setEditable(typed)
            self.list.setInsertPolicy(Combo.InsertPolicy.NoInsert)
            if (edit := self.list.lineEdit()) is not None:
                edit.returnPressed.connect(self._act)
                edit.textEdited.connect(self._edited)
                edit.setPlaceholderText("Type a move")
            if (completer := self.list.completer()) is not None:  # a list that pops up would take Enter for itself, too
                completer.setCompletionMode(QCompleter.CompletionMode.InlineCompletion)
        text = self.list.currentText() if typed else ""
        self.list.clear()
        self.list.addItems(list(self._actions))
        if typed:
            self.list.setCurrentIndex(-1)
            self.list.setEditText(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Enter, in a list that is not typed into."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.list.hasFocus():
            if not self.list.isEditable():
                self._act()
        else:
            super().keyPressEvent(event)

    def _resign(self) -> None:
        """Asked once: it cannot be taken back."""
        self.menu.clear()
        for seat, name in self._names.items():
            self.menu.addAction(f"Resign as {name.replace('&', '&&')}: the match is over").setData(seat)
        self.menu.popup(self.resign.mapToGlobal(QPoint(0, -8 - 32 * len(self._names))))

    def _resign_as(self, action: QAction) -> None:
        self.acted.emit(int(action.data()), RESIGN)

    def _act(self) -> None:
        """What is chosen; what is typed and cannot be done stays there to be mended, and is told."""
        typed = self.list.currentText().strip()
        if not typed:
            self.take_keyboard()  # Qt tells of Enter twice: the second time there is nothing left
            return
        action = self._named(typed)
        if self._seat < 0 or action is None:
            short = typed if len(typed) <= SHORT else f"{typed[:SHORT]}\u2026"
            self._tell(WAIT if self._seat < 0 else f"{short} {self._mistake(typed)}")
            return
        if self.list.isEditable():
            self.list.clearEditText()
        self._tell("")
        self.acted.emit(self._seat, action)

    def _named(self, typed: str) -> int | None:
        """What is called so; in small letters too, where that can be only one."""
        alike = [action for name, action in self._actions.items() if name.casefold() == typed.casefold()]
        return self._actions.get(typed, alike[0] if len(alike) == 1 else None)

    @Slot()
    def _edited(self) -> None:
        self._tell("")

    def _tell(self, wrong: str) -> None:
        """What is wrong with what was typed, in the place of whose turn it is; nothing for nothing."""
        edit = self.list.lineEdit()
        self.words.setVisible(not wrong)
        self.wrong.setText(wrong)
        self.wrong.setVisible(bool(wrong))
        if wrong and edit is not None:
            self.list.setFocus(Qt.FocusReason.OtherFocusReason)
            edit.selectAll()
        if bool(self.list.property("wrong")) != bool(wrong):
            self.list.setAccessibleDescription(wrong)
            self.list.setProperty("wrong", bool(wrong))
            self.list.style().unpolish(self.list)
            self.list.style().polish(self.list)
