"""Sessions one below the other: which are shown, what they are, how far, and how well they do."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from league_app.gui import theme
from league_app.gui.training.sessions_model import GLANCE, Glance, SessionsModel
from league_app.gui.widgets.table.delegates import elided

Index = QModelIndex | QPersistentModelIndex
HEIGHT = 66
BOX = 16
TONES = {"running": "accent", "paused": "warn", "failed": "bad", "finished": "good", "stopped": "muted"}


class SessionList(QListView):
    """Space checks, Enter or a click selects."""

    selected = Signal(int)  # its number

    def __init__(self, model: SessionsModel) -> None:
        super().__init__()
        self._sessions = model
        self.setModel(model)
        self.setItemDelegate(_Row(model, self))
        self.setAccessibleName("Training sessions")
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.selectionModel().currentChanged.connect(self._tell)

    def select(self, number: int) -> None:
        place = self._sessions.row_of(number)
        if place >= 0:
            self.setCurrentIndex(self._sessions.index(place))

    @property
    def number(self) -> int:
        """Of the one that is selected; 0 if none is."""
        one = self.currentIndex().data(GLANCE)
        return one.number if isinstance(one, Glance) else 0

    @Slot(QModelIndex, QModelIndex)
    def _tell(self, index: QModelIndex, before: QModelIndex) -> None:
        one = index.data(GLANCE)
        if isinstance(one, Glance):
            self.selected.emit(one.number)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Space and self.number:
            self._sessions.toggle(self.number)
        else:
            super().keyPressEvent(event)


class _Row(QStyledItemDelegate):
    def __init__(self, model: SessionsModel, parent: SessionList) -> None:
        super().__init__(parent)
        self._sessions = model

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(200, HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one = index.data(GLANCE)
        if not isinstance(one, Glance):
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
        self._box(painter, rect, self._sessions.place(one.number))
        text = rect.adjusted(36, 8, -10, 0)
        font = theme.font()
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        elided(painter, QRectF(text.left(), text.top(), text.width(), 18), one.session.name)
        painter.setFont(theme.font("caption"))
        curve = len(one.curve) > 1
        room = text.width() - (64 if curve else 0)
        second, third = QRectF(text.left(), text.top() + 19, room, 15), QRectF(text.left(), text.top() + 35, room, 15)
        width = elided(painter, second, one.word, TONES[one.word])
        elided(painter, second.adjusted(width, 0, 0, 0), f" \u00b7 {one.session.trainer}", "muted")
        best = f" \u00b7 best {one.best * 100:.0f} %" if one.best is not None else ""
        elided(painter, third, f"{_brief(one)}{best}", "muted")
        if curve:
            _spark(painter, QRectF(text.right() - 56, text.top() + 22, 54, 26), one)
        painter.restore()

    def _box(self, painter: QPainter, rect: QRectF, place: int | None) -> None:
        box = self._box_at(rect)
        painter.setPen(QPen(theme.colour("border"), 1))
        painter.setBrush(theme.colour("surface"))
        if place is not None:
            colour = theme.series(place)
            painter.setPen(QPen(colour, 1))
            painter.setBrush(colour)
        painter.drawRoundedRect(box, 4, 4)
        if place is not None:
            painter.setPen(QPen(theme.colour("surface"), 1.8))
            at = box.center()
            painter.drawPolyline(QPolygonF([at + QPointF(-3.5, 0), at + QPointF(-1, 3), at + QPointF(4, -3)]))

    def _box_at(self, rect: QRectF) -> QRectF:
        return QRectF(rect.left() + 11, rect.top() + 10, BOX - 1, BOX - 1)

    def editorEvent(  # noqa: N802
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        if event.type() == QEvent.Type.MouseButtonRelease and isinstance(event, QMouseEvent):
            one = index.data(GLANCE)
            near = self._box_at(QRectF(option.rect)).adjusted(-8, -8, 8, 8)
            if near.contains(event.position()) and isinstance(one, Glance):
                self._sessions.toggle(one.number)
                return True
        return False


def _brief(one: Glance) -> str:
    if not one.step and one.running:
        return "starting"
    return f"{one.step:,} / {one.total:,}" if one.total and one.total < 100_000 else f"step {one.step:,}"


def _spark(painter: QPainter, rect: QRectF, one: Glance) -> None:
    low, high = min(one.curve), max(one.curve)
    if one.best is not None:
        low, high = 0.0, 1.0  # a share: the height means something
    span = (high - low) or 1.0
    step = rect.width() / (len(one.curve) - 1)
    points = [
        QPointF(rect.left() + place * step, rect.bottom() - (value - low) / span * rect.height())
        for place, value in enumerate(one.curve)
    ]
    painter.setPen(QPen(theme.colour("muted"), 1.2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPolyline(QPolygonF(points))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour("accent"))
    painter.drawEllipse(points[-1], 2, 2)
