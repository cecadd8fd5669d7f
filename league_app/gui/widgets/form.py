"""A form for a dataclass: a control for each field, with its help text, its error and a reset button."""

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
from league_app.gui.widgets.fields import ChoiceBox, FieldControl

NARROW_WIDTH = 560  # pixels; in a narrower form help texts are below their controls
SEARCH_FROM = 12  # fields; longer forms have a search field
CUSTOM = "Custom"
DEFAULTS = "Defaults"


class Form(QWidget):
    """`kind` is a dataclass with fields made by `engine.options.option`.

    The first `shown` fields are visible at once, the rest on request. `fixed` fields are visible but disabled. Those in
    `defaults` have this default instead of their own, and presets leave them alone.
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
        defaults: Mapping[str, Value] | None = None,
    ) -> None:
        super().__init__()
        self.kind, self._own_defaults = kind, dict(defaults or {})
        self._presets = dict(presets or {})
        self._updating = True  # until it is built
        self._narrow: bool | None = None
        self._open = False
        hints = get_type_hints(kind)
        self._rows = [
            _Row(self, field, hints[field.name], self._own_defaults.get(field.name))
            for field in dataclasses.fields(kind)
        ]
        self._by_name = {field.field.name: field for field in self._rows}
        self._visible_count = shown if 0 < shown < len(self._rows) else len(self._rows)
        for name in fixed:
            if name in self._by_name:
                self._by_name[name].set_fixed()
        self._build()
        self._updating = False
        if values:
            self.set_values(values)
        else:
            self._validate()

    def _build(self) -> None:
        whole = column(gap=8)
        if self._presets:
            self.preset = ChoiceBox()
            self.preset.setAccessibleName("Preset")
            self.preset.addItems([*self._presets, DEFAULTS, CUSTOM])
            self.preset.activated.connect(self._on_preset_chosen)
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
        if len(self._rows) <= SEARCH_FROM:
            self.search.hide()
        self.more = button("", self._toggle, link=True)
        whole.addWidget(self.search)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(0)
        whole.addLayout(self._grid)
        whole.addLayout(row(self.more, 1))
        self.error_label = label("", tone="bad", wrap=True)
        self.error_label.hide()
        whole.addWidget(self.error_label)
        whole.addStretch(1)
        self.setLayout(whole)
        self._arrange(False)
        self._show_rows()

    # Values

    def values(self) -> dict[str, Value]:
        """All values. Raises BadValue for an invalid value or combination."""
        values = {row.field.name: row.field.value for row in self._rows}
        build(self.kind, values)
        return values

    def changed(self) -> dict[str, Value]:
        """The values that differ from their defaults."""
        return {name: value for name, value in self.values().items() if value != self._by_name[name].field.default}

    def set_values(self, values: Mapping[str, Value]) -> None:
        """Sets these values. Raises BadValue or UnknownName before anything changes."""
        for name, value in values.items():
            if name not in self._by_name:
                raise UnknownName("setting", name, self._by_name)
            self._by_name[name].field.check(value)
        self._apply(values)

    def restore(self, values: object) -> None:
        """Sets saved values if they are a mapping; resets the form if they are no longer valid."""
        if isinstance(values, Mapping):
            try:
                self.set_values(values)
            except RingsideError:
                self.reset()

    def reset(self) -> None:
        """Sets all defaults."""
        self._apply(self._preset_defaults())

    def _preset_defaults(self) -> dict[str, Value]:
        """The defaults of all fields that presets set."""
        defaults = {row.field.name: row.field.default for row in self._rows if row.field.name not in self._own_defaults}
        return {name: value for name, value in defaults.items() if value is not None}

    def set_preset(self, name: str) -> None:
        """Sets the values of a preset, and the defaults elsewhere."""
        self._apply({**self._preset_defaults(), **self._presets.get(name, {})})

    def _apply(self, values: Mapping[str, Value]) -> None:
        self._updating = True
        for name, value in values.items():
            self._by_name[name].field.set_value(value)
        self._updating = False
        self._validate()
        self.edited.emit()

    @property
    def error(self) -> str:
        """The error message of the form; empty if all values are valid."""
        try:
            self.values()
        except RingsideError as error:
            return str(error)
        return ""

    def show_error_at_field(self, error: Exception) -> bool:
        """Shows an error at the field that it names, until that is edited. Returns False if there is no such field."""
        name = self._field_of(error)
        if name not in self._by_name:
            return False
        self._open = self._open or self._rows.index(self._by_name[name]) >= self._visible_count
        self._show_rows()
        self._by_name[name].show_state(requirement(error), self._by_name[name].changed)
        self._by_name[name].field.control.setFocus()
        return True

    def _field_of(self, error: Exception) -> str:
        """The field that an error names, or whose text has the unknown name; empty if there is none."""
        if isinstance(error, UnknownName) and not error.field:
            for field_row in self._rows:
                control = field_row.field.control
                if isinstance(control, QLineEdit) and error.name in map(str.strip, control.text().split(",")):
                    return field_row.field.name
        return error.field if isinstance(error, RingsideError) else ""

    def control(self, name: str) -> QWidget:
        return self._by_name[name].field.control

    def field(self, name: str) -> FieldControl:
        return self._by_name[name].field

    def problem(self, name: str) -> str:
        """The error shown below this field, or empty."""
        return self._by_name[name].error_label.text()

    # Events

    @Slot()
    def on_edited(self) -> None:
        if not self._updating:
            self._validate()
            self.edited.emit()

    @Slot(int)
    def _on_preset_chosen(self, place: int) -> None:
        name = self.preset.itemText(place)
        if name != CUSTOM:
            self.set_preset(name)

    def _validate(self) -> None:
        """Marks changed and invalid fields."""
        errors, values = dict[str, str](), dict[str, Value]()
        for field_row in self._rows:
            try:
                values[field_row.field.name] = field_row.field.value
            except BadValue as error:
                errors[field_row.field.name] = requirement(error)
        whole = ""
        if not errors:
            try:
                build(self.kind, values)
            except RingsideError as error:
                name, whole = error.field, str(error)
                if name in self._by_name:
                    errors[name], whole = requirement(error), ""
        for field_row in self._rows:
            name = field_row.field.name
            field_row.show_state(errors.get(name, ""), name not in values or values[name] != field_row.field.default)
        self.error_label.setText(whole)
        self.error_label.setVisible(bool(whole))
        if any(
            index >= self._visible_count and field_row.field.name in errors
            for index, field_row in enumerate(self._rows)
        ):
            self._open = True
        self._show_preset(values)
        self._show_rows()

    def _show_preset(self, values: Mapping[str, Value]) -> None:
        if not self._presets:
            return
        defaults, values = (
            self._preset_defaults(),
            {name: value for name, value in values.items() if name not in self._own_defaults},
        )
        same = [name for name, preset in self._presets.items() if values == {**defaults, **preset}]
        text = same[0] if same else DEFAULTS if values == defaults else CUSTOM
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
        for index, field_row in enumerate(self._rows):
            text = f"{field_row.field.title} {field_row.field.name} {field_row.field.help}".casefold()
            field_row.set_shown(
                all(word in text for word in words) if words else self._open or index < self._visible_count
            )
        rest = self._rows[self._visible_count :]
        changed = sum(field_row.changed for field_row in rest)
        text = f"{len(rest)}, {changed} changed" if changed else f"{len(rest)}"
        self.more.setText("Fewer settings" if self._open else f"More settings ({text})")
        self.more.setVisible(bool(rest) and not words)

    # Layout

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._arrange(event.size().width() < NARROW_WIDTH)

    def _arrange(self, narrow: bool) -> None:
        if narrow == self._narrow:
            return
        self._narrow = narrow
        for index, field_row in enumerate(self._rows):
            field_row.add_to(self._grid, index * 3, narrow)
        self._grid.setColumnMinimumWidth(2, 34)  # also without a reset button
        self._grid.setColumnStretch(3, 1)


LABEL, CONTROL = 150, 190  # pixels


class _Row:
    """The widgets of one field: title, control, reset button, help and error."""

    def __init__(self, form: Form, field: dataclasses.Field[Any], kind: type, default_override: Value | None) -> None:
        self.field = FieldControl(field, kind, form.on_edited, default_override)
        self.title = label(self.field.title)
        self.title.setFixedWidth(LABEL)
        self.title.setBuddy(self.field.control)
        self.field.control.setFixedSize(CONTROL, 30)
        self.help = label(self.field.help, "caption", wrap=True)
        self.help.setMinimumWidth(60)
        self.help.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Maximum)
        default = {True: "yes", False: "no", "": "empty"}.get(self.field.default, self.field.default)
        self.reset_button = IconButton("undo", f"Reset {self.field.title} to {default}", self._reset)
        self.error_label = label("", "caption", tone="bad", wrap=True)
        self.error_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Maximum)
        self.error_label.setContentsMargins(0, 0, 0, 8)
        self._shown = True
        self._fixed = False
        self.changed = False  # it differs from its default, and can be reset

    def set_fixed(self) -> None:
        self._fixed = True
        self.field.control.setEnabled(False)

    def _reset(self) -> None:
        if self.field.default is not None:
            self.field.set_value(self.field.default)
            self.field.control.setFocus()

    def add_to(self, grid: QGridLayout, at: int, narrow: bool) -> None:
        top = Qt.AlignmentFlag.AlignTop
        for part in (self.title, self.field.control, self.reset_button, self.help, self.error_label):
            grid.removeWidget(part)
        self.title.setMinimumHeight(30)
        self.title.setMaximumHeight(30)
        grid.addWidget(self.title, at, 0, top)
        grid.addWidget(self.field.control, at, 1, top)
        grid.addWidget(self.reset_button, at, 2, top)
        self.help.setContentsMargins(0, 2 if narrow else 0, 0, 8 if narrow else 4)
        if narrow:
            grid.addWidget(self.help, at + 1, 1, 1, 3)
        else:
            self.help.setMinimumHeight(34)
            grid.addWidget(self.help, at, 3, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self.error_label, at + 2, 1, 1, 3)

    def show_state(self, error: str, changed: bool) -> None:
        changed = changed and self.field.default is not None and not self._fixed
        self.reset_button.setVisible(self._shown and changed)
        if changed != self.changed:  # setting a font is expensive
            self.changed = changed
            font = self.title.font()
            font.setBold(changed)
            self.title.setFont(font)
            self.title.setText(f"{self.field.title} \u2022" if changed else self.field.title)
        self.error_label.setText(error)
        self.error_label.setVisible(self._shown and bool(error))
        self.field.set_invalid(bool(error))

    def set_shown(self, shown: bool) -> None:
        self._shown = shown
        for part in (self.title, self.field.control, self.help):
            part.setVisible(shown)
        self.reset_button.setVisible(shown and self.changed)
        self.error_label.setVisible(shown and bool(self.error_label.text()))


def requirement(error: Exception) -> str:
    """What the value of a field must be; of other errors, the whole text."""
    text = str(error)
    return f"Must be {error.needed}" if isinstance(error, BadValue) else text[:1].upper() + text[1:]
