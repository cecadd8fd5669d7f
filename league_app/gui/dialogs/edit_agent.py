"""What is said about an agent: name, notes, colour, tags. What is wrong is told before anything is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QDialog, QLineEdit, QPlainTextEdit, QWidget

from engine.errors import BadValue
from engine.league.records import Agent, check_colour, check_name, check_tags, check_text
from league_app.gui import theme
from league_app.gui.context import Desk
from league_app.gui.undo_commands import Undo
from league_app.gui.widgets.basics import breakable, button, column, label, plain, row
from league_app.gui.widgets.agent_colours import place_of

SERIES = ("blue", "orange", "green", "purple", "yellow", "contrast")


def tags_of(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def sentence(error: BadValue) -> str:
    """What is needed, without the value that stands there anyway."""
    return "It must be " + str(error).partition(": must be ")[2] + "."


class Swatch(QAbstractButton):
    """A colour to choose, with a mark when it is."""

    def __init__(self, colour: str, name: str) -> None:
        super().__init__()
        self.colour = colour
        self.setCheckable(True)
        self.setAccessibleName(name)
        self.setToolTip(plain(name))
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
    """One of the palette, any other as RRGGBB, or none: then the window picks one."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._group = QButtonGroup(self)
        self.swatches = [Swatch("", "The window's own choice")]
        self.swatches += [Swatch(one, name) for one, name in zip(theme.current().series, SERIES, strict=True)]
        for number, one in enumerate(self.swatches):
            self._group.addButton(one, number)
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
        for one in self.swatches:
            same = one.colour == self.value or (bool(one.colour) and place_of(one.colour) == place_of(self.value))
            one.setChecked(same)
        self.changed.emit()


class Field(QWidget):
    """A label, a control, and what is wrong with it below."""

    def __init__(self, text: str, control: QWidget, hint: str = "") -> None:
        super().__init__()
        self.control = control
        self.wrong = label("", tone="bad", wrap=True)
        self.wrong.hide()
        head = label(text)
        head.setBuddy(control)
        parts: list[QWidget] = [head, control, self.wrong]
        if hint:
            parts.insert(2, label(hint, "caption", wrap=True))
        self.setLayout(column(*parts, gap=4))
        if not control.accessibleName():
            control.setAccessibleName(text)

    def tell(self, what: str) -> bool:
        """What is wrong; whether something is."""
        self.wrong.setText(breakable(what))
        self.wrong.setVisible(bool(what))
        if self.control.property("wrong") != bool(what):
            self.control.setProperty("wrong", bool(what))
            self.control.style().unpolish(self.control)
            self.control.style().polish(self.control)
        return bool(what)

    def check(self, look: Callable[[], Any]) -> bool:
        """Whether it is right."""
        try:
            look()
        except BadValue as error:
            return not self.tell(sentence(error))
        return not self.tell("")


class Said(QWidget):
    """Notes, colour and tags: what may be said about anybody."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.notes = QPlainTextEdit()
        self.notes.setTabChangesFocus(True)
        self.notes.setStyleSheet("min-height: 84px; max-height: 84px")
        self.colour = ColourField()
        self.tags = QLineEdit()
        self.tags.setPlaceholderText("baseline, fast")
        self._notes = Field("Notes", self.notes)
        self._colour = Field("Colour", self.colour)
        self._tags = Field("Tags, with commas between", self.tags)
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

    def sound(self) -> bool:
        """Whether all of it could be kept; else it says below which field why not."""
        values = self.values
        checks = (
            self._notes.check(lambda: check_text("notes", values["notes"])),
            self._colour.check(lambda: check_colour(values["colour"])),
            self._tags.check(lambda: check_tags(values["tags"])),
        )
        return all(checks)


class EditSheet(QDialog):
    """Of one agent, by id; saving can be undone."""

    def __init__(self, desk: Desk, agent: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._agent = desk.league.league.by_id(agent)
        every = desk.league.agents(self._agent.game, archived=True)
        self._taken = {one.name: one.archived is not None for one in every if one.id != agent}
        self.setWindowTitle("Edit agent")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFixedWidth(460)
        self.name = QLineEdit(self._agent.name)
        self._name = Field("Name", self.name)
        self.said = Said()
        self.said.show_agent(self._agent)
        self.save_button = button("Save", self.save, primary=True)
        self.save_button.setDefault(True)
        title = label("Edit agent", "title")
        buttons = row(1, button("Cancel", self.reject), self.save_button)
        self.setLayout(column(title, self._name, self.said, buttons, margin=24, gap=12))
        self.name.textChanged.connect(self._look)
        self.said.changed.connect(self._look)
        self.name.selectAll()
        self._look()

    @property
    def changes(self) -> dict[str, Any]:
        """Only what is another now."""
        values = {"name": self.name.text(), **self.said.values}
        return {field: value for field, value in values.items() if value != getattr(self._agent, field)}

    def _check_name(self) -> None:
        name = check_name("name", self.name.text())
        if name in self._taken:
            told = "an archived agent has this one" if self._taken[name] else "this one is taken"
            raise BadValue("name", name, f"a new one for {self._agent.game}: {told}")

    @Slot()
    def _look(self) -> None:
        sound = self._name.check(self._check_name) & self.said.sound()
        self.save_button.setEnabled(sound and bool(self.changes))

    @Slot()
    def save(self) -> None:
        changes, state, id = self.changes, self._desk.league, self._agent.id
        before = {field: getattr(self._agent, field) for field in changes}
        done = self._desk.do(
            f"edit {self._agent.name}",
            lambda: state.change_agent(id, **changes),
            lambda: state.change_agent(id, **before),
        )
        if done:
            self._desk.say(f"{self.name.text()} is changed", "good", ("Undo", Undo(self._desk)))
            self.accept()
