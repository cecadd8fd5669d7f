"""Controls for one value each, of a type, in a range: a number of any size, a choice, yes or no, a text.

They let a person type anything and say of it afterwards what is wrong; a box that swallows keys does not.
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
    """A whole number or a fraction, as large or as fine as Python has them: Qt's own boxes end at 2**31 or round."""

    edited = Signal()

    def __init__(self, whole: bool = True, low: float | None = None, high: float | None = None) -> None:
        super().__init__()
        self._whole, self._low, self._high = whole, low, high
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccelerated(True)
        self.lineEdit().setTextMargins(6, 0, 0, 0)  # as far from the edge as in the other controls
        self.lineEdit().textChanged.connect(self._changed)

    @Slot()
    def _changed(self) -> None:
        self.edited.emit()

    def set_value(self, value: float) -> None:
        self.lineEdit().setText(str(int(value)) if self._whole else repr(float(value)).removesuffix(".0"))

    def value(self) -> int | float:
        """Raises ValueError when what stands there is no such number."""
        text = self.text().strip().replace(" ", "").replace("\u2212", "-")
        return int(text.replace(",", "")) if self._whole else float(text)

    def stepBy(self, steps: int) -> None:  # noqa: N802
        try:
            value = self.value()
        except ValueError:
            return
        wanted = value + steps * (1 if self._whole else self._step(value))
        if not self._whole:
            wanted = float(f"{wanted:.12g}")
        wanted = max(wanted, self._low) if self._low is not None else wanted
        wanted = min(wanted, self._high) if self._high is not None else wanted
        self.set_value(wanted)
        self.selectAll()

    def _step(self, value: float) -> float:
        """A tenth of its size, or of its range where it is none."""
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
            event.ignore()  # whoever scrolls past must not change a setting


class ChoiceBox(Combo):
    """One of a few."""

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


class Field:
    """A field of a dataclass as a control: what stands in it, and what is wrong with that."""

    def __init__(
        self, field: dataclasses.Field[Any], kind: type, edited: Callable[[], None], usual: Value | None = None
    ) -> None:
        self.name, self.kind = field.name, kind
        given = field.default if field.default is not dataclasses.MISSING else None
        self.usual: Value | None = given if usual is None else usual
        self.help = str(field.metadata.get("help", ""))
        self.rules = field.metadata
        self.choices: tuple[Value, ...] = tuple(field.metadata.get("choices") or ())
        self.title = str(field.metadata.get("title") or field.name.replace("_", " ").capitalize())
        rules = dataclasses.field(default=self.usual, metadata=field.metadata)
        self._alone = dataclasses.make_dataclass("_Alone", [(field.name, kind, rules)], frozen=True)
        self.control = self._made(edited)
        self.control.setAccessibleName(self.title)
        self.control.setAccessibleDescription(self.help)
        if self.usual is not None:
            self.set_value(self.usual)

    def _made(self, edited: Callable[[], None]) -> QWidget:
        if self.choices:
            box = ChoiceBox()
            for one in self.choices:
                box.addItem(str(one))
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
        """Raises BadValue for what is no value of the type, or out of its range."""
        control, found = self.control, None
        if isinstance(control, ChoiceBox):
            found = self.choices[control.currentIndex()]
        elif isinstance(control, QCheckBox):
            return control.isChecked()
        elif isinstance(control, NumberBox):
            try:
                found = control.value()
            except (ValueError, OverflowError):
                wanted = "a whole number" if self.kind is int else "a number"
                raise BadValue(self.name, control.text(), wanted) from None
        else:
            assert isinstance(control, QLineEdit)
            found = control.text()
        self.check(found)
        return found

    def check(self, value: object) -> None:
        """Of this field alone: what goes together with what is for the whole to say."""
        build(self._alone, {self.name: value})

    def set_value(self, value: Value) -> None:
        """Without asking whether it is a good one; of the right type it must be."""
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

    def mark(self, wrong: bool) -> None:
        if bool(self.control.property("wrong")) != wrong:
            self.control.setProperty("wrong", wrong)
            self.control.style().unpolish(self.control)
            self.control.style().polish(self.control)
