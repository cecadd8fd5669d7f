"""The input bar of a human player: shows the keys, or offers a list of legal actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QCompleter, QMenu, QWidget

from engine.game import RESIGN, GameInfo
from league_app.core.formatting import shorten
from league_app.gui.match.key_bindings import KeyBindings
from league_app.gui.widgets.basics import Combo, ElidedLabel, Icon, button, label, row

MANY = 16  # actions; if there are more, they are typed instead of chosen from a list
SHORT = 17  # characters of the typed text that an error message repeats
WAIT = "It is not your turn yet"


class HumanInputBar(QWidget):
    """One line below the board. If it shows a text field, that has the keyboard focus: see `focus_input`."""

    acted = Signal(int, int)  # a seat and its action

    def __init__(self) -> None:
        super().__init__()
        self.turn = ElidedLabel()
        self.turn.setMinimumWidth(160)
        self.error = label("", "caption", tone="bad", wrap=True)  # two lines are as high as a control
        self.error.setMinimumWidth(160)
        self.error.hide()
        self.list = Combo()
        self.list.setAccessibleName("Your actions")
        self.list.setMinimumWidth(140)
        self.play = button("Play", self._submit, primary=True)
        self._choices: list[int] = []
        self._actions: dict[str, int] = {}  # by name
        self._mistake: Callable[[str], str] = str
        self._seat = -1
        self._uses_keys = False  # some actions have keys, which a text field would intercept
        self._names: dict[int, str] = {}  # of the human players, by seat
        self.menu = QMenu(self)
        self.menu.triggered.connect(self._resign_as)
        self.resign = button("Resign", self._resign, tip="Give up the match")
        self.resign.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the keyboard where it is
        layout = row(Icon("human"), self.turn, self.error, self.list, self.play, self.resign)
        layout.setStretch(1, 1)
        layout.setStretch(2, 1)
        self.setLayout(layout)
        self.hide()

    @property
    def choices(self) -> list[int]:
        return self._choices

    def set_turn(
        self,
        bindings: KeyBindings,
        info: GameInfo,
        names: Sequence[str],
        seat: int,
        choices: list[int],
        name_of: Callable[[int], str],
        mistake: Callable[[str], str] = lambda typed: "is not legal here",
    ) -> bool:
        """Show whose turn it is; return whether it changed. `seat` is the human seat to move, -1 for none. `mistake`
        explains a typed text that is no action: it completes a sentence that begins with the text."""
        keys = [f"seat {seat + 1}: {text}" for seat in bindings.seats if (text := bindings.describe(seat))]
        whose = f", {names[seat]}" if len(bindings.seats) > 1 else ""
        side = f" as {info.seat_names[seat]}" if 0 <= seat < len(info.seat_names) else ""
        turn = f"Your move{whose}{side}." if seat >= 0 else "Waiting for the other players."
        if info.simultaneous and len(bindings.seats) > 1:
            turn = "Your moves: the match waits for all players."
        help = f"Keys for {'; '.join(keys)}" if keys else ""
        self._uses_keys = bool(keys)
        self.turn.setText(help if bindings.hold_to_act and bindings.covers_all_actions else f"{turn} {help}".strip())
        self._names, self._mistake = {seat: names[seat] for seat in bindings.seats}, mistake
        self.list.setVisible(not bindings.covers_all_actions)
        self.play.setVisible(not bindings.covers_all_actions)
        changed = (seat, choices) != (self._seat, self._choices)
        if changed:
            self._seat, self._choices = seat, choices
            self._fill({name_of(choice): choice for choice in choices}, info.actions > MANY)
            self._show_error("")
        if self.play.hasFocus() and not choices:
            self.focus_input()  # otherwise Qt moves the focus to the next control, which is Resign
        self.play.setEnabled(bool(choices))
        return changed

    def focus_input(self) -> bool:
        """Give the text field the keyboard focus; return whether there is one. The field is never disabled: it would
        lose the focus."""
        there = not self.list.isHidden() and not self._uses_keys
        if there:
            self.list.setFocus(Qt.FocusReason.OtherFocusReason)
        return there

    def _fill(self, actions: Mapping[str, int], typed: bool) -> None:
        """List the actions in the game's order, or sorted by name if they are typed. Keeps the text typed so far."""
        self._actions = dict(sorted(actions.items()) if typed else actions)
        if self.list.isEditable() != typed:
            self.list.setEditable(typed)
            self.list.setInsertPolicy(Combo.InsertPolicy.NoInsert)
            if (edit := self.list.lineEdit()) is not None:
                edit.returnPressed.connect(self._submit)
                edit.textEdited.connect(self._on_edited)
                edit.setPlaceholderText("Type a move")
            if (completer := self.list.completer()) is not None:  # a popup would intercept Enter
                completer.setCompletionMode(QCompleter.CompletionMode.InlineCompletion)
        text = self.list.currentText() if typed else ""
        self.list.clear()
        self.list.addItems(list(self._actions))
        if typed:
            self.list.setCurrentIndex(-1)
            self.list.setEditText(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Enter plays the selected action of a list without a text field."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.list.hasFocus():
            if not self.list.isEditable():
                self._submit()
        else:
            super().keyPressEvent(event)

    def _resign(self) -> None:
        """Ask for confirmation in a menu: resigning cannot be undone."""
        self.menu.clear()
        for seat, name in self._names.items():
            self.menu.addAction(f"Resign as {name.replace('&', '&&')} and end the match").setData(seat)
        self.menu.popup(self.resign.mapToGlobal(QPoint(0, -8 - 32 * len(self._names))))

    def _resign_as(self, action: QAction) -> None:
        self.acted.emit(int(action.data()), RESIGN)

    def _submit(self) -> None:
        """Play the chosen or typed action; a text that is no legal action stays in the field, with an error."""
        typed = self.list.currentText().strip()
        if not typed:
            self.focus_input()  # Qt reports Enter twice: the second time the field is empty
            return
        action = self._find_action(typed)
        if self._seat < 0 or action is None:
            self._show_error(WAIT if self._seat < 0 else f"{shorten(typed, SHORT)} {self._mistake(typed)}")
            return
        if self.list.isEditable():
            self.list.clearEditText()
        self._show_error("")
        self.acted.emit(self._seat, action)

    def _find_action(self, typed: str) -> int | None:
        """Return the action of this name; ignores case if only one action fits."""
        alike = [action for name, action in self._actions.items() if name.casefold() == typed.casefold()]
        return self._actions.get(typed, alike[0] if len(alike) == 1 else None)

    @Slot()
    def _on_edited(self) -> None:
        self._show_error("")

    def _show_error(self, text: str) -> None:
        """Show what is wrong with the typed text in place of the turn; an empty text clears it."""
        edit = self.list.lineEdit()
        self.turn.setVisible(not text)
        self.error.setText(text)
        self.error.setVisible(bool(text))
        if text and edit is not None:
            self.list.setFocus(Qt.FocusReason.OtherFocusReason)
            edit.selectAll()
        if bool(self.list.property("wrong")) != bool(text):
            self.list.setAccessibleDescription(text)
            self.list.setProperty("wrong", bool(text))

            self.list.style().unpolish(self.list)
            self.list.style().polish(self.list)
