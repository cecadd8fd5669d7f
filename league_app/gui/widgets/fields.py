"""Controls for one value: a number of any size, a choice, a check box or a text.

They accept any input and report errors afterwards, instead of ignoring keys.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QCheckBox, QComboBox, QLineEdit, QWidget

from engine.errors import BadValue
from engine.options import Value, build
from league_app.gui.widgets.basics import Combo

StepFlag = QAbstractSpinBox.StepEnabledFlag


class NumberBox(QAbstractSpinBox):
    """An int or float of any size and precision; Qt's own spin boxes end at 2**31 or round."""

    edited = Signal()

    def __init__(self, whole: bool = True, low: float | None = None, high: float | None = None) -> None:
        super().__init__()
        self._whole, self._low, self._high = whole, low, high
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccelerated(True)
        self.lineEdit().setTextMargins(6, 0, 0, 0)  # the same margin as in the other controls
        self.lineEdit().textChanged.connect(self._changed)

    @Slot()
    def _changed(self) -> None:
        self.edited.emit()

    def set_value(self, value: float) -> None:
        self.lineEdit().setText(str(int(value)) if self._whole else repr(float(value)).removesuffix(".0"))

    def value(self) -> int | float:
        """Raises ValueError if the text is not a number of this type."""
        text = self.text().strip().replace(" ", "").replace("\u2212", "-")
        return int(text.replace(",", "")) if self._whole else float(text)

    def whole_number(self, name: str, low: int, high: int) -> int:
        """The value, if it is a whole number in these bounds; otherwise raises BadValue with this name."""
        try:
            value = int(self.value())
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise BadValue(name, self.text(), f"a whole number from {low} to {high:,}")
        return value

    def stepBy(self, steps: int) -> None:  # noqa: N802
        try:
            value = self.value()
        except ValueError:
            return
        stepped = value + steps * (1 if self._whole else self._step(value))
        if not self._whole:
            stepped = float(f"{stepped:.12g}")
        stepped = max(stepped, self._low) if self._low is not None else stepped
        stepped = min(stepped, self._high) if self._high is not None else stepped
        self.set_value(stepped)
        self.selectAll()

    def _step(self, value: float) -> float:
        """A tenth of the value's power of ten; for zero, of the upper bound or of 10."""
        size = abs(value) or min(abs(self._high or 10.0), 10.0)
        return float(10.0 ** (math.floor(math.log10(size)) - 1)) if math.isfinite(size) else 0.0

    def stepEnabled(self) -> StepFlag:  # noqa: N802
        try:
            value = self.value()
        except ValueError:
            return StepFlag.StepNone
        up = StepFlag.StepUpEnabled if self._high is None or value < self._high else StepFlag.StepNone
        down = StepFlag.StepDownEnabled if self._low is None or value > self._low else StepFlag.StepNone
        return up | down

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()  # scrolling the page must not change a setting


class ChoiceBox(Combo):
    """A combo box that ignores the wheel unless it has the focus."""

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(6)
        self.currentIndexChanged.connect(self._changed)

    @Slot()
    def _changed(self) -> None:
        self.edited.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class FieldControl:
    """The control of one dataclass field; reads and checks its value."""

    def __init__(
        self, field: dataclasses.Field[Any], kind: type, edited: Callable[[], None], default: Value | None = None
    ) -> None:
        self.name, self.kind = field.name, kind
        given = field.default if field.default is not dataclasses.MISSING else None
        self.default: Value | None = given if default is None else default
        self.help = str(field.metadata.get("help", ""))
        self.rules = field.metadata
        self.choices: tuple[Value, ...] = tuple(field.metadata.get("choices") or ())
        self.title = str(field.metadata.get("title") or field.name.replace("_", " ").capitalize())
        rules = dataclasses.field(default=self.default, metadata=field.metadata)
        self._checker = dataclasses.make_dataclass("_Alone", [(field.name, kind, rules)], frozen=True)
        self.control = self._create_control(edited)
        self.control.setAccessibleName(self.title)
        self.control.setAccessibleDescription(self.help)
        if self.default is not None:
            self.set_value(self.default)

    def _create_control(self, edited: Callable[[], None]) -> QWidget:
        if self.choices:
            box = ChoiceBox()
            for choice in self.choices:
                box.addItem(str(choice))
            box.edited.connect(edited)
            return box
        if self.kind is bool:
            check = QCheckBox("Yes")
            check.toggled.connect(edited)
            return check
        if self.kind in (int, float):
            number = NumberBox(self.kind is int, self.rules.get("low"), self.rules.get("high"))
            number.edited.connect(edited)
            return number
        text = QLineEdit()
        text.textChanged.connect(edited)
        return text

    @property
    def value(self) -> Value:
        """Raises BadValue if the input has the wrong type or is out of range."""
        control, value = self.control, None
        if isinstance(control, ChoiceBox):
            value = self.choices[control.currentIndex()]
        elif isinstance(control, QCheckBox):
            return control.isChecked()
        elif isinstance(control, NumberBox):
            try:
                value = control.value()
            except (ValueError, OverflowError):
                expected = "a whole number" if self.kind is int else "a number"
                raise BadValue(self.name, control.text(), expected) from None
        else:
            assert isinstance(control, QLineEdit)
            value = control.text()
        self.check(value)
        return value

    def check(self, value: object) -> None:
        """Checks this field alone; the dataclass checks combinations of fields."""
        build(self._checker, {self.name: value})

    def set_value(self, value: Value) -> None:
        """Sets a value of the right type without checking its range."""
        control = self.control
        if isinstance(control, ChoiceBox):
            control.setCurrentIndex(self.choices.index(value))
        elif isinstance(control, QCheckBox):
            control.setChecked(bool(value))
        elif isinstance(control, NumberBox):
            assert isinstance(value, int | float)
            control.set_value(value)
        else:
            assert isinstance(control, QLineEdit)
            control.setText(str(value))

    def set_invalid(self, wrong: bool) -> None:
        if bool(self.control.property("wrong")) != wrong:
            self.control.setProperty("wrong", wrong)
            self.control.style().unpolish(self.control)
            self.control.style().polish(self.control)
