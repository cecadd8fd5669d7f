"""Editing name, notes, colour and tags of an agent, with errors shown at each field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QDialog, QLineEdit, QPlainTextEdit, QWidget

from engine.errors import BadValue
from engine.league.records import Agent, check_colour, check_name, check_tags, check_text
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.dialogs.help_key import add_help_key
from league_app.gui.widgets.agent_colours import series_index
from league_app.gui.widgets.basics import breakable, button, column, label, row, tooltip_html

SERIES = ("blue", "orange", "green", "purple", "yellow", "contrast")


def tags_of(text: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())


def sentence(error: BadValue) -> str:
    """Return what a value must be, without the value itself: it is in the field."""
    return f"It must be {error.needed}."


class Swatch(QAbstractButton):
    """A button for one colour, marked while it is chosen."""

    def __init__(self, colour: str, name: str) -> None:
        super().__init__()
        self.colour = colour
        self.setCheckable(True)
        self.setAccessibleName(name)
        self.setToolTip(tooltip_html(name))
        self.setFixedSize(QSize(30, 30))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ring = "accent" if self.isChecked() or self.hasFocus() else "hairline"
        painter.setPen(theme.colour(ring))
        painter.setBrush(theme.colour("selection") if self.isChecked() else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)
        painter.setPen(theme.colour("border"))
        if self.colour:
            painter.setBrush(QColor(f"#{self.colour}"))
            painter.drawEllipse(QRectF(8, 8, 14, 14))
        else:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QRectF(8, 8, 14, 14))
            painter.drawLine(10, 20, 20, 10)
        if self.isChecked():
            painter.fillRect(QRectF(8, 25, 14, 2), theme.colour("accent"))


class ColourField(QWidget):
    """A colour of the palette, any other as RRGGBB, or none for an automatic one."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._group = QButtonGroup(self)
        self.swatches = [Swatch("", "Automatic")]
        self.swatches += [Swatch(colour, name) for colour, name in zip(theme.current().series, SERIES, strict=True)]
        for number, swatch in enumerate(self.swatches):
            self._group.addButton(swatch, number)
        self._group.setExclusive(False)
        self.field = QLineEdit()
        self.field.setPlaceholderText("RRGGBB")
        self.field.setAccessibleName("Colour as RRGGBB")
        self.field.setMaxLength(7)
        self.field.setMaximumWidth(110)
        self.setLayout(row(*self.swatches, self.field, 1, gap=4))
        self._group.idClicked.connect(self._pick)
        self.field.textChanged.connect(self._typed)
        self._typed()

    @property
    def value(self) -> str:
        return self.field.text().strip().removeprefix("#").upper()

    def set(self, colour: str) -> None:
        self.field.setText(colour)

    @Slot(int)
    def _pick(self, number: int) -> None:
        self.field.setText(self.swatches[number].colour)
        self._typed()

    @Slot()
    def _typed(self, *_: object) -> None:
        for swatch in self.swatches:
            same = swatch.colour == self.value or (
                bool(swatch.colour) and series_index(swatch.colour) == series_index(self.value)
            )
            swatch.setChecked(same)
        self.changed.emit()


class LabelledField(QWidget):
    """A label, a control, and an error message below it."""

    def __init__(self, text: str, control: QWidget, hint: str = "") -> None:
        super().__init__()
        self.control = control
        self.error = label("", tone="bad", wrap=True)
        self.error.hide()
        head = label(text)
        head.setBuddy(control)
        parts: list[QWidget] = [head, control, self.error]
        if hint:
            parts.insert(2, label(hint, "caption", wrap=True))
        self.setLayout(column(*parts, gap=4))
        if not control.accessibleName():
            control.setAccessibleName(text)

    def show_error(self, text: str) -> None:
        """Show what is wrong; an empty text clears it."""
        self.error.setText(breakable(text))
        self.error.setVisible(bool(text))
        if self.control.property("wrong") != bool(text):
            self.control.setProperty("wrong", bool(text))
            self.control.style().unpolish(self.control)
            self.control.style().polish(self.control)

    def check(self, check: Callable[[], Any]) -> bool:
        """Run a check that raises BadValue and show its error; return whether the value is valid."""
        try:
            check()
        except BadValue as error:
            self.show_error(sentence(error))
            return False
        self.show_error("")
        return True


