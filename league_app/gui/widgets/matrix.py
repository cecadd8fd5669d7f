"""Agents by agents: a square table that stays quick with two hundred of them.

The cells' grounds are one small picture, stretched; texts are drawn only where they are seen. Headers, keys, tooltips
and what a screen reader is told are those of any table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QFontMetrics,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    qRgb,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from league_app.gui import theme
from league_app.gui.widgets.basics import plain
from league_app.gui.widgets.table.view import spreadsheet_cell

Index = QModelIndex | QPersistentModelIndex
NAMES = 168  # pixels for the names at the left, at most
TALL = 96  # pixels for names that stand upright


@dataclass(frozen=True)
class Who:
    agent: str  # its id
    name: str


def shades(values: npt.NDArray[np.float64], strength: float = 1.0) -> npt.NDArray[np.uint8]:
    """From 0 over 0.5 to 1: orange, the surface, blue, as [..., 3]; what is no number is the surface."""
    palette = theme.current()
    cold, hot, middle = (
        np.array([int(one[at : at + 2], 16) for at in (0, 2, 4)], float)
        for one in (palette.cold, palette.hot, palette.surface)
    )
    away = np.nan_to_num(np.clip(values, 0, 1) * 2 - 1)[..., None]
    ends = np.where(away > 0, cold, hot)
    made: npt.NDArray[np.uint8] = np.rint(middle + (ends - middle) * np.abs(away) * strength).astype(np.uint8)
    return made


def picture(values: npt.NDArray[np.float64], strength: float = 1.0) -> QImage:
    """A pixel for each cell, in one of 255 shades."""
    height, width = values.shape
    if not height or not width:
        return QImage()
    steps = np.rint(np.nan_to_num(np.clip(values, 0, 1), nan=0.5) * 254).astype(np.uint8)
    made = QImage(steps.tobytes(), width, height, width, QImage.Format.Format_Indexed8)
    made.setColorTable([qRgb(*one) for one in shades(np.linspace(0, 1, 255), strength).tolist()])
    return made.convertToFormat(QImage.Format.Format_RGB32)


class MatrixModel(QAbstractTableModel):
    """Subclasses say what stands in a cell; row and column of an agent have the same number."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.who: tuple[Who, ...] = ()

    def text(self, one: int, other: int) -> str:
        raise NotImplementedError

    def words(self, one: int, other: int) -> str:
        raise NotImplementedError

    def values(self) -> npt.NDArray[np.float64]:
        """From 0 to 1, for the grounds of the cells."""
        raise NotImplementedError

    def changed(self, who: Sequence[Who]) -> None:
        """What it shows is another now."""
        if tuple(who) == self.who:
            last = len(self.who) - 1
            if last >= 0:
                self.dataChanged.emit(self.index(0, 0), self.index(last, last))
        else:
            self.beginResetModel()
            self.who = tuple(who)
            self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name, Qt's default
        return 0 if parent.isValid() else len(self.who)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        return 0 if parent.isValid() else len(self.who)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(index.row(), index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(self.words(index.row(), index.column())) or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self.words(index.row(), index.column()) or self.text(index.row(), index.column())
        return None

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if not 0 <= section < len(self.who):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            name = self.who[section].name
            return f"{section + 1}  {name}" if orientation == Qt.Orientation.Vertical else name
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(f"{section + 1}. {self.who[section].name}")
        return None


class Names(QHeaderView):
    """Names beside their rows or above their columns; there they stand upright where the columns are narrow."""

    def __init__(self, orientation: Qt.Orientation) -> None:
        super().__init__(orientation)
        self.upright = False
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setMinimumSectionSize(8)

    def stand(self, upright: bool) -> None:
        self.upright = upright
        self.setFixedHeight(TALL if upright else 32)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """All names at once: asked for one by one, each would wait for threads that are busy."""
        painter, seen = QPainter(self.viewport()), event.rect()
        painter.fillRect(seen, theme.colour("surface"))
        painter.setFont(theme.font("caption"))
        above, size = self.orientation() == Qt.Orientation.Horizontal, self.defaultSectionSize()
        start, end = (seen.left(), seen.right()) if above else (seen.top(), seen.bottom())
        first, last = (start + self.offset()) // size, min((end + self.offset()) // size, self.count() - 1)
        for section in range(max(first, 0), last + 1):
            at = section * size - self.offset()
            rect = QRect(at, 0, size, self.height()) if above else QRect(0, at, self.width(), size)
            self._draw(painter, rect, str(self.model().headerData(section, self.orientation())), above)

    def _draw(self, painter: QPainter, rect: QRect, text: str, above: bool) -> None:
        if above or rect.height() > 24:
            painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, theme.colour("hairline"))
        painter.save()
        painter.setPen(theme.colour("muted"))
        side = Qt.AlignmentFlag.AlignLeft
        if self.upright:
            painter.translate(rect.left(), rect.bottom() - 5)
            painter.rotate(-90)
            room = QRect(0, 0, rect.height() - 10, rect.width())
        else:
            room = rect.adjusted(4 if above else 8, 0, -4, 0)
            side = Qt.AlignmentFlag.AlignHCenter if above else side
        text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, int(side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), text)
        painter.restore()


