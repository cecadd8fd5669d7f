"""The bar above the charts of a session: smoothing, scale and horizontal axis, which are saved as preferences."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QSlider, QWidget

from league_app.core.formatting import percent, plural_of
from league_app.core.preferences import Preferences
from league_app.gui.widgets.basics import ElidedLabel, label, row
from league_app.gui.widgets.chart.series import Axis
from league_app.gui.widgets.fields import ChoiceBox


class ChartToolbar(QWidget):
    changed = Signal()

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self.smoothing = QSlider(Qt.Orientation.Horizontal)
        self.smoothing.setRange(0, 99)
        self.smoothing.setFixedWidth(90)
        self.smoothing.setValue(preferences.get("training/smoothing", 60))
        self.smoothing.setAccessibleName("Smoothing")
        self.log = QCheckBox("Log scale")
        self.log.setChecked(preferences.get("training/log", False))
        self.axis = ChoiceBox()
        self.axis.setAccessibleName("Horizontal axis")
        self.axis.addItems(["Steps", "Time"])
        self.axis.setFixedSize(128, 30)
        self.axis.setCurrentIndex(1 if preferences.get("training/axis", "step") == "elapsed" else 0)
        self.comparison = ElidedLabel("", "caption")  # elided, so that it never widens the page
        self.comparison.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.comparison.setMinimumWidth(0)
        inner = row(label("Smoothing", "muted"), self.smoothing, self.log, self.axis, self.comparison)
        inner.setStretch(4, 1)
        self.setLayout(inner)
        self._show_smoothing()
        self.smoothing.valueChanged.connect(self._on_changed)
        self.log.toggled.connect(self._on_changed)
        self.axis.edited.connect(self._on_changed)

    @property
    def view(self) -> tuple[float, bool, Axis]:
        """The arguments of `MetricCharts.set_view`."""
        axis: Axis = "elapsed" if self.axis.currentIndex() == 1 else "step"
        return self.smoothing.value() / 100, self.log.isChecked(), axis

    def show_sessions(self, units: set[str], count: int) -> None:
        """Names the axis after the unit of the sessions in the charts, and says how many these are."""
        self.axis.setItemText(0, plural_of(next(iter(units))).capitalize() if len(units) == 1 else "Steps")
        self.comparison.setText(f"Comparing {count} sessions" if count > 1 else "")

    @Slot()
    def _on_changed(self) -> None:
        self._show_smoothing()
        *_, axis = self.view
        for name, value in (("smoothing", self.smoothing.value()), ("log", self.log.isChecked()), ("axis", axis)):
            self._preferences.set(f"training/{name}", value)
        self.changed.emit()

    def _show_smoothing(self) -> None:
        self.smoothing.setToolTip(percent(self.smoothing.value() / 100))
