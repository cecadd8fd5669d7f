"""Animates rows that change places.

Moving rows are copied from one image of the table, which already shows the new order, so no cell is painted again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable

from PySide6.QtCore import QEasingCurve, QEvent, QObject, QPoint, QRect, Qt, QVariantAnimation, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap, QRegion
from PySide6.QtWidgets import QApplication, QWidget

from league_app.gui import theme
from league_app.gui.widgets.settings_store import SettingsStore
from league_app.gui.widgets.table.model import TableModel
from league_app.gui.widgets.table.view import ROW_HEIGHT, TableView

DURATION = 250  # milliseconds
MAX_ROWS = 50  # rows
STILL_VARIABLE = "RINGSIDE_STILL"  # environment variable that turns animations off


def animations_enabled(settings: SettingsStore | None) -> bool:
    """False if the user's setting `motion`, the environment or the system turns animations off.

    Qt reports the system's setting only on Windows.
    """
    if os.environ.get(STILL_VARIABLE) or (settings is not None and not settings.get("motion", True)):
        return False
    return sys.platform != "win32" or QApplication.isEffectEnabled(Qt.UIEffect.UI_AnimateMenu)


class RowAnimation(QWidget):
    """An overlay that covers a table's rows for a quarter of a second when their order changes."""

    def __init__(self, table: TableView, settings: SettingsStore | None = None) -> None:
        super().__init__(table.viewport())
        model = table.model()
        assert isinstance(model, TableModel)
        self._table, self._model, self._settings = table, model, settings
        self._from: dict[Hashable, float] = {}  # previous y of each row
        self._moving: list[tuple[float, float, QRect]] = []  # from, to, and its rectangle in the image
        self._picture = QPixmap()
        self._animation = QVariantAnimation(self)
        self._animation.setDuration(DURATION)
        self._animation.setStartValue(0.0)
        self._animation.setEndValue(1.0)
        self._animation.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._animation.valueChanged.connect(self._step)
        self._animation.finished.connect(self.finish)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        model.layoutAboutToBeChanged.connect(self._save_positions)
        model.layoutChanged.connect(self._start)
        model.modelAboutToBeReset.connect(self.finish)
        for bar in (table.verticalScrollBar(), table.horizontalScrollBar()):
            bar.valueChanged.connect(self.finish)
        table.horizontalHeader().sectionResized.connect(self.finish)
        table.viewport().installEventFilter(self)

    @property
    def running(self) -> bool:
        return self._animation.state() == QVariantAnimation.State.Running

    @Slot()
    def _save_positions(self) -> None:
        self._from = {}
        if len(self._model.rows) > MAX_ROWS or not self._table.isVisible() or not animations_enabled(self._settings):
            return
        top = self._table.verticalScrollBar().value()
        places = {self._model.key(row): index * ROW_HEIGHT - top for index, row in enumerate(self._model.rows)}
        self._from = dict(places)
        if self.running:  # continue from the current positions
            done = float(self._animation.currentValue())
            current = {to: start + (to - start) * done for start, to, _ in self._moving}
            self._from = {key: current.get(index, index) for key, index in places.items()}

    @Slot()
    def _start(self) -> None:
        before, self._from = self._from, {}
        self.finish()
        if not before:
            return
        view, top = self._table.viewport(), self._table.verticalScrollBar().value()
        self._moving = []
        for index, row in enumerate(self._model.rows):
            to = index * ROW_HEIGHT - top
            start = before.get(self._model.key(row), to)
            if abs(start - to) >= 1 and -ROW_HEIGHT < to < view.height():
                self._moving.append((start, to, QRect(0, to, view.width(), ROW_HEIGHT)))
        if not self._moving:
            return
        self._moving.sort(key=lambda move: move[0] - move[1])  # rising rows are drawn above falling ones
        ratio = self.devicePixelRatioF()
        self._picture = QPixmap(view.size() * ratio)
        self._picture.setDevicePixelRatio(ratio)
        view.render(self._picture, QPoint(), QRegion(), QWidget.RenderFlag.DrawWindowBackground)
        self.setGeometry(view.rect())
        self.show()
        self.raise_()
        self._animation.start()

    @Slot()
    def _step(self) -> None:
        self.update()

    @Slot()
    def finish(self) -> None:
        """Ends the animation at once."""
        if self._animation.state() != QVariantAnimation.State.Stopped:
            self._animation.stop()
        self.hide()
        self._moving, self._picture = [], QPixmap()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() in (QEvent.Type.Resize, QEvent.Type.PaletteChange, QEvent.Type.Hide):
            self.finish()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        ratio, done = self._picture.devicePixelRatioF(), float(self._animation.currentValue())
        for _, to, _ in self._moving:  # clear the target positions
            painter.fillRect(QRect(0, int(to), self.width(), ROW_HEIGHT), theme.colour("surface"))
        for start, to, part in self._moving:
            source = QRect((part.topLeft() * ratio), part.size() * ratio)
            painter.drawPixmap(QRect(0, round(start + (to - start) * done), part.width(), ROW_HEIGHT),
                               self._picture, source)  # fmt: skip
