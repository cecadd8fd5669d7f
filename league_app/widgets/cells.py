"""What stands in a cell beside plain text: an agent, a rating with its interval, a record of wins, a bar."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from league_app import theme
from league_app.models.table import VALUE

Index = QModelIndex | QPersistentModelIndex
PAD = 8
NOTHING = "\u2013"  # an en dash: no figure yet


@dataclass(frozen=True)
class AgentCell:
    """A colour dot, a name, and the kind in a quieter voice."""

    name: str
    kind: str
    colour: str  # RRGGBB


@dataclass(frozen=True)
class RatingCell:
    """A rating and its interval, on the scale of the whole table; `rating` None for somebody who has not played."""

    rating: float | None
    error: float
    low: float
    high: float


@dataclass(frozen=True)
class RecordCell:
    wins: int
    draws: int
    losses: int


@dataclass(frozen=True)
class BarCell:
    """A share from 0 to 1, with its text."""

    share: float
    text: str


class _Cell(QStyledItemDelegate):
    """Paints the ground and the hairline; what is on it is another's."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        rect = QRectF(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.colour("selection"))
        painter.setPen(theme.colour("hairline"))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(option.font)
        value = index.data(VALUE)
        if value is not None:
            self.draw(painter, rect.adjusted(PAD, 0, -PAD, 0), value)
        painter.restore()

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        raise NotImplementedError


def elided(painter: QPainter, rect: QRectF, text: str, role: str = "text", right: bool = False) -> float:
    """Draws one line, shortened where there is no room; how wide it came out."""
    metrics = QFontMetrics(painter.font())
    text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(rect.width()))
    painter.setPen(theme.colour(role))
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    painter.drawText(rect, int(side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), text)
    return float(metrics.horizontalAdvance(text))


class AgentPainter(_Cell):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, AgentCell)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(f"#{value.colour}"))
        painter.drawEllipse(QRectF(rect.left(), rect.center().y() - 4, 8, 8))
        rest = rect.adjusted(16, 0, 0, 0)
        width = elided(painter, rest, value.name)
        left = rest.adjusted(width + 8, 0, 0, 0)
        if left.width() > 30:
            painter.setFont(theme.font("caption"))
            elided(painter, left, value.kind, "muted")

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        if not isinstance(value, AgentCell):
            return QSize(120, 32)
        width = QFontMetrics(option.font).horizontalAdvance(value.name)
        return QSize(width + QFontMetrics(theme.font("caption")).horizontalAdvance(value.kind) + 16 + 24 + 8, 32)


class RatingPainter(_Cell):
    """The number, then a dot with its interval as a small bar."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, RatingCell)
        if value.rating is None:
            elided(painter, QRectF(rect.left(), rect.top(), 44, rect.height()), NOTHING, "muted", right=True)
            return
        elided(painter, QRectF(rect.left(), rect.top(), 44, rect.height()), f"{value.rating:.0f}", right=True)
        painter.setFont(theme.font("caption"))
        elided(painter, QRectF(rect.left() + 50, rect.top(), 40, rect.height()), f"±{value.error:.0f}", "muted")
        room = QRectF(rect.left() + 94, rect.top(), max(rect.width() - 94, 0), rect.height())
        if room.width() < 30 or value.high <= value.low:
            return
        unit, middle = room.width() / (value.high - value.low), rect.center().y()
        left = room.left() + (value.rating - value.error - value.low) * unit
        right = room.left() + (value.rating + value.error - value.low) * unit
        left, right = max(left, room.left()), min(right, room.right())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("hairline"))
        painter.drawRoundedRect(QRectF(room.left(), middle - 1, room.width(), 2), 1, 1)
        painter.setBrush(theme.colour("accent", 0.45))
        painter.drawRoundedRect(QRectF(left, middle - 3, max(right - left, 2), 6), 3, 3)
        painter.setBrush(theme.colour("accent"))
        at = room.left() + (value.rating - value.low) * unit
        painter.drawEllipse(QRectF(at - 3.5, middle - 3.5, 7, 7))

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(230, 32)


class RecordPainter(_Cell):
    """Wins, draws and losses as one stacked bar, with the numbers."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, RecordCell)
        text = f"{value.wins:,} / {value.draws:,} / {value.losses:,}"
        room = QRectF(rect.left(), rect.top(), 90, rect.height())
        painter.setFont(theme.font("caption"))
        width = elided(painter, rect.adjusted(room.width() + 8, 0, 0, 0), text, "muted")
        total = value.wins + value.draws + value.losses
        if not total or width < 0:
            return
        x, top = room.left(), rect.center().y() - 4
        painter.setPen(Qt.PenStyle.NoPen)
        for count, role in ((value.wins, "good"), (value.draws, "border"), (value.losses, "bad")):
            part = room.width() * count / total
            if part > 0:
                painter.setBrush(theme.colour(role))
                painter.drawRect(QRectF(x, top, max(part - 1, 1), 8))
                x += part

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(210, 32)


class BarPainter(_Cell):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, BarCell)
        elided(painter, QRectF(rect.left(), rect.top(), 52, rect.height()), value.text, right=True)
        room = QRectF(rect.left() + 60, rect.center().y() - 3, max(rect.width() - 60, 0), 6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("hairline"))
        painter.drawRoundedRect(room, 3, 3)
        painter.setBrush(theme.colour("accent"))
        painter.drawRoundedRect(QRectF(room.left(), room.top(), room.width() * min(max(value.share, 0), 1), 6), 3, 3)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(160, 32)


PAINTERS = {"agent": AgentPainter, "rating": RatingPainter, "record": RecordPainter, "bar": BarPainter}


def delegate(name: str, parent: QObject | QWidget) -> QStyledItemDelegate | None:
    return PAINTERS[name](parent) if name else None
