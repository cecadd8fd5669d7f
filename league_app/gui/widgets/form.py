"""A form made from a dataclass: a control for each field, with its range, its meaning and what is wrong with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, get_type_hints

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLineEdit, QSizePolicy, QWidget

from engine.errors import BadValue, RingsideError, UnknownName
from engine.options import Value, build
from league_app.gui.widgets.basics import IconButton, button, column, label, row
from league_app.gui.widgets.fields import ChoiceBox, Field

NARROW = 560  # pixels: below that, what a field means stands under it
MANY = 12  # fields from which on there is something to search
OWN = "Own settings"
USUAL = "As usual"


class Form(QWidget):
    """`kind` is a dataclass with fields made by `engine.options.option`.

    Of many fields the first `shown` are seen at once, the rest on request; `fixed` ones are seen and cannot be changed,
    those with a `usual` value of their own are no part of a preset.
    """

    edited = Signal()

    def __init__(
        self,
        kind: type[Any],
        values: Mapping[str, Value] | None = None,
        presets: Mapping[str, Mapping[str, Value]] | None = None,
        *,
        shown: int = 0,
        fixed: Collection[str] = (),
        usual: Mapping[str, Value] | None = None,
    ) -> None:
        super().__init__()
        self.kind, self._own = kind, dict(usual or {})
        self._presets = dict(presets or {})
        self._quiet = True  # until it is there
        self._narrow: bool | None = None
        self._open = False
        hints = get_type_hints(kind)
        self._rows = [_Row(self, one, hints[one.name], self._own.get(one.name)) for one in dataclasses.fields(kind)]
        self._by_name = {one.field.name: one for one in self._rows}
        self._first = shown if 0 < shown < len(self._rows) else len(self._rows)
        for name in fixed:
            if name in self._by_name:
                self._by_name[name].fix()
        self._build()
        self._quiet = False
        if values:
            self.set_values(values)
        else:
            self._look()

    def _build(self) -> None:
        whole = column(gap=8)
        if self._presets:
            self.preset = ChoiceBox()
            self.preset.setAccessibleName("Preset")
            self.preset.addItems([*self._presets, USUAL, OWN])
            self.preset.activated.connect(self._take_preset)
            title = label("Preset")
            title.setBuddy(self.preset)
            title.setFixedWidth(LABEL)
            self.preset.setFixedWidth(CONTROL)
            whole.addLayout(row(title, self.preset, 1, gap=12))
        self.search = QLineEdit()
        self.search.setPlaceholderText("Find a setting")
        self.search.setAccessibleName("Find a setting")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._show_rows)
        if len(self._rows) <= MANY:
            self.search.hide()
        self.more = button("", self._toggle, link=True)
        whole.addWidget(self.search)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(0)
        whole.addLayout(self._grid)
        whole.addLayout(row(self.more, 1))
        self.wrong = label("", tone="bad", wrap=True)
        self.wrong.hide()
        whole.addWidget(self.wrong)
        whole.addStretch(1)
        self.setLayout(whole)
        self._arrange(False)
        self._show_rows()

    # Values

    def values(self) -> dict[str, Value]:
        """All of them; BadValue if one cannot be, or if they do not go together."""
        found = {one.field.name: one.field.value for one in self._rows}
        build(self.kind, found)
        return found

    def changed(self) -> dict[str, Value]:
        """Those that are not as usual."""
        return {name: value for name, value in self.values().items() if value != self._by_name[name].field.usual}

    def set_values(self, values: Mapping[str, Value]) -> None:
        """These, the others as they are. BadValue or UnknownName, and nothing changes, if one cannot be."""
        for name, value in values.items():
            if name not in self._by_name:
                raise UnknownName("setting", name, self._by_name)
            self._by_name[name].field.check(value)
        self._put(values)

    def reset(self) -> None:
        """All as usual."""
        self._put(self._usual())

    def _usual(self) -> dict[str, Value]:
        """Of all that a preset may say something of."""
        given = {one.field.name: one.field.usual for one in self._rows if one.field.name not in self._own}
        return {name: value for name, value in given.items() if value is not None}

    def set_preset(self, name: str) -> None:
        """As usual but for what the preset says."""
        self._put({**self._usual(), **self._presets.get(name, {})})

    def _put(self, values: Mapping[str, Value]) -> None:
        self._quiet = True
        for name, value in values.items():
            self._by_name[name].field.set_value(value)
        self._quiet = False
        self._look()
        self.edited.emit()

    @property
    def error(self) -> str:
        """What is wrong, for a place where the form is not seen; empty if nothing is."""
        try:
            self.values()
        except RingsideError as error:
            return str(error)
        return ""

    def accuse(self, error: Exception) -> bool:
        """Tell it at the field that an error is about, until that is edited; whether there is one."""
        name = str(error).partition(" = ")[0]
        if name not in self._by_name:
            return False
        self._open = self._open or self._rows.index(self._by_name[name]) >= self._first
        self._show_rows()
        self._by_name[name].tell(needed(error), self._by_name[name].changed)
        self._by_name[name].field.control.setFocus()
        return True

    def control(self, name: str) -> QWidget:
        return self._by_name[name].field.control

    def field(self, name: str) -> Field:
        return self._by_name[name].field

    def problem(self, name: str) -> str:
        """What stands below this field, if something is wrong with it."""
        return self._by_name[name].wrong.text()

    # Looking after it

    @Slot()
    def heed(self) -> None:
        """A field was edited."""
        if not self._quiet:
            self._look()
            self.edited.emit()

    @Slot(int)
    def _take_preset(self, place: int) -> None:
        name = self.preset.itemText(place)
        if name != OWN:
            self.set_preset(name)

    def _look(self) -> None:
        """Marks what is not as usual, and what cannot be."""
        wrong, found = dict[str, str](), dict[str, Value]()
        for one in self._rows:
            try:
                found[one.field.name] = one.field.value
            except BadValue as error:
                wrong[one.field.name] = needed(error)
        whole = ""
        if not wrong:
            try:
                build(self.kind, found)
            except RingsideError as error:
                name, whole = str(error).partition(" = ")[0], str(error)
                if name in self._by_name:
                    wrong[name], whole = needed(error), ""
        for one in self._rows:
            name = one.field.name
            one.tell(wrong.get(name, ""), name not in found or found[name] != one.field.usual)
        self.wrong.setText(whole)
        self.wrong.setVisible(bool(whole))
        if any(place >= self._first and one.field.name in wrong for place, one in enumerate(self._rows)):
            self._open = True
        self._show_preset(found)
        self._show_rows()

    def _show_preset(self, found: Mapping[str, Value]) -> None:
        if not self._presets:
            return
        usual, found = self._usual(), {name: value for name, value in found.items() if name not in self._own}
        same = [name for name, values in self._presets.items() if found == {**usual, **values}]
        text = same[0] if same else USUAL if found == usual else OWN
        self.preset.blockSignals(True)
        self.preset.setCurrentText(text)
        self.preset.blockSignals(False)

    @Slot()
    def _toggle(self) -> None:
        self._open = not self._open
        self._show_rows()

    @Slot()
    def _show_rows(self) -> None:
        words = self.search.text().casefold().split()
        for place, one in enumerate(self._rows):
            text = f"{one.field.title} {one.field.name} {one.field.help}".casefold()
            one.set_shown(all(word in text for word in words) if words else self._open or place < self._first)
        rest = self._rows[self._first :]
        changed = sum(one.changed for one in rest)
        told = f"{len(rest)}, {changed} changed" if changed else f"{len(rest)}"
        self.more.setText("Fewer settings" if self._open else f"More settings ({told})")
        self.more.setVisible(bool(rest) and not words)

    # Room

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._arrange(event.size().width() < NARROW)

    def _arrange(self, narrow: bool) -> None:
        if narrow == self._narrow:
            return
        self._narrow = narrow
        for place, one in enumerate(self._rows):
            one.place(self._grid, place * 3, narrow)
        self._grid.setColumnMinimumWidth(2, 34)  # whether there is a way back or not
        self._grid.setColumnStretch(3, 1)


LABEL, CONTROL = 150, 190  # pixels


class _Row:
    """Title, control, a way back to the usual value, what it means, and what is wrong."""

    def __init__(self, form: Form, field: dataclasses.Field[Any], kind: type, own: Value | None) -> None:
        self.field = Field(field, kind, form.heed, own)
        self.title = label(self.field.title)
        self.title.setFixedWidth(LABEL)
        self.title.setBuddy(self.field.control)
        self.field.control.setFixedSize(CONTROL, 30)
        self.help = label(self.field.help, "caption", wrap=True)
        self.help.setMinimumWidth(60)
        self.help.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Maximum)
        usual = {True: "yes", False: "no", "": "nothing"}.get(self.field.usual, self.field.usual)
        self.undo = IconButton("undo", f"{self.field.title}: back to {usual}", self._reset)
        self.wrong = label("", "caption", tone="bad", wrap=True)
        self.wrong.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Maximum)
        self.wrong.setContentsMargins(0, 0, 0, 8)
        self._shown = True
        self._fixed = False
        self.changed = False  # it is not as usual, and could be

    def fix(self) -> None:
        self._fixed = True
        self.field.control.setEnabled(False)

    def _reset(self) -> None:
        if self.field.usual is not None:
            self.field.set_value(self.field.usual)
            self.field.control.setFocus()

    def place(self, grid: QGridLayout, at: int, narrow: bool) -> None:
        top = Qt.AlignmentFlag.AlignTop
        for part in (self.title, self.field.control, self.undo, self.help, self.wrong):
            grid.removeWidget(part)
        self.title.setMinimumHeight(30)
        self.title.setMaximumHeight(30)
        grid.addWidget(self.title, at, 0, top)
        grid.addWidget(self.field.control, at, 1, top)
        grid.addWidget(self.undo, at, 2, top)
        self.help.setContentsMargins(0, 2 if narrow else 0, 0, 8 if narrow else 4)
        if narrow:
            grid.addWidget(self.help, at + 1, 1, 1, 3)
        else:
            self.help.setMinimumHeight(34)
            grid.addWidget(self.help, at, 3, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self.wrong, at + 2, 1, 1, 3)

    def tell(self, wrong: str, changed: bool) -> None:
        changed = changed and self.field.usual is not None and not self._fixed
        self.undo.setVisible(self._shown and changed)
        if changed != self.changed:  # a font costs more than it looks
            self.changed = changed
            font = self.title.font()
            font.setBold(changed)
            self.title.setFont(font)
            self.title.setText(f"{self.field.title} \u2022" if changed else self.field.title)
        self.wrong.setText(wrong)
        self.wrong.setVisible(self._shown and bool(wrong))
        self.field.mark(bool(wrong))

    def set_shown(self, shown: bool) -> None:
        self._shown = shown
        for part in (self.title, self.field.control, self.help):
            part.setVisible(shown)
        self.undo.setVisible(shown and self.changed)
        self.wrong.setVisible(shown and bool(self.wrong.text()))


def needed(error: Exception) -> str:
    """What a value must be, of an error that says which one it is."""
    text = str(error)
    _, found, rest = text.partition(": must be ")
    return f"Must be {rest}" if found else text[:1].upper() + text[1:]
