"""A chart: lines over steps or time, with names at their ends, intervals, a crosshair; or a sentence where there is
nothing to show. pyqtgraph, which draws it, is loaded with the first line."""

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
from league_app.gui.widgets.basics import Empty
from league_app.gui.widgets.chart.series import Axis, Drawn, Line, Reference, drawn, number, place

if TYPE_CHECKING:
    from league_app.gui.widgets.chart.plot import Plot

__all__ = ["Chart", "Line", "Reference"]


class Chart(QWidget):
    """`set_lines` shows; the rest says how. Drag to look closer, double click for all of it, Ctrl and wheel to zoom,
    arrows to read the values."""

    saved = Signal(str)  # where to
    failed = Signal(object)  # why it could not be saved: an Exception

    def __init__(
        self,
        title: str = "",
        *,
        axis: Axis = "step",
        percent: bool = False,
        x_title: str = "",
        y_title: str = "",
        empty: str = "Nothing has been measured yet",
        icon: str = "chart",
    ) -> None:
        super().__init__()
        self.title = title
        self._axis: Axis = axis
        self._percent, self._titles = percent, (x_title, y_title)
        self._log, self._smoothing = False, 0.0
        self._lines: list[Line] = []
        self._references: list[Reference] = []
        self._drawn: list[Drawn] = []
        self._plot: Plot | None = None
        self.empty = Empty(icon, empty)
        self.empty.sentence.setMinimumWidth(120)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self.setMinimumSize(160, 120)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(title or "Chart")
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(360, 220)

    # What it shows

    def set_lines(self, lines: Sequence[Line], references: Sequence[Reference] = ()) -> None:
        """These from now on. Values that are no numbers are gaps; lines without any are not shown."""
        self._lines, self._references = list(lines), list(references)
        self._show()

    def set_log(self, on: bool) -> None:
        """Values on a logarithmic scale; where none is above 0 it stays as it is."""
        if on != self._log:
            self._log = on
            self._show()

    def set_smoothing(self, weight: float) -> None:
        """From 0, none, to nearly 1; of lines that say `smooth`."""
        if weight != self._smoothing:
            self._smoothing = weight
            self._show()

    def set_view(self, smoothing: float, log: bool) -> None:
        """Of the lines that are given next: whoever changes all of it draws once."""
        self._smoothing, self._log = smoothing, log

    def set_axis(self, axis: Axis, title: str = "") -> None:
        """What the places of the lines are; they are given anew with it."""
        self._axis, self._titles = axis, (title, self._titles[1])

    def set_empty(self, sentence: str) -> None:
        self.empty.sentence.setText(sentence)

    @property
    def lines(self) -> list[Line]:
        return list(self._lines)

    @property
    def shown(self) -> list[Drawn]:
        """The lines that can be seen, as they are drawn."""
        return list(self._drawn)

    @property
    def plot(self) -> Plot | None:
        """What draws it; there is none while there is nothing to show."""
        return self._plot if self._stack.currentWidget() is self._plot else None

    def _show(self) -> None:
        log = self._log and any(np.any(np.asarray(one.y, np.float64) > 0) for one in self._lines)
        made = [drawn(one, self._smoothing, log) for one in self._lines]
        self._drawn = [one for one in made if np.isfinite(one.y).any()]
        self.setAccessibleDescription("; ".join(self._latest()))
        if not self._drawn:
            self._stack.setCurrentWidget(self.empty)
            return
        plot = self._made_plot()
        plot.set_kinds(self._axis, self._percent, log)
        plot.set_titles(*self._titles)
        plot.unnamed = self.title.rpartition(": ")[2]
        plot.show_lines(self._drawn, self._references, (0.0, 1.0) if self._percent else None)
        self._stack.setCurrentWidget(plot)

    def _latest(self) -> Iterator[str]:
        """For those who cannot see it."""
        for one in self._drawn[:12]:
            last = int(np.flatnonzero(np.isfinite(one.y))[-1])
            value = float(one.value[last])
            told = f"{number(value * 100, 3)} %" if self._percent else number(value)
            yield f"{one.line.name or self.title}: {told} at {place(float(one.x[last]), self._axis)}"

    def _made_plot(self) -> Plot:
        if self._plot is None:
            from league_app.gui.widgets.chart.plot import Plot  # half a second, when it is needed

            self._plot = Plot(self)
            self._plot.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # this widget's own
            self._stack.addWidget(self._plot)
        return self._plot

    # What Qt asks

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange and self._plot is not None:
            self._plot.dress()
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
            plot.point(None)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusOutEvent(event)
        if self._plot is not None:
            self._plot.point(None)
        self.update()

    # To take away

    def csv(self) -> str:
        """All values, line by line."""
        from league_app.cli.leagues import csv_lines

        return "".join(csv_lines(self._rows()))

    def _rows(self) -> Iterator[dict[str, Any]]:
        heading = {"step": "step", "elapsed": "seconds", "date": "at", "number": "x"}[self._axis]
        for one in self._drawn:
            low, high = (np.asarray(end, np.float64).ravel() if end is not None else None
                         for end in (one.line.low, one.line.high))  # fmt: skip
            values = np.asarray(one.line.y, np.float64).ravel()
            for index, x in enumerate(np.asarray(one.line.x, np.float64).ravel()):
                ends = {
                    name: float(end[index]) if end is not None else None for name, end in (("low", low), ("high", high))
                }
                yield {"line": one.line.name, heading: float(x), "value": float(values[index]), **ends}

    def save(self, path: Path | str) -> Path:
        """As a picture of twice the size, or as a table if it is called .csv; RingsideError if that fails."""
        from engine.errors import BadValue
        from engine.files import check_path, write_whole

        target = check_path("file", path)
        try:
            if target.suffix.lower() == ".csv":
                write_whole(target, self.csv().encode())
            elif not self.picture().save(str(target), "PNG"):
                raise OSError(None, "it could not be written")
        except OSError as error:
            raise BadValue("file", str(path), f"one that can be written ({error.strerror or error})") from None
        return target

    def picture(self, ratio: float = 2.0) -> QPixmap:
        """With its title above."""
        from PySide6.QtCore import QRectF

        top = 32 if self.title else 0
        made = QPixmap(round(self.width() * ratio), round((self.height() + top) * ratio))
        made.setDevicePixelRatio(ratio)
        made.fill(theme.colour("surface"))
        if self._plot is not None:
            self._plot.point(None)
        painter = QPainter(made)
        painter.setFont(theme.font("section"))
        painter.setPen(theme.colour("text"))
        painter.drawText(QRectF(12, 8, self.width() - 24, 24), int(Qt.AlignmentFlag.AlignVCenter), self.title)
        painter.end()
        self.render(made, QPoint(0, top))
        return made

    def copy(self) -> None:
        """All values, for a spreadsheet."""
        import csv
        import io

        out = io.StringIO()
        csv.writer(out, "excel-tab").writerows(csv.reader(io.StringIO(self.csv())))
        QGuiApplication.clipboard().setText(out.getvalue())

    @Slot(QPoint)
    def _menu(self, at: QPoint) -> None:
        if self.plot is None:
            return
        menu = QMenu(self)
        for text in ("Show all", "Copy values", "Save picture\u2026", "Save values\u2026"):
            menu.addAction(QAction(text, menu))
        menu.triggered.connect(self._choose)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.mapToGlobal(at))

    @Slot(QAction)
    def _choose(self, action: QAction) -> None:
        match action.text().split(" ")[-1].rstrip("\u2026"), action.text()[:4]:
            case "all", _:
                self.reset()
            case _, "Copy":
                self.copy()
            case "picture", _:
                self.ask_where("png")
            case "values", _:
                self.ask_where("csv")

    def reset(self) -> None:
        """All of it in view."""
        if self._plot is not None:
            self._plot.reset()

    def ask_where(self, suffix: str) -> QFileDialog:
        """And save it there."""
        known = "".join(one if one.isalnum() else "-" for one in self.title.lower()).strip("-") or "chart"
        dialog = QFileDialog(self, "Save the chart", f"{known}.{suffix}")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(suffix)
        dialog.setNameFilter("Pictures (*.png)" if suffix == "png" else "Tables (*.csv)")
        dialog.selectFile(f"{known}.{suffix}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._save_to)
        dialog.open()
        return dialog

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
