"""The chart widget: lines over steps or time with names, intervals and a crosshair, or an empty state.

pyqtgraph is imported when the first line is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QFocusEvent, QGuiApplication, QKeyEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QFileDialog, QMenu, QSizePolicy, QStackedLayout, QWidget

from engine.errors import RingsideError
from league_app.gui import theme
from league_app.gui.widgets.basics import EmptyState
from league_app.gui.widgets.chart.series import (
    Axis,
    ChartLine,
    PreparedLine,
    Reference,
    format_number,
    format_position,
    prepare_line,
)
from league_app.gui.widgets.file_dialogs import save_file

if TYPE_CHECKING:
    from league_app.gui.widgets.chart.plot import Plot

__all__ = ["Chart", "ChartLine", "Reference"]


class Chart(QWidget):
    """Drag or Ctrl+wheel zooms, a double click shows everything, arrow keys move the crosshair."""

    saved = Signal(str)  # path
    failed = Signal(object)  # the Exception that prevented saving

    def __init__(
        self,
        title: str = "",
        *,
        axis: Axis = "step",
        percent: bool = False,
        x_title: str = "",
        y_title: str = "",
        empty: str = "No values yet",
        icon: str = "chart",
    ) -> None:
        super().__init__()
        self.title = title
        self._axis: Axis = axis
        self._unit = "step"
        self._percent, self._titles = percent, (x_title, y_title)
        self._log, self._smoothing = False, 0.0
        self._lines: list[ChartLine] = []
        self._references: list[Reference] = []
        self._prepared: list[PreparedLine] = []
        self._plot: Plot | None = None
        self.empty = EmptyState(icon, empty)
        self.empty.sentence.setMinimumWidth(120)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self.setMinimumSize(160, 120)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(title or "Chart")
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._show_menu)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(360, 220)

    # Content

    def set_lines(self, lines: Sequence[ChartLine], references: Sequence[Reference] = ()) -> None:
        """Replaces all lines. NaN and infinities are gaps; lines without finite values are not shown."""
        self._lines, self._references = list(lines), list(references)
        self._show()

    def set_log(self, on: bool) -> None:
        """A logarithmic scale, if any value is above 0."""
        if on != self._log:
            self._log = on
            self._show()

    def set_smoothing(self, weight: float) -> None:
        """Sets the weight, from 0 for none to nearly 1, for lines with `smooth`."""
        if weight != self._smoothing:
            self._smoothing = weight
            self._show()

    def set_view(self, smoothing: float, log: bool) -> None:
        """Sets both without drawing; `set_lines` must follow."""
        self._smoothing, self._log = smoothing, log

    def set_axis(self, axis: Axis, title: str = "", unit: str = "step") -> None:
        """Sets the kind of x values, and what steps are, without drawing; `set_lines` must follow."""
        self._axis, self._unit, self._titles = axis, unit, (title, self._titles[1])

    def set_empty(self, sentence: str) -> None:
        self.empty.sentence.setText(sentence)

    @property
    def lines(self) -> list[ChartLine]:
        return list(self._lines)

    @property
    def shown(self) -> list[PreparedLine]:
        """The visible lines, as they are drawn."""
        return list(self._prepared)

    @property
    def plot(self) -> Plot | None:
        """None while the chart is empty."""
        return self._plot if self._stack.currentWidget() is self._plot else None

    def _show(self) -> None:
        log = self._log and any(np.any(np.asarray(line.y, np.float64) > 0) for line in self._lines)
        prepared = [prepare_line(line, self._smoothing, log) for line in self._lines]
        self._prepared = [line for line in prepared if np.isfinite(line.y).any()]
        self.setAccessibleDescription("; ".join(self._latest_values()))
        if not self._prepared:
            self._stack.setCurrentWidget(self.empty)
            return
        plot = self._ensure_plot()
        plot.set_axes(self._axis, self._percent, log, self._unit)
        plot.set_titles(*self._titles)
        plot.default_name = self.title.rpartition(": ")[2]
        plot.show_lines(self._prepared, self._references, (0.0, 1.0) if self._percent else None)
        self._stack.setCurrentWidget(plot)

    def _latest_values(self) -> Iterator[str]:
        """For screen readers."""
        for line in self._prepared[:12]:
            last = int(np.flatnonzero(np.isfinite(line.y))[-1])
            value = float(line.value[last])
            text = f"{format_number(value * 100, 3)} %" if self._percent else format_number(value)
            where = format_position(float(line.x[last]), self._axis, self._unit)
            yield f"{line.line.name or self.title}: {text} at {where}"

    def _ensure_plot(self) -> Plot:
        if self._plot is None:
            from league_app.gui.widgets.chart.plot import Plot  # takes half a second

            self._plot = Plot(self)
            self._plot.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the chart has its own
            self._stack.addWidget(self._plot)
        return self._plot

    # Qt events

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange and self._plot is not None:
            self._plot.apply_theme()
            self._plot.set_titles(*self._titles)
        super().changeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        plot, key = self.plot, event.key()
        if plot is None:
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            plot.step_cursor(-1 if key == Qt.Key.Key_Left else 1)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Minus):
            plot.zoom(0.8 if key == Qt.Key.Key_Plus else 1.25)
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_0):
            plot.reset()
        elif key == Qt.Key.Key_Escape and plot.cursor_at is not None:
            plot.set_cursor(None)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusOutEvent(event)
        if self._plot is not None:
            self._plot.set_cursor(None)
        self.update()

    # Export
    #
    # pyqtgraph's exporters are not used: its CSV has no intervals, log values instead of the originals and no
    # protection against formulas; its images lack the title, and the names that `Plot` paints over the scene.

    def csv(self) -> str:
        """All values as CSV."""
        from league_app.core.export import csv_lines

        heading = {"step": self._unit, "elapsed": "seconds", "date": "at", "number": "x"}[self._axis]
        return "".join(csv_lines(["line", heading, "value", "low", "high"], self._csv_rows(heading)))

    def _csv_rows(self, heading: str) -> Iterator[dict[str, Any]]:
        for line in self._prepared:
            low, high = (np.asarray(end, np.float64).ravel() if end is not None else None
                         for end in (line.line.low, line.line.high))  # fmt: skip
            values = np.asarray(line.line.y, np.float64).ravel()
            for index, x in enumerate(np.asarray(line.line.x, np.float64).ravel()):
                ends = {
                    name: float(end[index]) if end is not None else None for name, end in (("low", low), ("high", high))
                }
                yield {"line": line.line.name, heading: float(x), "value": float(values[index]), **ends}

    def save(self, path: Path | str) -> Path:
        """Saves the values if the suffix is .csv, else a PNG of twice the size. Raises BadValue if that fails."""
        from PySide6.QtCore import QBuffer, QIODevice

        from engine.files import write_file

        if Path(path).suffix.lower() == ".csv":
            return write_file(path, self.csv().encode(), overwrite=True)  # the dialog has asked
        image = QBuffer()
        image.open(QIODevice.OpenModeFlag.WriteOnly)
        self.to_pixmap().save(image, "PNG")
        return write_file(path, bytes(image.data().data()), overwrite=True)

    def to_pixmap(self, ratio: float = 2.0) -> QPixmap:
        """The chart with its title above."""
        from PySide6.QtCore import QRectF

        top = 32 if self.title else 0
        pixmap = QPixmap(round(self.width() * ratio), round((self.height() + top) * ratio))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(theme.colour("surface"))
        if self._plot is not None:
            self._plot.set_cursor(None)
        painter = QPainter(pixmap)
        painter.setFont(theme.font("section"))
        painter.setPen(theme.colour("text"))
        painter.drawText(QRectF(12, 8, self.width() - 24, 24), int(Qt.AlignmentFlag.AlignVCenter), self.title)
        painter.end()
        self.render(pixmap, QPoint(0, top))
        return pixmap

    def copy(self) -> None:
        """Copies all values as tab-separated text."""
        import csv
        import io

        out = io.StringIO()
        csv.writer(out, "excel-tab").writerows(csv.reader(io.StringIO(self.csv())))
        QGuiApplication.clipboard().setText(out.getvalue())

    @Slot(QPoint)
    def _show_menu(self, at: QPoint) -> None:
        if self.plot is None:
            return
        menu = QMenu(self)
        for text in ("Show all", "Copy values", "Save image...", "Save values..."):
            menu.addAction(QAction(text, menu))
        menu.triggered.connect(self._on_menu_triggered)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.mapToGlobal(at))

    @Slot(QAction)
    def _on_menu_triggered(self, action: QAction) -> None:
        match action.text().split(" ")[-1].rstrip("."), action.text()[:4]:
            case "all", _:
                self.reset()
            case _, "Copy":
                self.copy()
            case "image", _:
                self.choose_file("png")
            case "values", _:
                self.choose_file("csv")

    def reset(self) -> None:
        """Shows everything."""
        if self._plot is not None:
            self._plot.reset()

    def choose_file(self, suffix: str) -> QFileDialog:
        """Opens a file dialog, and saves the chart there."""
        name = "".join(letter if letter.isalnum() else "-" for letter in self.title.lower()).strip("-") or "chart"
        title, filters = {
            "png": ("Save chart image", "PNG images (*.png)"),
            "csv": ("Save chart values", "CSV files (*.csv)"),
        }[suffix]
        return save_file(self, title, self._save_to, filters, f"{name}.{suffix}")

    @Slot(str)
    def _save_to(self, path: str) -> None:
        try:
            self.saved.emit(str(self.save(path)))
        except RingsideError as error:
            self.failed.emit(error)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setPen(QPen(theme.colour("accent"), 1))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