class Matrix(QTableView):
    """`chosen` tells the ids of both, by a click or by Enter."""

    chosen = Signal(str, str)

    def __init__(self, model: MatrixModel, name: str, strength: float = 1.0) -> None:
        super().__init__()
        self._cells, self._strength = model, strength
        self._grounds = QImage()
        self._kept: tuple[tuple[str, str] | None, QPoint] = None, QPoint()
        self.texts = True  # whether there is room for them
        self._top, self._left = Names(Qt.Orientation.Horizontal), Names(Qt.Orientation.Vertical)
        self.setHorizontalHeader(self._top)
        self.setVerticalHeader(self._left)
        self.setModel(model)
        self.setAccessibleName(name)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setCornerButtonEnabled(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self._top.stand(False)
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._fresh)
        model.dataChanged.connect(self._repaint)

    def cell_size(self, count: int, room: int) -> tuple[int, int]:
        """Width and height of a cell, for so many of them in so many pixels."""
        raise NotImplementedError

    # What changes

    @Slot()
    def _keep(self) -> None:
        index, who = self.currentIndex(), self._cells.who
        pair = (who[index.row()].agent, who[index.column()].agent) if index.isValid() else None
        self._kept = pair, QPoint(self.horizontalScrollBar().value(), self.verticalScrollBar().value())

    @Slot()
    def _fresh(self) -> None:
        self._measure()
        self._repaint()
        pair, at = self._kept
        places = {who.agent: place for place, who in enumerate(self._cells.who)}
        if pair is not None and pair[0] in places and pair[1] in places:
            self.setCurrentIndex(self._cells.index(places[pair[0]], places[pair[1]]))
        self.horizontalScrollBar().setValue(at.x())
        self.verticalScrollBar().setValue(at.y())

    @Slot()
    def _repaint(self) -> None:
        self._grounds = picture(self._cells.values(), self._strength)
        self.viewport().update()

    def _measure(self) -> None:
        count = len(self._cells.who)
        if not count:
            return
        metrics = QFontMetrics(theme.font("caption"))
        widest = max(metrics.horizontalAdvance(who.name[:60]) for who in self._cells.who)
        left = min(widest + metrics.horizontalAdvance(f"{count}  ") + 16, NAMES)
        self._left.setFixedWidth(left)
        bar = self.verticalScrollBar().sizeHint().width()
        width, height = self.cell_size(count, max(self.width() - left - bar - 2, 1))
        self._top.stand(width - 8 < min(widest, 100))
        self._top.setDefaultSectionSize(width)
        self._left.setDefaultSectionSize(height)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        if event.size().width() != event.oldSize().width():
            self._measure()
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._repaint()

    # How it is drawn

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        count = len(self._cells.who)
        if not count or self._grounds.isNull():
            return
        painter = QPainter(self.viewport())
        painter.setClipRegion(event.region())
        wide, high = self._top.defaultSectionSize(), self._left.defaultSectionSize()
        left, top = -self._top.offset(), -self._left.offset()
        painter.drawImage(QRect(left, top, wide * count, high * count), self._grounds)
        seen = event.rect()
        first, last = max((seen.left() - left) // wide, 0), min((seen.right() - left) // wide, count - 1)
        upper, lower = max((seen.top() - top) // high, 0), min((seen.bottom() - top) // high, count - 1)
        gap = theme.colour("surface") if wide < 44 else theme.colour("hairline")
        for column in range(first, last + 1):
            painter.fillRect(left + (column + 1) * wide - 1, top, 1, high * count, gap)
        for row in range(upper, lower + 1):
            painter.fillRect(left, top + (row + 1) * high - 1, wide * count, 1, gap)
        for own in range(max(first, upper), min(last, lower) + 1):  # nobody meets itself
            painter.fillRect(left + own * wide, top + own * high, wide - 1, high - 1, theme.colour("raised"))
        if self.texts:
            painter.setPen(theme.colour("text"))
            painter.setFont(theme.font("caption" if wide < 60 else "body"))
            centre = Qt.AlignmentFlag.AlignCenter
            for row in range(upper, lower + 1):
                for column in range(first, last + 1):
                    text = self._cells.text(row, column)
                    if text:
                        painter.drawText(left + column * wide, top + row * high, wide, high, centre, text)
        self._outline(painter, left, top, wide, high)

    def _outline(self, painter: QPainter, left: int, top: int, wide: int, high: int) -> None:
        chosen: Any = self.selectionModel().selection()  # it can be gone through, though its stub does not say so
        painter.setPen(theme.colour("accent"))
        for one in chosen:
            rect = QRectF(left + one.left() * wide, top + one.top() * high, one.width() * wide, one.height() * high)
            painter.drawRect(rect.adjusted(0.5, 0.5, -1.5, -1.5))
            painter.drawRect(rect.adjusted(1.5, 1.5, -2.5, -2.5))

    # What a person does

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        left = event.button() == Qt.MouseButton.LeftButton
        if left and index == self.currentIndex() and len(self.selectedIndexes()) == 1:  # more are there to be copied
            self._choose(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid() and index.row() != index.column():
            self.chosen.emit(self._cells.who[index.row()].agent, self._cells.who[index.column()].agent)

    def copy(self) -> None:
        """What is selected, or everything where that is one cell, with the names, for a spreadsheet."""
        everything, who = range(len(self._cells.who)), self._cells.who
        picked = self.selectedIndexes()
        rows = sorted({one.row() for one in picked}) if len(picked) > 1 else everything
        columns = sorted({one.column() for one in picked}) if len(picked) > 1 else everything
        lines = [["", *(spreadsheet_cell(who[n].name) for n in columns)]]
        lines += [[spreadsheet_cell(who[r].name), *(self._cells.text(r, c) for c in columns)] for r in rows]
        QGuiApplication.clipboard().setText("\n".join("\t".join(cells) for cells in lines))