class AgentDescriptionForm(QWidget):
    """Notes, colour and tags of an agent."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.notes = QPlainTextEdit()
        self.notes.setTabChangesFocus(True)
        self.notes.setStyleSheet("min-height: 84px; max-height: 84px")
        self.colour = ColourField()
        self.tags = QLineEdit()
        self.tags.setPlaceholderText("baseline, fast")
        self._notes = LabelledField("Notes", self.notes)
        self._colour = LabelledField("Colour", self.colour)
        self._tags = LabelledField("Tags, separated by commas", self.tags)
        self.setLayout(column(self._colour, self._tags, self._notes, gap=12))
        self.notes.textChanged.connect(self.changed)
        self.colour.changed.connect(self.changed)
        self.tags.textChanged.connect(self.changed)

    def show_agent(self, agent: Agent) -> None:
        self.notes.setPlainText(agent.notes)
        self.colour.set(agent.colour)
        self.tags.setText(", ".join(agent.tags))

    @property
    def values(self) -> dict[str, Any]:
        return {"notes": self.notes.toPlainText(), "colour": self.colour.value, "tags": tags_of(self.tags.text())}

    def valid(self) -> bool:
        """Check all fields, and show the errors below them."""
        values = self.values
        checks = (
            self._notes.check(lambda: check_text("notes", values["notes"])),
            self._colour.check(lambda: check_colour(values["colour"])),
            self._tags.check(lambda: check_tags(values["tags"])),
        )
        return all(checks)


class EditAgentDialog(QDialog):
    """Edits the agent with this id; saving can be undone."""

    def __init__(self, context: AppContext, agent: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        add_help_key(self, context, "agents")
        self._context = context
        self._agent = context.league.league.by_id(agent)
        every = context.league.agents(self._agent.game, archived=True)
        self._taken = {other.name: other.archived is not None for other in every if other.id != agent}
        self.setWindowTitle("Edit agent")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFixedWidth(460)
        self.name = QLineEdit(self._agent.name)
        self._name = LabelledField("Name", self.name)
        self.description = AgentDescriptionForm()
        self.description.show_agent(self._agent)
        self.save_button = button("Save", self.save, primary=True)
        self.save_button.setDefault(True)
        title = label("Edit agent", "title")
        buttons = row(1, button("Cancel", self.reject), self.save_button)
        self.setLayout(column(title, self._name, self.description, buttons, margin=24, gap=12))
        self.name.textChanged.connect(self._validate)
        self.description.changed.connect(self._validate)
        self.name.selectAll()
        self._validate()

    @property
    def changes(self) -> dict[str, Any]:
        """The fields that have changed."""
        values = {"name": self.name.text(), **self.description.values}
        return {field: value for field, value in values.items() if value != getattr(self._agent, field)}

    def _check_name(self) -> None:
        name = check_name("name", self.name.text())
        if name in self._taken:
            reason = "an archived agent has this name" if self._taken[name] else "this name is taken"
            raise BadValue("name", name, f"unique in {self._agent.game}: {reason}")

    @Slot()
    def _validate(self) -> None:
        valid = self._name.check(self._check_name) & self.description.valid()
        self.save_button.setEnabled(valid and bool(self.changes))

    @Slot()
    def save(self) -> None:
        changes, state, id = self.changes, self._context.league, self._agent.id
        before = {field: getattr(self._agent, field) for field in changes}
        done = self._context.push_undo(
            f"edit {self._agent.name}",
            lambda: state.change_agent(id, **changes),
            lambda: state.change_agent(id, **before),
        )
        if done:
            self._context.notify(f"{self.name.text()} saved", "good", self._context.undo_offer())
            self.accept()
