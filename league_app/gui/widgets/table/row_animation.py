"""Rows that slide to their new places, so that an eye can follow them.

The rows are pictures while they move: nothing is drawn anew for a frame, and the table below is the new one already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable

from PySide6.QtCore import QEasingCurve, QEvent, QObject, QPoint, QRect, Qt, QVariantAnimation, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap, QRegion
from PySide6.QtWidgets import QApplication, QWidget

from league_app.gui import theme
from league_app.gui.widgets.table.model import TableModel
from league_app.core.preferences import Settings
from league_app.gui.widgets.table.view import ROW_HEIGHT, Table

TAKES = 250  # milliseconds
MOST = 50  # rows
STILL = "RINGSIDE_STILL"  # an environment variable: nothing moves by itself


def motion(settings: Settings | None) -> bool:
    """Whether things may move: not if the person, the environment or the system asks for less.

    Qt tells what the system asks for only on Windows; elsewhere the setting `motion` does.
    """
    if os.environ.get(STILL) or (settings is not None and not settings.get("motion", True)):
        return False
    return sys.platform != "win32" or QApplication.isEffectEnabled(Qt.UIEffect.UI_AnimateMenu)


class Sliding(QWidget):
    """Lies over a table's rows for a quarter of a second whenever they have changed places."""

    def __init__(self, table: Table, settings: Settings | None = None) -> None:
        super().__init__(table.viewport())
        model = table.model()
        assert isinstance(model, TableModel)
        self._table, self._model, self._settings = table, model, settings
        self._from: dict[Hashable, float] = {}  # where each row was
        self._moving: list[tuple[float, float, QRect]] = []  # from, to, and where its picture is
        self._picture = QPixmap()
        self._clock = QVariantAnimation(self)
        self._clock.setDuration(TAKES)
        self._clock.setStartValue(0.0)
        self._clock.setEndValue(1.0)
        self._clock.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._clock.valueChanged.connect(self._step)
        self._clock.finished.connect(self.finish)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        model.layoutAboutToBeChanged.connect(self._remember)
        model.layoutChanged.connect(self._start)
        model.modelAboutToBeReset.connect(self.finish)
        for bar in (table.verticalScrollBar(), table.horizontalScrollBar()):
            bar.valueChanged.connect(self.finish)
        table.horizontalHeader().sectionResized.connect(self.finish)
        table.viewport().installEventFilter(self)

    @property
    def sliding(self) -> bool:
        return self._clock.state() == QVariantAnimation.State.Running

    @Slot()
    def _remember(self) -> None:
        self._from = {}
        if len(self._model.rows) > MOST or not self._table.isVisible() or not motion(self._settings):
            return
        top = self._table.verticalScrollBar().value()
        places = {self._model.key(row): place * ROW_HEIGHT - top for place, row in enumerate(self._model.rows)}
        self._from = dict(places)
        if self.sliding:  # on from where they are
            done = float(self._clock.currentValue())
            at = {to: start + (to - start) * done for start, to, _ in self._moving}
            self._from = {key: at.get(place, place) for key, place in places.items()}

    @Slot()
    def _start(self) -> None:
        before, self._from = self._from, {}
        self.finish()
        if not before:
            return
        view, top = self._table.viewport(), self._table.verticalScrollBar().value()
        self._moving = []
        for place, row in enumerate(self._model.rows):
            to = place * ROW_HEIGHT - top
            start = before.get(self._model.key(row), to)
            if abs(start - to) >= 1 and -ROW_HEIGHT < to < view.height():
                self._moving.append((start, to, QRect(0, to, view.width(), ROW_HEIGHT)))
        if not self._moving:
            return
        self._moving.sort(key=lambda one: one[0] - one[1])  # who rises is seen above who falls
        ratio = self.devicePixelRatioF()
        self._picture = QPixmap(view.size() * ratio)
        self._picture.setDevicePixelRatio(ratio)
        view.render(self._picture, QPoint(), QRegion(), QWidget.RenderFlag.DrawWindowBackground)
        self.setGeometry(view.rect())
        self.show()
        self.raise_()
        self._clock.start()

    @Slot()
    def _step(self) -> None:
        self.update()

    @Slot()
    def finish(self) -> None:
        """At once."""
        if self._clock.state() != QVariantAnimation.State.Stopped:
            self._clock.stop()
        self.hide()
        self._moving, self._picture = [], QPixmap()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() in (QEvent.Type.Resize, QEvent.Type.PaletteChange, QEvent.Type.Hide):
            self.finish()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        ratio, done = self._picture.devicePixelRatioF(), float(self._clock.currentValue())
        for _, to, _ in self._moving:  # the places that rows have left for others
            painter.fillRect(QRect(0, int(to), self.width(), ROW_HEIGHT), theme.colour("surface"))
        for start, to, part in self._moving:
            source = QRect((part.topLeft() * ratio), part.size() * ratio)
            painter.drawPixmap(QRect(0, round(start + (to - start) * done), part.width(), ROW_HEIGHT),
                               self._picture, source)  # fmt: skip
