"""A square table of agents by agents that stays fast with two hundred of them.

The cell backgrounds are one small image, scaled up; only visible texts are drawn. Headers, keys, tooltips and
accessibility are those of a QTableView.
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
from league_app.gui.widgets.basics import tooltip_html
from league_app.gui.widgets.table.view import spreadsheet_cell

Index = QModelIndex | QPersistentModelIndex
MAX_NAME_WIDTH = 168  # pixels, for the names at the left
UPRIGHT_HEIGHT = 96  # pixels, for names rotated by 90 degrees


@dataclass(frozen=True)
class MatrixLabel:
    agent: str  # its id
    name: str


def heat_colours(values: npt.NDArray[np.float64], strength: float = 1.0) -> npt.NDArray[np.uint8]:
    """Colours [..., 3] for values from 0 (orange) over 0.5 (surface) to 1 (blue); NaN is the surface."""
    palette = theme.current()
    cold, hot, middle = (
        np.array([int(colour[at : at + 2], 16) for at in (0, 2, 4)], float)
        for colour in (palette.cold, palette.hot, palette.surface)
    )
    away = np.nan_to_num(np.clip(values, 0, 1) * 2 - 1)[..., None]
    ends = np.where(away > 0, cold, hot)
    colours: npt.NDArray[np.uint8] = np.rint(middle + (ends - middle) * np.abs(away) * strength).astype(np.uint8)
    return colours


def heat_image(values: npt.NDArray[np.float64], strength: float = 1.0) -> QImage:
    """An image with one pixel for each cell, in 255 shades."""
    height, width = values.shape
    if not height or not width:
        return QImage()
    indexes = np.rint(np.nan_to_num(np.clip(values, 0, 1), nan=0.5) * 254).astype(np.uint8)
    image = QImage(indexes.tobytes(), width, height, width, QImage.Format.Format_Indexed8)
    image.setColorTable([qRgb(*colour) for colour in heat_colours(np.linspace(0, 1, 255), strength).tolist()])
    return image.convertToFormat(QImage.Format.Format_RGB32)


class MatrixModel(QAbstractTableModel):
    """Subclasses define the cells. An agent's row and column have the same index."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.agents: tuple[MatrixLabel, ...] = ()

    def text(self, row: int, column: int) -> str:
        raise NotImplementedError

    def description(self, row: int, column: int) -> str:
        raise NotImplementedError

    def values(self) -> npt.NDArray[np.float64]:
        """From 0 to 1, for the backgrounds of the cells."""
        raise NotImplementedError

    def set_agents(self, agents: Sequence[MatrixLabel]) -> None:
        """Notifies views of new values, and of new agents if these have changed."""
        if tuple(agents) == self.agents:
            last = len(self.agents) - 1
            if last >= 0:
                self.dataChanged.emit(self.index(0, 0), self.index(last, last))
        else:
            self.beginResetModel()
            self.agents = tuple(agents)
            self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name, Qt's default
        return 0 if parent.isValid() else len(self.agents)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        return 0 if parent.isValid() else len(self.agents)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(index.row(), index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip_html(self.description(index.row(), index.column())) or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self.description(index.row(), index.column()) or self.text(index.row(), index.column())
        return None

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if not 0 <= section < len(self.agents):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            name = self.agents[section].name
            return f"{section + 1}  {name}" if orientation == Qt.Orientation.Vertical else name
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip_html(f"{section + 1}. {self.agents[section].name}")
        return None


class MatrixHeader(QHeaderView):
    """Names beside the rows or above the columns; above narrow columns they are rotated."""

    def __init__(self, orientation: Qt.Orientation) -> None:
        super().__init__(orientation)
        self.upright = False
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setMinimumSectionSize(8)

    def set_upright(self, upright: bool) -> None:
        self.upright = upright
        self.setFixedHeight(UPRIGHT_HEIGHT if upright else 32)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draws all names in one call: with one Python call for each, each would wait for busy threads."""
        painter, rect = QPainter(self.viewport()), event.rect()
        painter.fillRect(rect, theme.colour("surface"))
        painter.setFont(theme.font("caption"))
        above, size = self.orientation() == Qt.Orientation.Horizontal, self.defaultSectionSize()
        start, end = (rect.left(), rect.right()) if above else (rect.top(), rect.bottom())
        first, last = (start + self.offset()) // size, min((end + self.offset()) // size, self.count() - 1)
        for section in range(max(first, 0), last + 1):
            at = section * size - self.offset()
            section_rect = QRect(at, 0, size, self.height()) if above else QRect(0, at, self.width(), size)
            self._draw(painter, section_rect, str(self.model().headerData(section, self.orientation())), above)

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
    """`chosen` is emitted with the ids of both agents of a cell, on a click or on Enter."""

    chosen = Signal(str, str)

    def __init__(self, model: MatrixModel, name: str, strength: float = 1.0) -> None:
        super().__init__()
        self._cells, self._strength = model, strength
        self._background = QImage()
        self._saved_position: tuple[tuple[str, str] | None, QPoint] = None, QPoint()
        self.texts = True  # whether cells are large enough for texts
        self._top, self._left = MatrixHeader(Qt.Orientation.Horizontal), MatrixHeader(Qt.Orientation.Vertical)
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
        self._top.set_upright(False)
        model.modelAboutToBeReset.connect(self._save_position)
        model.modelReset.connect(self._on_reset)
        model.dataChanged.connect(self._update_image)

    def cell_size(self, count: int, room: int) -> tuple[int, int]:
        """Width and height of a cell, for `count` columns in `room` pixels."""
        raise NotImplementedError

    # Updates

    @Slot()
    def _save_position(self) -> None:
        index, agents = self.currentIndex(), self._cells.agents
        pair = (agents[index.row()].agent, agents[index.column()].agent) if index.isValid() else None
        self._saved_position = pair, QPoint(self.horizontalScrollBar().value(), self.verticalScrollBar().value())

    @Slot()
    def _on_reset(self) -> None:
        self._resize_cells()
        self._update_image()
        pair, at = self._saved_position
        indexes = {label.agent: index for index, label in enumerate(self._cells.agents)}
        if pair is not None and pair[0] in indexes and pair[1] in indexes:
            self.setCurrentIndex(self._cells.index(indexes[pair[0]], indexes[pair[1]]))
        self.horizontalScrollBar().setValue(at.x())
        self.verticalScrollBar().setValue(at.y())

    @Slot()
    def _update_image(self) -> None:
        self._background = heat_image(self._cells.values(), self._strength)
        self.viewport().update()

    def _resize_cells(self) -> None:
        count = len(self._cells.agents)
        if not count:
            return
        metrics = QFontMetrics(theme.font("caption"))
        widest = max(metrics.horizontalAdvance(label.name[:60]) for label in self._cells.agents)
        left = min(widest + metrics.horizontalAdvance(f"{count}  ") + 16, MAX_NAME_WIDTH)
        self._left.setFixedWidth(left)
        bar = self.verticalScrollBar().sizeHint().width()
        width, height = self.cell_size(count, max(self.width() - left - bar - 2, 1))
        self._top.set_upright(width - 8 < min(widest, 100))
        self._top.setDefaultSectionSize(width)
        self._left.setDefaultSectionSize(height)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        if event.size().width() != event.oldSize().width():
            self._resize_cells()
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._update_image()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        count = len(self._cells.agents)
        if not count or self._background.isNull():
            return
        painter = QPainter(self.viewport())
        painter.setClipRegion(event.region())
        wide, high = self._top.defaultSectionSize(), self._left.defaultSectionSize()
        left, top = -self._top.offset(), -self._left.offset()
        painter.drawImage(QRect(left, top, wide * count, high * count), self._background)
        seen = event.rect()
        first, last = max((seen.left() - left) // wide, 0), min((seen.right() - left) // wide, count - 1)
        upper, lower = max((seen.top() - top) // high, 0), min((seen.bottom() - top) // high, count - 1)
        gap = theme.colour("surface") if wide < 44 else theme.colour("hairline")
        for column in range(first, last + 1):
            painter.fillRect(left + (column + 1) * wide - 1, top, 1, high * count, gap)
        for row in range(upper, lower + 1):
            painter.fillRect(left, top + (row + 1) * high - 1, wide * count, 1, gap)
        for own in range(max(first, upper), min(last, lower) + 1):  # the diagonal is empty
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
        self._draw_selection(painter, left, top, wide, high)

    def _draw_selection(self, painter: QPainter, left: int, top: int, wide: int, high: int) -> None:
        selection: Any = self.selectionModel().selection()  # iterable, although its type stub does not say so
        painter.setPen(theme.colour("accent"))
        for part in selection:
            rect = QRectF(left + part.left() * wide, top + part.top() * high, part.width() * wide, part.height() * high)
            painter.drawRect(rect.adjusted(0.5, 0.5, -1.5, -1.5))
            painter.drawRect(rect.adjusted(1.5, 1.5, -2.5, -2.5))

    # Input

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        left = event.button() == Qt.MouseButton.LeftButton
        if left and index == self.currentIndex() and len(self.selectedIndexes()) == 1:  # more are for copying
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
            self.chosen.emit(self._cells.agents[index.row()].agent, self._cells.agents[index.column()].agent)

    def copy(self) -> None:
        """Copies the selection, or everything if that is one cell, with names, as tab-separated text."""
        everything, agents = range(len(self._cells.agents)), self._cells.agents
        selected = self.selectedIndexes()
        rows = sorted({index.row() for index in selected}) if len(selected) > 1 else everything
        columns = sorted({index.column() for index in selected}) if len(selected) > 1 else everything
        lines = [["", *(spreadsheet_cell(agents[n].name) for n in columns)]]
        lines += [[spreadsheet_cell(agents[r].name), *(self._cells.text(r, c) for c in columns)] for r in rows]
        QGuiApplication.clipboard().setText("\n".join("\t".join(cells) for cells in lines))
