"""The base of the dialogs that start or resume a training session."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QGridLayout, QWidget

from engine.errors import RingsideError
from league_app.core.formatting import error_text
from league_app.core.state import LeagueState
from league_app.core.trainers import trainer_facts
from league_app.gui.context import AppContext
from league_app.gui.widgets.basics import Card, button, column, label, row, scroll_area
from league_app.gui.widgets.form import CONTROL, LABEL, Form


class SessionDialog(QDialog):
    """A form in a card, an error message and a start button."""

    started = Signal(int)  # the number of the session

    def __init__(self, context: AppContext, title: str, text: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        QShortcut(QKeySequence("F1"), self, self._show_guide)
        self.context = context
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.form: Form | None = None
        self.inside = column(gap=12, margin=16)
        inner = QWidget()
        inner.setLayout(self.inside)
        scroll = scroll_area(inner)
        card = Card(margin=1)
        card.body.addWidget(scroll)
        self.error = label("", tone="bad", wrap=True)
        self.error.hide()
        self.note = label("", "caption", wrap=True)
        self.start = button(text, self._press, primary=True, icon="play")
        self.start.setDefault(True)
        self.cancel = button("Cancel", self.reject)
        self._text = text
        whole = column(gap=12, margin=16)
        whole.addWidget(card, 1)
        whole.addWidget(self.error)
        footer = row(gap=8)
        footer.addWidget(self.note, 1)
        footer.addWidget(self.cancel)
        footer.addWidget(self.start)
        whole.addLayout(footer)
        self.setLayout(whole)
        self.resize(760, 600)
        context.opened.connect(self.reject)

    def grid(self, *rows: tuple[str, QWidget]) -> QGridLayout:
        """Lay out titles and controls, aligned with those of the form."""
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        for place, (text, control) in enumerate(rows):
            title = label(text)
            title.setFixedWidth(LABEL)
            title.setBuddy(control)
            control.setAccessibleName(text)
            control.setFixedHeight(30)
            control.setMinimumWidth(CONTROL)
            grid.addWidget(title, place, 0)
            grid.addWidget(control, place, 1)
        grid.setColumnStretch(1, 1)
        return grid

    def trainer_name(self) -> str:
        """The name of the trainer; empty if there is none."""
        raise NotImplementedError

    @Slot()
    def _show_guide(self) -> None:
        """Open the page of the guide about the chosen trainer."""
        self.context.navigate("guide", trainer_facts(self.trainer_name()).guide)

    def _press(self) -> None:
        """Start the session in the background; an error is shown here, and changes nothing."""
        state = self.context.state
        if state is None or not self.start.isEnabled():
            return
        try:
            task = self.start_task(state)
        except RingsideError as error:
            self._on_failed(error)
            return
        self.show_error("")
        self.start.setEnabled(False)
        self.start.setText("Checking...")
        self.context.slow_queue.run(task, self._on_started, self._on_failed)

    def start_task(self, state: LeagueState) -> Any:
        """Return a function for a background thread, which returns the number of the session."""
        raise NotImplementedError

    def _on_started(self, number: object) -> None:
        assert isinstance(number, int)
        self.remember()
        self.started.emit(number)
        self.accept()

    def remember(self) -> None:
        """Save the settings for the next session."""

    def _on_failed(self, error: object) -> None:
        assert isinstance(error, Exception)
        self.start.setEnabled(True)
        self.start.setText(self._text)
        self.show_error(error_text(error))
        if not any(form.show_error_at_field(error) for form in self.forms()):
            control = self.control_of(error.field) if isinstance(error, RingsideError) else None
            (control or self.start).setFocus()  # disabling the button has moved the focus

    def forms(self) -> list[Form]:
        """The forms that may have the field of an error."""
        return [self.form] if self.form is not None else []

    def control_of(self, field: str) -> QWidget | None:
        """The control outside the forms that sets this field."""
        return None

    @Slot()
    def _on_edited(self) -> None:
        """Hide the error: it is about values that have changed since."""
        self.show_error("")

    def show_error(self, text: str) -> None:
        text = text[:1].upper() + text[1:]
        self.error.setText(f"{text}." if text and text[-1] not in ".!?" else text)
        self.error.setVisible(bool(text))
