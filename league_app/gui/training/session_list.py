"""The list of training sessions: check box, name, status, progress, best result and a small curve."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from agents.training.trainer import Reading
from engine.league.records import RunState
from league_app.core.queries.sessions import SessionSummary
from league_app.gui import theme
from league_app.gui.training.sessions_model import SUMMARY_ROLE, SessionsModel
from league_app.gui.widgets.table.delegates import draw_elided

Index = QModelIndex | QPersistentModelIndex
HEIGHT = 66
BOX = 16
NEAR = 8  # pixels around a check box that belong to it for the mouse
TONES = {"running": "accent", "paused": "warn", "failed": "bad", "finished": "good", "stopped": "muted"}


class SessionList(QListView):
    """Arrow keys or a click select. A click on a check box, Ctrl and a click, or Space toggles the check box and
    selects nothing; Ctrl and an arrow key select without a change of check boxes."""

    selected = Signal(int, bool)  # number of the session, and whether the check boxes stay as they are

    def __init__(self, model: SessionsModel) -> None:
        super().__init__()
        self._sessions = model
        self._pressed = 0  # the session whose check box the mouse has pressed
        self._keeps_checks = False
        self.setModel(model)
        self.setItemDelegate(_SessionDelegate(model, self))
        self.setAccessibleName("Training sessions")
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.selectionModel().currentChanged.connect(self._on_current_changed)

    def select(self, number: int) -> None:
        row = self._sessions.row_of(number)
        if row >= 0:
            self.setCurrentIndex(self._sessions.index(row))

    @property
    def number(self) -> int:
        """Number of the selected session; 0 if there is none."""
        summary = self.currentIndex().data(SUMMARY_ROLE)
        return summary.number if isinstance(summary, SessionSummary) else 0

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, index: QModelIndex, before: QModelIndex) -> None:
        summary = index.data(SUMMARY_ROLE)
        if isinstance(summary, SessionSummary):
            self.selected.emit(summary.number, self._keeps_checks)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Space and self.number:
            self._sessions.toggle(self.number)
            return
        self._keeps_checks = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        super().keyPressEvent(event)
        self._keeps_checks = False

    # The view selects a row when the mouse is pressed: events of a check box do not reach it

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        self._pressed = self._number_to_toggle(event)
        if not self._pressed:
            super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        self._pressed = self._number_to_toggle(event)
        if not self._pressed:
            super().mouseDoubleClickEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        if not self._pressed:
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        pressed, self._pressed = self._pressed, 0
        if not pressed:
            super().mouseReleaseEvent(event)
        elif pressed == self._number_to_toggle(event):
            self._sessions.toggle(pressed)

    def _number_to_toggle(self, event: QMouseEvent) -> int:
        """The session whose check box the left button means; 0 if it means none."""
        index = self.indexAt(event.position().toPoint())
        summary = index.data(SUMMARY_ROLE)
        if event.button() != Qt.MouseButton.LeftButton or not isinstance(summary, SessionSummary):
            return 0
        near = box_rect(QRectF(self.visualRect(index))).adjusted(-NEAR, -NEAR, NEAR, NEAR)
        ctrl = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        return summary.number if ctrl or near.contains(event.position()) else 0


def box_rect(row: QRectF) -> QRectF:
    """The check box in a row of the list."""
    return QRectF(row.left() + 11, row.top() + 10, BOX - 1, BOX - 1)


class _SessionDelegate(QStyledItemDelegate):
    def __init__(self, model: SessionsModel, parent: SessionList) -> None:
        super().__init__(parent)
        self._sessions = model

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(200, HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        summary = index.data(SUMMARY_ROLE)
        if not isinstance(summary, SessionSummary):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.colour("selection"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, theme.colour("raised"))
        painter.setPen(theme.colour("hairline"))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        self._draw_check_box(painter, rect, self._sessions.colour_index(summary.number))
        text = rect.adjusted(36, 8, -10, 0)
        font = theme.font()
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        draw_elided(painter, QRectF(text.left(), text.top(), text.width(), 18), summary.session.name)
        painter.setFont(theme.font("caption"))
        curve = len(summary.curve) > 1
        room = text.width() - (64 if curve else 0)
        second, third = QRectF(text.left(), text.top() + 19, room, 15), QRectF(text.left(), text.top() + 35, room, 15)
        width = draw_elided(painter, second, summary.status, TONES[summary.status])
        draw_elided(painter, second.adjusted(width, 0, 0, 0), f" \u00b7 {summary.session.trainer}", "muted")
        parts = [part for part in (_progress_text(summary), summary.best_text) if part]
        draw_elided(painter, third, " \u00b7 ".join(parts), "muted")
        if curve:
            _draw_sparkline(painter, QRectF(text.right() - 56, text.top() + 22, 54, 26), summary)
        painter.restore()

    def _draw_check_box(self, painter: QPainter, rect: QRectF, colour_index: int | None) -> None:
        box = box_rect(rect)
        painter.setPen(QPen(theme.colour("border"), 1))
        painter.setBrush(theme.colour("surface"))
        if colour_index is not None:
            colour = theme.series(colour_index)
            painter.setPen(QPen(colour, 1))
            painter.setBrush(colour)
        painter.drawRoundedRect(box, 4, 4)
        if colour_index is not None:
            painter.setPen(QPen(theme.colour("surface"), 1.8))
            at = box.center()
            painter.drawPolyline(QPolygonF([at + QPointF(-3.5, 0), at + QPointF(-1, 3), at + QPointF(4, -3)]))


def _progress_text(summary: SessionSummary) -> str:
    short = 0 < summary.total < 100_000 and summary.step > 0 and summary.session.state is not RunState.FINISHED
    return f"{summary.step:,} / {summary.total:,}" if short else summary.progress_text


def _draw_sparkline(painter: QPainter, rect: QRectF, summary: SessionSummary) -> None:
    low, high = min(summary.curve), max(summary.curve)
    if summary.best is not None and summary.facts.reading is Reading.SHARE:
        low, high = 0.0, 1.0  # so that curves of different sessions can be compared
    span = (high - low) or 1.0
    step = rect.width() / (len(summary.curve) - 1)
    points = [
        QPointF(rect.left() + index * step, rect.bottom() - (value - low) / span * rect.height())
        for index, value in enumerate(summary.curve)
    ]
    painter.setPen(QPen(theme.colour("muted"), 1.2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPolyline(QPolygonF(points))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour("accent"))
    painter.drawEllipse(points[-1], 2, 2)
